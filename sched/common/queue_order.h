/* Which queue is next: an indexed binary heap of the non-empty queues.
 *
 * A dispatcher ranks a queue by its oldest job; the rank changes only when that job does, so the
 * order is kept up by one O(log queues) step a change and never sorted anew.
 */
#ifndef ESGSIM_SCHED_COMMON_QUEUE_ORDER_H
#define ESGSIM_SCHED_COMMON_QUEUE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* Lower comes first; `second` decides where `first` ties, then the queue's number. */
struct queue_rank {
    int64_t first;
    int64_t second;
};

struct queue_order;

/* Room for queues 0..queue_count-1, none of them in the order. NULL when out of memory. */
struct queue_order *queue_order_create(uint32_t queue_count);
void queue_order_destroy(struct queue_order *order);

/* Adds the queue or moves it to its new rank. O(log queues). */
void queue_order_set(struct queue_order *order, uint32_t queue, struct queue_rank rank);

/* Takes the queue out; nothing happens where it is not in the order. O(log queues). */
void queue_order_remove(struct queue_order *order, uint32_t queue);

/* The queue of lowest rank, SIM_NONE where the order is empty; `rank` (may be NULL) receives the
 * rank it was given. */
uint32_t queue_order_first(const struct queue_order *order, struct queue_rank *rank);

#endif
