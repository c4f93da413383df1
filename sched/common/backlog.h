/* The jobs that wait for one deployment, over all queues of its function, oldest first.
 *
 * For policies whose instances serve every queue that runs a function. Each queue has a slot, which
 * records the backlog that owns it. Call backlog_update whenever jobs entered or left a queue: in
 * on_ready and on_withdrawn, and after platform_route and platform_return. The oldest job and the
 * number of waiting jobs then take O(1).
 */
#ifndef ESGSIM_SCHED_COMMON_BACKLOG_H
#define ESGSIM_SCHED_COMMON_BACKLOG_H

#include "sched/common/queue_order.h"
#include "sched/policy.h"
#include "sched/policy_instances.h"

struct backlog {
    uint32_t *queues; /* in insertion order */
    uint32_t queue_count;
    uint32_t waiting;          /* jobs in all these queues */
    struct queue_order *order; /* the non-empty queues, by index into `queues` */
};

struct backlog_slot {
    uint32_t owner;   /* caller's number of the backlog that contains the queue */
    uint32_t place;   /* index into `queues` of that backlog */
    uint32_t counted; /* jobs of this queue already counted in `waiting` */
};

/* Adds an empty queue to a backlog. A new backlog must be zeroed. All its memory is of one arena.
 */
void backlog_add(struct backlog *backlog, struct arena *arena, struct backlog_slot *slot,
                 uint32_t owner, uint32_t queue);
/* Call once, after the last backlog_add. */
void backlog_start(struct backlog *backlog, struct arena *arena);

/* Call after jobs entered or left the queue of `slot`. O(log queues). */
void backlog_update(struct backlog *backlog, struct backlog_slot *slot,
                    const struct platform *platform);

/* The queue whose oldest job is the oldest of all; ties go to the lowest queue number. SIM_NONE if
 * no job waits. */
uint32_t backlog_oldest(const struct backlog *backlog);
/* Time at which that job became ready. SIM_FOREVER if no job waits. */
sim_time_t backlog_since(const struct backlog *backlog);

#endif
