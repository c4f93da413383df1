/* Probability distributions of durations on a grid, from which Orion computes percentiles.
 *
 * Durations are rounded up to whole bins, and mass beyond the horizon is discarded (the total is
 * then less than 1). Both overestimate, so a percentile is never below the true one. Both preserve
 * stochastic order, so a faster stage never makes an application slower. [code: Orion convolves 100
 * ms bins and multiplies CDFs; derived: rounding up]
 */
#ifndef ESGSIM_SCHED_ORION_DISTRIBUTION_H
#define ESGSIM_SCHED_ORION_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

#include "workloads/world/workload.h"

/* mass[i] is the probability of (first + i) bins. The creator allocates horizon + 1 entries for
 * `mass`. */
struct distribution {
    uint32_t first;
    uint32_t count;
    double *mass;
};

/* The constant duration 0. */
void distribution_zero(struct distribution *out);

/* The execution time of `function` on a GPU of `kind` if its nominal time is `time` ns: nominal ×
 * lognormal noise for a profile, the function's own distribution otherwise. `bin` is in ns.
 * `out->mass` must have room for horizon + 1 entries. */
void distribution_execution(const struct function *function, uint32_t kind, sim_time_t time,
                            double bin, uint32_t horizon, struct distribution *out);

/* The sum of two independent durations, by convolution. `out` must be neither operand. O(a × b). */
void distribution_series(const struct distribution *a, const struct distribution *b,
                         uint32_t horizon, struct distribution *out);

/* The maximum of two independent durations, by the product of the CDFs. `out` must be neither
 * operand. O(bins of both). */
void distribution_later(const struct distribution *a, const struct distribution *b,
                        struct distribution *out);

/* The smallest number of bins with cumulative probability >= `p`; horizon + 1 if there is none. */
uint32_t distribution_percentile(const struct distribution *distribution, double p,
                                 uint32_t horizon);

#endif
