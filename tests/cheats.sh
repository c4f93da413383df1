#!/bin/sh
# Every known way to lie about a score (tests/cheats/cheats.txt), tried in the Arena's first stage.
. tests/shell.sh

python=$(python_find json)
needs "Python 3" test -n "$python"
ESGSIM=$(realpath "${BUILD:-build}/esgsim")
export ESGSIM

# score FILE: what the Arena says of it, to $folder/out; its score to $score.
score() {
    run "$python" results/python/esgsim_arena.py "$1" --stage1
    score=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["combined_score"])' "$folder/out")
}

# The policy of which every cheat is a copy: the most urgent queue, a job at a time, in its smallest configuration, but for
# what is late already. A cheat defines CHEAT, which begins each decision, or FIRST, what init returns.
cat >"$folder/honest.c" <<'EOF'
#include "sched/policy.h"
#ifndef CHEAT
#define CHEAT (void)0
#endif
#ifndef FIRST
#define FIRST true
#endif

static bool honest_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    (void)state, (void)platform, (void)parameters, (void)error;
    return FIRST;
}

static bool honest_decide(void *state, struct platform *platform)
{
    (void)state;
    CHEAT;
    const struct workload *workload = platform_workload(platform);
    uint32_t urgent = SIM_NONE;
    sim_time_t earliest = SIM_FOREVER;
    for (uint32_t q = 0; q < workload->queue_count; q++)
        if (platform_queue_length(platform, q) > 0 &&
            platform_job(platform, q, 0).deadline < earliest) {
            urgent = q;
            earliest = platform_job(platform, q, 0).deadline;
        }
    if (urgent == SIM_NONE)
        return false;
    if (earliest < platform_now(platform))
        return platform_drop(platform, urgent, 0);
    const uint32_t function = platform_queue_function(platform, urgent);
    const uint32_t least = (uint32_t)workload->functions[function].minimum_configuration;
    uint32_t invoker = platform_best_fit(platform, function, least, true);
    invoker = invoker != SIM_NONE ? invoker : platform_best_fit(platform, function, least, false);
    return invoker != SIM_NONE && platform_dispatch(platform, urgent, 1, least, invoker);
}

const struct policy esgsim_policy = {
    .abi = POLICY_ABI, .name = "honest", .init = honest_init, .decide = honest_decide};
EOF

# The outcomes, called by their names.
# shellcheck disable=SC2317
{
honest() { [ "$status" -eq 0 ] && [ "$score" = "$wanted" ]; }
less() { [ "$status" -eq 0 ] && awk "BEGIN { exit !($score < $wanted) }"; }
nothing() { [ "$status" -eq 1 ] && [ "$score" = 0.0 ] && grep -qE -- "$reason" "$folder/out"; }
}

score "$folder/honest.c"
wanted=$score
if [ "$status" -eq 0 ] && [ "$wanted" != 0.0 ]; then
    pass "the honest policy has a score"
else
    explain "the honest policy has a score" "status 0"
fi

grep -v '^#' tests/cheats/cheats.txt >"$folder/cheats"
while IFS= read -r line; do
    name=${line%% | *} rest=${line#* | }
    outcome=${rest%% | *} rest=${rest#* | }
    reason=${rest%% | *} rest=${rest#* | }
    how=${rest%% | *} code=${rest#* | }
    file=$folder/$name.c
    {
        printf '#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\n'
        case $how in
        c) printf '#define CHEAT %s\n' "$code" ;;
        so) printf '#include "sim/platform/state.h"\n#define CHEAT %s\n' "$code" ;;
        first) printf '#define FIRST %s\n' "$code" ;;
        file) printf '#include "sched/policy.h"\n%s\n' "$code" ;;
        esac
        cat "$folder/honest.c"
    } >"$file"
    if [ "$how" = so ]; then
        # shellcheck disable=SC2086
        run ${CC:-cc} -w -g -O1 -ffp-contract=off -D_GNU_SOURCE -shared -fPIC -I. -o "$folder/$name.so" "$file"
        file=$folder/$name.so
    fi
    score "$file"
    if "$outcome"; then
        pass "$name: $outcome, for $reason"
    else
        explain "$name: $outcome" "$reason, beside the honest score $wanted"
    fi
done <"$folder/cheats"

# knows NAME TEST: a policy that drops all where the test in C is true; it has the honest score in the public worlds, and none in
# fresh ones.
knows() {
    {
        printf '#define CHEAT uint32_t q = platform_next_queue(platform, 0); const struct workload *w = platform_workload(platform); '
        printf 'if ((%s) && q != SIM_NONE) return platform_drop(platform, q, 0)\n' "$2"
        cat "$folder/honest.c"
    } >"$folder/$1.c"
    score "$folder/$1.c"
    known=$score
    run "$python" results/python/esgsim_arena.py "$folder/$1.c" --stage1 --fresh word
    if [ "$known" = "$wanted" ] && grep -q '"combined_score": 1e-09' "$folder/out"; then
        pass "a policy that recognises the public worlds by their $1 has no score in fresh ones"
    else
        explain "a policy that recognises the public worlds by their $1 has no score in fresh ones" "the honest score, then none"
    fi
}
knows names 'w->applications[0].name[0] == 0x61'
knows times 'w->functions[0].configurations[0].time % 100 != 0' # public ones have four digits of milliseconds at most

# ---- What no honest policy looks at ----------------------------------------------------------

# moved FILE NAME: how far the score moves at most, where so much is changed.
moved() {
    run "$python" results/python/esgsim_arena.py "$1" --stage1 --recognise
    "$python" -c 'import json, sys; print(*(json.load(open(sys.argv[1]))[k]["largest"] for k in sys.argv[2:]))' \
        "$folder/out" names functions applications invokers times
}
# Names and orders of functions and invokers are nothing. The order of applications draws whose each arrival is, and
# times are rounded to nanoseconds.
moved "$folder/honest.c" >"$folder/moved"
if awk '{ exit !($1 == 0 && $2 == 0 && $3 < 0.1 && $4 == 0 && $5 < 0.02) }' "$folder/moved"; then
    pass "names, orders and the scale of times move no honest score"
else
    explain "names, orders and the scale of times move no honest score" "0, 0, below 0.1, 0, below 0.02: $(cat "$folder/moved")"
fi
moved "$folder/names.c" >"$folder/moved"
if awk '{ exit !($1 > 0.1 && $2 == 0) }' "$folder/moved"; then
    pass "but that of a policy that knows names"
else
    explain "but that of a policy that knows names" "above 0.1, and 0: $(cat "$folder/moved")"
fi
# ---- Comparisons of results ------------------------------------------------------------------

# result FILE SCORE...: of seeds.
result() {
    "$python" -c 'import json, sys; s = [float(x) for x in sys.argv[2:]]
print(json.dumps({"combined_score": sum(s) / len(s), "validity": 1, "metrics": {"by_seed": s}}), file=open(sys.argv[1], "w"))' "$@"
}
mkdir "$folder/one" "$folder/other"
result "$folder/one/a.json" 0.90 0.91 0.92 && result "$folder/other/a.json" 0.80 0.81 0.82
result "$folder/one/b.json" 0.50 0.51 0.52 && result "$folder/other/b.json" 0.60 0.61 0.62
result "$folder/one/c.json" 0.48 0.49 0.50 && result "$folder/other/c.json" 0.70 0.72 0.71
run "$python" results/python/esgsim_arena.py --agree "$folder/one" "$folder/other"
expect "a pair that swaps counts against two draws" 0 '"pairs": 3, "tau": 0.33.*"of": "b and c: .0.020 and -0.100"'
rm "$folder"/*/c.json
run "$python" results/python/esgsim_arena.py --agree "$folder/one" "$folder/other"
expect "no pair swaps" 0 '"pairs": 1, "tau": 1.0, "largest_difference_that_swaps": 0'
run "$python" results/python/esgsim_arena.py --fitted "$folder/one/a.json" "$folder/one/b.json"
expect "0.4 above is fitted" 0 '"fitted": true'
run "$python" results/python/esgsim_arena.py --fitted "$folder/one/a.json" "$folder/one/a.json"
expect "nothing above is not" 0 '"fitted": false'
finish
