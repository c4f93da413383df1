/* The trainings of a run: from a trace, or drawn.
 *
 * A drawn set follows Synergy's generator (msr-fiddle/synergy at 1bb2bed, simulator/helpers/
 * utils.py:5-55): intervals of whole seconds, ⌈−ln(1−u) / per_hour × 3600⌉; 1, 2, 4 or 8 GPUs with
 * probability 0.70, 0.10, 0.15, 0.05; a model by class, then uniform in it; a duration of 10^x
 * minutes with x uniform in a range that is drawn by weight. Its streams are ours, so a trace of
 * the original generator is read as a trace.
 */
#ifndef ESGSIM_WORKLOADS_TRAINING_TRAININGS_H
#define ESGSIM_WORKLOADS_TRAINING_TRAININGS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/keys.h"
#include "sim/base/units.h"
#include "traces/readers/training_trace.h"
#include "workloads/load/json_include.h"
#include "workloads/training/training_models.h"

/* One training, ready to run. */
struct training_spec {
    uint64_t id;          /* of the trace; its number, from 0, in a drawn set */
    uint32_t model;       /* index into the models */
    uint32_t gpus;        /* size of the gang; 0: it holds vCPUs of one invoker alone */
    sim_time_t arrival;   /* since the start of the run; ascends */
    uint64_t iterations;  /* >= 1 */
    double iteration_s;   /* one iteration of the whole gang, alone, with the base of the models;
                             INFINITY: it never ends */
    double gpu_memory_mb; /* on each GPU of the gang; 0 if not given */
    uint64_t gpu_types;   /* bit gpu_spec.type of the GPUs that it accepts; all: any */
    /* Of an instance of the format dilu, which has one iteration; 0 otherwise: */
    uint32_t service;      /* instances of one service have the same number */
    double request, limit; /* parts of each GPU; of a pod of the format openb, too */
    double vcpus, host_gb; /* of a pod, which one invoker must have: per GPU, or in all; else 0 */
};

/* Whether a training ends by itself. */
static inline bool training_ends(const struct training_spec *spec)
{
    return isfinite(spec->iteration_s);
}

enum { TRAINING_RANGES_MOST = 8 };

/* How a model is drawn where the trace names none, and how a set is drawn. Weights need
 * not add up to 1. An all-zero `split` draws every model with the same probability. */
struct training_draw {
    bool drawn;                     /* else from a trace */
    double split[TRAINING_CLASSES]; /* weight of a class, shared equally by its models */
    double per_hour;                /* > 0 */
    size_t count;
    struct training_range {
        double weight, low, high; /* durations of 10^low .. 10^high minutes */
    } ranges[TRAINING_RANGES_MOST];
    size_t range_count;
    const char *cluster; /* of a trace of the layout philly: only this virtual cluster; NULL: all */
    double load;         /* of the layout openb: see trainings_fill; 0: the trace as it is */
};

/* Loads {"process": "trace", "file", "format", "split", "cluster"} or {"process": "poisson",
 * "per_hour", "count", "split", "minutes"}; the layout openb has "load", too. `file` is the path of
 * the trace, found as all files are; NULL for a drawn set. `format` points into training_formats;
 * the file's first line decides if the key is left out.
 */
bool training_arrivals_load(const struct json_include *document, const struct json_value *value,
                            struct training_draw *draw, const char **file, const char **format,
                            struct error *error);

/* The keys of "arrivals": of a trace, drawn. */
extern const struct key *const training_arrival_keys[];

/* Converts a trace. Every model must be in the table (philly: drawn by `draw->split` from `seed`,
 * and iterations = ⌊duration / iteration_s⌋, at least 1; dilu: the model is the type, of
 * training_models_of_instances). NULL with ERROR_INPUT that names the
 * trace's file, the row's number and what is wrong. They live as long as the models. */
struct training_spec *trainings_from_trace(const struct training_trace *trace, const char *path,
                                           const struct training_models *models,
                                           const struct training_draw *draw, uint64_t seed,
                                           struct error *error);

/* Turns a trace of pods into an arriving load of `load` times the cluster's GPUs. The pods are
 * shuffled. If they ask for less, pods of the trace, drawn uniformly with replacement, follow until
 * one GPU's share of the next would exceed the load; if they ask for more, random ones are left
 * out. Time is load: a pod arrives when the GPUs asked for so far, its own among them, are a
 * hundredth of the cluster for each second. As in hkust-adsl/kubernetes-scheduler-simulator at
 * 29a1e4c, pkg/simulator/simulator.go (TunePodsByNodeTotalResource), with our random numbers.
 * `pods` is of the arena. False with ERROR_INPUT if no pod asks for a GPU or the pods become too
 * many. O(count). */
bool trainings_fill(struct arena *arena, struct training_spec **pods, size_t *count, double load,
                    uint64_t gpus, uint64_t seed, struct error *error);

/* Draws `draw->count` trainings. They live as long as the models. NULL with an error.
 * O(count). */
struct training_spec *trainings_draw(const struct training_draw *draw,
                                     const struct training_models *models, uint64_t seed,
                                     struct error *error);

#endif
