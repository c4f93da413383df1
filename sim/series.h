/* Output analysis within one run: where does the warm-up end, and how sure is its mean?
 *
 * A series keeps the means of consecutive batches of what is added, at most SERIES_BATCHES of them:
 * when it is full, neighbours are joined and batches are twice as long from then on. So memory is
 * bounded, nothing needs to be known of the run's length, and up to SERIES_BATCHES batches of the
 * first length the analysis is exactly that of the whole data.
 */
#ifndef ESGSIM_SIM_SERIES_H
#define ESGSIM_SIM_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERIES_BATCHES = 4096, SERIES_MSER_BATCH = 5, SERIES_INTERVAL_BATCHES = 32 };

struct series {
    double *means; /* of whole batches */
    size_t count;
    uint64_t batch; /* observations in each */
    double sum;     /* of the batch that is not whole yet */
    uint64_t filled;
};

/* `batch` observations a batch at first, at least 1. False where memory is short. */
bool series_init(struct series *series, uint64_t batch);
void series_clear(struct series *series);

/* Joins neighbouring batches of a full series. */
void series_join(struct series *series);

static inline void series_add(struct series *series, double value)
{
    series->sum += value;
    if (++series->filled < series->batch)
        return;
    series->means[series->count++] = series->sum / (double)series->batch;
    series->sum = 0;
    series->filled = 0;
    if (series->count == SERIES_BATCHES)
        series_join(series);
}

/* Observations to cut off from the start, by the marginal standard error rule: the cut that makes
 * the standard error of the mean of what is left smallest. White, "An effective truncation
 * heuristic for bias reduction in simulation output", Simulation 69 (1997), in the form of White,
 * Cobb and Spratt, WSC 2000, with batches of 5 (MSER-5) when the series began with
 * SERIES_MSER_BATCH and is shorter than 5 × SERIES_BATCHES; of 10, 20, … beyond. NAN where the rule
 * finds its cut in the second half, which says that the run is too short to tell, or where there
 * are fewer than 10 batches. O(batches). */
double series_warmup(const struct series *series);

/* Half-width of the 95 % interval of the mean by batch means: what was added in
 * SERIES_INTERVAL_BATCHES consecutive batches, whose means are taken for independent and normal
 * (Law and Kelton, Simulation Modeling and Analysis, "The method of batch means"). A last part that
 * does not fill a batch is left out. NAN where a batch would hold fewer than 2 batches of the
 * series. The interval is too narrow where a batch is not long beside the time over which the
 * series is correlated: tests/test_series.c measures how often it covers the truth. */
double series_half_width(const struct series *series);

#endif
