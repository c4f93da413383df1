/* Dilu's pool of GPUs and its baselines against the authors' large-scale simulation. */
#include "sim/engine/random.h"
#include "tests/dilu_placements.h"
#include "tests/suite.h"

struct outcome {
    uint32_t most, most_theirs, differ;
    double sum, sum_theirs;
    double worst, fragmentation; /* deviations: of a count, relative; of the mean at the peak */
};

static void replay(const struct event *events, size_t count, enum dilu_scheme scheme,
                   struct outcome *outcome)
{
    static uint32_t instances[JOBS];
    CLOSED(arena_clear) struct arena arena = {0};
    struct dilu_pool pool;
    *outcome = (struct outcome){0};
    dilu_pool_init(&pool, &arena, &rules[scheme], 1000, 4, 40);
    for (size_t e = 0; e < count; e++) {
        const struct event *event = &events[e];
        if (event->start) {
            instances[event->id] = dilu_pool_start(&pool, &event->job);
            assert_true(instances[event->id] != DILU_NOT_PLACED);
        } else {
            dilu_pool_end(&pool, instances[event->id]);
        }
        const double ours = pool.active.count;
        const double theirs = event->active[scheme];
        double compute = 0;
        double memory = 0;
        pool_fragmentation(&pool, &compute, &memory);
        outcome->differ += ours != theirs ? 1 : 0;
        outcome->sum += ours / (double)count;
        outcome->sum_theirs += theirs / (double)count;
        if (theirs > outcome->most_theirs) {
            outcome->most_theirs = event->active[scheme];
            outcome->fragmentation = fabs(compute - event->fragmentation[scheme]);
        }
        outcome->most = pool.active.count > outcome->most ? pool.active.count : outcome->most;
        if (theirs >= 100)
            outcome->worst = fmax(outcome->worst, fabs(ours / theirs - 1));
    }
}

CASE(active_gpus_are_those_of_the_original)
{
    static const char *const names[] = {"Dilu", "INFless-l", "INFless-r", "exclusive"};
    static struct event events[EVENTS];
    CLOSED(line_reader_close) struct line_reader lines = {0};
    size_t count = 0;
    unsigned size = 0;
    placements_open(&lines);
    while (placements_next(&lines, &size, events, &count)) {
        for (size_t s = 0; s < SCHEMES; s++) {
            struct outcome outcome;
            replay(events, count, (enum dilu_scheme)s, &outcome);
            print_message("%4u %-9s most %u (theirs %u), mean %.1f (%.1f), %u events differ, by "
                          "%.2f %% at most; fragmentation at the peak differs by %.4f\n",
                          size, names[s], outcome.most, outcome.most_theirs, outcome.sum,
                          outcome.sum_theirs, outcome.differ, 100 * outcome.worst,
                          outcome.fragmentation);
            if (s == DILU_EXCLUSIVE || (s == DILU_WHOLE && size == 100))
                assert_int_equal(outcome.differ, 0);
            assert_true(fabs((double)outcome.most / outcome.most_theirs - 1) <= 0.01);
            assert_true(fabs(outcome.sum / outcome.sum_theirs - 1) <= 0.01);
            assert_true(outcome.worst <= 0.011);
            assert_true(outcome.fragmentation <= 0.02);
        }
    }
}

/* ---- Properties ------------------------------------------------------------------------------ */

static void check_pool(const struct dilu_pool *pool, bool exclusive)
{
    uint32_t active = 0;
    for (uint32_t g = 0; g < pool->gpu_count; g++) {
        const struct dilu_pool_gpu *gpu = &pool->gpus[g];
        assert_int_equal(gpu->active, gpu->residents.count > 0);
        active += gpu->active ? 1 : 0;
        assert_true(gpu->memory > -1e-9 && gpu->memory <= pool->gpu_memory + 1e-9);
        assert_true(exclusive ? gpu->residents.count <= 1
                              : gpu->request <= pool->rule.omega + 1e-9);
    }
    assert_int_equal(pool->active.count, active);
    assert_int_equal(pool->free.count, pool->gpu_count - active);
}

/* Random starts and ends, also beyond the pool's capacity. */
CASE(the_pool_stays_within_its_bounds)
{
    for (unsigned s = 0; s < SCHEMES; s++) {
        CLOSED(arena_clear) struct arena arena = {0};
        struct dilu_pool pool;
        uint32_t running[256];
        size_t count = 0;
        unsigned refused = 0;
        RANDOM_STREAM(random, 6, RANDOM_TEST, s, 0);
        dilu_pool_init(&pool, &arena, &rules[s], 10, 4, 40);
        for (int step = 0; step < 3000; step++) {
            if (count == 256 || (count > 0 && random_uniform(&random) < 0.4)) {
                const size_t i = (size_t)(random_uniform(&random) * (double)count);
                dilu_pool_end(&pool, running[i]);
                running[i] = running[--count];
            } else {
                const double request = 0.05 + 0.5 * random_uniform(&random);
                const struct dilu_job job = {.kind = (enum dilu_kind)(random_uniform(&random) * 3),
                                             .function = (uint32_t)(random_uniform(&random) * 5),
                                             .gpus = 1 + (uint32_t)(random_uniform(&random) * 4),
                                             .request = request,
                                             .limit =
                                                 fmin(1, request * (1 + random_uniform(&random))),
                                             .memory = floor(1 + 30 * random_uniform(&random))};
                running[count] = dilu_pool_start(&pool, &job);
                if (running[count] == DILU_NOT_PLACED) {
                    refused++;
                    continue;
                }
                const struct dilu_placed *placed = &pool.placed[running[count++]];
                double memory = 0;
                for (uint32_t i = 0; i < placed->count; i++) {
                    memory += placed->memories[i];
                    assert_true(job.kind != DILU_TRAINING || s == DILU_EXCLUSIVE ||
                                pool.gpus[placed->gpus[i]].node == pool.gpus[placed->gpus[0]].node);
                }
                if (job.kind != DILU_TRAINING)
                    assert_true(memory == job.memory);
                else
                    assert_int_equal(placed->count, job.gpus);
            }
            check_pool(&pool, s == DILU_EXCLUSIVE);
        }
        assert_true(refused > 0);
    }
}

/* A function that runs beside a training goes to the training's other GPU, though the first one
 * still has room and a better score. */
CASE(a_function_follows_the_training_that_it_runs_beside)
{
    struct dilu_pool pool;
    const struct dilu_job gang = {
        .kind = DILU_TRAINING, .gpus = 2, .request = 0.4, .limit = 0.6, .memory = 10};
    const struct dilu_job own = {
        .function = 7, .gpus = 1, .request = 0.2, .limit = 0.3, .memory = 5};
    const struct dilu_job other = {
        .function = 8, .gpus = 1, .request = 0.2, .limit = 0.3, .memory = 5};
    dilu_pool_init(&pool, suite_arena(), &rules[DILU_WHOLE], 2, 4, 40);
    (void)dilu_pool_start(&pool, &gang);
    uint32_t instance = dilu_pool_start(&pool, &own);
    assert_int_equal(pool.placed[instance].gpus[0], 0);
    instance = dilu_pool_start(&pool, &own);
    assert_int_equal(pool.placed[instance].gpus[0], 1);
    instance = dilu_pool_start(&pool, &other);
    assert_int_equal(pool.placed[instance].gpus[0], 0);
}

SUITE("dilu_pool")
