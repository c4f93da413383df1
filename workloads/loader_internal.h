/* Internal interface of the experiment's loaders; not for other modules.
 *
 * Each part of the experiment file has a loader, which converts a `json_value` into a part of
 * `struct experiment`. All return false with an error. Memory allocated before an error belongs to
 * the structure that they fill and is freed with it.
 */
#ifndef ESGSIM_WORKLOADS_LOADER_INTERNAL_H
#define ESGSIM_WORKLOADS_LOADER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nettle/sha2.h>

#include "sim/base/error.h"
#include "sim/base/json.h"
#include "sim/base/keys.h"
#include "workloads/json_include.h"
#include "workloads/experiment.h"

enum { NAME_LIMIT = KEYS_NAME_MOST };

bool path_ends_in(const char *path, const char *ending);

/* Limits of durations in files. Milliseconds: at most four months, so that sums and small multiples
 * of several durations are far below the clock's range. Seconds: at most 30 years; these are not
 * summed. */
#define LIMIT_MS 1e10
#define LIMIT_S 1e9
/* Megabytes: at most 1 PiB. */
#define LIMIT_MB 1e9

/* Names of enum initial_state, NULL-terminated. */
extern const char *const initial_names[];
/* The keys of an experiment, an application, a reference to one, and a stage. */
extern const struct key experiment_keys[], application_keys[], application_reference_keys[],
    stage_keys[], function_keys[];
/* The keys of "platform", "planning" and "training"; "reference" of "slo"; a state of an MMPP. */
extern const struct key platform_keys[], pool_keys[], admission_keys[], failure_keys[],
    planning_keys[], training_keys[], slo_reference_key[], mmpp_state_keys[];
/* The keys of an invoker, of one of its GPUs, and of "price". */
struct gpu_entry {
    struct gpu_spec gpu;
    struct gpu_kind kind;
    uint32_t count;
};
struct price {
    double vcpu_hour_usd, vgpu_hour_usd;
};
extern const struct key invoker_keys[], gpu_keys[], price_keys[];
/* Names of enum arrival_phase but its last, NULL-terminated. */
extern const char *const phase_names[];
/* The keys of "arrivals", by process, and of those of trainings: of a trace, drawn. */
extern const struct key *const arrival_keys[], *const training_arrival_keys[];

/* Allocates `count` zeroed entries (at least one). NULL with an error when out of memory. */
void *load_array(size_t count, size_t size, struct error *error);

/* The same, one for each entry of an array, which has low..high. NULL with an error if not. */
void *load_entries(const struct json_value *array, size_t low, size_t high, size_t size,
                   struct error *error);

/* Reports "KEY must be …; did you mean …?" for a name that is not among `names`. Returns false. */
bool load_unknown_name(const struct json_value *value, const char *what, const char *name,
                       const char *const *names, int count, struct error *error);

/* Finds the structure of this name among `count` of them: `first` is the first one's name, the
 * others' are `size` bytes apart. Reports an unknown name at `value`. O(count). */
bool load_index(const struct json_value *value, const char *what, const char *name,
                char *const *first, size_t count, size_t size, size_t *index, struct error *error);

/* Whether the structure behind `count` others has a name of its own; a fault at `value` if not. */
bool load_is_new(const struct json_value *value, const char *what, char *const *first, size_t count,
                 size_t size, struct error *error);

/* Loads {"invokers": […], "price": {…}} into the workload's cluster and kinds of GPU. GPUs are of
 * one kind if model, units, speed and price are equal. Profiles are not set. */
bool cluster_load(const struct json_value *value, struct workload *workload, struct error *error);

/* Loads "profile" or "profiles", assigns them to the workload's kinds of GPU, loads the profiles of
 * "planning", and joins kinds that differ only in their model. The cluster must be loaded. */
bool profiles_load(struct json_include *document, struct experiment *experiment,
                   struct error *error);
/* Returns the profile for GPUs of this model; of equal files the first. NULL if there is none. */
const struct profile *profiles_find(const struct experiment_profiles *list, const char *model);
void profiles_clear(struct experiment_profiles *list);

/* Loads "planning" and makes the workload that policies see. A NULL node gives the defaults. All
 * else of the experiment must be loaded. */
bool planning_load(const struct json_value *value, struct experiment *experiment,
                   struct error *error);
void planning_clear(struct planning *planning);

/* Time in ns of a configuration, at least 1 and at most SIM_CLOCK_END, so that the sum over a
 * request's stages does not overflow. */
sim_time_t configuration_time(double ms);

/* One entry of a functions file. Fields that the entry does not set are NAN or NULL. */
struct function_entry {
    struct json_value place;
    char *name;
    char *model;
    bool has_service;
    uint32_t distribution; /* SERVICE_CONSTANT + this is the kind of service */
    double service_mean_ms, service_cv;
    struct json_samples samples; /* of an empirical service */
    double input_bytes;
    double noise_cv;
    double cold_start_mean_ms, cold_start_cv;
    struct json_samples cold_start_samples; /* in place of mean and cv */
    double gpu_weights_mb, gpu_per_item_mb;
    double host_memory_mb;
    double bandwidth_share;
    double turnaround_ms;
    struct json_value axes[3]; /* batch, vcpu, vgpu of "configurations"; no node: not given */
    int64_t batch, vcpu, vgpu; /* "configuration" of a service function */
};

struct function_entries {
    struct function_entry *entries;
    size_t count;
};

/* Loads {"functions": […]} or the array itself. */
bool function_entries_load(const struct json_value *value, struct function_entries *functions,
                           struct error *error);
void function_entries_clear(struct function_entries *functions);

/* The functions that applications may use, and those used so far. */
struct function_table {
    const struct function_entries *entries;
    struct workload *workload; /* has the kinds of GPU with their profiles; receives functions in
                                * order of first use, of which only `name` is set */
};

/* Index of function `name` in the workload. The first use adds it. An unknown name is reported at
 * `value`. The name "a+b" is that of functions a and b as one, unless a function has it. */
bool function_table_use(struct function_table *table, const struct json_value *value,
                        const char *name, uint32_t *index, struct error *error);

/* Lets `fused`, which at first has only a name, execute a part after those that it has. Times, cold
 * starts and memory add up; turnaround and grade are the greatest. Noise, demand for bandwidth and
 * rows of a pair table are means, weighted by the parts' times at the least configuration of each
 * kind. The caller clears the part. Errors are reported at `where`. O(configurations). */
bool function_fuse(struct workload *workload, struct function *fused, struct function *part,
                   const struct json_value *where, struct error *error);

/* By kind, those without a GPU with kind 0; then by batch, vCPUs and vGPUs. For qsort. */
int configuration_compare(const void *left, const void *right);

/* Fills every used function from its entry, then from the profile, and tabulates the configurations
 * that the cluster can run. Errors that belong to no entry are reported at `where`, the experiment.
 */
bool function_table_resolve(const struct function_table *table, const struct json_value *where,
                            struct error *error);

/* Loads stages in topological order and fills name, stages and weight (default 1). Functions are
 * looked up in `table`; NULL skips the look-up. The object `granularity` may have that key. */
bool application_load(const struct json_value *value, const struct json_value *granularity,
                      struct function_table *table, struct application *application,
                      struct error *error);

/* Loads an axis: 1..1024 whole numbers within low..high, strictly ascending. */
bool axis_load(const struct json_value *value, int low, int high, int **values, size_t *count,
               struct error *error);

/* Loads a "params" object as settings, sorted by key. Free with settings_free, also after an error.
 */
bool settings_load(const struct json_value *params, struct setting **settings, size_t *count,
                   struct error *error);
void settings_free(struct setting *settings, size_t count);

bool arrivals_load(const struct json_include *document, const struct json_value *value,
                   const struct workload *workload, struct arrival_spec *arrivals,
                   struct error *error);
void arrivals_clear(struct arrival_spec *arrivals);

/* Sets the defaults, then the values in `value`. A NULL node gives only defaults. */
bool platform_load(const struct json_value *value, const struct workload *workload,
                   struct platform_spec *platform, struct error *error);
/* Sets every application's SLO from "slo". A NULL node means factor 1. */
bool slo_load(const struct json_value *value, struct workload *workload, struct error *error);

/* experiment_load with a cache of input files (workloads/inputs.h), which may be NULL. */
struct experiment *experiment_load_with(struct inputs *inputs, const char *path,
                                        const struct override *overrides, size_t override_count,
                                        struct error *error);

/* The experiment of a document, which it closes, with overrides. NULL with an error. */
struct experiment *experiment_resolve(struct json_include *document,
                                      const struct override *overrides, size_t count,
                                      struct error *error);

/* Prints one line of JSON with the members of every object sorted by key, which reorders `root`.
 * The caller frees. NULL when out of memory. */
char *json_print_sorted(cJSON *root);

/* SHA-256 in hexadecimal. */
void hash_bytes(const char *bytes, size_t size, char hex[65]);
void hash_finish(struct sha256_ctx *context, char hex[65]);

/* Fills resolved_json and hash from the other fields of the experiment. */
bool experiment_canonicalize(struct experiment *experiment, struct error *error);

#endif
