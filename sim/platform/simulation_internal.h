/* What the loop does for the other files of the platform (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_SIMULATION_INTERNAL_H
#define ESGSIM_SIM_PLATFORM_SIMULATION_INTERNAL_H

#include "sim/platform/state.h"

/* Adds an event to the event queue. Fails the run and returns 0 if the event queue refuses it. */
event_queue_handle platform_schedule(struct platform *platform, sim_time_t time,
                                     enum event_kind kind, uint32_t subject);

/* A user of a closed process got an answer to `request` and thinks before the next. */
void simulation_user_thinks(struct platform *platform, uint32_t user, uint64_t request);

#endif
