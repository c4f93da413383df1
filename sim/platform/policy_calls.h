/* Calls of the policy's functions (not a public header). Each calls the function if the policy has
 * it, and keeps `platform->callback` up to date meanwhile. sched/policy.h tells when each is due.
 */
#ifndef ESGSIM_SIM_PLATFORM_POLICY_CALLS_H
#define ESGSIM_SIM_PLATFORM_POLICY_CALLS_H

#include "sim/platform/state.h"

/* Calls init with the values of the parameters. False if init failed: the run's error is set. */
bool policy_call_init(struct platform *platform, const double *values);
void policy_call_ready(struct platform *platform, uint32_t queue);
void policy_call_withdrawn(struct platform *platform, uint32_t queue, uint32_t instance);
void policy_call_finish(struct platform *platform, const struct finished_batch *batch);
void policy_call_instance_ready(struct platform *platform, uint32_t instance);
void policy_call_timer(struct platform *platform, uint32_t id);
/* Answers whether the policy wants to be asked again. */
bool policy_call_decide(struct platform *platform);
/* How long an idle container of `function` on `invoker` stays. The policy must have the function.
 */
sim_time_t policy_call_keep_alive(struct platform *platform, uint32_t function, uint32_t invoker);
/* The policy's `finish`. */
void policy_call_end(struct platform *platform);
/* Name of the callback in progress; NULL between calls. Async-signal-safe. */
const char *policy_callback_name(const struct platform *platform);
/* The thread runs `platform` from now on; returns what it ran before, for policy_calls_end. */
const struct platform *policy_calls_begin(const struct platform *platform);
/* The thread runs `before` again. */
void policy_calls_end(const struct platform *before);

#endif
