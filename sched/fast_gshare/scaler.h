/* FaST-GShare's heuristic auto-scaler (ICPP'23), without the platform: which pods for which rate.
 *
 * A profile point is a configuration at a time quota; its throughput is T = batch / (time / quota),
 * and RPR = T / (share × quota), throughput per unit of spatio-temporal resource, is what makes it
 * efficient [recall]. Where the rate exceeds what the pods can do by more than the hysteresis
 * (20 %, [code]), n = floor(gap / T(p*)) pods of the highest RPR are added and one that covers the
 * rest [code: a comment; recall]; where it is that much lower, pods go in ascending RPR [recall;
 * code: in the order of a map].
 *
 * Porting assumptions, all [derived]:
 * - Only points that can meet the SLO take part [recall]. "Can" is: time / quota <= the stage's
 *   budget × `bound` for a batch of one, <= half of that for larger ones, whose jobs may have to
 *   wait for the batch before theirs. Where no point can, the one of the least time alone.
 * - The paper has no batch. Here a point is of any batch up to max_batch, so that RPR picks the
 *   batch, too; max_batch 1 is the paper's scaler.
 * - The paper has no vCPUs. A point has those nearest to its share × quota of the invoker's, at
 *   least one, so that pods that fill a plane do not run out of them.
 * - Shares are in units of the GPU's slicing, quotas in per cent: the grid of the profile in place
 *   of the paper's interpolation.
 * - The smallest pod that covers the rest is that of the least share × quota; among equals the one
 *   of the highest throughput. On points none of which is dominated (more throughput for no more
 *   resource) this is the paper's argmin of T − r.
 * - Where a function has configurations with a GPU, those without one are left out; where it has
 *   none, a vCPU is its resource.
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_SCALER_H
#define ESGSIM_SCHED_FAST_GSHARE_SCALER_H

#include "sched/common/planner.h"

/* No point. */
#define SCALER_NONE SIZE_MAX

struct scaler_point {
    uint32_t configuration;
    uint32_t quota; /* per cent */
    uint32_t batch, share;
    sim_time_t time;   /* of a batch, at this quota */
    double throughput; /* jobs per second */
    double area;       /* share × quota / 100; without a GPU: vCPUs */
    double rpr;        /* throughput / area */
    bool feasible;     /* within the bound of the budget */
};

/* What a function can be deployed as, in descending RPR (ties: descending throughput, then
 * ascending configuration, quota), the feasible ones first. */
struct scaler_points {
    struct scaler_point *points; /* owned */
    size_t count;                /* >= 1 */
    size_t feasible;             /* of these; 0: none can meet the budget */
    size_t fastest;              /* index of the point of the least time (ties: least area) */
};

/* `quotas`, ascending per cents. `budget`: of the tightest stage; `bound` in (0, 1]. Only points
 * that some invoker could run. False with ERROR_RUN when out of memory. */
bool scaler_points_fill(struct scaler_points *points, const struct workload *workload,
                        const struct planner *planner, uint32_t function, sim_time_t budget,
                        double bound, uint32_t max_batch, const uint32_t *quotas,
                        size_t quota_count, struct error *error);
void scaler_points_clear(struct scaler_points *points);

/* The candidates' number: the feasible ones, or where there are none the fastest alone (which is
 * then points[fastest]). */
const struct scaler_point *scaler_best(const struct scaler_points *points);

/* What to add for a gap of `rate` jobs/s (> 0): `count` × scaler_best and the point `residual`
 * (SCALER_NONE: nothing is left). */
struct scaler_growth {
    size_t count;
    size_t residual;
};
struct scaler_growth scaler_grow(const struct scaler_points *points, double rate);

/* 1: more is wanted, −1: less, 0: within the hysteresis of the capacity. A capacity of 0 with a
 * rate above 0 wants more. */
int scaler_direction(double rate, double capacity, double hysteresis);

/* A pod as scale-down sees it. */
struct scaler_pod {
    double rpr, throughput;
    uint64_t created; /* later first where RPR ties [derived] */
    uint32_t id;
    bool remove; /* out */
};

/* Marks for removal, in ascending RPR, each pod whose throughput is within what is left of
 * `surplus`, and keeps at least `keep`. Sorts `pods`. Returns how many are marked.
 * O(count log count). */
size_t scaler_shrink(struct scaler_pod *pods, size_t count, double surplus, size_t keep);

#endif
