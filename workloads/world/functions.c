#include <math.h>

#include "workloads/world/world_internal.h"

enum { FUNCTIONS_LIMIT = 4096 };

static const struct key file_keys[] = {KEY_NEEDED("functions"), KEY_OWN("name"), KEY_NOTES,
                                       KEY_OWN("source"), KEY_END};
/* In the order of enum service_kind, which begins with SERVICE_PROFILE. */
static const char *const distributions[] = {"constant", "exponential", "lognormal", "empirical",
                                            NULL};
static const struct key axis_keys[] = {KEY_OWN("batch"), KEY_OWN("vcpu"), KEY_OWN("vgpu"),
                                       KEY_OWN("note"), KEY_END};

#define OF function_entry
static const struct key service_keys[] = {
    KEY_WORD("distribution", OF, distribution, distributions, 0, REQUIRED),
    KEY_NUMBER("mean_ms", OF, service_mean_ms, 1e-6, LIMIT_MS, NAN, OPTIONAL),
    KEY_NUMBER("cv", OF, service_cv, 0, 100, NAN, OPTIONAL),
    KEY_OWN("samples_ms"),
    KEY_OWN("note"),
    KEY_END};
static const struct key mean_keys[] = {
    KEY_NUMBER("mean", OF, cold_start_mean_ms, 0, LIMIT_MS, NAN, OPTIONAL),
    KEY_NUMBER("cv", OF, cold_start_cv, 0, 100, NAN, OPTIONAL), KEY_OWN("samples_ms"), KEY_NOTES,
    KEY_END};
static const struct key memory_keys[] = {
    KEY_NUMBER("weights", OF, gpu_weights_mb, 0, LIMIT_MB, NAN, OPTIONAL),
    KEY_NUMBER("per_item", OF, gpu_per_item_mb, 0, LIMIT_MB, NAN, OPTIONAL), KEY_NOTES, KEY_END};
static const struct key turnaround_keys[] = {
    KEY_NUMBER("base_ms", OF, turnaround_ms, 0, LIMIT_MS, NAN, REQUIRED),
    KEY_NUMBER("per_item_ms", OF, turnaround_per_item_ms, 0, LIMIT_MS, NAN, OPTIONAL), KEY_NOTES,
    KEY_END};
static const struct key noise_keys[] = {KEY_NUMBER("cv", OF, noise_cv, 0, 100, NAN, OPTIONAL),
                                        KEY_NOTES, KEY_END};
static const struct key configuration_keys[] = {
    KEY_WHOLE("batch", OF, batch, 1, UINT16_MAX, 1, OPTIONAL),
    KEY_WHOLE("vcpu", OF, vcpu, 0, UINT16_MAX, 1, OPTIONAL),
    KEY_WHOLE("vgpu", OF, vgpu, 0, UINT16_MAX, 0, OPTIONAL), KEY_OWN("note"), KEY_END};
const struct key function_keys[] = {
    KEY_NAME("name", OF, name, REQUIRED),
    KEY_TEXT("model", OF, model, OPTIONAL),
    KEY_NUMBER("input_bytes", OF, input_bytes, 0, 1e15, NAN, OPTIONAL),
    KEY_OBJECT("service", service_keys, WRITTEN_IF(OF, has_service, true)),
    KEY_OBJECT("cold_start_ms", mean_keys, OR_NUMBER),
    KEY_OBJECT("gpu_memory_mb", memory_keys, OR_NUMBER),
    KEY_OBJECT("noise", noise_keys, OR_NUMBER, SPARSE),
    KEY_NUMBER("host_memory_mb", OF, host_memory_mb, 0, LIMIT_MB, NAN, OPTIONAL),
    KEY_OWN("note"),
    KEY_NUMBER("bandwidth_share", OF, bandwidth_share, 0, 1, NAN, OPTIONAL),
    KEY_OBJECT("turnaround_ms", turnaround_keys, OR_NUMBER, SPARSE),
    KEY_OWN("configurations"),
    KEY_OBJECT("configuration", configuration_keys, WRITTEN_IF(OF, has_service, true)),
    KEY_OWN("evidence"),
    KEY_OWN("source"),
    KEY_END};
#undef OF

static bool load_samples(const struct json_value *service, struct function_entry *entry,
                         struct error *error)
{
    struct json_value array;
    if (!json_samples(service, LIMIT_MS, &entry->samples, error))
        return false;
    entry->service_mean_ms = entry->samples.mean;
    return entry->service_mean_ms >= 1e-6 || !json_child(service, "samples_ms", &array) ||
           json_fault(&array, error, "mean is %g ms, must be at least 1 ns",
                      entry->service_mean_ms);
}

static bool load_service(const struct json_value *service_value, struct function_entry *entry,
                         struct error *error)
{
    struct json_value child;
    const uint32_t service = SERVICE_CONSTANT + entry->distribution;
    entry->has_service = true;
    if (service == SERVICE_EMPIRICAL)
        return load_samples(service_value, entry, error);
    if (json_child(service_value, "samples_ms", &child))
        return json_fault(&child, error, "belongs to \"empirical\"; remove it");
    if (!json_require(service_value, "mean_ms", &child, error))
        return false;
    if (service == SERVICE_LOGNORMAL)
        return json_require(service_value, "cv", &child, error);
    return !json_child(service_value, "cv", &child) ||
           json_fault(&child, error, "belongs to \"lognormal\"; remove it");
}

/* Samples may be given in place of a mean and cv. */
static bool load_cold_start(const struct json_value *object, struct function_entry *entry,
                            struct error *error)
{
    struct json_value cold, array;
    return !json_child(object, "cold_start_ms", &cold) ||
           !json_child(&cold, "samples_ms", &array) ||
           json_samples(&cold, LIMIT_MS, &entry->cold_start_samples, error);
}

bool axis_load(const struct json_value *value, int low, int high, const int **values, size_t *count,
               struct error *error)
{
    int *list = load_entries(value, 1, 1024, sizeof *list, error);
    if (list == NULL)
        return false;
    *values = list;
    *count = json_size(value);
    for (struct json_value entry = {0}; json_next(value, &entry);) {
        int *out = &list[entry.index];
        int64_t number = 0;
        if (!json_as_integer(&entry, low, high, &number, error))
            return false;
        *out = (int)number;
        if (entry.index > 0 && *out <= out[-1])
            return json_fault(&entry, error, "is %d after %d; list them in ascending order", *out,
                              out[-1]);
    }
    return true;
}

static bool check_axis(const struct json_value *value, int low, struct error *error)
{
    const int *values = NULL;
    size_t count = 0;
    return axis_load(value, low, UINT16_MAX, &values, &count, error);
}

/* A list of values, or an object with a list by model of GPU. */
static bool check_axes(const struct json_value *value, int low, struct error *error)
{
    if (!cJSON_IsObject(value->node))
        return check_axis(value, low, error);
    for (struct json_value child = {0}; json_next(value, &child);)
        if (!check_axis(&child, low, error))
            return false;
    return true;
}

static bool load_axes(const struct json_value *value, struct function_entry *entry,
                      struct error *error)
{
    if (!keys_load(axis_keys, value, entry, error))
        return false;
    for (size_t axis = 0; axis < 3; axis++) {
        if (json_child(value, axis_keys[axis].name, &entry->axes[axis]) &&
            !check_axes(&entry->axes[axis], axis == 2 ? 0 : 1, error))
            return false;
    }
    return true;
}

static bool load_exclusive_keys(const struct json_value *value, struct function_entry *entry,
                                struct error *error)
{
    struct json_value child;
    if (json_child(value, "service", &child) && !load_service(&child, entry, error))
        return false;
    if (json_child(value, "configurations", &child)) {
        if (entry->has_service)
            return json_fault(&child, error,
                              "is for profiled functions; one with \"service\" has one "
                              "\"configuration\"");
        if (!load_axes(&child, entry, error))
            return false;
    }
    return entry->has_service || !json_child(value, "configuration", &child) ||
           json_fault(&child, error,
                      "is for functions with \"service\"; a profiled one may have "
                      "\"configurations\"");
}

static bool load_entry(const struct json_value *value, struct function_entry *entry,
                       struct error *error)
{
    *entry = (struct function_entry){.place = *value};
    keys_default(function_keys, entry);
    return keys_load(function_keys, value, entry, error) && load_cold_start(value, entry, error) &&
           load_exclusive_keys(value, entry, error);
}

bool function_entries_load(const struct json_value *value, struct function_entries *functions,
                           struct error *error)
{
    struct json_value array = *value;
    if (!cJSON_IsArray(value->node) && (!keys_load(file_keys, value, functions, error) ||
                                        !json_require(value, "functions", &array, error)))
        return false;
    functions->entries =
        load_entries(&array, 1, FUNCTIONS_LIMIT, sizeof *functions->entries, error);
    if (functions->entries == NULL)
        return false;
    for (struct json_value entry = {0}; json_next(&array, &entry);) {
        struct function_entry *out = &functions->entries[functions->count++];
        if (!load_entry(&entry, out, error) ||
            !load_is_new(&entry, "functions", &functions->entries[0].name, entry.index, sizeof *out,
                         error))
            return false;
    }
    return true;
}
