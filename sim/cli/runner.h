/* One experiment from its resolved form to its figures: what `run` and `sweep` share. */
#ifndef ESGSIM_SIM_CLI_RUNNER_H
#define ESGSIM_SIM_CLI_RUNNER_H

#include "sched/policy.h"
#include "sim/backend.h"
#include "sim/simulation.h"

/* The experiment's policy and its parameter values (the caller frees them). NULL with an error that
 * names the experiment's file. */
const struct policy *runner_policy(const struct experiment *experiment, double **values,
                                   struct error *error);

/* simulation_run, then the cost bounds of metrics.def filled in. ERROR_INPUT where the trace ended
 * before a request was measured. */
bool runner_execute(const struct experiment *experiment, const struct policy *policy,
                    const double *values, const struct recorder *recorder,
                    const struct progress *progress, struct simulation_result *result,
                    struct error *error);

/* The same of a replay on `backend`. */
bool runner_replay(const struct experiment *experiment, const struct policy *policy,
                   const double *values, const struct backend *backend,
                   const struct recorder *recorder, const struct progress *progress,
                   struct simulation_result *result, struct error *error);

#endif
