/* Checks the state inside an event queue, and ages one, for test_event_queue.c and its model. */
#ifndef ESGSIM_TESTS_EVENT_QUEUE_CHECK_H
#define ESGSIM_TESTS_EVENT_QUEUE_CHECK_H

#include "sim/engine/event_queue_internal.h"

struct key_check {
    const struct event_queue *event_queue;
    uint32_t in_bucket[FAR_LEVELS][FAR_DIGITS]; /* keys that belong into each bucket */
    size_t live;
    bool sound;
};

/* If the key is the current one of its slot, checks that the two agree. */
static inline void check_key(struct key_check *check, event_queue_key key)
{
    const struct event_queue *event_queue = check->event_queue;
    if (key_time(key) < 0 || key_slot(key) >= event_queue->slot_count) {
        check->sound = false;
        return;
    }
    if (!key_is_live(event_queue, key))
        return;
    const struct slot *slot = &event_queue->slots[key_slot(key)];
    check->live++;
    if (key_time(key) < event_queue->now ||
        (slot->time < 0 ? ~slot->time : slot->time) != key_time(key) ||
        (slot->time < 0 && slot_later_time(slot) < key_time(key)))
        check->sound = false;
}

static inline void check_far_key(struct key_check *check, event_queue_key key)
{
    const struct overflow_heap *far = &check->event_queue->far;
    const uint64_t time = (uint64_t)key_time(key), differs = time ^ far->base;
    unsigned level = FAR_LEVELS - 1;
    while (level > 0 && differs >> (FAR_DIGIT_BITS * level) == 0)
        level--;
    check->in_bucket[level][time >> (FAR_DIGIT_BITS * level) & (FAR_DIGITS - 1)]++;
    check->sound = check->sound && overflow_heap_admits(far, time);
    check_key(check, key);
}

/* Every key is in its bucket, counted, and not before the horizon, which tells whether there is
 * one. The first chunk of a bucket has what its full chunks leave over. */
static inline bool overflow_is_sound(struct key_check *check)
{
    const struct overflow_heap *far = &check->event_queue->far;
    size_t count = 0;
    for (unsigned level = 0; level < FAR_LEVELS; level++)
        for (unsigned digit = 0; digit < FAR_DIGITS; digit++) {
            const uint32_t keys = far->in_bucket[level][digit];
            uint32_t held = keys == 0 ? 0 : (keys - 1) % FAR_CHUNK_KEYS + 1;
            for (uint32_t id = far->head[level][digit]; id != UINT32_MAX; id = far->next[id]) {
                for (uint32_t i = 0; i < held; i++)
                    check_far_key(check, far->chunks[id].keys[i]);
                held = FAR_CHUNK_KEYS;
            }
            count += keys;
        }
    for (unsigned level = 0; level < FAR_LEVELS; level++)
        for (unsigned digit = 0; digit < FAR_DIGITS; digit++) {
            const uint32_t keys = far->in_bucket[level][digit];
            if (keys != check->in_bucket[level][digit] ||
                (far->mask[level] >> digit & 1) != (keys > 0))
                return false;
        }
    return count == far->count && (count == 0) == (far->horizon == UINT64_MAX);
}

static inline bool heap_is_sound(struct key_check *check)
{
    const struct event_queue *event_queue = check->event_queue;
    const event_queue_key *heap = event_queue->heap;
    const size_t first = event_queue->hole ? 1 : 0;
    for (size_t i = first; i < event_queue->length; i++) {
        check_key(check, heap[i]);
        if (!heap_admits(event_queue, (uint64_t)(heap[i] >> 64)))
            return false;
        if (i > first && (i - 1) / ARITY >= first && heap[(i - 1) / ARITY] >= heap[i])
            return false;
    }
    for (size_t i = 0; i < ARITY; i++)
        if (heap[event_queue->length + i] != KEY_END)
            return false;
    return true;
}

/* Heap order, buckets, slots and counts. O(n). */
static inline bool event_queue_is_sound(const struct event_queue *event_queue)
{
    struct key_check check = {.event_queue = event_queue, .sound = true};
    size_t used = 0, freed = 0, spent = 0;
    if (event_queue->length > event_queue->heap_capacity || !heap_is_sound(&check) ||
        !overflow_is_sound(&check) || !check.sound)
        return false;
    for (size_t i = 0; i < event_queue->slot_count; i++) {
        const struct slot *slot = &event_queue->slots[i];
        const uint64_t sequence = slot_sequence(slot);
        if (sequence >= event_queue->next_sequence)
            return false;
        used += sequence != 0;
        spent += sequence == 0 && slot_generation(slot) == GENERATION_MASK;
    }
    for (uint32_t i = event_queue->free_slot; i != NO_SLOT; i = event_queue->slots[i].subject)
        if (i >= event_queue->slot_count || slot_sequence(&event_queue->slots[i]) != 0 ||
            freed++ > event_queue->slot_count)
            return false;
    return check.live == event_queue->live && used == check.live &&
           used + freed + spent == event_queue->slot_count;
}

/* Gives the queue the counters that it would have after `uses` pushes through each free slot. The
 * counters stop at most two short of their limits, so that tests reach the end of the sequence and
 * generation numbers. */
static inline void event_queue_age(struct event_queue *event_queue, uint64_t uses)
{
    if (uses > SEQUENCE_LIMIT - 2)
        uses = SEQUENCE_LIMIT - 2;
    if (event_queue->next_sequence < uses)
        event_queue->next_sequence = uses;
    const uint64_t generation = uses < GENERATION_MASK - 1 ? uses : GENERATION_MASK - 1;
    for (uint32_t i = event_queue->free_slot; i != NO_SLOT; i = event_queue->slots[i].subject)
        if (slot_generation(&event_queue->slots[i]) < generation)
            event_queue->slots[i].use = generation;
}

#endif
