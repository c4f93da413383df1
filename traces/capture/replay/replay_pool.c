#include "traces/capture/replay/replay_pool.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

/* A sleeping thread wakes tens of microseconds late, so the last part of a wait spins. */
static const int64_t SPIN_NS = 60000;
static const int64_t SECOND_NS = 1000000000;

struct worker {
    struct pool *pool;
    pthread_t thread;
    pthread_cond_t wakes;
    bool started, busy, failed; /* busy, failed: protected by the lock */
    struct pool_row row;
    struct error error;
};

struct pool {
    struct pool_options options;
    int64_t zero_ns;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool stop;
    struct worker workers[SLICES_UNITS];
    uint32_t free_units;
    struct pool_row pending[SLICES_UNITS]; /* wait for a set, in the order of replay_pool_start */
    int pending_count, pending_units;
    bool **copy_busy; /* [function][copy]; used only by the controller's thread */
    atomic_uint waiting_ends;
    uint32_t executing; /* used only by the controller's thread */
    uint32_t together;
    sim_time_t told; /* the latest time returned by replay_pool_wait */
    struct pool_row *rows;
    size_t row_count, row_room;
};

/* ---- The clock ------------------------------------------------------------------------------- */

static int64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

sim_time_t replay_pool_now(const struct pool *pool)
{
    const int64_t passed = clock_ns() - pool->zero_ns;
    return pool->options.speed == 1 ? passed
                                    : (sim_time_t)llround((double)passed * pool->options.speed);
}

/* Converts a time of the pool to a time of the clock. */
static int64_t clock_at(const struct pool *pool, sim_time_t time)
{
    return pool->zero_ns +
           (pool->options.speed == 1 ? time : (int64_t)ceil((double)time / pool->options.speed));
}

void replay_pool_begin(struct pool *pool)
{
    pool->zero_ns = clock_ns();
}

/* ---- Workers --------------------------------------------------------------------------------- */

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    (void)pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && (!worker->busy || worker->row.ended >= 0))
            (void)pthread_cond_wait(&worker->wakes, &pool->lock);
        if (!worker->busy || worker->row.ended >= 0)
            break;
        (void)pthread_mutex_unlock(&pool->lock);
        struct pool_row row = worker->row;
        row.begun = replay_pool_now(pool);
        const bool good = pool->options.runner.run(pool->options.runner.state, &row.task,
                                                   &row.device_ms, &worker->error);
        row.ended = replay_pool_now(pool);
        (void)pthread_mutex_lock(&pool->lock);
        worker->row = row;
        worker->failed = !good;
        atomic_fetch_add(&pool->waiting_ends, 1);
        (void)pthread_cond_signal(&pool->ended);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool start_workers(struct pool *pool)
{
    for (int i = 0; i < pool->options.units; i++) {
        struct worker *worker = &pool->workers[i];
        worker->pool = pool;
        if (pthread_cond_init(&worker->wakes, NULL) != 0)
            return false;
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            (void)pthread_cond_destroy(&worker->wakes);
            return false;
        }
        worker->started = true;
    }
    return true;
}

static void stop_workers(struct pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    for (int i = 0; i < pool->options.units; i++)
        if (pool->workers[i].started)
            (void)pthread_cond_signal(&pool->workers[i].wakes);
    (void)pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->options.units; i++)
        if (pool->workers[i].started) {
            (void)pthread_join(pool->workers[i].thread, NULL);
            (void)pthread_cond_destroy(&pool->workers[i].wakes);
        }
}

/* ---- The pool -------------------------------------------------------------------------------- */

static bool make_copies(struct pool *pool)
{
    const struct pool_options *options = &pool->options;
    pool->copy_busy = calloc(options->functions + 1, sizeof *pool->copy_busy);
    for (size_t f = 0; pool->copy_busy != NULL && f < options->functions; f++) {
        pool->copy_busy[f] = calloc(options->copies[f] + 1, sizeof *pool->copy_busy[f]);
        if (pool->copy_busy[f] == NULL)
            return false;
    }
    return pool->copy_busy != NULL;
}

static bool make_locks(struct pool *pool)
{
    pthread_condattr_t monotonic;
    if (pthread_mutex_init(&pool->lock, NULL) != 0)
        return false;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    const bool good = pthread_cond_init(&pool->ended, &monotonic) == 0;
    (void)pthread_condattr_destroy(&monotonic);
    if (!good)
        (void)pthread_mutex_destroy(&pool->lock);
    return good;
}

static void free_memory(struct pool *pool)
{
    for (size_t f = 0; pool->copy_busy != NULL && f < pool->options.functions; f++)
        free(pool->copy_busy[f]);
    free(pool->copy_busy);
    free(pool->rows);
    free(pool);
}

struct pool *replay_pool_create(const struct pool_options *options, struct error *error)
{
    if (options->units < 1 || options->units > SLICES_UNITS) {
        error_input(error, "capture: a GPU of %d units; 1..%d can be served", options->units,
                    SLICES_UNITS);
        return NULL;
    }
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        error_run(error, "capture: out of memory");
        return NULL;
    }
    pool->options = *options;
    pool->free_units = (UINT32_C(1) << options->units) - 1;
    if (!make_copies(pool) || !make_locks(pool)) {
        free_memory(pool);
        error_run(error, "capture: out of memory");
        return NULL;
    }
    replay_pool_begin(pool);
    if (start_workers(pool))
        return pool;
    replay_pool_free(pool);
    error_run(error, "capture: %d threads cannot be started", options->units);
    return NULL;
}

void replay_pool_free(struct pool *pool)
{
    if (pool == NULL)
        return;
    stop_workers(pool);
    (void)pthread_cond_destroy(&pool->ended);
    (void)pthread_mutex_destroy(&pool->lock);
    free_memory(pool);
}

/* ---- Starting -------------------------------------------------------------------------------- */

static bool choose_copy(struct pool *pool, struct pool_task *task)
{
    for (uint32_t copy = 0; copy < pool->options.copies[task->function]; copy++)
        if (!pool->copy_busy[task->function][copy]) {
            task->copy = copy;
            return true;
        }
    return false;
}

/* Chooses a free set of `count` units among the runner's: the lowest contiguous set if there is
 * one. Returns 0 if there is none. */
static uint32_t choose_units(const struct pool *pool, int count)
{
    const bool *sets = pool->options.runner.sets;
    uint32_t scattered = 0;
    if (sets == NULL)
        return slices_choose(pool->free_units, count);
    for (uint32_t set = 1; set < UINT32_C(1) << pool->options.units; set++) {
        if (!sets[set] || (set & ~pool->free_units) != 0 || __builtin_popcount(set) != count)
            continue;
        if (slices_side_by_side(set))
            return set;
        if (scattered == 0)
            scattered = set;
    }
    return scattered;
}

/* There are as many workers as units, and each batch has at least one unit, so a worker is idle. */
static void hand_over(struct pool *pool, const struct pool_row *row)
{
    (void)pthread_mutex_lock(&pool->lock);
    for (int i = 0; i < pool->options.units; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->busy)
            continue;
        worker->row = *row;
        worker->busy = true;
        (void)pthread_cond_signal(&worker->wakes);
        break;
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Assigns free units to the waiting batches, in order. */
static void place_pending(struct pool *pool)
{
    int placed = 0;
    while (placed < pool->pending_count) {
        struct pool_row *row = &pool->pending[placed];
        row->task.units = choose_units(pool, row->task.units_wanted);
        if (row->task.units == 0)
            break;
        if (row->placed < 0)
            row->placed = replay_pool_now(pool);
        pool->free_units &= ~row->task.units;
        pool->pending_units -= row->task.units_wanted;
        hand_over(pool, row);
        placed++;
    }
    pool->pending_count -= placed;
    for (int i = 0; i < pool->pending_count; i++)
        pool->pending[i] = pool->pending[i + placed];
}

bool replay_pool_start(struct pool *pool, const struct pool_task *task, sim_time_t due,
                       struct error *error)
{
    struct pool_row row = {.task = *task, .due = due, .ended = -1, .device_ms = NAN};
    row.asked = replay_pool_now(pool);
    if (task->function >= pool->options.functions || !choose_copy(pool, &row.task))
        return error_run(
            error,
            "capture: batch %llu starts while all %u copies of its network execute; "
            "more containers are needed from the start",
            (unsigned long long)task->number,
            task->function < pool->options.functions ? pool->options.copies[task->function] : 0);
    if (task->units_wanted < 1 ||
        task->units_wanted > __builtin_popcount(pool->free_units) - pool->pending_units)
        return error_run(error, "capture: batch %llu wants %d units and fewer are free",
                         (unsigned long long)task->number, task->units_wanted);
    row.placed = pool->pending_count == 0 ? row.asked : -1;
    pool->copy_busy[row.task.function][row.task.copy] = true;
    pool->pending[pool->pending_count++] = row;
    pool->pending_units += row.task.units_wanted;
    pool->executing++;
    if (pool->executing > pool->together)
        pool->together = pool->executing;
    place_pending(pool);
    /* Batches that remain keep waiting. */
    if (pool->pending_count > 0)
        pool->pending[pool->pending_count - 1].placed = -1;
    return true;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* The worker whose batch ended first and was not returned yet. NULL: none. */
static struct worker *first_end(struct pool *pool)
{
    struct worker *first = NULL;
    for (int i = 0; i < pool->options.units; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->busy && worker->row.ended >= 0 &&
            (first == NULL || worker->row.ended < first->row.ended))
            first = worker;
    }
    return first;
}

/* Sleeps until a batch ends or the clock reaches `until_ns`. */
static void sleep_for_end(struct pool *pool, bool forever, int64_t until_ns)
{
    const struct timespec limit = {.tv_sec = (time_t)(until_ns / SECOND_NS),
                                   .tv_nsec = (long)(until_ns % SECOND_NS)};
    while (first_end(pool) == NULL && (forever || clock_ns() < until_ns)) {
        if (forever)
            (void)pthread_cond_wait(&pool->ended, &pool->lock);
        else
            (void)pthread_cond_timedwait(&pool->ended, &pool->lock, &limit);
    }
}

/* Waits for an end or the deadline. Sleeps until shortly before the deadline, or spins all the
 * time. */
static void await_end(struct pool *pool, sim_time_t until)
{
    const bool forever = until >= SIM_FOREVER;
    const int64_t deadline = forever ? INT64_MAX : clock_at(pool, until);
    if (!pool->options.spin)
        sleep_for_end(pool, forever, forever ? 0 : deadline - SPIN_NS);
    if (first_end(pool) != NULL)
        return;
    (void)pthread_mutex_unlock(&pool->lock);
    while (atomic_load(&pool->waiting_ends) == 0 && clock_ns() < deadline)
        ;
    (void)pthread_mutex_lock(&pool->lock);
}

static bool keep_row(struct pool *pool, const struct pool_row *row, struct error *error)
{
    if (pool->row_count == pool->row_room) {
        const size_t room = pool->row_room == 0 ? 1024 : 2 * pool->row_room;
        struct pool_row *rows = realloc(pool->rows, room * sizeof *rows);
        if (rows == NULL)
            return error_run(error, "capture: out of memory");
        pool->rows = rows;
        pool->row_room = room;
    }
    pool->rows[pool->row_count++] = *row;
    return true;
}

/* Removes an ended batch from its worker. The caller holds the lock. */
static bool take_end(struct pool *pool, struct worker *worker, uint32_t *id, sim_time_t *time,
                     struct error *error)
{
    struct pool_row row = worker->row;
    worker->busy = false;
    atomic_fetch_sub(&pool->waiting_ends, 1);
    pool->free_units |= row.task.units;
    pool->copy_busy[row.task.function][row.task.copy] = false;
    pool->executing--;
    if (worker->failed) {
        *error = worker->error;
        return false;
    }
    if (row.ended < pool->told)
        row.ended = pool->told;
    pool->told = row.ended;
    *id = row.task.id;
    *time = row.ended;
    return keep_row(pool, &row, error);
}

bool replay_pool_wait(struct pool *pool, sim_time_t until, uint32_t *id, sim_time_t *time,
                      struct error *error)
{
    bool good = true;
    if (until >= SIM_FOREVER && pool->executing == 0)
        return error_run(error, "capture: a wait for an end while no batch executes");
    (void)pthread_mutex_lock(&pool->lock);
    await_end(pool, until);
    struct worker *worker = first_end(pool);
    const bool ended = worker != NULL && (worker->row.ended <= until || worker->failed);
    if (ended) {
        good = take_end(pool, worker, id, time, error);
    } else {
        *id = SIM_NONE;
        *time = until;
        if (until > pool->told)
            pool->told = until;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    if (ended && good)
        place_pending(pool);
    return good;
}

/* ---- Figures --------------------------------------------------------------------------------- */

const struct pool_row *replay_pool_rows(const struct pool *pool, size_t *count)
{
    *count = pool->row_count;
    return pool->rows;
}

static double time_us(sim_time_t from, sim_time_t to)
{
    return (double)(to - from) / 1e3;
}

struct pool_figures replay_pool_figures(const struct pool *pool)
{
    struct pool_figures figures = {.together = pool->together};
    const size_t count = pool->row_count;
    double *late = malloc((count + 1) * sizeof *late);
    double *over = malloc((count + 1) * sizeof *over);
    for (size_t i = 0; late != NULL && over != NULL && i < count; i++) {
        const struct pool_row *row = &pool->rows[i];
        late[i] = time_us(row->due, row->asked);
        over[i] = time_us(row->placed, row->begun);
        if (row->placed > row->asked) {
            const double waited = time_us(row->asked, row->placed);
            figures.waited++;
            figures.waited_mean += waited;
            figures.waited_max = fmax(figures.waited_max, waited);
        }
        figures.device_ms_mean += row->device_ms / (double)count;
        figures.host_ms_mean += time_us(row->begun, row->ended) / 1e3 / (double)count;
        figures.scattered += !slices_side_by_side(row->task.units);
    }
    if (figures.waited > 0)
        figures.waited_mean /= (double)figures.waited;
    if (late != NULL && over != NULL && count > 0) {
        gsl_sort(late, 1, count);
        gsl_sort(over, 1, count);
        figures.late_mean = gsl_stats_mean(late, 1, count);
        figures.late_p99 = gsl_stats_quantile_from_sorted_data(late, 1, count, 0.99);
        figures.late_max = late[count - 1];
        figures.hand_over_mean = gsl_stats_mean(over, 1, count);
        figures.hand_over_p99 = gsl_stats_quantile_from_sorted_data(over, 1, count, 0.99);
    }
    free(late);
    free(over);
    return figures;
}
