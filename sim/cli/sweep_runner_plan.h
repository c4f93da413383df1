/* What the runs of a sweep consist of, before any is simulated. */
#ifndef ESGSIM_SIM_CLI_SWEEP_RUNNER_PLAN_H
#define ESGSIM_SIM_CLI_SWEEP_RUNNER_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "sched/policy.h"
#include "sim/error.h"
#include "workloads/experiment.h"

struct plan {
    struct experiment *experiment;
    const struct policy *policy;
    double *values; /* of the policy's parameters */
    /* The run computes bounds. Those of a setting and seed are the same for all policies, so the
     * run of the first policy has them. With a closed process each run has its own, because its
     * users wait for the policy. */
    bool bounds;
};

/* Loads run `run` of the sweep. False: ERROR_INPUT, and there is nothing to clear. */
bool plan_load(const struct sweep *sweep, size_t run, struct plan *plan, struct error *error);
void plan_clear(struct plan *plan);

/* Loads one run of each combination, so that a mistake in the last one is told at once and not
 * after the others have run. Two combinations must differ, or the results would hold one run twice.
 * Fills `identity_hash`, the SHA-256 of all that decides the sweep's tables. False: ERROR_INPUT. */
bool plans_check(const struct sweep *sweep, char identity_hash[65], struct error *error);

#endif
