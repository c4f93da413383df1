/* Distributions of durations on a grid: what Orion reckons percentiles with.
 *
 * A duration is rounded up to whole bins, and what is later than the horizon is left out (the mass
 * then sums to less than 1). Both err to the late side, so that a percentile read here is never
 * below the true one; and both keep stochastic order, so that a faster stage never makes a whole
 * slower. [code: Orion convolves 100 ms bins and multiplies CDFs; derived: rounding up]
 */
#ifndef ESGSIM_SCHED_ORION_DISTRIBUTION_H
#define ESGSIM_SCHED_ORION_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/workload.h"

/* mass[i]: probability of (first + i) bins. Its maker gives `mass` room for horizon + 1 entries. */
struct distribution {
    uint32_t first;
    uint32_t count;
    double *mass;
};

/* The certain duration 0. */
void distribution_zero(struct distribution *out);

/* Execution time of `function` where its nominal time is `time` ns: nominal × lognormal noise for a
 * profile, the function's own law otherwise. `bin` in ns. `out->mass` must have room for horizon
 * + 1. */
void distribution_execution(const struct function *function, sim_time_t time, double bin,
                            uint32_t horizon, struct distribution *out);

/* One after the other, independent: the convolution. `out` is neither operand. O(a × b). */
void distribution_series(const struct distribution *a, const struct distribution *b,
                         uint32_t horizon, struct distribution *out);

/* The later of two independent durations: the product of the CDFs. `out` is neither operand.
 * O(bins of both). */
void distribution_later(const struct distribution *a, const struct distribution *b,
                        struct distribution *out);

/* The least number of bins within which the share `p` lies; horizon + 1 where none does. */
uint32_t distribution_percentile(const struct distribution *distribution, double p,
                                 uint32_t horizon);

#endif
