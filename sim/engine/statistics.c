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

struct estimate statistics_estimate(const double *values, size_t n)
{
    struct estimate result = statistics_none;
    result.n = n;
    if (n == 0)
        return result;
    result.mean = gsl_stats_mean(values, 1, n);
    if (n == 1)
        return result;
    result.sd = gsl_stats_sd_m(values, 1, n, result.mean);
    result.half_width = statistics_t_quantile((double)(n - 1)) * result.sd / sqrt((double)n);
    result.low = result.mean - result.half_width;
    result.high = result.mean + result.half_width;
    return result;
}

struct estimate statistics_estimate_share(const double *values, size_t n)
{
    struct estimate result = statistics_estimate(values, n);
    const double p = result.mean;
    if (!(result.sd > 0) || !(p > 0 && p < 1))
        return result;
    const double t = statistics_t_quantile((double)(n - 1));
    const double variance = result.sd * result.sd / (double)n;
    const double shrink = t * t * variance / (p * (1 - p)); /* t² / effective number */
    const double middle = (p + shrink / 2) / (1 + shrink);
    const double term = shrink / (2 * t);
    result.half_width = t / (1 + shrink) * sqrt(variance + term * term);
    result.low = fmax(0, middle - result.half_width);
    result.high = fmin(1, middle + result.half_width);
    return result;
}

struct estimate statistics_of_seeds(const double *values, size_t valued, size_t seeds, bool share,
                                    bool exact)
{
    struct estimate result = statistics_none;
    result.n = seeds;
    if (valued == 0)
        return result;
    result = (share ? statistics_estimate_share : statistics_estimate)(values, exact ? 1 : valued);
    result.without = seeds - valued;
    result.exact = exact;
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
