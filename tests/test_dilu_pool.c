/* Dilu's pool of GPUs and its baselines against the authors' large-scale simulation. */
#include <math.h>

#include "sched/dilu/gpu_pool.h"
#include "sim/engine/random.h"
#include "tests/read_numbers.h"
#include "traces/readers/line_reader.h"

enum { SCHEMES = 4, JOBS = 4096 };

static const struct dilu_pool_rule rules[SCHEMES] = {
    [DILU_WHOLE] = {.scheme = DILU_WHOLE, .omega = 1, .gamma = 1.5, .alpha = 0.6},
    [DILU_INFLESS_L] = {.scheme = DILU_INFLESS_L, .omega = 1, .gamma = 1.5, .alpha = 0.6},
    [DILU_INFLESS_R] = {.scheme = DILU_INFLESS_R, .omega = 1, .gamma = 1.5, .alpha = 0.6},
    [DILU_EXCLUSIVE] = {.scheme = DILU_EXCLUSIVE, .omega = 1, .gamma = 2, .alpha = 0.6},
};

/* ---- The original's runs --------------------------------------------------------------------- */

struct event {
    bool start;
    uint32_t id;
    struct dilu_job job;
    uint32_t active[SCHEMES];      /* after it */
    double fragmentation[SCHEMES]; /* NAN: not recorded */
};

/* Fields of a line that may be empty. */
static void read_figures(char *text, struct event *event)
{
    for (size_t s = 0; s < SCHEMES; s++) {
        event->active[s] = (uint32_t)strtoul(text, &text, 10);
        assert_int_equal(*text++, ',');
    }
    for (size_t s = 0; s < SCHEMES; s++) {
        char *end = text;
        event->fragmentation[s] = strtod(text, &end);
        if (end == text)
            event->fragmentation[s] = NAN;
        text = end;
        if (s + 1 < SCHEMES)
            assert_int_equal(*text++, ',');
    }
}

static void read_event(char *line, struct event *event)
{
    event->start = *line == '+';
    line++;
    event->id = (uint32_t)next_number(&line);
    if (event->start) {
        const char *kind = next_word(&line);
        event->job.kind = *kind == 't' ? DILU_TRAINING : *kind == 'l' ? DILU_LLM : DILU_INFERENCE;
        event->job.gpus = (uint32_t)next_number(&line);
        event->job.request = next_number(&line);
        event->job.limit = next_number(&line);
        event->job.memory = next_number(&line);
        event->job.function = event->id; /* every instance is of its own function */
    }
    read_figures(line + 1, event);
}

struct outcome {
    uint32_t most, most_theirs, differ;
    double sum, sum_theirs;
    double worst, fragmentation; /* deviations: of a count, relative; of the mean at the peak */
};

static void replay(const struct event *events, size_t count, enum dilu_scheme scheme,
                   struct outcome *outcome)
{
    static uint32_t instances[JOBS];
    struct error error = {0};
    struct dilu_pool pool;
    *outcome = (struct outcome){0};
    assert_true(dilu_pool_init(&pool, &rules[scheme], 1000, 4, 40, &error));
    for (size_t e = 0; e < count; e++) {
        const struct event *event = &events[e];
        if (event->start) {
            assert_true(dilu_pool_start(&pool, &event->job, &instances[event->id], &error));
            assert_true(instances[event->id] != DILU_NOT_PLACED);
        } else {
            dilu_pool_end(&pool, instances[event->id]);
        }
        const double ours = pool.active_count;
        const double theirs = event->active[scheme];
        double compute = 0;
        double memory = 0;
        dilu_pool_fragmentation(&pool, &compute, &memory);
        outcome->differ += ours != theirs ? 1 : 0;
        outcome->sum += ours / (double)count;
        outcome->sum_theirs += theirs / (double)count;
        if (theirs > outcome->most_theirs) {
            outcome->most_theirs = event->active[scheme];
            outcome->fragmentation = fabs(compute - event->fragmentation[scheme]);
        }
        outcome->most = pool.active_count > outcome->most ? pool.active_count : outcome->most;
        if (theirs >= 100)
            outcome->worst = fmax(outcome->worst, fabs(ours / theirs - 1));
    }
    dilu_pool_clear(&pool);
}

static void active_gpus_are_those_of_the_original(void **state)
{
    (void)state;
    static const char *const names[] = {"Dilu", "INFless-l", "INFless-r", "exclusive"};
    static struct event events[2 * JOBS];
    struct line_reader lines = {0};
    struct error error = {0};
    char *line = NULL;
    assert_true(line_reader_open(&lines, "tests/data/training/dilu_placements.csv.gz", &error));
    for (int set = 0; line_reader_next(&lines, &line, &error) == LINE_READ; set++) {
        const unsigned size = (unsigned)next_number(&line);
        const size_t count = (size_t)next_number(&line);
        for (size_t e = 0; e < count; e++) {
            assert_int_equal(line_reader_next(&lines, &line, &error), LINE_READ);
            read_event(line, &events[e]);
        }
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
    line_reader_close(&lines);
}

/* ---- Properties ------------------------------------------------------------------------------ */

static void check_pool(const struct dilu_pool *pool, bool exclusive)
{
    uint32_t active = 0;
    for (uint32_t g = 0; g < pool->gpu_count; g++) {
        const struct dilu_pool_gpu *gpu = &pool->gpus[g];
        assert_int_equal(gpu->active, gpu->count > 0);
        active += gpu->active ? 1 : 0;
        assert_true(gpu->memory > -1e-9 && gpu->memory <= pool->gpu_memory + 1e-9);
        assert_true(exclusive ? gpu->count <= 1 : gpu->request <= pool->rule.omega + 1e-9);
    }
    assert_int_equal(pool->active_count, active);
    assert_int_equal(pool->free_count, pool->gpu_count - active);
}

/* Random starts and ends, also beyond the pool's capacity. */
static void the_pool_stays_within_its_bounds(void **state)
{
    (void)state;
    for (unsigned s = 0; s < SCHEMES; s++) {
        struct error error = {0};
        struct dilu_pool pool;
        struct random_stream random;
        uint32_t running[256];
        size_t count = 0;
        unsigned refused = 0;
        random_stream_open(&random, 6, RANDOM_TEST, s, 0);
        assert_true(dilu_pool_init(&pool, &rules[s], 10, 4, 40, &error));
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
                assert_true(dilu_pool_start(&pool, &job, &running[count], &error));
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
        dilu_pool_clear(&pool);
    }
}

/* A function that runs beside a training goes to the training's other GPU, though the first one
 * still has room and a better score. */
static void a_function_follows_the_training_that_it_runs_beside(void **state)
{
    (void)state;
    struct error error = {0};
    struct dilu_pool pool;
    uint32_t training = 0;
    uint32_t instance = 0;
    const struct dilu_job gang = {
        .kind = DILU_TRAINING, .gpus = 2, .request = 0.4, .limit = 0.6, .memory = 10};
    const struct dilu_job own = {
        .function = 7, .gpus = 1, .request = 0.2, .limit = 0.3, .memory = 5};
    const struct dilu_job other = {
        .function = 8, .gpus = 1, .request = 0.2, .limit = 0.3, .memory = 5};
    assert_true(dilu_pool_init(&pool, &rules[DILU_WHOLE], 2, 4, 40, &error));
    assert_true(dilu_pool_start(&pool, &gang, &training, &error));
    assert_true(dilu_pool_start(&pool, &own, &instance, &error));
    assert_int_equal(pool.placed[instance].gpus[0], 0);
    assert_true(dilu_pool_start(&pool, &own, &instance, &error));
    assert_int_equal(pool.placed[instance].gpus[0], 1);
    assert_true(dilu_pool_start(&pool, &other, &instance, &error));
    assert_int_equal(pool.placed[instance].gpus[0], 0);
    dilu_pool_clear(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(active_gpus_are_those_of_the_original),
        cmocka_unit_test(the_pool_stays_within_its_bounds),
        cmocka_unit_test(a_function_follows_the_training_that_it_runs_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
