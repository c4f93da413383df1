/* OpenWhisk's load balancer: the function's home invoker, then a walk.
 *
 * Chooses only the invoker. A hash of the function's name gives its home, where its containers
 * accumulate. If an invoker has no room, the next is tried, at a step that is co-prime with the
 * number of invokers. The walk therefore visits each invoker once, and functions with the same home
 * overflow differently [recall].
 *
 * Porting assumptions [derived]:
 * - Room means vCPUs, GPU units and memory for the batch, with idle containers evicted if
 *   necessary; OpenWhisk counts memory slots. As in OpenWhisk, the balancer does not search for
 *   idle containers: the home serves this purpose.
 * - OpenWhisk queues at a random invoker if all are full. Here invokers have no queues, and the
 *   batch waits at the controller.
 * - OpenWhisk's user fixes an action's size. Here it is the configuration of "fifo": the cheapest
 *   of batch 1 within the stage's share of the SLO. The order is that of arrival. OpenWhisk does
 *   not batch; `max_batch` enables it here. Parameter `placement` has no effect.
 */
#include "sched/common/static_plan.h"

static uint32_t openwhisk_place(void *state, struct platform *platform, uint32_t queue,
                                uint32_t configuration)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t count = platform_workload(platform)->cluster.invoker_count;
    /* Avoids a walk round the whole cluster for a batch that fits nowhere. */
    if (platform_best_fit(platform, function, configuration, false) == SIM_NONE)
        return SIM_NONE;
    for (uint32_t which = 0; which < count; which++) {
        const uint32_t invoker = platform_home(platform, function, which);
        if (platform_fits(platform, function, configuration, invoker)) {
            platform_charge(platform, which);
            return invoker;
        }
    }
    return SIM_NONE;
}

DISPATCHER_INIT(openwhisk, static_plan_rank, static_plan_configure, openwhisk_place)

static const struct key openwhisk_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    DISPATCHER_SPLIT_PARAMETER,
    KEY_END,
};

const struct policy policy_openwhisk = {
    .name = "openwhisk",
    .summary =
        "requests in order of arrival, each to its function's home invoker or the next in its walk",
    .init = openwhisk_init,
    DISPATCHER_POLICY(struct dispatcher, struct dispatcher_parameters, openwhisk_parameters),
};
