/* Failures of a run, and the simulated time of decisions (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_POLICY_API_H
#define ESGSIM_SIM_PLATFORM_POLICY_API_H

#include "sim/platform/state.h"

/* Fails the run with the message, followed by callback, simulated time, policy and seed. Only the
 * first failure is recorded. */
void platform_fail(struct platform *platform, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the modes of floating point again that a foreign policy may have changed. The flags of the
 * comparison say what has happened, not how to compute. Setting the modes takes 100 cycles. */
static inline void platform_round_again(struct platform *platform)
{
    if (!platform->foreign)
        return;
#ifdef __SSE__
    const bool same = ((__builtin_ia32_stmxcsr() ^ platform->rounding.__mxcsr) & ~0x3Fu) == 0;
#else
    const bool same = false;
#endif
    if (!same)
        (void)fesetenv(&platform->rounding);
}

/* Simulated time charged so far for the decision in progress. */
sim_time_t controller_charges(const struct platform *platform);

/* The same; avoids the call if decisions take no time. */
static inline sim_time_t controller_charged(const struct platform *platform)
{
    const bool free = platform->experiment->platform.decision_cost == DECISION_ZERO;
    return free ? 0 : controller_charges(platform);
}

#endif
