#include "sched/common/kinds.h"

#include "workloads/gpu_sharing.h"

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
