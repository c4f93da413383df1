/* What differs in a run whose batches execute on a backend (not a public header). The platform
 * calls these functions only if platform->backend is not NULL. sim/backend/hardware.c implements
 * them, so that the platform does not depend on sim/backend.
 */
#ifndef ESGSIM_SIM_PLATFORM_REPLAY_H
#define ESGSIM_SIM_PLATFORM_REPLAY_H

#include "sim/platform/state.h"

/* Refuses what can be told from the experiment, then opens the backend; false: the run failed. */
bool replay_open(struct platform *platform);
/* Batch `id` starts now; on its own the model gives it `modelled`. */
void replay_start(struct platform *platform, uint32_t id, sim_time_t modelled);
/* The batch that ends next up to `until`, the clock moved to its end; SIM_NONE: none does, or the
 * run failed. */
uint32_t replay_wait(struct platform *platform, sim_time_t until);
/* Fails the run: a container of `function` would start, or be evicted, or a batch in execution
 * change its share. */
void replay_refuse_cold(struct platform *platform, uint32_t function, uint32_t invoker);
void replay_refuse_eviction(struct platform *platform, const struct container *container);
void replay_refuse_reshare(struct platform *platform, uint32_t id);

#endif
