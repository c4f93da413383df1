/* Least laxity first: serves the request with the least time to spare.
 *
 * After each change it serves the queue whose oldest job has the least laxity, deadline - now -
 * remaining time (Mok, PhD thesis, MIT, 1983: optimal, as EDF is, for one preemptible processor)
 * [recall]. All laxities decrease at the same rate, so the order by (deadline - remaining time) is
 * the same, and a heap stores it.
 *
 * Porting assumptions [derived]:
 * - The remaining time is nominal: the longest path from the job's stage on, with the times of the
 *   stages' static configurations (batch 1, the cheapest within the stage's share of the
 *   application's SLO). It excludes waiting, transfers, cold starts and noise.
 * - Nothing is preempted: laxity decides only the order of starts.
 * - Each batch is configured as in "edf": the cheapest configuration within the stage's share of
 *   the time left until the deadline, else the fastest.
 */
#include "sched/common/dispatcher.h"
#include "sched/common/kinds.h"

struct llf {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept a
                                   * struct llf */
    sim_time_t *remaining;        /* by queue: nominal time of its stage and the longest path
                                   * after it */
};

static struct queue_rank llf_rank(const void *state, const struct platform *platform,
                                  uint32_t queue)
{
    const struct llf *llf = state;
    const struct job_view job = platform_job(platform, queue, 0);
    return (struct queue_rank){job.deadline - llf->remaining[queue], (int64_t)job.request};
}

static void remaining_fill(struct llf *llf, const struct workload *workload,
                           const struct application *application)
{
    const struct planner *planner = llf->dispatcher.planner;
    sim_time_t *remaining = &llf->remaining[application->first_queue];
    sim_time_t time[WORKLOAD_MAX_STAGES];
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const uint32_t function = application->stages[s].function;
        const sim_time_t budget =
            planner_budget(planner, application->first_queue + s, application->slo);
        time[s] =
            workload->functions[function]
                .configurations[planner_cheapest_among(planner, KINDS_ALL, function, 1, budget)]
                .time;
    }
    slo_rest(application, time, remaining);
    for (size_t s = 0; s < application->stage_count; s++)
        remaining[s] += time[s];
}

static bool llf_init(void *state, struct platform *platform, const void *parameters,
                     struct error *error)
{
    struct llf *llf = state;
    const struct workload *workload = platform_workload(platform);
    if (!dispatcher_init(&llf->dispatcher, platform,
                         (struct dispatch_rule){llf_rank, dispatcher_configure_slack, NULL},
                         parameters, error))
        return false;
    llf->remaining = platform_allocate(platform, workload->queue_count, sizeof *llf->remaining);
    for (size_t a = 0; a < workload->application_count; a++)
        remaining_fill(llf, workload, &workload->applications[a]);
    return true;
}

static const struct key llf_parameters[] = {
    DISPATCHER_PARAMETERS(8),
    DISPATCHER_SPLIT_PARAMETER,
    KEY_END,
};

const struct policy policy_llf = {
    .name = "llf",
    .summary = "least laxity first: deadline minus the remaining nominal time",
    .init = llf_init,
    DISPATCHER_POLICY(struct llf, struct dispatcher_parameters, llf_parameters),
};
