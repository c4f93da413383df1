/* Intervals against published tables and data, and their coverage. */
#include <gsl/gsl_randist.h>

#include "sim/engine/statistics.h"
#include "tests/suite.h"

/* NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, column 0.975. */
CASE(quantiles_agree_with_the_published_t_table)
{
    static const struct {
        double degrees, quantile;
    } table[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},  {9, 2.262},
                 {10, 2.228}, {20, 2.086}, {29, 2.045}, {30, 2.042}, {60, 2.000}, {100, 1.984}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_true(fabs(statistics_t_quantile(table[i].degrees) - table[i].quantile) < 5.1e-4);
}

/* NIST/SEMATECH e-Handbook 1.3.5.2, data ZARR13: n 195, 95 % limits 9.258242 to 9.264679. */
CASE(half_width_agrees_with_the_nist_example)
{
    double half = statistics_t_quantile(194) * 0.022789 / sqrt(195);
    assert_true(fabs(half - (9.264679 - 9.258242) / 2) < 1e-6);
}

/* Student, "The probable error of a mean", Biometrika 6 (1908): hours of sleep gained with two
 * drugs. The difference is 1.58 h, t = 4.0621 with 9 degrees of freedom, 95 % interval 0.7001
 * to 2.4599. */
CASE(paired_difference_agrees_with_students_sleep_data)
{
    static const double first[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
    static const double second[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
    double gained[10];
    for (size_t i = 0; i < 10; i++)
        gained[i] = second[i] - first[i];
    struct estimate gain = statistics_estimate(gained, 10);
    assert_int_equal(gain.n, 10);
    assert_true(fabs(gain.mean - 1.58) < 1e-12);
    assert_true(fabs(gain.mean / (gain.sd / sqrt(10)) - 4.0621) < 5e-5);
    assert_true(fabs(gain.mean - gain.half_width - 0.7001142) < 1e-6);
    assert_true(fabs(gain.mean + gain.half_width - 2.4598858) < 1e-6);
    /* Unpaired, the same data do not even exclude zero: this is what pairing is for. */
    struct estimate a = statistics_estimate(first, 10);
    struct estimate b = statistics_estimate(second, 10);
    assert_true(b.mean - b.half_width < a.mean + a.half_width);
}

CASE(one_value_has_a_mean_and_no_interval)
{
    struct estimate one = statistics_estimate((double[]){3.5}, 1);
    assert_int_equal(one.n, 1);
    assert_true(one.mean == 3.5);
    assert_true(isnan(one.sd) && isnan(one.half_width));
    struct estimate none = statistics_estimate(NULL, 0);
    assert_true(isnan(none.mean) && isnan(none.half_width));
}

CASE(a_missing_value_makes_the_figure_missing)
{
    struct estimate estimate = statistics_estimate((double[]){1, NAN, 3}, 3);
    assert_true(isnan(estimate.mean) && isnan(estimate.half_width));
}

/* Of 20,000 intervals over 5 normal values, 95 % cover the true mean; the tolerance is 4 standard
 * errors of that share. */
CASE(intervals_cover_the_true_mean_as_often_as_they_say)
{
    enum { TRIALS = 20000, VALUES = 5 };
    gsl_rng *rng = seeded(20240605);
    int covered = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        double values[VALUES];
        for (int i = 0; i < VALUES; i++)
            values[i] = 7 + gsl_ran_gaussian(rng, 3);
        struct estimate estimate = statistics_estimate(values, VALUES);
        covered += fabs(estimate.mean - 7) <= estimate.half_width;
    }
    assert_true(fabs((double)covered / TRIALS - 0.95) < 4 * sqrt(0.95 * 0.05 / TRIALS));
}

/* `observations`: of all values. */
static struct estimate estimate_share(const double *values, size_t n, double observations)
{
    double worth[8];
    for (size_t i = 0; i < n; i++)
        worth[i] = observations / (double)n;
    return statistics_of_seeds(&(struct seed_values){
        .values = values, .worth = worth, .valued = n, .seeds = n, .share = true});
}

/* The ends of Wilson's interval are the shares L with (p - L)² = t² L (1 - L) / m, where m is the
 * effective number of observations, p (1 - p) / (sd² / n). */
CASE(an_interval_of_shares_is_wilsons_and_stays_within_0_and_1)
{
    static const double cases[][3] = {{1, 0.75, 1}, {0, 0.02, 0}, {0.4, 0.5, 0.6}, {1, 0.999, 1}};
    const double t = 4.302653; /* of 2 degrees of freedom, from tables */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct estimate share = estimate_share(cases[i], 3, NAN);
        const double p = share.mean, observations = p * (1 - p) / (share.sd * share.sd / 3);
        assert_true(share.low >= 0 && share.low < p && p < share.high && share.high <= 1);
        assert_true(fabs(share.half_width - (share.high - share.low) / 2) < 1e-12);
        const double ends[] = {share.low, share.high};
        for (size_t e = 0; e < 2; e++)
            assert_true(fabs((p - ends[e]) * (p - ends[e]) -
                             t * t * ends[e] * (1 - ends[e]) / observations) < 1e-6);
    }
    const struct estimate equal = estimate_share((double[]){1, 1, 1}, 3, NAN);
    assert_true(equal.low == 1 && equal.high == 1 && equal.half_width == 0);
    assert_true(isnan(estimate_share((double[]){0.5}, 1, 100).low));
}

/* Wilson's interval of 0 misses of 1,000 begins at 1,000 / (1,000 + 1.96²). */
CASE(equal_shares_have_the_interval_of_their_requests)
{
    const double z = 1.959964;
    const struct estimate hit = estimate_share((double[]){1, 1, 1}, 3, 1000);
    const struct estimate missed = estimate_share((double[]){0, 0, 0}, 3, 1000);
    assert_absolute(hit.low, 1000 / (1000 + z * z), 1e-9);
    assert_true(hit.mean == 1 && hit.high == 1);
    assert_absolute(missed.high, 1 - hit.low, 1e-9);
    assert_absolute(hit.half_width, (1 - hit.low) / 2, 1e-12);
    /* Where every seed has hits and misses, their spread tells enough. */
    const double spread[] = {0.9, 0.95, 0.97};
    assert_true(estimate_share(spread, 3, 10).low == estimate_share(spread, 3, NAN).low);
    /* A seed without a miss does not shorten the interval. */
    const struct estimate rare = estimate_share((double[]){1, 1, 0.999}, 3, 3000);
    assert_true(rare.low <= estimate_share((double[]){1, 1, 1}, 3, 3000).low);
    struct seed_values seeds = {.values = (double[]){1, 1, 1},
                                .worth = (double[]){100, 400, 400},
                                .valued = 3,
                                .seeds = 3,
                                .share = true,
                                .confidence = 0.99};
    /* Of runs with equal weights: 9 / (1/100 + 1/400 + 1/400) = 600. */
    assert_absolute(statistics_of_seeds(&seeds).low, 600 / (600 + 2.575829 * 2.575829), 1e-6);
    seeds.exact = true;
    assert_true(isnan(statistics_of_seeds(&seeds).low));
}

/* Hit rates near 1 are skewed: of 20,000 intervals over 5 of them, Student's cover the mean in 92 %
 * of cases, Wilson's in 94 %. */
CASE(an_interval_of_shares_near_1_covers_the_mean_more_often_than_students)
{
    enum { TRIALS = 20000, VALUES = 5 };
    const double truth = 0.99, size = 200;
    gsl_rng *rng = seeded(20261123);
    int covered[2] = {0, 0};
    for (int trial = 0; trial < TRIALS; trial++) {
        double values[VALUES];
        for (int i = 0; i < VALUES; i++)
            values[i] = gsl_ran_beta(rng, truth * size, (1 - truth) * size);
        const struct estimate both[] = {statistics_estimate(values, VALUES),
                                        estimate_share(values, VALUES, NAN)};
        for (int e = 0; e < 2; e++)
            covered[e] += both[e].low <= truth && truth <= both[e].high;
    }
    assert_true((double)covered[1] / TRIALS > 0.935);
    assert_true(covered[1] > covered[0]);
}

/* Of Student's sleep data above: p = 0.00283 with 9 degrees of freedom. */
CASE(p_values_agree_with_the_interval)
{
    static const double gained[] = {1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4};
    const struct estimate gain = statistics_estimate(gained, 10);
    assert_true(fabs(statistics_p_value(&gain) - 0.00283) < 5e-6);
    struct estimate edge = gain;
    edge.mean = gain.half_width; /* its interval begins at 0 */
    assert_true(fabs(statistics_p_value(&edge) - 0.05) < 1e-9);
    const struct estimate one = statistics_estimate(gained, 1);
    assert_true(isnan(statistics_p_value(&one)));
    const struct estimate equal = statistics_estimate((double[]){2, 2}, 2);
    assert_true(statistics_p_value(&equal) == 0);
    const struct estimate zero = statistics_estimate((double[]){0, 0}, 2);
    assert_true(statistics_p_value(&zero) == 1);
}

/* Rejects one after another, as Holm's paper has it: the smallest p-value at 0.05 / n, and so on.
 */
static bool holm_rejects(const double *p, size_t n, size_t which)
{
    bool done[16] = {false};
    for (size_t left = n; left > 0; left--) {
        size_t least = n;
        for (size_t i = 0; i < n; i++)
            if (!done[i] && (least == n || p[i] < p[least]))
                least = i;
        if (!(p[least] < 0.05 / (double)left))
            return false;
        done[least] = true;
        if (least == which)
            return true;
    }
    return false;
}

CASE(holms_adjustment_rejects_step_by_step)
{
    enum { MOST = 12 };
    gsl_rng *rng = seeded(1979);
    size_t rejected = 0;
    for (int trial = 0; trial < 2000; trial++) {
        double p[MOST + 1], adjusted[MOST + 1];
        const size_t n = 1 + gsl_rng_uniform_int(rng, MOST);
        for (size_t i = 0; i < n; i++) /* small ones, with ties */
            p[i] = floor(pow(gsl_rng_uniform(rng), 3) * 200) / 2000;
        p[n] = NAN;
        assert_int_equal(statistics_holm(p, n + 1, adjusted), n);
        assert_true(isnan(adjusted[n]));
        for (size_t i = 0; i < n; i++) {
            assert_true(adjusted[i] >= p[i] && adjusted[i] <= 1);
            assert_int_equal(adjusted[i] < 0.05, holm_rejects(p, n, i));
            rejected += adjusted[i] < 0.05;
        }
    }
    assert_true(rejected > 1000);
}

/* Twelve policies without any difference, hits and cost: with ten seeds, a table without adjustment
 * has a false verdict in most cases, with it in at most 5 %. The reference's noise is in all. */
CASE(a_table_without_differences_has_a_verdict_in_5_per_cent_at_most)
{
    enum { TRIALS = 4000, SEEDS = 10, TESTS = 24 };
    gsl_rng *rng = seeded(20261124);
    int wrong[2] = {0};
    for (int trial = 0; trial < TRIALS; trial++) {
        double reference[SEEDS], p[TESTS], adjusted[TESTS];
        bool any[2] = {false, false};
        for (int s = 0; s < SEEDS; s++)
            reference[s] = gsl_ran_gaussian(rng, 0.3);
        for (int t = 0; t < TESTS; t++) {
            double values[SEEDS];
            for (int s = 0; s < SEEDS; s++)
                values[s] = reference[s] + gsl_ran_gaussian(rng, 1);
            const struct estimate estimate = statistics_estimate(values, SEEDS);
            p[t] = statistics_p_value(&estimate);
        }
        (void)statistics_holm(p, TESTS, adjusted);
        for (int t = 0; t < TESTS; t++) {
            any[0] = any[0] || p[t] < 0.05;
            any[1] = any[1] || adjusted[t] < 0.05;
        }
        wrong[0] += any[0];
        wrong[1] += any[1];
    }
    assert_true(wrong[0] > TRIALS / 2);
    assert_true(wrong[1] > 0 && (double)wrong[1] / TRIALS < 0.05 + 4 * sqrt(0.05 * 0.95 / TRIALS));
}

SUITE("statistics")
