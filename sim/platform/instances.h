/* Long-lived instances and their buffers (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_INSTANCES_H
#define ESGSIM_SIM_PLATFORM_INSTANCES_H

#include "sim/platform/state.h"

/* Starts an instance at `placement` and returns its id. SIM_NONE: it does not fit, or memory is
 * exhausted; in the latter case the run has failed. */
uint32_t instances_create(struct platform *platform, uint32_t function, uint32_t configuration,
                          uint32_t quota, const struct placement *placement);
/* Ends instance `id` and releases its resources. It must neither run nor buffer jobs. */
void instances_kill(struct platform *platform, uint32_t id);
/* Changes the configuration and quota of instance `id`. False if they do not fit. */
bool instances_set_share(struct platform *platform, uint32_t id, uint32_t configuration,
                         uint32_t quota);
/* Handles EVENT_INSTANCE_READY. */
void instances_ready(struct platform *platform, uint32_t id);
/* The invoker of instance `id` has failed: it starts anew at `back`. It keeps its place and its
 * buffer, and what is launched until then waits. */
void instances_restart(struct platform *platform, uint32_t id, sim_time_t back);
/* Bills the resources of instance `id` since its last execution or bill. */
void instances_bill(struct platform *platform, uint32_t id);
/* Returns how long `job` has waited for the start of instance `id`, to which it was routed.
 * SIM_NONE: not routed. */
sim_time_t instances_cold_wait(const struct platform *platform, uint32_t id, uint32_t job);
/* Ends all instances at the end of the run. */
void instances_close(struct platform *platform);

#endif
