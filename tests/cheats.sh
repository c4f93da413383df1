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

# Who knows the public worlds by name does nothing elsewhere.
{
    printf '#include <string.h>\n#define CHEAT uint32_t q = platform_next_queue(platform, 0); const char *a = '
    printf 'platform_workload(platform)->applications[0].name; if (a[0] == 0x61 && q != SIM_NONE) return platform_drop(platform, q, 0)\n'
    cat "$folder/honest.c"
} >"$folder/knows.c"
score "$folder/knows.c"
known=$score
run "$python" results/python/esgsim_arena.py "$folder/knows.c" --stage1 --fresh word
if [ "$known" = "$wanted" ] && grep -q '"combined_score": 1e-09' "$folder/out"; then
    pass "a policy that recognises the public worlds has no score in fresh ones"
else
    explain "a policy that recognises the public worlds has no score in fresh ones" "the honest score, then none"
fi
finish
