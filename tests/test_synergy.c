/* Synergy's rounds against the finish times of its authors' simulator. */
#include <time.h>

#include "sched/synergy/optimum.h"
#include "sched/synergy/profile.h"
#include "sim/engine/random.h"
#include "tests/read_numbers.h"
#include "tests/suite.h"
#include "tests/synergy_rounds.h"
#include "traces/readers/line_reader.h"

OWNER(training_models_free, struct training_models)

/* ---- Every finish time of the original ------------------------------------------------------- */

static const struct set {
    const char *name, *path, *models;
    uint32_t servers;
    double vcpus; /* per GPU */
    uint64_t first, last;
} sets[] = {
    {"static", "traces/trainings/synergy_static_100job.csv.gz", MODELS_OF_3, 4, 3, 0, 100},
    {"dynamic", "traces/trainings/synergy_dynamic_100job.csv.gz", MODELS_OF_3, 4, 3, 0, 100},
    {"single9w400", "traces/trainings/synergy_s42_9jph_single.csv.gz", MODELS_OF_3, 16, 3, 400,
     500},
    {"dynamic4", "traces/trainings/synergy_dynamic_100job.csv.gz", MODELS_OF_4, 4, 4, 0, 100},
};

static const char *const orders[] = {"fifo", "srtf", "las", "ftf", NULL};
static const char *const allocations[] = {"proportional", "greedy", "tune", "opt", NULL};

static size_t index_of(const char *const *names, const char *name)
{
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0)
        i++;
    assert_non_null(names[i]);
    return i;
}

/* No server gives more than it has, and every training has all its GPUs or none. */
static void check_round(const struct rounds *rounds)
{
    const struct synergy_round *round = rounds->round;
    const struct synergy_servers *servers = &round->servers;
    double vcpus[16] = {0};
    double memory[16] = {0};
    uint32_t used[16] = {0};
    for (size_t i = 0; i < round->count; i++) {
        const struct synergy_training *training = round->list[i];
        uint32_t gpus = 0;
        for (uint32_t p = 0; p < training->pieces; p++) {
            const struct synergy_piece *piece = &round->pieces[training->piece + p];
            gpus += piece->gpus;
            used[piece->server] += piece->gpus;
            vcpus[piece->server] += piece->gpus * training->vcpus_per_gpu;
            memory[piece->server] += piece->gpus * training->memory_per_gpu;
        }
        assert_int_equal(gpus, training->placed ? training->gpus : 0);
    }
    for (uint32_t s = 0; s < servers->count; s++)
        if (used[s] > servers->gpus || vcpus[s] > servers->vcpus || memory[s] > servers->memory)
            fail_msg("server %u: %u GPUs, %g vCPUs, %g GB", s, used[s], vcpus[s], memory[s]);
}

static void compare(struct line_reader *lines, char *header)
{
    struct rounds rounds;
    char *set = formatted("%s", next_word(&header));
    char *order = formatted("%s", next_word(&header));
    char *allocation = formatted("%s", next_word(&header));
    const size_t count = (size_t)next_number(&header);
    const struct set *found = &sets[0];
    while (strcmp(found->name, set) != 0)
        found++;
    rounds_open(&rounds, found->path, found->models, found->servers, found->vcpus,
                (enum synergy_order)index_of(orders, order),
                (enum synergy_allocation)index_of(allocations, allocation), found->first,
                found->last);
    rounds.check = check_round;
    rounds_run(&rounds);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        char *line = NULL;
        assert_int_equal(line_reader_next(lines, &line, hear()), LINE_READ);
        const unsigned id = (unsigned)next_number(&line);
        const double finish = next_number(&line);
        const double attained = next_number(&line);
        if (rounds.finish_s[id] != finish || rounds.trainings[id].attained_s != attained)
            fail_msg("%s %s %s, training %u: finish %g, not %g; attained %g, not %g", set, order,
                     allocation, id, rounds.finish_s[id], finish, rounds.trainings[id].attained_s,
                     attained);
        if (id >= found->first && id < found->last)
            sum += finish - rounds.trainings[id].arrival_s;
    }
    print_message("%-12s %-5s %-13s mean JCT %.3f h\n", set, order, allocation,
                  sum / (double)(found->last - found->first) / 3600);
    rounds_close(&rounds);
}

CASE(every_finish_time_of_the_original_is_reproduced)
{
    struct line_reader lines = {0};
    char *line = NULL;
    size_t runs = 0;
    assert_true(line_reader_open(&lines, "tests/data/training/synergy_finishes.csv.gz", hear()));
    while (line_reader_next(&lines, &line, hear()) == LINE_READ) {
        compare(&lines, line);
        runs++;
    }
    line_reader_close(&lines);
    assert_int_equal(runs, 31);
}

/* ---- OPT ------------------------------------------------------------------------------------- */

/* Servers, optimum, then model, gang and number of trainings. The optima are those of scipy's HiGHS
 * on the authors' matrices. */
static const char *const programmes[] = {
    "1,10.8,mobilenet 1 1,gnmt 1 2,transformer 1 2,m5 1 1,lstm 1 1,shufflenet 1 1",
    "1,9.4,gnmt 1 2,deepspeech 1 1,transformer 1 2,lstm 1 2,res18 1 1",
    "1,11.0,m5 1 1,transformer 1 2,lstm 1 2,shufflenet 1 1,gnmt 1 1,alexnet 1 1",
    "4,41.08,transformer 1 8,lstm 1 8,gnmt 1 7,res50 1 2,m5 1 2,mobilenet 1 1,shufflenet 1 "
    "1,deepspeech 1 1,alexnet 1 1,res18 1 1",
    "4,42.87,deepspeech 1 2,transformer 1 8,lstm 1 7,alexnet 1 2,gnmt 1 7,res18 1 1,m5 1 2,res50 1 "
    "1,mobilenet 1 1,shufflenet 1 1",
    "4,25.14,lstm 4 3,deepspeech 1 1,gnmt 1 5,transformer 1 3,mobilenet 2 1,shufflenet 4 1,lstm 1 "
    "2,m5 1 1,alexnet 1 1,res18 1 1",
    "16,166.65,lstm 1 30,deepspeech 1 7,gnmt 1 30,transformer 1 30,res50 1 5,mobilenet 1 5,m5 1 "
    "6,shufflenet 1 5,alexnet 1 5,res18 1 5",
    "16,168.15,transformer 1 30,lstm 1 30,gnmt 1 30,mobilenet 1 5,m5 1 7,shufflenet 1 5,alexnet 1 "
    "5,deepspeech 1 6,res18 1 5,res50 1 5",
    "16,95.29,shufflenet 4 1,gnmt 1 11,transformer 1 11,lstm 1 12,alexnet 4 1,transformer 4 "
    "4,deepspeech 4 1,res18 1 3,lstm 4 2,gnmt 4 3,res50 1 2,m5 4 1,mobilenet 1 3,gnmt 2 "
    "3,shufflenet 1 2,lstm 8 1,deepspeech 1 2,alexnet 1 2,lstm 2 2,m5 1 2,res50 2 1,transformer 2 "
    "2,deepspeech 2 1",
    "64,673.33,lstm 1 120,shufflenet 1 21,gnmt 1 119,transformer 1 119,deepspeech 1 26,alexnet 1 "
    "21,res18 1 21,m5 1 25,res50 1 20,mobilenet 1 20",
};

static struct synergy_cells *cells_of(struct arena *arena, const struct training_models *models,
                                      double vcpus)
{
    struct synergy_cells *cells = arena_allocate(arena, models->count, sizeof *cells);
    for (uint32_t m = 0; m < models->count; m++)
        synergy_cells_build(arena, models->vcpus, models->vcpu_count, models->memory_gb,
                            models->memory_count, models->models[m].throughput, vcpus, 62.5,
                            training_throughput(models, m, vcpus, 62.5), &cells[m]);
    return cells;
}

/* Reads a line of `programmes` into classes; returns their number. */
static size_t read_programme(const char *line, const struct training_models *models,
                             const struct synergy_cells *cells, struct synergy_class *classes,
                             uint32_t chosen[][64], double *servers, double *optimum)
{
    size_t count = 0;
    char copy[512];
    char *text = copy;
    assert_true((size_t)snprintf(copy, sizeof copy, "%s", line) < sizeof copy);
    *servers = next_number(&text);
    *optimum = next_number(&text);
    for (; *text != '\0'; count++) {
        const char *model = next_word(&text);
        const uint32_t gpus = (uint32_t)next_number(&text);
        const uint32_t trainings = (uint32_t)next_number(&text);
        classes[count] =
            (struct synergy_class){.cells = &cells[training_models_find(models, model)],
                                   .gpus = gpus,
                                   .count = trainings,
                                   .chosen = chosen[count]};
    }
    return count;
}

CASE(the_optima_of_an_integer_programme_solver_are_found)
{
    OWNED(training_models_free)
    struct training_models *models =
        must(training_models_read("workloads/models/synergy-v100.json", hear()));
    struct synergy_cells *cells = cells_of(suite_arena(), models, 3);
    for (size_t p = 0; p < sizeof programmes / sizeof programmes[0]; p++) {
        struct synergy_class classes[64];
        uint32_t chosen[64][64];
        double servers = 0;
        double optimum = 0;
        double ours = 0;
        const size_t count =
            read_programme(programmes[p], models, cells, classes, chosen, &servers, &optimum);
        const clock_t begin = clock();
        assert_good(synergy_optimum(suite_arena(), classes, count, servers * 24, servers * 500,
                                    &ours, hear()));
        print_message("%2g servers: %.2f in %.1f ms\n", servers, ours,
                      (double)(clock() - begin) * 1e3 / CLOCKS_PER_SEC);
        if (!(fabs(ours - optimum) <= 1e-9 * optimum))
            fail_msg("programme %zu: %.17g, not %.17g", p, ours, optimum);
    }
}

/* The best sum of speeds by trying every cell for every training. */
static double exhaust(const struct synergy_class *classes, size_t count, size_t class,
                      uint32_t placed, double vcpus, double memory)
{
    if (class == count)
        return 0;
    const struct synergy_class *own = &classes[class];
    if (placed == own->count)
        return exhaust(classes, count, class + 1, 0, vcpus, memory);
    double best = -INFINITY;
    for (size_t c = 0; c < own->cells->count; c++) {
        const struct synergy_cell *cell = &own->cells->cells[c];
        const double left_vcpus = vcpus - own->gpus * cell->vcpus;
        const double left_memory = memory - own->gpus * cell->memory;
        if (left_vcpus >= -1e-9 && left_memory >= -1e-9)
            best = fmax(best, cell->speed + exhaust(classes, count, class, placed + 1, left_vcpus,
                                                    left_memory));
    }
    return best;
}

/* Random matrices, gangs and capacities; six trainings at most. */
CASE(the_optimum_is_that_of_exhaustive_search)
{
    struct random_stream random;
    struct arena arena = {0};
    size_t feasible = 0;
    for (unsigned trial = 0; trial < 600; trial++) {
        struct synergy_cells cells[3];
        struct synergy_class classes[3];
        uint32_t chosen[3][8];
        double ours = 0;
        random_stream_open(&random, 5, RANDOM_TEST, trial, 0);
        const double axis_vcpus[3] = {1, 3, 7};
        const double axis_memory[2] = {20.83, 62.5};
        for (size_t i = 0; i < 3; i++) {
            double matrix[6];
            for (size_t k = 0; k < 6; k++)
                matrix[k] = 0.1 + floor(random_uniform(&random) * 30) / 10;
            synergy_cells_build(&arena, axis_vcpus, 3, axis_memory, 2, matrix, 3, 62.5, 0,
                                &cells[i]);
            classes[i] =
                (struct synergy_class){.cells = &cells[i],
                                       .gpus = 1u << (unsigned)(random_uniform(&random) * 3),
                                       .count = (uint32_t)(random_uniform(&random) * 3),
                                       .chosen = chosen[i]};
        }
        const double vcpus = 5 + floor(random_uniform(&random) * 60);
        const double memory = 50 + random_uniform(&random) * 900;
        const double best = exhaust(classes, 3, 0, 0, vcpus, memory);
        const bool good = synergy_optimum(&arena, classes, 3, vcpus, memory, &ours, hear());
        assert_int_equal(good, isfinite(best));
        if (good && !(fabs(ours - best) <= 1e-9))
            fail_msg("trial %u: %.17g, not %.17g", trial, ours, best);
        feasible += good ? 1 : 0;
    }
    arena_clear(&arena);
    assert_true(feasible > 200);
}

static double speeds(const struct rounds *rounds, enum synergy_allocation allocation,
                     struct synergy_training *copies)
{
    struct arena arena = {0};
    struct synergy_round *round = synergy_round_create(&arena, &rounds->round->servers,
                                                       SYNERGY_FIFO, allocation, 1000 * 3600);
    for (size_t i = 0; i < rounds->round->count; i++) {
        copies[i] = *rounds->round->list[i];
        synergy_round_add(round, &copies[i]);
    }
    assert_true(synergy_round_run(round, rounds->now_s, hear()));
    double sum = 0;
    for (size_t i = 0; i < rounds->round->count; i++)
        sum += copies[i].placed ? copies[i].rate : 0;
    arena_clear(&arena);
    return sum;
}

static size_t compared;

/* The three allocations of the trainings of this round. */
static void check_speeds(const struct rounds *rounds)
{
    OWNED(free)
    struct synergy_training *copies = must(calloc(rounds->round->count + 1, sizeof *copies));
    const double opt = speeds(rounds, SYNERGY_OPT, copies);
    const double tune = speeds(rounds, SYNERGY_TUNE, copies);
    const double proportional = speeds(rounds, SYNERGY_PROPORTIONAL, copies);
    if (!(opt >= tune - 1e-9 && tune >= proportional - 1e-9))
        fail_msg("at %g s: opt %g, tune %g, proportional %g", rounds->now_s, opt, tune,
                 proportional);
    compared++;
}

/* At every ratio of vCPUs to GPUs. */
CASE(opt_is_never_slower_than_tune_nor_tune_than_proportional)
{
    static const double ratios[] = {2, 3, 4, 5, 6, 9, 12};
    for (size_t s = 0; s < 3; s++)
        for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++) {
            struct rounds rounds;
            if (s == 2 && ratios[r] != 3) /* 16 servers: slow */
                continue;
            rounds_open(&rounds, sets[s].path, sets[s].models, sets[s].servers, ratios[r],
                        SYNERGY_FIFO, SYNERGY_OPT, sets[s].first, sets[s].last);
            struct synergy_cells *cells = cells_of(&rounds.arena, rounds.models, ratios[r]);
            for (size_t i = 0; i < rounds.trace->count; i++)
                rounds.trainings[i].cells = &cells[rounds.specs[i].model];
            rounds.check = check_speeds;
            rounds_run(&rounds);
            rounds_close(&rounds);
        }
    assert_true(compared > 300);
}

/* ---- Optimistic profiling -------------------------------------------------------------------- */

/* vCPUs that the authors' profiler measures, after the share of 3: worked out by hand. */
static const struct {
    const char *model, *vcpus;
} measured[] = {{"alexnet", "24 12 6 5 4 2 1"}, {"res18", "24 12 6 5 4 2 1"},
                {"m5", "24 12 6 2 1"},          {"gnmt", "24 12 6 1"},
                {"res50", "24 12 6 2 1"},       {"deepspeech", "24 12 6 1"}};

static double planned_speed(struct arena *arena, const struct training_models *models,
                            const char *model, uint32_t points, double vcpus, double memory_gb)
{
    return training_throughput(synergy_profile(arena, models, 3, points),
                               (uint32_t)training_models_find(models, model), vcpus, memory_gb);
}

/* With k points, the plan has the truth at the share and at the first k - 1 of the profiler's
 * points, with any memory. */
CASE(the_profiler_measures_the_authors_points)
{
    OWNED(training_models_free)
    struct training_models *models = must(training_models_read(MODELS_OF_3, hear()));
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const uint32_t m = (uint32_t)training_models_find(models, measured[i].model);
        double vcpus[16] = {3};
        char *text = formatted("%s", measured[i].vcpus);
        uint32_t count = 1;
        for (; *text != '\0'; count++)
            vcpus[count] = next_number(&text);
        for (uint32_t k = 1; k <= count + 1; k++)
            for (uint32_t p = 0; p < k && p < count; p++)
                for (size_t c = 0; c < models->memory_count; c++) {
                    const double gb = models->memory_gb[c];
                    const double truth = training_throughput(models, m, vcpus[p], gb);
                    const double ours =
                        planned_speed(suite_arena(), models, measured[i].model, k, vcpus[p], gb);
                    if (ours != truth)
                        fail_msg("%s, %u points, %g vCPUs, %g GB: %g, not %g", measured[i].model, k,
                                 vcpus[p], gb, ours, truth);
                }
    }
    /* Between, above and below the points; memory limits what is between them, too. */
    static const struct {
        uint32_t points;
        double vcpus, memory_gb, speed;
    } between[] = {{1, 12, 125, 1},       {1, 1, 125, 1 / 3.0}, {2, 12, 125, 1 + 1.94 * 9 / 21},
                   {9, 9, 125, 4.69 / 2}, {9, 9, 62.5, 2},      {9, 9, 20.83, 0.1}};
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        assert_float_equal(planned_speed(suite_arena(), models, "alexnet", between[i].points,
                                         between[i].vcpus, between[i].memory_gb),
                           between[i].speed, 1e-12);
}

SUITE("synergy")
