/* The heap of keys: growth, exchange with the overflow heap, removal of stale keys. */
#include <stdlib.h>
#include <string.h>

#include "sim/engine/event_queue_internal.h"

void event_heap_grow(struct event_queue *event_queue, size_t capacity)
{
    /* Aligned so that the four children of a node share one cache line. */
    enum { LINE = 64, LEAD = LINE / sizeof(event_queue_key) - 1 };
    event_queue_key *memory =
        arena_allocate(event_queue->arena, LEAD + capacity + ARITY, sizeof *memory);
    event_queue_key *heap = memory + LEAD - (uintptr_t)(memory + LEAD + 1) % LINE / sizeof *memory;
    if (event_queue->length > 0)
        memcpy(heap, event_queue->heap, event_queue->length * sizeof *heap);
    for (size_t i = event_queue->length; i < capacity + ARITY; i++)
        heap[i] = KEY_END;
    arena_release(event_queue->arena, event_queue->heap_memory);
    event_queue->heap_memory = memory;
    event_queue->heap = heap;
    event_queue->heap_capacity = capacity;
}

void event_heap_reserve(struct event_queue *event_queue, size_t keys)
{
    size_t capacity = event_queue->heap_capacity;
    while (capacity < keys)
        capacity *= 2;
    if (capacity > event_queue->heap_capacity)
        event_heap_grow(event_queue, capacity);
}

/* Builds a heap of `length` keys in any order. `before` is the previous length. O(n). */
static void heap_build(struct event_queue *event_queue, size_t length, size_t before)
{
    event_queue_key *heap = event_queue->heap;
    for (size_t i = length; i < before; i++)
        heap[i] = KEY_END;
    event_queue->length = length;
    event_queue->hole = false;
    for (size_t i = length < 2 ? 0 : (length - 2) / ARITY + 1; i-- > 0;)
        heap_replace(heap, length, i, heap[i]);
}

/* ---- Exchange with the overflow heap --------------------------------------------------------- */

/* Returns a time that about half of the keys are at or after: the median of a sample. */
static uint64_t heap_middle(const event_queue_key *heap, size_t length)
{
    enum { SAMPLE = 15 };
    uint64_t times[SAMPLE] = {0};
    for (size_t i = 0; i < SAMPLE; i++) {
        uint64_t time = (uint64_t)(heap[i * (length - 1) / (SAMPLE - 1)] >> 64);
        size_t place = i;
        for (; place > 0 && times[place - 1] > time; place--)
            times[place] = times[place - 1];
        times[place] = time;
    }
    return times[SAMPLE / 2];
}

/* Returns the time from which on keys move to the overflow heap, or 0 if all keys are due now. This
 * is usually the median. If the median is the first time, only later keys move. If all keys have
 * one future time, all of them move. */
static uint64_t heap_part(const struct event_queue *event_queue, size_t length)
{
    const uint64_t first = (uint64_t)(event_queue->heap[0] >> 64);
    uint64_t part = heap_middle(event_queue->heap, length);
    part = part > event_queue->far.base ? part : event_queue->far.base;
    if (part > first)
        return part;
    for (size_t i = 0; i < length; i++)
        if ((uint64_t)(event_queue->heap[i] >> 64) > first)
            return first + 1;
    return first > (uint64_t)event_queue->now ? first : 0;
}

void event_heap_spill(struct event_queue *event_queue)
{
    event_queue_key *heap = event_queue->heap;
    size_t length = event_queue->length;
    if (event_queue->far.count == 0)
        event_queue->far.base = (uint64_t)event_queue->now;
    while (length > SPILL) {
        uint64_t part = heap_part(event_queue, length);
        size_t kept = 0;
        if (part == 0)
            break;
        event_queue->far.horizon = part;
        for (size_t i = 0; i < length; i++) {
            if ((uint64_t)(heap[i] >> 64) < part)
                heap[kept++] = heap[i];
            else
                overflow_heap_add(&event_queue->far, heap[i]);
        }
        if (kept == length)
            break;
        length = kept;
    }
    if (length < event_queue->length)
        heap_build(event_queue, length, event_queue->length);
    event_queue->patience = length > SPILL ? length : 0;
}

/* Moves whole buckets. After the first bucket, a bucket with too many keys remains in `far`. */
void event_heap_refill(struct event_queue *event_queue)
{
    struct overflow_heap *far = &event_queue->far;
    size_t taken = 0;
    while (taken < REFILL && far->count > 0) {
        const size_t count = overflow_heap_next(far);
        if (taken > 0 && count > FAR_BUCKET_MOST)
            break;
        event_heap_reserve(event_queue, taken + count);
        overflow_heap_take(far, event_queue->heap + taken);
        taken += count;
    }
    heap_build(event_queue, taken, 0);
    event_queue->patience = 0;
}

/* Moves all keys of `far` into the array. The caller must rebuild the heap afterwards. */
static void heap_recall(struct event_queue *event_queue)
{
    size_t far = event_queue->far.count;
    event_heap_reserve(event_queue, event_queue->length + far);
    overflow_heap_take_all(&event_queue->far, event_queue->heap + event_queue->length);
    event_queue->length += far;
    event_queue->patience = 0;
}

void event_heap_sweep(struct event_queue *event_queue)
{
    heap_recall(event_queue);
    event_queue_key *heap = event_queue->heap;
    size_t kept = 0;
    for (size_t i = 0; i < event_queue->length; i++)
        if (key_is_live(event_queue, heap[i]))
            heap[kept++] = heap[i];
    heap_build(event_queue, kept, event_queue->length);
}

static int key_compare(const void *a, const void *b)
{
    const event_queue_key *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void event_queue_renumber(struct event_queue *event_queue)
{
    heap_recall(event_queue);
    for (size_t i = event_queue->hole ? 1 : 0; i < event_queue->length; i++) {
        uint32_t slot = key_slot(event_queue->heap[i]);
        if (key_is_live(event_queue, event_queue->heap[i]) && event_queue->slots[slot].time < 0)
            event_queue->heap[i] = slot_resume(event_queue, slot);
    }
    event_heap_sweep(event_queue);
    qsort(event_queue->heap, event_queue->length, sizeof *event_queue->heap, key_compare);
    for (size_t i = 0; i < event_queue->length; i++) {
        uint32_t slot = key_slot(event_queue->heap[i]);
        slot_set_sequence(&event_queue->slots[slot], i + 1);
        event_queue->heap[i] = key_of(key_time(event_queue->heap[i]), i + 1, slot);
    }
    event_queue->next_sequence = event_queue->length + 1;
}
