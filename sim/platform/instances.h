/* Long-lived instances and their buffers (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_INSTANCES_H
#define ESGSIM_SIM_PLATFORM_INSTANCES_H

#include "sim/platform/state.h"

/* Frees all instances. */
void instances_clear(struct platform *platform);
/* Starts an instance at `placement`. SIM_NONE where it does not fit, or (platform
 * failed) out of memory. */
uint32_t instances_create(struct platform *platform, uint32_t function, uint32_t configuration,
                          uint32_t quota, const struct placement *placement);
/* Ends instance `id`, which neither runs nor buffers jobs, and frees what it holds. */
void instances_kill(struct platform *platform, uint32_t id);
/* Gives instance `id` another configuration and quota. False if they do not fit. */
bool instances_set_share(struct platform *platform, uint32_t id, uint32_t configuration,
                         uint32_t quota);
/* EVENT_INSTANCE_READY. */
void instances_ready(struct platform *platform, uint32_t id);
/* Bills what instance `id` held since it last executed or was billed. */
void instances_bill(struct platform *platform, uint32_t id);
/* How long `job`, routed to instance `id` (SIM_NONE: to none), has waited for it to start. */
sim_time_t instances_cold_wait(const struct platform *platform, uint32_t id, uint32_t job);
/* The run is over: all are killed. */
void instances_close(struct platform *platform);

#endif
