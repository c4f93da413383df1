/* What the loaders of an experiment's parts share; not for other modules.
 *
 * Each part of the experiment file has its loader: a `json_value` in, a piece of `struct
 * experiment` out. All return false with a fault told; what they have allocated until then hangs on
 * the structure they fill and is freed with it.
 */
#ifndef ESGSIM_WORKLOADS_LOADING_H
#define ESGSIM_WORKLOADS_LOADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nettle/sha2.h>

#include "sim/error.h"
#include "traces/json.h"
#include "workloads/document.h"
#include "workloads/experiment.h"

enum { NAME_LIMIT = 63 };

/* Durations in files. In ms: at most four months, so that sums and small multiples of several are
 * far from the end of the clock; in s: at most 30 years, of which nothing is summed. */
#define LIMIT_MS 1e10
#define LIMIT_S 1e9
/* Megabytes: at most 1 PiB. */
#define LIMIT_MB 1e9

/* Names of the values of enumerations, in their order, for the loaders and for the canonical form.
 * distribution_names begins with SERVICE_CONSTANT. NULL-terminated. */
extern const char *const arrival_process_names[],
    *const distribution_names[], *const initial_names[], *const reuse_names[],
                                                             *const prewarm_names[],
                                                                 *const decision_cost_names[];

/* `count` zeroed entries (at least one), or NULL with an error. */
void *load_array(size_t count, size_t size, struct error *error);

/* Required name: a string of 1..63 characters, into *out (owned by the caller). */
bool load_name(const struct json_value *object, const char *key, char **out, struct error *error);

/* Faults "KEY must be …; did you mean …?" for a name that is not among `names`. */
bool load_unknown_name(const struct json_value *value, const char *what, const char *name,
                       const char *const *names, int count, struct error *error);

/* {"invokers": […], "price": {…}}. */
bool cluster_load(const struct json_value *value, struct cluster_spec *cluster,
                  struct error *error);
void cluster_spec_clear(struct cluster_spec *cluster);

/* One entry of a functions file; NAN and NULL where it says nothing. */
struct function_entry {
    struct json_value place;
    char *name;
    char *model;
    bool has_service;
    enum service_kind service;
    double service_mean_ms;
    double service_cv;
    double *samples_ms;
    size_t sample_count;
    double input_bytes;
    double noise_cv;
    double cold_start_mean_ms, cold_start_cv;
    double gpu_weights_mb, gpu_per_item_mb;
    double host_memory_mb;
    double bandwidth_share;
    bool has_axes[3]; /* batch, vcpu, vgpu given under "configurations" */
    struct json_value axes[3];
    int64_t batch, vcpu, vgpu; /* "configuration" of a service function */
};

struct function_entries {
    struct function_entry *entries;
    size_t count;
};

/* {"functions": […]} or the array itself. */
bool function_entries_load(const struct json_value *value, struct function_entries *functions,
                           struct error *error);
void function_entries_clear(struct function_entries *functions);

/* The functions that applications may use, and those they do use so far. */
struct function_table {
    const struct function_entries *entries;
    const struct profile *profile; /* NULL: none */
    struct workload *workload;     /* functions in order of first use; name set, nothing else */
};

/* Index of function `name` in the workload, added at its first use. Fault at `value`. */
bool function_table_use(struct function_table *table, const struct json_value *value,
                        const char *name, uint32_t *index, struct error *error);

/* Fills every used function from its entry, then the profile; tabulates the configurations that the
 * cluster can run. `where` is the experiment, for faults without an entry of their own. */
bool function_table_resolve(const struct function_table *table, const struct json_value *where,
                            struct error *error);

/* Stages in topological order, functions through `table` (NULL: not looked up); fills name, stages,
 * weight (1 where not given). */
bool application_load(const struct json_value *value, struct function_table *table,
                      struct application *application, struct error *error);

/* Axis of whole numbers, strictly ascending, 1..1024 of them within low..high. */
bool axis_load(const struct json_value *value, int low, int high, int **values, size_t *count,
               struct error *error);

/* A "params" object as settings sorted by key; free with settings_free, also after a fault. */
bool settings_load(const struct json_value *params, struct setting **settings, size_t *count,
                   struct error *error);
void settings_free(struct setting *settings, size_t count);

bool arrivals_load(const struct document *document, const struct json_value *value,
                   const struct workload *workload, struct arrival_spec *arrivals,
                   struct error *error);
void arrivals_clear(struct arrival_spec *arrivals);

/* Defaults, then what `value` gives (node NULL: nothing). */
bool platform_load(const struct json_value *value, const struct workload *workload,
                   struct platform_spec *platform, struct error *error);
/* Sets every application's SLO from "slo" (node NULL: factor 1). */
bool slo_load(const struct json_value *value, struct workload *workload, struct error *error);
bool policy_load(const struct json_value *value, struct experiment *experiment,
                 struct error *error);

/* experiment_load and experiment_parse with input files that are read once (workloads/inputs.h);
 * `inputs` may be NULL. */
struct experiment *experiment_load_with(struct inputs *inputs, const char *path,
                                        const struct override *overrides, size_t override_count,
                                        struct error *error);
struct experiment *experiment_parse_with(struct inputs *inputs, const char *text, const char *name,
                                         const char *directory, const struct override *overrides,
                                         size_t override_count, struct error *error);

/* Reads a document whose overrides have been applied. */
struct experiment *experiment_resolve(struct document *document, struct error *error);
/* The keys of an experiment file, NULL-terminated. */
extern const char *const experiment_keys[];

/* One line with the members of every object sorted by key (`root` is re-ordered); caller frees.
 * NULL when out of memory. */
char *json_print_sorted(cJSON *root);

/* SHA-256 in hexadecimal. */
void hash_bytes(const char *bytes, size_t size, char hex[65]);
void hash_finish(struct sha256_ctx *context, char hex[65]);

/* Fills resolved_json and hash from everything else in the experiment. */
bool experiment_canonicalize(struct experiment *experiment, struct error *error);

#endif
