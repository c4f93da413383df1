/* gpulet's scheduling (Choi et al., ATC'22): tasks onto partitions of GPUs, at most two a GPU.
 *
 * [code] read in the authors' public repository (casys-kaist/glet @ 3c1c2aa), [derived] ours. For
 * each task in order of rate × SLO, ascending as coded: while its rate exceeds what a gpu-let of
 * the knee's size serves when saturated, one such; for the rest the smallest gpu-let on which it
 * meets its SLO. These are placed best fit, largest first, a whole GPU split where need be; a place
 * is refused where interference would break the task's SLO or a neighbour's. What finds no place is
 * readjusted onto the sizes that are free, residuals of the task are merged, and the remainder
 * shares the time of other tasks' gpu-lets. A task served less than 85 % of its rate after all that
 * is taken out and scheduled once more.
 *
 * Where we differ [derived]: a partition on which not even two batches of one fit the SLO is left
 * out of the knee and of the residual where a larger one can do it (as coded such a task fails); a
 * neighbour is asked L + duty <= SLO (as coded its duty is added twice and its own time is not);
 * a task too slow to gather one job in a gpu-let's duty cycle may still share its time, with a slot
 * of one job (as coded it is passed over); batches are steps of the profile; the 15 jobs a second
 * that are ignored as coded, where rates are hundreds, are `slack`.
 */
#ifndef ESGSIM_SCHED_GPULET_PLAN_H
#define ESGSIM_SCHED_GPULET_PLAN_H

#include "sched/common/ladder.h"

enum { GPULETS_PER_GPU = 2, GPULET_TASKS = 3 };

struct gpulet_task {
    double rate; /* jobs a second; 0: not scheduled */
    sim_time_t slo;
    sim_time_t overhead;          /* of a batch beside the ladder's time */
    const struct ladder *ladders; /* one a part; count 0: the task cannot run on it */
};

/* What is planned for. L(b, p) is (the ladder's time × slowdown + overhead) × margin. */
struct gpulet_world {
    const struct gpulet_task *tasks;
    size_t task_count;
    const uint16_t *parts; /* sizes in units, ascending; the last is a whole GPU's */
    size_t part_count;
    size_t gpu_count;
    double margin; /* 1.1 as published */
    double slack;  /* jobs a second that may be left over */
    /* How `other` on `other_units` slows `self` on `self_units`, >= 1; NULL: not at all. */
    double (*slowdown)(const void *context, uint32_t self, uint16_t self_units, uint32_t other,
                       uint16_t other_units);
    const void *context;
};

struct gpulet_share {
    uint32_t task;
    uint32_t batch;
    double rate; /* what it serves here, batch / duty */
};

struct gpulet {
    uint16_t units;   /* 0: there is none */
    bool saturated;   /* one task, batch after batch */
    double duty;      /* ns in which every batch runs once */
    double occupancy; /* of that time */
    size_t count;
    struct gpulet_share shares[GPULET_TASKS];
};

struct gpulet_gpu {
    struct gpulet lets[GPULETS_PER_GPU]; /* units sum to the GPU's */
};

struct gpulet_plan {
    struct gpulet_gpu *gpus;
    double *served; /* by task */
    bool complete;  /* every task has 85 % of its rate */
    uint64_t work;  /* places and batches looked at */
};

/* Largest batch with 2 L(b, part) <= slo; 1 where there is none (`feasible` false). Returns the
 * throughput b / L, 0 where the task cannot run there. */
double gpulet_saturation(const struct gpulet_world *world, uint32_t task, size_t part,
                         uint32_t *batch, bool *feasible);

/* The part with the most throughput gained a unit over the next smaller one, steps of less than 5 %
 * and the last step not looked at [code]. */
size_t gpulet_knee(const struct gpulet_world *world, uint32_t task);

/* What a residual `rate` > 0 wants: a part, a batch, a duty cycle in ns. False where no part serves
 * it in time. A rate too low for any batch to gather gets a slot each (SLO - L) / margin. */
bool gpulet_residual(const struct gpulet_world *world, uint32_t task, double rate, size_t *part,
                     uint32_t *batch, double *duty);

/* ERROR_RUN when out of memory; gpulet_clear in any case. Tasks that no part serves are left out
 * and do not make the plan incomplete. O(gpu-lets asked for × GPUs). */
bool gpulet_make(const struct gpulet_world *world, struct gpulet_plan *plan, struct error *error);
void gpulet_clear(struct gpulet_plan *plan);

/* Largest part that a gpu-let of `units` holds; part_count where none does. */
size_t gpulet_part(const struct gpulet_world *world, uint16_t units);

/* L of a batch on let `which` of a GPU beside its neighbour, in ns; INFINITY where it cannot run.
 */
double gpulet_latency(const struct gpulet_world *world, const struct gpulet_gpu *gpu, size_t which,
                      uint32_t task, uint32_t batch);

#endif
