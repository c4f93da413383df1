/* The errors to expect of predicted latencies. */
#include <math.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "traces/calibrate/calibrate.h"

/* The scale of all surfaces weighs as much as so many left-out points of one. */
static const double POOLED = 10;

/* With fewer left-out points, interpolated and extrapolated ones share their quantiles. */
enum { LEAST_SCORES = 10 };

static const double parts[PROFILE_QUANTILES] = {0.5, 0.9};

static double ratio(const struct surface_score *score)
{
    return score->error / score->deviation;
}

/* Sets the scales. Returns the number of scores. */
static size_t learn_scales(struct calibration *calibration)
{
    double all = 0;
    size_t count = 0;
    for (size_t s = 0; s < calibration->surface_count; s++) {
        struct calibrated_surface *entry = &calibration->surfaces[s];
        for (size_t i = 0; i < entry->surface.score_count; i++)
            entry->error_scale += ratio(&entry->surface.scores[i]);
        all += entry->error_scale;
        count += entry->surface.score_count;
    }
    for (size_t s = 0; s < calibration->surface_count; s++) {
        struct calibrated_surface *entry = &calibration->surfaces[s];
        entry->error_scale = (entry->error_scale + POOLED * all / (double)count) /
                             ((double)entry->surface.score_count + POOLED);
    }
    return count;
}

/* The quantile of the next value after `count` sorted ones. */
static double next_quantile(const double *sorted, size_t count, double part)
{
    const double place = (part * (double)(count + 1) - 1) / fmax(1, (double)count - 1);
    return count == 0
               ? NAN
               : gsl_stats_quantile_from_sorted_data(sorted, 1, count, fmax(0, fmin(1, place)));
}

static size_t collect(const struct calibration *calibration, bool both, bool between,
                      double *values)
{
    size_t found = 0;
    for (size_t s = 0; s < calibration->surface_count; s++) {
        const struct calibrated_surface *entry = &calibration->surfaces[s];
        for (size_t i = 0; i < entry->surface.score_count; i++)
            if (both || entry->surface.scores[i].between == between)
                values[found++] = ratio(&entry->surface.scores[i]) / entry->error_scale;
    }
    gsl_sort(values, 1, found);
    return found;
}

void expected_errors_learn(struct calibration *calibration)
{
    const size_t count = learn_scales(calibration);
    double *values = arena_allocate(calibration->arena, count, sizeof *values);
    for (int between = 0; between < 2; between++) {
        size_t found = collect(calibration, false, between, values);
        if (found < LEAST_SCORES)
            found = collect(calibration, true, between, values);
        for (int i = 0; i < PROFILE_QUANTILES; i++)
            calibration->error_quantiles[between][i] = next_quantile(values, found, parts[i]);
    }
}

double repeat_error(const struct calibration *calibration, uint32_t function,
                    enum profile_quantile quantile)
{
    const struct function_properties *own = &calibration->set->properties[function];
    return own->repeat_count < REPEATS_LEAST
               ? NAN
               : next_quantile(own->repeat_errors, own->repeat_count, parts[quantile]);
}

double expected_error(const struct calibration *calibration,
                      const struct calibrated_surface *surface, const struct latency_value *value,
                      enum profile_quantile quantile)
{
    return calibration->error_quantiles[value->between][quantile] * surface->error_scale *
           value->deviation;
}

double expected_error_between(const struct calibration *calibration,
                              const struct calibrated_surface *surface,
                              enum profile_quantile quantile)
{
    struct latency_value value = {.between = true};
    const size_t count = surface->surface.score_count;
    for (size_t i = 0; i < count; i++)
        value.deviation += surface->surface.scores[i].deviation / (double)count;
    return expected_error(calibration, surface, &value, quantile);
}
