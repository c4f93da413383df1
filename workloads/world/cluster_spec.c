#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "workloads/world/gpu_sharing.h"
#include "workloads/world/world_internal.h"

enum { GROUPS_LIMIT = 4096, GPUS_LIMIT = 64, INVOKERS_LIMIT = 1000000, SHARINGS_MOST = 16 };

static const double MEMORY_LIMIT_MB = 1e15;
/* Price of an hour of a whole A100 of seven units in the ESG paper. */
static const double DEFAULT_GPU_HOUR_USD = 7 * 0.67;

static const struct key cluster_keys[] = {KEY_NEEDED("invokers"), KEY_OWN("price"),
                                          KEY_OWN("name"),        KEY_NOTES,
                                          KEY_OWN("source"),      KEY_END};
const struct key invoker_keys[] = {
    KEY_WHOLE("count", invoker_group, count, 1, INVOKERS_LIMIT, 1, OPTIONAL),
    KEY_WHOLE("vcpus", invoker_group, vcpus, 1, 65535, 0, REQUIRED),
    KEY_NUMBER("memory_mb", invoker_group, memory_mb, 1, LIMIT_MB, 0, REQUIRED),
    KEY_OWN("gpus"),
    KEY_NOTES,
    KEY_END};
/* Its default depends on the units. */
#define VGPU_PRICE(of, field) KEY_NUMBER("vgpu_hour_usd", of, field, 0, 1e6, NAN, OPTIONAL)
const struct key gpu_keys[] = {
    KEY_WHOLE("count", gpu_entry, count, 1, GPUS_LIMIT, 1, SPARSE),
    KEY_OWN("model"),
    KEY_NEEDED("sharing"),
    KEY_WHOLE("units", gpu_entry, gpu.units, 1, 1000, 7, OPTIONAL),
    KEY_NUMBER("memory_mb", gpu_entry, gpu.memory_mb, 1, LIMIT_MB, 0, REQUIRED),
    KEY_NUMBER("speed", gpu_entry, kind.speed, 0.001, 1000, 1, OPTIONAL),
    KEY_NOTES,
    VGPU_PRICE(gpu_entry, kind.vgpu_hour_usd),
    KEY_NUMBER("oversubscription", gpu_entry, gpu.oversubscription, 1, 100, 1, SPARSE),
    KEY_END};
/* The default is of the ESG paper's cluster. */
const struct key price_keys[] = {
    KEY_NUMBER("vcpu_hour_usd", price, vcpu_hour_usd, 0, 1e6, 0.034, OPTIONAL),
    VGPU_PRICE(price, vgpu_hour_usd), KEY_NOTES, KEY_END};

/* Only shares of MPS may exceed the units: slices of MIG and whole GPUs are hardware. */
static bool check_oversubscription(const struct json_value *value, const struct gpu_spec *gpu,
                                   struct error *error)
{
    struct json_value child;
    return gpu->oversubscription <= 1 || gpu->sharing == SHARING_MPS ||
           (json_child(value, "oversubscription", &child) &&
            json_fault(&child, error,
                       "needs \"sharing\": \"mps\"; on a GPU under \"%s\" it must be 1",
                       gpu_sharing_of(gpu)->name));
}

/* The mode named by "sharing", for a GPU of which all else is known. */
static bool load_sharing(const struct json_value *value, struct gpu_spec *gpu, struct error *error)
{
    const char *names[SHARINGS_MOST + 1] = {NULL};
    char why[256] = "";
    int sharing = 0;
    for (size_t i = 0; i < gpu_sharing_count && i < SHARINGS_MOST; i++)
        names[i] = gpu_sharings[i].name;
    if (!json_choice(value, "sharing", names, &sharing, error))
        return false;
    gpu->sharing = (enum sharing)sharing;
    const struct gpu_sharing *mode = gpu_sharing_of(gpu);
    return mode->suits == NULL || mode->suits(gpu, why, sizeof why) ||
           json_fault(value, error, "%s", why);
}

/* The model may be missing or empty. */
static bool load_model(const struct json_value *value, struct gpu_spec *gpu, struct error *error)
{
    const char *text = "";
    if (!json_text(value, "model", &text, error))
        return false;
    if (strlen(text) >= sizeof gpu->model)
        return json_fault(value, error, "\"model\" is longer than 31 characters; shorten it");
    (void)snprintf(gpu->model, sizeof gpu->model, "%s", text);
    return true;
}

/* Index of the kind of these units, speed and price; a new kind is added. The price is NAN where
 * the file gives none. */
static bool find_kind(const struct json_value *value, struct workload *workload,
                      const struct gpu_kind *wanted, uint16_t *index, struct error *error)
{
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct gpu_kind *kind = &workload->kinds[k];
        const bool same_price = kind->vgpu_hour_usd == wanted->vgpu_hour_usd ||
                                (isnan(kind->vgpu_hour_usd) && isnan(wanted->vgpu_hour_usd));
        if (kind->units == wanted->units && kind->speed == wanted->speed && same_price &&
            strcmp(kind->model, wanted->model) == 0) {
            *index = (uint16_t)k;
            return true;
        }
    }
    if (workload->kind_count == WORKLOAD_MAX_KINDS)
        return json_fault(value, error,
                          "more than %d kinds of GPU; use fewer models, \"units\", \"speed\"s and "
                          "\"vgpu_hour_usd\"s",
                          WORKLOAD_MAX_KINDS);
    *index = (uint16_t)workload->kind_count;
    workload->kinds[workload->kind_count++] = *wanted;
    return true;
}

static bool load_gpu(const struct json_value *value, struct workload *workload,
                     struct gpu_entry *entry, struct error *error)
{
    struct gpu_spec *gpu = &entry->gpu;
    struct gpu_kind *kind = &entry->kind;
    *entry = (struct gpu_entry){.count = 0};
    keys_default(gpu_keys, entry);
    if (!keys_load(gpu_keys, value, entry, error) || !load_model(value, gpu, error))
        return false;
    kind->units = gpu->units;
    (void)snprintf(kind->model, sizeof kind->model, "%s", gpu->model);
    if (!load_sharing(value, gpu, error) || !check_oversubscription(value, gpu, error) ||
        !find_kind(value, workload, kind, &gpu->kind, error))
        return false;
    while (strcmp(workload->kinds[gpu->type].model, gpu->model) != 0)
        gpu->type++;
    return true;
}

static bool load_gpus(const struct json_value *array, struct workload *workload,
                      struct invoker_group *group, struct error *error)
{
    if (!json_is_array(array, 0, GPUS_LIMIT, error))
        return false;
    group->gpus = arena_allocate(array->arena, GPUS_LIMIT, sizeof *group->gpus);
    for (struct json_value value = {0}; json_next(array, &value);) {
        struct gpu_entry entry;
        if (!load_gpu(&value, workload, &entry, error))
            return false;
        if (group->gpu_count + entry.count > GPUS_LIMIT)
            return json_fault(&value, error, "more than %d GPUs on one invoker", GPUS_LIMIT);
        for (size_t k = 0; k < entry.count; k++)
            group->gpus[group->gpu_count++] = entry.gpu;
    }
    return true;
}

static bool load_group(const struct json_value *value, struct workload *workload,
                       struct invoker_group *group, struct error *error)
{
    struct json_value child;
    keys_default(invoker_keys, group);
    return keys_load(invoker_keys, value, group, error) &&
           (!json_child(value, "gpus", &child) || load_gpus(&child, workload, group, error));
}

/* Checks that sums over the cluster, in whole KiB, fit 64 bits. */
static bool check_memory(const struct json_value *invokers, const struct cluster_spec *cluster,
                         struct error *error)
{
    double most = 0;
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        double memory_mb = group->memory_mb;
        for (size_t i = 0; i < group->gpu_count; i++)
            memory_mb += group->gpus[i].memory_mb;
        most += memory_mb * group->count;
    }
    return most <= MEMORY_LIMIT_MB ||
           json_fault(invokers, error,
                      "%g MiB of host and GPU memory in all, at most %g; lower \"memory_mb\"", most,
                      MEMORY_LIMIT_MB);
}

/* Sets the price of kinds without one of their own: that of "price", or the default. A cluster
 * without GPUs gets one kind. */
static bool resolve_prices(const struct json_value *cluster, struct workload *workload,
                           double vgpu_hour_usd, struct error *error)
{
    if (workload->kind_count == 0)
        workload->kinds[workload->kind_count++] =
            (struct gpu_kind){.units = 7, .speed = 1, .vgpu_hour_usd = NAN};
    const uint16_t units = workload->kinds[0].units;
    for (size_t k = 0; k < workload->kind_count; k++) {
        struct gpu_kind *kind = &workload->kinds[k];
        if (!isnan(kind->vgpu_hour_usd))
            continue;
        if (!isnan(vgpu_hour_usd) && kind->units != units)
            return json_fault(cluster, error,
                              "\"price.vgpu_hour_usd\" is the price of one unit, but GPUs have %u "
                              "and %u units; give each of them its own \"vgpu_hour_usd\"",
                              units, kind->units);
        kind->vgpu_hour_usd =
            isnan(vgpu_hour_usd) ? DEFAULT_GPU_HOUR_USD / kind->units : vgpu_hour_usd;
    }
    return true;
}

static bool load_price(const struct json_value *cluster, struct workload *workload,
                       struct error *error)
{
    struct price price;
    struct json_value value;
    keys_default(price_keys, &price);
    if (json_child(cluster, "price", &value) && !keys_load(price_keys, &value, &price, error))
        return false;
    workload->cluster.vcpu_hour_usd = price.vcpu_hour_usd;
    return resolve_prices(cluster, workload, price.vgpu_hour_usd, error);
}

bool cluster_load(const struct json_value *value, struct workload *workload, struct error *error)
{
    struct cluster_spec *cluster = &workload->cluster;
    struct json_value invokers;
    if (!keys_load(cluster_keys, value, cluster, error) ||
        !json_require(value, "invokers", &invokers, error))
        return false;
    cluster->groups = load_entries(&invokers, 1, GROUPS_LIMIT, sizeof *cluster->groups, error);
    workload->kinds = arena_allocate(value->arena, WORKLOAD_MAX_KINDS, sizeof *workload->kinds);
    if (cluster->groups == NULL)
        return false;
    uint64_t total = 0;
    for (struct json_value group = {0}; json_next(&invokers, &group);) {
        struct invoker_group *out = &cluster->groups[cluster->group_count++];
        if (!load_group(&group, workload, out, error))
            return false;
        total += out->count;
    }
    if (total > INVOKERS_LIMIT)
        return json_fault(&invokers, error, "%llu invokers in all, at most %d",
                          (unsigned long long)total, INVOKERS_LIMIT);
    cluster->invoker_count = (uint32_t)total;
    return check_memory(&invokers, cluster, error) && load_price(value, workload, error);
}
