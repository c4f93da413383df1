/* Running seeds until the interval is narrow: where it stops, and how often the interval it stops
 * with covers the truth. */
#include <gsl/gsl_randist.h>

#include "sim/engine/statistics.h"
#include "tests/suite.h"

enum { FIRST = 10, LIMIT = 200, TRIALS = 10000 };

static size_t run_to_the_end(const double *values, size_t first, double half_width, size_t limit)
{
    size_t n = first;
    for (;;) {
        size_t next = statistics_next_count(values, n, half_width, limit);
        assert_in_range(next, n, limit);
        assert_true(next <= 2 * n);
        if (next == n)
            return n;
        n = next;
    }
}

static double normal(gsl_rng *rng)
{
    return gsl_ran_gaussian_ziggurat(rng, 1);
}

/* Mean 0, variance 1, skewness 2. */
static double exponential(gsl_rng *rng)
{
    return gsl_ran_exponential(rng, 1) - 1;
}

struct stop {
    double coverage, mean_seeds;
};

static struct stop measure(double (*draw)(gsl_rng *), size_t first, double half_width)
{
    gsl_rng *rng = seeded(7);
    size_t covered = 0;
    double seeds = 0;
    for (size_t trial = 0; trial < TRIALS; trial++) {
        double values[LIMIT];
        for (size_t i = 0; i < LIMIT; i++)
            values[i] = draw(rng);
        size_t n = run_to_the_end(values, first, half_width, LIMIT);
        struct estimate estimate = statistics_estimate(values, n);
        assert_true(n == LIMIT || estimate.half_width <= half_width);
        covered += fabs(estimate.mean) <= estimate.half_width;
        seeds += (double)n / TRIALS;
    }
    return (struct stop){(double)covered / TRIALS, seeds};
}

CASE(the_interval_at_the_stop_covers_the_mean_nearly_as_often_as_it_says)
{
    static const struct {
        const char *name;
        double (*draw)(gsl_rng *);
        size_t first;
        double half_width, least;
    } cases[] = {
        {"normal", normal, FIRST, 0.5, 0.92},
        {"normal", normal, FIRST, 0.3, 0.92},
        {"normal", normal, FIRST, 0.2, 0.93},
        {"normal, few seeds", normal, 3, 0.3, 0.91},
        {"exponential", exponential, FIRST, 0.5, 0.88},
        {"exponential", exponential, FIRST, 0.2, 0.88},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stop stop = measure(cases[i].draw, cases[i].first, cases[i].half_width);
        print_message("%-17s from %2zu seeds to half-width %.1f sd: %5.1f seeds on average, "
                      "covers in %.1f %%\n",
                      cases[i].name, cases[i].first, cases[i].half_width, stop.mean_seeds,
                      100 * stop.coverage);
        assert_true(stop.coverage >= cases[i].least && stop.coverage <= 0.97);
    }
}

/* Half-width h of a known deviation s needs about (t s / h)^2 values. */
CASE(it_stops_near_the_count_that_theory_asks_for)
{
    struct stop stop = measure(normal, FIRST, 0.2);
    double needed = pow(statistics_t_quantile(96) / 0.2, 2);
    assert_true(stop.mean_seeds > 0.9 * needed && stop.mean_seeds < 1.2 * needed);
}

CASE(equal_values_stop_at_once_and_undefined_ones_at_the_limit)
{
    double values[LIMIT];
    for (size_t i = 0; i < LIMIT; i++)
        values[i] = 0.5;
    assert_int_equal(run_to_the_end(values, FIRST, 1e-9, LIMIT), FIRST);
    for (size_t i = 0; i < LIMIT; i++)
        values[i] = NAN;
    assert_int_equal(run_to_the_end(values, FIRST, 1, LIMIT), LIMIT);
    assert_int_equal(run_to_the_end(values, 2, 1, 2), 2);
}

SUITE("sequential")
