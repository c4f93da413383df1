/* The jobs that wait for one deployment: those of several queues, oldest first.
 *
 * For policies whose instances serve all the queues that run a function. Each queue has a slot,
 * which says whose it is and what is known of it; it is brought up to date whenever jobs entered or
 * left the queue: in on_ready and on_withdrawn, after platform_route and platform_return. Then the
 * oldest job and the number of them are O(1) questions.
 */
#ifndef ESGSIM_SCHED_COMMON_BACKLOG_H
#define ESGSIM_SCHED_COMMON_BACKLOG_H

#include "sched/common/queue_order.h"
#include "sched/policy.h"
#include "sched/policy_instances.h"

struct backlog {
    uint32_t *queues; /* in the order in which they were added; owned */
    uint32_t queue_count;
    uint32_t waiting;          /* jobs in them */
    struct queue_order *order; /* of those with jobs, by place in `queues`; owned */
};

struct backlog_slot {
    uint32_t owner;   /* the caller's number for the backlog that the queue is in */
    uint32_t place;   /* in its `queues` */
    uint32_t counted; /* jobs of the queue that are in its `waiting` */
};

/* Adds a queue, which is empty, to a backlog: all zero before its first. False when out of memory;
 * backlog_clear frees either way. */
bool backlog_add(struct backlog *backlog, struct backlog_slot *slot, uint32_t owner,
                 uint32_t queue);
/* To be called when all queues have been added. False when out of memory. */
bool backlog_start(struct backlog *backlog);
void backlog_clear(struct backlog *backlog);

/* Jobs entered or left the queue of `slot`. O(log queues). */
void backlog_update(struct backlog *backlog, struct backlog_slot *slot,
                    const struct platform *platform);

/* The queue whose oldest job is the oldest of all (ties: the queue of the lowest number); SIM_NONE
 * where nothing waits. */
uint32_t backlog_oldest(const struct backlog *backlog);
/* Since when that job waits; SIM_FOREVER where nothing does. */
sim_time_t backlog_since(const struct backlog *backlog);

#endif
