/* Nexus's stage budgets: the SLO of each query, split at the least cost in GPUs. */
#ifndef ESGSIM_SCHED_NEXUS_BUDGETS_H
#define ESGSIM_SCHED_NEXUS_BUDGETS_H

#include "sched/nexus/squishy.h"
#include "sched/policy.h"

struct budgets_rule {
    size_t steps;               /* equal parts of the SLO in the split */
    bool packed;                /* cost: GPUs as packed; else rate / throughput */
    enum squishy_rule residual; /* for `packed` */
};

/* Sets the SLO of each session (by queue; ladder, rate and overhead are given) to its stage's
 * budget. If no split serves every stage of an application in time, its sessions keep theirs.
 * `cost` is scratch for max_stages × (steps + 1) numbers. The sums compared are charged as decision
 * time. False with ERROR_RUN when out of memory. O(applications × stages × steps × (steps +
 * ladder)). */
bool budgets_fill(struct squishy_session *sessions, struct platform *platform,
                  const struct budgets_rule *rule, double *cost, struct error *error);

#endif
