/* ESG_1Q: the K cheapest configuration paths that meet a deadline (ESG, HPDC'24, section on the
 * scheduling algorithm; the algorithm itself is `secondary`/`recalled`, see README).
 *
 * A problem is a chain of stages, each with the configurations of its function. A path picks one
 * configuration per stage. It is feasible if its total time is within the budget and the batch of
 * its first configuration is at most the queue's length. With `bounded`, a later batch is also at
 * most the first: the jobs of the first batch are the only ones known to reach the later queues.
 * Without it, a plan may count on a later batch that never exists. The cost of a path is the sum of
 * costs per job.
 * Three exact methods share one interface: A* with ESG's two pruning blades, the precomputed Pareto
 * frontier of every suffix, and exhaustive enumeration (for tests).
 */
#ifndef ESGSIM_SCHED_PATHS_SEARCH_H
#define ESGSIM_SCHED_PATHS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "workloads/world/workload.h"

enum { SEARCH_MAX_STAGES = 16, SEARCH_MAX_K = 64 };

/* The configurations of one stage in ascending order of time (ties: cost, then index). Built once
 * per function with search_table_create; shared by all problems. */
struct search_table {
    size_t count;
    sim_time_t *time;
    double *cost;  /* per job */
    double *least; /* lowest cost among entries 0..i */
    uint16_t *batch;
    uint16_t *kind;  /* of GPU */
    uint16_t *index; /* into function.configurations */
    sim_time_t fastest;
    double cheapest;
    double fastest_cost; /* cost of the fastest entry; ties: the cheapest */
    uint16_t most_batch;
    /* One table for each batch size of this one, ascending, with the entries of at most that size;
     * none before search_table_bound. */
    size_t part_count;
    struct search_table **parts;
};

/* `count` is 1..65535. The arena has the table. */
struct search_table *search_table_create(struct arena *arena,
                                         const struct configuration *configurations, size_t count);

/* Only the configurations of `function` that some invoker of the workload's cluster can hold when
 * empty (vCPUs, GPU share allowed by its slicing, GPU memory). NULL with ERROR_INPUT if there is
 * none. */
struct search_table *search_table_create_placeable(struct arena *arena,
                                                   const struct workload *workload, size_t function,
                                                   struct error *error);

/* Which configurations a policy may use on a cluster. */
struct search_limits {
    uint32_t max_batch; /* >= 1 */
    bool whole_gpu;     /* only configurations with all units of some GPU, or without a GPU */
};

/* The same, restricted to the configurations within `limits`. */
struct search_table *search_table_create_within(struct arena *arena,
                                                const struct workload *workload, size_t function,
                                                const struct search_limits *limits,
                                                struct error *error);
/* Gives a table and its parts back early; no effect for NULL. */
void search_table_release(struct arena *arena, struct search_table *table);

/* Prepares the table for search_table_up_to, as a later stage of a bounded problem. May be called
 * again. O(entries × batch sizes). */
void search_table_bound(struct arena *arena, struct search_table *table);
/* The entries with a batch of at most `batch`, owned by `table`; NULL if there is none.
 * O(batch sizes). */
const struct search_table *search_table_up_to(const struct search_table *table, uint32_t batch);

/* The entries of one kind of GPU as a table of its own; `table` must have one. O(entries × log
 * entries). */
struct search_table *search_table_of_kind(struct arena *arena, const struct search_table *table,
                                          uint32_t kind);
/* True if the table has an entry of the kind. O(entries). */
bool search_table_has_kind(const struct search_table *table, uint32_t kind);

struct search_problem {
    const struct search_table *const *stages; /* stage_count tables; the first stage is decided
                                               * first */
    size_t stage_count;                       /* 1..SEARCH_MAX_STAGES */
    sim_time_t budget;                        /* may be negative: nothing is feasible */
    uint32_t queue_length;                    /* upper bound on the first stage's batch, >= 1 */
    bool bounded;                             /* later batches are at most the first; every table
                                               * is prepared by search_table_bound */
    size_t k;                                 /* 1..SEARCH_MAX_K */
    bool time_blade;                          /* prune by time; off only to measure the blade's
                                               * effect */
    bool cost_blade;
};

struct search_path {
    double cost_usd; /* per job, summed from the first stage to the last */
    sim_time_t time;
    uint16_t configuration[SEARCH_MAX_STAGES]; /* index into function.configurations */
};

struct search_result {
    struct search_path paths[SEARCH_MAX_K]; /* ascending by (cost, time, configurations) */
    size_t path_count;                      /* less than k if fewer are feasible */
    uint64_t expansions;  /* paths, partial or whole, that were built and not pruned at once, that
                           * is, queued or offered as completions; exhaustive search counts all */
    uint64_t pruned_time; /* one-step extensions of expanded paths that this blade pruned */
    uint64_t pruned_cost;
};

/* Returns -1, 0 or 1 by the total order of paths of `stage_count` stages: cost, then time, then
 * configurations from the first stage to the last. */
int search_path_compare(const struct search_path *a, const struct search_path *b,
                        size_t stage_count);

/* Leaves no path and no count. */
void search_result_clear(struct search_result *result);

/* Inserts `path` if it is among the `k` best paths offered so far, to a result that was clear.
 * No path may be offered twice. O(k). */
void search_result_offer(struct search_result *result, size_t k, size_t stage_count,
                         const struct search_path *path);

/* Scratch memory of a search. It grows as needed and is reused between calls. */
struct search_workspace;
struct search_workspace *search_workspace_create(struct arena *arena);

/* A* with dual-blade pruning. Exact: finds the K cheapest of all feasible paths, with any blade on
 * or off. Memory is bounded by 2^20 open partial paths. Beyond this limit new ones are followed
 * depth first at once, which is equally exact but slower.
 *
 * Best first by f = cost so far + lowest costs of the remaining stages. The time blade prunes a
 * configuration, and all slower ones, if even the fastest rest misses the budget. The cost blade
 * prunes one whose f exceeds the known upper bound on the K-th best completion. These bounds are
 * kept for each depth separately. Prefixes of one length have distinct fastest completions, but a
 * prefix and its own fastest extension share theirs, which a common list would count twice.
 *
 * A bounded problem is the union of one problem for each batch size of the first stage, whose later
 * tables have no larger batch. They share the open list and the bounds, so that f is as tight as in
 * each of them alone.
 */
void search_astar(const struct search_problem *problem, struct search_workspace *workspace,
                  struct search_result *result);

/* Enumerates every path. The number of steps is the product of the tables' counts. */
void search_exhaustive(const struct search_problem *problem, struct search_workspace *workspace,
                       struct search_result *result);

#endif
