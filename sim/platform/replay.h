/* Functions for runs whose batches execute on a backend (not a public header). The platform calls
 * them only if platform->backend is not NULL. sim/backend/hardware.c implements them, so that the
 * platform does not depend on sim/backend.
 */
#ifndef ESGSIM_SIM_PLATFORM_REPLAY_H
#define ESGSIM_SIM_PLATFORM_REPLAY_H

#include "sim/platform/state.h"

/* Checks that the backend supports the experiment, then opens it. False: the run failed. */
bool replay_open(struct platform *platform);
/* Starts batch `id` now. `modelled` is its time in the model without interference. */
void replay_start(struct platform *platform, uint32_t id, sim_time_t modelled);
/* Waits for the next end of a batch, at most until `until`. Advances the clock to that end and
 * returns the batch. SIM_NONE: no batch ended, or the run failed. */
uint32_t replay_wait(struct platform *platform, sim_time_t until);
/* Fail the run because a backend does not support an event. The events are the cold start of a
 * container, its eviction, and a new share for a batch in execution. */
void replay_refuse_cold(struct platform *platform, uint32_t function, uint32_t invoker);
void replay_refuse_eviction(struct platform *platform, const struct container *container);
void replay_refuse_reshare(struct platform *platform, uint32_t id);

#endif
