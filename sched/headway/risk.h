/* How much longer than planned a function's batches take: mean and spread, learned as they finish.
 *
 * The ratio r = execution time / nominal time holds everything that a profile does not: noise,
 * interference of co-runners, slower GPUs. Mean and variance are exponentially weighted averages.
 * While few ratios are known, each weighs 1 / (number + PRIOR), so that the averages start from the
 * prior and converge as the arithmetic means do.
 */
#ifndef ESGSIM_SCHED_HEADWAY_RISK_H
#define ESGSIM_SCHED_HEADWAY_RISK_H

#include <stdint.h>

struct risk {
    double mean;     /* of r */
    double variance; /* of r */
    uint64_t count;  /* ratios observed */
};

/* The prior; `deviation` is the standard deviation of r. */
void risk_start(struct risk *risk, double mean, double deviation);

/* Learns one ratio. `rate`, within (0, 1], is the least weight of a new ratio. */
void risk_observe(struct risk *risk, double ratio, double rate);

/* The factor on a nominal time that leaves a reserve of `deviations` standard deviations. */
double risk_factor(const struct risk *risk, double deviations);

#endif
