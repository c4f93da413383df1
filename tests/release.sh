#!/bin/sh
# The program as built for use, on the claims that the sanitized build is too slow for: queueing theory,
# memory that does not grow with the run, the measured pipelines under real traces, the speed figures'
# keys (their values are nobody's business here).
. tests/shell.sh

esgsim=${BUILD:-build}/esgsim
theory=workloads/experiments/theory

run "$esgsim" validate --quiet
expect "validate finds every theory inside its interval as often as it must" 0 ", 0 wrong"

# peak REQUESTS: the peak resident memory in KiB of an M/M/1 run of so many requests, to $peak.
peak() {
    run /bin/sh -c "'$esgsim' run $theory/mm1.json --quiet --json --set requests=$1 \
        --set warmup_requests=0 --set record=summary"
    expect "an M/M/1 run of $1 requests ends" 0 '"peak_memory_kb"'
    peak=$(sed -n 's/.*"peak_memory_kb":[[:space:]]*\([0-9]*\).*/\1/p' "$folder/out")
}
peak 1000000
small=$peak
peak 10000000
if [ -n "$small" ] && [ -n "$peak" ] && [ $((100 * peak)) -le $((105 * small)) ]; then
    pass "ten times the requests take no more memory"
else
    fail "ten times the requests take no more memory" "1 M: $small KiB, 10 M: $peak KiB"
fi

# Without fused multiply-add the C library's exp and log differ in the last place; results must not.
for processor in with without; do
    for name in moderate-normal theory/mg1; do
        tunables=
        [ "$processor" = with ] || tunables=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F
        run env GLIBC_TUNABLES="$tunables" "$esgsim" run "workloads/experiments/$name.json" --quiet \
            --policy min-config --set requests=20000 --set record=all --out "$folder/run.h5"
        expect "$name runs $processor fused multiply-add" 0
        tables "$folder/run.h5" "$folder/$(basename "$name").$processor"
    done
done
for name in moderate-normal mg1; do
    same "$name writes the same table bytes with and without fused multiply-add" \
        "$folder/$name.with" "$folder/$name.without"
done

for name in a100-cascade-azure-conv a100-mixed-azure-code v100-detect-twitter; do
    run "$esgsim" run "workloads/experiments/$name.json" --quiet --json --set requests=2000
    expect "$name runs measured models under a real trace" 0 '"profile_evidence":[[:space:]]*"measured"'
done

run "$esgsim" bench --only mm1_jobs_per_s --json --quiet
expect "bench prints mm1_jobs_per_s" 0 '"mm1_jobs_per_s":'
run "$esgsim" bench --only decision_us --json --quiet
expect "bench prints decision_us by method and length" 0 '"10x256":'
finish
