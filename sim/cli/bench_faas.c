/* The engine under plain function requests: the scenario by which dslab-faas measures itself, and
 * how the cost and the memory of a request grow with how many are in flight. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/bench_runs.h"

static const char scenario[] = "workloads/experiments/faas.json";

static bool faas_run(const void *context, size_t which, struct bench_run *run, struct error *error)
{
    (void)context, (void)which;
    return bench_experiment(scenario, NULL, 0, run, error);
}

bool bench_faas(cJSON *result, struct error *error)
{
    struct bench_rounds rounds;
    if (!bench_in_turn(&rounds, 1, faas_run, NULL, error))
        return false;
    cJSON_AddNumberToObject(result, "faas_invocations_per_s", bench_rate(&rounds, 0));
    return true;
}

/* ---- In flight --------------------------------------------------------------------------------
 */

/* Many enough that the first use of memory, for all in flight, is little of it. */
enum { FLIGHT_REQUESTS = 6000000, FLIGHT_SAMPLES = 10 };

/* `users` who ask again the moment they are answered, on 10,000 hosts with room for all of them and
 * a container for each before the first request. Fewer users take longer, in simulated time, to ask
 * as much; what comes by the clock and not with the requests is set so that all runs have as much
 * of it: looks at the hosts, and no keep-alive that ends. */
static bool flight_run(const char *users, struct bench_run *run, struct error *error)
{
    char arrivals[96], requests[24], sample[32], initial[1024] = "{";
    const double simulated_s = (double)FLIGHT_REQUESTS / strtod(users, NULL);
    (void)snprintf(requests, sizeof requests, "%d", FLIGHT_REQUESTS);
    (void)snprintf(sample, sizeof sample, "%g", simulated_s / FLIGHT_SAMPLES);
    (void)snprintf(arrivals, sizeof arrivals,
                   "{\"process\":\"closed\",\"users\":%s,\"think_ms\":0}", users);
    const long each = strtol(users, NULL, 10) / 30 * 11 / 10 + 10;
    for (int f = 0; f < 30; f++) {
        size_t used = strlen(initial);
        (void)snprintf(initial + used, sizeof initial - used, "\"f%02d\":%ld%s", f, each,
                       f < 29 ? "," : "}");
    }
    const struct override overrides[] = {{"cluster.invokers.0.count", "10000"},
                                         {"cluster.invokers.0.vcpus", "16"},
                                         {"arrivals", arrivals},
                                         {"platform.initial", initial},
                                         {"platform.sample_interval_s", sample},
                                         {"platform.keep_alive_s", "1e6"},
                                         {"requests", requests}};
    return bench_experiment(scenario, overrides, sizeof overrides / sizeof *overrides, run, error);
}

static const char *const flight_users[BENCH_CASES] = {"10", "1000", "100000"};

static bool flight_case(const void *context, size_t which, struct bench_run *run,
                        struct error *error)
{
    (void)context;
    return flight_run(flight_users[which], run, error);
}

bool bench_in_flight(cJSON *result, struct error *error)
{
    struct bench_rounds rounds;
    if (!bench_in_turn(&rounds, BENCH_CASES, flight_case, NULL, error))
        return false;
    cJSON *rates = cJSON_AddObjectToObject(result, "in_flight_requests_per_s");
    cJSON *events = cJSON_AddObjectToObject(result, "in_flight_events_per_request");
    for (size_t i = 0; i < BENCH_CASES; i++) {
        cJSON_AddNumberToObject(rates, flight_users[i], bench_rate(&rounds, i));
        cJSON_AddNumberToObject(events, flight_users[i], rounds.runs[i][0].events_per_request);
    }
    cJSON_AddNumberToObject(result, "in_flight_cost_ratio",
                            bench_cost_ratio(&rounds, BENCH_CASES - 1));
    /* What 10 in flight take is the program, the hosts and the statistics. */
    double kb = rounds.runs[BENCH_CASES - 1][0].peak_kb - rounds.runs[0][0].peak_kb;
    cJSON_AddNumberToObject(result, "in_flight_bytes_per_request", kb * 1024 / (100000 - 10));
    return true;
}
