/* Functions of the event loop for the other files of sim/platform (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_SIMULATION_INTERNAL_H
#define ESGSIM_SIM_PLATFORM_SIMULATION_INTERNAL_H

#include "sim/platform/state.h"

/* Adds an event to the event queue. If the event queue refuses it, fails the run and returns 0. */
event_queue_handle platform_schedule(struct platform *platform, sim_time_t time,
                                     enum event_kind kind, uint32_t subject);

/* Schedules the next request of a user of a closed process, after a think time. `request` is the
 * number of the previous request, which ended now; it selects the random draw. */
void simulation_user_thinks(struct platform *platform, uint32_t user, uint64_t request);

/* Takes a sample of the timeline and of fragmentation, checks what batches and instances hold, and
 * schedules the next sample. O(invokers × waiting queues). */
void samples_take(struct platform *platform);

#endif
