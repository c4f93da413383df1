/* Shortest job first: serves the queue whose next job has the shortest predicted time.
 *
 * Optimal for the mean waiting time at one server (Smith, Naval Research Logistics Quarterly 3,
 * 1956); unfair to long jobs. The prediction is the nominal uncontended time of the stage's static
 * configuration: the cheapest of batch 1 within the stage's share of the SLO. Ties go by arrival.
 */
#include "sched/common/static_plan.h"

static struct queue_rank sjf_rank(const void *state, const struct platform *platform,
                                  uint32_t queue)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t configuration = static_plan_configure(state, platform, queue, 1);
    return (struct queue_rank){
        platform_workload(platform)->functions[function].configurations[configuration].time,
        (int64_t)platform_job(platform, queue, 0).request};
}

DISPATCHER_INIT(sjf, sjf_rank, static_plan_configure, NULL)

static const struct key sjf_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    DISPATCHER_SPLIT_PARAMETER,
    KEY_END,
};

const struct policy policy_sjf = {
    .name = "sjf",
    .summary = "shortest predicted execution first, one static configuration per stage",
    .init = sjf_init,
    DISPATCHER_POLICY(struct dispatcher, struct dispatcher_parameters, sjf_parameters),
};
