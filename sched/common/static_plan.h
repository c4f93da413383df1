/* First come, first served, with one static configuration per stage.
 *
 * The two functions of a `struct dispatch_rule`, for policies that contribute neither an order nor
 * a configuration rule of their own. The policy's state must begin with a `struct dispatcher`.
 */
#ifndef ESGSIM_SCHED_COMMON_STATIC_PLAN_H
#define ESGSIM_SCHED_COMMON_STATIC_PLAN_H

#include "sched/common/dispatcher.h"

/* Rank by arrival order of the request that the queue's oldest job belongs to. */
struct queue_rank static_plan_rank(const void *state, const struct platform *platform,
                                   uint32_t queue);

/* The configuration of batch <= `jobs` that costs least per job within the stage's share of the
 * application's SLO. The fastest configuration if none meets that share. */
uint32_t static_plan_configure(const void *state, const struct platform *platform, uint32_t queue,
                               uint32_t jobs);

#endif
