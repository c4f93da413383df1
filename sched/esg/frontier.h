/* The exact frontier: every suffix of an application as a (time, cost) Pareto frontier, built once.
 *
 * Beyond the paper. Latency surfaces do not change during a run, so what remains of an application
 * after a stage can be summarised once and for all: series = Minkowski sum, parallel = (max, sum),
 * each filtered to its non-dominated points. A decision is then one binary search per first-stage
 * configuration, exact at any length of chain, with no grouping.
 */
#ifndef ESGSIM_SCHED_ESG_FRONTIER_H
#define ESGSIM_SCHED_ESG_FRONTIER_H

#include "sched/esg/search.h"

struct frontier_point {
    sim_time_t time;
    double cost_usd;
};

/* Non-dominated points, ascending time, strictly descending cost. */
struct frontier {
    size_t count;
    struct frontier_point *points;
};

/* Suffix frontiers of every stage of one application. */
struct frontier_set;

/* `tables[s]` belongs to stage s; application and tables must outlive the set. NULL when out of
 * memory or where a frontier would pass `max_points` (0: no limit) — ERROR_RUN says which stage.
 *
 * What follows a stage: along a chain, the series of the later stages; at a fork, the parallel
 * (max, sum) of its branches up to the fork's immediate post-dominator, in series with the rest.
 * Inside a branch it is the rest of that branch and what follows the join; other branches, and
 * other sources, are taken to be on time. A fork whose branches share stages before they join is
 * not series-parallel: it is solved exactly by enumerating the non-dominated configurations of its
 * stages where these are at most 2^20 combinations; beyond that, its stages are put on levels by
 * depth, each level waiting for all of the one before. That adds constraints and removes none, so
 * every completion reported is feasible at its cost, but a cheaper one may exist: see
 * frontier_exact. */
struct frontier_set *frontier_build(const struct application *application,
                                    const struct search_table *const *tables, size_t max_points,
                                    struct error *error);
void frontier_destroy(struct frontier_set *set);

/* The frontier of what follows stage s on the way to the end (stage s not included): the single
 * point (0, 0) for a sink. */
const struct frontier *frontier_after(const struct frontier_set *set, size_t stage);

/* False where a region that is not series-parallel made the frontier after `stage` conservative. */
bool frontier_exact(const struct frontier_set *set, size_t stage);

/* Best completion for every configuration of stage s within `budget` (time from now to the
 * deadline): best_cost[i] for entry i of tables[s] (its time order), per job, INFINITY where none
 * is feasible. Budgets fall as times rise, so the search gallops on from where the last one ended:
 * O(count + points) at worst, and O(count × log points). */
void frontier_completions(const struct frontier_set *set, size_t stage, sim_time_t budget,
                          double *best_cost);

/* The K first-stage configurations of cheapest completion with batch <= queue_length, as one-stage
 * `paths` whose cost and time are the completion's (whole path). Same order as ESG_1Q's candidates.
 * `expansions` counts the configurations examined. False only where k is 0 or above SEARCH_MAX_K.
 */
bool frontier_search(const struct frontier_set *set, size_t stage, sim_time_t budget,
                     uint32_t queue_length, size_t k, struct search_result *result);

/* The whole cheapest feasible path along the chain from `stage` (chains only: every stage on the
 * way has at most one successor, at most SEARCH_MAX_STAGES of them): for `esgsim search`. False
 * where nothing is feasible or the way is no such chain. */
bool frontier_path(const struct frontier_set *set, size_t stage, size_t first_entry,
                   sim_time_t budget, struct search_path *path);

#endif
