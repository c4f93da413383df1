/* A complete policy from outside the tree: serve the application-function queue with the fewest
 * jobs waiting, each job alone at its function's minimum configuration.
 *
 *   cc -shared -fPIC -I. -o shortest_queue.so tests/plugins/shortest_queue.c
 *   esgsim run EXP.json --policy ./shortest_queue.so
 */
#include "sched/policy.h"

static uint32_t shortest_waiting(struct platform *platform)
{
    const uint32_t queues = platform_workload(platform)->queue_count;
    uint32_t shortest = SIM_NONE;
    for (uint32_t queue = 0; queue < queues; queue++) {
        const uint32_t length = platform_queue_length(platform, queue);
        if (length > 0 &&
            (shortest == SIM_NONE || length < platform_queue_length(platform, shortest)))
            shortest = queue;
    }
    return shortest;
}

static bool shortest_queue_decide(void *state, struct platform *platform)
{
    (void)state;
    const uint32_t queue = shortest_waiting(platform);
    if (queue == SIM_NONE)
        return false; /* sleep until something changes */
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t configuration =
        (uint32_t)platform_workload(platform)->functions[function].minimum_configuration;

    /* A warm container if there is one, else wherever there is room. */
    uint32_t invoker = platform_best_fit(platform, function, configuration, true);
    if (invoker == SIM_NONE)
        invoker = platform_best_fit(platform, function, configuration, false);
    if (invoker == SIM_NONE)
        return false;
    platform_charge(platform, 1);
    return platform_dispatch(platform, queue, 1, configuration, invoker);
}

const struct policy esgsim_policy = {
    .abi = POLICY_ABI,
    .name = "shortest-queue",
    .summary = "the shortest queue first, minimum configuration, best fit",
    .decide = shortest_queue_decide,
};
