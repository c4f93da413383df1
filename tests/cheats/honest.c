/* The policy of which every cheat is a copy: the most urgent queue, alone, in its smallest
 * configuration, but for what cannot be met. A cheat defines CHEAT, which begins each decision. */
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
