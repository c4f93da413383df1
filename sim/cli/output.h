/* Output of `esgsim run`: the run's figures as JSON and as text. */
#ifndef ESGSIM_SIM_CLI_OUTPUT_H
#define ESGSIM_SIM_CLI_OUTPUT_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/cli/cli.h"
#include "sim/platform/simulation.h"

/* One finished run. */
struct output_run {
    const struct experiment *experiment;
    const struct simulation_result *result;
};

/* Returns the object with the keys listed in README, "esgsim run --json". The caller deletes it.
 * NULL: memory exhausted. */
cJSON *output_run_json(const struct output_run *shown);

/* Prints the warnings of `count` runs of one experiment on standard error, each once. One that not
 * all runs have is printed with the policies of those that do. */
void output_warnings(const struct output_run *runs, size_t count);

/* Says on standard error that --set requests=N leaves the warm-up as the file gives it, if that is
 * more than a tenth of N, its default. */
void output_note_warmup(const struct cli_settings *settings, const struct experiment *experiment);

/* Says on standard error that cold starts decide the result, and which keys change that: if more
 * than half of the jobs waited for one, or a tenth while most requests miss their SLO. */
void output_note_cold(const struct simulation_result *result);

/* Prints everything about one run: each application, the bounds, every metric with its meaning. */
void output_run_text(FILE *stream, const struct output_run *shown);

/* Prints one row per run of one experiment under `count` >= 1 policies. The last row has the
 * bounds, if a run has them and no two runs differ in them. */
void output_table_text(FILE *stream, const struct output_run *runs, size_t count);

/* Flushes and closes standard output. False with ERROR_RUN if not all of it has arrived, also
 * earlier. The message is empty where nobody reads it any more. */
bool output_close(struct error *error);

#endif
