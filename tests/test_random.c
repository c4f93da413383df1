/* Philox against the published vectors, streams against statistics, GSL against our short cuts. */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/engine/random.h"
#include "tests/suite.h"

OWNER(gsl_rng_free, gsl_rng)

/* Chance of a sound generator failing one statistical test; seeds are fixed, so it is met once. */
static const double false_alarm = 1e-4;

/* Random123's file of known answers, the lines "philox4x32 10". */
CASE(philox_blocks_equal_the_published_answers)
{
    static const struct {
        uint32_t counter[4], key[2], output[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t output[4];
        random_philox_block(known[i].counter, known[i].key, output);
        assert_memory_equal(output, known[i].output, sizeof output);
    }
}

CASE(a_stream_hands_out_the_blocks_of_its_name_in_order)
{
    static const struct {
        uint64_t seed, a;
        enum random_purpose purpose;
        uint32_t b;
    } names[] = {{0, 0, RANDOM_ARRIVAL, 0},
                 {1, 17, RANDOM_NOISE, 2},
                 {0xfedcba9876543210, 0x0123456789abcdef, RANDOM_TEST, 0xffffff}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        RANDOM_STREAM(stream, names[i].seed, names[i].purpose, names[i].a, names[i].b);
        const uint32_t key[2] = {(uint32_t)names[i].seed, (uint32_t)(names[i].seed >> 32)};
        for (uint32_t block = 0; block < 1000; block++) {
            const uint32_t counter[4] = {block, (uint32_t)names[i].a, (uint32_t)(names[i].a >> 32),
                                         (uint32_t)names[i].purpose << 24 | names[i].b};
            uint32_t output[4];
            random_philox_block(counter, key, output);
            assert_true(random_uint64(&stream) == ((uint64_t)output[1] << 32 | output[0]));
            assert_true(gsl_rng_get(&stream.rng) == ((uint64_t)output[3] << 32 | output[2]));
        }
    }
}

CASE(a_stream_repeats_after_its_last_block)
{
    struct random_stream end, start;
    random_stream_open(&end, 3, RANDOM_TEST, 1, 2);
    random_stream_open(&start, 3, RANDOM_TEST, 1, 2);
    end.state.counter[0] = UINT32_MAX - 2;
    for (int i = 0; i < 3 * 2; i++)
        (void)random_uint64(&end);
    for (int i = 0; i < 100; i++)
        assert_true(random_uint64(&end) == random_uint64(&start));
}

CASE(gsl_functions_and_inline_ones_give_the_same_numbers)
{
    struct random_stream ours, theirs;
    random_stream_open(&ours, 9, RANDOM_TEST, 4, 0);
    random_stream_open(&theirs, 9, RANDOM_TEST, 4, 0);
    for (int i = 0; i < 20000; i++) {
        assert_true(random_uint64(&ours) == gsl_rng_get(&theirs.rng));
        assert_true(random_uniform(&ours) == gsl_rng_uniform(&theirs.rng));
        double a = random_exponential(&ours, 2.5), b = gsl_ran_exponential(&theirs.rng, 2.5);
        assert_true(fabs(a - b) <= 4 * GSL_DBL_EPSILON * b);
        assert_true(random_exponential_gsl(&ours, 0.3) == gsl_ran_exponential(&theirs.rng, 0.3));
    }
}

CASE(gsl_sees_a_generator_of_64_bits_named_philox)
{
    OWNED(gsl_rng_free) gsl_rng *rng = must(gsl_rng_alloc(random_philox));
    assert_string_equal(gsl_rng_name(rng), "philox");
    assert_true(gsl_rng_min(rng) == 0 && gsl_rng_max(rng) == UINT64_MAX);
    gsl_rng_set(rng, 123);
    RANDOM_STREAM(stream, 123, RANDOM_TEST, 0, 0);
    for (int i = 0; i < 50; i++)
        assert_true(gsl_rng_get(rng) == random_uint64(&stream));
    OWNED(gsl_rng_free) gsl_rng *copy = gsl_rng_clone(rng);
    for (int i = 0; i < 50; i++)
        assert_true(gsl_rng_get(rng) == gsl_rng_get(copy));
}

CASE(the_extreme_outputs_give_uniforms_from_zero_to_just_below_one)
{
    RANDOM_STREAM(stream, 1, RANDOM_TEST, 0, 0);
    stream.state.ready[0] = 0;
    stream.state.ready[1] = UINT64_MAX;
    stream.state.ready_next = 0;
    assert_true(gsl_rng_uniform(&stream.rng) == 0);
    assert_true(gsl_rng_uniform(&stream.rng) == 1 - 0x1p-53);
    stream.state.ready_next = 0;
    assert_true(random_exponential(&stream, 7) == 0);
    assert_true(gsl_finite(random_exponential(&stream, 7)));
}

/* Largest distance between the empirical distribution of sorted u and the uniform one, as a p-value
 * (asymptotic Kolmogorov distribution). */
static double uniform_p_value(double *u, size_t n)
{
    double distance = 0, p = 0;
    gsl_sort(u, 1, n);
    for (size_t i = 0; i < n; i++) {
        distance = GSL_MAX_DBL(distance, (double)(i + 1) / (double)n - u[i]);
        distance = GSL_MAX_DBL(distance, u[i] - (double)i / (double)n);
    }
    double x = distance * sqrt((double)n);
    for (int k = 1; k < 100; k++)
        p += (k % 2 == 1 ? 2 : -2) * exp(-2.0 * k * k * x * x);
    return p;
}

enum { DRAWS = 200000 };

static void assert_uniform(double *u)
{
    double p = uniform_p_value(u, DRAWS);
    assert_true(p > false_alarm && p < 1 + false_alarm);
}

CASE(long_streams_follow_their_distributions)
{
    OWNED(free) double *u = malloc(DRAWS * sizeof *u);
    RANDOM_STREAM(stream, 2, RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < DRAWS; i++)
        u[i] = gsl_rng_uniform(&stream.rng);
    assert_uniform(u);
    for (size_t i = 0; i < DRAWS; i++)
        u[i] = gsl_cdf_exponential_P(random_exponential(&stream, 3), 3);
    assert_uniform(u);
    for (size_t i = 0; i < DRAWS; i++)
        u[i] = gsl_cdf_gamma_P(gsl_ran_gamma(&stream.rng, 2.2, 1.5), 2.2, 1.5);
    assert_uniform(u);
    for (size_t i = 0; i < DRAWS; i++)
        u[i] = gsl_cdf_gaussian_P(gsl_ran_gaussian(&stream.rng, 2), 2);
    assert_uniform(u);
}

/* The use that the simulator makes of streams: one or two numbers from each of many neighbours. */
CASE(first_numbers_of_neighbouring_streams_are_uniform_in_every_coordinate)
{
    OWNED(free) double *u = malloc(DRAWS * sizeof *u);
    for (int coordinate = 0; coordinate < 3; coordinate++) {
        for (uint32_t i = 0; i < DRAWS; i++) {
            RANDOM_STREAM(stream, coordinate == 0 ? i : 1, RANDOM_NOISE, coordinate == 1 ? i : 0,
                          coordinate == 2 ? i : 0);
            u[i] = random_uniform(&stream);
        }
        assert_uniform(u);
    }
}

/* Pairs of first numbers from streams whose names differ by one, on an 8 x 8 board. */
CASE(neighbouring_streams_are_independent)
{
    enum { SIDE = 8, PAIRS = 100000 };
    for (int coordinate = 0; coordinate < 4; coordinate++) {
        double board[SIDE][SIDE] = {{0}}, chi2 = 0;
        for (uint64_t i = 0; i < PAIRS; i++) {
            struct random_stream a, b;
            random_stream_open(&a, 5, RANDOM_NOISE, 4 * i, 0);
            random_stream_open(&b, coordinate == 0 ? 6 : 5,
                               coordinate == 1 ? RANDOM_COLD_START : RANDOM_NOISE,
                               coordinate == 2 ? 4 * i + 1 : 4 * i, coordinate == 3 ? 1 : 0);
            board[random_uint64(&a) >> 61][random_uint64(&b) >> 61]++;
        }
        const double expected = (double)PAIRS / (SIDE * SIDE);
        for (int i = 0; i < SIDE * SIDE; i++)
            chi2 += gsl_pow_2(board[i / SIDE][i % SIDE] - expected) / expected;
        double p = gsl_cdf_chisq_Q(chi2, SIDE * SIDE - 1);
        assert_true(p > false_alarm && p < 1 - false_alarm);
    }
}

CASE(successive_numbers_and_all_bits_are_uncorrelated)
{
    OWNED(free) double *u = malloc((DRAWS + 4) * sizeof *u);
    size_t ones[64] = {0};
    RANDOM_STREAM(stream, 4, RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < DRAWS + 4; i++) {
        uint64_t bits = random_uint64(&stream);
        u[i] = (double)(bits >> 11) * 0x1p-53;
        for (int j = 0; j < 64 && i < DRAWS; j++)
            ones[j] += bits >> j & 1;
    }
    /* A correlation of n independent pairs has standard deviation 1/sqrt(n). */
    for (size_t lag = 1; lag <= 4; lag++)
        assert_true(fabs(gsl_stats_correlation(u, 1, u + lag, 1, DRAWS)) < 4 / sqrt(DRAWS));
    for (int j = 0; j < 64; j++)
        assert_true(fabs((double)ones[j] - DRAWS / 2.0) < 4.5 * sqrt(DRAWS / 4.0));
}

CASE(reopening_a_stream_starts_it_again)
{
    uint64_t first[40];
    RANDOM_STREAM(stream, 8, RANDOM_POLICY, 3, 4);
    for (int i = 0; i < 40; i++)
        first[i] = random_uint64(&stream);
    random_stream_open(&stream, 8, RANDOM_POLICY, 3, 4);
    for (int i = 0; i < 40; i++)
        assert_true(random_uint64(&stream) == first[i]);
}

CASE(noise_has_mean_one_and_the_given_coefficient_of_variation)
{
    static const double cvs[] = {0.01, 0.05, 0.3, 1};
    double *x = malloc(DRAWS * sizeof *x), *u = malloc(DRAWS * sizeof *u);
    struct random_stream stream;
    for (uint32_t i = 0; i < sizeof cvs / sizeof *cvs; i++) {
        double sigma = sqrt(log1p(cvs[i] * cvs[i]));
        random_stream_open(&stream, 1, RANDOM_TEST, 99, i);
        for (size_t j = 0; j < DRAWS; j++) {
            x[j] = random_noise(&stream, cvs[i]);
            u[j] = gsl_cdf_lognormal_P(x[j], -sigma * sigma / 2, sigma);
        }
        double mean = gsl_stats_mean(x, 1, DRAWS);
        assert_true(fabs(mean - 1) < 4.5 * cvs[i] / sqrt(DRAWS));
        assert_true(fabs(gsl_stats_sd(x, 1, DRAWS) / cvs[i] - 1) < 0.05);
        assert_uniform(u);
    }
    uint32_t before = stream.state.ready_next;
    assert_true(random_noise(&stream, 0) == 1 && stream.state.ready_next == before);
    free(x);
    free(u);
}

SUITE("random")
