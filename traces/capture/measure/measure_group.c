/* Networks that run concurrently. */
#include "traces/capture/measure/measure_parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

static const double ALONE_MS = 100;
static const double GROUP_MS = 400;

/* A member of a group. It runs until all members have run long enough. */
struct runner {
    struct rig_run run;    /* its executor is cached or `copy`; its graph is owned */
    struct executor *copy; /* owned; or NULL */
    struct graph *graph;   /* graph of the copy; owned; or NULL */
    struct measure_samples *samples;
    atomic_int *ready, *stop;
    int members;
    struct error error;
    bool good;
};

static void *run_member(void *argument)
{
    struct runner *r = argument;
    struct stopwatch timer;
    double ms = 0;
    r->good = stopwatch_create(r->run.lane, &timer, &r->error) &&
              rig_run_once(&timer, &r->run, &ms, &r->error);
    atomic_fetch_add(r->ready, 1);
    while (atomic_load(r->ready) < r->members)
        (void)usleep(100);
    while (r->good && atomic_load(r->stop) == 0) {
        r->good = rig_run_once(&timer, &r->run, &ms, &r->error);
        if (r->good && r->samples->count < MEASURE_SAMPLES)
            r->samples->ms[r->samples->count++] = ms;
    }
    stopwatch_destroy(&timer);
    partition_stream_leave(r->run.lane);
    return NULL;
}

static bool run_group(struct runner *runners, size_t count, struct error *error)
{
    pthread_t threads[PLAN_MEMBERS];
    atomic_int ready = 0;
    atomic_int stop = 0;
    size_t started = 0;
    for (size_t m = 0; m < count; m++) {
        runners[m].ready = &ready;
        runners[m].stop = &stop;
        runners[m].members = (int)count;
        if (pthread_create(&threads[m], NULL, run_member, &runners[m]) != 0)
            break;
        started++;
    }
    for (size_t m = started; m < count; m++)
        atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < (int)count)
        (void)usleep(100);
    (void)usleep((useconds_t)(GROUP_MS * 1e3));
    atomic_store(&stop, 1);
    for (size_t m = 0; m < started; m++)
        (void)pthread_join(threads[m], NULL);
    if (started < count)
        return error_run(error, "capture: a thread cannot be started");
    for (size_t m = 0; m < count; m++)
        if (!runners[m].good) {
            *error = runners[m].error;
            return false;
        }
    return true;
}

static bool is_twice(const struct plan_point *point, size_t member)
{
    for (size_t m = 0; m < member; m++)
        if (point->members[m].network == point->members[member].network)
            return true;
    return false;
}

/* Uses the cached executor. If another member already uses it, makes a copy with memory of its own,
 * which takes weights and algorithms from the cached one. */
static bool make_runner(struct rig *rig, const struct plan *plan, const struct plan_point *point,
                        size_t m, struct runner *runner, struct error *error)
{
    const struct plan_member *member = &point->members[m];
    runner->run.executor = rig_executor(rig, plan, member, point->half, error);
    if (runner->run.executor == NULL || !is_twice(point, m))
        return runner->run.executor != NULL;
    const struct executor_kin kin = {.like = runner->run.executor};
    runner->graph = plan_graph(plan, member, error);
    runner->copy = runner->graph == NULL
                       ? NULL
                       : executor_create(&rig->device, runner->graph, point->half, RIG_SEED,
                                         rig_lane(rig, 0, error), &kin, error);
    runner->run.executor = runner->copy;
    return runner->copy != NULL;
}

/* Places the members next to each other. If the shares sum to more than the device, the last
 * members overlap the first. */
static bool make_runners(struct rig *rig, const struct plan *plan, const struct plan_point *point,
                         struct runner *runners, struct error *error)
{
    struct slices slices;
    int first = 0;
    if (!rig_slices(rig, &slices, error))
        return false;
    for (size_t m = 0; m < point->member_count; m++) {
        const int count = slices_share(&slices, point->members[m].share_percent);
        runners[m].run.lane = rig_lane(rig, slices_span(&slices, first, count), error);
        if (runners[m].run.lane == NULL || !make_runner(rig, plan, point, m, &runners[m], error))
            return false;
        first += count;
    }
    return true;
}

static bool alone_first(struct rig *rig, struct runner *runner, struct error *error)
{
    struct measure_samples alone = {.count = 0};
    if (!rig_time(rig, &runner->run, ALONE_MS, &alone, error))
        return false;
    gsl_sort(alone.ms, 1, alone.count);
    runner->samples->alone_ms = gsl_stats_median_from_sorted_data(alone.ms, 1, alone.count);
    runner->samples->sms = alone.sms;
    return true;
}

bool measure_colocation(void *state, const struct plan *plan, const struct plan_point *point,
                        struct measure_samples samples[static PLAN_MEMBERS], struct error *error)
{
    struct rig *rig = state;
    struct runner runners[PLAN_MEMBERS];
    memset(runners, 0, sizeof runners);
    rig->kept = rig->clock;
    bool good = make_runners(rig, plan, point, runners, error);
    for (size_t m = 0; good && m < point->member_count; m++) {
        runners[m].samples = &samples[m];
        good = alone_first(rig, &runners[m], error);
    }
    samples[0].began_s = measure_unix_s();
    good = good && run_group(runners, point->member_count, error);
    for (size_t m = 0; m < point->member_count; m++) {
        executor_graph_free(runners[m].run.graph);
        executor_free(runners[m].copy);
        graph_free(runners[m].graph);
    }
    partition_leave(&rig->device);
    return good;
}
