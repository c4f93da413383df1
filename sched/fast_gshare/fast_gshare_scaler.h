/* FaST-GShare's heuristic auto-scaler (ICPP'23), independent of the platform: which pods for which
 * rate.
 *
 * A profile point is a configuration at a time quota. Its throughput is T = batch / (time / quota).
 * Its efficiency is RPR = T / (share × quota), throughput per unit of spatio-temporal resource
 * [recall]. Scale-up takes place if the rate exceeds the pods' capacity by more than the hysteresis
 * (20 %, [code]). It adds n = floor(gap / T(p*)) pods of the highest RPR, and one pod that covers
 * the rest [code: a comment; recall]. If the rate is lower by as much, pods are removed in
 * ascending RPR [recall; code: in the order of a map].
 *
 * Porting assumptions, all [derived]:
 * - Only points that can meet the SLO are used [recall]. For a batch of one the condition is time /
 *   quota <= the stage's budget × `bound`. For larger batches it is half of that, because their
 *   jobs may have to wait for the previous batch. If no point can, the point of the least time is
 *   used alone.
 * - The paper has no batch. Here a point may have any batch up to max_batch, so that RPR also
 *   chooses the batch. max_batch 1 is the paper's scaler.
 * - The paper has no vCPUs. A point has the number nearest to its share × quota of the invoker's,
 *   at least one, so that pods that fill a plane do not run out of vCPUs.
 * - Shares are in units of the GPU's slicing, quotas in per cent: the profile's grid instead of the
 *   paper's interpolation.
 * - The smallest pod that covers the rest is the one of the least share × quota; ties go to the
 *   highest throughput. If no point is dominated (more throughput for no more resource), this
 *   equals the paper's argmin of T − r.
 * - In this model throughput is in proportion to the quota, so that RPR is the same for every
 * quota. Of such points the greatest comes first, which makes the fewest pods, or the smallest
 * (`ties`), which follows the rate more closely. Measurements favour small quotas, because a
 * request's part outside the GPU needs no tokens: on a V100 with 12 % of its SMs, ResNet
 * serves 12.8, 23.9 and 31.4 per second at quotas of 0.2, 0.5 and 1 [code: a fork's data,
 * ishworgiri1999/ FaST-GShare-Autoscaler@96721ed: internal/profiling/data/v100.csv]. The
 * repository's stub for the most efficient point has a quota of 30 % and 12 % of the SMs [code:
 *   internal/controller/profiling_retrieve.go:28-30].
 * - With several kinds of GPU a point belongs to one. A unit counts by its price relative to the
 *   first kind's, so that RPR compares throughput per price.
 * - If a function has configurations with a GPU, those without one are excluded. If it has none,
 *   its resource is the vCPU.
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_SCALER_H
#define ESGSIM_SCHED_FAST_GSHARE_FAST_GSHARE_SCALER_H

#include "sched/common/planner.h"

/* Which of several points of equal RPR comes first. */
enum scaler_ties { SCALER_TIES_THROUGHPUT, SCALER_TIES_AREA };

/* No point. */
#define SCALER_NONE SIZE_MAX

struct scaler_point {
    uint32_t configuration;
    uint32_t quota;              /* per cent */
    uint32_t batch, share, kind; /* share of a GPU of this kind */
    sim_time_t time;             /* of a batch at this quota */
    double throughput;           /* jobs per second */
    double area;   /* share × quota / 100 × worth of the kind's units; without a GPU: vCPUs */
    double rpr;    /* throughput / area */
    bool feasible; /* within the bound on the budget */
};

/* The points at which a function can be deployed, in descending RPR (ties: by scaler_ties, then
 * ascending configuration, quota); feasible points first. */
struct scaler_points {
    struct scaler_point *points;
    size_t count;    /* >= 1 */
    size_t feasible; /* number of feasible points; 0: none can meet the budget */
    size_t fastest;  /* index of the point of the least time (ties: the least area) */
};

/* Fills the points of a function. `quotas` ascend, in per cent; kinds of GPU that cannot be held
 * for a part of the time have the last, which must be 100. `budget` is that of the tightest stage;
 * `bound` is in (0, 1]. Includes only points that some invoker could run. */
void scaler_points_fill(struct scaler_points *points, struct arena *arena,
                        const struct workload *workload, const struct planner *planner,
                        uint32_t function, sim_time_t budget, double bound, uint32_t max_batch,
                        const uint32_t *quotas, size_t quota_count, enum scaler_ties ties);

/* The candidate of the highest RPR. The candidates are the feasible points, or points[fastest]
 * alone if there are none. */
const struct scaler_point *scaler_best(const struct scaler_points *points);

/* The pods to add for a gap of `rate` jobs/s (> 0): `count` × scaler_best, plus the point
 * `residual` (SCALER_NONE: none). */
struct scaler_growth {
    size_t count;
    size_t residual;
};
struct scaler_growth scaler_grow(const struct scaler_points *points, double rate);

/* Returns 1 to scale up, −1 to scale down, 0 within the hysteresis of the capacity. A capacity of 0
 * with a rate above 0 scales up. */
int scaler_direction(double rate, double capacity, double hysteresis);

/* A pod as input of scale-down. */
struct scaler_pod {
    double rpr, throughput;
    uint64_t created; /* creation order; ties of RPR remove the youngest first [derived] */
    uint32_t id;
    bool remove; /* result: to be removed */
};

/* Marks pods for removal in ascending RPR, each if its throughput is at most the remaining
 * `surplus`, and keeps at least `keep` pods. Sorts `pods`. Returns the number of marked pods.
 * O(count log count). */
size_t scaler_shrink(struct scaler_pod *pods, size_t count, double surplus, size_t keep);

#endif
