/* Loaders of cluster, functions and applications; not for other modules. */
#ifndef ESGSIM_WORKLOADS_WORLD_WORLD_INTERNAL_H
#define ESGSIM_WORKLOADS_WORLD_WORLD_INTERNAL_H

#include "workloads/load/loader_internal.h"
#include "workloads/world/workload.h"

/* The keys of an application, a reference to one, a stage and a function. */
extern const struct key application_keys[], application_reference_keys[], stage_keys[],
    function_keys[];
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

/* Loads {"invokers": […], "price": {…}} into the workload's cluster and kinds of GPU. GPUs are of
 * one kind if model, units, speed and price are equal. Profiles are not set. */
bool cluster_load(const struct json_value *value, struct workload *workload, struct error *error);

/* Time in ns of a configuration, at least 1 and at most SIM_CLOCK_END, so that the sum over a
 * request's stages does not overflow. */
sim_time_t configuration_time(double ms);

/* One entry of a functions file. Fields that the entry does not set are NAN or NULL. */
struct function_entry {
    struct json_value place;
    const char *name;
    const char *model;
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
    double turnaround_ms, turnaround_per_item_ms;
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
 * kind. Errors are reported at `where`. O(configurations). */
bool function_fuse(struct workload *workload, struct function *fused, const struct function *part,
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
bool axis_load(const struct json_value *value, int low, int high, const int **values, size_t *count,
               struct error *error);

#endif
