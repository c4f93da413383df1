/* Benchmarks of whole runs and of decisions, for the table of bench.c. Each adds its own keys. */
#ifndef ESGSIM_SIM_CLI_BENCH_RUNS_H
#define ESGSIM_SIM_CLI_BENCH_RUNS_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "sim/error.h"

/* "decision_us": {METHOD: {"3x256", "5x256", "10x256"}}: means over random chains and budgets; null
 * where a method does not end in reasonable time. Also "decision_us_max", "decision_expansions",
 * "frontier_build_ms" and "frontier_points". */
bool bench_decisions(cJSON *result, struct error *error);

/* "requests_per_s": {POLICY: {INVOKERS: …}}: relaxed-heavy.json from the first arrival to the last
 * figure, with 16 invokers, and with 1,000 at the same load per invoker. */
bool bench_requests(cJSON *result, struct error *error);

/* "sweep_efficiency_2_jobs": wall-clock time of 1,000 runs of about 15 ms on one worker, over twice
 * that on two; meaningful where two cores are free. "sweep_of_1000_s": the times, CPU time beside
 * them. */
bool bench_sweep(cJSON *result, struct error *error);

#endif
