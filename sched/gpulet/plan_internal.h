/* gpulet: what the files of the planner share.
 *   sizes.c  latency of a batch on a part, and the gpu-lets that a task requests
 *   plan.c   interference, placement, the plan
 */
#ifndef ESGSIM_SCHED_GPULET_PLAN_INTERNAL_H
#define ESGSIM_SCHED_GPULET_PLAN_INTERNAL_H

#include "sched/gpulet/plan.h"

/* Factor on a bound that allows for rounding. */
#define GPULET_ROUNDING (1 + 1e-12)

/* A gpu-let that a task requests. */
struct gpulet_wish {
    size_t part;
    double duty; /* in ns */
    double rate; /* rate still unserved */
    uint32_t task;
    uint32_t batch;
    bool saturated;
};

/* Factor >= 1 by which the tasks of the other gpu-let of the GPU slow `task` on gpu-let `which`:
 * the largest. */
double gpulet_slowdown(const struct gpulet_world *world, const struct gpulet_gpu *gpu, size_t which,
                       uint32_t task);

/* Largest batch with 2 L <= SLO (saturated; `rate` is ignored) or L + b / rate <= SLO; 0 if there
 * is none. O(latency table). */
uint32_t gpulet_most_batch(const struct gpulet_world *world, uint32_t task, size_t part,
                           double slowdown, bool saturated, double rate);

/* The smallest part on which the task meets its SLO; part_count if there is none. O(parts ×
 * latency table). */
size_t gpulet_first_feasible(const struct gpulet_world *world, uint32_t task);

/* The next gpu-let for the unserved rate of a task; false if none can serve it. O(parts × latency
 * table).
 */
bool gpulet_wish_next(const struct gpulet_world *world, uint32_t task, double rate,
                      struct gpulet_wish *wish);

#endif
