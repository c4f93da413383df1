/* Every batch with the minimum configuration, in order of arrival.
 *
 * This is the smallest configuration of a stage, which also defines base latencies and thereby
 * SLOs. It is always slow, and cheap if the price of a vGPU outweighs its speed. A reference point
 * for other policies.
 */
#include "sched/common/static_plan.h"

static uint32_t configure_smallest(const void *state, const struct platform *platform,
                                   uint32_t queue, uint32_t jobs)
{
    const struct dispatcher *dispatcher = state;
    return planner_smallest_among(dispatcher->planner, dispatcher->kinds,
                                  platform_queue_function(platform, queue), jobs);
}

DISPATCHER_INIT(min_config, static_plan_rank, configure_smallest, NULL)

static const struct key min_config_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    KEY_END,
};

const struct policy policy_min_config = {
    .name = "min-config",
    .summary = "every batch with the fewest vGPUs and vCPUs, in order of arrival",
    .init = min_config_init,
    DISPATCHER_POLICY(struct dispatcher, struct dispatcher_parameters, min_config_parameters),
};
