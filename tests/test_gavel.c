/* gavel: its shares against every point of a grid and against GLPK, its rounds against the authors'
 * runs, and that no policy gives a training a GPU of a model that it does not accept. */
#include "sched/sharing/gavel_shares.h"

#include "sched/policy_training.h"
#include "sim/engine/random.h"
#include "tests/fixture_simulation.h"
#include "tests/suite.h"

enum { CLASSES = 12, TYPES = 3, STEPS = 12 };

/* Invokers of one GPU. */
#define NODES(count, model)                                                                        \
    "{'count': " #count ", 'vcpus': 8, 'memory_mb': 65536, 'gpus': [{'model': '" model "', "       \
    "'sharing': 'mps', 'units': 100, 'memory_mb': 16384}]}"

static const double gpus_of[TYPES] = {5, 7, 9};

/* ---- Shares ---------------------------------------------------------------------------------- */

/* Random classes of trainings; some cannot run on some types. */
static void draw(struct gavel_class *classes, size_t count, size_t types, uint64_t seed)
{
    RANDOM_STREAM(random, seed, 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        classes[i] = (struct gavel_class){.count = 1 + floor(3 * random_uniform(&random)),
                                          .gpus = exp2(floor(3 * random_uniform(&random)))};
        for (size_t t = 0; t < types; t++)
            classes[i].rates[t] = floor(1 + 99 * random_uniform(&random)) / 10;
        if (random_uniform(&random) < 0.3)
            classes[i].rates[1] = 0;
    }
}

/* What the programme maximises, by its definition. A negative number: the shares break a limit. */
static double value(bool max_sum, const struct gavel_class *classes, size_t count, size_t types)
{
    double used[TYPES] = {0}, sum = 0, least = INFINITY, all = 0;
    for (size_t t = 0; t < types; t++)
        all += gpus_of[t];
    for (size_t i = 0; i < count; i++) {
        const struct gavel_class *class = &classes[i];
        double time = 0, rate = 0, equal = 0;
        for (size_t t = 0; t < types; t++) {
            time += class->shares[t];
            rate += class->shares[t] * class->rates[t];
            equal += class->rates[t] * gpus_of[t] / all;
            used[t] += class->shares[t] * class->count * class->gpus;
            if (class->shares[t] < 0 || used[t] > gpus_of[t] + 1e-9)
                return -1;
        }
        if (time > 1 + 1e-9)
            return -1;
        sum += class->count * rate;
        least = fmin(least, rate * class->gpus / equal);
    }
    return max_sum ? sum : least;
}

CASE(no_point_of_a_grid_is_better)
{
    struct arena arena = {0};
    for (uint64_t seed = 0; seed < 40; seed++) {
        const bool max_sum = seed % 2 == 1;
        struct gavel_class classes[2] = {0}, grid[2];
        draw(classes, 2, 2, seed);
        gavel_share(&arena, max_sum, classes, 2, gpus_of, 2);
        const double found = value(max_sum, classes, 2, 2);
        double best = 0;
        memcpy(grid, classes, sizeof grid);
        for (unsigned point = 0; point < 13 * 13 * 13 * 13; point++) {
            unsigned rest = point;
            for (unsigned k = 0; k < 4; k++, rest /= STEPS + 1)
                grid[k / 2].shares[k % 2] = (double)(rest % (STEPS + 1)) / STEPS;
            best = fmax(best, value(max_sum, grid, 2, 2));
        }
        assert_true(found >= best - 1e-9 && best > 0);
    }
}

/* By glpsol of GLPK 5.0 on the same programmes. */
CASE(the_optimum_is_that_of_another_solver)
{
    static const double optima[][2] = {
        {1.475121951, 82.55}, {1.068965517, 120.55}, {1.07586477, 96.3},  {1.441176471, 110.9},
        {1.089445438, 141.3}, {1.067538126, 107.55}, {1.386443662, 96.9}, {1.471078342, 114.5}};
    struct arena arena = {0};
    for (uint64_t seed = 0; seed < sizeof optima / sizeof optima[0]; seed++)
        for (unsigned max_sum = 0; max_sum < 2; max_sum++) {
            struct gavel_class classes[CLASSES];
            draw(classes, CLASSES, TYPES, 100 + seed);
            gavel_share(&arena, max_sum > 0, classes, CLASSES, gpus_of, TYPES);
            const double found = value(max_sum > 0, classes, CLASSES, TYPES);
            if (fabs(found / optima[seed][max_sum] - 1) > 1e-9)
                fail_msg("seed %u: %.9g", (unsigned)seed, found);
            arena_clear(&arena);
        }
}

/* Two trainings share the GPU on which alone they run, which limits LAS. The third could do with
 * half of its time on the others. */
CASE(what_the_least_leaves_goes_to_the_rest)
{
    static const double gpus[] = {1, 1};
    struct gavel_class classes[2] = {{.count = 2, .gpus = 1, .rates = {1, 0}},
                                     {.count = 1, .gpus = 1, .rates = {0, 1}}};
    gavel_share(suite_arena(), false, classes, 2, gpus, 2);
    assert_true(fabs(classes[0].shares[0] - 0.5) < 1e-9);
    assert_true(fabs(classes[1].shares[1] - 1) < 1e-9);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Mean completion time of trainings 4000 to 4999 at 4 per hour on 36 V100, 36 P100 and 36 K80, seed
 * 0, LAS: 16.82 h (output of a cell in scheduler/notebooks/figures/evaluation/continuous_jobs.ipynb
 * of stanford-futuredata/gavel at c4fa400). Of several optima their solver takes others. */
CASE(completion_times_are_within_three_per_cent_of_the_authors)
{
    assert_good(run_recorded(
        "{'cluster': {'invokers': [" NODES(36, "V100") ", " NODES(36, "P100") ", " NODES(
            36, "K80") "]}, 'training': {'models': "
                       "'workloads/models/gavel-gpus.json', 'arrivals': {'process': 'trace', "
                       "'file': 'traces/trainings/gavel_s0_4ph_single.csv.gz'}, 'measured': "
                       "[4000, 5000], 'stop': 'measured', 'restart': 'none'}, 'policy': "
                       "{'name': 'gavel'}}",
        NULL, NULL, 0, NULL, anew(), hear()));
    print_message("%.3f h\n", result.training->jct_s_mean / 3600);
    assert_true(fabs(result.training->jct_s_mean / 3600 / 16.82 - 1) < 0.03);
}

/* ---- Models of GPU --------------------------------------------------------------------------- */

#define PAIR(model)                                                                                \
    "{'count': 2, 'vcpus': 8, 'memory_mb': 65536, 'gpus': [{'model': '" model "', 'sharing': "     \
    "'mps', 'units': 100, 'memory_mb': 16384, 'count': 2}]}"
#define TYPED(file, name)                                                                          \
    "{'cluster': {'invokers': [" PAIR("A") ", " PAIR("B") ", " PAIR(                               \
        "C") "]}, 'training': "                                                                    \
             "{'models': {'name': 'm', 'gpu': 'A', 'models': {'a': {'class': 'image', "            \
             "'iteration_s': 1, "                                                                  \
             "'iteration_s_on': {'B': 3, 'C': 2}}, 'b': {'class': 'image', 'iteration_s': 2, "     \
             "'iteration_s_on': {'B': 2, 'C': 9}}}, 'pairs': {'default': 1.2}}, 'arrivals': "      \
             "{'process': "                                                                        \
             "'trace', 'format': 'esgsim', 'file': '" file "'}}, 'policy': {'name': '" name "'}}"

static uint64_t accepted[64]; /* by training: bits of the three models */
static unsigned leases;

static bool check_placed(void *context, const struct lease_row *row, struct error *error)
{
    leases++;
    assert_true((accepted[row->training] >> row->first_invoker / 2 & 1) != 0);
    return true;
}

CASE(no_policy_gives_a_gpu_of_a_model_that_is_not_accepted)
{
    static const char *const policies[] = {"fifo", "sjf",  "sjf-ffs", "sjf-bsbf", "tiresias",
                                           "srtf", "srsf", "fgd",     "gavel"};
    static const char *const lists[] = {"", "A", "B|A", "C", "C|A|X", "B", "X|B|C"};
    static const uint64_t bits[] = {7, 1, 3, 4, 5, 2, 6};
    char json[2048], lines[4096], *at = lines;
    at += sprintf(at, "arrival_s,gpus,model,iterations,gpu_types\n");
    for (unsigned i = 0; i < 64; i++) {
        accepted[i] = bits[i % 7];
        at += sprintf(at, "%u,%u,%s,%u,%s\n", 3 * i, 1 + i % 2, i % 3 > 0 ? "a" : "b",
                      10 + 37 * (i % 11), lists[i % 7]);
    }
    TEMPORARY(path, lines);
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        const struct recorder recorder = {.lease = check_placed};
        (void)snprintf(json, sizeof json, TYPED("%s", "%s"), path, policies[p]);
        leases = 0;
        assert_good(run_recorded(json, NULL, NULL, 0, &recorder, anew(), hear()));
        assert_int_equal(result.training->finished, 64);
        assert_true(leases >= 64);
    }
    (void)snprintf(json, sizeof json, TYPED("%s", "synergy"), path);
    assert_bad_input(run_recorded(json, NULL, NULL, 0, NULL, anew(), hear()),
                     "all GPUs must be alike");
}

static const char *refuse_nothing(void *state, uint32_t gpus, double memory_mb, uint64_t types)
{
    (void)gpus;
    (void)memory_mb;
    (void)types;
    return NULL;
}

static bool misplace(void *state, struct platform *platform)
{
    const struct training_grant grant = {.share = 100, .quota = 100};
    if (platform_next_training(platform, 0) != SIM_NONE)
        (void)platform_place(platform, 0, &grant, 1, SIM_FOREVER);
    return false;
}

CASE(the_platform_refuses_other_models_and_too_large_gangs)
{
    static const struct refusal cases[] = {
        {"0,1,a,9,B|C", "a GPU of a model that its gpu_types lack"},
        {"0,1,a,9,B|C", "it does not choose among models of GPU"},
        {"0,5,a,9,B", "needs 0 MB on each of 5 GPUs of its gpu_types, and 4 GPUs"}};
    POLICY(wrong, .decide = misplace, .refuses_gang = refuse_nothing, .serves = SERVES_TRAININGS);
    POLICY(blind, .decide = misplace, .serves = SERVES_TRAININGS);
    for (unsigned c = 0; c < 3; c++) {
        TEMPORARY(path,
                  formatted("arrival_s,gpus,model,iterations,gpu_types\n%s\n", cases[c].text));
        char *json = formatted(TYPED("%s", "fifo"), path);
        if (c < 2) {
            assert_false(
                run_recorded(json, c == 0 ? &wrong : &blind, NULL, 0, NULL, anew(), hear()));
            assert_non_null(strstr(heard.message, cases[c].words));
        } else {
            assert_text_refused(json, NULL, NULL, cases[c].words);
        }
    }
}

SUITE("gavel")
