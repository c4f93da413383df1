#include "sched/common/backlog.h"

void backlog_add(struct backlog *backlog, struct arena *arena, struct backlog_slot *slot,
                 uint32_t owner, uint32_t queue)
{
    arena_reserve(arena, &backlog->queues, backlog->queue_count + (size_t)1, sizeof queue);
    *slot = (struct backlog_slot){.owner = owner, .place = backlog->queue_count};
    backlog->queues[backlog->queue_count++] = queue;
}

void backlog_start(struct backlog *backlog, struct arena *arena)
{
    backlog->order = queue_order_create(arena, backlog->queue_count);
}

void backlog_update(struct backlog *backlog, struct backlog_slot *slot,
                    const struct platform *platform)
{
    const uint32_t queue = backlog->queues[slot->place];
    const uint32_t length = platform_queue_length(platform, queue);
    backlog->waiting = backlog->waiting - slot->counted + length;
    slot->counted = length;
    if (length == 0)
        queue_order_remove(backlog->order, slot->place);
    else
        queue_order_set(backlog->order, slot->place,
                        (struct queue_rank){platform_job(platform, queue, 0).ready, queue});
}

uint32_t backlog_oldest(const struct backlog *backlog)
{
    const uint32_t first = queue_order_first(backlog->order, NULL);
    return first == SIM_NONE ? SIM_NONE : backlog->queues[first];
}

sim_time_t backlog_since(const struct backlog *backlog)
{
    struct queue_rank rank;
    return queue_order_first(backlog->order, &rank) == SIM_NONE ? SIM_FOREVER : rank.first;
}
