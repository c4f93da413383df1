#include "sim/engine/statistics.h"

#include <math.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

double statistics_t_quantile(double degrees)
{
    return gsl_cdf_tdist_Pinv(0.975, degrees);
}

const struct estimate statistics_none = {
    .mean = NAN, .sd = NAN, .low = NAN, .high = NAN, .half_width = NAN};

/* Student's t interval. */
static struct estimate estimate_at(const double *values, size_t n, double confidence)
{
    struct estimate result = statistics_none;
    result.n = n;
    if (n == 0)
        return result;
    result.mean = gsl_stats_mean(values, 1, n);
    if (n == 1)
        return result;
    result.sd = gsl_stats_sd_m(values, 1, n, result.mean);
    result.half_width =
        gsl_cdf_tdist_Pinv((1 + confidence) / 2, (double)(n - 1)) * result.sd / sqrt((double)n);
    result.low = result.mean - result.half_width;
    result.high = result.mean + result.half_width;
    return result;
}

struct estimate statistics_estimate(const double *values, size_t n)
{
    return estimate_at(values, n, 0.95);
}

/* Wilson's interval of the share p, the variance of which is p (1 - p) / observations. */
static void wilson(double p, double observations, double variance, double quantile,
                   struct estimate *result)
{
    const double shrink = quantile * quantile / observations;
    const double middle = (p + shrink / 2) / (1 + shrink);
    const double term = shrink / (2 * quantile);
    result->half_width = quantile / (1 + shrink) * sqrt(variance + term * term);
    result->low = fmax(0, middle - result->half_width);
    result->high = fmin(1, middle + result->half_width);
}

/* The interval from what the runs are worth, where it is longer. */
static void share_widen(const struct seed_values *seeds, double confidence, struct estimate *result)
{
    const double p = result->mean;
    struct estimate counted = statistics_none;
    bool rare = result->sd == 0;
    double variances = 0; /* of the values, but for p (1 - p) */
    for (size_t i = 0; i < seeds->valued; i++) {
        rare = rare || seeds->values[i] == 0 || seeds->values[i] == 1;
        variances += seeds->worth == NULL ? NAN : 1 / seeds->worth[i];
    }
    if (!rare || isnan(variances))
        return;
    const double observations = (double)(seeds->valued * seeds->valued) / variances;
    wilson(p, observations, p * (1 - p) / observations,
           gsl_cdf_ugaussian_Pinv((1 + confidence) / 2), &counted);
    result->low = fmin(result->low, counted.low);
    result->high = fmax(result->high, counted.high);
    result->half_width = (result->high - result->low) / 2;
}

struct estimate statistics_of_seeds(const struct seed_values *seeds)
{
    struct estimate result = statistics_none;
    const double confidence = seeds->confidence > 0 ? seeds->confidence : 0.95;
    const size_t n = seeds->exact && seeds->valued > 0 ? 1 : seeds->valued;
    result.n = seeds->seeds;
    if (n == 0)
        return result;
    result = estimate_at(seeds->values, n, confidence);
    result.without = seeds->seeds - seeds->valued;
    result.exact = seeds->exact;
    if (!seeds->share || n == 1)
        return result;
    const double p = result.mean, variance = result.sd * result.sd / (double)n;
    if (result.sd > 0 && p > 0 && p < 1)
        wilson(p, p * (1 - p) / variance, variance,
               gsl_cdf_tdist_Pinv((1 + confidence) / 2, (double)(n - 1)), &result);
    share_widen(seeds, confidence, &result);
    return result;
}

double statistics_p_value(const struct estimate *estimate)
{
    if (isnan(estimate->half_width) || isnan(estimate->mean))
        return NAN;
    if (!(estimate->sd > 0))
        return estimate->mean == 0 ? 1 : 0;
    const double t = fabs(estimate->mean) / (estimate->sd / sqrt((double)estimate->n));
    return 2 * gsl_cdf_tdist_Q(t, (double)(estimate->n - 1));
}

size_t statistics_holm(const double *p, size_t n, double *adjusted)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += isnan(p[i]) ? 0 : 1;
    for (size_t i = 0; i < n; i++) {
        size_t left = count; /* tests that are not rejected before this one */
        for (size_t j = 0; j < n; j++)
            left -= p[j] < p[i];
        adjusted[i] = p[i] * (double)left > 1 ? 1 : p[i] * (double)left;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (p[j] <= p[i] && adjusted[j] > adjusted[i])
                adjusted[i] = adjusted[j];
    return count;
}

struct estimate statistics_scaled(struct estimate estimate, double factor)
{
    estimate.mean *= factor;
    estimate.sd *= factor;
    estimate.low *= factor;
    estimate.high *= factor;
    estimate.half_width *= factor;
    return estimate;
}

bool statistics_is_symmetric(const struct estimate *estimate, int decimals)
{
    const double gap = estimate->high - estimate->mean - (estimate->mean - estimate->low);
    return fabs(gap) * pow(10, decimals) < 0.5;
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
