#include "workloads/capacity.h"

#include <math.h>

static void add_demand(const struct workload *workload, struct capacity *capacity)
{
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (size_t s = 0; s < application->stage_count; s++) {
            const struct function *function = &workload->functions[application->stages[s].function];
            const struct configuration *minimum =
                &function->configurations[function->minimum_configuration];
            const double job_s =
                application->weight * sim_to_s(minimum->time) / (double)minimum->batch;
            capacity->gpu_unit_s += job_s * minimum->vgpu;
            capacity->vcpu_s += job_s * minimum->vcpu;
        }
    }
}

static void add_supply(const struct cluster_spec *cluster, struct capacity *capacity)
{
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        for (size_t i = 0; i < group->gpu_count; i++)
            capacity->gpu_units += (double)group->count * group->gpus[i].units;
        capacity->vcpus += (double)group->count * group->vcpus;
    }
}

struct capacity capacity_find(const struct workload *workload)
{
    struct capacity capacity = {0};
    add_demand(workload, &capacity);
    add_supply(&workload->cluster, &capacity);
    const double by_gpu =
        capacity.gpu_unit_s > 0 ? capacity.gpu_units / capacity.gpu_unit_s : INFINITY;
    const double by_vcpu = capacity.vcpu_s > 0 ? capacity.vcpus / capacity.vcpu_s : INFINITY;
    capacity.rate_per_s = fmin(by_gpu, by_vcpu);
    capacity.limiting = by_gpu <= by_vcpu ? "GPU units" : "vCPUs";
    return capacity;
}
