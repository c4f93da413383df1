#include "sched/orion/distribution.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

/* Tail probabilities below this are cut: the lower tail is rounded up into the first bin, the upper
 * tail is discarded. */
#define TAIL 1e-9
/* Tolerance for the rounding of sums, so that a percentile is not missed by it. */
#define SLACK 1e-12

void distribution_zero(struct distribution *out)
{
    out->first = 0;
    out->count = 1;
    out->mass[0] = 1;
}

static double lognormal_below(double x, double mean, double cv)
{
    const double variance = log1p(cv * cv);
    return gsl_cdf_lognormal_P(x, log(mean) - variance / 2, sqrt(variance));
}

/* P(execution <= x), x in ns. A constant has no distribution and is not passed here. */
static double execution_below(const struct function *function, uint32_t kind, double time, double x)
{
    if (!(x > 0))
        return 0;
    switch (function->service) {
    case SERVICE_EXPONENTIAL:
        return gsl_cdf_exponential_P(x, time);
    case SERVICE_LOGNORMAL:
        return lognormal_below(x, time, function->service_cv);
    default:
        return lognormal_below(x, time, function->gpus[kind].noise_cv);
    }
}

static bool execution_constant(const struct function *function, uint32_t kind)
{
    return function->service == SERVICE_CONSTANT ||
           (function->service == SERVICE_PROFILE && !(function->gpus[kind].noise_cv > 0)) ||
           (function->service == SERVICE_LOGNORMAL && !(function->service_cv > 0));
}

/* Number of bins, rounded up; horizon + 1 if beyond the horizon. An excess within rounding does not
 * count as a bin. */
static uint32_t bins_of(double time, double bin, uint32_t horizon)
{
    const double bins = ceil(time / bin - 1e-9);
    return bins > (double)horizon ? horizon + 1 : (uint32_t)fmax(bins, 0);
}

static void point(uint32_t at, uint32_t horizon, struct distribution *out)
{
    out->first = at;
    out->count = at <= horizon ? 1 : 0;
    out->mass[0] = 1;
}

static void empirical(const struct function *function, double bin, uint32_t horizon,
                      struct distribution *out)
{
    const size_t samples = function->service_sample_count;
    memset(out->mass, 0, ((size_t)horizon + 1) * sizeof *out->mass);
    out->first = 0;
    out->count = horizon + 1;
    for (size_t i = 0; i < samples; i++) {
        const uint32_t at = bins_of(function->service_samples_ms[i] * 1e6, bin, horizon);
        if (at <= horizon)
            out->mass[at] += 1 / (double)samples;
    }
}

void distribution_execution(const struct function *function, uint32_t kind, sim_time_t time,
                            double bin, uint32_t horizon, struct distribution *out)
{
    const double nominal = (double)time;
    if (function->service == SERVICE_EMPIRICAL && function->service_sample_count > 0) {
        empirical(function, bin, horizon, out);
        return;
    }
    if (execution_constant(function, kind) || !(nominal > 0)) {
        point(bins_of(nominal, bin, horizon), horizon, out);
        return;
    }
    uint32_t at = 0;
    while (at <= horizon && execution_below(function, kind, nominal, (double)at * bin) < TAIL)
        at++;
    out->first = at;
    out->count = 0;
    double below = 0;
    while (at <= horizon && below < 1 - TAIL) {
        const double here = execution_below(function, kind, nominal, (double)at * bin);
        out->mass[out->count++] = here - below;
        below = here;
        at++;
    }
}

/* In steps of a number that the compiler knows, which become vectors. */
static void add_weighted(double weight, const double *restrict from, uint32_t count,
                         double *restrict to)
{
    for (; count >= 8; count -= 8, from += 8, to += 8)
        for (uint32_t k = 0; k < 8; k++)
            to[k] += weight * from[k];
    for (uint32_t k = 0; k < count; k++)
        to[k] += weight * from[k];
}

void distribution_series(const struct distribution *a, const struct distribution *b,
                         uint32_t horizon, struct distribution *out)
{
    out->first = a->first + b->first;
    out->count = 0;
    if (a->count == 0 || b->count == 0 || out->first > horizon)
        return;
    out->count = a->count + b->count - 1;
    if (out->count > horizon - out->first + 1)
        out->count = horizon - out->first + 1;
    memset(out->mass, 0, out->count * sizeof *out->mass);
    for (uint32_t i = 0; i < a->count && i < out->count; i++)
        add_weighted(a->mass[i], b->mass, out->count - i < b->count ? out->count - i : b->count,
                     out->mass + i);
}

static double mass_at(const struct distribution *distribution, uint32_t at)
{
    if (at < distribution->first || at - distribution->first >= distribution->count)
        return 0;
    return distribution->mass[at - distribution->first];
}

void distribution_later(const struct distribution *a, const struct distribution *b,
                        struct distribution *out)
{
    const uint32_t end_a = a->first + a->count;
    const uint32_t end_b = b->first + b->count;
    const uint32_t end = end_a > end_b ? end_a : end_b;
    out->first = a->first > b->first ? a->first : b->first;
    out->count = 0;
    if (a->count == 0 || b->count == 0)
        return;
    double below_a = 0;
    double below_b = 0;
    const uint32_t start = a->first < b->first ? a->first : b->first;
    double below = 0;
    for (uint32_t at = start; at < end; at++) {
        below_a += mass_at(a, at);
        below_b += mass_at(b, at);
        if (at < out->first)
            continue;
        out->mass[out->count++] = below_a * below_b - below;
        below = below_a * below_b;
    }
}

uint32_t distribution_percentile(const struct distribution *distribution, double p,
                                 uint32_t horizon)
{
    double below = 0;
    for (uint32_t i = 0; i < distribution->count; i++) {
        below += distribution->mass[i];
        if (below >= p - SLACK)
            return distribution->first + i;
    }
    return horizon + 1;
}
