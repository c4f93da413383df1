/* What a sweep would take, measured on a sample of its runs. */
#ifndef ESGSIM_SIM_RUN_SWEEP_ESTIMATE_H
#define ESGSIM_SIM_RUN_SWEEP_ESTIMATE_H

#include "sim/run/sweep_runner.h"
#include "sim/run/sweep_runner_plan.h"

/* Prints the number of runs, their time and memory, and with `options->details` each run. Begins
 * runs of combinations spread over the sweep and stops each after a tenth of a second. The time of
 * a whole run is that until its first request finished, plus the rest in proportion to its
 * requests. With a precision all is the least. Nothing is recorded. False: a run failed; ERROR_RUN
 * or ERROR_INPUT names it. */
bool sweep_estimate(const struct plans *plans, const struct sweep_runner_options *options,
                    struct error *error);

#endif
