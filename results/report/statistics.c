#include "results/report/statistics.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

double statistics_t_quantile(double degrees)
{
    return gsl_cdf_tdist_Pinv(0.975, degrees);
}

struct estimate statistics_estimate(const double *values, size_t n)
{
    struct estimate result = {.n = n, .mean = NAN, .sd = NAN, .half_width = NAN};
    if (n == 0)
        return result;
    result.mean = gsl_stats_mean(values, 1, n);
    if (n == 1)
        return result;
    result.sd = gsl_stats_sd_m(values, 1, n, result.mean);
    result.half_width = statistics_t_quantile((double)(n - 1)) * result.sd / sqrt((double)n);
    return result;
}

/* Estimate of a function of each pair of values; n is at most the number of seeds. */
static struct estimate paired(double (*of)(double, double), const double *first,
                              const double *second, size_t n)
{
    double *values = calloc(n + 1, sizeof *values);
    if (values == NULL)
        return (struct estimate){.n = n, .mean = NAN, .sd = NAN, .half_width = NAN};
    for (size_t i = 0; i < n; i++)
        values[i] = of(first[i], second[i]);
    struct estimate result = statistics_estimate(values, n);
    free(values);
    return result;
}

static double difference(double first, double second)
{
    return first - second;
}

static double saving(double baseline, double reference)
{
    return reference == 0 ? NAN : (baseline - reference) / reference;
}

struct estimate statistics_paired_difference(const double *first, const double *second, size_t n)
{
    return paired(difference, first, second, n);
}

struct estimate statistics_paired_saving(const double *baseline, const double *reference, size_t n)
{
    return paired(saving, baseline, reference, n);
}

size_t statistics_next_count(const double *values, size_t n, double half_width, size_t limit)
{
    const struct estimate estimate = statistics_estimate(values, n);
    if (n >= limit || estimate.half_width <= half_width)
        return n < limit ? n : limit;
    size_t next = 2 * n < limit ? 2 * n : limit;
    /* Half-widths are proportional to 1/√n. NAN (too few or undefined values) leads to the limit.
     */
    const double ratio = estimate.half_width / half_width;
    const double asked = ceil((double)n * ratio * ratio);
    if (asked < (double)next)
        next = asked > (double)n ? (size_t)asked : n + 1;
    return next;
}
