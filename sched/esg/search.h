/* ESG_1Q: the K cheapest configuration paths that meet a deadline (ESG, HPDC'24, section on the
 * scheduling algorithm; the algorithm itself is `secondary`/`recalled`, see README).
 *
 * A problem is a chain of stages, each with the configurations of its function; a path picks one
 * configuration a stage; it is feasible where its total time is within the budget and its first
 * configuration's batch within the queue's length; its cost is the sum of costs per job. Three exact
 * methods answer through one interface: A* with ESG's two pruning blades, the precomputed Pareto
 * frontier of every suffix, and exhaustive enumeration (for tests).
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

/* The configurations of one stage in ascending order of time (ties: cost, then index). Built once per
 * function with search_table_create; shared by all problems. */
struct search_table {
    size_t count;
    sim_time_t *time;
    double *cost;       /* per job */
    uint16_t *batch;
    uint16_t *index;    /* into function.configurations */
    sim_time_t fastest;
    double cheapest;
    double fastest_cost; /* cost of the fastest (the cheapest of the fastest) */
};

struct search_table *search_table_create(const struct configuration *configurations, size_t count);
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
    uint64_t expansions;                    /* partial paths taken up */
    uint64_t pruned_time;                   /* partial paths cut by each blade */
    uint64_t pruned_cost;
};

/* Scratch memory of a search, reused between calls; grows as needed. */
struct search_workspace;
struct search_workspace *search_workspace_create(void);
void search_workspace_destroy(struct search_workspace *workspace);

/* A* with dual-blade pruning. Exact: the K cheapest of all feasible paths. False only when out of
 * memory. */
bool search_astar(const struct search_problem *problem, struct search_workspace *workspace,
                  struct search_result *result);

/* Every path enumerated: Π counts steps. The same answer by brute force. */
bool search_exhaustive(const struct search_problem *problem, struct search_workspace *workspace,
                       struct search_result *result);

#endif
