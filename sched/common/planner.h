/* Which configuration for a stage: what several policies ask of a latency surface.
 *
 * Two ideas. A stage's budget is its slot of the SLO by one of the rules of slo.h, so that the
 * budgets along every source-sink path sum to no more than the SLO, whatever the DAG. And for each
 * bound on the batch the configurations worth having form a staircase (longer, but cheaper per
 * job), built once, so that a decision is a binary search.
 *
 * Configurations that no invoker of the cluster could run even when empty are left out.
 */
#ifndef ESGSIM_SCHED_COMMON_PLANNER_H
#define ESGSIM_SCHED_COMMON_PLANNER_H

#include "sched/common/slo.h"
#include "sim/error.h"
#include "workloads/workload.h"

/* How an SLO is split over stages (slo.h): by mean latency over the configurations of batch 1 (so
 * that a stage's share does not hang on large batches, which no budget of a few times one job's
 * latency would let run), evenly, or as ESG does, by mean latency over all configurations. */
enum planner_split {
    PLANNER_PROPORTIONAL = SLO_PROPORTIONAL,
    PLANNER_EQUAL = SLO_EQUAL,
    PLANNER_DOMINATOR = SLO_DOMINATOR
};

struct planner;

/* For batches of at most `max_batch` (>= 1) jobs. The workload must outlive the planner. NULL with
 * ERROR_RUN where a function in use has no configuration of batch 1 that fits the cluster, or when
 * out of memory. */
struct planner *planner_create(const struct workload *workload, uint32_t max_batch,
                               enum planner_split split, struct error *error);
void planner_destroy(struct planner *planner);

/* Could an invoker of the group, when empty, run the configuration of `function`? */
bool planner_group_runs(const struct invoker_group *group, const struct function *function,
                        const struct configuration *configuration);

/* Are all GPUs of the cluster shared by MPS: the only way in which a share can change under way, or
 * be held for a part of the time. */
bool planner_all_mps(const struct cluster_spec *cluster);

/* Could some invoker of the cluster run the configuration of `function` when empty? */
bool planner_runs(const struct planner *planner, uint32_t function, uint32_t configuration);

/* The stage's share of a whole request's `slo`. */
sim_time_t planner_budget(const struct planner *planner, uint32_t queue, sim_time_t slo);

/* The stage's share of `slack`, the time left for it and all stages after it; may be negative. On a
 * schedule that keeps to the split it is planner_budget. */
sim_time_t planner_budget_left(const struct planner *planner, uint32_t queue, sim_time_t slack);

/* Index of the configuration of `function` that costs least per job among those of batch <= `jobs`
 * (>= 1) that take no longer than `budget`; where none does, of the fastest. O(log configurations).
 */
uint32_t planner_cheapest(const struct planner *planner, uint32_t function, uint32_t jobs,
                          sim_time_t budget);

/* Fewest vGPUs, then fewest vCPUs, then the largest batch <= `jobs`. */
uint32_t planner_smallest(const struct planner *planner, uint32_t function, uint32_t jobs);

/* Most vGPUs, then most vCPUs, then the largest batch <= `jobs`. */
uint32_t planner_largest(const struct planner *planner, uint32_t function, uint32_t jobs);

#endif
