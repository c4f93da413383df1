/* The object "training" of an experiment: which trainings arrive, and the rules that they run by.
 *
 *     {"models": FILE, "arrivals": {"process": "trace" | "poisson", …}, "measured": [first, last],
 *      "stop": "measured" | "all", "progress": "fluid" | "whole", "restart": "model" | "none",
 *      "save_s": 0, "checkpoint_s": 0, "share_exponent": 0.3}
 *
 * A trace of the formats dilu and openb needs no models. One of our own layout, esgsim, needs none
 * if it has durations.
 */
#ifndef ESGSIM_WORKLOADS_TRAINING_TRAINING_PLAN_H
#define ESGSIM_WORKLOADS_TRAINING_TRAINING_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "workloads/training/trainings.h"
#include "workloads/world/workload.h"

/* Default of share_exponent, by least squares from the 1,500 slowdowns of iGniter's pairs, with a
 * level for each function beside each other (tests/test_interference.c). */
#define TRAINING_SHARE_EXPONENT 0.3

struct json_include;
struct json_value;

struct training_plan {
    struct training_models *models;
    struct training_spec *trainings; /* by arrival; a training's number is its index */
    size_t count;
    struct training_spec *pods; /* the trace's own, of which a load was made; NULL: none was */
    size_t pod_count;
    bool models_drawn; /* the trace names no model for some trainings, or is filled to a load */
    uint64_t measured_first, measured_last; /* trainings with first <= id < last are measured;
                                               of a load those of its last half per cent */
    bool stop_at_measured; /* the run ends when these have finished; else with the last training */
    bool whole;            /* a lease makes whole iterations; else progress is fluid */
    bool instant_restart;  /* restarts take no time; else the model's */
    sim_time_t save;       /* a preempted gang is held for that long */
    sim_time_t checkpoint; /* time of work between two checkpoints; 0: none while it runs */
    double share_exponent; /* of shares, in what trainings and batches do to one another */
    /* For the canonical form: */
    const char *trace_path; /* NULL: a drawn set */
    const char *trace_format;
    char models_sha256[65]; /* of the models as canonical JSON; "" if the trace gives them */
    char trace_sha256[65];
    struct stat trace_identity;
    struct training_draw draw;
};

/* Loads the object. `cluster` bounds the gangs. NULL with an error that names file and key. */
struct training_plan *training_plan_load(struct json_include *document,
                                         const struct json_value *value,
                                         const struct cluster_spec *cluster, uint64_t seed,
                                         struct error *error);

/* The keys of the object. */
extern const struct key training_keys[];

static inline bool training_is_measured(const struct training_plan *plan, uint64_t id)
{
    return plan->measured_first <= id && id < plan->measured_last;
}

#endif
