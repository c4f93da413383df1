/* The idle time of containers (not a public header).
 *
 * The experiment's keep-alive policy determines it. Without one, the scheduling policy does if it
 * has a keep_alive callback. Otherwise platform.keep_alive_s applies.
 */
#ifndef ESGSIM_SIM_PLATFORM_KEEP_ALIVE_H
#define ESGSIM_SIM_PLATFORM_KEEP_ALIVE_H

#include "sim/platform/state.h"

/* Starts the experiment's keep-alive policy, if it names one. False: the run's error is set. */
bool keep_alive_init(struct platform *platform);
/* Notes that container `id` is taken for work. */
void keep_alive_use(struct platform *platform, uint32_t id);
/* Notes that container `id` was taken for work but released before the work began. */
void keep_alive_abandon(struct platform *platform, uint32_t id);
/* Returns the idle time of container `id`, which has just become idle; <= 0: evict it now. If the
 * keep-alive policy asks for it, also schedules a later start of a replacement. */
sim_time_t keep_alive_time(struct platform *platform, uint32_t id, bool used);
/* The idle time of container `id` has expired. Returns its extension; <= 0: evict it now. */
sim_time_t keep_alive_extend(struct platform *platform, uint32_t id);
/* Notes that the container has been evicted. */
void keep_alive_evicted(struct platform *platform, const struct container *container);
/* Handles EVENT_CONTAINER_RELOAD. */
void keep_alive_reload(struct platform *platform, uint32_t id);

#endif
