/* Execution of one resolved experiment, shared by `run` and `sweep`. */
#ifndef ESGSIM_SIM_CLI_RUN_ONCE_H
#define ESGSIM_SIM_CLI_RUN_ONCE_H

#include "sched/policy.h"
#include "sim/backend/backend.h"
#include "sim/platform/simulation.h"

/* Returns the experiment's policy and its parameter values, which the caller frees. NULL: the error
 * names the experiment's file. */
const struct policy *runner_policy(const struct experiment *experiment, double **values,
                                   struct error *error);

/* Calls simulation_run, then sets the cost bounds of metrics.def. ERROR_INPUT if the trace ended
 * before a request was measured. */
bool runner_execute(const struct experiment *experiment, const struct policy *policy,
                    const double *values, const struct recorder *recorder,
                    const struct progress *progress, struct simulation_result *result,
                    struct error *error);

/* Like runner_execute, for a replay on `backend`. */
bool runner_replay(const struct experiment *experiment, const struct policy *policy,
                   const double *values, const struct backend *backend,
                   const struct recorder *recorder, const struct progress *progress,
                   struct simulation_result *result, struct error *error);

#endif
