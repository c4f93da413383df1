/* Which queue a dispatcher serves next: the one of lowest rank among those in which jobs wait.
 *
 * A queue has the rank of its oldest job, so it changes only when that job does. Each change costs
 * O(log queues).
 */
#ifndef ESGSIM_SCHED_COMMON_QUEUE_ORDER_H
#define ESGSIM_SCHED_COMMON_QUEUE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"

/* Lower ranks first. `second` breaks ties of `first`; the queue's number breaks the rest. */
struct queue_rank {
    int64_t first;
    int64_t second;
};

struct queue_order;

/* For queues 0..queue_count-1, initially empty. A single block of the arena: arena_release gives
 * it back. */
struct queue_order *queue_order_create(struct arena *arena, uint32_t queue_count);

/* Inserts the queue, or changes its rank. O(log queues). */
void queue_order_set(struct queue_order *order, uint32_t queue, struct queue_rank rank);

/* Removes the queue. No effect if it is not in the order. O(log queues). */
void queue_order_remove(struct queue_order *order, uint32_t queue);

/* The queue of lowest rank; SIM_NONE if the order is empty. `rank` (may be NULL) receives its rank.
 */
uint32_t queue_order_first(const struct queue_order *order, struct queue_rank *rank);

#endif
