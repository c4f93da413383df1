#include "sim/cli/bench_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_statistics_double.h>

#include "sched/esg/bench.h"

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

/* The intervals of relaxed-heavy.json for 16 invokers, and as much shorter as there are more. What
 * is asked for is the cost of a request: many enough that making the containers is little of it. */
#define UNIFORM(low, high) "{\"process\":\"uniform\",\"low_ms\":" low ",\"high_ms\":" high "}"
#define AT_16 "100000", "16", UNIFORM("10", "16.8")
#define AT_1000 "300000", "1000", UNIFORM("0.16", "0.2688")
#define AT_10000 "1000000", "10000", UNIFORM("0.016", "0.02688")
#define FRONTIER "{\"name\":\"esg\",\"params\":{\"method\":\"frontier\"}}"

/* Those of one policy stand together, the smallest cluster first. */
static const struct run_case {
    const char *label, *policy, *requests, *invokers, *arrivals;
} run_cases[] = {
    {"esg", "{\"name\":\"esg\"}", AT_16},
    {"esg-frontier", FRONTIER, AT_16},
    {"esg-frontier", FRONTIER, AT_1000},
    {"esg-frontier", FRONTIER, AT_10000},
    {"fifo", "{\"name\":\"fifo\"}", AT_16},
    {"fifo", "{\"name\":\"fifo\"}", AT_1000},
    {"fifo", "{\"name\":\"fifo\"}", AT_10000},
    {"min-config", "{\"name\":\"min-config\"}", AT_16},
    {"min-config", "{\"name\":\"min-config\"}", AT_1000},
    {"min-config", "{\"name\":\"min-config\"}", AT_10000},
    {"least-loaded", "{\"name\":\"least-loaded\"}", AT_16},
    {"least-loaded", "{\"name\":\"least-loaded\"}", AT_1000},
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
    struct bench_run run;
    if (!bench_experiment("workloads/experiments/relaxed-heavy.json", overrides, OVERRIDES + 1,
                          &run, error))
        return false;
    *requests_per_s = run.requests_per_s;
    return true;
}

bool bench_requests(cJSON *result, struct error *error)
{
    cJSON *object = object_of(result, "requests_per_s");
    cJSON *ratios = object_of(result, "requests_cost_ratio");
    double smallest = 0;
    for (size_t i = 0; i < sizeof run_cases / sizeof *run_cases; i++) {
        const struct run_case *test = &run_cases[i];
        double rates[RUN_REPEATS];
        for (int repeat = 0; repeat < RUN_REPEATS; repeat++)
            if (!run_case(test, &rates[repeat], error))
                return false;
        double rate = gsl_stats_median(rates, 1, RUN_REPEATS);
        cJSON_AddNumberToObject(object_of(object, test->label), test->invokers, rate);
        if (i == 0 || strcmp(run_cases[i - 1].label, test->label) != 0)
            smallest = rate;
        else
            cJSON_AddNumberToObject(object_of(ratios, test->label), test->invokers,
                                    smallest / rate);
    }
    return true;
}
