/* A run's figures as JSON and as text: what `esgsim run` prints. */
#ifndef ESGSIM_SIM_CLI_OUTPUT_H
#define ESGSIM_SIM_CLI_OUTPUT_H

#include <stdio.h>

#include "sim/simulation.h"

/* One JSON object with the keys of README "esgsim run --json". False when out of memory. */
bool output_run_json(FILE *stream, const struct experiment *experiment,
                     const struct simulation_result *result, struct error *error);

/* The run's warnings, on standard error. */
void output_warnings(const struct simulation_result *result);

void output_run_text(FILE *stream, const struct experiment *experiment,
                     const struct simulation_result *result);

#endif
