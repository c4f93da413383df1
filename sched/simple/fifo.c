/* First come, first served: requests in order of arrival.
 *
 * Serves the queue whose oldest job belongs to the earliest request, so a later stage of an earlier
 * request precedes the first stage of a later one. `order` "ready" uses the time at which the job
 * entered its queue. Every stage has one static configuration, the cheapest within the stage's
 * share of the SLO, and is never replanned. This is the baseline of a platform that knows its
 * profiles but not the remaining time.
 */
#include "sched/common/static_plan.h"

struct fifo {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept a
                                   * struct fifo */
    bool by_ready;
};

static struct queue_rank fifo_rank(const void *state, const struct platform *platform,
                                   uint32_t queue)
{
    const struct fifo *fifo = state;
    const struct job_view job = platform_job(platform, queue, 0);
    return (struct queue_rank){fifo->by_ready ? job.ready : (int64_t)job.request,
                               (int64_t)job.request};
}

static bool fifo_init(void *state, struct platform *platform, const double *values,
                      struct error *error)
{
    struct fifo *fifo = state;
    const double *own = values + DISPATCHER_PARAMETER_COUNT;
    fifo->by_ready = own[1] > 0;
    return dispatcher_init(&fifo->dispatcher, platform,
                           (struct dispatch_rule){fifo_rank, static_plan_configure}, values,
                           (enum planner_split)own[0], error);
}

static const struct parameter fifo_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    DISPATCHER_SPLIT_PARAMETER,
    {"order", 0, 0, 1, "arrival|ready", "order by the arrival of the request or of the job"},
};

extern const struct policy policy_fifo;
const struct policy policy_fifo = {
    .name = "fifo",
    .summary =
        "requests in order of arrival, one static configuration per stage within its SLO share",
    .init = fifo_init,
    DISPATCHER_POLICY(struct fifo, fifo_parameters),
};
