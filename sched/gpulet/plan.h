/* gpulet's scheduling (Choi et al., ATC'22): tasks onto partitions of GPUs, at most two per GPU.
 *
 * [code] read in the authors' public repository (casys-kaist/glet @ 3c1c2aa), [derived] ours. Tasks
 * are scheduled in order of rate × SLO, ascending as coded. A task gets gpu-lets of the knee's size
 * while its rate exceeds what one serves when saturated. For the rest it gets the smallest gpu-let
 * on which it meets its SLO. Gpu-lets are placed best fit, largest first; a whole GPU is split if
 * necessary. A place is refused if interference would break the SLO of the task or of a neighbour.
 * Gpu-lets without a place are readjusted to the free sizes, residuals of the task are merged, and
 * the remainder shares the time of other tasks' gpu-lets. A task that is served less than 85 % of
 * its rate after all this is removed and scheduled once more.
 *
 * Differences from the code [derived]:
 * - A partition that cannot fit even two batches of one job into the SLO is not used for the knee
 *   or the residual if a larger one can serve the task. As coded such a task fails.
 * - A neighbour must meet L + duty <= SLO. As coded its duty is added twice and its own time is
 *   not.
 * - A task too slow to gather one job in a gpu-let's duty cycle may still share its time, with a
 *   slot of one job. As coded it is skipped.
 * - Batches are steps of the profile.
 * - As coded 15 jobs per second are ignored, where rates are hundreds; here this is `slack`.
 */
#ifndef ESGSIM_SCHED_GPULET_PLAN_H
#define ESGSIM_SCHED_GPULET_PLAN_H

#include "sched/common/batch_latency.h"

enum { GPULETS_PER_GPU = 2, GPULET_TASKS = 3 };

struct gpulet_task {
    double rate; /* jobs per second; 0: not scheduled */
    sim_time_t slo;
    sim_time_t overhead; /* of a batch, in addition to time and turnaround of the latency table */
    const struct batch_latency
        *latency_tables; /* one per part; count 0: the task cannot run on it */
};

/* Input of the planner. L(b, p) is (the latency table's time × slowdown + its
 * turnaround + overhead) × margin. */
struct gpulet_world {
    const struct gpulet_task *tasks;
    size_t task_count;
    const uint16_t *parts; /* sizes in units, ascending; the last is a whole GPU */
    size_t part_count;
    size_t gpu_count;
    double margin; /* 1.1 as published */
    double slack;  /* jobs per second that may remain unserved */
    /* Factor >= 1 by which `other` on `other_units` slows `self` on `self_units`. NULL: no
     * interference. */
    double (*slowdown)(const void *context, uint32_t self, uint16_t self_units, uint32_t other,
                       uint16_t other_units);
    const void *context;
};

struct gpulet_share {
    uint32_t task;
    uint32_t batch;
    double rate; /* rate served here, batch / duty */
};

struct gpulet {
    uint16_t units;   /* 0: no gpu-let */
    bool saturated;   /* runs one task, batch after batch */
    double duty;      /* duty cycle in ns; every batch runs once in it */
    double occupancy; /* busy fraction of the duty cycle */
    size_t count;
    struct gpulet_share shares[GPULET_TASKS];
};

struct gpulet_gpu {
    struct gpulet lets[GPULETS_PER_GPU]; /* their units sum to the GPU's */
};

struct gpulet_plan {
    struct gpulet_gpu *gpus;
    double *served; /* rate served, by task */
    bool complete;  /* every task gets 85 % of its rate */
    uint64_t work;  /* number of places and batches examined */
};

/* Finds the largest batch with 2 L(batch, part) <= slo; 1 with `feasible` false if there is none.
 * Returns the throughput batch / L, or 0 if the task cannot run on the part. */
double gpulet_saturation(const struct gpulet_world *world, uint32_t task, size_t part,
                         uint32_t *batch, bool *feasible);

/* The part with the largest gain of throughput per unit over the next smaller one. Steps of less
 * than 5 % and the last step are ignored [code]. */
size_t gpulet_knee(const struct gpulet_world *world, uint32_t task);

/* Finds part, batch and duty cycle (in ns) for a residual `rate` > 0. False if no part serves it in
 * time. If the rate is too low to gather any batch, the duty cycle is (SLO - L) / margin. */
bool gpulet_residual(const struct gpulet_world *world, uint32_t task, double rate, size_t *part,
                     uint32_t *batch, double *duty);

/* Makes the plan. Tasks that no part can serve are skipped and do not make the plan incomplete.
 * O(gpu-lets requested × GPUs). */
void gpulet_make(const struct gpulet_world *world, struct arena *arena, struct gpulet_plan *plan);
/* Gives the memory of a plan back to its arena. */
void gpulet_clear(struct gpulet_plan *plan, struct arena *arena);

/* Largest part that fits a gpu-let of `units`; part_count if none does. */
size_t gpulet_part(const struct gpulet_world *world, uint16_t units);

/* L of a batch on gpu-let `which` of a GPU, with its neighbour, in ns. INFINITY if it cannot run.
 */
double gpulet_latency(const struct gpulet_world *world, const struct gpulet_gpu *gpu, size_t which,
                      uint32_t task, uint32_t batch);

#endif
