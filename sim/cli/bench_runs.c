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

enum { OVERRIDES = 6 };

/* The intervals of relaxed-heavy.json for 16 invokers, and as much shorter as there are more. What
 * is asked for is the cost of a request: many enough that making the containers is little of it. */
#define UNIFORM(low, high) "{\"process\":\"uniform\",\"low_ms\":" low ",\"high_ms\":" high "}"
static const struct run_size {
    const char *requests, *invokers, *arrivals;
} run_sizes[] = {
    {"300000", "16", UNIFORM("10", "16.8")},
    {"300000", "1000", UNIFORM("0.16", "0.2688")},
    {"1000000", "10000", UNIFORM("0.016", "0.02688")},
};
#define FRONTIER "{\"name\":\"esg\",\"params\":{\"method\":\"frontier\"}}"

/* A policy, and on how many of the sizes it runs. */
static const struct run_policy {
    const char *label, *policy;
    size_t sizes;
} run_policies[] = {
    {"esg", "{\"name\":\"esg\"}", 1},
    {"esg-frontier", FRONTIER, 3},
    {"fifo", "{\"name\":\"fifo\"}", 3},
    {"min-config", "{\"name\":\"min-config\"}", 3},
    {"least-loaded", "{\"name\":\"least-loaded\"}", 2},
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

static bool run_case(const void *context, size_t which, struct bench_run *run, struct error *error)
{
    const struct run_policy *policy = context;
    const struct run_size *size = &run_sizes[which];
    char initial[512];
    warm_containers(size->invokers, initial, sizeof initial);
    const struct override overrides[OVERRIDES] = {{"policy", policy->policy},
                                                  {"requests", size->requests},
                                                  {"cluster.invokers.0.count", size->invokers},
                                                  {"arrivals", size->arrivals},
                                                  {"platform.initial", initial},
                                                  {"record", "summary"}};
    return bench_experiment("workloads/experiments/relaxed-heavy.json", overrides, OVERRIDES, run,
                            error);
}

static bool bench_policy(const struct run_policy *policy, cJSON *result, struct error *error)
{
    struct bench_rounds rounds;
    if (!bench_in_turn(&rounds, policy->sizes, run_case, policy, error))
        return false;
    for (size_t i = 0; i < policy->sizes; i++) {
        const char *invokers = run_sizes[i].invokers;
        cJSON *rates = object_of(object_of(result, "requests_per_s"), policy->label);
        cJSON_AddNumberToObject(rates, invokers, bench_rate(&rounds, i));
        cJSON *setup = object_of(object_of(result, "requests_setup_s"), policy->label);
        cJSON_AddNumberToObject(setup, invokers, rounds.runs[i][BENCH_ROUNDS - 1].setup_s);
        if (i > 0)
            cJSON_AddNumberToObject(
                object_of(object_of(result, "requests_cost_ratio"), policy->label), invokers,
                bench_cost_ratio(&rounds, i));
    }
    return true;
}

bool bench_requests(cJSON *result, struct error *error)
{
    for (size_t i = 0; i < sizeof run_policies / sizeof *run_policies; i++)
        if (!bench_policy(&run_policies[i], result, error))
            return false;
    return true;
}
