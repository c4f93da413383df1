/* Earliest deadline first: serves the most urgent request among the heads of the queues.
 *
 * This order is optimal for one preemptible processor (Liu and Layland, JACM 20(1), 1973, section
 * 7); here nothing is preempted. Every stage is planned when it is served: the cheapest
 * configuration within the stage's share of the time left until the deadline, else the fastest.
 */
#include "sched/common/dispatcher.h"

static struct queue_rank edf_rank(const void *state, const struct platform *platform,
                                  uint32_t queue)
{
    const struct job_view job = platform_job(platform, queue, 0);
    return (struct queue_rank){job.deadline, (int64_t)job.request};
}

DISPATCHER_INIT(edf, edf_rank, dispatcher_configure_slack, NULL)

static const struct key edf_parameters[] = {
    DISPATCHER_PARAMETERS(8),
    DISPATCHER_SPLIT_PARAMETER,
    KEY_END,
};

const struct policy policy_edf = {
    .name = "edf",
    .summary = "earliest deadline first, each stage replanned from the remaining slack",
    .init = edf_init,
    DISPATCHER_POLICY(struct dispatcher, struct dispatcher_parameters, edf_parameters),
};
