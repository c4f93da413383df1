/* How long idle containers stay (not a public header): as the experiment's keep-alive policy, the
 * scheduler's policy, or platform.keep_alive_s says.
 */
#ifndef ESGSIM_SIM_PLATFORM_KEEP_ALIVE_H
#define ESGSIM_SIM_PLATFORM_KEEP_ALIVE_H

#include "sim/platform/state.h"

/* Starts the experiment's keep-alive policy, if it names one. False: the run's error is set. */
bool keep_alive_init(struct platform *platform);
/* Ends the policy and frees what it used. */
void keep_alive_clear(struct platform *platform);
/* The container is taken for work. */
void keep_alive_use(struct platform *platform, uint32_t id);
/* It was taken and is given up before it has started. */
void keep_alive_abandon(struct platform *platform, uint32_t id);
/* It is idle: for how long it is kept, <= 0: not at all. Plans its return where that is wanted. */
sim_time_t keep_alive_time(struct platform *platform, uint32_t id, bool used);
/* Its time is up: how much longer it stays, <= 0: not at all. */
sim_time_t keep_alive_extend(struct platform *platform, uint32_t id);
/* The container has been evicted. */
void keep_alive_evicted(struct platform *platform, const struct container *container);
/* EVENT_CONTAINER_RELOAD. */
void keep_alive_reload(struct platform *platform, uint32_t id);

#endif
