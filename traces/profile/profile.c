#include "traces/profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/keys.h"
#include "traces/profile/profile_fit.h"

enum { AXIS_LIMIT = 1024, GRID_LIMIT = 1 << 20, FUNCTION_LIMIT = 10000, TEXT_KEYS_LIMIT = 64 };

#define MS_LIMIT 1e9
#define MB_LIMIT 1e9

/* ---- Text ---------------------------------------------------------------------------------- */

/* Reads a string, or an object of strings as "name: text; name: text". An absent key gives "". If
 * `out` is NULL, the text is only checked. */
static bool read_text(const struct json_value *object, const char *key, const char **out,
                      struct error *error)
{
    struct json_value text;
    char *joined = NULL;
    if (!json_child(object, key, &text)) {
        joined = arena_text(object->arena, "%s", "");
    } else if (cJSON_IsObject(text.node)) {
        for (struct json_value v = {0}; json_next(&text, &v);) {
            const char *note = json_as_text(&v, error);
            if (note == NULL)
                return false;
            arena_append(v.arena, &joined, "%s%s: %s", joined == NULL ? "" : "; ", v.node->string,
                         note);
        }
    } else if (json_as_text(&text, error) != NULL) {
        joined = arena_text(object->arena, "%s", text.node->valuestring);
    } else {
        return false;
    }
    if (joined == NULL)
        joined = arena_text(object->arena, "%s", "");
    if (out == NULL)
        return true;
    *out = joined;
    return json_is_name(&text, joined, error); /* because it is shown on one line */
}

/* ---- The grid ------------------------------------------------------------------------------ */

static bool read_axis(const struct json_value *grid, const char *key, int low, int high,
                      struct profile_axis *axis, struct error *error)
{
    struct json_value array;
    if (!json_require(grid, key, &array, error) || !json_is_array(&array, 1, AXIS_LIMIT, error))
        return false;
    axis->values = arena_allocate(array.arena, json_size(&array), sizeof *axis->values);
    for (struct json_value v = {0}; json_next(&array, &v);) {
        int64_t value = 0;
        if (!json_as_integer(&v, low, high, &value, error))
            return false;
        if (v.index > 0 && value <= axis->values[v.index - 1])
            return json_fault(&v, error, "must be above the entry before it, %d; sort the axis",
                              axis->values[v.index - 1]);
        axis->values[axis->count++] = (int)value;
    }
    return true;
}

static bool has_length(const struct json_value *array, size_t count, const char *axis,
                       struct error *error)
{
    if (!json_is_array(array, 1, GRID_LIMIT, error))
        return false;
    if (json_size(array) != count)
        return json_fault(array, error, "has %zu entries; grid.%s has %zu, give one for each",
                          json_size(array), axis, count);
    return true;
}

/* Reads the latencies of one row, over the vGPU axis. Counts the entries that are not null. */
static bool read_latency_row(const struct json_value *row, size_t count, double *out,
                             size_t *present, struct error *error)
{
    if (!has_length(row, count, "vgpu", error))
        return false;
    for (struct json_value v = {0}; json_next(row, &v);) {
        double *ms = &out[v.index];
        *ms = NAN;
        if (cJSON_IsNull(v.node))
            continue;
        if (!json_as_number(&v, 0, MS_LIMIT, ms, error))
            return false;
        if (!(*ms > 0))
            return json_fault(&v, error, "must be above 0, or null if it did not run");
        (*present)++;
    }
    return true;
}

static bool read_latency_plane(const struct json_value *plane, struct profile_function *function,
                               double *out, size_t *present, struct error *error)
{
    if (!has_length(plane, function->vcpu.count, "vcpu", error))
        return false;
    for (struct json_value v = {0}; json_next(plane, &v);)
        if (!read_latency_row(&v, function->vgpu.count, out + v.index * function->vgpu.count,
                              present, error))
            return false;
    return true;
}

static bool read_latency(const struct json_value *value, struct profile_function *function,
                         struct error *error)
{
    struct json_value latency;
    size_t plane = function->vcpu.count * function->vgpu.count;
    size_t present = 0;
    if (function->batch.count * plane > GRID_LIMIT)
        return json_fault(value, error, "has a grid of %zu points; at most %d",
                          function->batch.count * plane, GRID_LIMIT);
    if (!json_require(value, "latency_ms", &latency, error) ||
        !has_length(&latency, function->batch.count, "batch", error))
        return false;
    function->latency_ms =
        arena_allocate(value->arena, function->batch.count * plane, sizeof *function->latency_ms);
    for (struct json_value v = {0}; json_next(&latency, &v);)
        if (!read_latency_plane(&v, function, function->latency_ms + v.index * plane, &present,
                                error))
            return false;
    if (present == 0)
        return json_fault(&latency, error, "holds only nulls; give at least one latency");
    return true;
}

static bool read_grid(const struct json_value *value, int unit, struct profile_function *function,
                      struct error *error)
{
    static const char *const keys[] = {"batch", "vcpu", "vgpu", NULL};
    struct json_value grid;
    return json_require(value, "grid", &grid, error) && json_is_object(&grid, keys, error) &&
           read_axis(&grid, "batch", 1, UINT16_MAX, &function->batch, error) &&
           read_axis(&grid, "vcpu", 1, UINT16_MAX, &function->vcpu, error) &&
           read_axis(&grid, "vgpu", 0, unit, &function->vgpu, error) &&
           read_latency(value, function, error);
}

/* ---- Functions ----------------------------------------------------------------------------- */

#define OF profile_function
static const struct key noise_keys[] = {KEY_NUMBER("cv", OF, noise_cv, 0, 10, NAN, OPTIONAL),
                                        KEY_END};
static const struct key cold_start_keys[] = {
    KEY_NUMBER("mean", OF, cold_start_mean_ms, 0, MS_LIMIT, NAN, OPTIONAL),
    KEY_NUMBER("cv", OF, cold_start_cv, 0, 10, NAN, OPTIONAL), KEY_OWN("samples_ms"), KEY_END};
static const struct key memory_keys[] = {
    KEY_NUMBER("weights", OF, gpu_weights_mb, 0, MB_LIMIT, NAN, OPTIONAL),
    KEY_NUMBER("per_item", OF, gpu_per_item_mb, 0, MB_LIMIT, NAN, OPTIONAL), KEY_END};
static const struct key turnaround_keys[] = {
    KEY_NUMBER("base_ms", OF, turnaround_ms, 0, MS_LIMIT, NAN, OPTIONAL),
    KEY_NUMBER("per_item_ms", OF, turnaround_per_item_ms, 0, MS_LIMIT, NAN, OPTIONAL), KEY_END};
static const struct key function_keys[] = {
    KEY_TEXT("model", OF, model, OPTIONAL),
    KEY_OWN("grid"),
    KEY_OWN("latency_ms"),
    KEY_OBJECT("noise", noise_keys, OPTIONAL),
    KEY_OBJECT("cold_start_ms", cold_start_keys, OPTIONAL),
    KEY_OBJECT("gpu_memory_mb", memory_keys, OPTIONAL),
    KEY_NUMBER("host_memory_mb", OF, host_memory_mb, 0, MB_LIMIT, NAN, OPTIONAL),
    KEY_NUMBER("bandwidth_share", OF, bandwidth_share, 0, 1, NAN, OPTIONAL),
    KEY_OBJECT("turnaround_ms", turnaround_keys, OR_NUMBER),
    KEY_NUMBER("input_bytes", OF, input_bytes, 0, 1e15, NAN, OPTIONAL),
    KEY_OWN("evidence"),
    KEY_OWN("derivation"),
    KEY_OWN("law"),
    KEY_OWN("source"),
    KEY_OWN("expected_error"), /* the 50 % quantile, in older files */
    KEY_OWN("expected_error_50"),
    KEY_OWN("expected_error_90"),
    KEY_OWN("calibration"), /* for readers */
    KEY_END};
#undef OF

static bool read_cold_start(const struct json_value *value, struct profile_function *function,
                            struct error *error)
{
    struct json_value cold, child;
    struct json_samples samples = {0};
    if (!json_child(value, "cold_start_ms", &cold))
        return true;
    if (!json_child(&cold, "samples_ms", &child))
        return json_require(&cold, "mean", &child, error);
    const bool good = json_samples(&cold, MS_LIMIT, &samples, error);
    function->cold_start_samples_ms = samples.values;
    function->cold_start_sample_count = samples.count;
    function->cold_start_mean_ms = samples.mean;
    function->cold_start_cv = samples.cv;
    return good;
}

static bool read_function(const struct json_value *value, int unit,
                          struct profile_function *function, struct error *error)
{
    keys_default(function_keys, function);
    if (!keys_load(function_keys, value, function, error))
        return false;
    function->name = arena_text(value->arena, "%s", value->node->string);
    if (function->model == NULL)
        function->model = function->name;
    if (function->name[0] == '\0')
        return json_fault(value, error, "is a function without a name; name it");
    if (!json_is_name(value, function->name, error))
        return false;
    return read_grid(value, unit, function, error) && read_cold_start(value, function, error) &&
           read_text(value, "evidence", NULL, error) &&
           read_text(value, "derivation", NULL, error) &&
           profile_fit_read(value, unit, function, error);
}

static bool read_functions(const struct json_value *root, struct profile *profile,
                           struct error *error)
{
    struct json_value functions;
    if (!json_require(root, "functions", &functions, error) ||
        !json_is_object(&functions, NULL, error))
        return false;
    size_t count = json_size(&functions);
    if (count == 0 || count > FUNCTION_LIMIT)
        return json_fault(&functions, error, "has %zu functions; give 1 to %d", count,
                          FUNCTION_LIMIT);
    profile->functions = arena_allocate(root->arena, count, sizeof *profile->functions);
    for (struct json_value v = {0}; json_next(&functions, &v);)
        if (!read_function(&v, profile->unit, &profile->functions[profile->function_count++],
                           error))
            return false;
    return true;
}

/* ---- Interference -------------------------------------------------------------------------- */

static bool know_function(const struct json_value *name, const struct profile *profile,
                          struct error *error)
{
    const char *wanted = name->node->valuestring;
    if (profile_find(profile, wanted) != NULL)
        return true;
    const char *nearest = error_nearest_of(wanted, &profile->functions[0].name,
                                           profile->function_count, sizeof *profile->functions);
    if (nearest != NULL)
        json_fault(name, error, "\"%s\" is not a function of this profile; did you mean \"%s\"?",
                   wanted, nearest);
    else
        json_fault(name, error,
                   "\"%s\" is not a function of this profile; use a name of \"functions\"", wanted);
    return false;
}

static bool read_pair_names(const struct json_value *value, const struct profile *profile,
                            struct interference *model, struct error *error)
{
    struct json_value names;
    if (!json_require(value, "functions", &names, error) ||
        !json_is_array(&names, 1, FUNCTION_LIMIT, error))
        return false;
    model->pair_names = arena_allocate(value->arena, json_size(&names), sizeof *model->pair_names);
    for (struct json_value v = {0}; json_next(&names, &v);) {
        const char *name = json_as_string(&v, error);
        if (name == NULL || !know_function(&v, profile, error))
            return false;
        for (size_t j = 0; j < model->pair_count; j++)
            if (strcmp(model->pair_names[j], name) == 0)
                return json_fault(&v, error, "\"%s\" is there twice; keep one", name);
        model->pair_names[model->pair_count++] = arena_text(value->arena, "%s", name);
    }
    return true;
}

static bool read_pair_row(const struct json_value *row, struct interference *model, double *out,
                          struct error *error)
{
    if (!json_is_array(row, model->pair_count, model->pair_count, error))
        return false;
    for (struct json_value v = {0}; json_next(row, &v);) {
        out[v.index] = NAN;
        if (!cJSON_IsNull(v.node) && !json_as_number(&v, 0, 100, &out[v.index], error))
            return false;
    }
    return true;
}

/* Pairs with slopes are the shaped model. */
static bool read_slopes(const struct json_value *value, struct interference *model,
                        struct error *error)
{
    struct json_value slopes, number;
    if (!json_child(value, "slopes", &slopes))
        return true;
    model->kind = INTERFERENCE_SHAPED;
    bool fine = json_is_object(&slopes, interference_number_keys, error);
    for (size_t i = 0; fine && i < INTERFERENCE_NUMBERS; i++) {
        const bool slope = i >= INTERFERENCE_VICTIM_SLOPES;
        const double most = slope ? INTERFERENCE_SLOPE_MOST : i == INTERFERENCE_SHARE ? 1 : 1e6;
        fine = json_require(&slopes, interference_number_keys[i], &number, error) &&
               json_as_number(&number, slope ? -most : 1e-3, most, &model->shape[i], error);
    }
    return fine;
}

static bool read_pairs(const struct json_value *value, const struct profile *profile,
                       struct interference *model, struct error *error)
{
    struct json_value excess;
    if (!read_pair_names(value, profile, model, error) ||
        !json_require(value, "excess", &excess, error) ||
        !json_is_array(&excess, model->pair_count, model->pair_count, error))
        return false;
    model->pairs =
        arena_allocate(value->arena, model->pair_count * model->pair_count, sizeof *model->pairs);
    for (struct json_value v = {0}; json_next(&excess, &v);)
        if (!read_pair_row(&v, model, model->pairs + v.index * model->pair_count, error))
            return false;
    return true;
}

/* The keys of each model. A key of another model is an unknown key. */
#define SOURCES                                                                                    \
    KEY_OWN("evidence"), KEY_OWN("source"), KEY_OWN("derivation"), KEY_OWN("calibration")
static const struct key none_keys[] = {KEY_OWN("model"), KEY_OWN("note"), SOURCES, KEY_END};
static const struct key constant_keys[] = {
    KEY_OWN("model"), KEY_NUMBER("constant", interference, constant, 0, 100, 0, REQUIRED), SOURCES,
    KEY_END};
static const struct key pairs_keys[] = {
    KEY_OWN("model"),
    KEY_NUMBER("constant", interference, constant, 0, 100, 0, OPTIONAL),
    KEY_OWN("functions"),
    KEY_OWN("excess"),
    KEY_OWN("slopes"),
    SOURCES,
    KEY_END};
static const struct key bandwidth_keys[] = {
    KEY_OWN("model"),
    KEY_NUMBER("coefficient", interference, coefficient, 0, 1000, 0, REQUIRED),
    KEY_NUMBER("victim_exponent", interference, victim_exponent, 0, 10, 0, OPTIONAL),
    KEY_NUMBER("share_exponent", interference, share_exponent, 0, 10, 0, OPTIONAL),
    SOURCES,
    KEY_END};

static const struct key contexts_keys[] = {KEY_OWN("model"), KEY_OWN("pools"), SOURCES, KEY_END};
static const struct key pool_keys[] = {
    KEY_WHOLE("contexts", context_pool, contexts, 2, 64, 0, REQUIRED),
    KEY_WHOLE("units", context_pool, units, 1, 1000, 0, REQUIRED),
    KEY_NUMBER("alone_ms", context_pool, alone_ms, 1e-6, MS_LIMIT, 0, REQUIRED),
    KEY_NEEDED("together_per_s"), KEY_END};

/* Reads [[networks, per second], …], ascending. */
static bool read_rates(const struct json_value *pool, struct context_pool *out, struct error *error)
{
    struct json_value rates, rate = {0};
    if (!json_require(pool, "together_per_s", &rates, error) ||
        !json_is_array(&rates, 1, 1000, error))
        return false;
    out->together = arena_allocate(pool->arena, json_size(&rates), sizeof *out->together);
    for (; json_next(&rates, &rate); out->rate_count++) {
        struct context_rate *next = &out->together[rate.index];
        if (!json_is_array(&rate, 2, 2, error))
            return false;
        const struct json_value networks = json_entry(&rate, 0), per_s = json_entry(&rate, 1);
        if (!json_as_number(&networks, 1, 1e6, &next->networks, error) ||
            !json_as_number(&per_s, 1e-6, 1e9, &next->per_s, error))
            return false;
        if (rate.index > 0 && next->networks <= next[-1].networks)
            return json_fault(&networks, error,
                              "must be above the networks of the entry before it, %g; sort them",
                              next[-1].networks);
    }
    return true;
}

static bool read_pools(const struct json_value *value, struct interference *model,
                       struct error *error)
{
    struct json_value pools, pool = {0};
    if (!json_require(value, "pools", &pools, error) || !json_is_array(&pools, 1, 1000, error))
        return false;
    model->pools = arena_allocate(value->arena, json_size(&pools), sizeof *model->pools);
    while (json_next(&pools, &pool)) {
        struct context_pool *next = &model->pools[pool.index];
        if (!keys_load(pool_keys, &pool, next, error) || !read_rates(&pool, next, error))
            return false;
        if (interference_pool(model, next->contexts, next->units) != NULL)
            return json_fault(&pool, error, "is there twice; keep one");
        model->pool_count++;
    }
    return true;
}

static bool read_law(const struct json_value *value, const struct profile *profile,
                     struct interference *model, struct error *error)
{
    switch (model->kind) {
    case INTERFERENCE_CONSTANT:
        return keys_load(constant_keys, value, model, error);
    case INTERFERENCE_PAIRS:
    case INTERFERENCE_SHAPED:
        return keys_load(pairs_keys, value, model, error) &&
               read_pairs(value, profile, model, error) && read_slopes(value, model, error);
    case INTERFERENCE_BANDWIDTH:
        return keys_load(bandwidth_keys, value, model, error);
    case INTERFERENCE_CONTEXTS:
        return keys_load(contexts_keys, value, model, error) && read_pools(value, model, error);
    }
    return false;
}

static bool read_interference(const struct json_value *root, struct profile *profile,
                              struct error *error)
{
    static const char *const words[] = {"constant", "pairs", "bandwidth", "contexts", "none", NULL};
    static const enum interference_kind kinds[] = {INTERFERENCE_CONSTANT, INTERFERENCE_PAIRS,
                                                   INTERFERENCE_BANDWIDTH, INTERFERENCE_CONTEXTS};
    enum { NONE = sizeof kinds / sizeof *kinds };
    struct json_value value;
    struct json_value kind;
    int choice = 0;
    if (!json_child(root, "interference", &value))
        return true;
    if (!json_is_object(&value, NULL, error) || !json_require(&value, "model", &kind, error) ||
        !json_choice(&value, "model", words, &choice, error))
        return false;
    profile->states_no_interference = choice == NONE;
    if (choice == NONE)
        return keys_load(none_keys, &value, NULL, error);
    profile->interference = arena_allocate(root->arena, 1, sizeof *profile->interference);
    profile->interference->kind = kinds[choice];
    return read_law(&value, profile, profile->interference, error) &&
           read_text(&value, "evidence", NULL, error) && read_text(&value, "source", NULL, error) &&
           read_text(&value, "derivation", NULL, error);
}

/* ---- Whole files --------------------------------------------------------------------------- */

static bool read_profile(const struct json_value *root, struct profile *profile,
                         struct error *error)
{
    static const char *const keys[] = {"device",     "evidence",  "source",       "licence",
                                       "unit",       "functions", "interference", "derivation",
                                       "latency_of", NULL};
    static const char *const latencies[] = {"kernel", "service", NULL};
    struct json_value unit_value;
    int64_t unit = 0;
    int latency_of = PROFILE_LATENCY_UNSTATED;
    if (!json_is_object(root, keys, error) || !json_require(root, "unit", &unit_value, error) ||
        !json_integer(root, "unit", 1, 1000, &unit, error) ||
        !json_choice(root, "latency_of", latencies, &latency_of, error))
        return false;
    profile->unit = (int)unit;
    profile->latency_of = (enum profile_latency)latency_of;
    return read_text(root, "device", &profile->device, error) &&
           read_text(root, "evidence", &profile->evidence, error) &&
           read_text(root, "source", &profile->source, error) &&
           read_text(root, "licence", &profile->licence, error) &&
           read_text(root, "derivation", NULL, error) && read_functions(root, profile, error) &&
           read_interference(root, profile, error);
}

struct profile *profile_parse(const char *text, const char *name, struct error *error)
{
    cJSON *tree = json_parse(text, name, error);
    if (tree == NULL)
        return NULL;
    struct arena *arena = arena_create();
    struct profile *profile = arena_allocate(arena, 1, sizeof *profile);
    struct json_value root = json_root(name, tree);
    root.arena = profile->arena = arena;
    profile->path = arena_text(arena, "%s", name);
    const bool good = read_profile(&root, profile, error);
    cJSON_Delete(tree);
    if (good)
        return profile;
    profile_free(profile);
    return NULL;
}

struct profile *profile_load(const char *path, struct error *error)
{
    char *text = json_read_text(path, NULL, error);
    struct profile *profile = text == NULL ? NULL : profile_parse(text, path, error);
    free(text);
    return profile;
}

void profile_free(struct profile *profile)
{
    if (profile != NULL)
        arena_destroy(profile->arena);
}

const struct profile_function *profile_find(const struct profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->function_count; i++)
        if (strcmp(profile->functions[i].name, name) == 0)
            return &profile->functions[i];
    return NULL;
}
