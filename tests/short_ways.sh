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
    grep -vE '"(wall_s|peak_memory_kb|decision_processor_us_mean)"' "$1" | tr -d ' \t\n'
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
if grep -q '^bound' "$folder/out"; then
    fail "a row alone has no bounds" "$(cat "$folder/out")"
else
    pass "a row alone has no bounds"
fi
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --policy edf --json --quiet
if sed -n '/"bound":/,/}/p' "$folder/out" | grep -q null; then
    fail "run --json has every bound" "$(cat "$folder/out")"
else
    pass "run --json has every bound"
fi
stable "$folder/out" >"$folder/edf.json"
hits=$(sed -n 's/^	"slo_hit_rate":	\([0-9.]*\),$/\1/p' "$folder/out" | awk '{ printf "%.1f", 100 * $1 }')
cost=$(sed -n 's/^	"cost_per_request_usd":	\([0-9.e-]*\),$/\1/p' "$folder/out" | awk '{ printf "%.4f", 1000 * $1 }')
p99=$(sed -n 's/^		"p99":	\([0-9.]*\),$/\1/p' "$folder/out" | head -n 1 | awk '{ printf "%.0f", $1 }')
gpus=$(sed -n 's/^	"gpu_utilisation":	\([0-9.]*\),$/\1/p' "$folder/out" | awk '{ printf "%.1f", 100 * $1 }')
vcpus=$(sed -n 's/^	"vcpu_utilisation":	\([0-9.]*\),$/\1/p' "$folder/out" | awk '{ printf "%.1f", 100 * $1 }')
per_hit=$(sed -n 's/^	"cost_per_hit_usd":	\([0-9.e-]*\),$/\1/p' "$folder/out" | awk '{ printf "%.4f", 1000 * $1 }')
worst=$(sed -n 's/^	"slo_hit_rate_worst_application":	\([0-9.]*\),$/\1/p' "$folder/out" | awk '{ printf "%.1f", 100 * $1 }')
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --policies fifo,edf --out "$folder/two.h5" --quiet
expect "run --policies prints the figures of --json" 0 "^edf +$hits +$cost +$p99 +$per_hit +$worst +$gpus +$vcpus "
run "$esgsim" report "$folder/two.h5"
expect "run --policies --out writes one run per policy" 0 '^  runs +2: 1 setting, 2 policies'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --policies fifo,edf --json --quiet
if stable "$folder/out" | grep -qF "{\"policies\":[{" && stable "$folder/out" | grep -qF "$(cat "$folder/edf.json")"; then
    pass "run --policies --json has one object per policy, as of one alone"
else
    explain "run --policies --json has one object per policy, as of one alone" "$(cat "$folder/edf.json")"
fi
run "$esgsim" run workloads/experiments/theory/mm1.json --set arrivals.rate_per_s=150 --set slo.ms=20 \
    --policies fifo,clockwork,sjf --set requests=2000
expect "a warning of some policies names them" 0 '^warning: fifo, sjf: the run is not stationary'
run "$esgsim" run workloads/experiments/theory/mm1.json --set arrivals.rate_per_s=150 --policies fifo,sjf --set requests=2000
expect "a warning of all policies names none" 0 '^warning: the run is not stationary'
if [ "$(grep -c 'not stationary' "$folder/err")" -eq 1 ]; then
    pass "and is on standard error once"
else
    explain "and is on standard error once" "one warning"
fi
run "$esgsim" run workloads/experiments/theory/mm1.json --set arrivals.rate_per_s=150 --set requests=2000 \
    --out "$folder/grew.h5" --quiet
run "$esgsim" report "$folder/grew.h5"
expect "the report has the warning" 0 'WARNING +the run is not stationary'
if command -v gnuplot >/dev/null; then
    run "$esgsim" plot "$folder/grew.h5" --out "$folder/grew" --only hit-rate --quiet
    run sh -c 'cat "$1"/hit-rate*.csv' - "$folder/grew"
    expect "and so has the caption of a figure" 0 'Warning: hit rate and latency of some runs depend on how long'
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
run "$esgsim" run "$strict" --policies fifo,edf --set requests=50 --quiet --timeline "$folder/t.json"
expect "--timeline takes several policies" 0 '^timeline in '

# ---- check -----------------------------------------------------------------------------------

printf '{"base": "%s", "matrix": {"policy.name": ["esg", "fifo"], "requests": [100, 200]}, "seeds": 3}' \
    "$(pwd)/$strict" >"$folder/sweep.json"
run "$esgsim" check "$folder/sweep.json" "$strict"
expect "check counts the runs of a sweep" 0 'sweep\.json: ok \(sweep of 12 runs\)'
printf '{"base": "%s", "matrix": {"functions": [[{"name": "f", "service": {"distribution": "constant",
    "mean_ms": 5}}]], "arrivals": [{"process": "uniform", "low_ms": 9, "high_ms": 9}, {"process":
    "uniform", "low_ms": 8, "high_ms": 9}]}, "seeds": 3}' \
    "$(pwd)/workloads/experiments/theory/closed.json" >"$folder/drawn.json"
run "$esgsim" check "$folder/drawn.json"
expect "check counts one seed where nothing is drawn" 0 'ok \(sweep of 4 runs\)'
run "$esgsim" sweep "$folder/drawn.json" --dry-run --quiet --set requests=50
expect "as sweep does" 0 '^4 runs of 2 combinations'
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
for kind in policies keep-alives experiments clusters applications functions profiles traces models; do
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
run "$esgsim" list clusters openb-1213
expect "all of it" 0 '2 x \(96 vCPUs, 8 G2 mps in 100\): [A-Z]'
run "$esgsim" list clusters
expect "the list has its first groups, and says so" 0 '^openb-1213.json .*in 100\), [0-9]+ x …$'
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
run "$esgsim" run training-dynamic --set record=all --quiet --out "$folder/trainings.h5"
cases <<'END'
refused :: explain without a number is told where a run has trainings alone :: served no such request; --training N :: explain "$folder/trainings.h5"
0 :: slo without a name shows every application :: ^expanded-image-classification: :: slo strict-light
0 :: as one object, too :: "applications" :: slo strict-light --json
refused :: search without a name has the names :: the experiment has image-classification, depth-recognition :: search strict-light
0 :: its budget is the SLO if none is given :: budget 420\.8 ms :: search strict-light --application image-classification
refused :: a misspelt experiment is answered with the nearest one :: did you mean "strict-light\.json" :: run strict-ligt
END
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
commit=$(sed -n 's/^	"commit":	"\(.*\)",*$/\1/p' "$folder/out")
sources=$(sed -n 's/^	"sources":	"\(.*\)"$/\1/p' "$folder/out")
if [ -n "$commit" ] && [ "${#sources}" -eq 12 ] &&
    [ "$version" = "esgsim $(sed -n 's/^version: *//p' CITATION.cff) ($commit, sources $sources)" ]; then
    pass "--version prints version, commit and the digest of the sources"
else
    fail "--version prints version, commit and the digest of the sources" "commit $commit, sources $sources" "$version"
fi
mixed="workloads/experiments/a100-mixed-azure-code.json --application a100-diamond --budget-ms 100"
# shellcheck disable=SC2086
run "$esgsim" search $mixed
expect "search takes a diamond by default, and says how" 0 'the stages are not a chain'
# shellcheck disable=SC2086
run "$esgsim" search $mixed --stages 1 --json
expect "search takes the first stages of a diamond by A*" 0 '"method":	"astar"'
# shellcheck disable=SC2086
run "$esgsim" search $mixed --blades time
expect_refusal "an option that the chosen method does not use is refused with the reason" \
    'blades.*not a chain.*frontier'
run "$esgsim" search "$strict" --application image-classification --budget-ms 400
expect "search takes a chain by A*" 0 'method astar \(the stages are a chain\)'

# ---- trainings -------------------------------------------------------------------------------

training=workloads/experiments/training-dynamic.json
run "$esgsim" list traces muri_trace3
expect "list traces knows traces of trainings and their layout" 0 '^muri_trace3\.csv\.gz +trainings, muri$'
run awk -f traces/trainings/instances.awk -v count=100 -v seed=1
gzip -dc traces/trainings/instances_100.txt.gz | cmp -s - "$folder/out" ||
    fail "instances.awk draws the set that ships"
cp "$folder/out" "$folder/instances.txt"
run "$esgsim" check "$folder/instances.txt"
expect "check takes a trace of instances that is not compressed" 0 'instances\.txt: ok \(training trace\)$'
run "$esgsim" list policies fifo
expect "list policies NAME shows the form for requests" 0 '^fifo .*\[requests\]$'
expect "and the form for trainings" 0 '^fifo .*\[trainings\]$'
run "$esgsim" list models muri-v100 --json
expect "list models prints JSON" 0 '^\{"models":\[\{"name":"muri-v100\.json"'
run "$esgsim" run $training --policies synergy,srtf,fifo,sjf --quiet
expect "run --policies takes both forms of fifo and sjf" 0 '^sjf +100 '
run "$esgsim" run $training --policies synergy,esg --quiet
expect_refusal "a policy that does not serve trainings is refused with those that do" \
    'policy "esg" serves requests only.*tiresias.*fifo, sjf'
run "$esgsim" run $training --rehearse factor=1
expect_refusal "trainings are not rehearsed" 'training-dynamic: a backend cannot execute trainings'
printf '{"base":"%s","matrix":{"policy":[{"name":"srsf"},{"name":"srtf"}]},"seeds":1}' "$PWD/$training" >"$folder/trainings-sweep.json"
run "$esgsim" sweep "$folder/trainings-sweep.json" --dry-run --quiet
expect "sweep --dry-run counts runs of trainings" 0 '^2 runs of 2 combinations$'
run "$esgsim" run $training --quiet --set record=all --out "$folder/trainings.h5" \
    --timeline "$folder/trainings.json"
expect "run --timeline takes trainings" 0 '^timeline in '
run "$esgsim" explain "$folder/trainings.h5" --training 999999
expect_refusal "explain of a training that is not there is refused" 'trainings 0 to 99, not 999999'
run "$esgsim" explain "$folder/trainings.h5" --request 0
expect_refusal "explain of a request where there are trainings only is refused" 'has no request; --training N'
# `run` gives 5.986 h with three servers and 4.623 h with four; 20,000 s are 5.556 h.
ESGSIM_WIDTH=10000 run "$esgsim" capacity $training --over cluster.invokers.0.count --metric jct_s_mean --at-most 20000 --seeds 2 --quiet
expect "capacity takes a measure of trainings" 0 '^synergy: least cluster.invokers.0.count 4; holds at 4, fails at 3; 1 seed: nothing random is drawn$'
ESGSIM_WIDTH=10000 run "$esgsim" capacity $training --over cluster.invokers.0.count --at-least 0.9 --quiet
expect_refusal "capacity by a metric that trainings lack is refused" 'slo_hit_rate has no value with policy synergy'
# One server leaves power-of-two nothing to draw: all seeds replay the trace alike.
awk 'BEGIN { print "time_ms,application"; for (i = 0; i < 300; i++) print i * 12 + i % 7 ",station" }' >"$folder/even.csv"
ESGSIM_WIDTH=10000 run "$esgsim" capacity workloads/experiments/theory/md1.json --over arrivals.scale_rate --at-least 0.9 \
    --greatest --low 0.5 --high 4 --tolerance 0.2 --seeds 3 --set policy.name=power-of-two --set requests=200 \
    --set warmup_requests=0 --set slo.ms=30 --set "arrivals={\"process\":\"trace\",\"file\":\"$folder/even.csv\"}" --quiet
expect "capacity has no interval where all seeds give the same run" 0 \
    '; holds at [0-9.]*, fails at [0-9.]*; 3 seeds: all gave the same run, so there is no interval'
expect "and prints the notices of the runs" 0 '^note: every seed replays the arrival times'
for seconds in 0.9 9; do
    run "$esgsim" run workloads/experiments/theory/md1.json --seed 3 --set requests=50 --set warmup_requests=5 \
        --set "arrivals={\"process\":\"trace\",\"file\":\"$folder/even.csv\",\"window_s\":$seconds}" --quiet
    [ $seconds = 9 ] || expect "a window of a trace is told" 0 '^note: each seed replays a window of its own of trace even.csv'
done
expect_refusal "a window that is longer than the trace is refused" '"window_s" 9 is longer than the part of the trace that is used, 3.593 s'
printf '{"base":"%s/workloads/experiments/theory/mm1.json","matrix":{"slo.ms":[2000]},"seeds":5}' "$PWD" >"$folder/ones.json"
run "$esgsim" sweep "$folder/ones.json" --set matrix.requests='[1000]' --set matrix.warmup_requests='[500]' --out "$folder/ones.h5" --quiet
run "$esgsim" report "$folder/ones.h5"
expect "five seeds without a miss have an interval" 0 'fifo .* 100\.0 \[9[0-9.]*, 100\.0\]'
run "$esgsim" slo $training --application a
expect_refusal "slo without applications is refused" 'the experiment has no applications'
run "$esgsim" search $training --application a --budget-ms 100
expect_refusal "search without applications is refused" 'the experiment has no applications'
run "$esgsim" check $training traces/trainings/*.gz workloads/models/*.json
expect "check takes traces of trainings and models" 0 'sia_philly\.csv\.gz: ok \(training trace\)$'

# A fault that lies in a trace is told with that file, and with the key of the experiment if that is at fault.
run "$esgsim" run $training --quiet --set training.models=../models/muri-v100.json
expect_refusal "a trace with an unknown model is refused" \
    'dynamic_100job\.csv\.gz: the model "[a-z0-9]+" is not in "training\.models"'
run "$esgsim" run $training --quiet --set training.arrivals.format=muri
expect_refusal "a trace of another layout is refused" 'dynamic_100job\.csv\.gz:1: has no column "num_gpu"'
run "$esgsim" run $training --quiet --set training.arrivals.file="$PWD/tests/corpus/training/unsorted.csv"
expect_refusal "a trace that is not sorted is refused" 'unsorted\.csv:3: arrival 4 s is before'
run "$esgsim" run $training --quiet --set training.models="$PWD/tests/corpus/models/pairs-too-many.json"
expect_refusal "models with a faulty table of pairs are refused" 'pairs-too-many\.json: pairs\.a\.b: has 3 numbers'

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
