#!/bin/sh
# The short ways: several policies in one run, what a sweep would take, overviews, counts.
. tests/shell.sh

esgsim=${SAN_BUILD:-build/sanitized}/esgsim
strict=workloads/experiments/strict-light.json
small="--set requests=120 --set warmup_requests=20"

# ---- run --policies --------------------------------------------------------------------------

# The row of a policy: its figures, single blanks.
row() { # row POLICY FILE
    sed -n "s/^$1  *//p" "$2" | tr -s ' '
}
# A JSON object without the figures that differ from call to call, and without blanks.
stable() { # stable FILE
    grep -vE '"(wall_s|peak_memory_kb)"' "$1" | tr -d ' \t\n'
}

# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --policies fifo,edf,esg --seed 3
cp "$folder/out" "$folder/several"
expect "run --policies succeeds" 0 '^bound '
for policy in fifo edf esg; do
    # shellcheck disable=SC2086
    run "$esgsim" run "$strict" $small --policy $policy --seed 3
    if [ -n "$(row $policy "$folder/out")" ] &&
        [ "$(row $policy "$folder/out")" = "$(row $policy "$folder/several")" ]; then
        pass "the row of $policy is that of $policy alone"
    else
        explain "the row of $policy is that of $policy alone" "$(grep "^$policy" "$folder/several")"
    fi
done
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --policy edf --json --quiet
stable "$folder/out" >"$folder/edf.json"
hits=$(sed -n 's/^	"slo_hit_rate":	\([0-9.]*\),$/\1/p' "$folder/out" | awk '{ printf "%.2f", 100 * $1 }')
cost=$(sed -n 's/^	"cost_per_request_usd":	\([0-9.e-]*\),$/\1/p' "$folder/out" | awk '{ printf "%.4f", 1000 * $1 }')
p95=$(sed -n 's/^		"p95":	\([0-9.]*\),$/\1/p' "$folder/out" | head -n 1 | awk '{ printf "%.1f", $1 }')
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --policies fifo,edf --out "$folder/two.h5" --quiet
expect "run --policies prints the figures of --json" 0 "^edf +$hits +$cost +[0-9.]+ +$p95 "
run "$esgsim" report "$folder/two.h5"
expect "run --policies --out writes one run per policy" 0 '^  runs +2: 1 setting, 2 policies'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --policies fifo,edf --json --quiet
if stable "$folder/out" | grep -qF "{\"policies\":[{" && stable "$folder/out" | grep -qF "$(cat "$folder/edf.json")"; then
    pass "run --policies --json has one object per policy, as of one alone"
else
    explain "run --policies --json has one object per policy, as of one alone" "$(cat "$folder/edf.json")"
fi
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --policies fifo,edf --details
expect "run --details prints each application" 0 '^expanded-image-classification +[0-9]+ '
if [ "$(grep -c '^  decision_us_mean ' "$folder/out")" -eq 2 ]; then
    pass "run --policies --details prints the metrics of each policy"
else
    explain "run --policies --details prints the metrics of each policy" "two lines decision_us_mean"
fi
run "$esgsim" run "$strict" --policies fifo,edf --policy esg
expect_refusal "--policies and --policy exclude one another" 'omit --policy'
run "$esgsim" run "$strict" --policies fifo,fifo
expect_refusal "a policy named twice is refused" "'fifo' occurs twice"
run "$esgsim" run "$strict" --policies fifo,fifoo
expect_refusal "a misspelt policy of several is refused before anything runs" 'mean "fifo"'
run "$esgsim" run "$strict" --policies fifo,edf --timeline "$folder/t.json"
expect_refusal "--timeline takes one policy" '--timeline takes one policy'

# ---- check -----------------------------------------------------------------------------------

printf '{"base": "%s", "matrix": {"policy.name": ["esg", "fifo"], "requests": [100, 200]}, "seeds": 3}' \
    "$(pwd)/$strict" >"$folder/sweep.json"
run "$esgsim" check "$folder/sweep.json" "$strict"
expect "check counts the runs of a sweep" 0 'sweep\.json: ok \(sweep of 12 runs\)'
printf '{"base": "%s", "matrix": {"policy.name": ["esg", "fifo"]}, "precision": {"metric": "slo_hit_rate",
    "half_width": 0.01, "max_seeds": 50}, "seeds": 3}' "$(pwd)/$strict" >"$folder/precise.json"
run "$esgsim" check "$folder/precise.json"
expect "check counts the least runs of a sweep with a precision" 0 'ok \(sweep of at least 6 runs\)'
run "$esgsim" check --json "$folder/precise.json"
expect "check --json has the number of runs" 0 '"runs":6[},]'
run "$esgsim" check traces/profiles/raw/igniter/solo.csv traces/profiles/raw/igniter/pairs.csv
expect "check knows a table of samples" 0 'pairs\.csv: ok \(samples\)'
printf 'model,batch,mps_pct,latency_ms\nresnet50,4,fifty,20\n' >"$folder/samples.csv"
run "$esgsim" check "$folder/samples.csv"
expect_refusal "check reads samples as calibrate does" "samples\.csv:2: column 3: 'fifty' is not a number"

# ---- list ------------------------------------------------------------------------------------

run "$esgsim" list
expect "list alone succeeds and says how to go on" 0 'esgsim list KIND NAME'
cp "$folder/out" "$folder/overview"
for kind in policies keep-alives experiments clusters applications functions profiles networks traces models; do
    run "$esgsim" list $kind
    cp "$folder/out" "$folder/$kind"
    if grep -qE "^$kind +$(wc -l <"$folder/out") " "$folder/overview"; then
        pass "list alone counts the $kind"
    else
        fail "list alone counts the $kind" "$(grep "^$kind" "$folder/overview")" "lines: $(wc -l <"$folder/out")"
    fi
done
run "$esgsim" list --json
expect "list --json has the counts" 0 '^\{"kinds":\[\{"name":"policies","count":[0-9]+,'
missing=$(sed 's/ .*//' "$folder/experiments" | while read -r name; do
    [ -e "workloads/experiments/$name" ] || echo "$name"
done)
if [ -z "$missing" ] && grep -q '^theory/mm1\.json ' "$folder/experiments" &&
    grep -qE '^paper\.json +sweep of [0-9]+ runs: ' "$folder/experiments"; then
    pass "list experiments names files of the folder, sweeps too"
else
    fail "list experiments names files of the folder, sweeps too" "missing: $missing"
fi
run "$esgsim" list clusters v100-mps-4
expect "list clusters NAME prints what it consists of" 0 '4 x \(8 vCPUs, 1 V100 mps in 100\)'
run "$esgsim" list policies esg
expect "list policies NAME prints parameters with default, range and grade" 0 '^    k = 5 \[1\.\.64\] .*\(assumed\)$'
if [ "$(grep -c '^[a-z]' "$folder/out")" -eq 2 ] && grep -q 'sched/README\.md' "$folder/out"; then
    pass "it prints that policy alone, and where it comes from"
else
    explain "it prints that policy alone, and where it comes from" "one policy, sched/README.md"
fi
run "$esgsim" list policies edf --json
expect "list policies NAME --json has the parameters" 0 '"name":"max_batch","default":8,"low":1,"high":65535'
run "$esgsim" list policies ef
expect_refusal "a misspelt policy is answered with the nearest one" 'no policy "ef", did you mean "edf"'
run "$esgsim" list strict-light
expect_refusal "an entry in the place of a kind is answered with the command" 'esgsim list experiments strict-light'
run "$esgsim" list egs
expect_refusal "a misspelt entry in the place of a kind is, too" 'esgsim list policies esg'
run "$esgsim" list experimnts
expect_refusal "a misspelt kind is answered with the nearest one" 'did you mean "experiments"'

# ---- --version, search -----------------------------------------------------------------------

run "$esgsim" --version
version=$(cat "$folder/out")
run "$esgsim" run "$strict" --set requests=1 --set warmup_requests=0 --json --quiet
commit=$(sed -n 's/^	"commit":	"\(.*\)"$/\1/p' "$folder/out")
if [ -n "$commit" ] && [ "$version" = "esgsim $(sed -n 's/^version: *//p' CITATION.cff) ($commit)" ]; then
    pass "--version prints version and commit"
else
    fail "--version prints version and commit" "commit $commit" "$version"
fi
mixed="workloads/experiments/a100-mixed-azure-code.json --application a100-diamond --budget-ms 100"
# shellcheck disable=SC2086
run "$esgsim" search $mixed
expect "search takes a diamond by default, and says how" 0 'method frontier \(the stages are not a chain\)'
# shellcheck disable=SC2086
run "$esgsim" search $mixed --stages 1 --json
expect "search takes the first stages of a diamond by A*" 0 '"method":	"astar"'
# shellcheck disable=SC2086
run "$esgsim" search $mixed --blades time
expect_refusal "an option that the chosen method does not use is refused with the reason" \
    'blades.*not a chain.*frontier'
run "$esgsim" search "$strict" --application image-classification --budget-ms 400
expect "search takes a chain by A*" 0 'method astar \(the stages are a chain\)'

# ---- sweep --dry-run -------------------------------------------------------------------------

run "$esgsim" sweep "$folder/sweep.json" --dry-run --quiet --jobs 2
lines=$(wc -l <"$folder/out")
expect "sweep --dry-run needs no --out and counts" 0 '^12 runs of 4 combinations$'
expect "it estimates time by runs that were begun" 0 \
    '^time: about [0-9.]+ s with 2 workers \(runs of [0-9.]+ s to [0-9.]+ s, by 4 of them'
expect "it estimates memory" 0 '^memory: about [0-9]+ MiB per worker$'
run "$esgsim" sweep "$folder/sweep.json" --dry-run --details --quiet --out "$folder/dry.h5"
if [ "$lines" -eq 3 ] && [ "$(grep -c '^run [0-9]*: ' "$folder/out")" -eq 12 ]; then
    pass "it lists each run with --details alone"
else
    explain "it lists each run with --details alone" "3 lines, and 12 lines run N: with --details"
fi
if [ -e "$folder/dry.h5" ] || [ -e "$folder/dry.h5.runs" ]; then
    fail "it writes nothing" "$folder/dry.h5 or its folder is there"
else
    pass "it writes nothing"
fi
run "$esgsim" sweep "$folder/sweep.json"
expect_refusal "sweep without --out is refused" '--out F\.h5 is missing'
run "$esgsim" sweep "$folder/sweep.json" --out "$folder/dry.h5" --details
expect_refusal "--details is refused without --dry-run" '--details is an option of --dry-run'
finish
