/* Functions of the event loop for the other files of sim/platform (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_SIMULATION_INTERNAL_H
#define ESGSIM_SIM_PLATFORM_SIMULATION_INTERNAL_H

#include "sim/platform/state.h"

struct arrival_stream;

/* The next arrival of an open arrival process, if any. */
struct cursor {
    struct arrival_stream *stream;
    struct arrival next;
    bool there;
    uint64_t left; /* requests still to be generated */
};

/* Sets up the state before the first request. Stores the stream of arrivals in `cursor`, which the
 * caller closes. False: the run failed. */
bool simulation_prepare(struct platform *platform, struct cursor *cursor);

/* Handles events and arrivals until the run is over, fails or is interrupted. */
void simulation_loop(struct platform *platform, struct cursor *cursor,
                     const struct progress *progress);

/* Returns the number of requests of the run, warm-up included. */
uint64_t requests_total(const struct experiment *experiment);

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
