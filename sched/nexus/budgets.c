/* The cost of each stage by its budget, and the budgets that cost the least. */
#include "sched/nexus/budgets.h"

#include <math.h>

#include "sched/memory.h"
#include "sched/nexus/split.h"

static double best_throughput(const struct squishy_session *session)
{
    const struct batch_latency *latency_table = session->latency_table;
    double most = 0;
    for (size_t i = 0; i < latency_table->count; i++) {
        const sim_time_t time = squishy_step_time(session, i);
        if (2 * time > session->slo)
            break;
        most = fmax(most, (double)latency_table->batch[i] / sim_to_s(time));
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

/* Throughput of a mean node of the cluster, over all kinds. */
static double mean_throughput(const struct squishy_session *sessions, size_t queues,
                              const struct budgets_rule *rule)
{
    double sum = 0;
    for (uint32_t k = 0; k < rule->kinds; k++)
        sum += rule->parts[k] * best_throughput(&sessions[k * queues]);
    return sum;
}

void budgets_divide(struct squishy_session *sessions, size_t queues,
                    const struct budgets_rule *rule, double rate)
{
    const double mean = mean_throughput(sessions, queues, rule);
    for (uint32_t k = 0; k < rule->kinds; k++) {
        struct squishy_session *session = &sessions[k * queues];
        session->rate = k == 0 ? rate : 0;
        if (mean > 0)
            session->rate = rate * (rule->parts[k] * best_throughput(session) / mean);
    }
}

/* The nodes that serve the queue's rate within a budget, on all kinds of GPU. The sessions, by
 * kind, change. */
static double gpus_within(struct squishy_session *sessions, size_t queues, double rate,
                          sim_time_t budget, const struct budgets_rule *rule)
{
    double gpus = 0;
    for (uint32_t k = 0; k < rule->kinds; k++)
        sessions[k * queues].slo = budget;
    if (!(mean_throughput(sessions, queues, rule) > 0))
        return (double)INFINITY;
    budgets_divide(sessions, queues, rule, rate);
    for (uint32_t k = 0; k < rule->kinds; k++) {
        const struct squishy_session *session = &sessions[k * queues];
        if (session->rate > 0)
            gpus += rule->packed ? packed_gpus(session, rule->residual)
                                 : session->rate / best_throughput(session);
    }
    return gpus;
}

static void cost_fill(struct squishy_session *sessions, const double *rates, size_t queues,
                      const struct application *application, const struct budgets_rule *rule,
                      double *cost)
{
    for (size_t s = 0; s < application->stage_count; s++) {
        const size_t queue = application->first_queue + s;
        const sim_time_t kept = sessions[queue].slo;
        double least = (double)INFINITY;
        for (size_t k = 0; k <= rule->steps; k++) {
            const sim_time_t budget =
                (sim_time_t)((double)application->slo * (double)k / (double)rule->steps);
            const double gpus = gpus_within(&sessions[queue], queues, rates[queue], budget, rule);
            least = gpus < least ? gpus : least;
            cost[s * (rule->steps + 1) + k] = least;
        }
        for (uint32_t k = 0; k < rule->kinds; k++)
            sessions[k * queues + queue].slo = kept;
    }
}

void budgets_fill(struct squishy_session *sessions, const double *rates, struct platform *platform,
                  const struct budgets_rule *rule, double *cost)
{
    const struct workload *workload = platform_workload(platform);
    const size_t queues = workload->queue_count;
    uint64_t work = 0;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        double share[WORKLOAD_MAX_STAGES];
        double total = (double)INFINITY;
        cost_fill(sessions, rates, queues, application, rule, cost);
        split_budgets(platform_arena(platform), application, cost, rule->steps, share, &total,
                      &work);
        for (size_t i = 0; isfinite(total) && i < rule->kinds * application->stage_count; i++) {
            const size_t s = i % application->stage_count;
            const size_t kind = i / application->stage_count;
            sessions[kind * queues + application->first_queue + s].slo =
                (sim_time_t)((double)application->slo * share[s]);
        }
    }
    platform_charge(platform, work);
}
