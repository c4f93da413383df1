/* The least loaded invoker, without a scan of all invokers.
 *
 * The load of an invoker is the number of batches that hold its resources. Invokers of the platform
 * have no queues. The caller updates the index after each dispatch and each finish.
 */
#ifndef ESGSIM_SCHED_COMMON_LOAD_INDEX_H
#define ESGSIM_SCHED_COMMON_LOAD_INDEX_H

#include "sched/policy.h"

struct load_index;

/* Contains all invokers of the platform's cluster. In the run's memory. */
struct load_index *load_index_create(struct platform *platform);

/* Call after each dispatch to `invoker` and each finish there. O(log invokers). */
void load_index_update(struct load_index *index, const struct platform *platform, uint32_t invoker);

/* The invoker with the fewest running batches that has room for a batch of `function` with
 * `configuration`; ties go to the lowest number. With `warm` it must also have an idle container of
 * the function. SIM_NONE if there is none. Each less loaded invoker without room is charged as one
 * unit of decision work. After 64 of them the best fit is returned, so that work is bounded on
 * clusters of any size. */
uint32_t load_index_least(struct load_index *index, struct platform *platform, uint32_t function,
                          uint32_t configuration, bool warm);

#endif
