/* Which invoker runs the fewest batches, without looking at all of them.
 *
 * A heap of the invokers by running batches, brought up to date for the one invoker that a dispatch
 * or a finish concerns. Load is the batches that hold resources: the platform's invokers hold no
 * queues.
 */
#ifndef ESGSIM_SCHED_COMMON_LOAD_INDEX_H
#define ESGSIM_SCHED_COMMON_LOAD_INDEX_H

#include "sched/policy.h"

struct load_index;

/* All invokers of the platform's cluster. NULL when out of memory. */
struct load_index *load_index_create(const struct platform *platform);
void load_index_destroy(struct load_index *index);

/* To be called after each dispatch to `invoker` and each finish there. O(log invokers). */
void load_index_update(struct load_index *index, const struct platform *platform, uint32_t invoker);

/* The invoker of fewest running batches (ties: the lowest number) with room for a batch of
 * `function` with `configuration`, `warm`: on an idle container; SIM_NONE where there is none. Less
 * loaded ones without room are passed over, which is charged, one unit each; after 64 of them the
 * best fit is taken, so that the work stays bounded on clusters of any size. */
uint32_t load_index_least(struct load_index *index, struct platform *platform, uint32_t function,
                          uint32_t configuration, bool warm);

#endif
