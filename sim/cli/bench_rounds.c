/* How benchmarks of whole runs are measured: in turn, each run in a process of its own. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gsl/gsl_statistics_double.h>

#include "sim/cli/bench_runs.h"
#include "sim/cli/runner.h"

bool bench_in_turn(struct bench_rounds *rounds, size_t count,
                   bool (*measure)(const void *context, size_t which, struct bench_run *run,
                                   struct error *error),
                   const void *context, struct error *error)
{
    for (int round = 0; round < BENCH_ROUNDS; round++)
        for (size_t which = 0; which < count; which++)
            if (!measure(context, which, &rounds->runs[which][round], error))
                return false;
    return true;
}

double bench_rate(const struct bench_rounds *rounds, size_t which)
{
    double rates[BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++)
        rates[round] = rounds->runs[which][round].requests_per_s;
    return gsl_stats_median(rates, 1, BENCH_ROUNDS);
}

double bench_cost_ratio(const struct bench_rounds *rounds, size_t which)
{
    double ratios[BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++)
        ratios[round] = rounds->runs[which][round].cost_s / rounds->runs[0][round].cost_s;
    return gsl_stats_median(ratios, 1, BENCH_ROUNDS);
}

static bool experiment_run(const char *path, const struct override *overrides, size_t count,
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
        run->requests_per_s = requests / result.wall_s;
        run->cost_s = (result.wall_s - result.setup_s) / requests;
        run->setup_s = result.setup_s;
        run->events_per_request = (double)result.run.events / requests;
        simulation_result_clear(&result);
    }
    free(values);
    experiment_free(experiment);
    return ok;
}

/* What the process that ran tells. */
struct answer {
    bool ok;
    struct bench_run run;
    struct error error;
};

_Static_assert(sizeof(struct answer) <= PIPE_BUF, "a pipe takes it whole");

bool bench_experiment(const char *path, const struct override *overrides, size_t count,
                      struct bench_run *run, struct error *error)
{
    int ends[2];
    struct answer answer = {0};
    (void)fflush(NULL);
    if (pipe(ends) != 0)
        return error_run(error, "bench: no pipe to a process of its own");
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        answer.ok = experiment_run(path, overrides, count, &answer.run, &answer.error);
        _exit(write(ends[1], &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
    }
    (void)close(ends[1]);
    struct rusage usage;
    int status = 1;
    bool told = pid > 0 && read(ends[0], &answer, sizeof answer) == (ssize_t)sizeof answer;
    (void)close(ends[0]);
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0 || !told)
        return error_run(error, "bench: a run of %s did not come to its end", path);
    if (!answer.ok) {
        if (error != NULL)
            *error = answer.error;
        return false;
    }
    *run = answer.run;
    run->peak_kb = (double)usage.ru_maxrss;
    return true;
}
