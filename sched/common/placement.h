/* Which invoker for a batch, in a bounded number of O(1) questions. */
#ifndef ESGSIM_SCHED_COMMON_PLACEMENT_H
#define ESGSIM_SCHED_COMMON_PLACEMENT_H

#include "sched/policy.h"

struct load_index;

/* LOCALITY asks, warm containers first: where the head job's inputs were made, the function's home
 * invoker (OpenWhisk's hash), the best fit. HOME leaves out the first, BEST_FIT the first two. ESG
 * is placement_esg with PLACEMENT_NEAR and no index. */
enum placement_rule { PLACEMENT_LOCALITY, PLACEMENT_HOME, PLACEMENT_BEST_FIT, PLACEMENT_ESG };

#define PLACEMENT_CHOICES "locality|home|best-fit|esg"

/* What placement_esg prefers: nothing, invokers with an idle container, these and those that are
 * near: that made the head job's inputs, or are the function's home. */
enum placement_preference { PLACEMENT_ANY, PLACEMENT_WARM, PLACEMENT_NEAR };

/* platform_fits, or, `warm`, platform_fits_warm. */
bool placement_fits(const struct platform *platform, uint32_t function, uint32_t configuration,
                    uint32_t invoker, bool warm);

/* The invoker for a batch of the head of `queue`, SIM_NONE where none fits now. `warm_only`: only
 * where an idle container of the function is. */
uint32_t placement_choose(struct platform *platform, uint32_t queue, uint32_t configuration,
                          enum placement_rule rule, bool warm_only);

/* ESG_Dispatch's choice (ESG, HPDC'24): ran a predecessor and is warm > is warm > ran a predecessor
 * > the function's home or one of the next three of its walk > any; within each the best fit on
 * vGPUs. With `loads` it is the least loaded within each instead, which spreads batches over GPUs
 * where the best fit packs them. A weaker `preference` leaves out the middle ranks. O(1), but for
 * the fan-in of the head job's stage. */
uint32_t placement_esg(struct platform *platform, uint32_t queue, uint32_t configuration,
                       enum placement_preference preference, struct load_index *loads,
                       bool warm_only);

#endif
