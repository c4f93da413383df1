#include "sched/common/placement.h"

/* A join of many branches would otherwise make one decision cost as much as its fan-in. */
enum { PREDECESSORS_ASKED = 4 };

static bool fits(const struct platform *platform, uint32_t function, uint32_t configuration,
                 uint32_t invoker, bool warm)
{
    return warm ? platform_fits_warm(platform, function, configuration, invoker)
                : platform_fits(platform, function, configuration, invoker);
}

static uint32_t choose(struct platform *platform, uint32_t queue, uint32_t configuration,
                       enum placement_rule rule, bool warm)
{
    const uint32_t function = platform_queue_function(platform, queue);
    if (rule == PLACEMENT_LOCALITY) {
        for (uint32_t which = 0; which < PREDECESSORS_ASKED; which++) {
            const uint32_t invoker = platform_predecessor_invoker(platform, queue, which);
            if (invoker == SIM_NONE)
                break;
            if (fits(platform, function, configuration, invoker, warm))
                return invoker;
        }
    }
    if (rule != PLACEMENT_BEST_FIT) {
        const uint32_t home = platform_home(platform, function, 0);
        if (fits(platform, function, configuration, home, warm))
            return home;
    }
    return platform_best_fit(platform, function, configuration, warm);
}

uint32_t placement_choose(struct platform *platform, uint32_t queue, uint32_t configuration,
                          enum placement_rule rule, bool warm_only)
{
    const uint32_t function = platform_queue_function(platform, queue);
    uint32_t invoker = SIM_NONE;
    if (platform_warm_total(platform, function) > 0)
        invoker = choose(platform, queue, configuration, rule, true);
    if (invoker == SIM_NONE && !warm_only)
        invoker = choose(platform, queue, configuration, rule, false);
    return invoker;
}
