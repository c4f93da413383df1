#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hdf5.h>

#include "results/compare/replay.h"
#include "sim/cli/run_once.h"
#include "traces/capture/executor/processor.h"
#include "traces/capture/replay/replay.h"
#include "traces/capture/replay/replay_pool.h"
#include "traces/capture/replay/replay_rows.h"
#include "traces/capture/replay/replay_setup.h"
#include "traces/capture/executor/self_test.h"
#include "traces/capture/executor/slices.h"

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
        const int groups =
            units + (int)draw(&random, (uint64_t)SLICES_GROUPS - (uint64_t)units + 1);
        if (3 * (groups % units) > groups) {
            assert_false(slices_plan(groups, units, &slices, &error));
            continue;
        }
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

static void sevenths_of_13_groups_are_refused(void **state)
{
    (void)state;
    struct slices slices;
    struct error error = {0};
    assert_false(slices_plan(13, 7, &slices, &error));
    assert_int_equal(error.kind, ERROR_RUN);
    assert_non_null(strstr(error.message, "13 groups"));
    assert_non_null(strstr(error.message, "14 groups"));
    assert_true(slices_plan(14, 7, &slices, &error));
    assert_true(slices_plan(9, 7, &slices, &error)); /* 78 multiprocessors by eights */
    assert_int_equal(slices.per_unit, 1);
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

static void sets_that_lie_side_by_side_come_first(void **state)
{
    (void)state;
    uint32_t sets[SLICES_SETS];
    assert_int_equal(slices_sets(7, 0x7f, sets), 127);
    for (size_t i = 0; i < 127; i++)
        assert_int_equal(slices_side_by_side(sets[i]), i < 28);
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
        assert_int_equal(slices_side_by_side(set), side_by_side);
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

static struct pool *make_pool_of(struct sleeper *sleeper, double speed, bool spin, const bool *sets)
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
        .runner = {sleeper, sleep_run, sets},
    };
    struct pool *pool = replay_pool_create(&options, &error);
    assert_non_null(pool);
    return pool;
}

static struct pool *make_pool(struct sleeper *sleeper, double speed, bool spin)
{
    return make_pool_of(sleeper, speed, spin, NULL);
}

static void free_pool(struct pool *pool, struct sleeper *sleeper)
{
    replay_pool_free(pool);
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
        if (!replay_pool_start(c->pool, &task, replay_pool_now(c->pool), &error))
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
                                 : replay_pool_now(c->pool) + (sim_time_t)draw(&c->random, 200000);
    if (!replay_pool_wait(c->pool, until, &id, &time, &error))
        fail_msg("%s", error.message);
    assert_true(time <= until);
    if (id == SIM_NONE) {
        assert_true(time == until);
        assert_true(replay_pool_now(c->pool) >= until);
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
    const struct pool_row *rows = replay_pool_rows(pool, &count);
    assert_int_equal(count, batches);
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].asked >= rows[i].due && rows[i].begun >= rows[i].asked);
        assert_true(rows[i].ended >= rows[i].begun + rows[i].task.modelled);
        assert_true(i == 0 || rows[i].ended >= rows[i - 1].ended);
    }
}

static void run_random(bool spin, const bool *sets, uint64_t batches)
{
    struct sleeper sleeper;
    struct controller c = {
        .pool = make_pool_of(&sleeper, 1, spin, sets), .random = 3, .free_units = 7};
    memcpy(c.free_copies, copies, sizeof copies);
    replay_pool_begin(c.pool);
    while (c.number < batches || c.count > 0) {
        start_some(&c, batches);
        wait_once(&c);
    }
    check_rows(c.pool, batches);
    const struct pool_figures figures = replay_pool_figures(c.pool);
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
    run_random(false, NULL, 1500);
}

static void a_caller_that_never_sleeps_sees_the_same(void **state)
{
    (void)state;
    run_random(true, NULL, 200);
}

static void sets_side_by_side_serve_every_batch(void **state)
{
    (void)state;
    bool sets[SLICES_SETS] = {false};
    for (uint32_t set = 1; set < 1U << 7; set++)
        sets[set] = slices_side_by_side(set);
    run_random(false, sets, 600);
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
    assert_true(replay_pool_start(pool, &task, 0, &error));
    assert_false(replay_pool_wait(pool, SIM_FOREVER, &id, &time, &error));
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
    assert_true(replay_pool_start(pool, &first, 0, &error));
    assert_false(replay_pool_start(pool, &copy, 0, &error));
    assert_non_null(strstr(error.message, "containers"));
    assert_false(replay_pool_start(pool, &units, 0, &error));
    assert_non_null(strstr(error.message, "4 units"));
    /* Freed in the middle of a batch: it is waited for. */
    free_pool(pool, &sleeper);
    assert_int_equal(atomic_load(&sleeper.runs), 1);
}

/* Units 1 and 3 are free; no set of the runner's has both: the batch of two waits for an end, and
 * the one of one unit behind it. */
static void a_batch_waits_where_free_units_make_no_set_and_the_wait_is_told(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct error error = {0};
    bool sets[SLICES_SETS] = {false};
    uint32_t id = 0;
    sim_time_t time = 0;
    for (uint32_t set = 1; set < 1U << 7; set++)
        sets[set] = slices_side_by_side(set);
    struct pool *pool = make_pool_of(&sleeper, 1, false, sets);
    replay_pool_begin(pool);
    static const sim_time_t taking[] = {900 * SIM_MS, 10 * SIM_MS, 800 * SIM_MS, 10 * SIM_MS};
    for (uint32_t i = 0; i < 4; i++) { /* units 0, 1, 2, 3; 4, 5 and 6 go to the next */
        const struct pool_task task = task_of(i, 0, 1, taking[i]);
        assert_true(replay_pool_start(pool, &task, 0, &error));
    }
    const struct pool_task rest = task_of(4, 1, 3, 600 * SIM_MS);
    assert_true(replay_pool_start(pool, &rest, 0, &error));
    for (int i = 0; i < 2; i++) /* 1 and 3 end */
        assert_true(replay_pool_wait(pool, SIM_FOREVER, &id, &time, &error));
    const struct pool_task two = task_of(5, 0, 2, SIM_MS);
    assert_true(replay_pool_start(pool, &two, replay_pool_now(pool), &error));
    const struct pool_task third = task_of(6, 0, 1, SIM_MS);
    assert_false(replay_pool_start(pool, &third, 0, &error)); /* the two are spoken for */
    assert_non_null(strstr(error.message, "fewer are free"));
    for (int i = 0; i < 4; i++)
        assert_true(replay_pool_wait(pool, SIM_FOREVER, &id, &time, &error));
    size_t count = 0;
    const struct pool_row *rows = replay_pool_rows(pool, &count);
    assert_int_equal(count, 6);
    const struct pool_figures figures = replay_pool_figures(pool);
    assert_int_equal(figures.waited, 1);
    assert_true(figures.waited_max > 0 && figures.waited_mean == figures.waited_max);
    assert_int_equal(figures.scattered, 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].placed >= rows[i].asked && rows[i].begun >= rows[i].placed);
        assert_int_equal(rows[i].placed > rows[i].asked, rows[i].task.id == 5);
    }
    free_pool(pool, &sleeper);
    assert_false(sleeper.overlap);
}

static void a_wait_for_nothing_is_refused_and_a_wait_for_the_past_returns(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct error error = {0};
    uint32_t id = 0;
    sim_time_t time = 0;
    struct pool *pool = make_pool(&sleeper, 1, false);
    assert_false(replay_pool_wait(pool, SIM_FOREVER, &id, &time, &error));
    assert_true(replay_pool_wait(pool, 0, &id, &time, &error));
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
    replay_pool_begin(pool);
    /* Two seconds of its own pass in two milliseconds; the batch takes one and ends before. */
    const struct pool_task task = task_of(0, 0, 7, SIM_MS);
    assert_true(replay_pool_start(pool, &task, 0, &error));
    assert_true(replay_pool_wait(pool, SIM_FOREVER, &id, &time, &error));
    assert_int_equal(id, 0);
    assert_true(time >= SIM_S);
    assert_true(replay_pool_wait(pool, time + 2 * SIM_S, &id, &time, &error));
    assert_int_equal(id, SIM_NONE);
    assert_true(replay_pool_now(pool) >= 3 * SIM_S);
    free_pool(pool, &sleeper);
}

/* Batches that are computed side by side by threads of the pool give what one thread gives. */
struct computer {
    struct graph *graph;
    float **wanted;
    atomic_uint wrong;
};

static bool compute(void *state, const struct pool_task *task, double *device_ms,
                    struct error *error)
{
    struct computer *computer = state;
    float **outputs = processor_run(computer->graph, 7);
    (void)task;
    if (outputs == NULL)
        return error_run(error, "out of memory");
    for (size_t i = 0; i < computer->graph->node_count; i++)
        if (memcmp(outputs[i], computer->wanted[i],
                   (size_t)graph_elements(&computer->graph->nodes[i].shape) * sizeof(float)) != 0)
            atomic_fetch_add(&computer->wrong, 1);
    processor_free(computer->graph, outputs);
    *device_ms = NAN;
    return true;
}

static void networks_compute_side_by_side_what_they_compute_alone(void **state)
{
    (void)state;
    struct error error = {0};
    struct computer computer = {.graph = graph_parse(self_test_network(2), "test", &error)};
    assert_non_null(computer.graph);
    computer.wanted = processor_run(computer.graph, 7);
    assert_non_null(computer.wanted);
    const struct pool_options options = {.units = 7,
                                         .copies = copies,
                                         .functions = FUNCTIONS,
                                         .speed = 1,
                                         .runner = {&computer, compute, NULL}};
    struct pool *pool = replay_pool_create(&options, &error);
    assert_non_null(pool);
    for (uint32_t i = 0; i < 70; i++) {
        const struct pool_task task = task_of(i, 0, 1, 0);
        uint32_t id = 0;
        sim_time_t time = 0;
        if (i >= 7)
            assert_true(replay_pool_wait(pool, SIM_FOREVER, &id, &time, &error));
        assert_true(replay_pool_start(pool, &task, replay_pool_now(pool), &error));
    }
    replay_pool_free(pool);
    assert_int_equal(atomic_load(&computer.wrong), 0);
    processor_free(computer.graph, computer.wanted);
    graph_free(computer.graph);
}

/* ---- The setup ------------------------------------------------------------------------------- */

static const char proof[] = "workloads/experiments/proof-light.json";
static const char networks[] = "traces/networks";

static struct experiment *load(const char *path, const struct override *overrides, size_t count)
{
    struct error error = {0};
    struct experiment *experiment = experiment_load(path, overrides, count, &error);
    if (experiment == NULL) {
        fail_msg("%s", error.message);
        abort(); /* not reached: tells the analyser so */
    }
    return experiment;
}

static void the_setup_has_what_configurations_allow(void **state)
{
    (void)state;
    static const int batches[] = {1, 2, 4, 8, 16};
    struct error error = {0};
    struct replay_setup setup;
    const struct override overrides[] = {
        {"platform.initial", "{\"mobilenetv2\":7,\"resnet50\":7,\"resnet152\":3,\"vgg19\":9}"}};
    struct experiment *experiment = load(proof, overrides, 1);
    if (!replay_setup_make(experiment, networks, true, &setup, &error))
        fail_msg("%s", error.message);
    assert_int_equal(setup.units, 7);
    assert_int_equal(setup.function_count, experiment->workload.function_count);
    assert_int_equal(setup.set_count, 7 + 21 + 35 + 35 + 1); /* sets of 1, 2, 3, 4, 7 */
    double work_s = 0;
    for (size_t f = 0; f < setup.function_count; f++) {
        const struct replay_function *function = &setup.functions[f];
        const bool few = strcmp(function->name, "resnet152") == 0;
        assert_string_equal(function->name, experiment->workload.functions[f].name);
        assert_string_equal(function->batches[0].graph->name, function->name);
        assert_int_equal(function->copies, few ? 3 : 7); /* of units: vgg19 has no nine places */
        assert_int_equal(function->batch_count, 5);
        for (size_t b = 0; b < 5; b++) {
            assert_int_equal(function->batches[b].batch, batches[b]);
            assert_int_equal(function->batches[b].graph->batch, batches[b]);
            assert_int_equal(replay_setup_batch(function, batches[b]), b);
            assert_true(function->batches[b].input_bytes == (size_t)batches[b] * 3 * 224 * 224 * 2);
        }
        work_s += function->work_s;
    }
    /* Half of the requests take the cascade, half the fork. */
    assert_true(setup.capacity > 7 / work_s);
    const double bytes = (double)replay_setup_bytes(&setup);
    assert_true(replay_setup_fits(&setup, bytes, &error));
    assert_false(replay_setup_fits(&setup, bytes - 1, &error));
    assert_non_null(strstr(error.message, "7 copies of vgg19 at batches up to 16"));
    replay_setup_clear(&setup);
    experiment_free(experiment);
}

static void models_are_found_by_name_title_and_beginning(void **state)
{
    (void)state;
    static const struct {
        const char *function, *network;
    } wanted[] = {{"super-resolution", "srgan"},   {"segmentation", "deeplabv3_resnet50"},
                  {"deblur", "deblurgan"},         {"classification", "resnet50"},
                  {"background-removal", "u2net"}, {"depth-recognition", "midas_v21"}};
    struct error error = {0};
    struct replay_setup setup;
    const struct override overrides[] = {{"cluster", "../clusters/h200-1.json"},
                                         {"platform.initial", "warm"}};
    struct experiment *experiment = load("workloads/experiments/strict-light.json", overrides, 2);
    if (!replay_setup_make(experiment, networks, false, &setup, &error))
        fail_msg("%s", error.message);
    assert_int_equal(setup.function_count, 6);
    for (size_t f = 0; f < 6; f++) {
        size_t w = 0;
        while (w < 5 && strcmp(setup.functions[f].name, wanted[w].function) != 0)
            w++;
        assert_string_equal(setup.functions[f].name, wanted[w].function);
        assert_string_equal(setup.functions[f].batches[0].graph->name, wanted[w].network);
        assert_int_equal(setup.functions[f].copies, 1); /* of "warm": one container */
    }
    replay_setup_clear(&setup);
    experiment_free(experiment);
}

static void what_a_replay_cannot_play_is_refused_with_the_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        struct override overrides[2];
        const char *told;
    } cases[] = {
        {proof, {{"platform.initial", "cold"}, {"seed", "1"}}, "platform.initial: \"cold\""},
        {proof, {{"platform.initial", "{\"resnet50\": 3}"}, {"seed", "1"}}, "has no container"},
        {"workloads/experiments/v100-detect-twitter.json",
         {{"cluster", "../clusters/v100-mps-1.json"}, {"seed", "1"}},
         "a GPU of 100 units"},
        {"workloads/experiments/strict-light.json",
         {{"seed", "1"}, {"seed", "1"}},
         "one invoker with one GPU"},
        {"workloads/experiments/a100-mixed-azure-code.json",
         {{"cluster", "../clusters/a100-mig-1.json"}, {"seed", "1"}},
         "has no network of that name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        struct replay_setup setup;
        struct experiment *experiment = load(cases[i].path, cases[i].overrides, 2);
        assert_false(replay_setup_make(experiment, networks, true, &setup, &error));
        assert_int_equal(error.kind, ERROR_INPUT);
        if (strstr(error.message, cases[i].told) == NULL)
            fail_msg("told: %s", error.message);
        experiment_free(experiment);
    }
}

static void experiments_of_one_setup_are_known_from_others(void **state)
{
    (void)state;
    struct error error = {0};
    struct replay_setup light;
    struct replay_setup other;
    const struct override overrides[] = {
        {"platform.initial", "{\"mobilenetv2\":7,\"resnet50\":7,\"resnet152\":7,\"vgg19\":6}"}};
    struct experiment *a = load(proof, NULL, 0);
    struct experiment *b = load("workloads/experiments/proof-heavy.json", NULL, 0);
    struct experiment *c = load(proof, overrides, 1);
    assert_true(replay_setup_make(a, networks, true, &light, &error));
    assert_true(replay_setup_make(b, networks, true, &other, &error));
    assert_true(replay_setup_equal(&light, &other));
    replay_setup_clear(&other);
    assert_true(replay_setup_make(c, networks, true, &other, &error));
    assert_false(replay_setup_equal(&light, &other));
    replay_setup_clear(&other);
    replay_setup_clear(&light);
    experiment_free(a);
    experiment_free(b);
    experiment_free(c);
}

/* ---- The backend ----------------------------------------------------------------------------- */

static void describe(void *context, struct execution *execution)
{
    (void)context;
    *execution = (struct execution){.backend = "rehearsal", .device = "none", .driver = "none"};
}

/* What executed at one time had units and copies of its own, and took as long as it should. */
static void check_replay(const struct pool_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].asked >= rows[i].due);
        assert_true(rows[i].begun >= rows[i].asked);
        assert_true(rows[i].ended - rows[i].begun >= rows[i].task.modelled - 100);
        for (size_t j = 0; j < i; j++) {
            if (rows[j].ended <= rows[i].begun)
                continue;
            assert_int_equal(rows[i].task.units & rows[j].task.units, 0);
            assert_true(rows[i].task.function != rows[j].task.function ||
                        rows[i].task.copy != rows[j].task.copy);
        }
    }
}

static void check_table(const char *path, const char *hash, size_t count)
{
    char name[64];
    hsize_t length = 0;
    (void)snprintf(name, sizeof name, "/runs/%s/replay", hash);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t table = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(table >= 0);
    const hid_t space = H5Dget_space(table);
    assert_int_equal(H5Sget_simple_extent_dims(space, &length, NULL), 1);
    assert_int_equal(length, count);
    uint64_t *numbers = calloc(count, sizeof *numbers);
    assert_non_null(numbers);
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof *numbers);
    assert_true(H5Tinsert(type, "batch", 0, H5T_NATIVE_UINT64) >= 0);
    assert_true(H5Dread(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i];
    assert_true(sum == (uint64_t)count * (count - 1) / 2); /* each number once */
    free(numbers);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Dclose(table);
    (void)H5Fclose(file);
}

/* A whole replay on threads that sleep, hurried; then its file is a results file with all rows. */
static void a_rehearsal_in_real_time_plays_every_batch_and_writes_its_rows(void **state)
{
    (void)state;
    static const struct override overrides[] = {
        {"requests", "150"}, {"warmup_requests", "10"}, {"policy.name", "orion"}};
    char path[] = "/tmp/esgsim-replay-XXXXXX";
    struct error error = {0};
    struct replay_setup setup;
    double *values = NULL;
    struct simulation_result result = {0};
    struct experiment *experiment = load(proof, overrides, 3);
    const struct policy *policy = runner_policy(experiment, &values, &error);
    assert_non_null(policy);
    assert_true(replay_setup_make(experiment, networks, true, &setup, &error));
    struct replay_backend backend = {.setup = &setup, .speed = 5};
    backend.executor = replay_sleeper(&backend.speed);
    const struct replay_target target = {replay_backend(&backend), describe};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    (void)close(file);
    struct store *store = store_create(path, &error);
    if (store == NULL ||
        !replay_record(store, experiment, policy, values, &target, NULL, &result, &error) ||
        !store_finish(store, &error))
        fail_msg("%s", error.message);
    assert_int_equal(result.overall.requests, 150);
    size_t count = 0;
    const struct pool_row *rows = replay_pool_rows(backend.pool, &count);
    size_t jobs = 0;
    for (size_t i = 0; i < count; i++)
        jobs += rows[i].task.jobs;
    assert_int_equal(jobs, 160 * 3); /* of every request, of every stage */
    check_replay(rows, count);
    if (!replay_rows_write(path, experiment->hash, rows, count, &error))
        fail_msg("%s", error.message);
    check_table(path, experiment->hash, count);
    struct results *results = results_load(path, &error);
    assert_non_null(results);
    assert_int_equal(results->run_count, 1);
    results_free(results);
    assert_false(replay_rows_write(path, "0123456789abcdef", rows, count, &error));
    simulation_result_clear(&result);
    replay_backend_clear(&backend);
    replay_setup_clear(&setup);
    free(values);
    experiment_free(experiment);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seventh_of_an_h200_is_16_multiprocessors),
        cmocka_unit_test(shares_grow_with_the_percent_and_those_that_sum_to_the_whole_fit),
        cmocka_unit_test(a_span_that_runs_out_begins_again),
        cmocka_unit_test(units_that_no_gpu_has_are_refused),
        cmocka_unit_test(sevenths_of_13_groups_are_refused),
        cmocka_unit_test(every_wanted_set_is_made_once),
        cmocka_unit_test(sets_that_lie_side_by_side_come_first),
        cmocka_unit_test(free_units_are_always_found_and_never_shared),
        cmocka_unit_test(batches_come_and_go_and_ends_are_told_in_order),
        cmocka_unit_test(a_caller_that_never_sleeps_sees_the_same),
        cmocka_unit_test(sets_side_by_side_serve_every_batch),
        cmocka_unit_test(a_batch_that_fails_ends_the_wait_with_its_message),
        cmocka_unit_test(what_is_not_free_is_refused),
        cmocka_unit_test(a_batch_waits_where_free_units_make_no_set_and_the_wait_is_told),
        cmocka_unit_test(a_wait_for_nothing_is_refused_and_a_wait_for_the_past_returns),
        cmocka_unit_test(a_clock_of_another_speed_counts_that_much_faster),
        cmocka_unit_test(networks_compute_side_by_side_what_they_compute_alone),
        cmocka_unit_test(the_setup_has_what_configurations_allow),
        cmocka_unit_test(models_are_found_by_name_title_and_beginning),
        cmocka_unit_test(what_a_replay_cannot_play_is_refused_with_the_remedy),
        cmocka_unit_test(experiments_of_one_setup_are_known_from_others),
        cmocka_unit_test(a_rehearsal_in_real_time_plays_every_batch_and_writes_its_rows),
    };
    return cmocka_run_group_tests_name("capture_replay", tests, NULL, NULL);
}
