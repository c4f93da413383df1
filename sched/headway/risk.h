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

#include "workloads/world/workload.h"

struct risk {
    double mean;     /* of r */
    double variance; /* of r */
    uint64_t count;  /* ratios observed */
};

/* Ratios are learned for each share of each kind of GPU, because the batch on a larger share has
 * fewer co-runners. Returns the number of these classes, and the class of a configuration. O(kinds
 * of GPU). */
uint32_t risk_class_count(const struct workload *workload);
uint32_t risk_class(const struct workload *workload, const struct configuration *configuration);

/* The prior; `deviation` is the standard deviation of r. */
void risk_start(struct risk *risk, double mean, double deviation);

/* Learns one ratio. `rate`, within (0, 1], is the least weight of a new ratio. */
void risk_observe(struct risk *risk, double ratio, double rate);

/* The factor on a nominal time that leaves a reserve of `deviations` standard deviations. */
double risk_factor(const struct risk *risk, double deviations);

#endif
