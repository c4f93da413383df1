/* esgsim bench: the speed figures, each measured here and now. A benchmark is one function and one
 * line of the table; it adds its own keys to the result, under the names that interfaces and
 * scripts rely on. */
#include "sim/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/calendar.h"
#include "sim/cli/bench_runs.h"
#include "sim/random.h"

enum { REPEATS = 5 };

struct benchmark {
    const char *name; /* as --only takes it: the key it adds */
    const char *unit;
    const char *summary;
    bool (*run)(cJSON *result, struct error *error);
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double median_of_repeats(double rates[REPEATS])
{
    return gsl_stats_median(rates, 1, REPEATS);
}

/* --- M/M/1 ---------------------------------------------------------------------------------- */

enum { MM1_ARRIVALS = 1000000, EVENT_DEPARTURE = 0, MM1_QUEUE_START = 64 };
static const double mm1_utilisation = 0.9;

/* One server, first come first served. Service has mean 1 s. Arrivals are a stream beside the
 * calendar: only departures pass through it. */
struct mm1 {
    struct calendar *calendar;
    struct random_exponentials arrivals, services;
    sim_time_t next_arrival;
    sim_time_t *queue; /* arrival times of the jobs in the system, a ring */
    size_t queue_mask, queue_first, queue_length;
    /* Statistics. */
    double system_time_sum;
    sim_time_t system_time_max;
    double number_area; /* integral of the number in system over time, job ns */
    sim_time_t last_change;
    uint64_t finished;
};

/* Rounds a non-negative duration to the nearest nanosecond. */
static inline sim_time_t duration_ns(double ns)
{
    return (sim_time_t)(ns + 0.5);
}

static bool mm1_start(struct mm1 *mm1, uint64_t seed, struct error *error)
{
    *mm1 = (struct mm1){.calendar = calendar_create(1),
                        .queue = calloc(MM1_QUEUE_START, sizeof *mm1->queue),
                        .queue_mask = MM1_QUEUE_START - 1};
    if (mm1->calendar == NULL || mm1->queue == NULL)
        return error_run(error, "mm1_jobs_per_s: out of memory");
    random_exponentials_open(&mm1->arrivals, seed, RANDOM_ARRIVAL, 0, 0);
    random_exponentials_open(&mm1->services, seed, RANDOM_NOISE, 0, 0);
    return true;
}

static void mm1_stop(struct mm1 *mm1)
{
    calendar_destroy(mm1->calendar);
    free(mm1->queue);
}

static bool mm1_queue_grow(struct mm1 *mm1)
{
    size_t capacity = mm1->queue_mask + 1;
    sim_time_t *queue = calloc(2 * capacity, sizeof *queue);
    if (queue == NULL)
        return false;
    for (size_t i = 0; i < mm1->queue_length; i++)
        queue[i] = mm1->queue[(mm1->queue_first + i) & mm1->queue_mask];
    free(mm1->queue);
    mm1->queue = queue;
    mm1->queue_mask = 2 * capacity - 1;
    mm1->queue_first = 0;
    return true;
}

static inline void mm1_account(struct mm1 *mm1, sim_time_t now)
{
    mm1->number_area += (double)mm1->queue_length * (double)(now - mm1->last_change);
    mm1->last_change = now;
}

static inline void mm1_serve(struct mm1 *mm1, sim_time_t now)
{
    sim_time_t service = duration_ns(random_exponentials_next(&mm1->services, (double)SIM_S));
    calendar_push(mm1->calendar, now + service, EVENT_DEPARTURE, 0);
}

static inline bool mm1_arrive(struct mm1 *mm1, sim_time_t now)
{
    mm1_account(mm1, now);
    if (mm1->queue_length > mm1->queue_mask && !mm1_queue_grow(mm1))
        return false;
    mm1->queue[(mm1->queue_first + mm1->queue_length++) & mm1->queue_mask] = now;
    if (mm1->queue_length == 1)
        mm1_serve(mm1, now);
    return true;
}

static inline void mm1_depart(struct mm1 *mm1, sim_time_t now)
{
    mm1_account(mm1, now);
    sim_time_t in_system = now - mm1->queue[mm1->queue_first & mm1->queue_mask];
    mm1->queue_first++;
    mm1->queue_length--;
    mm1->system_time_sum += (double)in_system;
    if (in_system > mm1->system_time_max)
        mm1->system_time_max = in_system;
    mm1->finished++;
    if (mm1->queue_length > 0)
        mm1_serve(mm1, now);
}

static bool mm1_simulate(struct mm1 *mm1, uint64_t arrivals, struct error *error)
{
    const double interval_ns = (double)SIM_S / mm1_utilisation;
    uint64_t to_come = arrivals;
    sim_time_t arrival = duration_ns(random_exponentials_next(&mm1->arrivals, interval_ns));
    while (mm1->finished < arrivals) {
        if (arrival <= calendar_next_time(mm1->calendar)) {
            if (!mm1_arrive(mm1, arrival))
                return error_run(error, "mm1_jobs_per_s: out of memory");
            arrival += duration_ns(random_exponentials_next(&mm1->arrivals, interval_ns));
            if (--to_come == 0)
                arrival = INT64_MAX;
        } else {
            struct event event;
            calendar_pop(mm1->calendar, &event);
            mm1_depart(mm1, event.time);
        }
    }
    const char *fault = calendar_fault(mm1->calendar);
    return fault == NULL || error_run(error, "mm1_jobs_per_s: %s", fault);
}

static bool bench_mm1(cJSON *result, struct error *error)
{
    double rates[REPEATS], mean_s = 0, max_s = 0, mean_number = 0;
    for (int i = 0; i < REPEATS; i++) {
        struct mm1 mm1;
        double start = seconds_now();
        bool done = mm1_start(&mm1, 1, error) && mm1_simulate(&mm1, MM1_ARRIVALS, error);
        rates[i] = MM1_ARRIVALS / (seconds_now() - start);
        if (done) {
            mean_s = mm1.system_time_sum / (double)mm1.finished * 1e-9;
            max_s = sim_to_s(mm1.system_time_max);
            mean_number = mm1.number_area / (double)mm1.last_change;
        }
        mm1_stop(&mm1);
        if (!done)
            return false;
    }
    cJSON_AddNumberToObject(result, "mm1_jobs_per_s", median_of_repeats(rates));
    cJSON_AddNumberToObject(result, "mm1_time_in_system_s_mean", mean_s);
    cJSON_AddNumberToObject(result, "mm1_time_in_system_s_max", max_s);
    cJSON_AddNumberToObject(result, "mm1_number_in_system_mean", mean_number);
    return true;
}

/* --- Hold ----------------------------------------------------------------------------------- */

enum { HOLD_EVENTS = 2000000 };

/* `pending` timers, each of which sets itself again an exponential second later. */
static bool hold_rate(uint32_t pending, double *rate, struct error *error)
{
    struct calendar *calendar = calendar_create(pending);
    if (calendar == NULL)
        return error_run(error, "hold_events_per_s: out of memory");
    struct random_exponentials delays;
    random_exponentials_open(&delays, 1, RANDOM_TEST, pending, 0);
    const double mean_ns = (double)SIM_S;
    for (uint32_t i = 0; i < pending; i++)
        calendar_push(calendar, duration_ns(random_exponentials_next(&delays, mean_ns)), 0, i);
    double start = seconds_now();
    for (uint32_t i = 0; i < HOLD_EVENTS; i++) {
        struct event event;
        calendar_pop(calendar, &event);
        sim_time_t delay = duration_ns(random_exponentials_next(&delays, mean_ns));
        calendar_push(calendar, event.time + delay, event.kind, event.subject);
    }
    *rate = HOLD_EVENTS / (seconds_now() - start);
    const char *fault = calendar_fault(calendar);
    bool sound = fault == NULL && calendar_size(calendar) == pending;
    if (!sound)
        error_run(error, "hold_events_per_s: %s", fault != NULL ? fault : "events went missing");
    calendar_destroy(calendar);
    return sound;
}

static bool bench_hold(cJSON *result, struct error *error)
{
    static const uint32_t pending[] = {1000, 10000, 100000};
    cJSON *by_pending = cJSON_AddObjectToObject(result, "hold_events_per_s");
    for (size_t i = 0; i < sizeof pending / sizeof *pending; i++) {
        double rates[REPEATS];
        char key[16];
        for (int j = 0; j < REPEATS; j++)
            if (!hold_rate(pending[i], &rates[j], error))
                return false;
        (void)snprintf(key, sizeof key, "%u", (unsigned)pending[i]);
        cJSON_AddNumberToObject(by_pending, key, median_of_repeats(rates));
    }
    return true;
}

/* --- The command ---------------------------------------------------------------------------- */

static const struct benchmark benchmarks[] = {
    {"mm1_jobs_per_s", "jobs/s",
     "M/M/1 at utilisation 0.9, 1 M arrivals, statistics on (theory: mean time in system 10 s)",
     bench_mm1},
    {"hold_events_per_s", "events/s",
     "timers that set themselves again after an exponential second", bench_hold},
    {"faas_invocations_per_s", "invocations/s",
     "100 hosts of 4 cores, 30 functions, keep-alive 600 s, 100 a second, 1 M in all", bench_faas},
    {"requests_per_s", "requests/s", "relaxed-heavy by policy and number of invokers",
     bench_requests},
    {"in_flight_requests_per_s", "requests/s",
     "10,000 hosts by the number of requests in flight, and bytes for each", bench_in_flight},
    {"decision_us", "us", "one decision, by method and length of chain; means", bench_decisions},
    {"sweep_efficiency_2_jobs", "1", "a sweep of 1,000 short runs by one worker and by two",
     bench_sweep},
};

enum { BENCHMARK_COUNT = sizeof benchmarks / sizeof *benchmarks };

static const struct benchmark *benchmark_find(const char *name, struct error *error)
{
    const char *names[BENCHMARK_COUNT];
    for (int i = 0; i < BENCHMARK_COUNT; i++) {
        if (strcmp(benchmarks[i].name, name) == 0)
            return &benchmarks[i];
        names[i] = benchmarks[i].name;
    }
    char known[256] = "";
    for (int i = 0; i < BENCHMARK_COUNT; i++) {
        size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, " %s", names[i]);
    }
    const char *nearest = error_nearest_name(name, names, BENCHMARK_COUNT);
    error_input(error, "bench: --only: no benchmark is named '%s'%s%s%s; there are:%s", name,
                nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                nearest != NULL ? "'" : "", known);
    return NULL;
}

/* One line a number: its path of keys, then the value. */
static void print_figures(const char *path, const cJSON *item)
{
    if (cJSON_IsNumber(item)) {
        if (item->valuedouble >= 1e5)
            printf("%-40s %12.2f M\n", path, item->valuedouble / 1e6);
        else
            printf("%-40s %12.4g\n", path, item->valuedouble);
        return;
    }
    for (const cJSON *child = item->child; child != NULL; child = child->next) {
        char longer[128];
        (void)snprintf(longer, sizeof longer, "%s%s%s", path, *path != '\0' ? "." : "",
                       child->string);
        print_figures(longer, child);
    }
}

static bool benchmarks_run(const struct benchmark *only, bool quiet, cJSON *result,
                           struct error *error)
{
    for (int i = 0; i < BENCHMARK_COUNT; i++) {
        const struct benchmark *benchmark = &benchmarks[i];
        if (only != NULL && only != benchmark)
            continue;
        if (!quiet)
            (void)fprintf(stderr, "%s (%s): %s\n", benchmark->name, benchmark->unit,
                          benchmark->summary);
        if (!benchmark->run(result, error))
            return false;
    }
    return true;
}

struct options {
    const struct benchmark *only;
    bool json;
};

static bool take_only(void *options, const char *name, char *value, struct error *error)
{
    (void)name;
    ((struct options *)options)->only = benchmark_find(value, error);
    return ((struct options *)options)->only != NULL;
}

static const struct cli_option bench_table[] = {
    {.name = "--only",
     .value = "NAME",
     .help = "one benchmark: mm1_jobs_per_s, hold_events_per_s, faas_invocations_per_s, "
             "requests_per_s, in_flight_requests_per_s, decision_us or sweep_efficiency_2_jobs",
     .kind = OPTION_TAKE,
     .take = take_only},
    {.name = "--json",
     .help = "one JSON object",
     .kind = OPTION_FLAG,
     .place = offsetof(struct options, json)},
    {.name = NULL},
};

static bool bench_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    if (!cli_parse(&command_bench, &argc, argv, &options, error))
        return false;
    cJSON *result = cJSON_CreateObject();
    bool done = benchmarks_run(options.only, quiet, result, error);
    if (done && options.json)
        return cli_print_json(result, error);
    if (done)
        print_figures("", result);
    cJSON_Delete(result);
    return done;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "measures the speed of the engine on this machine",
    .help =
        "Rates are medians of 5 runs on one thread, by the monotonic clock; decisions are means.\n"
        "Cases that are compared take turns. A cost ratio is the median of 5 rounds, and counts "
        "the\n"
        "requests alone, without making the cluster and taking it down. All of them together\n"
        "take some minutes. Names tell the units; compare on an idle machine.\n"
        "\n"
        "Example: esgsim bench --only mm1_jobs_per_s --json\n",
    .run = bench_run,
    .options = bench_table,
};
