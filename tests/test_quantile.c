/* Quantiles against GSL's on the same data, and the histogram against its promised error. */
#include <gsl/gsl_math.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/arena.h"
#include "sim/engine/quantile.h"
#include "sim/engine/random.h"
#include "tests/suite.h"

OWNER(arena_destroy, struct arena)
#define ARENA OWNED(arena_destroy) struct arena *arena = arena_create()

static const double levels[] = {0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1};
enum { LEVELS = sizeof levels / sizeof *levels };

/* Distributions that latencies take: spread over many octaves, tied, constant, with a far tail. */
static sim_time_t draw_sample(struct random_stream *stream, int shape)
{
    switch (shape) {
    case 0:
        return (sim_time_t)(gsl_ran_lognormal(&stream->rng, log(2e7), 2));
    case 1:
        return (sim_time_t)gsl_rng_uniform_int(&stream->rng, 30);
    case 2:
        return 123456789;
    case 3:
        return (sim_time_t)gsl_ran_pareto(&stream->rng, 0.7, 1e6);
    default:
        return (sim_time_t)(random_uint64(stream) >> (1 + gsl_rng_uniform_int(&stream->rng, 63)));
    }
}

enum { SHAPES = 5 };

struct samples {
    struct arena *arena;
    struct quantile *quantile;
    double *sorted;
    size_t count;
    double sum;
};

static struct samples samples_draw(size_t count, size_t exact, int shape)
{
    struct random_stream stream;
    struct arena *arena = arena_create();
    struct samples samples = {arena, quantile_create(arena, exact),
                              arena_allocate(arena, count, sizeof(double)), count, 0};
    random_stream_open(&stream, 5, RANDOM_TEST, count, (uint32_t)shape);
    for (size_t i = 0; i < count; i++) {
        sim_time_t sample = draw_sample(&stream, shape);
        quantile_add(samples.quantile, sample);
        samples.sorted[i] = (double)sample;
        samples.sum += (double)sample;
    }
    gsl_sort(samples.sorted, 1, count);
    return samples;
}

static void samples_free(struct samples *samples)
{
    arena_destroy(samples->arena);
}

static void compare_with_gsl(struct samples *samples, double tolerance)
{
    assert_int_equal(quantile_count(samples->quantile), samples->count);
    assert_true(gsl_fcmp(quantile_mean(samples->quantile), samples->sum / (double)samples->count,
                         1e-9) == 0 ||
                samples->sum == 0);
    assert_true((double)quantile_max(samples->quantile) == samples->sorted[samples->count - 1]);
    /* Up and down again: samples are put in order only as far as the last question needed. */
    for (size_t k = 0; k < 2 * LEVELS; k++) {
        const double level = levels[k < LEVELS ? k : 2 * LEVELS - 1 - k];
        double truth =
            gsl_stats_quantile_from_sorted_data(samples->sorted, 1, samples->count, level);
        double value = quantile_value(samples->quantile, level);
        assert_true(fabs(value - truth) <= tolerance * truth + 1e-9 * truth);
    }
}

CASE(up_to_the_limit_quantiles_equal_those_of_gsl)
{
    static const size_t counts[] = {1, 2, 3, 10, 1001, 50000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int shape = 0; shape < SHAPES; shape++) {
            struct samples samples = samples_draw(counts[i], counts[i], shape);
            assert_true(quantile_is_exact(samples.quantile));
            compare_with_gsl(&samples, 0);
            samples_free(&samples);
        }
}

CASE(beyond_the_limit_quantiles_are_within_a_twentieth_of_a_percent)
{
    static const size_t counts[] = {1, 2, 3, 1001, 50000};
    static const size_t limits[] = {0, 1, 500};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t j = 0; j < sizeof limits / sizeof *limits; j++)
            for (int shape = 0; shape < SHAPES; shape++) {
                struct samples samples = samples_draw(counts[i], limits[j], shape);
                assert_true(quantile_is_exact(samples.quantile) == (counts[i] <= limits[j]));
                compare_with_gsl(&samples, 0.0005);
                samples_free(&samples);
            }
}

CASE(the_limit_that_ships_is_passed_without_a_jump)
{
    struct samples samples = samples_draw(QUANTILE_EXACT_SAMPLES, QUANTILE_EXACT_SAMPLES, 0);
    double before[LEVELS];
    assert_true(quantile_is_exact(samples.quantile));
    for (size_t i = 0; i < LEVELS; i++)
        before[i] = quantile_value(samples.quantile, levels[i]);
    /* A second maximum moves every rank by less than one. */
    quantile_add(samples.quantile, quantile_max(samples.quantile));
    assert_false(quantile_is_exact(samples.quantile));
    for (size_t i = 0; i < LEVELS - 2; i++)
        assert_true(gsl_fcmp(quantile_value(samples.quantile, levels[i]), before[i], 0.002) == 0);
    samples_free(&samples);
}

CASE(additions_after_a_query_are_counted)
{
    ARENA;
    struct quantile *quantile = quantile_create(arena, 10);
    quantile_add(quantile, 30);
    assert_true(quantile_value(quantile, 0.5) == 30);
    quantile_add(quantile, 10);
    quantile_add(quantile, 20);
    assert_true(quantile_value(quantile, 0.5) == 20);
    assert_true(quantile_value(quantile, 0.25) == 15);
}

CASE(an_empty_accumulator_gives_zeros)
{
    for (size_t limit = 0; limit < 2; limit++) {
        ARENA;
        struct quantile *quantile = quantile_create(arena, limit);
        assert_int_equal(quantile_count(quantile), 0);
        assert_true(quantile_is_exact(quantile));
        assert_true(quantile_mean(quantile) == 0 && quantile_max(quantile) == 0);
        assert_true(quantile_value(quantile, 0.5) == 0);
    }
}

CASE(the_largest_time_fits_and_sums_do_not_overflow)
{
    ARENA;
    struct quantile *quantile = quantile_create(arena, 2);
    for (int i = 0; i < 1000; i++)
        quantile_add(quantile, INT64_MAX);
    assert_true(quantile_max(quantile) == INT64_MAX);
    assert_true(gsl_fcmp(quantile_mean(quantile), 0x1p63, 1e-12) == 0);
    assert_true(gsl_fcmp(quantile_value(quantile, 0.5), 0x1p63, 5e-4) == 0);
}

CASE(every_bucket_edge_keeps_the_promised_error)
{
    for (int exponent = 0; exponent < 62; exponent++)
        for (sim_time_t offset = -2; offset <= 2; offset++) {
            sim_time_t value = ((sim_time_t)1 << exponent) + offset;
            if (value < 0)
                continue;
            /* Neither the smallest nor the largest, which are known exactly. */
            ARENA;
            struct quantile *quantile = quantile_create(arena, 0);
            quantile_add(quantile, 0);
            quantile_add(quantile, value);
            quantile_add(quantile, INT64_MAX);
            double found = quantile_value(quantile, 0.5);
            assert_true(fabs(found - (double)value) <= 0.0005 * (double)value);
        }
}

SUITE("quantile")
