/* The cheapest plans for what remains of an application after a stage, for any time left: exact,
 * and computed once.
 *
 * This goes beyond the paper. Latency surfaces do not change during a run, so every suffix of an
 * application has one Pareto frontier of (time, cost). Series composition is a Minkowski sum,
 * parallel composition is (max, sum). A decision is then one binary search per first-stage
 * configuration, for chains of any length, without grouping.
 */
#ifndef ESGSIM_SCHED_PATHS_FRONTIER_H
#define ESGSIM_SCHED_PATHS_FRONTIER_H

#include "sched/paths/search.h"

struct frontier_point {
    sim_time_t time;
    double cost_usd;
};

/* Non-dominated points, ascending time, strictly descending cost. */
struct frontier {
    size_t count;
    struct frontier_point points[];
};

/* Suffix frontiers of every stage of one application. */
struct frontier_set;

/* Builds the frontiers; `tables[s]` belongs to stage s. Application and tables must outlive the
 * set, which the arena has. NULL with ERROR_RUN if a frontier would exceed `max_points` (0: no
 * limit); the message names the stage.
 *
 * The remainder of a stage in a chain is the series of the later stages. At a fork it is the
 * parallel composition of its branches up to the fork's immediate post-dominator, in series with
 * the rest. Inside a branch it is the rest of that branch and what follows the join. Other branches
 * and other sources are assumed to be on time.
 *
 * A fork whose branches share stages before they join is not series-parallel. It is solved exactly
 * if its stages have at most 2^20 combinations of non-dominated configurations. Otherwise its
 * stages are put on levels by depth, and each level waits for the whole previous level. This adds
 * constraints and removes none. Every completion reported is therefore feasible at its cost, but a
 * cheaper one may exist: see frontier_exact.
 */
struct frontier_set *frontier_build(struct arena *arena, const struct application *application,
                                    const struct search_table *const *tables, size_t max_points,
                                    struct error *error);
/* Gives a set back early; no effect for NULL. */
void frontier_release(struct arena *arena, struct frontier_set *set);

/* The frontier of the remainder after stage s, without s itself. For a sink it is the single point
 * (0, 0). */
const struct frontier *frontier_after(const struct frontier_set *set, size_t stage);

/* False if a region that is not series-parallel made the frontier after `stage` conservative. */
bool frontier_exact(const struct frontier_set *set, size_t stage);

/* Finds the best completion for every configuration of stage s within `budget` (time from now to
 * the deadline). best_cost[i] belongs to entry i of tables[s] (in its time order), per job;
 * INFINITY if none is feasible. Budgets decrease as times increase, so each search gallops from the
 * result of the previous one: at most O(count + points), and O(count × log points). */
void frontier_completions(const struct frontier_set *set, size_t stage, sim_time_t budget,
                          double *best_cost);

/* Number of points among the first `within` that take at most `budget`. Fast if the answer is near
 * `within`. O(log points). */
size_t frontier_reach(const struct frontier *frontier, sim_time_t budget, size_t within);

/* Finds the K first-stage configurations with the cheapest completion and batch <= queue_length.
 * Each is a one-stage path in `paths`, with cost and time of the whole completion. The order is
 * that of ESG_1Q's candidates. `expansions` counts the configurations examined. `k` is
 * 1..SEARCH_MAX_K. */
void frontier_search(const struct frontier_set *set, size_t stage, sim_time_t budget,
                     uint32_t queue_length, size_t k, struct search_result *result);

/* The same for the first-stage configurations with a batch of least..most alone, on GPUs of one
 * kind or of any (SIM_NONE). Adds them to `result`, which may contain those of other batches, and
 * their number to its expansions. */
void frontier_offer(const struct frontier_set *set, size_t stage, sim_time_t budget, uint32_t least,
                    uint32_t most, uint32_t kind, size_t k, struct search_result *result);

/* Finds the whole cheapest feasible path along the chain from `stage`, for `esgsim search`. Every
 * stage on it must have at most one successor, and there may be at most SEARCH_MAX_STAGES of them.
 * False if nothing is feasible or it is no such chain. */
bool frontier_path(const struct frontier_set *set, size_t stage, size_t first_entry,
                   sim_time_t budget, struct search_path *path);

#endif
