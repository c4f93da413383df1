/* Benchmarks of whole runs and of decisions, for the table of bench.c. Each adds its own keys. */
#ifndef ESGSIM_SIM_CLI_BENCH_RUNS_H
#define ESGSIM_SIM_CLI_BENCH_RUNS_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "sim/error.h"
#include "workloads/experiment.h"

/* "decision_us": {METHOD: {"3x256", "5x256", "10x256"}}: means over random chains and budgets; null
 * where a method does not end in reasonable time. Also "decision_us_max", "decision_expansions",
 * "frontier_build_ms" and "frontier_points". */
bool bench_decisions(cJSON *result, struct error *error);

/* "requests_per_s": {POLICY: {INVOKERS: …}}: relaxed-heavy.json from the first arrival to the last
 * figure, with 16 invokers, and with 1,000 and 10,000 at the same load per invoker; and
 * "requests_cost_ratio": {POLICY: {INVOKERS: …}}, the cost of one request over that at 16. */
bool bench_requests(cJSON *result, struct error *error);

/* "sweep_efficiency_2_jobs": wall-clock time of 1,000 runs of about 15 ms on one worker, over twice
 * that on two; meaningful where two cores are free. "sweep_of_1000_s": the times, CPU time beside
 * them. */
bool bench_sweep(cJSON *result, struct error *error);

/* "faas_invocations_per_s": faas.json, a million of them. */
bool bench_faas(cJSON *result, struct error *error);

/* "in_flight_requests_per_s": {REQUESTS: …}, "in_flight_cost_ratio" and
 * "in_flight_bytes_per_request": faas.json on 10,000 hosts by how many requests are in flight, with
 * "in_flight_events_per_request" to show that each asks the same of the simulator. */
bool bench_in_flight(cJSON *result, struct error *error);

struct bench_run {
    double requests_per_s; /* of wall-clock time */
    double events_per_request;
};

/* One run of the experiment. */
bool bench_experiment(const char *path, const struct override *overrides, size_t count,
                      struct bench_run *run, struct error *error);

#endif
