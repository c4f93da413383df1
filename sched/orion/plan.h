/* Orion's right-sizing: which step of its ladder for each stage, within a percentile target. */
#ifndef ESGSIM_SCHED_ORION_PLAN_H
#define ESGSIM_SCHED_ORION_PLAN_H

#include "sched/orion/model.h"

/* BEST_FIRST [recall]: a queue of plans by the distance of their percentile to the target, then by
 * cost; the cheapest feasible plan met until the queue is empty or the cut-off is reached.
 * GREEDY [code]: from the cheapest plan always the one step that lowers the percentile most, until
 * the target is met. */
enum orion_method { ORION_BEST_FIRST, ORION_GREEDY };

struct orion_plan {
    bool feasible;        /* latency <= target */
    uint32_t latency;     /* the percentile of the end-to-end latency, in bins */
    uint32_t evaluations; /* plans whose percentile was reckoned: what the search cost */
    double cost_usd;      /* per request, where batches are full */
    uint16_t steps[WORKLOAD_MAX_STAGES];
    uint16_t configuration[WORKLOAD_MAX_STAGES];
    sim_time_t start[WORKLOAD_MAX_STAGES]; /* as orion_model_starts */
};

/* The plan for a target of `target` bins after at most `cutoff` (>= 1) evaluations. Where none is
 * found, `feasible` is false and the plan is the fastest one. Steps that cannot be part of a
 * feasible plan (too slow even where all other stages are at their fastest) are cut first: they are
 * evaluations too. False only when out of memory. */
bool orion_plan_search(struct orion_model *model, uint32_t target, uint32_t cutoff,
                       enum orion_method method, struct orion_plan *plan);

#endif
