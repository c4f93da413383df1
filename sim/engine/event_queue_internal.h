/* What the files of the event queue share (not a public header).
 *
 *   event_queue.c  events, their slots and handles
 *   event_heap.c   the heap of keys as a whole: growth, exchange with the overflow heap, sweeping
 *
 * Functions that every event passes through are inline.
 */
#ifndef ESGSIM_SIM_ENGINE_EVENT_QUEUE_INTERNAL_H
#define ESGSIM_SIM_ENGINE_EVENT_QUEUE_INTERNAL_H

#include "sim/engine/event_queue.h"
#include "sim/engine/overflow_heap.h"

/* SPILL: a heap of more keys gives the later ones to `far`. REFILL: least number of keys that an
 * empty heap takes back, if `far` has as many. */
enum { SLOT_BITS = 24, SEQUENCE_BITS = 40, ARITY = 4, MIN_CAPACITY = 64, SPILL = 512, REFILL = 64 };
enum { GENERATION_BITS = 24, DELAY_LOW_BITS = 16, DELAY_BITS = 40 };

#define SLOT_LIMIT ((size_t)1 << SLOT_BITS)
#define SLOT_MASK ((uint64_t)SLOT_LIMIT - 1)
#define SEQUENCE_LIMIT ((uint64_t)1 << SEQUENCE_BITS)
#define SEQUENCE_MASK (SEQUENCE_LIMIT - 1)
#define GENERATION_MASK (((uint64_t)1 << GENERATION_BITS) - 1)
#define DELAY_LIMIT ((sim_time_t)1 << DELAY_BITS)
#define NO_SLOT UINT32_MAX
/* Later than every key. It follows the last key, so that every node has ARITY children to read. */
#define KEY_END (~(event_queue_key)0)

/* A postponed event keeps its key in the heap, and moves on to where it belongs only when that has
 * come up to the root: an event that is put off again and again, as that of a batch whose GPU fills
 * up, costs the heap one move. */
struct slot {
    uint64_t use;     /* sequence of its current key, 0: the slot is free; below it, generation */
    sim_time_t time;  /* of its current key; ~time: the event comes later than its key says */
    uint64_t later;   /* of a postponed event: upper bits of its delay; below them, its sequence */
    uint32_t subject; /* of a free slot: the next free one */
    uint16_t kind;
    uint16_t delay_low; /* of a postponed event, from its key's time on */
};

/* The root may be an open hole (the event just popped): most handlers push an event straight away,
 * which then sinks from the root, and one pass through the heap serves both. */
struct event_queue {
    event_queue_key
        *heap;     /* `length` keys, then ARITY times KEY_END; heap + 1 is on a cache line */
    size_t length; /* keys, stale ones and the hole included */
    size_t live;   /* pending events */
    bool hole;
    sim_time_t now; /* time of the last event popped */
    uint64_t next_sequence;
    struct slot *slots;
    uint32_t free_slot; /* head of the list of free slots */
    size_t slot_count;  /* slots ever used */
    size_t slot_capacity;
    size_t heap_capacity;
    void *heap_memory;
    uint64_t horizon; /* keys of this time and later are in `far`; UINT64_MAX: there are none */
    size_t patience; /* keys to come into a heap of more than SPILL before it gives some to `far` */
    struct overflow_heap far;
    const char *fault;
};

static inline event_queue_key key_of(sim_time_t time, uint64_t sequence, uint32_t slot)
{
    return (event_queue_key)(uint64_t)time << 64 | (sequence << SLOT_BITS | slot);
}

static inline sim_time_t key_time(event_queue_key key)
{
    return (sim_time_t)(uint64_t)(key >> 64);
}

static inline uint32_t key_slot(event_queue_key key)
{
    return (uint32_t)((uint64_t)key & SLOT_MASK);
}

/* Uses of the slot so far; a handle carries it. */
static inline uint64_t slot_generation(const struct slot *slot)
{
    return slot->use & GENERATION_MASK;
}

static inline uint64_t slot_sequence(const struct slot *slot)
{
    return slot->use >> GENERATION_BITS;
}

static inline void slot_set_sequence(struct slot *slot, uint64_t sequence)
{
    slot->use = sequence << GENERATION_BITS | slot_generation(slot);
}

static inline bool key_is_live(const struct event_queue *event_queue, event_queue_key key)
{
    _Static_assert((int)GENERATION_BITS == (int)SLOT_BITS, "sequences stand above either");
    return (event_queue->slots[key_slot(key)].use ^ (uint64_t)key) <= SLOT_MASK;
}

/* Moves the smallest child up until the hole at `hole` has reached a leaf; returns the leaf. Going
 * all the way down and then back up suits a key that belongs near the bottom, as most do. The child
 * is chosen by adding comparisons to an index, not by holding keys: the compiler makes branches of
 * the latter, which are mispredicted every other time. */
static inline size_t heap_sink_hole(event_queue_key *heap, size_t length, size_t hole)
{
    for (size_t child = ARITY * hole + 1; child < length; child = ARITY * hole + 1) {
        size_t a = child + (heap[child + 1] < heap[child]);
        size_t b = child + 2 + (heap[child + 3] < heap[child + 2]);
        size_t least = heap[b] < heap[a] ? b : a;
        heap[hole] = heap[least];
        hole = least;
    }
    return hole;
}

static inline void heap_raise(event_queue_key *heap, size_t hole, size_t top, event_queue_key key)
{
    while (hole > top) {
        size_t parent = (hole - 1) / ARITY;
        if (heap[parent] < key)
            break;
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = key;
}

/* Puts `key` at the place `top`, whose own key is gone, and lets it sink. */
static inline void heap_replace(event_queue_key *heap, size_t length, size_t top,
                                event_queue_key key)
{
    heap_raise(heap, heap_sink_hole(heap, length, top), top, key);
}

/* Does the key come before all that stand below the root? */
static inline bool heap_is_first(const event_queue_key *heap, event_queue_key key)
{
    return key < heap[1] && key < heap[2] && key < heap[3] && key < heap[4];
}

static inline void heap_close_hole(struct event_queue *event_queue)
{
    event_queue_key *heap = event_queue->heap;
    size_t last = --event_queue->length;
    event_queue_key key = heap[last];
    heap[last] = KEY_END;
    event_queue->hole = false;
    if (last > 0)
        heap_replace(heap, last, 0, key);
}

/* When a postponed event comes. */
static inline sim_time_t slot_later_time(const struct slot *slot)
{
    const uint64_t delay = slot->later >> SEQUENCE_BITS << DELAY_LOW_BITS | slot->delay_low;
    return ~slot->time + (sim_time_t)delay;
}

/* Gives a postponed event its own time and place again; returns its key. */
static inline event_queue_key slot_resume(struct event_queue *event_queue, uint32_t index)
{
    struct slot *slot = &event_queue->slots[index];
    slot->time = slot_later_time(slot);
    slot_set_sequence(slot, slot->later & SEQUENCE_MASK);
    return key_of(slot->time, slot_sequence(slot), index);
}

/* Records the first fault; always false. */
static inline bool event_queue_fail(struct event_queue *event_queue, const char *fault)
{
    if (event_queue->fault == NULL)
        event_queue->fault = fault;
    return false;
}

/* ---- event_heap.c ------------------------------------------------------------------------------
 *
 * Functions that return bool set the fault of the event queue and return false when out of memory.
 */

/* Makes room for at least `capacity` keys. O(capacity). */
bool event_heap_grow(struct event_queue *event_queue, size_t capacity);

/* Makes room for at least `keys` keys, doubling the capacity. O(1) amortised. */
bool event_heap_reserve(struct event_queue *event_queue, size_t keys);

/* Moves the later keys to `far`, about half at a time, until at most SPILL are left. Sets
 * `patience` where that is not possible. O(n). */
bool event_heap_spill(struct event_queue *event_queue);

/* Takes the earliest keys of `far` into the heap, which is empty. O(keys taken). */
bool event_heap_refill(struct event_queue *event_queue);

/* Takes every stale key out, that of an open root included. O(n), keys of `far` included. */
void event_heap_sweep(struct event_queue *event_queue);

/* Numbers the pending events anew in their present order, after the sequence numbers are used up.
 * O(n log n). */
void event_queue_renumber(struct event_queue *event_queue);

#endif
