/* Orion's right-sizing: chooses a step of the latency table for each stage to meet a percentile
 * target. */
#ifndef ESGSIM_SCHED_ORION_PLAN_H
#define ESGSIM_SCHED_ORION_PLAN_H

#include "sched/orion/model.h"

/* BEST_FIRST [recall]: a priority queue of plans, by the distance of their percentile from the
 * target, then by cost. The result is the cheapest feasible plan found before the queue is empty or
 * the cut-off is reached. GREEDY [code: icanforce/Orion-OSDI22 @ 0ecb698,
 * DAG_Modeler/DAG_Modeler/Program.cs:50-157]: from the cheapest plan, always take the single step
 * that lowers the percentile most, until the target is met. */
enum orion_method { ORION_BEST_FIRST, ORION_GREEDY };

struct orion_plan {
    bool feasible;        /* latency <= target */
    uint32_t latency;     /* the percentile of the end-to-end latency, in bins */
    uint32_t evaluations; /* number of plans whose percentile was computed */
    double cost_usd;      /* per request, with full batches */
    uint16_t steps[WORKLOAD_MAX_STAGES];
    uint16_t configuration[WORKLOAD_MAX_STAGES];
    sim_time_t start[WORKLOAD_MAX_STAGES]; /* result of orion_model_starts */
};

/* Searches a plan for a target of `target` bins with at most `cutoff` (>= 1) evaluations. If none
 * is found, `feasible` is false and the plan is the fastest one. The fastest plan is evaluated
 * first. BEST_FIRST then excludes steps that cannot be part of a feasible plan (too slow even with
 * all other stages at their fastest); these checks count as evaluations. */
void orion_plan_search(struct orion_model *model, uint32_t target, uint32_t cutoff,
                       enum orion_method method, struct orion_plan *plan);

/* The planned vCPUs and vGPUs with the smallest batch that holds `jobs`, if that is not slower. */
uint32_t orion_fit_jobs(const struct function *function, uint32_t planned, uint32_t jobs);

#endif
