/* Earliest deadline first: serves the most urgent request among the heads of the queues.
 *
 * This order is optimal for one preemptible processor (Liu and Layland, JACM 20(1), 1973, section
 * 7); here nothing is preempted. Every stage is planned when it is served: the cheapest
 * configuration within the stage's share of the time left until the deadline, else the fastest.
 * With `drop` a request whose deadline has passed is dropped instead of served late.
 */
#include "sched/common/dispatcher.h"

struct edf_parameters {
    struct dispatcher_parameters dispatcher; /* first member */
    enum { DROP_NEVER, DROP_LATE } drop;
};

static struct queue_rank edf_rank(const void *state, const struct platform *platform,
                                  uint32_t queue)
{
    (void)state;
    const struct job_view job = platform_job(platform, queue, 0);
    return (struct queue_rank){job.deadline, (int64_t)job.request};
}

DISPATCHER_INIT(edf, edf_rank, dispatcher_configure_slack, NULL)

/* Drops the most urgent requests that are already late. */
static void drop_expired(struct dispatcher *dispatcher, struct platform *platform)
{
    for (;;) {
        const uint32_t queue = dispatcher_first(dispatcher, platform);
        if (queue == SIM_NONE || platform_job(platform, queue, 0).deadline > platform_now(platform))
            return;
        platform_charge(platform, 1);
        if (!platform_drop(platform, queue, 0))
            return;
    }
}

static bool edf_decide(void *state, struct platform *platform)
{
    struct dispatcher *dispatcher = state;
    if (((const struct edf_parameters *)dispatcher->own)->drop == DROP_LATE)
        drop_expired(dispatcher, platform);
    return dispatcher_decide(dispatcher, platform);
}

static const struct key edf_parameters[] = {
    DISPATCHER_PARAMETERS(8),
    DISPATCHER_SPLIT_PARAMETER,
    PARAMETER_WORD(edf, drop, WORDS("keep", "drop"), DROP_NEVER,
                   "requests past their deadline: serve late, or drop"),
    KEY_END,
};

extern const struct policy policy_edf;
const struct policy policy_edf = {
    .abi = POLICY_ABI,
    .name = "edf",
    .summary = "earliest deadline first, each stage replanned from the remaining slack",
    .parameters = edf_parameters,
    .parameters_bytes = sizeof(struct edf_parameters),
    .state_bytes = sizeof(struct dispatcher),
    .init = edf_init,
    .on_ready = dispatcher_on_ready,
    .on_withdrawn = dispatcher_on_withdrawn,
    .on_finish = dispatcher_on_finish,
    .decide = edf_decide,
};
