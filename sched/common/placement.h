/* Which invoker for a batch, in a bounded number of O(1) questions. */
#ifndef ESGSIM_SCHED_COMMON_PLACEMENT_H
#define ESGSIM_SCHED_COMMON_PLACEMENT_H

#include "sched/policy.h"

/* LOCALITY asks, warm containers first: where the head job's inputs were made, the function's home
 * invoker (OpenWhisk's hash), the best fit. HOME leaves out the first, BEST_FIT the first two. */
enum placement_rule { PLACEMENT_LOCALITY, PLACEMENT_HOME, PLACEMENT_BEST_FIT };

#define PLACEMENT_CHOICES "locality|home|best-fit"

/* The invoker for a batch of the head of `queue`, SIM_NONE where none fits now. `warm_only`: only
 * where an idle container of the function is. */
uint32_t placement_choose(struct platform *platform, uint32_t queue, uint32_t configuration,
                          enum placement_rule rule, bool warm_only);

#endif
