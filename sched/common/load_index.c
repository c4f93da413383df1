#include "sched/common/load_index.h"
#include "sched/memory.h"

#include "sched/common/placement.h"
#include "sched/common/queue_order.h"

enum { PASSED_MOST = 64 };

struct load_index {
    struct queue_order *order;    /* invokers, by running batches */
    uint32_t passed[PASSED_MOST]; /* scratch: invokers without room */
};

struct load_index *load_index_create(struct platform *platform)
{
    const uint32_t invokers = platform_workload(platform)->cluster.invoker_count;
    struct load_index *index = platform_allocate(platform, 1, sizeof *index);
    index->order = queue_order_create(platform_arena(platform), invokers);
    for (uint32_t i = 0; i < invokers; i++)
        load_index_update(index, platform, i);
    return index;
}

void load_index_update(struct load_index *index, const struct platform *platform, uint32_t invoker)
{
    queue_order_set(index->order, invoker,
                    (struct queue_rank){platform_running_batches(platform, invoker), 0});
}

uint32_t load_index_least(struct load_index *index, struct platform *platform, uint32_t function,
                          uint32_t configuration, bool warm)
{
    const uint32_t best_fit = platform_best_fit(platform, function, configuration, warm);
    if (best_fit == SIM_NONE)
        return SIM_NONE;
    uint32_t found = SIM_NONE;
    uint32_t passed = 0;
    while (found == SIM_NONE && passed < PASSED_MOST) {
        const uint32_t invoker = queue_order_first(index->order, NULL);
        if (invoker == SIM_NONE)
            break;
        if (placement_fits(platform, function, configuration, invoker, warm)) {
            found = invoker;
            break;
        }
        queue_order_remove(index->order, invoker);
        index->passed[passed++] = invoker;
    }
    platform_charge(platform, passed);
    while (passed > 0)
        load_index_update(index, platform, index->passed[--passed]);
    return found != SIM_NONE ? found : best_fit;
}
