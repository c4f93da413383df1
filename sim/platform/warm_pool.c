#include "sim/platform/warm_pool.h"

#include <math.h>

#include "sched/common/kinds.h"
#include "sim/platform/containers.h"
#include "sim/platform/simulation_internal.h"

/* Containers of each function that memory holds on an invoker of the group, all alike; at most one
 * per vCPU. */
static uint32_t group_target(const struct workload *workload, const struct invoker_group *group)
{
    const uint32_t kind = group->gpu_count > 0 ? group->gpus[0].kind : 0;
    double host_mb = 0, weights_mb = 0, gpu_mb = 0;
    for (size_t f = 0; f < workload->function_count; f++) {
        if (!kinds_serve(workload, group, &workload->functions[f]))
            continue;
        host_mb += workload->functions[f].host_memory_mb;
        weights_mb += workload->functions[f].gpus[kind].gpu_weights_mb;
    }
    for (size_t g = 0; g < group->gpu_count; g++)
        gpu_mb += group->gpus[g].memory_mb;
    double target = group->vcpus;
    if (host_mb > 0)
        target = fmin(target, floor(group->memory_mb / host_mb));
    if (weights_mb > 0)
        target = fmin(target, floor(gpu_mb / weights_mb));
    return (uint32_t)target;
}

void warm_pool_init(struct platform *platform)
{
    const struct platform_spec *spec = &platform->experiment->platform;
    const struct cluster_spec *cluster = &platform->workload->cluster;
    if (spec->pool_target == 0 || platform->policy->places_containers)
        return;
    platform->pool_targets = arena_allocate(&platform->arena, platform->cluster.invoker_count,
                                            sizeof *platform->pool_targets);
    for (size_t g = 0, invoker = 0; g < cluster->group_count; g++)
        for (uint32_t i = 0; i < cluster->groups[g].count; i++)
            platform->pool_targets[invoker++] =
                spec->pool_target == POOL_TARGET_AUTO
                    ? group_target(platform->workload, &cluster->groups[g])
                    : spec->pool_target;
    platform_schedule(platform, 0, EVENT_WARM_POOL, 0);
}

bool warm_pool_needs(const struct platform *platform, uint32_t function, uint32_t invoker)
{
    return platform->pool_targets != NULL &&
           pools_container_count(&platform->cluster, invoker, function) <=
               platform->pool_targets[invoker];
}

void warm_pool_fill(struct platform *platform)
{
    const struct cluster *cluster = &platform->cluster;
    for (uint32_t i = 0; i < cluster->invoker_count; i++)
        for (uint32_t f = 0; f < cluster->function_count; f++)
            while (pools_container_count(cluster, i, f) < platform->pool_targets[i] &&
                   containers_prewarm(platform, f, i))
                continue;
    platform_schedule(platform, platform->now + platform->experiment->platform.pool_period,
                      EVENT_WARM_POOL, 0);
}
