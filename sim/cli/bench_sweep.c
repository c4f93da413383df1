/* How much of two workers' time a sweep of short runs turns into simulation. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gsl/gsl_statistics_double.h>

#include "sim/cli/bench_runs.h"
#include "sim/cli/campaign.h"
#include "traces/unfinished.h"

enum { RUNS = 1000 };

/* About 15 ms each on a machine of 2023. */
static const char sweep_text[] =
    "{\"base\": {\"cluster\": {\"invokers\": [{\"vcpus\": 1, \"memory_mb\": 1048576}]},"
    " \"functions\": [{\"name\": \"f\", \"service\": {\"distribution\": \"exponential\","
    "  \"mean_ms\": 10}}],"
    " \"applications\": [{\"name\": \"app\", \"stages\": [{\"name\": \"s\", \"function\": "
    "\"f\"}]}],"
    " \"arrivals\": {\"process\": \"poisson\", \"rate_per_s\": 90}, \"slo\": {\"ms\": 100},"
    " \"policy\": {\"name\": \"fifo\"}, \"requests\": 30000, \"record\": \"summary\"},"
    " \"seeds\": 1000}";

struct times {
    double wall_s, cpu_s; /* cpu_s: of all processes */
};

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double children_cpu_s(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

/* The sweep in a process of its own, so that its whole CPU time can be told. */
static bool sweep_time(const char *folder, uint64_t jobs, struct times *times, struct error *error)
{
    char sweep_path[300];
    char out[300];
    struct timespec start, end;
    (void)snprintf(sweep_path, sizeof sweep_path, "%s/sweep.json", folder);
    (void)snprintf(out, sizeof out, "%s/out.h5", folder);
    struct sweep *sweep = sweep_load(sweep_path, NULL, 0, error);
    if (sweep == NULL)
        return false;
    const struct campaign_options options = {
        .out = out, .jobs = jobs, .shard = 1, .shards = 1, .quiet = true};
    double cpu = children_cpu_s();
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        struct error fault = {0};
        /* Its folder goes with the parent. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        bool good = nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
                    campaign_run(sweep, &options, &fault);
        _exit(good ? 0 : 1);
    }
    int status = 1;
    bool good = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    times->wall_s =
        (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    times->cpu_s = children_cpu_s() - cpu;
    sweep_free(sweep);
    (void)unlink(out);
    return good || error_run(error, "bench: the sweep of %d short runs failed", RUNS);
}

/* Puts them in order. */
static double median(double values[BENCH_ROUNDS])
{
    return gsl_stats_median(values, 1, BENCH_ROUNDS);
}

static bool sweep_write(const char *path, struct error *error)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(sweep_text, file) < 0 || fclose(file) != 0)
        return error_run(error, "bench: %s cannot be written", path);
    return true;
}

/* Of each round, in which one worker and two take turns. */
struct sweep_rounds {
    double wall[2][BENCH_ROUNDS], cpu[2][BENCH_ROUNDS], efficiency[BENCH_ROUNDS];
};

static bool sweep_round(const char *folder, struct sweep_rounds *rounds, int round,
                        struct error *error)
{
    for (uint64_t jobs = 1; jobs <= 2; jobs++) {
        struct times times;
        if (!sweep_time(folder, jobs, &times, error))
            return false;
        rounds->wall[jobs - 1][round] = times.wall_s;
        rounds->cpu[jobs - 1][round] = times.cpu_s;
    }
    rounds->efficiency[round] = rounds->wall[0][round] / (2 * rounds->wall[1][round]);
    return true;
}

static bool bench_in(const char *folder, cJSON *result, struct error *error)
{
    char path[300];
    struct sweep_rounds rounds = {0};
    (void)snprintf(path, sizeof path, "%s/sweep.json", folder);
    bool good = sweep_write(path, error);
    for (int round = 0; round < BENCH_ROUNDS && good; round++)
        good = sweep_round(folder, &rounds, round, error);
    if (!good)
        return false;
    cJSON_AddNumberToObject(result, "sweep_efficiency_2_jobs", median(rounds.efficiency));
    cJSON *object = cJSON_AddObjectToObject(result, "sweep_of_1000_s");
    cJSON_AddNumberToObject(object, "wall_1_job", median(rounds.wall[0]));
    cJSON_AddNumberToObject(object, "wall_2_jobs", median(rounds.wall[1]));
    cJSON_AddNumberToObject(object, "cpu_1_job", median(rounds.cpu[0]));
    cJSON_AddNumberToObject(object, "cpu_2_jobs", median(rounds.cpu[1]));
    return true;
}

bool bench_sweep(cJSON *result, struct error *error)
{
    char *folder = temporary_folder_create("esgsim-bench", error);
    const bool good = folder != NULL && bench_in(folder, result, error);
    temporary_folder_remove(folder);
    return good;
}
