/* What the runs of a sweep consist of, before any is simulated. */
#ifndef ESGSIM_SIM_CLI_SWEEP_RUNNER_PLAN_H
#define ESGSIM_SIM_CLI_SWEEP_RUNNER_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "results/store/columns.h"
#include "sched/policy.h"
#include "sim/cli/modules.h"
#include "sim/error.h"
#include "workloads/experiment.h"

struct plan {
    struct experiment *experiment;
    const struct policy *policy;
    double *values; /* of the policy's parameters */
};

/* Loads run `run` of the sweep. False: ERROR_INPUT, and there is nothing to clear. */
bool plan_load(const struct sweep *sweep, size_t run, struct plan *plan, struct error *error);
void plan_clear(struct plan *plan);

/* What the runs of one combination have in common. */
struct plan_cell {
    char policy[TEXT_NAME + 1];
    char policy_label[POLICY_LABEL];
    char setting_label[TEXT_NAME + 1];
};

/* Loads one run of each combination, so that a mistake in the last one is told at once and not
 * after the others have run. Two combinations must differ, or the results would hold one run twice.
 * Fills `cells`, one per combination, and `identity_hash`, the SHA-256 of all that decides the
 * sweep's tables. False: ERROR_INPUT. */
bool plans_check(const struct sweep *sweep, struct plan_cell *cells, char identity_hash[65],
                 struct error *error);

/* Fills the row of /missing for run `run`, which failed with `message`, or was not run (NULL). */
void plan_missing(const struct sweep *sweep, const struct plan_cell *cells, size_t run,
                  const char *message, struct missing_run *row);

#endif
