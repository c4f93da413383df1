#include "sim/engine/batch_means.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

bool batch_means_init(struct batch_means *series, uint64_t batch)
{
    *series = (struct batch_means){.batch = batch};
    series->means = calloc(BATCH_MEANS_BATCHES, sizeof *series->means);
    return series->means != NULL;
}

void batch_means_clear(struct batch_means *series)
{
    free(series->means);
    *series = (struct batch_means){0};
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

/* The means of BATCH_MEANS_INTERVAL_BATCHES batches. False: the series is too short for them. */
static bool interval_means(const struct batch_means *series, double *means)
{
    const size_t length = series->count / BATCH_MEANS_INTERVAL_BATCHES;
    for (size_t b = 0; length >= 2 && b < BATCH_MEANS_INTERVAL_BATCHES; b++)
        means[b] = gsl_stats_mean(series->means + b * length, 1, length);
    return length >= 2;
}

double batch_means_half_width(const struct batch_means *series)
{
    const size_t batches = BATCH_MEANS_INTERVAL_BATCHES;
    double means[BATCH_MEANS_INTERVAL_BATCHES];
    if (!interval_means(series, means))
        return NAN;
    return gsl_cdf_tdist_Pinv(0.975, (double)(batches - 1)) * gsl_stats_sd(means, 1, batches) /
           sqrt((double)batches);
}

double batch_means_rising(const struct batch_means *series)
{
    enum { BATCHES = BATCH_MEANS_INTERVAL_BATCHES, PAIRS = BATCHES * (BATCHES - 1) / 2 };
    double means[BATCHES];
    size_t rises = 0;
    if (!interval_means(series, means))
        return NAN;
    for (size_t later = 1; later < BATCHES; later++)
        for (size_t earlier = 0; earlier < later; earlier++)
            rises += means[earlier] < means[later];
    return (double)rises / PAIRS;
}
