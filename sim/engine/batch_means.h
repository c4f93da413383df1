/* Output analysis of one run: length of the warm-up, and confidence interval of the mean.
 *
 * A series stores the means of consecutive batches of observations, at most BATCH_MEANS_BATCHES.
 * When it is full, neighbouring batches are merged, and batches are twice as long from then on.
 * Memory is bounded, and the run's length need not be known. As long as no batches have been
 * merged, the analysis is the same as with all batches of the whole run.
 */
#ifndef ESGSIM_SIM_ENGINE_BATCH_MEANS_H
#define ESGSIM_SIM_ENGINE_BATCH_MEANS_H

#include <stddef.h>
#include <stdint.h>

struct arena;

enum { BATCH_MEANS_BATCHES = 4096, BATCH_MEANS_MSER_BATCH = 5, BATCH_MEANS_INTERVAL_BATCHES = 32 };

struct batch_means {
    double *means; /* of complete batches */
    size_t count;
    uint64_t batch; /* observations per batch */
    double sum;     /* of the incomplete batch */
    double squares; /* sum of the squares of all observations */
    uint64_t filled;
};

/* Initialises an empty series with `batch` >= 1 observations per batch, in the arena. */
void batch_means_init(struct arena *arena, struct batch_means *series, uint64_t batch);

/* Merges neighbouring batches of a full series. Called by batch_means_add. */
void batch_means_join(struct batch_means *series);

/* Adds one observation. Amortised O(1). */
static inline void batch_means_add(struct batch_means *series, double value)
{
    series->sum += value;
    series->squares += value * value;
    if (++series->filled < series->batch)
        return;
    series->means[series->count++] = series->sum / (double)series->batch;
    series->sum = 0;
    series->filled = 0;
    if (series->count == BATCH_MEANS_BATCHES)
        batch_means_join(series);
}

/* Returns the number of observations to cut from the start, by the marginal standard error rule
 * (MSER). This cut minimises the standard error of the mean of the remaining observations. NAN if
 * there are fewer than 10 batches, or if the cut would be in the second half: the run is then too
 * short. O(batches).
 *
 * If the series began with BATCH_MEANS_MSER_BATCH, batches have 5 observations (MSER-5) up to 5 ×
 * BATCH_MEANS_BATCHES observations, and 10, 20, … beyond that.
 *
 * Source: White, "An effective truncation heuristic for bias reduction in simulation output",
 * Simulation 69 (1997), in the form of White, Cobb and Spratt, WSC 2000.
 */
double batch_means_warmup(const struct batch_means *series);

/* Returns the half-width of the 95 % interval of the mean by the method of batch means (Law and
 * Kelton, Simulation Modeling and Analysis, "The method of batch means").
 *
 * All observations are divided into BATCH_MEANS_INTERVAL_BATCHES consecutive batches, as equally as
 * those of the series allow. Their means are assumed independent and normal. NAN if any would
 * contain fewer than 2 batches of the series, or if all are equal. The interval is too narrow
 * unless batches are long compared with the correlation time of the observations.
 * tests/test_batch_means.c measures its coverage.
 */
double batch_means_half_width(const struct batch_means *series);

/* Returns how many independent observations those of the series are worth: their number, times the
 * variance of a mean of independent ones / the variance of the mean by means of half as many
 * batches, because shorter ones hide more of a long correlation. At most their number, and at least
 * BATCH_MEANS_INTERVAL_BATCHES, whose means are assumed independent above. NAN if
 * the series is too short. */
double batch_means_effective(const struct batch_means *series);

/* Returns how steadily the series rises: of BATCH_MEANS_INTERVAL_BATCHES consecutive batches, the
 * share of the pairs of which the later one has the larger mean (as in Kendall's tau). About 1/2
 * without a trend, 1 for a steady rise. NAN likewise. O(batches). */
double batch_means_rising(const struct batch_means *series);

#endif
