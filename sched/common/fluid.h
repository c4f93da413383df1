/* A fluid server of rate 1 that serves by earliest deadline first. What is not served by its
 * deadline is lost. Work is measured in ns of the whole server. */
#ifndef ESGSIM_SCHED_COMMON_FLUID_H
#define ESGSIM_SCHED_COMMON_FLUID_H

#include <stddef.h>

#include "sim/base/units.h"

/* A request that waits, in a binary heap by deadline. */
struct fluid_waiting {
    sim_time_t deadline;
    double left; /* ns */
};

/* Zero but for `heap`, which the caller provides with room for all that can wait at once. */
struct fluid {
    struct fluid_waiting *heap;
    size_t count;
    double now;    /* ns */
    double served; /* ns, so far */
};

/* Serves until `until`, ns. O(log n) per request that ends. */
void fluid_advance(struct fluid *fluid, double until);
/* Adds a request that arrives now. O(log n). */
void fluid_push(struct fluid *fluid, sim_time_t deadline, double work);

#endif
