/* Models that are trained: time per iteration, sensitivity to vCPUs and memory, GPU memory, cost of
 * a restart, slowdown beside another training. One JSON file describes all models of a workload:
 *
 *     {"name", "evidence", "source", "licence", "note", "gpu": "V100",
 *      "vcpus": [1, 2, …], "memory_gb": [20.83, …], "base": {"vcpus": 3, "memory_gb": 62.5},
 *      "gangs": [1, 2, 4, 8], "penalty": [1, 0.9], "overhead": 1.015,
 *      "models": {"alexnet": {"class": "image", "iteration_s": 0.6, "gpu_memory_mb": 2094,
 *                             "speedup": 2.94, "demand": {"vcpus": 12, "memory_gb": 125},
 *                             "throughput": [[0.1, 0.3, …], …], "restart_s": [4, 5, …],
 *                             "iteration_s_on": {"K80": 2.1, "P100": [0.9, 0.5, …]},
 *                             "share": {"request": 0.3, "limit": 0.6, "speed": [0.2, …, 1]},
 *                             "sub_batches": {"most": 8, "step_s": 0.04, "fixed_mb": 1500}}},
 *      "pairs": {"default": 1.5, "alexnet": {"res18": [1.2, …]}}}
 *
 * `base` is the allocation per GPU at which `iteration_s` holds. `throughput` is the matrix W: a
 * row per entry of `vcpus`, a column per entry of `memory_gb`, per GPU. The speed in a cell is its
 * W ÷ W at the base, on every cluster; at the demand it is `speedup`. Without `base` W is 1 there.
 * `overhead` multiplies the iteration times that a trace gives. `gpu` names the GPU model that was
 * measured. `iteration_s_on` is of other GPU models; on those that it lacks the cluster's "speed"
 * counts. `iteration_s`, those on other models, `restart_s` and a pair's slowdown are one number,
 * or one per entry of `gangs`. A pair whose slowdown is null does not fit on one GPU. A pair that
 * is not listed has the slowdown `default`, where "none" stands for 1. "effects" derives it from
 * those that are listed: its inverse, the speed beside another, is mean + effect of the victim +
 * effect of the other, by least squares, between the least listed speed and 1. `excess` multiplies
 * what the listed slowdowns and the default have above 1, to vary them as an assumption.
 * `bandwidth_share` counts beside batches of requests where the profile's interference is by
 * bandwidth. `share` is of one GPU: `speed` at equal steps of the share, the last at the whole GPU,
 * with straight lines between them and from 0. Without `speed` only a share of the time slows a
 * model. `penalty` is the speed of a gang on 1, 2, … invokers relative to one of the same GPUs on
 * one; further invokers have the last entry, and a model may have its own. For a number of GPUs
 * that `gangs` lacks, the next larger entry counts, and beyond the last the last.
 *
 * `sub_batches` is of gradient accumulation: a batch can be computed in 2, 4, … up to `most` equal
 * parts, one after the other, and the gradients are added up. Then an iteration takes iteration_s +
 * (parts - 1) × step_s, where `step_s` is the time of a step that does not depend on its batch. A
 * GPU of the gang holds fixed_mb + (gpu_memory_mb - fixed_mb) ÷ parts: `fixed_mb` is for weights,
 * gradients, optimizer and framework, the rest grows with the part.
 */
#ifndef ESGSIM_WORKLOADS_TRAINING_TRAINING_MODELS_H
#define ESGSIM_WORKLOADS_TRAINING_TRAINING_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/json.h"
#include "traces/readers/training_trace.h"

enum training_class { TRAINING_IMAGE, TRAINING_LANGUAGE, TRAINING_SPEECH, TRAINING_CLASSES };

/* "image", "language", "speech", NULL. */
extern const char *const training_class_names[];

struct training_model {
    char *name;
    struct training_elsewhere {
        char *gpu;           /* GPU model */
        double *iteration_s; /* by gang size */
    } * elsewhere;           /* iteration_s_on */
    size_t elsewhere_count;
    enum training_class kind;
    double *iteration_s;   /* by gang size; 0: the trace gives it */
    double *restart_s;     /* by gang size; 0 if not given */
    double gpu_memory_mb;  /* on each GPU of a gang; 0 if not given */
    double demand_vcpus;   /* per GPU; 0: the proportional share */
    double demand_gb;      /* host memory per GPU; 0: the proportional share */
    double speedup;        /* at the demand, relative to the base; 1 if not given */
    double *throughput;    /* W[vcpu][memory] ÷ W at the base, row after row; NULL: 1 everywhere */
    double request, limit; /* parts of a GPU; 0 if not given */
    double bandwidth_share; /* demand for memory bandwidth, as of a function; 0 if not given */
    double *speed;          /* at equal steps of the share, up to the whole GPU; NULL: not given */
    size_t speed_count;
    enum instance_type type;
    bool used;       /* a training of the plan is of this model */
    bool timed;      /* it runs for its time, whatever its share: speed is not modelled */
    double *penalty; /* by number of invokers, from 1 on; NULL: the file's */
    size_t penalty_count;
    uint32_t most_sub_batches;      /* 1: its batch is not split */
    double step_s, fixed_memory_mb; /* of each part's step, and on each GPU, whatever the part */
};

struct training_models {
    char *name;
    char *evidence;             /* its grades, in words; NULL: not given */
    char *gpu;                  /* the GPU model that was measured; NULL: not given */
    double overhead;            /* factor on iteration times of a trace */
    double base_vcpus, base_gb; /* per GPU, at which iteration_s holds; 0: where W is 1 */
    double *vcpus, *memory_gb;  /* the axes of W, ascending */
    size_t vcpu_count, memory_count;
    uint32_t *gangs; /* ascending; without "gangs" one entry, 1 */
    size_t gang_count;
    struct training_model *models;
    size_t count;
    double *penalty; /* of models without their own; NULL: none */
    size_t penalty_count;
    double *pairs;       /* [victim][other][gang size]; NAN where not measured; NULL:
                             no pair at all */
    double *derived;     /* the same where not measured; NULL: `default_pair` counts */
    double default_pair; /* of the others; 1 beside `derived`; NAN: not given */
    struct arena *arena; /* of all that they have */
};

/* Loads the file's root. NULL with an error that names file and key. The caller frees. */
struct training_models *training_models_load(const struct json_value *value, struct error *error);
/* The same from a file, which is found as in other commands. */
struct training_models *training_models_read(const char *path, struct error *error);
/* The models of a trace that gives request, limit and memory of every row itself (format dilu): one
 * per type, by enum instance_type, all timed. NULL without memory. */
struct training_models *training_models_of_instances(struct error *error);
/* The models of a trace whose trainings take the time that it states: TRAINING_TIMED, of trainings
 * without a name, and one per name; all timed, and none shares a GPU with another training. */
struct training_models *training_models_timed(const char *const *names, size_t count,
                                              struct error *error);
#define TRAINING_TIMED "timed"
void training_models_free(struct training_models *models); /* NULL is allowed */

/* Index of a model, or -1. O(models). */
int32_t training_models_find(const struct training_models *models, const char *name);

/* The entry of `gangs` that counts for a gang of that many GPUs. O(gangs). */
size_t training_gang(const struct training_models *models, uint32_t gpus);

/* W ÷ W at the base, at the next cell that is not above (vcpus, memory_gb), both per GPU. Below the
 * first cell, the first one. O(cells on one row and column). */
double training_throughput(const struct training_models *models, uint32_t model, double vcpus,
                           double memory_gb);

/* What an invoker has. */
struct training_server {
    double vcpus, memory_gb, gpus;
};

/* What a gang demands of one invoker, and its speed with it, relative to the base. */
struct training_demand {
    double vcpus, memory_gb, speed;
};

/* Speed with the proportional share of a server. */
double training_fair_speed(const struct training_models *models, uint32_t model,
                           const struct training_server *server);

/* A model's demand for a gang of n GPUs, where none is given its proportional share, limited to
 * what a server has. Between the share and the demand speed is linear in vCPUs; a gang larger than
 * a server has its share where it is limited. Synergy (Mohan et al., OSDI 2022), as in
 * msr-fiddle/synergy at 1bb2bed, simulator/jobs/workload.py:182-245. False, with the model's
 * speed-up, if the demand exceeds a server and its vCPUs equal the share, which gives no slope (the
 * original aborts there). */
bool training_demand(const struct training_models *models, uint32_t model, double n,
                     const struct training_server *server, struct training_demand *demand);

/* Speed of a model that has `speed`, with this part of a GPU, relative to the whole GPU. */
double training_share_speed(const struct training_model *model, double part);

/* Whether a model's batch can be computed in that many parts: 1, 2, 4, … up to its most. */
bool training_splits(const struct training_model *model, uint32_t parts);

/* Time of an iteration, s, and GPU memory, MB, of a batch in that many parts (1 or more), where
 * they are `iteration_s` and `gpu_memory_mb` with the whole batch. */
double training_split_s(const struct training_model *model, uint32_t parts, double iteration_s);
double training_split_mb(const struct training_model *model, uint32_t parts, double gpu_memory_mb);

/* Speed of a gang on GPUs of this model, relative to `iteration_s`, if it was measured there; else
 * `speed`. O(GPU models). */
double training_gpu_speed(const struct training_models *models, uint32_t index, const char *gpu,
                          double speed, uint32_t gpus);

/* Speed of a gang of the model on that many invokers, relative to one invoker; 0 < it <= 1. */
double training_penalty(const struct training_models *models, uint32_t model, uint32_t invokers);

/* Slowdown ξ >= 1 of a gang of `victim` beside `other`; INFINITY if the two do not fit on one GPU.
 * If it was not measured: derived, or the file's default, or 1. `measured` may be NULL. */
double training_pair(const struct training_models *models, uint32_t victim, uint32_t other,
                     uint32_t gpus, bool *measured);

/* Ordered pairs of used models, but timed ones, that were not measured, and in *pairs all of them.
 * O(models²). */
size_t training_pairs_missing(const struct training_models *models, size_t *pairs);

#endif
