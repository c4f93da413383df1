/* What a sweep would take, measured on a sample of its runs. */
#ifndef ESGSIM_SIM_CLI_SWEEP_ESTIMATE_H
#define ESGSIM_SIM_CLI_SWEEP_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "workloads/experiment.h"

struct sweep_estimate {
    size_t samples;                       /* runs that were begun */
    double mean_s, shortest_s, longest_s; /* of a whole run, wall clock */
    double peak_mib;                      /* peak memory of this process so far */
};

/* Begins runs of combinations spread over the sweep, at most `samples` of them, and stops each
 * after a tenth of a second. The time of a whole run is that until its first request finished, plus
 * the rest in proportion to its requests. Nothing is recorded. `quiet`: no progress bar. False: a
 * run failed; ERROR_RUN or ERROR_INPUT names it. */
bool sweep_estimate(const struct sweep *sweep, size_t samples, bool quiet,
                    struct sweep_estimate *estimate, struct error *error);

/* Prints time and memory of `runs` runs by `workers` processes; `at_least`: there may be more. */
void sweep_estimate_print(const struct sweep_estimate *estimate, size_t runs, size_t workers,
                          bool at_least);

#endif
