/* The sweeps that claims name (results/expect/claim.h): each is checked before any is run, so that
 * a mistake is reported at once. */
#ifndef ESGSIM_SIM_RUN_CLAIM_SWEEPS_H
#define ESGSIM_SIM_RUN_CLAIM_SWEEPS_H

#include "results/expect/expectation.h"
#include "sim/engine/statistics.h"
#include "sim/run/sweep_runner.h"

/* Loads all sweeps and finds every claim's runs in them. Lists the sweeps on `out`; NULL: does not.
 * False: ERROR_INPUT. */
bool claim_sweeps_check(const struct expectations *claims, FILE *out, struct error *error);

/* Runs the sweeps as the options say, each into the folder, and sets our estimate of each claim.
 * False: as for sweep_runner_run and claim_estimate. */
bool claim_sweeps_run(const struct expectations *claims, const struct sweep_runner_options *options,
                      const char *folder, struct estimate *ours, struct error *error);

#endif
