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
finish
