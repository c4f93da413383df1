/* Nexus's stage budgets: the SLO of each query, split at the least cost in GPUs. */
#ifndef ESGSIM_SCHED_NEXUS_BUDGETS_H
#define ESGSIM_SCHED_NEXUS_BUDGETS_H

#include "sched/nexus/squishy.h"
#include "sched/policy.h"

struct budgets_rule {
    size_t steps;               /* equal parts of the SLO in the split */
    bool packed;                /* cost: GPUs as packed; else rate / throughput */
    enum squishy_rule residual; /* for `packed` */
    const double *parts;        /* by kind of GPU: its part of all nodes; the sum is 1 */
    uint32_t kinds;
};

/* Divides the rate of the sessions `sessions[kind × queues]` of one queue over the kinds of GPU, in
 * proportion to what the kind's nodes can serve within the sessions' SLO. Everything goes to the
 * first kind if none can serve any. O(kinds × latency table). */
void budgets_divide(struct squishy_session *sessions, size_t queues,
                    const struct budgets_rule *rule, double rate);

/* Sets the SLO of each session (by kind and queue; latency table and overhead are given) to its
 * stage's budget; `rates` has the rate of each queue. If no split serves every stage of an
 * application in time, its sessions keep theirs. `cost` is scratch for max_stages × (steps + 1)
 * numbers. The sums compared are charged as decision time. O(applications × stages × steps × (steps
 * + latency table)). */
void budgets_fill(struct squishy_session *sessions, const double *rates, struct platform *platform,
                  const struct budgets_rule *rule, double *cost);

#endif
