/* Output of `esgsim run`: the run's figures as JSON and as text. */
#ifndef ESGSIM_SIM_CLI_OUTPUT_H
#define ESGSIM_SIM_CLI_OUTPUT_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/platform/simulation.h"

/* One finished run. */
struct output_run {
    const struct experiment *experiment;
    const struct simulation_result *result;
};

/* Returns the object with the keys listed in README, "esgsim run --json". The caller deletes it.
 * NULL: memory exhausted. */
cJSON *output_run_json(const struct output_run *shown);

/* Prints the run's warnings on standard error. */
void output_warnings(const struct simulation_result *result);

/* Prints everything about one run: each application, the bounds, every metric with its meaning. */
void output_run_text(FILE *stream, const struct output_run *shown);

/* Prints one row per run of one experiment under `count` >= 1 policies. The last row has the
 * bounds, if all runs agree on them. */
void output_table_text(FILE *stream, const struct output_run *runs, size_t count);

/* Flushes and closes standard output. False with ERROR_RUN if not all of it has arrived, also
 * earlier. */
bool output_close(struct error *error);

#endif
