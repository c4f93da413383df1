/* The policy of one resolved experiment, for every command that runs it. */
#ifndef ESGSIM_SIM_CLI_RUN_ONCE_H
#define ESGSIM_SIM_CLI_RUN_ONCE_H

#include "sched/policy.h"
#include "sim/backend/backend.h"
#include "sim/platform/simulation.h"

/* Returns the experiment's policy and its parameter values, which the caller frees. NULL: the error
 * names the experiment's file. */
const struct policy *runner_policy(const struct experiment *experiment, double **values,
                                   struct error *error);

#endif
