/* Breaks a rule on purpose: built against another version of the contract. */
#include "sched/policy.h"

static bool bad_abi_decide(void *state, struct platform *platform)
{
    (void)state;
    (void)platform;
    return false;
}

const struct policy esgsim_policy = {
    .abi = POLICY_ABI + 1,
    .name = "bad-abi",
    .summary = "speaks another version of the contract",
    .decide = bad_abi_decide,
};
