/* Histograms of a function's idle times, and the windows read off them: what the histogram policies
 * share.
 *
 * An idle time of a function runs from the end of its last batch, anywhere, to the start of the
 * next; a batch that starts while another runs adds an idle time of 0.
 */
#ifndef ESGSIM_SCHED_KEEP_ALIVE_IDLE_TIMES_H
#define ESGSIM_SCHED_KEEP_ALIVE_IDLE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/keep_alive.h"
#include "sim/units.h"

/* Bin i counts idle times in [i, i + 1) × width; those beyond the last bin are out of range. */
struct idle_histogram {
    sim_time_t width;
    uint32_t bin_count;
    uint64_t *bins;
    uint64_t in_range, out_of_range;
    double squares; /* Σ bins² */
};

/* False when out of memory; idle_histogram_clear frees either way. */
bool idle_histogram_init(struct idle_histogram *histogram, sim_time_t width, uint32_t bin_count);
void idle_histogram_clear(struct idle_histogram *histogram);
void idle_histogram_add(struct idle_histogram *histogram, sim_time_t idle);
/* Takes an idle time back that was added before. */
void idle_histogram_remove(struct idle_histogram *histogram, sim_time_t idle);
/* Bin of the nearest-rank percentile (0..100) of the times in range, of which there is one at
 * least. O(bins). */
uint32_t idle_histogram_percentile(const struct idle_histogram *histogram, double percentile);
/* Coefficient of variation of the bins' counts: 0 where all are alike, √(bins − 1) where one holds
 * everything. O(1). */
double idle_histogram_variation(const struct idle_histogram *histogram);

/* Since the end of the last batch: when the next is expected at the earliest and at the latest. */
struct idle_window {
    double head_ns, tail_ns;
};

/* The percentile's bin rounded down and lessened by `margin` (0.1: 10 %), and the other's rounded
 * up and enlarged. */
struct idle_window idle_histogram_window(const struct idle_histogram *histogram, double head,
                                         double tail, double margin);

/* Watches the uses of one function. */
struct idle_watch {
    uint32_t running;
    bool seen;           /* a batch has ended */
    sim_time_t last_end; /* of the last that did */
};

/* A batch starts; true and *idle where that ends an idle time. */
bool idle_watch_use(struct idle_watch *watch, sim_time_t now, sim_time_t *idle);
void idle_watch_end(struct idle_watch *watch, sim_time_t now);

/* What a window of the function means for a container of it that falls idle now. The function is
 * in use as long as any container of it works; only the one that falls idle last goes at once, to
 * be started `lead` ahead of the head. */
struct keep_windows idle_watch_windows(const struct idle_watch *watch, struct idle_window window,
                                       sim_time_t lead);
/* How much longer a container stays whose time is up: the tail counts from the function's last
 * batch, not the container's. */
sim_time_t idle_watch_extend(const struct idle_watch *watch, struct idle_window window,
                             sim_time_t now);

#endif
