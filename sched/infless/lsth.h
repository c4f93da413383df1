/* Long-short-term histogram keep-alive (LSTH) of INFless (ASPLOS'22), for one function.
 *
 * Two histograms of the gaps between invocations, over a long and a short window of the past
 * [notes]. In each the head percentile, rounded down to a bin, is a prewarm window (how long after
 * an invocation no container is needed), the tail percentile, rounded up, a keep-alive window. What
 * counts is the mix: gamma × long + (1 - gamma) × short [notes], gamma 0.5.
 *
 * Not in the authors' repository, so that percentiles 5 and 99, bins of a minute and a range of 240
 * of them are those of the hybrid histogram policy which LSTH extends (Shahrad et al., ATC'20)
 * [recall]; windows of a day and an hour are assumed. Gaps beyond the range count for its end. A
 * window slides in steps of a sixteenth of its length [derived].
 *
 * This is the paper's, for the policy infless: spans of time, gaps from one invocation to the next,
 * whatever runs, and where there is too little to go by it says so. The keep-alive policy of the
 * same name (sched/keep_alive/lsth.c) serves any scheduler after the authors' later code: numbers
 * of idle times, counted from the end of the work, with a margin. The two share γ and percentiles,
 * not what is counted nor when it is forgotten, and stay apart so that each can be held against its
 * source.
 */
#ifndef ESGSIM_SCHED_INFLESS_LSTH_H
#define ESGSIM_SCHED_INFLESS_LSTH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/units.h"

enum { LSTH_BINS = 240, LSTH_SLICES = 16, LSTH_LEAST_GAPS = 10 };

struct lsth_window {
    sim_time_t slice; /* length of one */
    int64_t newest;   /* number of the slice that is being filled */
    uint32_t total;
    uint32_t counts[LSTH_SLICES][LSTH_BINS];
};

struct lsth {
    sim_time_t bin, last; /* last invocation; -1: none yet */
    double gamma;
    struct lsth_window long_term, short_term;
};

/* Windows and bin are positive. */
void lsth_init(struct lsth *lsth, sim_time_t bin, sim_time_t long_window, sim_time_t short_window,
               double gamma);

/* An invocation at `now`, which never goes back. */
void lsth_observe(struct lsth *lsth, sim_time_t now);

/* The windows as of `now`; false where the long window holds fewer than LSTH_LEAST_GAPS gaps: not
 * representative. An empty short window speaks like the long one. */
bool lsth_windows(struct lsth *lsth, sim_time_t now, sim_time_t *prewarm, sim_time_t *keep_alive);

#endif
