/* Every job alone with the most vGPUs and vCPUs, in order of arrival.
 *
 * This is the exclusive GPU: the shortest possible execution and the least sharing. A reference
 * point for other policies.
 */
#include "sched/common/static_plan.h"

static uint32_t configure_largest(const void *state, const struct platform *platform,
                                  uint32_t queue, uint32_t jobs)
{
    const struct dispatcher *dispatcher = state;
    return planner_largest_among(dispatcher->planner, dispatcher->kinds,
                                 platform_queue_function(platform, queue), jobs);
}

DISPATCHER_INIT(max_config, static_plan_rank, configure_largest, NULL)

static const struct key max_config_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    KEY_END,
};

const struct policy policy_max_config = {
    .name = "max-config",
    .summary = "every job with the most vGPUs and vCPUs (exclusive), in order of arrival",
    .init = max_config_init,
    DISPATCHER_POLICY(struct dispatcher, struct dispatcher_parameters, max_config_parameters),
};
