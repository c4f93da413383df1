/* Breaks a rule on purpose: dispatches to invoker 0 without asking whether the batch fits. */
#include "sched/policy.h"

static bool overcommit_decide(void *state, struct platform *platform)
{
    (void)state;
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t configuration =
        (uint32_t)platform_workload(platform)->functions[function].minimum_configuration;
    return platform_dispatch(platform, queue, 1, configuration, 0);
}

const struct policy esgsim_policy = {
    .abi = POLICY_ABI,
    .name = "overcommit",
    .summary = "reserves what is not free",
    .decide = overcommit_decide,
};
