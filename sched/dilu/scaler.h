/* Dilu's lazy horizontal scaling (ASPLOS'25), without the platform.
 *
 * [code: scheduling/scaler.py, with the numbers of its main; the class has 20, 15 and 15] Once a
 * second a function's rate is sampled. Of the last 40 samples, 20 above what its n instances can
 * do, n × throughput, make one more; 30 below (n - 1) × throughput take one away, the youngest,
 * unless it is the only one. After either the window starts anew. In between the instances' shares
 * absorb what comes (share.h).
 */
#ifndef ESGSIM_SCHED_DILU_SCALER_H
#define ESGSIM_SCHED_DILU_SCALER_H

#include <stdbool.h>
#include <stddef.h>

struct dilu_lazy_rule {
    size_t window;  /* samples */
    size_t out, in; /* samples of these that are enough */
};

struct dilu_window {
    double *samples; /* a ring; owned */
    size_t room, count, next;
};

/* Room for `length` (>= 1) samples. False when out of memory; clear is then still to be called. */
bool dilu_window_init(struct dilu_window *window, size_t length);
void dilu_window_clear(struct dilu_window *window);

/* A sample, in place of the oldest where the window is full. */
void dilu_window_add(struct dilu_window *window, double rate);
/* Forgets all samples. */
void dilu_window_restart(struct dilu_window *window);

/* 1: one instance more, -1: one less, 0: neither. `capacity`: of all instances, `without`: of all
 * but the one that would go (ignored where `instances` is 1 or 0). More wins where both hold.
 * O(window). */
int dilu_lazy(const struct dilu_window *window, const struct dilu_lazy_rule *rule, double capacity,
              double without, size_t instances);

#endif
