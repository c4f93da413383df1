/* MSER-5 against its definition and on processes whose warm-up is known; batch means against
 * processes whose mean is known: how often do the intervals cover it? */
#include <gsl/gsl_randist.h>

#include "sim/base/arena.h"
#include "sim/engine/batch_means.h"
#include "tests/suite.h"

/* A process whose next value follows from its last. */
struct process {
    const char *name;
    double (*next)(gsl_rng *rng, double parameter, double *state);
    double parameter;
    double mean; /* in the long run */
};

static double normal_next(gsl_rng *rng, double unused, double *state)
{
    *state = gsl_ran_gaussian_ziggurat(rng, 1);
    return *state;
}

/* AR(1): x = phi x + noise; mean 0. */
static double ar1_next(gsl_rng *rng, double phi, double *state)
{
    *state = phi * *state + gsl_ran_gaussian_ziggurat(rng, 1);
    return *state;
}

/* Sojourn times of M/M/1, service 1, by Lindley's recursion; the state is the waiting time. */
static double mm1_next(gsl_rng *rng, double rate, double *state)
{
    double service = gsl_ran_exponential(rng, 1);
    double sojourn = *state + service;
    double wait = sojourn - gsl_ran_exponential(rng, 1 / rate);
    *state = wait > 0 ? wait : 0;
    return sojourn;
}

static void fill(struct batch_means *series, const struct process *process, gsl_rng *rng,
                 double start, size_t n)
{
    double state = start;
    for (size_t i = 0; i < n; i++)
        batch_means_add(series, process->next(rng, process->parameter, &state));
}

/* The rule as it is written down. */
static double mser_by_definition(const double *means, size_t n, size_t batch)
{
    double smallest = INFINITY;
    size_t best = 0;
    for (size_t cut = 0; n - cut >= 5; cut++) {
        double mean = 0;
        double squares = 0;
        for (size_t i = cut; i < n; i++)
            mean += means[i] / (double)(n - cut);
        for (size_t i = cut; i < n; i++)
            squares += (means[i] - mean) * (means[i] - mean);
        squares /= (double)(n - cut) * (double)(n - cut);
        if (squares < smallest) {
            smallest = squares;
            best = cut;
        }
    }
    return best <= n / 2 ? (double)(best * batch) : NAN;
}

CASE(the_cut_is_that_of_the_definition)
{
    gsl_rng *rng = seeded(1);
    for (size_t trial = 0; trial < trials(300); trial++) {
        size_t n = 50 + gsl_rng_uniform_int(rng, 1500);
        double start = 40 * gsl_rng_uniform(rng);
        const struct process process = {"AR(1)", ar1_next, gsl_rng_uniform(rng) * 0.99, 0};
        CLOSED(arena_clear) struct arena arena = {0};
        struct batch_means series;
        batch_means_init(&arena, &series, 5);
        fill(&series, &process, rng, start, n);
        double expected = mser_by_definition(series.means, series.count, 5);
        double found = batch_means_warmup(&series);
        assert_true(isnan(expected) ? isnan(found) : found == expected);
    }
}

CASE(a_long_series_is_that_of_longer_batches)
{
    gsl_rng *rng = seeded(2);
    const size_t n = 5 * BATCH_MEANS_BATCHES * 3 + 17;
    struct batch_means doubled, direct;
    batch_means_init(suite_arena(), &doubled, 5);
    batch_means_init(suite_arena(), &direct, 20);
    for (size_t i = 0; i < n; i++) {
        double value = gsl_rng_uniform(rng);
        batch_means_add(&doubled, value);
        batch_means_add(&direct, value);
    }
    assert_int_equal(doubled.batch, 20);
    assert_int_equal(doubled.count, direct.count);
    for (size_t i = 0; i < direct.count; i++)
        assert_true(fabs(doubled.means[i] - direct.means[i]) < 1e-12);
    assert_true(batch_means_warmup(&doubled) == batch_means_warmup(&direct));
}

/* AR(1) from x0 has bias x0 phi^i: plain to see while above 3 standard deviations s, that
 * is until i = ln(x0 / 3 s) / ln(1 / phi), and below s / 100 from ln(100 x0 / s) / ln(1 / phi) on.
 */
CASE(the_warm_up_of_an_autoregressive_process_is_found_where_its_bias_ends)
{
    enum { LENGTH = 5000 };
    const size_t count = trials(400);
    static const double phis[] = {0.5, 0.9, 0.98};
    gsl_rng *rng = seeded(3);
    for (size_t p = 0; p < sizeof phis / sizeof phis[0]; p++) {
        const double phi = phis[p];
        const double sd = 1 / sqrt(1 - phi * phi);
        const double start = 50 * sd;
        const double early = log(50.0 / 3) / log(1 / phi) - 5;
        const double late = log(5000) / log(1 / phi) + 5;
        size_t found = 0;
        double sum = 0;
        for (size_t trial = 0; trial < count; trial++) {
            const struct process process = {"AR(1)", ar1_next, phi, 0};
            CLOSED(arena_clear) struct arena arena = {0};
            struct batch_means series;
            batch_means_init(&arena, &series, 5);
            fill(&series, &process, rng, start, LENGTH);
            double cut = batch_means_warmup(&series);
            found += cut >= early && cut <= 2 * late + 50;
            sum += isnan(cut) ? 0 : cut;
        }
        print_message("AR(1) %.2f: bias is above 3 sd until %.0f, below 0.01 sd from %.0f on; "
                      "mean cut %.0f, %.1f %% of cuts within\n",
                      phi, early + 5, late - 5, sum / (double)count,
                      100.0 * (double)found / (double)count);
        assert_true((double)found >= 0.9 * (double)count);
    }
}

CASE(a_process_without_warm_up_is_hardly_cut)
{
    enum { LENGTH = 10000 };
    const size_t count = trials(400);
    gsl_rng *rng = seeded(4);
    const struct process process = {"normal", normal_next, 0, 0};
    size_t hardly = 0;
    for (size_t trial = 0; trial < count; trial++) {
        CLOSED(arena_clear) struct arena arena = {0};
        struct batch_means series;
        batch_means_init(&arena, &series, 5);
        fill(&series, &process, rng, 0, LENGTH);
        hardly += batch_means_warmup(&series) <= LENGTH / 10.0;
    }
    print_message("no warm-up: %.1f %% of runs are cut by at most a tenth\n",
                  100.0 * (double)hardly / (double)count);
    assert_true((double)hardly >= 0.75 * (double)count);
}

/* M/M/1 that begins with 100 in the queue: the mean of what the rule leaves is nearer the truth. */
CASE(cutting_off_the_warm_up_of_a_full_queue_takes_its_bias_away)
{
    enum { LENGTH = 4000 };
    const size_t count = trials(300);
    gsl_rng *rng = seeded(5);
    const double truth = 1 / (1 - 0.5);
    double whole = 0;
    double cut_mean = 0;
    size_t told = 0;
    for (size_t trial = 0; trial < count; trial++) {
        const struct process process = {"M/M/1", mm1_next, 0.5, truth};
        CLOSED(arena_clear) struct arena arena = {0};
        struct batch_means series;
        batch_means_init(&arena, &series, 5);
        fill(&series, &process, rng, 100, LENGTH);
        const double warmup = batch_means_warmup(&series);
        if (isnan(warmup)) /* too short to tell */
            continue;
        told++;
        const size_t cut = (size_t)warmup / 5;
        double sum = 0;
        double all = 0;
        for (size_t i = 0; i < series.count; i++) {
            all += series.means[i];
            sum += i >= cut ? series.means[i] : 0;
        }
        whole += all / (double)series.count;
        cut_mean += sum / (double)(series.count - cut);
    }
    assert_in_range(told, count * 9 / 10, count);
    whole /= (double)told;
    cut_mean /= (double)told;
    print_message("M/M/1 from 100 waiting: true mean %.2f, of all %.2f, of what is left %.2f\n",
                  truth, whole, cut_mean);
    assert_true(whole - truth > 1);
    assert_true(fabs(cut_mean - truth) < 0.05 * truth);
}

static double coverage(const struct process *process, size_t n, size_t runs, unsigned long seed)
{
    gsl_rng *rng = seeded(seed);
    size_t covered = 0;
    for (size_t trial = 0; trial < runs; trial++) {
        CLOSED(arena_clear) struct arena arena = {0};
        struct batch_means series;
        double sum = 0;
        batch_means_init(&arena, &series, 1);
        double state = 0;
        for (int i = 0; i < 2000; i++) /* the warm-up is not what is tested here */
            (void)process->next(rng, process->parameter, &state);
        for (size_t i = 0; i < n; i++) {
            double value = process->next(rng, process->parameter, &state);
            batch_means_add(&series, value);
            sum += value;
        }
        covered += fabs(sum / (double)n - process->mean) <= batch_means_half_width(&series);
    }
    return (double)covered / (double)runs;
}

/* 1,000 trials: a true 95 % shows as 95 ± 1.4 %. Fewer allow for three deviations more. */
CASE(intervals_from_one_run_cover_the_mean_as_often_as_they_say)
{
    static const struct {
        struct process process;
        size_t n;
        double least;
    } cases[] = {
        {{"independent", normal_next, 0, 0}, 10000, 0.93},
        {{"AR(1) 0.5", ar1_next, 0.5, 0}, 10000, 0.93},
        {{"AR(1) 0.9", ar1_next, 0.9, 0}, 20000, 0.92},
        {{"M/M/1 at 0.5", mm1_next, 0.5, 2}, 20000, 0.92},
        {{"M/M/1 at 0.8", mm1_next, 0.8, 5}, 40000, 0.89},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t runs = trials(1000);
        const double slack = 3 * sqrt(0.95 * 0.05) * (1 / sqrt((double)runs) - 1 / sqrt(1000));
        const double found = coverage(&cases[i].process, cases[i].n, runs, 100 + i);
        print_message("%-13s %zu observations: the 95 %% interval covers in %.1f %% of runs\n",
                      cases[i].process.name, cases[i].n, 100 * found);
        assert_true(found >= cases[i].least - slack && found <= 0.975 + slack);
    }
}

/* Slow requests finish last. The interval is that of all observations, whatever their number. */
CASE(the_last_observations_count_whatever_their_number)
{
    enum { GROUPS = BATCH_MEANS_INTERVAL_BATCHES };
    for (size_t n = 2 * GROUPS; n < 6000; n = n * 9 / 8 + 1) {
        CLOSED(arena_clear) struct arena arena = {0};
        struct batch_means series;
        double sums[GROUPS] = {0}, counts[GROUPS] = {0}, sum = 0, squares = 0;
        batch_means_init(&arena, &series, 1);
        const size_t batch = n < BATCH_MEANS_BATCHES ? 1 : 2, whole = n / batch;
        for (size_t i = 0; i < n; i++) {
            const double value = i + 20 < n ? 100 + (double)(i * 37 % 11) : 5000;
            size_t group = 0;
            while (group + 1 < GROUPS && i / batch >= (group + 1) * whole / GROUPS)
                group++;
            sums[group] += value;
            counts[group]++;
            sum += value;
            batch_means_add(&series, value);
        }
        for (size_t g = 0; g < GROUPS; g++)
            squares += pow(sums[g] - counts[g] * sum / (double)n, 2);
        const double half = 2.0395 * sqrt(squares * GROUPS / (GROUPS - 1)) / (double)n;
        assert_true(fabs(batch_means_half_width(&series) / half - 1) < 1e-4);
    }
}

CASE(too_little_gives_no_figure)
{
    struct batch_means series;
    batch_means_init(suite_arena(), &series, 1);
    for (int i = 0; i < 2 * BATCH_MEANS_INTERVAL_BATCHES; i++) {
        assert_true(!isfinite(batch_means_half_width(&series)));
        assert_true(i >= 10 || isnan(batch_means_warmup(&series)));
        batch_means_add(&series, i % 3);
    }
    assert_true(isfinite(batch_means_half_width(&series)));
}

CASE(a_steady_rise_is_told_from_noise)
{
    struct batch_means rising, level, bursts;
    batch_means_init(suite_arena(), &rising, 1);
    batch_means_init(suite_arena(), &level, 1);
    batch_means_init(suite_arena(), &bursts, 1);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(isnan(batch_means_rising(&rising)), i < 2 * BATCH_MEANS_INTERVAL_BATCHES);
        batch_means_add(&rising, i);
        batch_means_add(&level, 7);
        batch_means_add(&bursts, i * 37 % 101);
    }
    assert_true(batch_means_rising(&rising) == 1);
    assert_true(batch_means_rising(&level) == 0);
    assert_true(fabs(batch_means_rising(&bursts) - 0.5) < 0.2);
}

SUITE("batch_means")
