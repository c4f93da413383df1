/* Dilu's lazy horizontal scaling (ASPLOS'25), independent of the platform.
 *
 * [code: scheduling/scaler.py, with the numbers of its main; the class has 20, 15 and 15] A
 * function's rate is sampled once per second. n instances have the capacity n × throughput. If at
 * least 20 of the last 40 samples exceed the capacity, one instance is added. If at least 30 are
 * below (n - 1) × throughput, the youngest is removed, unless it is the only one. After either the
 * window is cleared. Between these steps the instances' shares absorb changes of load (share.h).
 */
#ifndef ESGSIM_SCHED_DILU_DILU_SCALER_H
#define ESGSIM_SCHED_DILU_DILU_SCALER_H

#include <stddef.h>

#include "sim/base/arena.h"

struct dilu_lazy_rule {
    size_t window;  /* length in samples */
    size_t out, in; /* number of samples that triggers scaling out, and in */
};

struct dilu_window {
    double *samples; /* a ring */
    size_t room, count, next;
};

/* Allocates room for `length` (>= 1) samples. */
void dilu_window_init(struct dilu_window *window, struct arena *arena, size_t length);

/* Adds a sample; a full window discards the oldest. */
void dilu_window_add(struct dilu_window *window, double rate);
/* Discards all samples. */
void dilu_window_restart(struct dilu_window *window);

/* Returns 1 to add an instance, -1 to remove one, 0 for neither; adding takes precedence.
 * `capacity` is that of all instances, `without` that of all but the one to remove (ignored if
 * `instances` is 1 or 0). O(window). */
int dilu_lazy(const struct dilu_window *window, const struct dilu_lazy_rule *rule, double capacity,
              double without, size_t instances);

#endif
