#include "sim/run/sweep_estimate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "sim/base/clock.h"
#include "sim/run/guard.h"
#include "sim/run/progress_bar.h"
#include "sim/run/worker_pool.h"

static const double SLICE_S = 0.1;
enum {
    SAMPLES = 24,    /* runs that are begun, at most */
    CLOCK_EVERY = 16 /* requests between two looks at the clock */
};

struct estimate {
    size_t samples;                       /* runs that were begun */
    double mean_s, shortest_s, longest_s; /* of a whole run, wall clock */
    double peak_mib;                      /* peak memory of this process so far */
};

struct sample {
    double begun_s, first_s, last_s; /* wall clock: the run, its first finished request, the last */
    uint64_t finished;
    bool stopped;
};

static bool sample_request(void *context, const struct request_row *row, struct error *error)
{
    struct sample *sample = context;
    if (sample->finished++ % CLOCK_EVERY != 0)
        return true;
    sample->last_s = clock_s();
    if (sample->finished == 1)
        sample->first_s = sample->last_s;
    sample->stopped = sample->last_s - sample->first_s >= SLICE_S;
    return !sample->stopped || error_run(error, "stopped");
}

/* The time of the whole run. Preparation, such as tuning, ends before the first request does. */
static double sample_time(const struct sample *sample, const struct experiment *experiment)
{
    if (!sample->stopped)
        return clock_s() - sample->begun_s;
    const double total = (double)experiment->requests + (double)experiment->warmup_requests;
    const double rest = (total - 1) / (double)(sample->finished - 1);
    return sample->first_s - sample->begun_s + (sample->last_s - sample->first_s) * rest;
}

static bool sample_run(const struct sweep *sweep, size_t run, double *time_s, struct error *error)
{
    struct plan plan;
    struct simulation_result result;
    struct error fault = {0};
    struct sample sample = {.begun_s = clock_s()};
    const struct recorder recorder = {.context = &sample, .request = sample_request};
    if (!plan_load(sweep, run, &plan, error))
        return false;
    guard_divert_output();
    const bool whole = resolved_run_simulate(
        &plan.run, &(struct simulation_options){.recorder = &recorder}, &result, &fault);
    (void)guard_restore_output();
    *time_s = sample_time(&sample, plan.run.experiment);
    if (whole)
        simulation_result_clear(&result);
    plan_clear(&plan);
    return whole || sample.stopped ||
           error_run(error, "run %zu (%s seed=%" PRIu64 ") fails: %s", run, sweep->runs[run].label,
                     sweep->runs[run].seed, fault.message);
}

/* Multiples of the golden ratio's fraction spread evenly and fall in with no period of the matrix.
 */
static size_t sample_combination(size_t sample, size_t combinations)
{
    const double golden = 0.6180339887498949;
    if (combinations <= SAMPLES)
        return sample;
    const double place = golden * (double)(sample + 1);
    return (size_t)((place - floor(place)) * (double)combinations);
}

static bool samples_run(const struct plans *plans, bool quiet, struct estimate *estimate,
                        struct error *error)
{
    const size_t combinations = plans->combinations;
    struct progress_bar progress_bar;
    struct rusage usage;
    bool good = true;
    *estimate = (struct estimate){.samples = combinations < SAMPLES ? combinations : SAMPLES,
                                  .shortest_s = INFINITY};
    progress_bar_start(&progress_bar, "samples", quiet);
    for (size_t i = 0; good && i < estimate->samples; i++) {
        double time_s = 0;
        const size_t combination = sample_combination(i, combinations);
        good = sample_run(plans->sweep, combination * plans->sweep->seeds, &time_s, error);
        estimate->mean_s += time_s / (double)estimate->samples;
        estimate->shortest_s = fmin(estimate->shortest_s, time_s);
        estimate->longest_s = fmax(estimate->longest_s, time_s);
        progress_bar_update(&progress_bar, i + 1, estimate->samples);
    }
    progress_bar_end(&progress_bar);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        estimate->peak_mib = (double)usage.ru_maxrss / 1024;
    return good;
}

/* "45 s", "3 min", "2.5 h": an estimate has no more digits. */
static void duration_print(double seconds)
{
    if (seconds < 90)
        (void)printf("%.2g s", seconds);
    else if (seconds < 5400)
        (void)printf("%.0f min", seconds / 60);
    else
        (void)printf("%.1f h", seconds / 3600);
}

static void estimate_print(const struct estimate *estimate, size_t runs, size_t workers,
                           bool at_least)
{
    (void)printf("time: %s ", at_least ? "at least" : "about");
    duration_print(estimate->mean_s * ceil((double)runs / (double)workers));
    (void)printf(" with %zu worker%s (runs of ", workers, workers == 1 ? "" : "s");
    duration_print(estimate->shortest_s);
    (void)printf(" to ");
    duration_print(estimate->longest_s);
    (void)printf(", by %zu of them that were begun here)\nmemory: about %.0f MiB per worker\n",
                 estimate->samples, ceil(estimate->peak_mib));
}

static void runs_print(const struct plans *plans)
{
    const struct sweep *sweep = plans->sweep;
    for (size_t run = 0; run < sweep->run_count; run++)
        if (plans_want(plans, run))
            (void)printf("run %zu: %s seed=%" PRIu64 "\n", run, sweep->runs[run].label,
                         sweep->runs[run].seed);
}

bool sweep_estimate(const struct plans *plans, const struct sweep_runner_options *options,
                    struct error *error)
{
    const bool precise = plans->sweep->precision.given;
    const size_t runs = plans_wanted(plans);
    struct estimate estimate;
    if (options->details)
        runs_print(plans);
    (void)printf("%zu runs of %zu combinations%s\n", runs, plans->combinations,
                 precise ? ", and more until each interval is narrow enough" : "");
    if (runs == 0)
        return true;
    guard_watch_callbacks(options->decision_timeout);
    if (!samples_run(plans, options->quiet, &estimate, error))
        return false;
    estimate_print(&estimate, runs, worker_pool_size(options->jobs, runs), precise);
    return true;
}
