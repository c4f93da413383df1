/* Output of `esgsim run`: the run's figures as JSON and as text. */
#ifndef ESGSIM_SIM_CLI_OUTPUT_H
#define ESGSIM_SIM_CLI_OUTPUT_H

#include <stdio.h>

#include "sim/platform/simulation.h"

/* Prints one JSON object with the keys listed in README, "esgsim run --json". False: memory
 * exhausted. */
bool output_run_json(FILE *stream, const struct experiment *experiment,
                     const struct simulation_result *result, struct error *error);

/* Prints the run's warnings on standard error. */
void output_warnings(const struct simulation_result *result);

void output_run_text(FILE *stream, const struct experiment *experiment,
                     const struct simulation_result *result);

#endif
