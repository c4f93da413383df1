/* Definitions shared by the files of the event queue (not a public header).
 *
 *   event_queue.c  events, their slots and handles
 *   event_heap.c   the heap of keys: growth, exchange with the overflow heap, sweeping
 *
 * Functions called for every event are inline.
 */
#ifndef ESGSIM_SIM_ENGINE_EVENT_QUEUE_INTERNAL_H
#define ESGSIM_SIM_ENGINE_EVENT_QUEUE_INTERNAL_H

#include "sim/base/arena.h"
#include "sim/base/invariant.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/overflow_heap.h"

/* SPILL: number of keys above which the heap moves its later keys to the overflow heap. REFILL:
 * least number of keys that an empty heap takes back, if the overflow heap has as many. */
enum { SLOT_BITS = 24, SEQUENCE_BITS = 40, ARITY = 4, MIN_CAPACITY = 64, SPILL = 512, REFILL = 64 };
enum { GENERATION_BITS = 24, DELAY_LOW_BITS = 16, DELAY_BITS = 40 };

#define SLOT_LIMIT ((size_t)1 << SLOT_BITS)
#define SLOT_MASK ((uint64_t)SLOT_LIMIT - 1)
#define SEQUENCE_LIMIT ((uint64_t)1 << SEQUENCE_BITS)
#define SEQUENCE_MASK (SEQUENCE_LIMIT - 1)
#define GENERATION_MASK (((uint64_t)1 << GENERATION_BITS) - 1)
#define DELAY_LIMIT ((sim_time_t)1 << DELAY_BITS)
#define NO_SLOT UINT32_MAX
/* Sentinel, greater than every key. ARITY sentinels follow the last key, so that every node has
 * ARITY children to read. */
#define KEY_END (~(event_queue_key)0)

/* State of one event. A postponed event keeps its old key in the heap, and is reinserted only when
 * that key reaches the root. An event that is postponed many times thus costs one move in the heap.
 * The finish of a batch on a GPU that fills up is an example. */
struct slot {
    /* upper 40 bits: sequence of the current key (0: free slot); lower 24: generation */
    uint64_t use;
    sim_time_t time;  /* of the current key; postponed event: bitwise complement of that time */
    uint64_t later;   /* postponed event: upper 24 bits of its delay, then its 40-bit sequence */
    uint32_t subject; /* in a free slot: next free slot */
    uint16_t kind;
    uint16_t delay_low; /* postponed event: lower 16 bits of its delay after the key's time */
};

/* The root is an open hole after a pop. Most handlers push an event immediately. The new key then
 * sinks from the root, so that one pass through the heap serves the pop and the push.
 *
 * Keys are in order from the past to the future:
 *
 *     now <= keys of the heap < far.horizon <= keys of `far`
 *
 * The horizon alone decides where a key is inserted. overflow_heap.h says how it moves. */
struct event_queue {
    struct arena *arena;
    event_queue_key
        *heap;     /* `length` keys, then ARITY times KEY_END; heap + 1 starts a cache line */
    size_t length; /* keys, including stale ones and the hole */
    size_t live;   /* pending events */
    bool hole;
    sim_time_t now; /* time of the last event popped */
    uint64_t next_sequence;
    struct slot *slots;
    uint32_t free_slot; /* head of the free list */
    size_t slot_count;  /* slots used so far */
    size_t slot_capacity;
    size_t heap_capacity;
    void *heap_memory;
    size_t patience; /* insertions into a heap of more than SPILL keys before the next spill */
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

/* Returns whether a key at `time` belongs into the heap. */
static inline bool heap_admits(const struct event_queue *event_queue, uint64_t time)
{
    return (uint64_t)event_queue->now <= time && time < event_queue->far.horizon;
}

/* Number of uses of the slot. Handles contain it. */
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

/* Compares the time, too, because callers may give an order again. */
static inline bool key_is_live(const struct event_queue *event_queue, event_queue_key key)
{
    _Static_assert((int)GENERATION_BITS == (int)SLOT_BITS, "sequences stand above either");
    const struct slot *slot = &event_queue->slots[key_slot(key)];
    const sim_time_t time = slot->time < 0 ? ~slot->time : slot->time;
    return (slot->use ^ (uint64_t)key) <= SLOT_MASK && time == key_time(key);
}

/* Moves the smallest child up repeatedly until the hole at `hole` is at a leaf, and returns the
 * leaf. Sinking to a leaf and then raising the key suits keys that belong near the bottom, as most
 * do. The child is selected by adding comparison results to an index. If keys were selected
 * instead, the compiler would generate branches that are mispredicted half of the time. */
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

/* Inserts `key` into the subtree whose root `top` is empty. */
static inline void heap_replace(event_queue_key *heap, size_t length, size_t top,
                                event_queue_key key)
{
    heap_raise(heap, heap_sink_hole(heap, length, top), top, key);
}

/* Returns whether the key precedes all keys below the root. */
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

/* Returns the time of a postponed event. */
static inline sim_time_t slot_later_time(const struct slot *slot)
{
    const uint64_t delay = slot->later >> SEQUENCE_BITS << DELAY_LOW_BITS | slot->delay_low;
    return ~slot->time + (sim_time_t)delay;
}

/* Gives a postponed event its final time and sequence. Returns its new key. */
static inline event_queue_key slot_resume(struct event_queue *event_queue, uint32_t index)
{
    struct slot *slot = &event_queue->slots[index];
    slot->time = slot_later_time(slot);
    slot_set_sequence(slot, slot->later & SEQUENCE_MASK);
    return key_of(slot->time, slot_sequence(slot), index);
}

/* Returns the number of keys stored, including stale ones. Memory use is proportional to it. */
static inline size_t event_queue_keys(const struct event_queue *event_queue)
{
    return event_queue->length - (event_queue->hole ? 1 : 0) + event_queue->far.count;
}

/* Records the first fault. Always returns false. */
static inline bool event_queue_fail(struct event_queue *event_queue, const char *fault)
{
    if (event_queue->fault == NULL)
        event_queue->fault = fault;
    return false;
}

/* ---- event_heap.c ---------------------------------------------------------------------------- */

/* Allocates room for at least `capacity` keys. O(capacity). */
void event_heap_grow(struct event_queue *event_queue, size_t capacity);

/* Ensures room for at least `keys` keys by doubling the capacity. O(1) amortised. */
void event_heap_reserve(struct event_queue *event_queue, size_t keys);

/* Moves the later keys to `far`, about half of them at a time, until at most SPILL are left. Sets
 * `patience` if that is impossible. O(n). */
void event_heap_spill(struct event_queue *event_queue);

/* Moves the earliest keys of `far` into the heap, which must be empty. O(keys moved). */
void event_heap_refill(struct event_queue *event_queue);

/* Removes all stale keys, including those in `far` and that of an open root. O(n). */
void event_heap_sweep(struct event_queue *event_queue);

/* Renumbers the pending events in their order after all sequence numbers have been used. O(n log
 * n). */
void event_queue_renumber(struct event_queue *event_queue);

#endif
