#!/bin/sh
# What a terminal shows: lines of text end before its edge and are folded at words, colours appear
# there alone, and files and pipes get the same bytes whatever the terminal.
. tests/shell.sh

esgsim=$(cd "${BUILD:-build}" && pwd)/esgsim
normal=workloads/experiments/moderate-normal.json
small="--set requests=60 --set warmup_requests=10 --quiet"
unset COLUMNS ESGSIM_WIDTH NO_COLOR
needs "a pseudo-terminal (script, of bsdutils)" script -qec true /dev/null

cat >"$folder/sweep.json" <<EOT
{"base": "$(pwd)/$normal", "matrix": {"policy": [{"name": "esg"}, {"name": "fifo"},
 {"name": "esg", "params": {"method": "frontier", "headroom": 0.1}}],
 "slo.factor": [0.8, 1, 1.2]}, "seeds": 2}
EOT
# shellcheck disable=SC2086
run "$esgsim" sweep "$folder/sweep.json" $small --out "$folder/sweep.h5"
expect "the sweep runs" 0
# shellcheck disable=SC2086
run "$esgsim" run "$normal" $small --set record=all --out "$folder/run.h5"
expect "the run is recorded" 0
# shellcheck disable=SC2086
run "$esgsim" run workloads/experiments/training-dynamic.json --quiet --set record=all --out "$folder/training.h5"
expect "the run of trainings is recorded" 0

cat >"$folder/commands" <<EOT
--help
run --help
sweep --help
trace --help
plot --help
calibrate --help
list --help
run $normal $small --policies headway,fifo,esg,fast-gshare,clockwork
run $normal $small --details
run workloads/experiments/training-dynamic.json --quiet --policies fifo,srtf,synergy
explain $folder/run.h5 --request 40
explain $folder/training.h5 --training 40
slo $normal --application expanded-image-classification
search $normal --application expanded-image-classification --budget-ms 1400
report $folder/sweep.h5 --paper results/paper/esg-hpdc24.json
report $folder/sweep.h5 --details
report $folder/run.h5
EOT

# shown COLUMNS COMMAND: what a terminal of so many columns gets, without its carriage returns.
shown() {
    script -qec "stty cols $1; $esgsim $2" /dev/null </dev/null 2>&1 | tr -d '\r' >"$folder/out"
}

# longer COLUMNS: lines that are longer, colours not counted; words that fit on no line may be, and
# commands, which can be pasted.
longer() {
    sed 's/\x1b\[[0-9;]*m//g' "$folder/out" | LC_ALL=C sed 's/[\x80-\xbf]//g' |
        LC_ALL=C awk -v most="$1" 'length($0) > most && $0 !~ "^ *[^ ]*$" && $0 !~ "^(Examples?:)? +esgsim "'
}

while read -r command; do
    name=$(printf '%s' "$command" | sed "s|$folder/||g")
    for columns in 60 80 120; do
        shown $columns "$command"
        if [ ! -s "$folder/out" ] || [ -n "$(longer $columns)" ]; then
            fail "$name fits $columns columns" "$(longer $columns | head -n 3)"
        else
            pass "$name fits $columns columns"
        fi
    done
    # shellcheck disable=SC2086
    COLUMNS=120 run "$esgsim" $command
    grep -v 'wall time' "$folder/out" | sed 's/[0-9.]* [mu]*s$//' >"$folder/piped"
    if [ -n "$(longer 80)" ]; then
        fail "$name fits 80 columns in a file" "$(longer 80 | head -n 3)"
    elif LC_ALL=C grep -q "$(printf '\033')" "$folder/out"; then
        fail "$name has no colours in a file"
    else
        pass "$name fits 80 columns in a file, without colours"
    fi
    NO_COLOR=1 shown 80 "$command"
    grep -v 'wall time' "$folder/out" | sed 's/[0-9.]* [mu]*s$//' >"$folder/plain"
    same "$name is the same on a terminal of 80 columns without colours" "$folder/piped" "$folder/plain"
done <"$folder/commands"

shown 80 "report $folder/sweep.h5 --details"
if grep -q "^$(printf '\033')\[1m== " "$folder/out"; then
    pass "headings are bold on a terminal"
else
    fail "headings are bold on a terminal" "$(grep '==' "$folder/out" | head -n 2 | od -c | head)"
fi
run "$esgsim" report "$folder/sweep.h5" --out "$folder/report.txt"
run "$esgsim" report "$folder/sweep.h5"
cp "$folder/out" "$folder/piped"
same "a file has what a pipe gets" "$folder/report.txt" "$folder/piped"
ESGSIM_WIDTH=150 run "$esgsim" report "$folder/sweep.h5"
if [ -z "$(longer 150)" ] && [ -n "$(longer 80)" ]; then
    pass "ESGSIM_WIDTH sets the width everywhere"
else
    fail "ESGSIM_WIDTH sets the width everywhere" "$(longer 80 | head -n 2)"
fi
COLUMNS=100 shown 70 "report $folder/sweep.h5"
if [ -n "$(longer 80)" ] && [ -z "$(longer 100)" ]; then
    pass "COLUMNS comes before the window's size on a terminal"
else
    fail "COLUMNS comes before the window's size on a terminal" "$(longer 70 | head -n 2)"
fi
shown 60 "plot $folder/sweep.h5 --out $folder/figures --only hit-rate --size column"
if grep -q '^hit-rate-[^ ]*: drawn as 2 figures' "$folder/out" && grep -q '^  [a-z]' "$folder/out" &&
    [ -z "$(longer 60)" ]; then
    pass "messages are folded on a terminal"
else
    fail "messages are folded on a terminal" "$(cat "$folder/out")"
fi
run "$esgsim" plot "$folder/sweep.h5" --out "$folder/figures" --only hit-rate --size column
if [ "$(grep -c '^hit-rate-[^ ]*: drawn as 2 figures, .* more than 9$' "$folder/err")" -eq 3 ]; then
    pass "a message is one line elsewhere"
else
    fail "a message is one line elsewhere" "$(cat "$folder/err")"
fi
shown 60 "run $normal $small"
if grep -q '^  share shape measured on donors, vCPU law assumed$' "$folder/out"; then
    pass "below a label of two words a line is indented"
else
    fail "below a label of two words a line is indented" "$(grep -A1 evidence "$folder/out")"
fi
shown 10 "run --help"
if [ -z "$(longer 80)" ] && [ "$(wc -l <"$folder/out")" -lt 80 ]; then
    pass "a terminal of senseless width counts as 80 columns"
else
    fail "a terminal of senseless width counts as 80 columns"
fi
finish
