#!/bin/sh
# The Python module and its notebook, with an interpreter that has what they need.
. tests/shell.sh
BUILD=${BUILD:-build}

python=$(python_find h5py,pandas,matplotlib)
if [ -z "$python" ]; then
    fail "a python3 has h5py, pandas and matplotlib" "none of python3 and /usr/bin/python3; make deps"
    finish
fi

ESGSIM=$(cd "$BUILD" && pwd)/esgsim
MPLCONFIGDIR=$folder
export ESGSIM MPLCONFIGDIR
run "$python" tests/python_check.py "$folder"
while read -r outcome words; do
    case $outcome in
    ok) pass "$words" ;;
    *) fail "$words" "$(tail -n 12 "$folder/err")" ;;
    esac
done <"$folder/out"
expect "all checks of the module are made" 0 'notebook'

# The studies: where published figures hold, and what flips a conclusion.
run "$python" results/worlds.py plant 2000 1
expect "planted boxes are found with precision and recall of at least 95 %" 0 '^20 planted boxes, .* precision .* recall'
"$python" results/worlds.py sweep 4 3 >"$folder/worlds.json"
run "$ESGSIM" sweep "$folder/worlds.json" --jobs 2 --quiet --out "$folder/worlds.h5"
expect "worlds that are drawn can be simulated" 0 '^20 of 20 runs'
run "$python" results/worlds.py page 4 3 "$ESGSIM" "$folder/worlds.h5"
expect "and their page counts them" 0 '^. The cost saving 47–187 % holds .* of 4 worlds'
finish
