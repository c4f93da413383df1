/* Breaks a rule on purpose: always says that there is more to do, and does nothing. */
#include "sched/policy.h"

static bool spinner_decide(void *state, struct platform *platform)
{
    (void)state;
    (void)platform;
    return true;
}

const struct policy esgsim_policy = {
    .abi = POLICY_ABI,
    .name = "spinner",
    .summary = "loops without progress",
    .decide = spinner_decide,
};
