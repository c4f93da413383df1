/* Dilu (ASPLOS'25): the Hybrid Growth Search Strategy, applied to a latency surface.
 *
 * Evidence, here and in the other files of this folder: [code] read in the authors' public
 * repository (sigserverless/Dilu @ 1134655), [recall] from memory of the paper, [derived] our
 * porting, [assumed] neither.
 *
 * A function's efficiency at batch b and share s is TE = throughput / s, in jobs per second per per
 * cent of a GPU. The search [code: profiling/inference/methods] finds, with few trials, a good (b,
 * s) whose latency is within a bound Q on execution. The share grows linearly, the batch
 * exponentially. It begins at the smallest share that is fast enough for the smallest batch. It
 * doubles the batch as long as the latency stays within Q, and otherwise takes the next share. It
 * stops if that is still too slow, or if TE is more than `drop` (0.2) below the best accepted one.
 * Otherwise it accepts the point and continues. The share found is the function's `request`.
 *
 * Porting assumptions, all [derived]:
 * - The next share is the next one on the profile's grid (the repository: 10 % more). The next
 *   batch is the smallest on the grid that is at least twice the last. The search ends at the end
 *   of the grid.
 * - `drop` is absolute, as coded: 1 to 6 % of TE for the authors' vision and text models. For slow
 *   models it exceeds TE itself, so their share grows while the latency allows.
 * - The paper has no vCPUs (its processes were pinned to four cores each). A share gets the grid's
 *   number of vCPUs nearest to that share of the invoker's, at least one, or a given number. An
 *   instance keeps the vCPUs of its request.
 * - The limit up to which an instance may grow is factor × request. The factor is 1.2, 2 and 2 in
 *   the repository's examples of deployment, 1.5 in its simulation [code]. The share granted is the
 *   smallest of the grid that covers the limit.
 * - If no share meets Q, the fastest configuration of the smallest batch is used.
 * - If a function has configurations with a GPU, those without are excluded. If it has none, its
 *   size is its vCPUs, in per cent of the invoker's, and its limit is its request.
 */
#ifndef ESGSIM_SCHED_DILU_PROFILE_H
#define ESGSIM_SCHED_DILU_PROFILE_H

#include "sched/common/planner.h"

/* The measurement at one batch and size. */
struct dilu_point {
    double latency; /* any unit, the same as the bound's; INFINITY: cannot run */
    double throughput;
};

/* points[batch × size_count + size]. Batches (each >= 1) and sizes (above 0) ascend. */
struct dilu_grid {
    const uint32_t *batches;
    size_t batch_count;
    const double *sizes; /* per cent */
    size_t size_count;
    const struct dilu_point *points;
};

struct dilu_pick {
    size_t batch, size; /* indices into the grid */
    double efficiency;  /* throughput / size */
    uint32_t trials;    /* number of points evaluated */
};

/* Runs the search. False if no size brings the smallest batch within `bound`. */
bool dilu_search(const struct dilu_grid *grid, double bound, double drop, struct dilu_pick *pick);

/* A share at which an instance may run. */
struct dilu_level {
    uint32_t configuration; /* index of the function's configuration */
    uint32_t share;         /* units; 0: no GPU */
    sim_time_t time;        /* execution time of a full batch */
};

/* The deployment of a function: its request, its limit and the shares between. */
struct dilu_profile {
    struct dilu_level *levels; /* owned; ascending share, the request first, the limit last */
    size_t level_count;        /* >= 1 */
    uint32_t batch;
    uint32_t kind;     /* of the GPU */
    double limit;      /* in units: factor × request, at most the grid's largest share */
    double memory_mb;  /* of the GPU */
    double throughput; /* jobs/s at the request, with full batches */
    bool feasible;     /* true if the request meets the bound */
    bool makeshift;    /* not by the search, for lack of room */
};

struct dilu_profile_rule {
    sim_time_t bound; /* Q, the bound on the execution time */
    double drop;
    double factor;  /* limit / request, >= 1; 1: no vertical scaling */
    uint32_t vcpus; /* 0: in proportion to the share; else this number */
    uint32_t kind;  /* of the GPU; the function must have a configuration of batch 1 on it */
};

/* Searches the configurations of `function` on the kind that some invoker could run. */
void dilu_profile_fill(struct dilu_profile *profile, struct arena *arena,
                       const struct workload *workload, const struct planner *planner,
                       uint32_t function, const struct dilu_profile_rule *rule);

/* Uses the given configuration as the request; the limit follows from `factor`. */
void dilu_profile_single(struct dilu_profile *profile, struct arena *arena,
                         const struct workload *workload, const struct planner *planner,
                         uint32_t function, uint32_t configuration, double factor);

#endif
