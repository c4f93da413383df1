/* The last measurements of a time, and their percentiles.
 *
 * As in Clockwork: the percentile of n values in ascending order is at position p (n - 1), counted
 * from 0, interpolated linearly between neighbours (malixian/clockwork @ 5917620,
 * src/clockwork/sliding_window.h).
 */
#ifndef ESGSIM_SCHED_COMMON_SLIDING_WINDOW_H
#define ESGSIM_SCHED_COMMON_SLIDING_WINDOW_H

#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/units.h"

struct sliding_window {
    sim_time_t *newest;    /* ring of the last `size` values, in order of arrival */
    sim_time_t *ascending; /* the same values, sorted */
    uint32_t size, count, next;
};

/* An empty window of at most `size` (>= 1) values. */
void sliding_window_init(struct sliding_window *window, struct arena *arena, uint32_t size);

/* Adds a value. The oldest leaves a full window. O(size). */
void sliding_window_add(struct sliding_window *window, sim_time_t value);

/* Percentile `share` (0 to 1), rounded to the nearest nanosecond; 0 if the window is empty. */
sim_time_t sliding_window_percentile(const struct sliding_window *window, double share);

#endif
