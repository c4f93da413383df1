/* The part of the contract for trainings (sim/README.md, "Trainings").
 *
 * A training is a training job: it has a model, a number of GPUs and a number of iterations. A gang
 * is the set of GPUs that a running training holds. Trainings are numbered in order of arrival. A
 * policy places a training on a whole gang in one step, and may preempt it, move it, or change its
 * shares. The gang holds GPU units and GPU memory, vCPUs and host memory on the ledger that batches
 * and instances use.
 *
 * A placement may be a lease that ends by itself. At its end the training waits again, and the
 * policy may place it anew at the same instant. A training that starts at the place that it left
 * at this instant continues; at another place it restarts first, which takes time.
 *
 * At one instant, ends of leases and finishes come first, then arrivals of trainings, then one call
 * of decide for all of them, then timers and other events.
 *
 * platform_place, platform_preempt, platform_resize and platform_split are allowed only within
 * `decide`. Rules, each enforced like those of sched/policy.h:
 *   - A gang has as many grants as its training has GPUs, each on another GPU. A training without
 *     GPUs has one grant, of share 0 and quota 0, for vCPUs and memory of its invoker. A language
 *     model (type INSTANCE_LLM) may be split over more GPUs where it is first placed: the parts of
 *     its memory then add up to it, and it keeps that number of GPUs.
 *   - Place only trainings that wait or run; preempt and resize only those that run.
 *   - A share of a GPU is one that its sharing mode allows. GPUs under MIG cannot be granted.
 *   - A GPU is of a model that the training accepts (`gpu_types`).
 *
 * A placement that does not fit returns false and changes nothing.
 */
#ifndef ESGSIM_SCHED_POLICY_TRAINING_H
#define ESGSIM_SCHED_POLICY_TRAINING_H

#include "sched/policy.h"
#include "workloads/training/training_models.h"

enum training_state {
    TRAINING_FUTURE, /* has not arrived; no query shows it */
    TRAINING_WAITING,
    TRAINING_RUNNING, /* holds its gang; also while it restarts */
    TRAINING_FINISHED
};

struct training_view {
    uint32_t model; /* index into platform_training_models */
    uint32_t gpus;  /* size of its gang; 0: it asks for vCPUs of one invoker */
    enum training_state state;
    sim_time_t arrival;
    sim_time_t first_start; /* SIM_FOREVER: never */
    sim_time_t last_stop;   /* end of its last lease; its arrival if there was none */
    sim_time_t lease_end;   /* of a running training; SIM_FOREVER: none */
    sim_time_t attained;    /* time for which it has held a gang so far */
    uint64_t iterations;
    double done;          /* iterations; whole ones if "progress" is "whole" */
    double iteration_s;   /* alone, on whole GPUs, with the models' base; INFINITY: it never ends */
    double gpu_memory_mb; /* on each GPU */
    uint64_t gpu_types;   /* bit gpu_spec.type of the GPUs that it accepts; all: any */
    uint32_t restarts;
    uint32_t service;      /* of an instance of the format dilu; 0 otherwise */
    double request, limit; /* its parts of a GPU; 0: its model's */
};

/* What a gang holds on one GPU and its invoker. */
struct training_grant {
    uint32_t invoker;
    uint32_t gpu;         /* index among the invoker's GPUs */
    uint32_t share;       /* units of the GPU */
    uint32_t quota;       /* 1..100: per cent of the time for which it has them */
    double vcpus;         /* of the invoker, for this GPU; kept in millionths */
    double memory_mb;     /* host memory, for this GPU */
    double gpu_memory_mb; /* only of a model that is split: its part on this GPU */
};

/* ---- Queries ------------------------------------------------------------------------------- */

const struct training_models *platform_training_models(const struct platform *platform);
/* First training at or after `from` that has arrived and is not finished; SIM_NONE: there is none.
 */
uint32_t platform_next_training(const struct platform *platform, uint32_t from);
/* The training must have arrived. */
struct training_view platform_training(const struct platform *platform, uint32_t id);
/* Copies the grants of a running training, at most `room` of them. Returns their number; 0 for one
 * that holds nothing. O(gang). */
uint32_t platform_gang(const struct platform *platform, uint32_t id, struct training_grant *grants,
                       uint32_t room);
/* Training number `which` of those on a GPU, in the order of their placement; SIM_NONE past the
 * last. */
uint32_t platform_resident(const struct platform *platform, uint32_t invoker, uint32_t gpu,
                           uint32_t which);

struct fragment_shape; /* sched/common/fragmentation.h */
/* What the training, which must have arrived, asks of one invoker. False: it has not. O(1). */
bool platform_training_shape(const struct platform *platform, uint32_t id,
                             struct fragment_shape *shape);
/* The typical shapes of the run's trainings, also of those to come, as FGD takes them from a
 * workload's history: the most frequent that make up 95 %. Frequencies are parts of 1. NULL without
 * trainings. */
const struct fragment_shape *platform_typical_shapes(const struct platform *platform,
                                                     size_t *count);

/* ---- Actions ------------------------------------------------------------------------------- */

/* Places a training: takes the whole gang or nothing. A running training moves. The placement ends
 * at `lease_end` > now, or with the training's last iteration; SIM_FOREVER: it has no other end.
 * With "progress": "whole" and a lease that has an end, a training finishes only there. O(gang ×
 * residents). */
bool platform_place(struct platform *platform, uint32_t training,
                    const struct training_grant *grants, uint32_t count, sim_time_t lease_end);
/* Stops a running training, which waits again. With "save_s" it keeps its gang for that time, and
 * cannot be placed until then. */
bool platform_preempt(struct platform *platform, uint32_t training);
/* Changes the shares of a running training on its GPUs, without a restart. The grants name the same
 * GPUs in the same order. False if it does not fit; then nothing changes. */
bool platform_resize(struct platform *platform, uint32_t training,
                     const struct training_grant *grants, uint32_t count);

/* Splits the batch of a waiting training into that many parts, from its next placement on. It has
 * gradient accumulation then: less GPU memory, and longer iterations (`sub_batches` of
 * workloads/training/training_models.h). The model must allow that number, and 1 is the whole
 * batch. False, without effect, while the training is being saved. */
bool platform_split(struct platform *platform, uint32_t training, uint32_t parts);

/* Ends the run with a message, for what a policy cannot go on after, such as exhausted memory.
 * Allowed in every callback. */
void platform_stop(struct platform *platform, const char *message);
#endif
