/* Dilu: the search on the authors' measurements; placement, shares and scaling against brute force;
 * the policy against what the platform holds. */

#include "sched/dilu/dilu_internal.h"
#include "sched/policy_instances.h"
#include "sched/dilu/share.h"
#include "sched/registry.h"
#include "tests/suite.h"
#include "tests/worlds.h"

enum { BATCHES = 6, SIZES = 10, MODEL_POINTS = BATCHES * SIZES };
enum { GPUS_MAX = 12, HOLDERS_MAX = 7, LEVELS_MAX = 4, WORLDS = 32 };

static gsl_rng *stream_of(struct random_stream *stream, uint64_t number, uint32_t what)
{
    random_stream_open(stream, 2025, RANDOM_TEST, number, what);
    return &stream->rng;
}

static uint32_t pick(gsl_rng *rng, uint32_t count)
{
    return (uint32_t)gsl_rng_uniform_int(rng, count);
}

/* ---- The profile search ---------------------------------------------------------------------- */

static const uint32_t batches[BATCHES] = {1, 2, 4, 8, 16, 32};
static const double sizes[SIZES] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};

/* The number before the next comma, or the line's end. */
static double field(char **rest)
{
    char *text = strsep(rest, ",");
    char *end = text;
    assert_non_null(text);
    const double value = strtod(text, &end);
    assert_true(end != text);
    return value;
}

/* The point of the greatest efficiency within `bound` by exhaustive search; ties go to the first.
 * False if there is none. */
static bool search_all(const struct dilu_grid *grid, double bound, struct dilu_pick *pick)
{
    *pick = (struct dilu_pick){0};
    for (size_t batch = 0; batch < grid->batch_count; batch++)
        for (size_t size = 0; size < grid->size_count; size++) {
            const struct dilu_point *point = &grid->points[batch * grid->size_count + size];
            const double efficiency = point->throughput / grid->sizes[size];
            if (point->latency <= bound && efficiency > pick->efficiency)
                *pick = (struct dilu_pick){batch, size, efficiency, 0};
        }
    return pick->efficiency > 0;
}

/* The 60 points of a model. */
static struct dilu_grid measured(const char *model, struct dilu_point points[MODEL_POINTS])
{
    FILE *file = must(fopen("traces/profiles/raw/dilu/dilu_all.csv", "r"));
    char line[256];
    size_t found = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        char *rest = line;
        if (strcmp(strsep(&rest, ","), model) != 0)
            continue;
        const double batch = field(&rest);
        const double size = field(&rest);
        size_t b = 0;
        while (b < BATCHES && batches[b] < batch)
            b++;
        const size_t at = b * SIZES + (size_t)(size / 10) - 1;
        assert_true(at < MODEL_POINTS);
        points[at].latency = field(&rest);
        points[at].throughput = field(&rest);
        found++;
    }
    fclose(file);
    assert_int_equal(found, MODEL_POINTS);
    return (struct dilu_grid){batches, BATCHES, sizes, SIZES, points};
}

/* What the authors' scripts find on their own measurements. */
CASE(the_search_finds_on_the_authors_measurements_what_theirs_finds)
{
    static const struct {
        const char *model;
        double bound, size;
        uint32_t batch;
        double latency, efficiency;
        uint32_t trials;
        bool best;
    } vectors[] = {{"resnet152", 40, 30, 16, 40.0, 13.35, 9, true},
                   {"roberta_large", 60, 20, 4, 57.7, 3.46, 6, false},
                   {"gpt2_large", 60, 30, 4, 49.7, 2.68, 7, true},
                   {"llama2", 42, 50, 8, 41.7, 0.117, 10, true},
                   {"bert_base", 60, 10, 4, 36.7, 10.90, 5, true}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct dilu_point points[MODEL_POINTS];
        const struct dilu_grid grid = measured(vectors[i].model, points);
        struct dilu_pick found;
        struct dilu_pick all;
        assert_true(dilu_search(&grid, vectors[i].bound, 0.2, &found));
        assert_true(fabs(sizes[found.size] - vectors[i].size) < 1e-9);
        assert_int_equal(batches[found.batch], vectors[i].batch);
        assert_true(fabs(points[found.batch * SIZES + found.size].latency - vectors[i].latency) <
                    0.051);
        assert_true(fabs(found.efficiency / vectors[i].efficiency - 1) < 0.005);
        assert_int_equal(found.trials, vectors[i].trials);
        assert_true(search_all(&grid, vectors[i].bound, &all));
        assert_int_equal(all.size == found.size && all.batch == found.batch, vectors[i].best);
    }
}

CASE(the_optimum_that_the_search_misses_is_robertas)
{
    struct dilu_point points[MODEL_POINTS];
    const struct dilu_grid grid = measured("roberta_large", points);
    struct dilu_pick all;
    assert_true(search_all(&grid, 60, &all));
    assert_int_equal(batches[all.batch], 4);
    assert_true(fabs(sizes[all.size] - 30) < 1e-9 && fabs(all.efficiency - 3.90) < 0.006);
}

/* Batch 1: TE 10 at 10 %. Batch 2 needs 20 %: TE 9.85, or 9.75. */
CASE(the_search_stops_where_efficiency_drops_by_more_than_allowed)
{
    struct dilu_point points[] = {{10, 100}, {8, 120}, {25, 110}, {15, 197}};
    const struct dilu_grid grid = {batches, 2, sizes, 2, points};
    struct dilu_pick found;
    assert_true(dilu_search(&grid, 20, 0.2, &found));
    assert_true(found.batch == 1 && found.size == 1 && found.trials == 3);
    points[3].throughput = 195;
    assert_true(dilu_search(&grid, 20, 0.2, &found));
    assert_true(found.batch == 0 && found.size == 0 && found.trials == 3);
}

static void random_points(gsl_rng *rng, struct dilu_point points[MODEL_POINTS])
{
    const double base = 5 + 50 * gsl_rng_uniform(rng);
    for (size_t b = 0; b < BATCHES; b++)
        for (size_t s = 0; s < SIZES; s++) {
            struct dilu_point *point = &points[b * SIZES + s];
            point->latency = base * pow(batches[b], 0.7) / pow(sizes[s] / 10, 0.5) *
                             (0.8 + 0.4 * gsl_rng_uniform(rng));
            point->throughput = 1000 * batches[b] / point->latency;
            if (pick(rng, 12) == 0)
                point->latency = INFINITY;
        }
}

/* On any table: within the bound where something is, never better than all trials, few trials. */
CASE(what_is_found_meets_the_bound_in_few_trials)
{
    uint32_t found = 0;
    uint32_t best = 0;
    for (uint64_t n = 0; n < 2000; n++) {
        struct random_stream stream;
        gsl_rng *rng = stream_of(&stream, n, 1);
        struct dilu_point points[MODEL_POINTS];
        random_points(rng, points);
        const struct dilu_grid grid = {batches, BATCHES, sizes, SIZES, points};
        const double bound = 5 + 80 * gsl_rng_uniform(rng);
        struct dilu_pick one;
        struct dilu_pick all = {0};
        size_t first = 0;
        while (first < SIZES && points[first].latency > bound)
            first++;
        assert_int_equal(dilu_search(&grid, bound, 0.2, &one), first < SIZES);
        assert_true(one.trials <= SIZES + 2 * BATCHES);
        if (first == SIZES)
            continue;
        assert_true(one.size >= first);
        assert_true(points[one.batch * SIZES + one.size].latency <= bound);
        assert_true(search_all(&grid, bound, &all));
        assert_true(one.efficiency <= all.efficiency);
        found++;
        best += one.efficiency >= all.efficiency;
    }
    assert_true(found > 1000 && best > 100 && best < found);
}

/* ---- Placement ------------------------------------------------------------------------------- */

struct cluster_case {
    struct dilu_gpu gpus[GPUS_MAX];
    enum dilu_admission admission[GPUS_MAX];
    size_t count;
};

static enum dilu_admission admit(void *context, size_t gpu)
{
    return ((const struct cluster_case *)context)->admission[gpu];
}

static void random_cluster(gsl_rng *rng, struct cluster_case *cluster)
{
    cluster->count = 1 + pick(rng, GPUS_MAX);
    for (size_t g = 0; g < cluster->count; g++) {
        struct dilu_gpu *gpu = &cluster->gpus[g];
        *gpu = (struct dilu_gpu){.units = 10, .memory_mb = 40, .instances = pick(rng, 4)};
        for (uint32_t i = 0; i < gpu->instances; i++) {
            gpu->request += 1 + pick(rng, 3);
            gpu->limit += 1 + pick(rng, 5);
            gpu->used_mb += 5 * (1 + pick(rng, 3));
        }
        cluster->admission[g] = (enum dilu_admission)pick(rng, 3);
    }
}

/* The paper's words, one after another: class, score, idle container, number. */
static size_t place_by_force(const struct cluster_case *cluster, const struct dilu_need *need)
{
    for (int class = 1; class < 3; class ++) {
        size_t best = DILU_NOWHERE;
        double best_score = INFINITY;
        for (size_t g = 0; g < cluster->count; g++) {
            const struct dilu_gpu *gpu = &cluster->gpus[g];
            const int own = gpu->instances > 0 ? 1 : 2;
            const double request = (gpu->request + need->request) / 10;
            const double limit = (gpu->limit + need->limit) / 10;
            const double memory = (gpu->used_mb + need->memory_mb) / 40;
            if (own != class || cluster->admission[g] == DILU_REFUSED || request > 1 ||
                limit > 1.5 || memory > 1)
                continue;
            const double score = 0.6 * (1 - request) + 0.4 * (1 - memory);
            const bool warmer = best != DILU_NOWHERE && cluster->admission[g] == DILU_WARM &&
                                cluster->admission[best] == DILU_COLD;
            if (score < best_score - 1e-12 || (score < best_score + 1e-12 && warmer)) {
                best = g;
                best_score = score;
            }
        }
        if (best != DILU_NOWHERE)
            return best;
    }
    return DILU_NOWHERE;
}

CASE(an_instance_goes_where_brute_force_puts_it)
{
    static const struct dilu_rule rule = {1, 1.5, 0.6, 0.4};
    uint32_t nowhere = 0;
    uint32_t shared = 0;
    for (uint64_t n = 0; n < 5000; n++) {
        struct random_stream stream;
        gsl_rng *rng = stream_of(&stream, n, 2);
        struct cluster_case cluster;
        random_cluster(rng, &cluster);
        const double request = 1 + pick(rng, 4);
        const struct dilu_need need = {request, request * (1 + 0.5 * pick(rng, 3)),
                                       5.0 * (1 + pick(rng, 3)), 0};
        const struct dilu_admitter admitter = {&cluster, admit};
        const size_t place = dilu_place(&rule, cluster.gpus, cluster.count, &need, &admitter);
        assert_true(place == place_by_force(&cluster, &need));
        nowhere += place == DILU_NOWHERE;
        shared += place != DILU_NOWHERE && cluster.gpus[place].instances > 0;
    }
    assert_true(nowhere > 200 && shared > 1000);
}

/* What the authors' scheduler does with 96 events: sigserverless/Dilu @ 1134655,
 * scheduling/simulations/baseline/scheduler_dilu.py, lines 110-173 (12 GPUs of 40 GB). Events are
 * ours, results its. Shares are sixteenths of a GPU. With a request of 0 the instance of event
 * `limit` ends. */
struct placed {
    uint32_t request, limit, memory;
    uint32_t requests, limits, memories; /* sums on the chosen GPU afterwards */
    uint32_t active;                     /* GPUs in use afterwards */
};

static const struct placed originals[] = {
    {4, 5, 14, 4, 5, 14, 1},    {2, 6, 5, 6, 11, 19, 1},   {2, 6, 8, 8, 17, 27, 1},
    {0, 1, 0, 0, 0, 0, 1},      {3, 3, 15, 9, 14, 37, 1},  {0, 4, 0, 0, 0, 0, 1},
    {0, 0, 0, 0, 0, 0, 1},      {6, 6, 14, 8, 12, 22, 1},  {0, 2, 0, 0, 0, 0, 1},
    {0, 7, 0, 0, 0, 0, 0},      {4, 7, 6, 4, 7, 6, 1},     {6, 8, 7, 10, 15, 13, 1},
    {0, 10, 0, 0, 0, 0, 1},     {6, 11, 4, 12, 19, 11, 1}, {6, 7, 17, 6, 7, 17, 2},
    {5, 7, 16, 11, 14, 33, 2},  {5, 7, 11, 5, 7, 11, 3},   {0, 13, 0, 0, 0, 0, 3},
    {3, 3, 11, 8, 10, 22, 3},   {4, 9, 16, 12, 19, 38, 3}, {0, 11, 0, 0, 0, 0, 2},
    {0, 18, 0, 0, 0, 0, 2},     {0, 16, 0, 0, 0, 0, 2},    {0, 15, 0, 0, 0, 0, 2},
    {7, 7, 12, 13, 14, 29, 2},  {0, 19, 0, 0, 0, 0, 1},    {6, 9, 4, 6, 9, 4, 2},
    {4, 7, 4, 10, 16, 8, 2},    {0, 26, 0, 0, 0, 0, 2},    {7, 10, 11, 11, 17, 15, 2},
    {7, 9, 2, 7, 9, 2, 3},      {4, 5, 5, 15, 22, 20, 3},  {3, 5, 6, 16, 19, 35, 3},
    {5, 8, 17, 12, 17, 19, 3},  {0, 33, 0, 0, 0, 0, 3},    {4, 5, 15, 11, 14, 17, 3},
    {4, 9, 15, 15, 23, 32, 3},  {7, 10, 9, 7, 10, 9, 4},   {0, 27, 0, 0, 0, 0, 4},
    {0, 30, 0, 0, 0, 0, 4},     {0, 29, 0, 0, 0, 0, 4},    {0, 14, 0, 0, 0, 0, 4},
    {0, 36, 0, 0, 0, 0, 4},     {6, 8, 6, 16, 20, 24, 4},  {6, 10, 3, 13, 20, 12, 4},
    {7, 11, 14, 11, 16, 29, 4}, {5, 5, 17, 9, 10, 22, 4},  {2, 3, 4, 13, 19, 33, 4},
    {5, 6, 5, 14, 16, 27, 4},   {0, 24, 0, 0, 0, 0, 4},    {0, 48, 0, 0, 0, 0, 4},
    {0, 32, 0, 0, 0, 0, 4},     {6, 6, 4, 15, 16, 26, 4},  {6, 9, 6, 12, 17, 12, 4},
    {4, 8, 13, 4, 8, 13, 5},    {2, 5, 16, 14, 22, 28, 5}, {4, 4, 6, 8, 12, 19, 5},
    {0, 45, 0, 0, 0, 0, 5},     {5, 10, 7, 13, 22, 26, 5}, {3, 7, 13, 9, 15, 32, 5},
    {0, 53, 0, 0, 0, 0, 5},     {6, 8, 4, 15, 23, 36, 5},  {4, 8, 13, 12, 21, 35, 5},
    {4, 5, 12, 4, 5, 12, 6},    {6, 7, 9, 10, 12, 21, 6},  {7, 8, 8, 7, 8, 8, 7},
    {4, 9, 2, 14, 21, 23, 7},   {4, 7, 10, 11, 15, 18, 7}, {0, 67, 0, 0, 0, 0, 7},
    {5, 10, 13, 12, 18, 21, 7}, {4, 4, 9, 16, 22, 30, 7},  {0, 63, 0, 0, 0, 0, 7},
    {0, 47, 0, 0, 0, 0, 7},     {6, 6, 17, 16, 22, 28, 7}, {4, 9, 4, 4, 9, 4, 8},
    {2, 5, 8, 6, 14, 12, 8},    {3, 6, 12, 9, 20, 24, 8},  {0, 61, 0, 0, 0, 0, 8},
    {7, 7, 7, 14, 19, 35, 8},   {0, 44, 0, 0, 0, 0, 8},    {0, 74, 0, 0, 0, 0, 8},
    {7, 8, 17, 12, 19, 37, 8},  {4, 5, 6, 11, 15, 15, 8},  {0, 78, 0, 0, 0, 0, 8},
    {0, 46, 0, 0, 0, 0, 8},     {3, 4, 2, 15, 23, 39, 8},  {0, 59, 0, 0, 0, 0, 8},
    {6, 8, 10, 16, 19, 19, 8},  {3, 3, 13, 14, 18, 28, 8}, {7, 11, 15, 11, 16, 30, 8},
    {6, 7, 6, 6, 7, 6, 9},      {2, 5, 7, 16, 23, 35, 9},  {3, 4, 6, 14, 20, 36, 9},
    {7, 7, 3, 13, 14, 9, 9},    {0, 75, 0, 0, 0, 0, 9},    {5, 5, 3, 5, 5, 3, 10},
};

static enum dilu_admission admit_cold(void *context, size_t gpu)
{
    return DILU_COLD;
}

CASE(an_instance_goes_where_the_original_puts_it)
{
    enum { EVENTS = sizeof originals / sizeof *originals };
    static const struct dilu_rule rule = {1, 1.5, 0.6, 0.4};
    static const struct dilu_admitter admitter = {NULL, admit_cold};
    struct dilu_gpu gpus[GPUS_MAX];
    size_t places[EVENTS] = {0};
    for (size_t g = 0; g < GPUS_MAX; g++)
        gpus[g] = (struct dilu_gpu){.units = 16, .memory_mb = 40};
    for (size_t n = 0; n < EVENTS; n++) {
        const struct placed *event = &originals[n];
        const bool ends = event->request == 0;
        const struct placed *of = ends ? &originals[event->limit] : event;
        const struct dilu_need need = {of->request, of->limit, of->memory, 0};
        places[n] =
            ends ? places[event->limit] : dilu_place(&rule, gpus, GPUS_MAX, &need, &admitter);
        assert_true(places[n] != DILU_NOWHERE);
        struct dilu_gpu *gpu = &gpus[places[n]];
        const double sign = ends ? -1 : 1;
        gpu->request += sign * need.request;
        gpu->limit += sign * need.limit;
        gpu->used_mb += sign * need.memory_mb;
        gpu->instances += ends ? UINT32_MAX : 1;
        uint32_t active = 0;
        for (size_t g = 0; g < GPUS_MAX; g++)
            active += gpus[g].instances > 0;
        assert_int_equal(active, event->active);
        if (!ends)
            assert_true(fabs(gpu->request - event->requests) < 1e-9 &&
                        fabs(gpu->limit - event->limits) < 1e-9 &&
                        fabs(gpu->used_mb - event->memories) < 1e-9);
    }
}

/* ---- Lazy scaling ---------------------------------------------------------------------------- */

static const struct dilu_lazy_rule paper_rule = {.window = 40, .out = 20, .in = 30};

CASE(one_more_after_twenty_of_forty_samples_and_one_less_after_thirty)
{
    struct dilu_window window;
    dilu_window_init(&window, suite_arena(), 40);
    for (int i = 0; i < 19; i++)
        dilu_window_add(&window, 11);
    assert_int_equal(dilu_lazy(&window, &paper_rule, 10, 5, 2), 0);
    for (int i = 0; i < 21; i++) /* full, and 19 above */
        dilu_window_add(&window, 10);
    assert_int_equal(dilu_lazy(&window, &paper_rule, 10, 5, 2), 0);
    dilu_window_add(&window, 11); /* in place of one above */
    assert_int_equal(dilu_lazy(&window, &paper_rule, 10, 5, 2), 0);
    for (int i = 0; i < 18; i++)
        dilu_window_add(&window, 11);
    assert_int_equal(dilu_lazy(&window, &paper_rule, 10, 5, 2), 0);
    dilu_window_add(&window, 11); /* in place of one that was not */
    assert_int_equal(dilu_lazy(&window, &paper_rule, 10, 5, 2), 1);
    dilu_window_restart(&window);
    for (int i = 0; i < 29; i++)
        dilu_window_add(&window, 4);
    assert_int_equal(dilu_lazy(&window, &paper_rule, 10, 5, 2), 0);
    dilu_window_add(&window, 4);
    assert_int_equal(dilu_lazy(&window, &paper_rule, 10, 5, 2), -1);
    assert_int_equal(dilu_lazy(&window, &paper_rule, 10, 5, 1), 0); /* the only one stays */
}

CASE(the_window_counts_what_came_last)
{
    uint32_t steps[3] = {0};
    for (uint64_t n = 0; n < 200; n++) {
        struct random_stream stream;
        gsl_rng *rng = stream_of(&stream, n, 3);
        struct dilu_lazy_rule rule = {.window = 1 + pick(rng, 12)};
        rule.out = 1 + pick(rng, (uint32_t)rule.window);
        rule.in = 1 + pick(rng, (uint32_t)rule.window);
        double history[60];
        size_t start = 0;
        CLOSED(arena_clear) struct arena arena = {0};
        struct dilu_window window;
        dilu_window_init(&window, &arena, rule.window);
        for (size_t t = 0; t < 60; t++) {
            history[t] = pick(rng, 10);
            dilu_window_add(&window, history[t]);
            size_t above = 0;
            size_t below = 0;
            for (size_t i = t + 1 > start + rule.window ? t + 1 - rule.window : start; i <= t;
                 i++) {
                above += history[i] > 6;
                below += history[i] < 3;
            }
            const int wanted = above >= rule.out ? 1 : below >= rule.in ? -1 : 0;
            assert_int_equal(dilu_lazy(&window, &rule, 6, 3, 2), wanted);
            steps[wanted + 1]++;
            if (wanted != 0) {
                dilu_window_restart(&window);
                start = t + 1;
            }
        }
    }
    assert_true(steps[0] > 500 && steps[1] > 500 && steps[2] > 500);
}

/* ---- Shares ---------------------------------------------------------------------------------- */

struct holders_case {
    uint32_t units;
    struct dilu_level levels[HOLDERS_MAX][LEVELS_MAX];
    struct dilu_holder holders[HOLDERS_MAX];
    size_t count;
};

static void random_holders(gsl_rng *rng, struct holders_case *one)
{
    one->units = 1 + pick(rng, 20);
    one->count = 0;
    uint32_t left = one->units;
    while (one->count < HOLDERS_MAX && left > 0 && (one->count == 0 || pick(rng, 4) > 0)) {
        uint32_t share = 1 + pick(rng, left);
        struct dilu_level *levels = one->levels[one->count];
        sim_time_t time = 1000 + pick(rng, 1000);
        left -= share;
        struct dilu_holder *holder = &one->holders[one->count++];
        *holder = (struct dilu_holder){.levels = levels,
                                       .level_count = 1 + pick(rng, LEVELS_MAX),
                                       .working = pick(rng, 3) == 0};
        holder->active = holder->working || pick(rng, 5) == 0;
        for (size_t l = 0; l < holder->level_count; l++) {
            levels[l] = (struct dilu_level){(uint32_t)l, share, time};
            share += 1 + pick(rng, 4);
            time = time * (sim_time_t)(60 + pick(rng, 45)) / 100;
        }
    }
}

/* The least time of the one at work, over levels and all quotas of both sides that fit. */
static double least_time(const struct holders_case *one, const struct dilu_holder *worker,
                         uint32_t idle)
{
    double least = (double)worker->levels[0].time;
    for (size_t l = 1; l < worker->level_count; l++)
        for (uint32_t quota = 1; quota <= 100; quota++)
            for (uint32_t cut = 1; cut <= 100; cut++)
                if (worker->levels[l].share <= one->units &&
                    worker->levels[l].share * quota + idle * cut <= 100 * one->units)
                    least = fmin(least, (double)worker->levels[l].time * 100 / quota);
    return least;
}

static void check_alone(const struct holders_case *one, const struct dilu_holder *worker,
                        uint32_t idle)
{
    const double time = (double)worker->levels[worker->level].time * 100 / worker->quota;
    uint32_t cut = 100;
    assert_true(fabs(time - least_time(one, worker, idle)) < 1e-6 * time);
    for (size_t i = 0; i < one->count; i++)
        if (&one->holders[i] != worker) {
            assert_int_equal(one->holders[i].level, 0);
            cut = one->holders[i].quota;
        }
    for (size_t i = 0; i < one->count; i++)
        assert_true(&one->holders[i] == worker || one->holders[i].quota == cut);
    /* No more is taken from the idle than is used. */
    assert_true(cut == 100 ||
                worker->levels[worker->level].share * worker->quota + idle * (cut + 1) >
                    100 * one->units);
}

CASE(one_alone_is_as_fast_as_can_be_and_several_have_their_requests)
{
    uint32_t raised = 0;
    uint32_t contended = 0;
    for (uint64_t n = 0; n < 2000; n++) {
        struct random_stream stream;
        gsl_rng *rng = stream_of(&stream, n, 4);
        struct holders_case one;
        random_holders(rng, &one);
        assert_true(dilu_grant(one.units, one.holders, one.count));
        const struct dilu_holder *worker = NULL;
        uint32_t held = 0;
        uint32_t requests = 0;
        uint32_t active = 0;
        for (size_t i = 0; i < one.count; i++) {
            const struct dilu_holder *holder = &one.holders[i];
            held += holder->levels[holder->level].share * holder->quota;
            requests += holder->levels[0].share;
            active += holder->active;
            worker = holder->working ? holder : worker;
        }
        assert_true(held <= 100 * one.units);
        if (worker != NULL && active == 1) {
            check_alone(&one, worker, requests - worker->levels[0].share);
            raised += worker->level > 0;
            continue;
        }
        for (size_t i = 0; i < one.count; i++)
            assert_true(one.holders[i].level == 0 && one.holders[i].quota == 100);
        contended += active > 1;
    }
    assert_true(raised > 150 && contended > 300);
}

CASE(requests_that_exceed_the_gpu_are_refused)
{
    const struct dilu_level four = {0, 4, 1};
    struct dilu_holder holders[] = {{&four, 1, true, true, 0, 0}, {&four, 1, false, false, 0, 0}};
    assert_false(dilu_grant(7, holders, 2));
    assert_true(dilu_grant(8, holders, 2));
}

/* ---- The policy ------------------------------------------------------------------------------ */

/* What was seen over all runs of a test. */
static struct seen {
    uint64_t looks, raised, cut, together;
    uint64_t outs, ins; /* a deployment with instances got more; had fewer */
    uint64_t bereft;    /* a deployment lost its last instance: lazy scaling leaves one */
    uint64_t makeshift; /* instances by the smallest profile */
    uint32_t listed;    /* instances on GPUs at the last look */
    bool fixed;         /* no share but the request may be */
} seen;

/* Instances of each deployment at the last look of the run. */
static uint32_t counts[16];

static void check_instance(struct platform *platform, const struct dilu_hosts *hosts, uint32_t id,
                           uint32_t host)
{
    const struct dilu_instance *instance = &hosts->instances[id];
    const struct instance_view view = platform_instance(platform, id);
    const struct dilu_level *level = &instance->profile->levels[instance->level];
    assert_int_not_equal(hosts->fleet->instances[id].deployment, SIM_NONE);
    assert_int_equal(instance->host, host);
    assert_int_equal(view.configuration, level->configuration);
    assert_int_equal(view.invoker, hosts->gpus[host].invoker);
    assert_int_equal(view.gpu, hosts->gpus[host].which);
    assert_true(!seen.fixed || (instance->level == 0 && view.quota == 100));
    seen.raised += instance->level > 0;
    seen.cut += view.quota < 100;
}

/* One at work alone has its limit, or what is faster; otherwise all have their requests. */
static void check_host(struct platform *platform, const struct dilu_hosts *hosts, uint32_t host)
{
    const struct dilu_gpu *gpu = &hosts->gpus[host];
    const uint32_t *residents = gpu->residents;
    uint32_t held = 0;
    uint32_t active = 0;
    double requests = 0;
    bool spread = false;
    for (uint32_t i = 0; i < gpu->instances; i++) {
        const struct dilu_instance *instance = &hosts->instances[residents[i]];
        const struct instance_view view = platform_instance(platform, residents[i]);
        check_instance(platform, hosts, residents[i], host);
        held += instance->profile->levels[instance->level].share * view.quota;
        requests += instance->profile->levels[0].share;
        active += view.state == INSTANCE_BUSY || platform_now(platform) < instance->active_until;
        spread = spread || instance->level > 0 || view.quota < 100;
    }
    assert_int_equal(held + platform_gpu_free(platform, gpu->invoker, gpu->which),
                     100 * gpu->units);
    assert_true(requests <= gpu->units && fabs(requests - gpu->request) < 1e-9);
    assert_true(!spread || active == 1);
    if (gpu->instances == 1 && platform_instance(platform, residents[0]).state == INSTANCE_BUSY) {
        const struct dilu_instance *alone = &hosts->instances[residents[0]];
        const struct dilu_level *levels = alone->profile->levels;
        for (size_t l = 0; l < alone->profile->level_count; l++)
            assert_true(levels[l].share > gpu->units ||
                        levels[alone->level].time <= levels[l].time);
    }
    seen.together += gpu->instances > 1;
}

static void check_deployment(const struct dilu *dilu, size_t index)
{
    const struct dilu_deployment *deployment = &dilu->deployments[index];
    const uint32_t count = deployment->base.instance_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = deployment->base.instances[i];
        const struct dilu_instance *instance = &dilu->hosts.instances[id];
        assert_int_equal(dilu->fleet.instances[id].deployment, index);
        seen.listed += instance->host != SIM_NONE;
        seen.makeshift += instance->profile->makeshift;
    }
    assert_true(index < sizeof counts / sizeof *counts);
    seen.outs += counts[index] > 0 && count > counts[index];
    seen.ins += count < counts[index];
    seen.bereft += counts[index] > 0 && count == 0;
    counts[index] = count;
}

static void check_hosts(struct platform *platform, const struct dilu *dilu)
{
    const struct dilu_hosts *hosts = &dilu->hosts;
    uint32_t housed = 0;
    for (uint32_t h = 0; h < hosts->count; h++) {
        check_host(platform, hosts, h);
        housed += hosts->gpus[h].instances;
    }
    seen.listed = 0;
    for (size_t d = 0; d < dilu->fleet.deployment_count; d++)
        check_deployment(dilu, d);
    assert_int_equal(housed, seen.listed);
    seen.looks++;
}

static bool watched_decide(void *state, struct platform *platform)
{
    const bool more = policy_find("dilu", NULL)->decide(state, platform);
    check_hosts(platform, state);
    return more;
}

/* `hasty`: scales on single samples, so that runs of seconds see it. */
static const struct policy *watched(bool hasty)
{
    static struct key *parameters;
    static struct policy policy;
    policy = *policy_find("dilu", NULL);
    memset(counts, 0, sizeof counts);
    free(parameters);
    const size_t count = keys_count(policy.parameters) + 1;
    parameters = must(calloc(count, sizeof *parameters));
    memcpy(parameters, policy.parameters, count * sizeof *parameters);
    for (size_t i = 0; i + 1 < count; i++)
        if (hasty &&
            (strcmp(parameters[i].name, "window") == 0 || strcmp(parameters[i].name, "out") == 0 ||
             strcmp(parameters[i].name, "in") == 0))
            parameters[i].fallback = strcmp(parameters[i].name, "window") == 0 ? 3 : 1;
    policy.parameters = parameters;
    policy.decide = watched_decide;
    return &policy;
}

static const struct world_case variants[] = {
    {NULL, 0},      {"bound", 1},    {"te_drop", 0}, {"limit", 3},  {"limit", 1},   {"vcpus", 2},
    {"split", 1},   {"omega", 0.8},  {"gamma", 1},   {"alpha", 1},  {"counted", 1}, {"first", 3},
    {"routing", 1}, {"vertical", 1}, {"backlog", 1}, {"bound", 0.2}};

CASE(no_world_is_overcommitted_and_all_are_served)
{
    seen = (struct seen){0};
    for (uint64_t world = 0; world < WORLDS; world++) {
        const struct world_case *variant = &variants[world % (sizeof variants / sizeof *variants)];
        char *json = world_random(world, world % 3 == 0);
        world_serve_all(json, watched(world >= WORLDS / 2), variant->key, variant->number, NULL);
    }
    assert_true(seen.looks > 1000 && seen.together > 500);
    assert_true(seen.raised > 100 && seen.cut > 10);
    assert_true(seen.outs > 10 && seen.ins > 10);
}

CASE(gpus_in_slices_or_held_whole_keep_their_shares)
{
    seen = (struct seen){.fixed = true};
    for (uint64_t world = 0; world < 8; world++) {
        char *json = world_random(world, true);
        if (world < 4)
            world_exclusive(json);
        else
            world_sliced(json);
        world_serve_all(json, watched(true), NULL, 0, NULL);
    }
    assert_true(seen.looks > 100 && seen.raised == 0);
}

CASE(functions_without_room_are_served_in_the_end)
{
    seen = (struct seen){0};
    for (uint64_t world = 0; world < 12; world++) {
        char *json = world_scarce(world);
        if (world % 2 == 0)
            world_exclusive(json);
        world_serve_all(json, watched(world % 3 == 0), "routing", world % 4 == 1, NULL);
    }
    assert_true(seen.bereft > 0 && seen.makeshift > 0);
}

CASE(the_same_seed_gives_the_same_batches)
{
    worlds_check(policy_find("dilu", NULL), variants, 1, 4);
}

/* ---- Behaviour ------------------------------------------------------------------------------- */

/* One GPU of 8 units; a function takes 20 ms on 4 of them, which it requests, and 15 on 6, its
 * limit. An application of f alone; of g, and then both at once; of f and then g, which starts
 * while f still counts as active. */
static const struct world lone = {.invokers = 4,
                                  .vcpus = 4,
                                  .units = 8,
                                  .functions = {{"f", "1", "2", "4,6", "[[20,15]]", 0, 100, 0},
                                                {"g", "1", "2", "4,6", "[[20,15]]", 0, 100, 0}},
                                  .slo_ms = 100};
static const char only_f[] = "a: a=f", both[] = "a: a=g b=f(a) c=g(a)",
                  one_by_one[] = "a: a=f b=g(a)";

static void run_world(struct world world, struct log *log, const struct policy *policy,
                      const char *key, double value)
{
    world.platform = strchr(world.applications, 'g') == NULL
                         ? "'interference':false,'initial':{'f':4}"
                         : "'interference':false,'initial':{'f':4,'g':4}";
    run_well_with(world_build(&world), policy, key, value, log, anew());
}

static void run_lone(const char *applications, double gap_ms, unsigned count, struct log *log,
                     const struct policy *policy, const char *key, double value)
{
    struct world world = lone;
    world.applications = applications;
    world.every_ms[0] = gap_ms;
    world.every_ms[1] = gap_ms + 1e-7;
    world.requests = count;
    run_world(world, log, policy, key, value);
}

/* The time of each batch after the first of each function, all alike. */
static double execution_ms(const struct log *log, uint32_t stage)
{
    double first = 0;
    for (size_t i = 4; i < log->batch_count; i++) {
        const struct batch_row *row = &log->batches[i];
        const double ms = sim_to_ms(row->finished_ns - row->started_ns);
        if (row->stage != stage)
            continue;
        first = first > 0 ? first : ms;
        assert_true(fabs(ms - first) < 0.01);
    }
    return first;
}

CASE(a_lone_instance_runs_at_its_limit_and_two_at_their_requests)
{
    seen = (struct seen){0};
    run_lone(only_f, 100, 40, &rows, watched(false), NULL, 0);
    assert_true(fabs(execution_ms(&rows, 0) - 15) < 0.01);
    run_lone(only_f, 100, 40, &rows, watched(false), "vertical", 1);
    assert_true(fabs(execution_ms(&rows, 0) - 20) < 0.01);
    run_lone(both, 100, 40, &rows, watched(false), NULL, 0);
    assert_true(fabs(execution_ms(&rows, 0) - 15) < 0.01);
    assert_true(fabs(execution_ms(&rows, 1) - 20) < 0.01);
    assert_true(fabs(execution_ms(&rows, 2) - 20) < 0.01);
    assert_true(seen.listed == 2 && seen.ins == 0);
    assert_true(seen.together > 0);
}

/* f: alone, the idle g cut, at its limit. g: f has just worked, so at the request. */
CASE(an_idle_neighbour_gives_way_and_one_that_just_worked_does_not)
{
    seen = (struct seen){0};
    run_lone(one_by_one, 100, 40, &rows, watched(false), NULL, 0);
    assert_true(fabs(execution_ms(&rows, 0) - 15) < 0.01);
    assert_true(fabs(execution_ms(&rows, 1) - 20) < 0.01);
    /* f's limit and g's request exceed the GPU: f is reduced whenever g works. */
    assert_true(seen.cut > 0 && seen.raised > 0);
}

/* 50 ms of g's time, a quarter of its work, at its request; the rest at its limit. */
CASE(who_has_been_idle_for_fifty_milliseconds_no_longer_counts)
{
    struct world world = lone;
    world.functions[1].latency_ms = "[[200,150]]";
    world.applications = one_by_one;
    world.every_ms[0] = world.every_ms[1] = 500;
    world.requests = 20;
    world.slo_ms = 1000;
    run_world(world, &rows, watched(false), NULL, 0);
    assert_true(fabs(execution_ms(&rows, 0) - 15) < 0.01);
    assert_true(fabs(execution_ms(&rows, 1) - (50 + 0.75 * 150)) < 0.1);
}

/* When the number of instances changed. */
static struct {
    sim_time_t second, first_job;
    uint32_t most;
} grown;

static bool growth_decide(void *state, struct platform *platform)
{
    const bool more = watched_decide(state, platform);
    const uint32_t count = ((const struct dilu *)state)->deployments[0].base.instance_count;
    if (count >= 1 && grown.first_job == 0)
        grown.first_job = platform_now(platform);
    if (count >= 2 && grown.second == 0)
        grown.second = platform_now(platform);
    grown.most = count > grown.most ? count : grown.most;
    return more;
}

/* 66.7 jobs/s at the limit and 50 at the request, which is what counts: 62.5 are more. */
CASE(one_more_only_after_twenty_seconds_above_capacity)
{
    struct policy policy = *watched(false);
    policy.decide = growth_decide;
    memset(&grown, 0, sizeof grown);
    run_lone(only_f, 16, 1800, &rows, &policy, NULL, 0);
    assert_int_equal(grown.most, 2);
    const double after = sim_to_s(grown.second - grown.first_job);
    assert_true(after > 19.9 && after < 20.1);
    /* 47.6/s are within what one can do. */
    memset(&grown, 0, sizeof grown);
    run_lone(only_f, 21, 1800, &rows, &policy, NULL, 0);
    assert_int_equal(grown.most, 1);
}

CASE(samples_fewer_than_asked_for_are_refused)
{
    char *json = world_random(1, true);
    assert_bad_input(run_with(json, policy_find("dilu", NULL), "window", 10, &rows, anew(), hear()),
                     "window");
}

SUITE("dilu")
