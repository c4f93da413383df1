#!/bin/sh
# esgsim replay from the outside, with a worker that sleeps (tests/fake_worker.sh): results, what is
# refused, what is kept when it is interrupted, and the way to a comparison.
# Runs the sanitized build, whose reports end in status 99, which no test here accepts.
. tests/shell.sh

esgsim=${SAN_BUILD:-build/sanitized}/esgsim
real=$folder/real.h5
surface='{"grid": {"batch": [1, 2], "vcpu": [1], "vgpu": [1, 2]}, "latency_ms": [[[20, 12]], [[30, 18]]],
 "noise": {"cv": 0}, "cold_start_ms": {"mean": 200, "cv": 0}, "gpu_memory_mb": {"weights": 100, "per_item": 10},
 "host_memory_mb": 100, "bandwidth_share": 0.5}'
cat >"$folder/small.json" <<END
{"name": "small", "cluster": {"invokers": [{"count": 1, "vcpus": 8, "memory_mb": 8000, "gpus": [{"model": "P9",
  "sharing": "mps", "units": 3, "memory_mb": 8000}]}], "price": {"vcpu_hour_usd": 3.6, "vgpu_hour_usd": 36}},
 "functions": {"functions": [{"name": "f", "model": "f", "input_bytes": 1000},
  {"name": "g", "model": "g", "input_bytes": 1000}]},
 "profile": {"device": "test", "evidence": "assumed", "source": "test", "licence": "none", "unit": 3,
  "functions": {"f": $surface, "g": $surface}, "interference": {"model": "none"}},
 "applications": [{"name": "a", "stages": [{"name": "a", "function": "f"},
  {"name": "b", "function": "g", "after": ["a"]}]}],
 "arrivals": {"process": "poisson", "rate_per_s": 20}, "slo": {"factor": 3}, "policy": {"name": "fifo"},
 "platform": {"prewarm": "none", "interference": false, "initial": {"f": 6, "g": 6}, "keep_alive": "infinite",
  "decision_cost": {"model": "zero"}}, "requests": 30, "warmup_requests": 0, "seed": 5, "record": "all"}
END
replay() { run "$esgsim" replay "$folder/small.json" --no-gpu --out "$real" "$@"; }
runs() { h5dump -n "$real" 2>/dev/null | grep -c '/replay$'; } # of the results file

# ---- What is refused -------------------------------------------------------------------------

run "$esgsim" replay "$folder/small.json" --out "$real"
expect_refusal "without a worker it says which option is missing" '--worker is missing'
run "$esgsim" replay "$folder/small.json" --worker cat
expect_refusal "without a results file it says which option is missing" '--out is missing'
run "$esgsim" replay workloads/experiments/strict-light.json --dry-run
expect_refusal "a cluster of several invokers is refused" 'cluster: a replay plays one invoker with one GPU'
run "$esgsim" replay "$folder/small.json" --dry-run --set platform.initial=cold
expect_refusal "cold containers are refused" 'platform.initial: "cold"'
run "$esgsim" replay "$folder/small.json" --dry-run --set platform.prewarm=ewma
expect_refusal "prewarming is refused" 'platform.prewarm: a replay starts no containers'
run "$esgsim" replay "$folder/small.json" --dry-run --policy fifo,none-such
expect_refusal "a policy that is not known is refused" 'none-such'
run "$esgsim" replay "$folder/small.json" --dry-run --policy fifo,edf
expect "a dry run needs no worker, and tells time and capacity" 0 'edf: .* s of real time, 60 batches, .*capacity: 75.000'

# ---- Runs ------------------------------------------------------------------------------------

replay --policy fifo,edf --worker 'sh tests/fake_worker.sh 20'
expect "two policies are replayed" 0 '2 runs replayed, 0 kept, 2 in all'
count=$(runs)
if [ "$count" -eq 2 ]; then
    pass "and each has its batches in the table replay"
else
    fail "and each has its batches in the table replay" "tables: $count"
fi
"$esgsim" run "$folder/small.json" --policies fifo,edf --out "$folder/simulated.h5" --quiet >/dev/null
run "$esgsim" report "$folder/simulated.h5" --against "$real"
expect "a simulation is held against them" 0 '2 runs compared'
expect "and the report says that no GPU took part" 0 'rehearsal: no GPU took part'
replay --policy fifo,edf,clipper --worker 'sh tests/fake_worker.sh 20' --resume
expect "resumed, it replays what is missing" 0 '1 runs replayed, 2 kept, 3 in all'
replay --policy fifo --worker 'sh tests/fake_worker.sh 20' --set requests=10
expect "without --resume the file is written again" 0 '1 runs replayed, 0 kept'
run "$esgsim" replay "$folder/small.json" --worker cat --resume --out "$folder/simulated.h5"
if [ "$status" -eq 2 ] && grep -q 'simulated, not replayed' "$folder/err"; then
    pass "simulated runs are not taken for replayed ones"
else
    explain "simulated runs are not taken for replayed ones" "status 2"
fi
run "$esgsim" replay "$folder/small.json" --set requests=10 --worker 'sh tests/fake_worker.sh 5' --out "$folder/gpu.h5"
run "$esgsim" report "$folder/gpu.h5"
expect "a replay can be reported alone" 0

# ---- What goes wrong -------------------------------------------------------------------------

# 24 combinations are warmed, and a run has 60 batches.
replay --policy fifo,edf --worker 'sh tests/fake_worker.sh 5 exits 100'
if [ "$status" -eq 1 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q 'exited with status 3' "$folder/err" &&
    [ "$(runs)" -eq 1 ]; then
    pass "a worker that ends in the second run leaves the first, and one line"
else
    explain "a worker that ends in the second run leaves the first, and one line" "status 1, not $(runs) runs"
fi

# begun COMMAND...: starts a replay whose first run ends at once and whose second waits for ever.
begun() {
    rm -f "$real"
    "$@" >"$folder/out" 2>"$folder/err" </dev/null &
    process=$!
    for _ in $(seq 600); do
        if [ "$(runs)" -eq 1 ]; then break; fi
        sleep 0.1
    done
}
# gone PATTERN: no process has the pattern in its command line.
gone() {
    for _ in $(seq 100); do
        if ! pgrep -f "$1" >/dev/null; then return 0; fi
        sleep 0.1
    done
    return 1
}
for signal in INT TERM KILL; do
    mark="5 silent 90 $folder.$signal"
    begun "$esgsim" replay "$folder/small.json" --no-gpu --out "$real" --policy fifo,edf \
        --worker "exec sh tests/fake_worker.sh $mark"
    ran="replay, then kill -$signal"
    kill -"$signal" "$process"
    status=0
    wait "$process" 2>/dev/null || status=$?
    wanted=$([ "$signal" = KILL ] && echo 137 || echo 1)
    if [ "$status" -eq "$wanted" ] && [ "$(runs)" -eq 1 ] && gone "fake_worker.sh $mark"; then
        pass "SIG$signal: the finished run is kept, and the worker is gone"
    else
        explain "SIG$signal: the finished run is kept, and the worker is gone" "status $wanted, 1 run"
    fi
done
replay --policy fifo,edf --resume --worker 'sh tests/fake_worker.sh 5'
expect "and a call with --resume ends the work" 0 '1 runs replayed, 1 kept, 2 in all'
finish
