/* Breaks a rule on purpose: dispatches one job more than the queue holds. */
#include "sched/policy.h"

static bool absent_jobs_decide(void *state, struct platform *platform)
{
    (void)state;
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t waiting = platform_queue_length(platform, queue);
    const uint32_t function = platform_queue_function(platform, queue);
    const struct function *about = &platform_workload(platform)->functions[function];
    /* A configuration with room for the job too many, where there is one. */
    uint32_t configuration = 0;
    while (configuration + 1 < about->configuration_count &&
           about->configurations[configuration].batch <= waiting)
        configuration++;
    const uint32_t invoker = platform_best_fit(platform, function, configuration, false);
    if (invoker == SIM_NONE)
        return false;
    return platform_dispatch(platform, queue, waiting + 1, configuration, invoker);
}

const struct policy esgsim_policy = {
    .abi = POLICY_ABI,
    .name = "absent-jobs",
    .summary = "dispatches jobs that are not waiting",
    .decide = absent_jobs_decide,
};
