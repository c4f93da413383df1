/* The search for capacity, against functions with a known answer, a scan of simulations and
 * queueing theory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gsl/gsl_randist.h>
#include <math.h>

#include "sim/cli/capacity_runner.h"
#include "sim/cli/guard.h"
#include "sim/engine/queueing_theory.h"
#include "tests/worlds.h"

/* ---- The search alone ------------------------------------------------------------------------ */

/* Holds on one side of `edge`; the edge itself holds. */
static bool step_holds(double value, double edge, bool below)
{
    return below ? value <= edge : value >= edge;
}

static void search_run(struct capacity_search *search, const struct capacity_range *range,
                       double edge, bool below)
{
    double value;
    capacity_search_start(search, range);
    while (capacity_search_next(search, &value)) {
        for (size_t i = 0; i < search->count; i++)
            assert_true(search->points[i].value != value);
        assert_true(!(value < range->low) && !(value > range->high));
        assert_true(!range->whole || value == floor(value));
        capacity_search_take(search, value, step_holds(value, edge, below));
    }
    assert_true(search->count < CAPACITY_POINTS / 2);
}

static void a_step_is_found_within_the_tolerance(void **state)
{
    (void)state;
    struct random_stream stream;
    random_stream_open(&stream, 17, RANDOM_TEST, 1, 1);
    for (size_t i = 0; i < 3000; i++) {
        const bool below = i % 2 == 0;
        const double edge = exp(6 * gsl_rng_uniform(&stream.rng) - 3);
        struct capacity_range range = {
            .start = edge * exp(8 * gsl_rng_uniform(&stream.rng) - 4),
            .low = i % 3 == 0 ? edge / (1.1 + 50 * gsl_rng_uniform(&stream.rng)) : NAN,
            .high = i % 5 == 0 ? edge * (1.1 + 50 * gsl_rng_uniform(&stream.rng)) : NAN,
            .tolerance = exp(-9 * gsl_rng_uniform(&stream.rng)) / 3,
            .direction = i % 7 < 3 ? CAPACITY_EITHER
                         : below   ? CAPACITY_GREATEST
                                   : CAPACITY_LEAST};
        struct capacity_search search;
        search_run(&search, &range, edge, below);
        double one;
        double two;
        assert_int_equal(capacity_search_verdict(&search), CAPACITY_FOUND);
        assert_int_equal(capacity_search_direction(&search),
                         below ? CAPACITY_GREATEST : CAPACITY_LEAST);
        assert_true(step_holds(search.holds, edge, below));
        assert_false(step_holds(search.fails, edge, below));
        assert_true(fabs(search.fails - search.holds) <= range.tolerance * search.holds);
        assert_true(capacity_search_value(&search) == search.holds);
        assert_false(capacity_search_turn(&search, &one, &two));
    }
}

static void whole_numbers_are_found_exactly(void **state)
{
    (void)state;
    for (int edge = 1; edge <= 70; edge++)
        for (int start = 1; start <= 70; start += 3)
            for (int below = 0; below < 2; below++) {
                const struct capacity_range range = {
                    .start = start, .low = NAN, .high = NAN, .whole = true, .tolerance = 0.02};
                struct capacity_search search;
                search_run(&search, &range, edge, below);
                /* Everything from 1 on holds. */
                if (edge == 1 && !below) {
                    assert_int_equal(capacity_search_verdict(&search), CAPACITY_ALL);
                    continue;
                }
                assert_true(search.holds == edge);
                assert_true(search.fails == (below ? edge + 1 : edge - 1));
            }
}

static void a_range_without_a_change_says_on_which_side_it_is(void **state)
{
    (void)state;
    static const struct {
        enum capacity_direction direction;
        double low, high;
        bool holds;
        enum capacity_verdict verdict;
        double value;
    } cases[] = {
        {CAPACITY_GREATEST, 2, 8, true, CAPACITY_ALL, 8},
        {CAPACITY_LEAST, 2, 8, true, CAPACITY_ALL, 2},
        {CAPACITY_EITHER, 2, 8, true, CAPACITY_ALL, NAN},
        {CAPACITY_GREATEST, 2, 8, false, CAPACITY_NONE, NAN},
        {CAPACITY_EITHER, 2, 8, false, CAPACITY_NONE, NAN},
        {CAPACITY_GREATEST, NAN, NAN, true, CAPACITY_ALL, 3.0 * CAPACITY_SPAN},
        {CAPACITY_LEAST, NAN, NAN, true, CAPACITY_ALL, 3.0 / CAPACITY_SPAN},
        {CAPACITY_LEAST, NAN, 8, false, CAPACITY_NONE, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct capacity_range range = {.start = 3,
                                             .low = cases[i].low,
                                             .high = cases[i].high,
                                             .tolerance = 0.02,
                                             .direction = cases[i].direction};
        struct capacity_search search;
        search_run(&search, &range, cases[i].holds ? 1e9 : 1e-9, true);
        const double value = capacity_search_value(&search);
        assert_int_equal(capacity_search_verdict(&search), cases[i].verdict);
        assert_true(isnan(cases[i].value) ? isnan(value) : value == cases[i].value);
    }
}

/* With the wrong direction: the end holds, and the visited values tell against the answer. */
static void a_change_against_the_direction_is_told(void **state)
{
    (void)state;
    const struct capacity_range range = {
        .start = 3, .low = 2, .high = 8, .tolerance = 0.02, .direction = CAPACITY_GREATEST};
    struct capacity_search search;
    double fails = 0;
    double holds = 0;
    search_run(&search, &range, 4, false);
    assert_int_equal(capacity_search_verdict(&search), CAPACITY_ALL);
    assert_true(capacity_search_turn(&search, &fails, &holds));
    assert_true(fails == 2 && holds == 8);
}

/* Values above 10 are not valid, and the condition holds at all others. */
static void a_value_that_is_refused_ends_the_range(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        const struct capacity_range range = {.start = 3,
                                             .low = NAN,
                                             .high = NAN,
                                             .whole = true,
                                             .tolerance = 0.02,
                                             .direction =
                                                 known ? CAPACITY_GREATEST : CAPACITY_EITHER};
        struct capacity_search search;
        double value;
        capacity_search_start(&search, &range);
        while (capacity_search_next(&search, &value))
            if (value > 10)
                assert_true(capacity_search_refuse(&search, value));
            else
                capacity_search_take(&search, value, true);
        assert_int_equal(capacity_search_verdict(&search), known ? CAPACITY_FOUND : CAPACITY_ALL);
        assert_true(!known || (search.holds == 10 && search.fails == 11));
        assert_true(known || (search.least == 1 && search.most == 6));
    }
}

/* ---- Against a scan of simulations ----------------------------------------------------------- */

enum { CASES = 20, SEEDS = 4 };
static const double scan_tolerance = 0.1;
/* The 95 % quantile of Student's t with 3 degrees of freedom, from the printed table. */
static const double t_of_scan = 2.353363;

struct scan_case {
    const char *key, *policy;
    double low, high, at_least;
    bool whole, below;
    struct override fixed[3]; /* with these the threshold is attained in a part of the range */
};

static struct scan_case scan_case_of(size_t i)
{
    static const char *const policies[] = {"fifo", "edf", "min-config", "esg"};
    static const double rates[] = {0.5, 0.7, 0.8, 0.9, 0.95};
    struct scan_case scan = {.policy = policies[i % 4], .at_least = rates[i % 5]};
    if (i < 8) {
        scan.key = "arrivals.rate_per_s";
        scan.low = 4;
        scan.high = 100;
        scan.below = true;
        scan.fixed[0] = (struct override){"slo.factor", "3"};
        scan.fixed[1] = (struct override){"requests", "100"};
        scan.fixed[2] = (struct override){"record", "summary"};
    } else if (i < 14) {
        scan.key = "slo.factor";
        scan.low = 0.6;
        scan.high = 8;
        scan.fixed[0] = (struct override){"arrivals.rate_per_s", "4"};
        scan.fixed[1] = (struct override){"requests", "100"};
        scan.fixed[2] = (struct override){"record", "summary"};
    } else {
        scan.key = "cluster.invokers.0.count";
        scan.low = 1;
        scan.high = 24;
        scan.whole = true;
        scan.fixed[0] = (struct override){"slo.factor", "3"};
        scan.fixed[1] = (struct override){"arrivals.rate_per_s", "120"};
        scan.fixed[2] = (struct override){"platform.initial", "warm"};
    }
    return scan;
}

static void scan_world(char json[WORLD_BYTES], size_t number)
{
    world_random(json, number, false);
    char seed[32];
    (void)snprintf(seed, sizeof seed, "\"seed\":%zu", number + 1);
    world_replace(json, "\"requests\":400", "\"requests\":100");
    world_replace(json, seed, "\"seed\":1");
}

/* The lower confidence limit of the hit rate, by code of its own. */
static bool scan_holds(const char *path, const struct scan_case *scan, double value)
{
    double sum = 0;
    double squares = 0;
    char text[32];
    double *values = NULL;
    struct error error = {0};
    (void)snprintf(text, sizeof text, "%.17g", value);
    const struct override overrides[] = {scan->fixed[0],
                                         scan->fixed[1],
                                         scan->fixed[2],
                                         {"policy.name", scan->policy},
                                         {scan->key, text}};
    struct experiment *experiment = experiment_load(path, overrides, 5, &error);
    assert_non_null(experiment);
    const struct policy *policy = runner_policy(experiment, &values, &error);
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct simulation_result result;
        experiment->seed = seed;
        assert_true(simulation_run(experiment, policy, values, NULL, NULL, &result, &error));
        sum += result.overall.slo_hit_rate;
        squares += result.overall.slo_hit_rate * result.overall.slo_hit_rate;
        simulation_result_clear(&result);
    }
    free(values);
    experiment_free(experiment);
    const double mean = sum / SEEDS;
    const double variance = fmax(0, (squares - SEEDS * mean * mean) / (SEEDS - 1));
    return mean - t_of_scan * sqrt(variance / SEEDS) >= scan->at_least;
}

/* Returns whether the scan gives the same answer: it holds up to the value found, and fails from
 * the value on at which the search failed. */
static bool scan_agrees(size_t number, const char *path, const struct scan_case *scan,
                        const struct capacity_search *search)
{
    size_t against = 0;
    assert_int_equal(capacity_search_verdict(search), CAPACITY_FOUND);
    assert_true(scan_holds(path, scan, search->holds));
    assert_false(scan_holds(path, scan, search->fails));
    for (double value = scan->low; value <= scan->high;
         value = scan->whole ? value + 1 : value * (1 + scan_tolerance / 2)) {
        const bool within = step_holds(value, search->holds, scan->below);
        if (within || step_holds(value, search->fails, !scan->below))
            against += scan_holds(path, scan, value) != within;
    }
    print_message("case %zu: %s %g, fails at %g; the scan disagrees at %zu values\n", number,
                  scan->key, search->holds, search->fails, against);
    return against == 0;
}

static void the_value_found_is_that_of_a_scan(void **state)
{
    (void)state;
    size_t agreed = 0;
    for (size_t c = 0; c < CASES; c++) {
        char path[] = "/tmp/esgsim-test-XXXXXX";
        char json[WORLD_BYTES];
        const struct scan_case scan = scan_case_of(c);
        struct capacity_answer answer;
        struct error error = {0};
        scan_world(json, c);
        write_temporary(path, json);
        const struct capacity_question question = {.path = path,
                                                   .overrides = scan.fixed,
                                                   .override_count = 3,
                                                   .key = scan.key,
                                                   .metric = metric_find("slo_hit_rate"),
                                                   .threshold = scan.at_least,
                                                   .low = scan.low,
                                                   .high = scan.high,
                                                   .tolerance = scan_tolerance,
                                                   .policies = {scan.policy},
                                                   .policy_count = 1,
                                                   .seeds = SEEDS,
                                                   .jobs = 2,
                                                   .quiet = true};
        if (!capacity_run(&question, &answer, &error))
            fail_msg("case %zu: %s", c, error.message);
        assert_int_equal(answer.first_seed, 1);
        assert_int_equal(answer.whole, scan.whole);
        agreed += scan_agrees(c, path, &scan, &answer.curves[0].search);
        capacity_answer_clear(&answer);
        (void)unlink(path);
    }
    /* A curve that is not monotone has several answers, of which the search finds one. */
    assert_true(agreed >= CASES * 3 / 4);
}

/* ---- Against queueing theory ----------------------------------------------------------------- */

/* M/M/4, 10 ms each: the arrival rate at which the mean latency is 15 ms. */
static void the_rate_that_an_mmc_queue_sustains_is_that_of_erlang(void **state)
{
    (void)state;
    static const struct override overrides[] = {{"requests", "5000"}, {"warmup_requests", "500"}};
    const double limit_ms = 15;
    const struct capacity_question question = {.path = "workloads/experiments/theory/mmc.json",
                                               .overrides = overrides,
                                               .override_count = 2,
                                               .key = "arrivals.rate_per_s",
                                               .metric = metric_find("latency_ms_mean"),
                                               .at_most = true,
                                               .threshold = limit_ms,
                                               .direction = CAPACITY_GREATEST,
                                               .low = 200,
                                               .high = 390,
                                               .tolerance = 0.02,
                                               .seeds = 10,
                                               .jobs = 2,
                                               .quiet = true};
    struct capacity_answer answer;
    struct error error = {0};
    if (!capacity_run(&question, &answer, &error))
        fail_msg("%s", error.message);
    const struct capacity_curve *curve = &answer.curves[0];
    assert_int_equal(capacity_search_verdict(&curve->search), CAPACITY_FOUND);
    for (size_t i = 0; i < curve->search.count; i++) {
        const double rate = curve->search.points[i].value;
        const struct capacity_estimate *estimate = &curve->estimates[i];
        const double theory = queueing_mmc_wait(rate / 1000, 10, 4) + 10;
        /* The 99.9 % interval, two-sided; 4.781 and 1.833 are quantiles of t with 9 degrees. */
        const double half = (estimate->limit - estimate->mean) * 4.781 / 1.833;
        print_message("%g per s: %.3f ± %.3f ms, in theory %.3f\n", rate, estimate->mean, half,
                      theory);
        assert_true(fabs(estimate->mean - theory) <= half);
        if (rate == curve->search.holds)
            assert_true(theory <= limit_ms);
        if (rate == curve->search.fails)
            assert_true(theory + 2 * half >= limit_ms);
    }
    capacity_answer_clear(&answer);
}

/* ---- The runner ------------------------------------------------------------------------------ */

static void answers_do_not_depend_on_the_number_of_workers(void **state)
{
    (void)state;
    char path[] = "/tmp/esgsim-test-XXXXXX";
    char json[WORLD_BYTES];
    struct capacity_answer answers[2];
    scan_world(json, 3);
    write_temporary(path, json);
    for (size_t i = 0; i < 2; i++) {
        const struct capacity_question question = {.path = path,
                                                   .key = "arrivals.rate_per_s",
                                                   .metric = metric_find("slo_hit_rate"),
                                                   .threshold = 0.8,
                                                   .low = NAN,
                                                   .high = NAN,
                                                   .direction = CAPACITY_GREATEST,
                                                   .tolerance = 0.1,
                                                   .policies = {"fifo", "edf"},
                                                   .policy_count = 2,
                                                   .seeds = 3,
                                                   .jobs = i == 0 ? 1 : 5,
                                                   .quiet = true};
        struct error error = {0};
        if (!capacity_run(&question, &answers[i], &error))
            fail_msg("%s", error.message);
    }
    for (size_t p = 0; p < 2; p++) {
        const struct capacity_curve *one = &answers[0].curves[p];
        const struct capacity_curve *two = &answers[1].curves[p];
        assert_int_equal(one->search.count, two->search.count);
        for (size_t i = 0; i < one->search.count; i++) {
            assert_true(one->search.points[i].value == two->search.points[i].value);
            assert_memory_equal(one->estimates[i].values, two->estimates[i].values,
                                3 * sizeof(double));
        }
    }
    for (size_t i = 0; i < 2; i++)
        capacity_answer_clear(&answers[i]);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_found_within_the_tolerance),
        cmocka_unit_test(whole_numbers_are_found_exactly),
        cmocka_unit_test(a_range_without_a_change_says_on_which_side_it_is),
        cmocka_unit_test(a_change_against_the_direction_is_told),
        cmocka_unit_test(a_value_that_is_refused_ends_the_range),
        cmocka_unit_test(the_value_found_is_that_of_a_scan),
        cmocka_unit_test(the_rate_that_an_mmc_queue_sustains_is_that_of_erlang),
        cmocka_unit_test(answers_do_not_depend_on_the_number_of_workers),
    };
    return cmocka_run_group_tests_name("capacity", tests, NULL, NULL);
}
