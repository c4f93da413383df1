#include "sim/engine/quantile.h"

#include <assert.h>

#include <gsl/gsl_statistics_long.h>

#include "sim/base/arena.h"

_Static_assert(sizeof(long) == sizeof(sim_time_t),
               "GSL selects among longs; samples must be longs");

__extension__ typedef unsigned __int128 wide_sum;

/* A histogram bucket covers 2^-RESOLUTION_BITS of the interval [2^e, 2^(e+1)). The middle of a
 * bucket is at most 2^-(RESOLUTION_BITS + 1) = 0.0488 % away from any sample in it. Below
 * 2^(RESOLUTION_BITS + 1) each value has its own bucket. */
enum {
    RESOLUTION_BITS = 10,
    VALUE_BITS = 63,
    BUCKETS = (VALUE_BITS - RESOLUTION_BITS + 1) << RESOLUTION_BITS,
    ROOM_FIRST = 64 /* samples */
};

struct quantile {
    struct arena *arena;
    long *samples;              /* NULL: no samples, or moved to the histogram */
    size_t room, exact_samples; /* allocated; limit of exact samples */
    uint64_t count;
    wide_sum sum; /* integer, so the mean does not depend on the order of additions */
    long max;
    long min;
    uint64_t lowest;   /* the first `lowest` samples are the lowest ones, unordered */
    uint64_t *buckets; /* NULL until the histogram is needed */
};

struct quantile *quantile_create(struct arena *arena, size_t exact_samples)
{
    struct quantile *quantile = arena_allocate(arena, 1, sizeof *quantile);
    quantile->arena = arena;
    quantile->exact_samples = exact_samples;
    quantile->min = INT64_MAX;
    return quantile;
}

static inline int bucket_shift(uint64_t value)
{
    int exponent = 63 - __builtin_clzll(value | (uint64_t)1 << RESOLUTION_BITS);
    return exponent - RESOLUTION_BITS;
}

static inline size_t bucket_of(uint64_t value)
{
    int shift = bucket_shift(value);
    return ((size_t)shift << RESOLUTION_BITS) + (size_t)(value >> shift);
}

/* Returns the mean of the integers in a bucket. */
static double bucket_middle(size_t bucket)
{
    size_t octave = bucket >> RESOLUTION_BITS;
    if (octave < 2)
        return (double)bucket;
    size_t shift = octave - 1;
    uint64_t width = (uint64_t)1 << shift;
    uint64_t lowest = (uint64_t)(bucket - (shift << RESOLUTION_BITS)) << shift;
    return (double)lowest + (double)(width - 1) / 2;
}

static void quantile_convert(struct quantile *quantile)
{
    quantile->buckets = arena_allocate(quantile->arena, BUCKETS, sizeof *quantile->buckets);
    for (uint64_t i = 0; i < quantile->count; i++)
        quantile->buckets[bucket_of((uint64_t)quantile->samples[i])]++;
    arena_release(quantile->arena, quantile->samples);
    quantile->samples = NULL;
}

/* Allocates room for one more sample, or the histogram. */
static void quantile_make_room(struct quantile *quantile)
{
    if (quantile->count == quantile->exact_samples) {
        quantile_convert(quantile);
        return;
    }
    const size_t twice = quantile->room < ROOM_FIRST ? ROOM_FIRST : 2 * quantile->room;
    const size_t room = twice < quantile->exact_samples ? twice : quantile->exact_samples;
    quantile->samples =
        arena_reallocate(quantile->arena, quantile->samples, room, sizeof *quantile->samples);
    quantile->room = room;
}

void quantile_add(struct quantile *quantile, sim_time_t sample)
{
    assert(sample >= 0);
    if (quantile->buckets == NULL && quantile->count == quantile->room)
        quantile_make_room(quantile);
    assert(quantile->buckets != NULL || quantile->samples != NULL);
    if (quantile->buckets == NULL)
        quantile->samples[quantile->count] = sample;
    else
        quantile->buckets[bucket_of((uint64_t)sample)]++;
    quantile->lowest = 0;
    quantile->count++;
    quantile->sum += (uint64_t)sample;
    if (sample > quantile->max)
        quantile->max = sample;
    if (sample < quantile->min)
        quantile->min = sample;
}

uint64_t quantile_count(const struct quantile *quantile)
{
    return quantile->count;
}

double quantile_mean(const struct quantile *quantile)
{
    return quantile->count == 0 ? 0 : (double)quantile->sum / (double)quantile->count;
}

sim_time_t quantile_max(const struct quantile *quantile)
{
    return quantile->max;
}

bool quantile_is_exact(const struct quantile *quantile)
{
    return quantile->count <= quantile->exact_samples;
}

/* Returns the sample of rank `rank` (0: the smallest), with the histogram's resolution. `bucket`
 * and `below` (samples in the preceding buckets) are the state of the search. Pass them on to
 * search for the next larger rank. */
static double histogram_order_statistic(const struct quantile *quantile, uint64_t rank,
                                        size_t *bucket, uint64_t *below)
{
    while (*below + quantile->buckets[*bucket] <= rank)
        *below += quantile->buckets[(*bucket)++];
    double middle = bucket_middle(*bucket);
    if (middle > (double)quantile->max || rank == quantile->count - 1)
        return (double)quantile->max;
    return middle < (double)quantile->min || rank == 0 ? (double)quantile->min : middle;
}

static double histogram_quantile(const struct quantile *quantile, double q)
{
    double position = (double)(quantile->count - 1) * q;
    uint64_t rank = (uint64_t)position;
    double fraction = position - (double)rank;
    size_t bucket = 0;
    uint64_t below = 0;
    double lower = histogram_order_statistic(quantile, rank, &bucket, &below);
    if (rank + 1 >= quantile->count)
        return lower;
    double upper = histogram_order_statistic(quantile, rank + 1, &bucket, &below);
    return (1 - fraction) * lower + fraction * upper;
}

/* Moves the samples of ranks `rank` and `rank` + 1 to their sorted positions. Samples of lower rank
 * are moved before them. Ascending quantiles therefore examine fewer and fewer samples. */
static void samples_select(struct quantile *quantile, uint64_t rank)
{
    uint64_t from = rank >= quantile->lowest ? quantile->lowest : 0;
    for (uint64_t k = rank; k <= rank + 1 && k < quantile->count; k++) {
        (void)gsl_stats_long_select(quantile->samples + from, 1, quantile->count - from, k - from);
        from = k;
    }
    quantile->lowest = rank;
}

double quantile_value(struct quantile *quantile, double q)
{
    assert(q >= 0 && q <= 1);
    if (quantile->count == 0)
        return 0;
    if (quantile->buckets != NULL)
        return histogram_quantile(quantile, q);
    samples_select(quantile, (uint64_t)((double)(quantile->count - 1) * q));
    return gsl_stats_long_quantile_from_sorted_data(quantile->samples, 1, quantile->count, q);
}
