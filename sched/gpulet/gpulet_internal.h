/* gpulet: the state of the policy, shared by its files only.
 *   gpulet_setup.c  parameters, set-up
 *   gpulet.c        the policy: plans, events
 */
#ifndef ESGSIM_SCHED_GPULET_GPULET_INTERNAL_H
#define ESGSIM_SCHED_GPULET_GPULET_INTERNAL_H

#include "sched/common/duty_cycle.h"
#include "sched/gpulet/plan.h"
#include "sched/policy.h"

enum { TIMER_PLAN, TIMER_RETRY };
enum { SIZES = 6 };

struct gpulet_parameters {
    uint32_t max_batch;
    enum planner_split split;
    sim_time_t epoch_s;
    enum { RATE_P99, RATE_MEAN } rate;
    double margin;
    enum { INTERFERENCE_PROFILE, INTERFERENCE_NONE } interference;
    double slack;
    bool own_admission;
    sim_time_t keep_s;
};
/* A GPU, or an invoker without any. */
struct gpu {
    uint32_t invoker, kind;
    const struct invoker_group *group;
    uint16_t units;
    bool planned; /* has the number of units for which plans of its kind are made */
};

/* The GPUs of one kind, for which one plan is made. */
struct gpulet_fleet {
    uint16_t units;
    uint16_t parts[SIZES];
    size_t part_count;
    size_t gpu_count;                     /* planned ones */
    bool shared;                          /* by MPS: gpu-lets slow one another */
    struct batch_latency *latency_tables; /* by function × part */
    struct gpulet_task *tasks;            /* by queue */
    double *rates;                        /* by queue: its part of the rate planned for */
    bool scaled;                          /* the plan is for scaled-down rates */
    struct gpulet_plan plan;              /* while it is made and installed */
    size_t installed;                     /* GPUs of it, so far */
};

struct gpulets {
    const struct workload *workload;
    const struct gpulet_parameters *parameters;
    struct planner *planner;
    struct gpulet_fleet *fleets; /* by kind of GPU */
    uint32_t kinds;
    sim_time_t *rest; /* by queue: the fastest path through the later stages */
    struct gpu *gpus; /* ascending by invoker */
    size_t gpu_count;
    uint64_t *arrived; /* by queue, since `since` */
    uint8_t *planned;  /* by invoker × function */
    struct duty_cycle *cycle;
    sim_time_t since;
    sim_time_t interval; /* time until the next plan */
    bool due;
};

/* What the duty cycle knows of a gpu-let: its units and its kind. */
static inline uint32_t size_of(uint32_t kind, uint16_t units)
{
    return kind << 16 | units;
}

/* Serves a queue without a gpu-let on a gpu-let of `size` (size_of): on the largest part within its
 * units, else on the smallest part. False if it cannot run there. `context` is the state. */
bool gpulet_orphan(const void *context, uint32_t queue, uint32_t invoker, uint32_t size,
                   struct duty_cycle_slot *slot);

/* The policy's init: fills a state that is all zeros. False with ERROR_RUN. */
bool gpulet_init(void *state, struct platform *platform, const void *parameters,
                 struct error *error);

extern const struct key gpulet_parameters[];

#endif
