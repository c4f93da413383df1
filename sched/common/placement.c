#include "sched/common/placement.h"

#include "sched/common/kinds.h"
#include "sched/common/load_index.h"
#include "sched/policy_instances.h"

/* Limits the work per decision, which would otherwise grow with the fan-in of a join. */
enum { PREDECESSORS_ASKED = 4, HOME_PROBES = 4 };

bool placement_fits(const struct platform *platform, uint32_t function, uint32_t configuration,
                    uint32_t invoker, bool warm)
{
    return warm ? platform_fits_warm(platform, function, configuration, invoker)
                : platform_fits(platform, function, configuration, invoker);
}

double placement_free_units(const struct platform *platform, uint32_t invoker, uint32_t kind)
{
    const struct workload *workload = platform_workload(platform);
    double most = 0;
    bool alike = true;
    if (workload->kind_count == 1)
        return platform_free_vgpus(platform, invoker);
    const struct invoker_group *group = kinds_group_of(workload, invoker);
    for (uint32_t g = 0; g < group->gpu_count; g++) {
        const double here = platform_gpu_free(platform, invoker, g) / 100.0;
        alike = alike && group->gpus[g].kind == kind;
        if (group->gpus[g].kind == kind && here > most)
            most = here;
    }
    return alike ? platform_free_vgpus(platform, invoker) : most;
}

static uint32_t choose(struct platform *platform, uint32_t queue, uint32_t function,
                       uint32_t configuration, enum placement_rule rule, bool warm)
{
    if (rule == PLACEMENT_LOCALITY) {
        for (uint32_t which = 0; which < PREDECESSORS_ASKED; which++) {
            const uint32_t invoker = platform_predecessor_invoker(platform, queue, 0, which);
            if (invoker == SIM_NONE)
                break;
            if (placement_fits(platform, function, configuration, invoker, warm))
                return invoker;
        }
    }
    if (rule != PLACEMENT_BEST_FIT) {
        const uint32_t home = platform_home(platform, function, 0);
        if (placement_fits(platform, function, configuration, home, warm))
            return home;
    }
    return platform_best_fit(platform, function, configuration, warm);
}

uint32_t placement_choose(struct platform *platform, uint32_t queue, uint32_t configuration,
                          enum placement_rule rule, bool warm_only)
{
    const uint32_t function = platform_queue_function(platform, queue);
    uint32_t invoker = SIM_NONE;
    if (rule == PLACEMENT_ESG)
        return placement_esg(platform, queue, configuration, PLACEMENT_NEAR, NULL, warm_only);
    if (platform_warm_total(platform, function) > 0)
        invoker = choose(platform, queue, function, configuration, rule, true);
    if (invoker == SIM_NONE && !warm_only)
        invoker = choose(platform, queue, function, configuration, rule, false);
    return invoker;
}

/* An invoker that ran a predecessor of the oldest job and fits: the first, or the least loaded. */
static uint32_t esg_predecessor(const struct platform *platform, uint32_t queue, uint32_t function,
                                uint32_t configuration, bool least, bool warm)
{
    uint32_t found = SIM_NONE;
    for (uint32_t which = 0; found == SIM_NONE || least; which++) {
        const uint32_t invoker = platform_predecessor_invoker(platform, queue, 0, which);
        if (invoker == SIM_NONE)
            break;
        if (placement_fits(platform, function, configuration, invoker, warm) &&
            (found == SIM_NONE || platform_running_batches(platform, invoker) <
                                      platform_running_batches(platform, found)))
            found = invoker;
    }
    return found;
}

static uint32_t esg_any(struct platform *platform, uint32_t function, uint32_t configuration,
                        struct load_index *loads, bool warm)
{
    return loads != NULL ? load_index_least(loads, platform, function, configuration, warm)
                         : platform_best_fit(platform, function, configuration, warm);
}

static uint32_t esg_home(const struct platform *platform, uint32_t function, uint32_t configuration)
{
    const uint32_t count = platform_workload(platform)->cluster.invoker_count;
    for (uint32_t which = 0; which < HOME_PROBES && which < count; which++) {
        const uint32_t home = platform_home(platform, function, which);
        if (platform_fits(platform, function, configuration, home))
            return home;
    }
    return SIM_NONE;
}

uint32_t placement_esg(struct platform *platform, uint32_t queue, uint32_t configuration,
                       enum placement_preference preference, struct load_index *loads,
                       bool warm_only)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const bool near = preference == PLACEMENT_NEAR;
    const bool least = loads != NULL;
    uint32_t invoker = SIM_NONE;
    if (near)
        invoker = esg_predecessor(platform, queue, function, configuration, least, true);
    if (invoker == SIM_NONE && (preference != PLACEMENT_ANY || warm_only))
        invoker = esg_any(platform, function, configuration, loads, true);
    if (invoker != SIM_NONE || warm_only)
        return invoker;
    if (near)
        invoker = esg_predecessor(platform, queue, function, configuration, least, false);
    if (near && invoker == SIM_NONE)
        invoker = esg_home(platform, function, configuration);
    if (invoker == SIM_NONE)
        invoker = esg_any(platform, function, configuration, loads, false);
    return invoker;
}
