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

/* "requests_per_s": {POLICY: {INVOKERS: …}}: relaxed-heavy.json, all of a run, with 16
 * invokers, and with 1,000 and 10,000 at the same load per invoker; "requests_cost_ratio": {POLICY:
 * {INVOKERS: …}}, the cost of one request over that at 16, measured in turn; and
 * "requests_setup_s": {POLICY: {INVOKERS: …}}, what the cluster itself took of a run, which is not
 * a request's. */
bool bench_requests(cJSON *result, struct error *error);

/* "sweep_efficiency_2_jobs": wall-clock time of 1,000 runs of about 15 ms on one worker, over twice
 * that on two, in turn; meaningful where two cores are free. "sweep_of_1000_s": the times, CPU time
 * beside them. Medians of the rounds. */
bool bench_sweep(cJSON *result, struct error *error);

/* "faas_invocations_per_s": faas.json, a million of them. */
bool bench_faas(cJSON *result, struct error *error);

/* "in_flight_requests_per_s": {REQUESTS: …}, "in_flight_cost_ratio" and
 * "in_flight_bytes_per_request": faas.json on 10,000 hosts by how many requests are in flight, with
 * "in_flight_events_per_request" to show that each asks the same of the simulator. */
bool bench_in_flight(cJSON *result, struct error *error);

struct bench_run {
    double requests_per_s; /* of wall-clock time, all of it */
    double cost_s;         /* of wall-clock time, a request: of the requests alone */
    double setup_s;        /* to make the cluster and its first containers, and to take them down */
    double events_per_request;
    double peak_kb; /* resident, of the process */
};

/* One run of the experiment, in a process of its own: none finds the memory as another left it, and
 * what it took at most can be told. */
bool bench_experiment(const char *path, const struct override *overrides, size_t count,
                      struct bench_run *run, struct error *error);

/* Rounds, in each of which all cases of a benchmark take their turn: what slows the machine for a
 * minute slows all of them, and the ratios of one round compare what was measured side by side. */
enum { BENCH_ROUNDS = 5, BENCH_CASES = 3 };

struct bench_rounds {
    struct bench_run runs[BENCH_CASES][BENCH_ROUNDS];
};

/* Calls `measure` with each case below `count` (at most BENCH_CASES) in each round. */
bool bench_in_turn(struct bench_rounds *rounds, size_t count,
                   bool (*measure)(const void *context, size_t which, struct bench_run *run,
                                   struct error *error),
                   const void *context, struct error *error);

/* The median of a case's rates. */
double bench_rate(const struct bench_rounds *rounds, size_t which);

/* What a request of a case costs over one of the first case: the median of the rounds' ratios. */
double bench_cost_ratio(const struct bench_rounds *rounds, size_t which);

#endif
