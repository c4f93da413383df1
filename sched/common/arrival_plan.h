/* A plan that does not look at the clock, for policies whose contribution lies elsewhere.
 *
 * The two functions of a `struct dispatch_rule` of a policy whose state begins with a dispatcher:
 * requests in order of arrival, each stage at one static configuration.
 */
#ifndef ESGSIM_SCHED_COMMON_ARRIVAL_PLAN_H
#define ESGSIM_SCHED_COMMON_ARRIVAL_PLAN_H

#include "sched/common/dispatcher.h"

/* By the request of the queue's oldest job. */
struct queue_rank arrival_plan_rank(const void *state, const struct platform *platform,
                                    uint32_t queue);

/* The cheapest configuration per job of batch <= `jobs` within the stage's share of the
 * application's SLO; where none is, the fastest. */
uint32_t arrival_plan_configure(const void *state, const struct platform *platform, uint32_t queue,
                                uint32_t jobs);

#endif
