#include "sim/cli/bench_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gsl/gsl_statistics_double.h>

#include "sched/esg/bench.h"
#include "sim/cli/runner.h"

/* ---- Decisions --------------------------------------------------------------------------------
 */

static cJSON *object_of(cJSON *parent, const char *key)
{
    cJSON *object = cJSON_GetObjectItemCaseSensitive(parent, key);
    return object != NULL ? object : cJSON_AddObjectToObject(parent, key);
}

static void add_sizes(cJSON *parent, const char *key, const double values[DECISION_SIZES])
{
    cJSON *object = object_of(parent, key);
    for (int size = 0; size < DECISION_SIZES; size++) {
        if (isfinite(values[size]))
            cJSON_AddNumberToObject(object, decision_size_names[size], values[size]);
        else
            cJSON_AddNullToObject(object, decision_size_names[size]);
    }
}

bool bench_decisions(cJSON *result, struct error *error)
{
    struct decision_bench bench;
    if (!decision_bench_run(&bench, error))
        return false;
    for (int m = 0; m < DECISION_METHODS; m++) {
        const struct decision_bench_row *row = &bench.rows[m];
        add_sizes(object_of(result, "decision_us"), row->method, row->mean_us);
        add_sizes(object_of(result, "decision_us_max"), row->method, row->max_us);
        add_sizes(object_of(result, "decision_expansions"), row->method, row->expansions);
    }
    double points[DECISION_SIZES];
    for (int size = 0; size < DECISION_SIZES; size++)
        points[size] = (double)bench.frontier_points[size];
    add_sizes(result, "frontier_build_ms", bench.frontier_build_ms);
    add_sizes(result, "frontier_points", points);
    return true;
}

/* ---- Runs --------------------------------------------------------------------------------------
 */

enum { RUN_REPEATS = 5, OVERRIDES = 5 };

/* Both sizes have the same load per invoker: 1,000 of them get requests 62.5 times as often. */
static const struct run_case {
    const char *label, *policy, *requests, *invokers, *arrivals;
} run_cases[] = {
    {"esg", "{\"name\":\"esg\"}", "3000", "16",
     "{\"process\":\"uniform\",\"low_ms\":10,\"high_ms\":16.8}"},
    {"esg-frontier", "{\"name\":\"esg\",\"params\":{\"method\":\"frontier\"}}", "100000", "16",
     "{\"process\":\"uniform\",\"low_ms\":10,\"high_ms\":16.8}"},
    {"esg-frontier", "{\"name\":\"esg\",\"params\":{\"method\":\"frontier\"}}", "300000", "1000",
     "{\"process\":\"uniform\",\"low_ms\":0.16,\"high_ms\":0.2688}"},
    {"fifo", "{\"name\":\"fifo\"}", "100000", "16",
     "{\"process\":\"uniform\",\"low_ms\":10,\"high_ms\":16.8}"},
    {"fifo", "{\"name\":\"fifo\"}", "300000", "1000",
     "{\"process\":\"uniform\",\"low_ms\":0.16,\"high_ms\":0.2688}"},
};

/* {"NAME": containers, …}: five a function and invoker, so that what is measured is the engine and
 * not a queue behind cold starts. */
static void warm_containers(const char *invokers, char *text, size_t size)
{
    static const char *const functions[] = {
        "super-resolution", "segmentation",       "deblur",
        "classification",   "background-removal", "depth-recognition"};
    size_t used = 0;
    for (size_t f = 0; f < sizeof functions / sizeof *functions && used < size; f++)
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\":%ld", f == 0 ? "{" : ",",
                                 functions[f], 5 * strtol(invokers, NULL, 10));
    if (used < size)
        snprintf(text + used, size - used, "}");
}

static bool run_case(const struct run_case *test, double *requests_per_s, struct error *error)
{
    char initial[512];
    warm_containers(test->invokers, initial, sizeof initial);
    const struct override overrides[OVERRIDES + 1] = {{"policy", test->policy},
                                                      {"requests", test->requests},
                                                      {"cluster.invokers.0.count", test->invokers},
                                                      {"arrivals", test->arrivals},
                                                      {"platform.initial", initial},
                                                      {"record", "summary"}};
    struct experiment *experiment = experiment_load("workloads/experiments/relaxed-heavy.json",
                                                    overrides, OVERRIDES + 1, error);
    if (experiment == NULL)
        return false;
    double *values = NULL;
    struct simulation_result result;
    const struct policy *policy = runner_policy(experiment, &values, error);
    bool ok =
        policy != NULL && simulation_run(experiment, policy, values, NULL, NULL, &result, error);
    if (ok) {
        *requests_per_s =
            (double)(experiment->requests + experiment->warmup_requests) / result.wall_s;
        simulation_result_clear(&result);
    }
    free(values);
    experiment_free(experiment);
    return ok;
}

bool bench_requests(cJSON *result, struct error *error)
{
    cJSON *object = object_of(result, "requests_per_s");
    for (size_t i = 0; i < sizeof run_cases / sizeof *run_cases; i++) {
        double rates[RUN_REPEATS];
        for (int repeat = 0; repeat < RUN_REPEATS; repeat++)
            if (!run_case(&run_cases[i], &rates[repeat], error))
                return false;
        cJSON_AddNumberToObject(object_of(object, run_cases[i].label), run_cases[i].invokers,
                                gsl_stats_median(rates, 1, RUN_REPEATS));
    }
    return true;
}
