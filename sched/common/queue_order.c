#include "sched/common/queue_order.h"

#include "sim/base/units.h"

/* One block of memory, so that it is released as one. */
struct queue_order {
    uint32_t count;
    uint32_t *heap;           /* queues as a binary min-heap */
    uint32_t *position;       /* index of each queue in heap[]; SIM_NONE if absent */
    struct queue_rank rank[]; /* of each queue; heap[] and position[] follow */
};

struct queue_order *queue_order_create(struct arena *arena, uint32_t queue_count)
{
    struct queue_order *order = NULL;
    const size_t each = sizeof *order->rank + sizeof *order->heap + sizeof *order->position;
    order = arena_allocate(arena, 1, sizeof *order + queue_count * each);
    order->heap = (uint32_t *)&order->rank[queue_count];
    order->position = order->heap + queue_count;
    for (uint32_t queue = 0; queue < queue_count; queue++)
        order->position[queue] = SIM_NONE;
    return order;
}

static bool comes_before(const struct queue_order *order, uint32_t a, uint32_t b)
{
    const struct queue_rank *left = &order->rank[a];
    const struct queue_rank *right = &order->rank[b];
    if (left->first != right->first)
        return left->first < right->first;
    if (left->second != right->second)
        return left->second < right->second;
    return a < b;
}

static void place(struct queue_order *order, uint32_t at, uint32_t queue)
{
    order->heap[at] = queue;
    order->position[queue] = at;
}

static inline void sift_up(struct queue_order *order, uint32_t at)
{
    const uint32_t queue = order->heap[at];
    while (at > 0) {
        const uint32_t parent = (at - 1) / 2;
        if (!comes_before(order, queue, order->heap[parent]))
            break;
        place(order, at, order->heap[parent]);
        at = parent;
    }
    place(order, at, queue);
}

static inline void sift_down(struct queue_order *order, uint32_t at)
{
    const uint32_t queue = order->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= order->count)
            break;
        if (child + 1 < order->count &&
            comes_before(order, order->heap[child + 1], order->heap[child]))
            child++;
        if (!comes_before(order, order->heap[child], queue))
            break;
        place(order, at, order->heap[child]);
        at = child;
    }
    place(order, at, queue);
}

void queue_order_set(struct queue_order *order, uint32_t queue, struct queue_rank rank)
{
    order->rank[queue] = rank;
    if (order->position[queue] == SIM_NONE)
        place(order, order->count++, queue);
    sift_up(order, order->position[queue]);
    sift_down(order, order->position[queue]);
}

void queue_order_remove(struct queue_order *order, uint32_t queue)
{
    const uint32_t at = order->position[queue];
    if (at == SIM_NONE)
        return;
    order->position[queue] = SIM_NONE;
    const uint32_t last = order->heap[--order->count];
    if (last == queue)
        return;
    place(order, at, last);
    sift_up(order, at);
    sift_down(order, order->position[last]);
}

uint32_t queue_order_first(const struct queue_order *order, struct queue_rank *rank)
{
    if (order->count == 0)
        return SIM_NONE;
    if (rank != NULL)
        *rank = order->rank[order->heap[0]];
    return order->heap[0];
}
