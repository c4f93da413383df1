/* Calls of the policy's callbacks (not a public header).
 *
 * Each function calls one callback if the policy has it, and records it in `platform->place`
 * during the call. sched/policy.h documents when the platform calls each callback.
 */
#ifndef ESGSIM_SIM_PLATFORM_POLICY_CALLS_H
#define ESGSIM_SIM_PLATFORM_POLICY_CALLS_H

#include "sim/platform/state.h"

/* Calls init with the parameter values. False: init failed, and the run's error is set. */
bool policy_call_init(struct platform *platform, const double *values);
/* Asks about the gangs of the experiment. True: it refuses one, or memory is exhausted; the run's
 * error is set. O(trainings). */
bool policy_call_refuses_gang(struct platform *platform);
void policy_call_ready(struct platform *platform, uint32_t queue);
void policy_call_withdrawn(struct platform *platform, uint32_t queue, uint32_t instance);
void policy_call_refused(struct platform *platform, uint32_t invoker);
void policy_call_finish(struct platform *platform, const struct finished_batch *batch);
void policy_call_instance_ready(struct platform *platform, uint32_t instance);
void policy_call_timer(struct platform *platform, uint32_t id);
void policy_call_training_arrived(struct platform *platform, uint32_t training);
void policy_call_training_finished(struct platform *platform, uint32_t training);
/* Returns true if the policy wants another call of decide. */
bool policy_call_decide(struct platform *platform);
/* Returns the idle time of a container of `function` on `invoker`. The policy must have the
 * callback. */
sim_time_t policy_call_keep_alive(struct platform *platform, uint32_t function, uint32_t invoker);
/* Calls the policy's `finish`, if its init was called. */
void policy_call_end(struct platform *platform);
/* A callback will not return, because memory is exhausted. */
void policy_calls_abandon(struct platform *platform);
/* Returns the name of the callback in progress; NULL: none. Async-signal-safe. */
const char *policy_callback_name(const struct platform *platform);
/* Makes `platform` the run that this thread executes. Returns the previous one, for
 * policy_calls_end. */
struct platform *policy_calls_begin(struct platform *platform);
/* Makes `before` the run that this thread executes. */
void policy_calls_end(struct platform *before);

#endif
