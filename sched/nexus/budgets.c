/* The cost of each stage by its budget, and the budgets that cost the least. */
#include "sched/nexus/budgets.h"

#include <math.h>

#include "sched/nexus/split.h"
#include "sched/policy_bookkeeping.h"

static double best_throughput(const struct squishy_session *session)
{
    const struct batch_latency *ladder = session->ladder;
    double most = 0;
    for (size_t i = 0; i < ladder->count; i++) {
        const sim_time_t time = ladder->time[i] + session->overhead;
        if (2 * time > session->slo)
            break;
        most = fmax(most, (double)ladder->batch[i] / sim_to_s(time));
    }
    return most;
}

static double packed_gpus(const struct squishy_session *session, enum squishy_rule rule)
{
    const uint32_t batch = squishy_saturating_batch(session);
    if (batch == 0)
        return (double)INFINITY;
    const double throughput = (double)batch / sim_to_s(squishy_time(session, batch));
    const double whole = floor(session->rate / throughput);
    const double left = session->rate - whole * throughput;
    uint32_t part = 0;
    sim_time_t duty = 0;
    if (!(left > 0) || !squishy_residual(session, left, rule, &part, &duty))
        return whole + (left > 0 ? 1 : 0);
    return whole + (double)squishy_time(session, part) / (double)duty;
}

static void cost_fill(const struct squishy_session *sessions, const struct application *application,
                      const struct budgets_rule *rule, double *cost)
{
    for (size_t s = 0; s < application->stage_count; s++) {
        struct squishy_session session = sessions[application->first_queue + s];
        double least = (double)INFINITY;
        for (size_t k = 0; k <= rule->steps; k++) {
            session.slo = (sim_time_t)((double)application->slo * (double)k / (double)rule->steps);
            const double gpus = rule->packed ? packed_gpus(&session, rule->residual)
                                             : session.rate / best_throughput(&session);
            least = gpus < least ? gpus : least;
            cost[s * (rule->steps + 1) + k] = least;
        }
    }
}

bool budgets_fill(struct squishy_session *sessions, struct platform *platform,
                  const struct budgets_rule *rule, double *cost, struct error *error)
{
    const struct workload *workload = platform_workload(platform);
    uint64_t work = 0;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        double share[WORKLOAD_MAX_STAGES];
        double total = (double)INFINITY;
        cost_fill(sessions, application, rule, cost);
        if (!split_budgets(application, cost, rule->steps, share, &total, &work, error))
            return false;
        for (size_t s = 0; isfinite(total) && s < application->stage_count; s++)
            sessions[application->first_queue + s].slo =
                (sim_time_t)((double)application->slo * share[s]);
    }
    platform_charge(platform, work);
    return true;
}
