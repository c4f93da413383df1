/* Loaders of the experiment as a whole; not for other modules. */
#ifndef ESGSIM_WORKLOADS_SPEC_SPEC_INTERNAL_H
#define ESGSIM_WORKLOADS_SPEC_SPEC_INTERNAL_H

#include "workloads/load/json_include.h"
#include "workloads/load/loader_internal.h"
#include "workloads/spec/experiment.h"
#include "workloads/world/world_internal.h"

/* Names of enum initial_state, NULL-terminated. */
extern const char *const initial_names[];
/* The keys of an experiment, of "platform" and its parts, and of "planning"; "reference" of "slo".
 */
extern const struct key experiment_keys[], platform_keys[], pool_keys[], admission_keys[],
    failure_keys[], planning_keys[], slo_reference_key[];

/* Loads "profile" or "profiles", assigns them to the workload's kinds of GPU, loads the profiles of
 * "planning", and joins kinds that differ only in their model. The cluster must be loaded. */
bool profiles_load(struct json_include *document, struct experiment *experiment,
                   struct error *error);

/* Sets the digests of the profiles, "MODEL DIGEST, MODEL DIGEST" or of one the digest alone, and
 * their evidence grades. */
void profiles_describe(struct experiment *experiment);
/* Returns the profile for GPUs of this model; of equal files the first. NULL if there is none. */
const struct profile *profiles_find(const struct experiment_profiles *list, const char *model);

/* Loads "planning" and makes the workload that policies see. A NULL node gives the defaults. All
 * else of the experiment must be loaded. */
bool planning_load(const struct json_value *value, struct experiment *experiment,
                   struct error *error);

/* Sets the defaults, then the values in `value`. A NULL node gives only defaults. */
bool platform_load(const struct json_value *value, const struct workload *workload,
                   struct platform_spec *platform, struct error *error);
/* Sets every application's SLO from "slo". A NULL node means factor 1. */
bool slo_load(const struct json_value *value, struct workload *workload, struct error *error);

/* The experiment of a document, of whose arena it is, with overrides. NULL with an error: the arena
 * is then destroyed. `opened`: the document is; else the error is there. */
struct experiment *experiment_resolve(bool opened, struct json_include *document,
                                      const struct override *overrides, size_t count,
                                      struct error *error);

/* Fills resolved_json and hash from the other fields of the experiment. */
void experiment_canonicalize(struct experiment *experiment);

#endif
