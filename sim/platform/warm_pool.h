/* The pool of warm containers that platform.pool asks for (not a public header).
 *
 * Of each function that runs on an invoker, `target` containers are kept there, as far as memory is
 * free. A fill evicts nothing. What the pool needs has no end of its keep-alive, but may be evicted
 * where memory is short. As Knative's min-scale, but per invoker.
 */
#ifndef ESGSIM_SIM_PLATFORM_WARM_POOL_H
#define ESGSIM_SIM_PLATFORM_WARM_POOL_H

#include "sim/platform/state.h"

/* Does nothing without a pool, or if the policy places containers itself. Fills it at time 0. */
void warm_pool_init(struct platform *platform);
/* Handles EVENT_WARM_POOL: starts what is missing, until the next period. O(invokers × functions).
 */
void warm_pool_fill(struct platform *platform);
/* Whether the pool needs the containers of the function that are on the invoker. */
bool warm_pool_needs(const struct platform *platform, uint32_t function, uint32_t invoker);

#endif
