#include "workloads/world/capacity.h"

#include <math.h>

/* Sums over one kind of GPU. */
struct kind_load {
    double unit_s; /* GPU-unit seconds of a mean request on this kind */
    double units;
};

static void count_units(const struct workload *workload, struct kind_load *loads, double *vcpus)
{
    for (size_t g = 0; g < workload->cluster.group_count; g++) {
        const struct invoker_group *group = &workload->cluster.groups[g];
        for (size_t i = 0; i < group->gpu_count; i++)
            loads[group->gpus[i].kind].units += (double)group->count * group->gpus[i].units;
        *vcpus += (double)group->count * group->vcpus;
    }
}

/* Jobs per second of the function that all GPUs of the kind serve at its reference. */
static double kind_rate(const struct kind_load *load, const struct function *function, size_t kind)
{
    const struct configuration *reference =
        &function->configurations[function->gpus[kind].reference];
    return function->gpus[kind].runs && reference->vgpu > 0
               ? load->units * reference->batch /
                     (sim_to_s(configuration_held(function, reference)) * reference->vgpu)
               : 0;
}

/* Adds the work of one stage: `part` of its jobs runs at this configuration. */
static void add_work(struct capacity *capacity, struct kind_load *load,
                     const struct function *function, const struct configuration *reference,
                     double weight, double part)
{
    const double job_s = weight * sim_to_s(configuration_held(function, reference)) /
                         (double)reference->batch * part;
    load->unit_s += job_s * reference->vgpu;
    capacity->vcpu_s += job_s * reference->vcpu;
}

/* Divides the jobs of a function among the kinds in proportion to their rates. */
static void add_demand(const struct workload *workload, const struct function *function,
                       double weight, struct kind_load *loads, struct capacity *capacity)
{
    const struct configuration *least =
        &function->configurations[function->reference_configuration];
    double rate = 0;
    capacity->is_referred |= function->reference_configuration != function->minimum_configuration;
    for (size_t k = 0; k < workload->kind_count; k++)
        rate += kind_rate(&loads[k], function, k);
    if (least->vgpu == 0 || !(rate > 0)) {
        add_work(capacity, &loads[least->kind], function, least, weight, 1);
        return;
    }
    for (size_t k = 0; k < workload->kind_count; k++) {
        const double part = kind_rate(&loads[k], function, k) / rate;
        if (part > 0)
            add_work(capacity, &loads[k], function,
                     &function->configurations[function->gpus[k].reference], weight, part);
    }
}

struct capacity capacity_find(const struct workload *workload)
{
    struct capacity capacity = {0};
    struct kind_load loads[WORKLOAD_MAX_KINDS] = {{0}};
    count_units(workload, loads, &capacity.vcpus);
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (size_t s = 0; s < application->stage_count; s++)
            add_demand(workload, &workload->functions[application->stages[s].function],
                       application->weight, loads, &capacity);
    }
    double by_gpu = INFINITY;
    for (size_t k = 0; k < workload->kind_count; k++) {
        const double here = loads[k].unit_s > 0 ? loads[k].units / loads[k].unit_s : INFINITY;
        if (k == 0 || here < by_gpu) {
            by_gpu = here;
            capacity.gpu_unit_s = loads[k].unit_s;
            capacity.gpu_units = loads[k].units;
        }
    }
    const double by_vcpu = capacity.vcpu_s > 0 ? capacity.vcpus / capacity.vcpu_s : INFINITY;
    capacity.rate_per_s = fmin(by_gpu, by_vcpu);
    capacity.limiting = by_gpu <= by_vcpu ? "GPU units" : "vCPUs";
    return capacity;
}
