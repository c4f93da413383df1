/* The engine under plain function requests: the scenario by which dslab-faas measures itself, and
 * how the cost and the memory of a request grow with how many are in flight. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gsl/gsl_statistics_double.h>

#include "sim/cli/bench_runs.h"
#include "sim/cli/runner.h"

enum { REPEATS = 5 };

static const char scenario[] = "workloads/experiments/faas.json";

bool bench_experiment(const char *path, const struct override *overrides, size_t count,
                      struct bench_run *run, struct error *error)
{
    struct experiment *experiment = experiment_load(path, overrides, count, error);
    if (experiment == NULL)
        return false;
    double *values = NULL;
    struct simulation_result result;
    const struct policy *policy = runner_policy(experiment, &values, error);
    bool ok =
        policy != NULL && simulation_run(experiment, policy, values, NULL, NULL, &result, error);
    if (ok) {
        const double requests = (double)(experiment->requests + experiment->warmup_requests);
        *run = (struct bench_run){requests / result.wall_s, (double)result.run.events / requests};
        simulation_result_clear(&result);
    }
    free(values);
    experiment_free(experiment);
    return ok;
}

bool bench_faas(cJSON *result, struct error *error)
{
    double rates[REPEATS];
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        struct bench_run run;
        if (!bench_experiment(scenario, NULL, 0, &run, error))
            return false;
        rates[repeat] = run.requests_per_s;
    }
    cJSON_AddNumberToObject(result, "faas_invocations_per_s", gsl_stats_median(rates, 1, REPEATS));
    return true;
}

/* ---- In flight --------------------------------------------------------------------------------
 */

struct flight {
    struct bench_run run;
    double peak_kb; /* resident, of the process */
};

enum { FLIGHT_REQUESTS = 3000000, FLIGHT_SAMPLES = 10 };

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

/* The same in a process of its own, so that the memory it took at most can be told. */
static bool flight_measure(const char *users, struct flight *flight, struct error *error)
{
    int ends[2];
    (void)fflush(NULL);
    if (pipe(ends) != 0)
        return error_run(error, "in_flight: no pipe to a process of its own");
    pid_t pid = fork();
    if (pid == 0) {
        struct bench_run run = {0};
        bool ok = flight_run(users, &run, NULL) &&
                  write(ends[1], &run, sizeof run) == (ssize_t)sizeof run;
        _exit(ok ? 0 : 1);
    }
    (void)close(ends[1]);
    struct rusage usage;
    int status = 1;
    bool ok =
        pid > 0 && read(ends[0], &flight->run, sizeof flight->run) == (ssize_t)sizeof flight->run;
    (void)close(ends[0]);
    ok = pid > 0 && wait4(pid, &status, 0, &usage) == pid && status == 0 && ok;
    if (!ok)
        return error_run(error, "in_flight: the run with %s requests in flight failed", users);
    flight->peak_kb = (double)usage.ru_maxrss;
    return true;
}

bool bench_in_flight(cJSON *result, struct error *error)
{
    static const char *const users[] = {"10", "1000", "100000"};
    struct flight flights[3][REPEATS] = {0};
    double medians[3];
    cJSON *rates = cJSON_AddObjectToObject(result, "in_flight_requests_per_s");
    cJSON *events = cJSON_AddObjectToObject(result, "in_flight_events_per_request");
    for (int i = 0; i < 3; i++) {
        double sorted[REPEATS];
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            if (!flight_measure(users[i], &flights[i][repeat], error))
                return false;
            sorted[repeat] = flights[i][repeat].run.requests_per_s;
        }
        medians[i] = gsl_stats_median(sorted, 1, REPEATS);
        cJSON_AddNumberToObject(rates, users[i], medians[i]);
        cJSON_AddNumberToObject(events, users[i], flights[i][0].run.events_per_request);
    }
    /* What 10 in flight take is the program, the hosts and the statistics. */
    double kb = flights[2][0].peak_kb - flights[0][0].peak_kb;
    cJSON_AddNumberToObject(result, "in_flight_cost_ratio", medians[0] / medians[2]);
    cJSON_AddNumberToObject(result, "in_flight_bytes_per_request", kb * 1024 / (100000 - 10));
    return true;
}
