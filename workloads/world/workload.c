#include "workloads/world/workload.h"

#include <string.h>

#include "sim/base/arena.h"

bool configuration_is_smaller(const struct configuration *a, const struct configuration *b)
{
    if (a->batch != b->batch)
        return a->batch < b->batch;
    if (a->grade != b->grade)
        return a->grade < b->grade;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->vgpu != b->vgpu)
        return a->vgpu < b->vgpu;
    return a->vcpu < b->vcpu;
}

bool configuration_matches(const struct configuration *c, const struct reference_values *wanted)
{
    return (wanted->batch == 0 || wanted->batch == c->batch) &&
           (wanted->vcpu == 0 || wanted->vcpu == c->vcpu) &&
           (wanted->vgpu == 0 || wanted->vgpu == c->vgpu);
}

/* Makes configuration k the minimum or the reference, if it is less than what was found so far. */
static void derive_least(const struct workload *workload, const struct function *function, size_t k,
                         size_t *minimum, size_t *reference)
{
    const struct configuration *all = function->configurations;
    const bool fits = configuration_matches(&all[k], &workload->reference);
    const bool found = configuration_matches(&all[*reference], &workload->reference);
    if (configuration_is_smaller(&all[k], &all[*minimum]))
        *minimum = k;
    if (fits == found ? configuration_is_smaller(&all[k], &all[*reference]) : fits)
        *reference = k;
}

/* Ranges of the configurations of each kind, which are sorted by kind. */
static void derive_ranges(struct function *function, const struct workload *workload)
{
    size_t k = 0;
    for (size_t kind = 0; kind < workload->kind_count; kind++) {
        struct function_gpu *gpu = &function->gpus[kind];
        gpu->first = k;
        gpu->runs = false;
        gpu->minimum = gpu->reference = k;
        for (; k < function->configuration_count && function->configurations[k].kind == kind; k++) {
            gpu->runs |= function->configurations[k].vgpu > 0;
            derive_least(workload, function, k, &gpu->minimum, &gpu->reference);
        }
        gpu->count = k - gpu->first;
    }
}

void workload_derive_function(struct function *function, const struct workload *workload)
{
    function->minimum_configuration = function->reference_configuration = 0;
    function->fastest_single = 0;
    derive_ranges(function, workload);
    for (size_t k = 0; k < function->configuration_count; k++) {
        struct configuration *c = &function->configurations[k];
        const struct function_gpu *gpu = &function->gpus[c->kind];
        double usd_per_hour = c->vcpu * workload->cluster.vcpu_hour_usd +
                              c->vgpu * workload->kinds[c->kind].vgpu_hour_usd;
        c->cost_usd = (double)c->time / (double)SIM_HOUR * usd_per_hour;
        c->cost_per_job_usd = c->cost_usd / c->batch;
        c->gpu_memory_mb = gpu->gpu_weights_mb + gpu->gpu_per_item_mb * c->batch;
        const struct configuration *fastest = &function->configurations[function->fastest_single];
        derive_least(workload, function, k, &function->minimum_configuration,
                     &function->reference_configuration);
        if (c->batch < fastest->batch || (c->batch == fastest->batch && c->time < fastest->time))
            function->fastest_single = k;
    }
}

static void derive_successors(struct application *application)
{
    for (size_t s = 0; s < application->stage_count; s++)
        application->stages[s].next_count = 0;
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        for (size_t i = 0; i < stage->after_count; i++) {
            struct stage *before = &application->stages[stage->after[i]];
            before->next[before->next_count++] = s;
        }
    }
}

static sim_time_t critical_path(const struct workload *workload,
                                const struct application *application)
{
    sim_time_t finish[WORKLOAD_MAX_STAGES] = {0};
    sim_time_t longest = 0;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        const struct function *function = &workload->functions[stage->function];
        sim_time_t start = 0;
        for (size_t i = 0; i < stage->after_count; i++)
            if (finish[stage->after[i]] > start)
                start = finish[stage->after[i]];
        finish[s] = start + function->configurations[function->reference_configuration].time;
        if (finish[s] > longest)
            longest = finish[s];
    }
    return longest;
}

void workload_derive(struct workload *workload)
{
    workload->cluster.invoker_count = 0;
    for (size_t g = 0; g < workload->cluster.group_count; g++)
        workload->cluster.invoker_count += workload->cluster.groups[g].count;
    for (size_t f = 0; f < workload->function_count; f++)
        workload_derive_function(&workload->functions[f], workload);
    workload->queue_count = 0;
    workload->max_stages = 0;
    for (size_t a = 0; a < workload->application_count; a++) {
        struct application *application = &workload->applications[a];
        application->first_queue = workload->queue_count;
        workload->queue_count += (uint32_t)application->stage_count;
        if (application->stage_count > workload->max_stages)
            workload->max_stages = application->stage_count;
        derive_successors(application);
        application->base_latency = critical_path(workload, application);
    }
}

uint32_t workload_common_units(const struct workload *workload)
{
    uint64_t common = 1;
    for (size_t k = 0; k < workload->kind_count && common < UINT32_MAX; k++) {
        const uint64_t units = workload->kinds[k].units;
        uint64_t multiple = common;
        while (multiple % units != 0)
            multiple += common;
        common = multiple;
    }
    return common < UINT32_MAX ? (uint32_t)common : UINT32_MAX;
}

void workload_join_kinds(struct workload *workload,
                         bool (*alike)(const void *context, const struct gpu_kind *a,
                                       const struct gpu_kind *b),
                         const void *context)
{
    struct gpu_kind *kinds = workload->kinds;
    uint16_t joined[WORKLOAD_MAX_KINDS] = {0};
    size_t count = 0;
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct gpu_kind kind = kinds[k];
        size_t same = 0;
        while (same < count &&
               (!alike(context, &kinds[same], &kind) || kinds[same].units != kind.units ||
                kinds[same].speed != kind.speed || kinds[same].vgpu_hour_usd != kind.vgpu_hour_usd))
            same++;
        joined[k] = (uint16_t)same;
        if (same == count)
            kinds[count++] = kind;
    }
    workload->kind_count = count;
    for (size_t g = 0; g < workload->cluster.group_count; g++)
        for (size_t i = 0; i < workload->cluster.groups[g].gpu_count; i++) {
            struct gpu_spec *gpu = &workload->cluster.groups[g].gpus[i];
            gpu->kind = joined[gpu->kind];
        }
}

struct gpu_list cluster_list_gpus(const struct cluster_spec *cluster, struct arena *arena)
{
    struct gpu_list list = {
        .first = arena_allocate(arena, cluster->invoker_count + 1UL, sizeof *list.first)};
    uint32_t invoker = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        for (uint32_t i = 0; i < cluster->groups[g].count; i++) {
            const size_t gpus = cluster->groups[g].gpu_count;
            arena_reserve(arena, &list.specs, list.count + gpus, sizeof *list.specs);
            for (size_t k = 0; k < gpus; k++)
                list.specs[list.count++] = &cluster->groups[g].gpus[k];
            list.first[++invoker] = list.count;
        }
    return list;
}

const struct application *workload_find_application(const struct workload *workload,
                                                    const char *name, struct error *error)
{
    const size_t count = workload->application_count;
    if (count == 0) {
        (void)error_input(error, "--application: the experiment has no applications");
        return NULL;
    }
    const struct application *all = workload->applications;
    if (name == NULL && count == 1)
        return all;
    for (size_t a = 0; name != NULL && a < count; a++)
        if (strcmp(all[a].name, name) == 0)
            return &all[a];
    struct arena *arena = arena_create();
    char *names = NULL;
    for (size_t a = 0; a < count; a++)
        arena_append(arena, &names, "%s%s", a > 0 ? ", " : "", all[a].name);
    if (name == NULL)
        (void)error_input(error, "--application NAME is missing; the experiment has %s", names);
    else
        (void)error_input(error, "--application: the experiment has no '%.60s'; it has %s", name,
                          names);
    arena_destroy(arena);
    return NULL;
}
