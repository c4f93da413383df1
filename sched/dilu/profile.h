/* Dilu (ASPLOS'25): the Hybrid Growth Search Strategy, and what it makes of a latency surface.
 *
 * Evidence, here and in the other files of this folder: [code] read in the authors' public
 * repository (sigserverless/Dilu @ 1134655), [recall] from memory of the paper, [derived] our
 * porting, [assumed] neither.
 *
 * A function's efficiency at batch b and share s is TE = throughput / s, jobs per second per per
 * cent of a GPU. The search [code: profiling/inference/methods] looks for a good (b, s) whose
 * latency is within a bound Q on execution, with few trials: the share grows linearly, the batch
 * exponentially. From the smallest share that is quick enough for the smallest batch: double the
 * batch as long as it stays within Q; where it does not, take the next share; stop where that is
 * still too slow, or where TE is more than `drop` (0.2) below the best accepted one; else accept
 * and go on. The share found is the function's `request`.
 *
 * Porting assumptions, all [derived]:
 * - The next share is the next on the profile's grid (the repository: 10 % more), the next batch
 *   the least on the grid that is at least twice the last. Beyond the grid the search ends.
 * - `drop` is absolute, as coded: 1 to 6 % of TE for the authors' vision and text models, but more
 *   than all of it for slow ones, whose share then grows while the latency allows.
 * - The paper has no vCPUs (its processes were pinned to four cores each). A share goes with the
 *   grid's number of vCPUs nearest to that share of the invoker's, at least one, or with a given
 *   number; an instance keeps those of its request.
 * - The limit, up to which an instance may grow, is factor × request: 1.2, 2 and 2 in the
 *   repository's examples of deployment, 1.5 in its simulation [code]. What is granted is the least
 *   share of the grid that covers it.
 * - Where no share meets Q, the fastest configuration of the smallest batch.
 * - Where a function has configurations with a GPU, those without are left out; where it has none,
 *   vCPUs are its size, in per cent of the invoker's, and its limit is its request.
 */
#ifndef ESGSIM_SCHED_DILU_PROFILE_H
#define ESGSIM_SCHED_DILU_PROFILE_H

#include "sched/common/planner.h"

/* What was measured at one batch and size. */
struct dilu_point {
    double latency; /* any unit, that of the bound; INFINITY: cannot be run */
    double throughput;
};

/* points[batch × size_count + size]; batches (each >= 1) and sizes (above 0) ascend. */
struct dilu_grid {
    const uint32_t *batches;
    size_t batch_count;
    const double *sizes; /* per cent */
    size_t size_count;
    const struct dilu_point *points;
};

struct dilu_pick {
    size_t batch, size; /* indices */
    double efficiency;  /* throughput / size */
    uint32_t trials;    /* points looked at */
};

/* The strategy; false where no size brings the smallest batch within `bound`. */
bool dilu_search(const struct dilu_grid *grid, double bound, double drop, struct dilu_pick *pick);

/* The point of the greatest efficiency within `bound` (ties: the first in the table), by looking at
 * all of them; false where there is none. */
bool dilu_search_all(const struct dilu_grid *grid, double bound, struct dilu_pick *pick);

/* A share at which an instance may run. */
struct dilu_level {
    uint32_t configuration; /* of the function */
    uint32_t share;         /* units; 0: no GPU */
    sim_time_t time;        /* of a full batch */
};

/* As what a function is deployed. */
struct dilu_profile {
    struct dilu_level *levels; /* owned; ascending share, the request first, the limit last */
    size_t level_count;        /* >= 1 */
    uint32_t batch;
    double limit;      /* units: factor × request, at most the grid's largest share */
    double memory_mb;  /* of the GPU */
    double throughput; /* jobs/s at the request, batches full */
    uint32_t trials;
    bool feasible; /* the request meets the bound */
};

struct dilu_profile_rule {
    sim_time_t bound; /* Q */
    double drop;
    double factor;  /* limit / request, >= 1; 1: no vertical scaling */
    uint32_t vcpus; /* 0: in proportion to the share, else the number wanted */
};

/* Searches the profile of `function`, on configurations that some invoker could run. False with
 * ERROR_RUN when out of memory. */
bool dilu_profile_fill(struct dilu_profile *profile, const struct workload *workload,
                       const struct planner *planner, uint32_t function,
                       const struct dilu_profile_rule *rule, struct error *error);

/* With a given configuration as the request, its limit by `factor`. False with ERROR_RUN when out
 * of memory. */
bool dilu_profile_single(struct dilu_profile *profile, const struct workload *workload,
                         const struct planner *planner, uint32_t function, uint32_t configuration,
                         double factor, struct error *error);
void dilu_profile_clear(struct dilu_profile *profile);

#endif
