#include "sim/engine/batch_means.h"

#include <math.h>

#include <gsl/gsl_statistics_double.h>

#include "sim/base/arena.h"
#include "sim/engine/statistics.h"

void batch_means_init(struct arena *arena, struct batch_means *series, uint64_t batch)
{
    *series = (struct batch_means){
        .means = arena_allocate(arena, BATCH_MEANS_BATCHES, sizeof(double)), .batch = batch};
}

void batch_means_join(struct batch_means *series)
{
    series->count /= 2;
    for (size_t i = 0; i < series->count; i++)
        series->means[i] = (series->means[2 * i] + series->means[2 * i + 1]) / 2;
    series->batch *= 2;
}

double batch_means_warmup(const struct batch_means *series)
{
    enum { FEWEST = 10 };
    const size_t n = series->count;
    if (n < FEWEST)
        return NAN;
    /* Mean and sum of squared deviations of the batches that a cut retains, computed from the last
     * batch backwards (Welford). */
    double mean = 0;
    double squares = 0;
    double smallest = INFINITY;
    size_t best = 0;
    for (size_t cut = n; cut-- > 0;) {
        const double left = (double)(n - cut);
        const double step = series->means[cut] - mean;
        mean += step / left;
        squares += step * (series->means[cut] - mean);
        /* Not a candidate if few batches remain: they may be similar by chance. */
        if (n - cut >= FEWEST / 2 && squares / (left * left) <= smallest) {
            smallest = squares / (left * left);
            best = cut;
        }
    }
    return best <= n / 2 ? (double)(best * series->batch) : NAN;
}

/* Consecutive observations. */
struct group {
    double count, sum;
};

/* Group g of n, which together have all observations, divided as equally as the batches of the
 * series allow. The incomplete batch belongs to the last one. */
static struct group group_of(const struct batch_means *series, size_t g, size_t n)
{
    const size_t first = g * series->count / n;
    const size_t length = (g + 1) * series->count / n - first;
    struct group group = {.count = (double)length * (double)series->batch};
    group.sum = group.count * gsl_stats_mean(series->means + first, 1, length);
    if (g + 1 == n) {
        group.count += (double)series->filled;
        group.sum += series->sum;
    }
    return group;
}

static bool is_short(const struct batch_means *series)
{
    return series->count < 2 * (size_t)BATCH_MEANS_INTERVAL_BATCHES;
}

/* The variance of the mean, as that of a ratio of two sums, because groups may differ in length. */
static double mean_variance(const struct batch_means *series, size_t n)
{
    const struct group all = group_of(series, 0, 1);
    double squares = 0;
    for (size_t g = 0; g < n; g++) {
        const struct group group = group_of(series, g, n);
        squares += pow(group.sum - group.count * all.sum / all.count, 2);
    }
    return squares * (double)n / (double)(n - 1) / (all.count * all.count);
}

double batch_means_half_width(const struct batch_means *series)
{
    const size_t batches = BATCH_MEANS_INTERVAL_BATCHES;
    const double variance = is_short(series) ? 0 : mean_variance(series, batches);
    return variance > 0 ? statistics_t_quantile((double)(batches - 1)) * sqrt(variance) : NAN;
}

double batch_means_effective(const struct batch_means *series)
{
    const size_t batches = BATCH_MEANS_INTERVAL_BATCHES;
    if (is_short(series))
        return NAN;
    const struct group all = group_of(series, 0, 1);
    const double mean = all.sum / all.count;
    const double variance = series->squares / all.count - mean * mean;
    const double worth = variance / mean_variance(series, batches / 2);
    const bool varies = variance > 1e-12 * mean * mean && isfinite(worth);
    return varies ? fmin(fmax(worth, (double)batches), all.count) : all.count;
}

double batch_means_rising(const struct batch_means *series)
{
    enum { BATCHES = BATCH_MEANS_INTERVAL_BATCHES, PAIRS = BATCHES * (BATCHES - 1) / 2 };
    struct group groups[BATCHES];
    size_t rises = 0;
    if (is_short(series))
        return NAN;
    for (size_t g = 0; g < BATCHES; g++)
        groups[g] = group_of(series, g, BATCHES);
    for (size_t later = 1; later < BATCHES; later++)
        for (size_t earlier = 0; earlier < later; earlier++)
            rises += groups[earlier].sum * groups[later].count <
                     groups[later].sum * groups[earlier].count;
    return (double)rises / PAIRS;
}
