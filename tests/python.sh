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
run "$python" -c 'import sys; sys.argv.append(""); sys.dont_write_bytecode = True; sys.path.insert(0, "results")
import flips
ps = [flips.tail(t, n) for t, n in ((12.7062047, 1), (4.3026527, 2), (2.7764451, 4), (2.2621572, 9), (2.2281389, 10))]
print(all(abs(p - 0.05) < 1e-7 for p in ps), flips.holm([0.01, 0.04, 0.03, 0.005]))'
expect "p values are those of the tables of t, and are adjusted as Holm says" 0 '^True \[0.03, 0.06, 0.06, 0.02\]'
"$python" results/flips.py sweep 2 >"$folder/flips.json"
run "$ESGSIM" sweep "$folder/flips.json" --set 'matrix.requests=[40]' --set 'matrix.warmup_requests=[0]' --jobs 2 --quiet --out "$folder/flips.h5"
expect "each assumption can be changed" 0 '^848 of 848 runs'
run "$python" results/flips.py page "$ESGSIM" "$folder/flips.h5"
expect "and the page says what each change does to each conclusion" 0 '^. ESG hits at least what fifo does: .*(undecided as assumed|it holds|it fails)'

# Three seconds of one world, one listed setting. A second run finds all answers in the file.
cat >"$folder/headline_small.py" <<'EOF'
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "results")
import headline

headline.SETTINGS = {name: (words[: name == "clockwork"], why) for name, (words, why) in headline.SETTINGS.items()}
headline.LEVELS = [0.3, 0.6, 1.2]
headline.AQUATOPE = {"initial": 1, "rounds": 1, "candidates": 8}
headline.SHOWN = {"seed": 1, "seeds": 2, "most": 2, "tolerance": 0.4, "measured": 2}
letter, words, base, keys, slos = headline.WORLDS[0]
headline.WORLDS = [(letter, words, base, {**keys, "measured_s": 3, "warmup_s": 3}, slos[:1])]
headline.study(sys.argv[1], sys.argv[2])
headline.study("/nowhere", sys.argv[2])
headline.page(sys.argv[2], *sys.argv[3:])
EOF
run "$python" "$folder/headline_small.py" "$ESGSIM" "$folder/headline.jsonl" "$folder/headline.svg"
expect "the study of load sustained says how much more ours sustains, under each admission" 0 '^. With admission `rate efficient` for all, `headway` sustains ×[0-9.]+ .*over 1 worlds'
expect "lists the setting that was chosen for each policy" 0 '^. `clockwork` . [0-9<].* . (as shipped|`vgpu=1`) . [0-9<]'
run grep -c '^0,1,' "$folder/headline.csv"
expect "and draws the load that each sustains" 0 '^12$'
finish
