#include "sched/common/kinds.h"

#include <math.h>

#include "workloads/world/gpu_sharing.h"

double kinds_worth(const struct workload *workload, uint32_t kind)
{
    if (kind == 0)
        return 1;
    const struct gpu_kind *first = &workload->kinds[0];
    const struct gpu_kind *own = &workload->kinds[kind];
    if (first->vgpu_hour_usd > 0 && own->vgpu_hour_usd > 0)
        return own->vgpu_hour_usd / first->vgpu_hour_usd;
    return kinds_scale(workload, kind);
}

const struct invoker_group *kinds_group_of(const struct workload *workload, uint32_t invoker)
{
    const struct invoker_group *group = workload->cluster.groups;
    for (uint32_t first = 0; invoker - first >= group->count; group++)
        first += group->count;
    return group;
}

struct gpu_site *kinds_gpus(struct arena *arena, const struct workload *workload, uint32_t *count)
{
    const struct cluster_spec *cluster = &workload->cluster;
    struct gpu_site *sites = NULL;
    *count = 0;
    for (uint32_t invoker = 0; invoker < cluster->invoker_count; invoker++) {
        const struct invoker_group *group = kinds_group_of(workload, invoker);
        arena_reserve(arena, &sites, *count + group->gpu_count, sizeof *sites);
        for (uint32_t which = 0; which < group->gpu_count; which++)
            sites[(*count)++] = (struct gpu_site){invoker, which, &group->gpus[which], group};
    }
    return sites;
}

double kinds_units_on(const struct workload *workload, const struct invoker_group *group,
                      uint32_t kind)
{
    bool has = false;
    for (size_t i = 0; i < group->gpu_count; i++)
        has = has || group->gpus[i].kind == kind;
    return has ? (double)group->gpu_count * workload->kinds[kind].units : 0;
}

bool kinds_serve(const struct workload *workload, const struct invoker_group *group,
                 const struct function *function)
{
    bool serves = workload->kind_count == 1;
    for (size_t i = 0; i < group->gpu_count && !serves; i++)
        serves = function->gpus[group->gpus[i].kind].runs;
    for (size_t i = 0; i < function->configuration_count && !serves; i++)
        serves = function->configurations[i].vgpu == 0;
    return serves;
}

bool kinds_divisible(const struct workload *workload, uint32_t kind)
{
    for (size_t g = 0; g < workload->cluster.group_count; g++)
        for (size_t i = 0; i < workload->cluster.groups[g].gpu_count; i++) {
            const struct gpu_spec *gpu = &workload->cluster.groups[g].gpus[i];
            if (gpu->kind == kind && !gpu_sharing_of(gpu)->divisible)
                return false;
        }
    return true;
}

/* Least GPU-unit time of a job of the function on the kind, per unit of noise; 0 if it does not run
 * there. */
static double unit_time(const struct workload *workload, const struct function *function,
                        uint32_t kind)
{
    double least = INFINITY;
    for (size_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *c = &function->configurations[i];
        if (c->kind == kind && c->vgpu > 0)
            least = fmin(least, c->vgpu * kinds_time(workload, function, c) / c->batch);
    }
    return isfinite(least) ? least : 0;
}

void kinds_weights(const struct workload *workload, double *units, double *weights)
{
    double sum = 0;
    for (uint32_t k = 0; k < workload->kind_count; k++)
        units[k] = 0;
    for (size_t i = 0; i < workload->cluster.group_count; i++) {
        const struct invoker_group *group = &workload->cluster.groups[i];
        for (size_t g = 0; g < group->gpu_count; g++)
            units[group->gpus[g].kind] += (double)group->gpus[g].units * group->count;
    }
    for (uint32_t k = 0; k < workload->kind_count; k++) {
        double needed = 0;
        for (size_t a = 0; a < workload->application_count; a++) {
            const struct application *application = &workload->applications[a];
            for (size_t s = 0; s < application->stage_count; s++)
                needed +=
                    application->weight *
                    unit_time(workload, &workload->functions[application->stages[s].function], k);
        }
        weights[k] = needed > 0 ? units[k] / needed : 0;
        sum += weights[k];
    }
    for (uint32_t k = 0; k < workload->kind_count; k++)
        weights[k] = sum > 0 ? weights[k] / sum : k == 0 ? 1 : 0;
}

bool kinds_interfere(const struct workload *workload, uint32_t kind)
{
    bool interferes = false;
    for (size_t g = 0; g < workload->cluster.group_count; g++)
        for (size_t i = 0; i < workload->cluster.groups[g].gpu_count; i++) {
            const struct gpu_spec *gpu = &workload->cluster.groups[g].gpus[i];
            interferes = interferes || (gpu->kind == kind && gpu_sharing_of(gpu)->interferes);
        }
    return interferes && workload->kinds[kind].interference != NULL;
}
