/* ESG_1Q: the K cheapest configuration paths that meet a deadline (ESG, HPDC'24, section on the
 * scheduling algorithm; the algorithm itself is `secondary`/`recalled`, see README).
 *
 * A problem is a chain of stages, each with the configurations of its function; a path picks one
 * configuration a stage; it is feasible where its total time is within the budget and its first
 * configuration's batch within the queue's length; its cost is the sum of costs per job. Three
 * exact methods answer through one interface: A* with ESG's two pruning blades, the precomputed
 * Pareto frontier of every suffix, and exhaustive enumeration (for tests).
 */
#ifndef ESGSIM_SCHED_ESG_SEARCH_H
#define ESGSIM_SCHED_ESG_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"
#include "workloads/workload.h"

enum { SEARCH_MAX_STAGES = 16, SEARCH_MAX_K = 64 };

/* The configurations of one stage in ascending order of time (ties: cost, then index). Built once
 * per function with search_table_create; shared by all problems. */
struct search_table {
    size_t count;
    sim_time_t *time;
    double *cost;  /* per job */
    double *least; /* lowest cost among entries 0..i */
    uint16_t *batch;
    uint16_t *index; /* into function.configurations */
    sim_time_t fastest;
    double cheapest;
    double fastest_cost; /* cost of the fastest (the cheapest of the fastest) */
};

/* `count` is 1..65535. NULL when out of memory. */
struct search_table *search_table_create(const struct configuration *configurations, size_t count);

/* Only the configurations of `function` that some invoker of the workload's cluster could hold when
 * empty (vCPUs, GPU share allowed by its slicing, GPU memory). NULL with ERROR_INPUT where there is
 * none, ERROR_RUN when out of memory. */
struct search_table *search_table_create_placeable(const struct workload *workload, size_t function,
                                                   struct error *error);

/* What a policy may use of a cluster. */
struct search_limits {
    uint32_t max_batch; /* >= 1 */
    bool whole_gpu;     /* only shares that are all units of a GPU of the cluster, or none of one */
};

/* The same, of the configurations within `limits`. */
struct search_table *search_table_create_within(const struct workload *workload, size_t function,
                                                const struct search_limits *limits,
                                                struct error *error);
void search_table_destroy(struct search_table *table);

struct search_problem {
    const struct search_table *const *stages; /* stage_count of them, first to decide first */
    size_t stage_count;                       /* 1..SEARCH_MAX_STAGES */
    sim_time_t budget;                        /* may be negative: nothing is feasible */
    uint32_t queue_length;                    /* bound on the first stage's batch, >= 1 */
    size_t k;                                 /* 1..SEARCH_MAX_K */
    bool time_blade;                          /* prune by time; off only to measure what it saves */
    bool cost_blade;
};

struct search_path {
    double cost_usd; /* per job, summed from the first stage to the last */
    sim_time_t time;
    uint16_t configuration[SEARCH_MAX_STAGES]; /* index into function.configurations */
};

struct search_result {
    struct search_path paths[SEARCH_MAX_K]; /* ascending by (cost, time, configurations) */
    size_t path_count;                      /* fewer than k where fewer are feasible */
    uint64_t expansions; /* paths, partial or whole, that were built and not cut at once: queued, or
                            offered as completions; for exhaustive search, all of them */
    uint64_t pruned_time; /* one-step extensions of expanded paths that each blade cut */
    uint64_t pruned_cost;
};

/* -1, 0, 1: the total order of paths of `stage_count` stages: cost, then time, then configurations
 * from the first stage to the last. */
int search_path_compare(const struct search_path *a, const struct search_path *b,
                        size_t stage_count);

/* Keep `path` where it is among the `k` first of those offered so far (result->path_count starts at
 * 0); no path may be offered twice. O(k). */
void search_result_offer(struct search_result *result, size_t k, size_t stage_count,
                         const struct search_path *path);

/* Scratch memory of a search, reused between calls; grows as needed. */
struct search_workspace;
struct search_workspace *search_workspace_create(void);
void search_workspace_destroy(struct search_workspace *workspace);

/* A* with dual-blade pruning. Exact: the K cheapest of all feasible paths, with any blade on or
 * off. Memory is bounded (2^20 open partial paths): beyond it new ones are followed depth first at
 * once, which is as exact and only slower. False only when out of memory.
 *
 * Best first by f = cost so far + lowest costs of what remains. The time blade cuts a
 * configuration, and all slower ones, where even the fastest rest misses the budget; the cost blade
 * cuts one whose f exceeds the K-th best completion known. The bounds on that completion are kept
 * for each depth by itself: prefixes of one length have distinct fastest completions, while a
 * prefix and its own fastest extension share theirs, which one common list would count twice. */
bool search_astar(const struct search_problem *problem, struct search_workspace *workspace,
                  struct search_result *result);

/* Every path enumerated: Π counts steps. The same answer by brute force. */
bool search_exhaustive(const struct search_problem *problem, struct search_workspace *workspace,
                       struct search_result *result);

#endif
