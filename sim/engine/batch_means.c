#include "sim/engine/batch_means.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_statistics_double.h>

#include "sim/engine/statistics.h"

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

/* Consecutive observations. */
struct group {
    double count, sum;
};

/* Divides all observations into BATCH_MEANS_INTERVAL_BATCHES groups, as equally as the batches of
 * the series allow. The incomplete batch belongs to the last one. False: the series is too short.
 */
static bool groups_find(const struct batch_means *series, struct group *groups)
{
    enum { GROUPS = BATCH_MEANS_INTERVAL_BATCHES };
    for (size_t g = 0; series->count >= 2 * GROUPS && g < GROUPS; g++) {
        const size_t first = g * series->count / GROUPS;
        const size_t length = (g + 1) * series->count / GROUPS - first;
        const double count = (double)length * (double)series->batch;
        groups[g] = (struct group){count, count * gsl_stats_mean(series->means + first, 1, length)};
    }
    groups[GROUPS - 1].count += (double)series->filled;
    groups[GROUPS - 1].sum += series->sum;
    return series->count >= 2 * GROUPS;
}

/* Of all observations. */
struct moments {
    double count, mean;
    double variance;      /* of one */
    double mean_variance; /* of their mean */
};

/* Groups may differ by one batch in length: the variance is that of a ratio of two sums. `join` of
 * them count as one. */
static bool moments_find(const struct batch_means *series, size_t join, struct moments *of)
{
    enum { GROUPS = BATCH_MEANS_INTERVAL_BATCHES };
    struct group groups[GROUPS] = {{0}}, joined[GROUPS] = {{0}};
    const double n = GROUPS / (double)join;
    double sum = 0, squares = 0;
    *of = (struct moments){0};
    if (!groups_find(series, groups))
        return false;
    for (size_t g = 0; g < GROUPS; g++) {
        joined[g / join].count += groups[g].count;
        joined[g / join].sum += groups[g].sum;
        of->count += groups[g].count;
        sum += groups[g].sum;
    }
    of->mean = sum / of->count;
    for (size_t g = 0; g < GROUPS / join; g++)
        squares += pow(joined[g].sum - joined[g].count * of->mean, 2);
    of->mean_variance = squares * n / (n - 1) / (of->count * of->count);
    of->variance = series->squares / of->count - of->mean * of->mean;
    return true;
}

double batch_means_half_width(const struct batch_means *series)
{
    struct moments of;
    if (!moments_find(series, 1, &of) || of.mean_variance == 0)
        return NAN;
    return statistics_t_quantile(BATCH_MEANS_INTERVAL_BATCHES - 1) * sqrt(of.mean_variance);
}

double batch_means_effective(const struct batch_means *series)
{
    struct moments of;
    if (!moments_find(series, 2, &of))
        return NAN;
    const bool varies = of.variance > 1e-12 * of.mean * of.mean && of.mean_variance > 0;
    const double worth = varies ? of.variance / of.mean_variance : of.count;
    return fmin(fmax(worth, BATCH_MEANS_INTERVAL_BATCHES), of.count);
}

double batch_means_rising(const struct batch_means *series)
{
    enum { BATCHES = BATCH_MEANS_INTERVAL_BATCHES, PAIRS = BATCHES * (BATCHES - 1) / 2 };
    struct group groups[BATCHES] = {{0}};
    size_t rises = 0;
    if (!groups_find(series, groups))
        return NAN;
    for (size_t later = 1; later < BATCHES; later++)
        for (size_t earlier = 0; earlier < later; earlier++)
            rises += groups[earlier].sum * groups[later].count <
                     groups[later].sum * groups[earlier].count;
    return (double)rises / PAIRS;
}
