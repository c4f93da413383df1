/* First come, first served: requests in order of arrival.
 *
 * Serves the queue whose oldest job belongs to the earliest request, so a later stage of an earlier
 * request precedes the first stage of a later one. `order` "ready" uses the time at which the job
 * entered its queue. Every stage has one static configuration, the cheapest within the stage's
 * share of the SLO, and is never replanned. This is the baseline of a platform that knows its
 * profiles but not the remaining time.
 */
#include "sched/common/static_plan.h"

struct fifo_parameters {
    struct dispatcher_parameters dispatcher; /* first member */
    enum { ORDER_ARRIVAL, ORDER_READY } order;
};

static struct queue_rank fifo_rank(const void *state, const struct platform *platform,
                                   uint32_t queue)
{
    const struct fifo_parameters *own = ((const struct dispatcher *)state)->own;
    const struct job_view job = platform_job(platform, queue, 0);
    return (struct queue_rank){own->order == ORDER_READY ? job.ready : (int64_t)job.request,
                               (int64_t)job.request};
}

DISPATCHER_INIT(fifo, fifo_rank, static_plan_configure, NULL)

static const struct key fifo_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    DISPATCHER_SPLIT_PARAMETER,
    PARAMETER_WORD(fifo, order, WORDS("arrival", "ready"), ORDER_ARRIVAL,
                   "order by the arrival of the request or of the job"),
    KEY_END,
};

const struct policy policy_fifo = {
    .name = "fifo",
    .summary =
        "requests in order of arrival, one static configuration per stage within its SLO share",
    .init = fifo_init,
    DISPATCHER_POLICY(struct dispatcher, struct fifo_parameters, fifo_parameters),
};
