/* The simulator beside runs of real systems: the errors of latencies, hits, drops and GPUs held.
 * Nothing is fitted or judged.
 *
 * results/reality/runs.json has what was measured, by setting of a sweep that ships. Each sweep is
 * run. The first key of a sweep is what is assumed, the last is "setting". There may be a "latency"
 * between them.
 *
 * A setting has the latency of each request, or the completion time of each training, or the share
 * of the requests in time, or also completed, or what the instances held. The settings of one
 * latency form a row: the mean of their absolute errors, and the largest. What was measured is by
 * setting, or by latency and setting.
 */
#ifndef ESGSIM_RESULTS_VERIFY_REALITY_H
#define ESGSIM_RESULTS_VERIFY_REALITY_H

#include <stdbool.h>
#include <stdio.h>

#include "sim/base/error.h"

/* Runs all sets and prints their table, also of what was done before a failure, or one JSON object.
 * Draws figures in the folder, which exists; NULL: none. False: ERROR_INPUT if a file is faulty,
 * ERROR_RUN if a run or gnuplot fails. */
bool reality_verify(const char *folder, bool json, FILE *out, struct error *error);

#endif
