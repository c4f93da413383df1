/* Long-short-term histogram keep-alive (LSTH) of INFless (ASPLOS'22), for one function.
 *
 * Two histograms count the gaps between invocations, over a long and a short window of the past
 * [notes]. The head percentile of each, rounded down to a bin, is a prewarm window: the time after
 * an invocation for which no container is needed. The tail percentile, rounded up, is a keep-alive
 * window. The result is the mix gamma × long + (1 - gamma) × short [notes], gamma 0.5.
 *
 * LSTH is not in the authors' repository. Percentiles 5 and 99, bins of a minute and a range of 240
 * bins are therefore those of the hybrid histogram policy that LSTH extends (Shahrad et al.,
 * ATC'20) [recall]. Windows of a day and an hour are assumed. Gaps beyond the range count as the
 * end of the range. A window slides in steps of a sixteenth of its length [derived].
 *
 * This is the paper's version, for the policy infless. It counts gaps between invocations over
 * spans of time, and reports when it has too few observations. The keep-alive policy of the same
 * name (sched/keep_alive/lsth.c) works with any scheduler and follows the authors' later code: it
 * counts idle times, from the end of the work, over a number of observations, with a margin. The
 * two share gamma and the percentiles. They are separate so that each can be compared with its
 * source.
 */
#ifndef ESGSIM_SCHED_INFLESS_LSTH_H
#define ESGSIM_SCHED_INFLESS_LSTH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"

enum { LSTH_BINS = 240, LSTH_SLICES = 16, LSTH_LEAST_GAPS = 10 };

struct lsth_window {
    sim_time_t slice; /* length of one slice */
    int64_t newest;   /* number of the current slice */
    uint32_t total;
    uint32_t counts[LSTH_SLICES][LSTH_BINS];
};

struct lsth {
    sim_time_t bin, last; /* last: time of the last invocation, -1 before the first */
    double gamma;
    struct lsth_window long_term, short_term;
};

/* Windows and bin are positive. */
void lsth_init(struct lsth *lsth, sim_time_t bin, sim_time_t long_window, sim_time_t short_window,
               double gamma);

/* Records an invocation at `now`, which must not decrease. */
void lsth_observe(struct lsth *lsth, sim_time_t now);

/* The windows as of `now`. False if the long window contains fewer than LSTH_LEAST_GAPS gaps, which
 * is not representative. If the short window is empty, the long one replaces it. */
bool lsth_windows(struct lsth *lsth, sim_time_t now, sim_time_t *prewarm, sim_time_t *keep_alive);

#endif
