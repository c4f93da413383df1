/* Mean, maximum and quantiles of many durations.
 *
 * Up to a limit all samples are stored, and quantiles are exact. Beyond it the samples are counted
 * in a histogram whose bucket width grows with the value (1,024 buckets per power of two, after
 * Tene's HdrHistogram). Memory is then constant, and a quantile is within 0.05 % of the exact one.
 * Count, mean and maximum are always exact. Results do not depend on the order of the samples.
 *
 * Quantile q of n sorted samples is at position (n - 1) q, with linear interpolation between
 * samples, as in gsl_stats_quantile_from_sorted_data. This holds with and without the histogram.
 */
#ifndef ESGSIM_SIM_ENGINE_QUANTILE_H
#define ESGSIM_SIM_ENGINE_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"

/* Number of samples stored for exact quantiles: 2 MiB. */
#define QUANTILE_EXACT_SAMPLES ((size_t)262144)

struct arena;
struct quantile;

/* Returns an empty accumulator that is exact for up to `exact_samples` samples (usually
 * QUANTILE_EXACT_SAMPLES; 0: a histogram from the start). Memory, of the arena,
 * grows with the samples. */
struct quantile *quantile_create(struct arena *arena, size_t exact_samples);

/* Adds one sample >= 0 (asserted), in ns. Amortised O(1). */
void quantile_add(struct quantile *quantile, sim_time_t sample);

uint64_t quantile_count(const struct quantile *quantile);

/* In ns; 0 if there are no samples. */
double quantile_mean(const struct quantile *quantile);
sim_time_t quantile_max(const struct quantile *quantile);

/* Quantile q in [0, 1] (asserted), in ns; 0 if there are no samples. O(n) while exact, O(buckets)
 * later. While exact, calls with ascending q only examine samples above the previous quantile. */
double quantile_value(struct quantile *quantile, double q);

/* Returns whether all samples are stored, so that quantiles are exact. */
bool quantile_is_exact(const struct quantile *quantile);

#endif
