/* Choice of a configuration for a stage from its latency surface.
 *
 * A stage's budget is its slot of the SLO by one of the rules of slo.h. The budgets along every
 * source-sink path therefore sum to at most the SLO, for any DAG. For each upper bound on the
 * batch, the non-dominated configurations are sorted once (longer, but cheaper per job), so that a
 * decision is a binary search.
 *
 * Configurations that no invoker of the cluster could run even when empty are excluded.
 */
#ifndef ESGSIM_SCHED_COMMON_PLANNER_H
#define ESGSIM_SCHED_COMMON_PLANNER_H

#include "sched/common/slo.h"
#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "workloads/world/workload.h"

/* How an SLO is split over stages (slo.h). PROPORTIONAL: by mean latency over the configurations of
 * batch 1; large batches are excluded because their latency would exceed any budget of a few times
 * one job's latency. EQUAL: evenly. DOMINATOR: as ESG, by mean latency over all configurations. */
enum planner_split {
    PLANNER_PROPORTIONAL = SLO_PROPORTIONAL,
    PLANNER_EQUAL = SLO_EQUAL,
    PLANNER_DOMINATOR = SLO_DOMINATOR
};

struct planner;

/* Plans for batches of at most `max_batch` (>= 1) jobs. The workload must outlive the planner,
 * which is in the arena. NULL with ERROR_RUN if a used function has no configuration of batch 1
 * that fits the cluster. */
struct planner *planner_create(struct arena *arena, const struct workload *workload,
                               uint32_t max_batch, enum planner_split split, struct error *error);

/* True if an invoker of the group, when empty, can run this configuration of `function`. */
bool planner_group_runs(const struct invoker_group *group, const struct function *function,
                        const struct configuration *configuration);

/* True if an invoker of some group, when empty, can run it. O(groups × GPUs). */
bool planner_cluster_runs(const struct cluster_spec *cluster, const struct function *function,
                          const struct configuration *configuration);

/* True if some invoker of the cluster, when empty, can run this configuration of `function`. */
bool planner_runs(const struct planner *planner, uint32_t function, uint32_t configuration);

/* The function's largest share of at most `most` units of the kind, at batch 1; its smallest if all
 * exceed `most`; -1 if it does not run on the kind. O(configurations). */
int planner_share(const struct planner *planner, uint32_t function, uint32_t kind, uint32_t most);

/* True if it runs on GPUs of the set `kinds` (kinds.h) with a batch of at most `jobs`.
 * O(configurations). */
bool planner_uses_gpus(const struct planner *planner, uint64_t kinds, uint32_t function,
                       uint32_t jobs);

/* The stage's share of `slo`, the SLO of the whole request. */
sim_time_t planner_budget(const struct planner *planner, uint32_t queue, sim_time_t slo);

/* The stage's share of `slack`, the time left for it and all later stages. `slack` may be negative.
 * Equals planner_budget as long as the request is exactly on schedule. */
sim_time_t planner_budget_left(const struct planner *planner, uint32_t queue, sim_time_t slack);

/* Index of the configuration of `function` that costs least per job, among those with batch <=
 * `jobs` (>= 1) and time <= `budget`, on GPUs of the set `kinds` (kinds.h): where the best kind has
 * no room, the next best is asked for. The fastest if no configuration qualifies, SIM_NONE if the
 * set has none. Leaves out kinds that miss the budget while another, in the set or not, meets it:
 * to wait for that one is better. O(kinds × log configurations). */
uint32_t planner_cheapest_among(const struct planner *planner, uint64_t kinds, uint32_t function,
                                uint32_t jobs, sim_time_t budget);

/* Fewest vGPUs, then fewest vCPUs, then the largest batch <= `jobs`, on the first kind of the set
 * on which the function runs. SIM_NONE if there is none. */
uint32_t planner_smallest_among(const struct planner *planner, uint64_t kinds, uint32_t function,
                                uint32_t jobs);

/* Most vGPUs, then most vCPUs, then the largest batch <= `jobs`, on the kind of the set on which
 * this is fastest. SIM_NONE if there is none. */
uint32_t planner_largest_among(const struct planner *planner, uint64_t kinds, uint32_t function,
                               uint32_t jobs);

/* What may run in place of a planned configuration, on kinds of the set: of those that hold `jobs`
 * and take no longer, the one whose batch costs least. SIM_NONE if there is none.
 * O(configurations). */
uint32_t planner_substitute(const struct workload *workload, uint64_t kinds, uint32_t function,
                            uint32_t configuration, uint32_t jobs);

#endif
