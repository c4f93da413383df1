#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "traces/capture/replay_pool.h"
#include "traces/capture/slices.h"

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t draw(uint64_t *state, uint64_t below)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return (z ^ (z >> 31)) % below;
}

static int bits(uint64_t set)
{
    int count = 0;
    for (; set != 0; set &= set - 1)
        count++;
    return count;
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static void a_seventh_of_an_h200_is_16_multiprocessors(void **state)
{
    (void)state;
    struct slices slices;
    struct error error = {0};
    assert_true(slices_plan(16, 7, &slices, &error)); /* 132 by eights */
    assert_int_equal(slices.per_unit, 2);
    for (int k = 1; k < 7; k++)
        assert_int_equal(slices_share(&slices, 100.0 * k / 7), 2 * k);
    assert_int_equal(slices_share(&slices, 100), 0);
    assert_int_equal(slices_share(&slices, 10), 1);
    assert_int_equal(slices_share(&slices, 1), 1);
}

static void shares_grow_with_the_percent_and_those_that_sum_to_the_whole_fit(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 2000; round++) {
        struct slices slices;
        struct error error = {0};
        const int units = 1 + (int)draw(&random, SLICES_UNITS);
        const int groups = units + (int)draw(&random, (uint64_t)(SLICES_GROUPS - units + 1));
        assert_true(slices_plan(groups, units, &slices, &error));
        int before = 1;
        for (int percent = 1; percent < 100; percent++) {
            const int share = slices_share(&slices, percent);
            assert_true(share >= before && share <= groups);
            before = share;
        }
        /* Any sets of units that are disjoint share no group, and lie within the device. */
        const uint32_t all = (UINT32_C(1) << units) - 1;
        const uint32_t one = (uint32_t)draw(&random, all) & all;
        const uint32_t other = all & ~one;
        const uint64_t a = one == 0 ? 0 : slices_groups(&slices, one);
        const uint64_t b = other == all ? 0 : slices_groups(&slices, other);
        assert_int_equal(a & b, 0);
        assert_int_equal(bits(a), bits(one) * slices.per_unit);
        assert_true(groups == 64 || (a | b) >> groups == 0);
    }
}

static void a_span_that_runs_out_begins_again(void **state)
{
    (void)state;
    struct slices slices;
    struct error error = {0};
    assert_true(slices_plan(16, 7, &slices, &error));
    assert_int_equal(slices_span(&slices, 0, 4), 0xf);
    assert_int_equal(slices_span(&slices, 12, 4), 0x3003); /* of 14 */
    assert_int_equal(slices_span(&slices, 3, 99), 0x3fff);
}

static void units_that_no_gpu_has_are_refused(void **state)
{
    (void)state;
    struct slices slices;
    struct error error = {0};
    assert_false(slices_plan(16, 0, &slices, &error));
    assert_false(slices_plan(16, SLICES_UNITS + 1, &slices, &error));
    assert_false(slices_plan(5, 7, &slices, &error));
    assert_non_null(strstr(error.message, "5 parts"));
}

static void every_wanted_set_is_made_once(void **state)
{
    (void)state;
    for (int units = 1; units <= SLICES_UNITS; units++)
        for (uint32_t sizes = 1; sizes < UINT32_C(1) << units; sizes++) {
            uint32_t sets[SLICES_SETS];
            bool seen[SLICES_SETS] = {false};
            size_t wanted = 0;
            const size_t count = slices_sets(units, sizes, sets);
            for (uint32_t set = 1; set < UINT32_C(1) << units; set++)
                wanted += sizes >> (bits(set) - 1) & 1;
            assert_int_equal(count, wanted);
            for (size_t i = 0; i < count; i++) {
                assert_true(sets[i] > 0 && sets[i] < UINT32_C(1) << units);
                assert_false(seen[sets[i]]);
                assert_true((sizes >> (bits(sets[i]) - 1) & 1) != 0);
                seen[sets[i]] = true;
            }
        }
}

/* If streams are dealt out in turn, pairs of sets on one queue that could execute at one time are
 * the exception: of 127 sets dealt at random over 32 queues there would be 30. */
static void sets_on_one_queue_mostly_have_a_unit_in_common(void **state)
{
    (void)state;
    for (size_t queues = 16; queues <= 32; queues *= 2) {
        uint32_t sets[SLICES_SETS];
        size_t apart = 0;
        const size_t count = slices_sets(7, 0x7f, sets);
        assert_int_equal(count, 127);
        for (size_t i = 0; i < count; i++)
            for (size_t j = i + queues; j < count; j += queues)
                apart += (sets[i] & sets[j]) == 0;
        assert_true(apart <= 8);
    }
}

/* Batches come and go at random: none gets a unit that another holds, all get as many as they want
 * whenever so many are free, side by side where there is such a place. */
static void free_units_are_always_found_and_never_shared(void **state)
{
    (void)state;
    uint64_t random = 7;
    uint32_t held[64] = {0};
    uint32_t free_units = 0x7f;
    for (int step = 0; step < 100000; step++) {
        const size_t slot = (size_t)draw(&random, 64);
        if (held[slot] != 0) {
            assert_int_equal(held[slot] & free_units, 0);
            free_units |= held[slot];
            held[slot] = 0;
            continue;
        }
        const int wanted = 1 + (int)draw(&random, 7);
        const uint32_t set = slices_choose(free_units, wanted);
        assert_int_equal(set != 0, bits(free_units) >= wanted);
        if (set == 0)
            continue;
        assert_int_equal(bits(set), wanted);
        assert_int_equal(set & ~free_units, 0);
        bool side_by_side = false;
        for (int first = 0; first + wanted <= 7; first++)
            side_by_side =
                side_by_side || (free_units >> first & ((1U << wanted) - 1)) == (1U << wanted) - 1;
        const uint32_t run = set / (set & (~set + 1U));
        assert_int_equal((run & (run + 1)) == 0, side_by_side);
        held[slot] = set;
        free_units &= ~set;
    }
}

/* ---- The pool -------------------------------------------------------------------------------- */

enum { FUNCTIONS = 3 };
static const uint32_t copies[FUNCTIONS] = {7, 2, 1};

/* A runner that checks what it is given, and takes the modelled time by the clock. */
struct sleeper {
    pthread_mutex_t lock;
    uint32_t units; /* held by batches that execute */
    bool copy_busy[FUNCTIONS][8];
    bool overlap;
    uint64_t fails_at; /* a batch's number */
    atomic_uint runs;
};

static bool sleep_run(void *state, const struct pool_task *task, double *device_ms,
                      struct error *error)
{
    struct sleeper *sleeper = state;
    const struct timespec pause = {.tv_nsec = (long)task->modelled};
    (void)pthread_mutex_lock(&sleeper->lock);
    sleeper->overlap = sleeper->overlap || (sleeper->units & task->units) != 0 ||
                       sleeper->copy_busy[task->function][task->copy] ||
                       task->copy >= copies[task->function] ||
                       bits(task->units) != task->units_wanted;
    sleeper->units |= task->units;
    sleeper->copy_busy[task->function][task->copy] = true;
    (void)pthread_mutex_unlock(&sleeper->lock);
    if (task->modelled > 0)
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    *device_ms = sim_to_ms(task->modelled);
    (void)pthread_mutex_lock(&sleeper->lock);
    sleeper->units &= ~task->units;
    sleeper->copy_busy[task->function][task->copy] = false;
    (void)pthread_mutex_unlock(&sleeper->lock);
    atomic_fetch_add(&sleeper->runs, 1);
    return task->number != sleeper->fails_at ||
           error_run(error, "batch %llu fell over", (unsigned long long)task->number);
}

static struct pool *make_pool(struct sleeper *sleeper, double speed, bool spin)
{
    struct error error = {0};
    *sleeper = (struct sleeper){.fails_at = UINT64_MAX};
    assert_int_equal(pthread_mutex_init(&sleeper->lock, NULL), 0);
    const struct pool_options options = {
        .units = 7,
        .copies = copies,
        .functions = FUNCTIONS,
        .speed = speed,
        .spin = spin,
        .runner = {sleeper, sleep_run},
    };
    struct pool *pool = pool_create(&options, &error);
    assert_non_null(pool);
    return pool;
}

static void free_pool(struct pool *pool, struct sleeper *sleeper)
{
    pool_free(pool);
    assert_int_equal(pthread_mutex_destroy(&sleeper->lock), 0);
}

/* A controller that keeps count, as the simulation's does, and hands out batches at random. */
struct controller {
    struct pool *pool;
    uint64_t random, number;
    uint32_t free_copies[FUNCTIONS];
    struct pool_task running[7];
    int free_units, count;
    sim_time_t last;
};

static void start_some(struct controller *c, uint64_t batches)
{
    struct error error = {0};
    while (c->number < batches && c->free_units > 0 && draw(&c->random, 4) != 0) {
        const uint32_t function = (uint32_t)draw(&c->random, FUNCTIONS);
        const int wanted = 1 + (int)draw(&c->random, (uint64_t)c->free_units);
        if (c->free_copies[function] == 0)
            continue;
        uint32_t id = 0;
        while (c->running[id].units_wanted != 0)
            id++;
        const struct pool_task task = {
            .id = id,
            .number = c->number++,
            .function = function,
            .jobs = 1,
            .units_wanted = wanted,
            .modelled = (sim_time_t)draw(&c->random, 300000),
        };
        if (!pool_start(c->pool, &task, pool_now(c->pool), &error))
            fail_msg("%s", error.message);
        c->running[id] = task;
        c->free_copies[function]--;
        c->free_units -= wanted;
        c->count++;
    }
}

static void wait_once(struct controller *c)
{
    struct error error = {0};
    uint32_t id = 0;
    sim_time_t time = 0;
    const sim_time_t until = draw(&c->random, 2) == 0 && c->count > 0
                                 ? SIM_FOREVER
                                 : pool_now(c->pool) + (sim_time_t)draw(&c->random, 200000);
    if (!pool_wait(c->pool, until, &id, &time, &error))
        fail_msg("%s", error.message);
    assert_true(time <= until);
    if (id == SIM_NONE) {
        assert_true(time == until);
        assert_true(pool_now(c->pool) >= until);
        return;
    }
    assert_true(time >= c->last && id < 7 && c->running[id].units_wanted != 0);
    c->last = time;
    c->free_units += c->running[id].units_wanted;
    c->free_copies[c->running[id].function]++;
    c->running[id].units_wanted = 0;
    c->count--;
}

static void check_rows(const struct pool *pool, uint64_t batches)
{
    size_t count = 0;
    const struct pool_row *rows = pool_rows(pool, &count);
    assert_int_equal(count, batches);
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].asked >= rows[i].due && rows[i].begun >= rows[i].asked);
        assert_true(rows[i].ended >= rows[i].begun + rows[i].task.modelled);
        assert_true(i == 0 || rows[i].ended >= rows[i - 1].ended);
    }
}

static void run_random(bool spin, uint64_t batches)
{
    struct sleeper sleeper;
    struct controller c = {.pool = make_pool(&sleeper, 1, spin), .random = 3, .free_units = 7};
    memcpy(c.free_copies, copies, sizeof copies);
    pool_begin(c.pool);
    while (c.number < batches || c.count > 0) {
        start_some(&c, batches);
        wait_once(&c);
    }
    check_rows(c.pool, batches);
    const struct pool_figures figures = pool_figures(c.pool);
    assert_true(figures.together >= 2 && figures.together <= 7);
    assert_true(figures.late_max >= figures.late_p99 && figures.late_mean >= 0);
    assert_true(figures.host_ms_mean >= figures.device_ms_mean);
    free_pool(c.pool, &sleeper);
    assert_false(sleeper.overlap);
    assert_int_equal(atomic_load(&sleeper.runs), batches);
}

static void batches_come_and_go_and_ends_are_told_in_order(void **state)
{
    (void)state;
    run_random(false, 1500);
}

static void a_caller_that_never_sleeps_sees_the_same(void **state)
{
    (void)state;
    run_random(true, 200);
}

static struct pool_task task_of(uint32_t id, uint32_t function, int units, sim_time_t modelled)
{
    return (struct pool_task){.id = id,
                              .number = id,
                              .function = function,
                              .jobs = 1,
                              .units_wanted = units,
                              .modelled = modelled};
}

static void a_batch_that_fails_ends_the_wait_with_its_message(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct error error = {0};
    uint32_t id = 0;
    sim_time_t time = 0;
    struct pool *pool = make_pool(&sleeper, 1, false);
    sleeper.fails_at = 4;
    const struct pool_task task = task_of(4, 0, 3, 1000);
    assert_true(pool_start(pool, &task, 0, &error));
    assert_false(pool_wait(pool, SIM_FOREVER, &id, &time, &error));
    assert_string_equal(error.message, "batch 4 fell over");
    free_pool(pool, &sleeper);
}

static void what_is_not_free_is_refused(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct error error = {0};
    struct pool *pool = make_pool(&sleeper, 1, false);
    const struct pool_task first = task_of(0, 2, 4, 50000000);
    const struct pool_task copy = task_of(1, 2, 1, 0);
    const struct pool_task units = task_of(2, 0, 4, 0);
    assert_true(pool_start(pool, &first, 0, &error));
    assert_false(pool_start(pool, &copy, 0, &error));
    assert_non_null(strstr(error.message, "containers"));
    assert_false(pool_start(pool, &units, 0, &error));
    assert_non_null(strstr(error.message, "4 units"));
    /* Freed in the middle of a batch: it is waited for. */
    free_pool(pool, &sleeper);
    assert_int_equal(atomic_load(&sleeper.runs), 1);
}

static void a_wait_for_nothing_is_refused_and_a_wait_for_the_past_returns(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct error error = {0};
    uint32_t id = 0;
    sim_time_t time = 0;
    struct pool *pool = make_pool(&sleeper, 1, false);
    assert_false(pool_wait(pool, SIM_FOREVER, &id, &time, &error));
    assert_true(pool_wait(pool, 0, &id, &time, &error));
    assert_int_equal(id, SIM_NONE);
    assert_int_equal(time, 0);
    free_pool(pool, &sleeper);
}

static void a_clock_of_another_speed_counts_that_much_faster(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct error error = {0};
    uint32_t id = 0;
    sim_time_t time = 0;
    struct pool *pool = make_pool(&sleeper, 1000, false);
    pool_begin(pool);
    /* Two seconds of its own pass in two milliseconds; the batch takes one and ends before. */
    const struct pool_task task = task_of(0, 0, 7, SIM_MS);
    assert_true(pool_start(pool, &task, 0, &error));
    assert_true(pool_wait(pool, SIM_FOREVER, &id, &time, &error));
    assert_int_equal(id, 0);
    assert_true(time >= SIM_S);
    assert_true(pool_wait(pool, time + 2 * SIM_S, &id, &time, &error));
    assert_int_equal(id, SIM_NONE);
    assert_true(pool_now(pool) >= 3 * SIM_S);
    free_pool(pool, &sleeper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seventh_of_an_h200_is_16_multiprocessors),
        cmocka_unit_test(shares_grow_with_the_percent_and_those_that_sum_to_the_whole_fit),
        cmocka_unit_test(a_span_that_runs_out_begins_again),
        cmocka_unit_test(units_that_no_gpu_has_are_refused),
        cmocka_unit_test(every_wanted_set_is_made_once),
        cmocka_unit_test(sets_on_one_queue_mostly_have_a_unit_in_common),
        cmocka_unit_test(free_units_are_always_found_and_never_shared),
        cmocka_unit_test(batches_come_and_go_and_ends_are_told_in_order),
        cmocka_unit_test(a_caller_that_never_sleeps_sees_the_same),
        cmocka_unit_test(a_batch_that_fails_ends_the_wait_with_its_message),
        cmocka_unit_test(what_is_not_free_is_refused),
        cmocka_unit_test(a_wait_for_nothing_is_refused_and_a_wait_for_the_past_returns),
        cmocka_unit_test(a_clock_of_another_speed_counts_that_much_faster),
    };
    return cmocka_run_group_tests_name("capture_replay", tests, NULL, NULL);
}
