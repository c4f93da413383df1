/* Mean, largest and quantiles of many durations.
 *
 * Up to a limit all samples are kept and quantiles are exact. Beyond it the samples move into a
 * histogram whose buckets widen with the value (1,024 to each doubling, after Tene's HdrHistogram),
 * so that memory stays constant and a quantile is within 0.05 % of the exact one. Count, mean and
 * largest are always exact, and nothing depends on the order in which samples came.
 *
 * Convention, exact or not: the quantile q of n sorted samples lies at position (n - 1) q, between
 * two samples by linear interpolation, as gsl_stats_quantile_from_sorted_data has it.
 */
#ifndef ESGSIM_SIM_QUANTILE_H
#define ESGSIM_SIM_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/units.h"

/* Samples kept for exact quantiles: 2 MiB. */
#define QUANTILE_EXACT_SAMPLES ((size_t)262144)

struct quantile;

/* An empty accumulator that is exact up to `exact_samples` samples (QUANTILE_EXACT_SAMPLES as a
 * rule; 0: a histogram from the start). Memory grows with the samples. NULL when out of memory. */
struct quantile *quantile_create(size_t exact_samples);
void quantile_destroy(struct quantile *quantile);

/* Adds one sample >= 0 (asserted), in ns. Amortised O(1). False, and nothing added, when out of
 * memory. */
bool quantile_add(struct quantile *quantile, sim_time_t sample);

uint64_t quantile_count(const struct quantile *quantile);

/* In ns; 0 where there are no samples. */
double quantile_mean(const struct quantile *quantile);
sim_time_t quantile_max(const struct quantile *quantile);

/* Quantile q in [0, 1] (asserted), in ns; 0 where there are no samples. O(n) while exact
 * (ascending q after one another look at what is above the last), O(buckets) later. */
double quantile_value(struct quantile *quantile, double q);

/* Whether all samples are still held, and quantiles therefore exact. */
bool quantile_is_exact(const struct quantile *quantile);

#endif
