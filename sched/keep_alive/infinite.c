/* The upper extreme: containers are evicted only when memory is short, the least recently used
 * first.
 */
#include "workloads/spec/keep_alive.h"

static struct keep_windows infinite_on_idle(void *state, const struct idle_container *container,
                                            bool used, sim_time_t now)
{
    return (struct keep_windows){.keep_for = SIM_FOREVER};
}

const struct keep_alive keep_alive_infinite = {
    .name = "infinite",
    .summary = "evicts only when memory is short, the least recently used first (LRU)",
    .on_idle = infinite_on_idle,
};
