#include "sim/engine/event_queue.h"

#include <stdlib.h>
#include <string.h>

#include "sim/engine/overflow_heap.h"

/* SPILL: keys of a heap that gets on without the far ones. REFILL: keys that it gets of them at
 * least, where there are as many. */
enum { SLOT_BITS = 24, SEQUENCE_BITS = 40, ARITY = 4, MIN_CAPACITY = 64, SPILL = 512, REFILL = 64 };
enum { GENERATION_BITS = 24, DELAY_LOW_BITS = 16, DELAY_BITS = 40 };

#define SLOT_LIMIT ((size_t)1 << SLOT_BITS)
#define SLOT_MASK ((uint64_t)SLOT_LIMIT - 1)
#define SEQUENCE_LIMIT ((uint64_t)1 << SEQUENCE_BITS)
#define SEQUENCE_MASK (SEQUENCE_LIMIT - 1)
#define GENERATION_MASK (((uint64_t)1 << GENERATION_BITS) - 1)
#define DELAY_LIMIT ((sim_time_t)1 << DELAY_BITS)
#define NO_SLOT UINT32_MAX
/* Later than every key: stands behind the last one, so that a family of children is always whole.
 */
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

static void heap_close_hole(struct event_queue *event_queue)
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
static event_queue_key slot_resume(struct event_queue *event_queue, uint32_t index)
{
    struct slot *slot = &event_queue->slots[index];
    slot->time = slot_later_time(slot);
    slot_set_sequence(slot, slot->later & SEQUENCE_MASK);
    return key_of(slot->time, slot_sequence(slot), index);
}

static bool event_queue_fail(struct event_queue *event_queue, const char *fault)
{
    if (event_queue->fault == NULL)
        event_queue->fault = fault;
    return false;
}

static bool heap_grow(struct event_queue *event_queue, size_t capacity)
{
    /* The four children of a place are in one cache line. */
    enum { LINE = 64, LEAD = LINE / sizeof(event_queue_key) - 1 };
    size_t bytes = (LEAD + capacity + ARITY) * sizeof(event_queue_key);
    void *memory = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (memory == NULL)
        return event_queue_fail(event_queue, "out of memory for the event calendar");
    event_queue_key *heap = (event_queue_key *)memory + LEAD;
    if (event_queue->length > 0)
        memcpy(heap, event_queue->heap, event_queue->length * sizeof *heap);
    for (size_t i = event_queue->length; i < capacity + ARITY; i++)
        heap[i] = KEY_END;
    free(event_queue->heap_memory);
    event_queue->heap_memory = memory;
    event_queue->heap = heap;
    event_queue->heap_capacity = capacity;
    return true;
}

static bool heap_reserve(struct event_queue *event_queue, size_t keys)
{
    size_t capacity = event_queue->heap_capacity;
    while (capacity < keys)
        capacity *= 2;
    return capacity == event_queue->heap_capacity || heap_grow(event_queue, capacity);
}

/* Makes a heap of `length` keys in any order, where there were `before`. O(n). */
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

/* ---- Near and far ---------------------------------------------------------------------------- */

/* A time with about half of the keys at or after it: the median of a sample. */
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

/* Where to part the heap's keys by time; 0 where all are due now. Of keys that are half of one time
 * the later ones go; that may be all of them. */
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

/* Gives the later keys to `far`, about half at a time, until the heap is small; leaves them where
 * they are, for a while, where that cannot be. */
static bool heap_spill(struct event_queue *event_queue)
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
        for (size_t i = 0; i < length; i++) {
            if ((uint64_t)(heap[i] >> 64) < part)
                heap[kept++] = heap[i];
            else if (!overflow_heap_add(&event_queue->far, heap[i]))
                return event_queue_fail(event_queue, "out of memory for the event calendar");
        }
        if (kept == length)
            break;
        event_queue->horizon = part;
        length = kept;
    }
    if (length < event_queue->length)
        heap_build(event_queue, length, event_queue->length);
    event_queue->patience = length > SPILL ? length : 0;
    return true;
}

/* The heap is empty: takes the earliest of the overflow heap, some buckets of them. Many keys of
 * one time that is not the first stay where they are. */
static bool heap_refill(struct event_queue *event_queue)
{
    struct overflow_heap *far = &event_queue->far;
    uint64_t end = 0;
    size_t taken = 0;
    while (taken < REFILL && far->count > 0) {
        uint64_t bucket_end;
        const size_t count = overflow_heap_next(far, &bucket_end);
        if (count == 0)
            return event_queue_fail(event_queue, "out of memory for the event calendar");
        if (taken > 0 && count > FAR_BUCKET_MOST)
            break;
        if (!heap_reserve(event_queue, taken + count))
            return false;
        overflow_heap_take(far, event_queue->heap + taken);
        taken += count;
        end = bucket_end;
    }
    heap_build(event_queue, taken, 0);
    event_queue->horizon = far->count == 0 ? UINT64_MAX : end > far->base ? end : far->base;
    event_queue->patience = 0;
    return true;
}

/* Takes all keys back; what was a heap is one no more. */
static bool heap_recall(struct event_queue *event_queue)
{
    size_t far = event_queue->far.count;
    if (!heap_reserve(event_queue, event_queue->length + far))
        return false;
    overflow_heap_take_all(&event_queue->far, event_queue->heap + event_queue->length);
    event_queue->length += far;
    event_queue->horizon = UINT64_MAX;
    event_queue->patience = 0;
    return true;
}

/* Brings the next live key to the root; false where there is none. */
static bool heap_settle(struct event_queue *event_queue)
{
    for (;;) {
        if (event_queue->hole)
            heap_close_hole(event_queue);
        if (event_queue->length == 0 && (event_queue->far.count == 0 || !heap_refill(event_queue)))
            return false;
        event_queue_key key = event_queue->heap[0];
        if (!key_is_live(event_queue, key)) {
            event_queue->hole = true;
            continue;
        }
        if (event_queue->slots[key_slot(key)].time >= 0)
            return true;
        event_queue_key later = slot_resume(event_queue, key_slot(key));
        if ((uint64_t)(later >> 64) < event_queue->horizon) {
            heap_replace(event_queue->heap, event_queue->length, 0, later);
        } else {
            event_queue->hole = true;
            if (!overflow_heap_add(&event_queue->far, later))
                return event_queue_fail(event_queue, "out of memory for the event calendar");
        }
    }
}

/* Is the root the next live key, as heap_settle leaves it? Mostly it is. */
static inline bool heap_is_settled(const struct event_queue *event_queue)
{
    if (event_queue->hole || event_queue->length == 0)
        return false;
    const event_queue_key key = event_queue->heap[0];
    return key_is_live(event_queue, key) && event_queue->slots[key_slot(key)].time >= 0;
}

/* Takes every stale key out, that of an open root among them. O(n). */
static void heap_sweep(struct event_queue *event_queue)
{
    if (!heap_recall(event_queue))
        return;
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

/* The sequence numbers are used up: number the pending events anew in their present order. */
static void event_queue_renumber(struct event_queue *event_queue)
{
    if (!heap_recall(event_queue))
        return;
    for (size_t i = event_queue->hole ? 1 : 0; i < event_queue->length; i++) {
        uint32_t slot = key_slot(event_queue->heap[i]);
        if (key_is_live(event_queue, event_queue->heap[i]) && event_queue->slots[slot].time < 0)
            event_queue->heap[i] = slot_resume(event_queue, slot);
    }
    heap_sweep(event_queue);
    qsort(event_queue->heap, event_queue->length, sizeof *event_queue->heap, key_compare);
    for (size_t i = 0; i < event_queue->length; i++) {
        uint32_t slot = key_slot(event_queue->heap[i]);
        slot_set_sequence(&event_queue->slots[slot], i + 1);
        event_queue->heap[i] = key_of(key_time(event_queue->heap[i]), i + 1, slot);
    }
    event_queue->next_sequence = event_queue->length + 1;
}

static bool slots_grow(struct event_queue *event_queue, size_t capacity)
{
    struct slot *slots = realloc(event_queue->slots, capacity * sizeof *slots);
    if (slots == NULL)
        return false;
    event_queue->slots = slots;
    event_queue->slot_capacity = capacity;
    return true;
}

struct event_queue *event_queue_create(size_t initial_capacity)
{
    size_t capacity = initial_capacity < MIN_CAPACITY ? MIN_CAPACITY : initial_capacity;
    struct event_queue *event_queue = calloc(1, sizeof *event_queue);
    if (event_queue == NULL)
        return NULL;
    event_queue->next_sequence = 1;
    event_queue->free_slot = NO_SLOT;
    event_queue->horizon = UINT64_MAX;
    overflow_heap_init(&event_queue->far);
    if (capacity > SLOT_LIMIT)
        capacity = SLOT_LIMIT;
    if (!heap_grow(event_queue, MIN_CAPACITY) || !slots_grow(event_queue, capacity)) {
        event_queue_destroy(event_queue);
        return NULL;
    }
    return event_queue;
}

void event_queue_destroy(struct event_queue *event_queue)
{
    if (event_queue == NULL)
        return;
    free(event_queue->heap_memory);
    overflow_heap_clear(&event_queue->far);
    free(event_queue->slots);
    free(event_queue);
}

/* The rare half of event_queue_admit. */
static bool event_queue_make_room(struct event_queue *event_queue, sim_time_t time)
{
    if (time < event_queue->now)
        return event_queue_fail(event_queue, "an event was set before the present time");
    if (event_queue->next_sequence >= SEQUENCE_LIMIT)
        event_queue_renumber(event_queue);
    return heap_reserve(event_queue, event_queue->length + 1);
}

/* Whether a key at `time` can be inserted, after making room for it. */
static inline bool event_queue_admit(struct event_queue *event_queue, sim_time_t time)
{
    if (time >= event_queue->now && event_queue->next_sequence < SEQUENCE_LIMIT &&
        event_queue->length < event_queue->heap_capacity)
        return true;
    return event_queue_make_room(event_queue, time);
}

/* False when out of memory. */
static inline bool heap_insert(struct event_queue *event_queue, event_queue_key key)
{
    if ((uint64_t)(key >> 64) >= event_queue->horizon)
        return overflow_heap_add(&event_queue->far, key) ||
               event_queue_fail(event_queue, "out of memory for the event calendar");
    if (event_queue->hole) {
        event_queue->hole = false;
        /* What is to happen at once mostly happens next. */
        if (key_time(key) == event_queue->now && heap_is_first(event_queue->heap, key))
            event_queue->heap[0] = key;
        else
            heap_replace(event_queue->heap, event_queue->length, 0, key);
    } else {
        heap_raise(event_queue->heap, event_queue->length++, 0, key);
    }
    if (event_queue->length <= SPILL || event_queue->patience-- > 0)
        return true;
    return heap_spill(event_queue);
}

/* Adds a slot never used so far to the empty list of free ones; false where there is none to be
 * had. */
static bool slot_add(struct event_queue *event_queue)
{
    if (event_queue->slot_count == SLOT_LIMIT)
        return event_queue_fail(event_queue, "more than 16777216 events pending");
    if (event_queue->slot_count == event_queue->slot_capacity) {
        size_t capacity = 2 * event_queue->slot_capacity;
        if (!slots_grow(event_queue, capacity < SLOT_LIMIT ? capacity : SLOT_LIMIT))
            return event_queue_fail(event_queue, "out of memory for the event calendar");
    }
    event_queue->slots[event_queue->slot_count] = (struct slot){.subject = NO_SLOT};
    event_queue->free_slot = (uint32_t)event_queue->slot_count++;
    return true;
}

static inline void slot_free(struct event_queue *event_queue, uint32_t index)
{
    struct slot *slot = &event_queue->slots[index];
    slot->use = slot_generation(slot);
    event_queue->live--;
    /* A slot whose generations are used up is laid aside: no stale handle may come alive again. */
    if (slot_generation(slot) == GENERATION_MASK)
        return;
    slot->subject = event_queue->free_slot;
    event_queue->free_slot = index;
}

/* Room for one more event at `time`. */
static inline bool event_queue_ready(struct event_queue *event_queue, sim_time_t time)
{
    return (event_queue->free_slot != NO_SLOT || slot_add(event_queue)) &&
           event_queue_admit(event_queue, time);
}

static inline event_queue_handle event_queue_add(struct event_queue *event_queue, sim_time_t time,
                                                 uint64_t sequence, uint16_t kind, uint32_t subject)
{
    uint32_t index = event_queue->free_slot;
    struct slot *slot = &event_queue->slots[index];
    event_queue->free_slot = slot->subject;
    const uint64_t generation = slot_generation(slot) + 1;
    slot->use = sequence << GENERATION_BITS | generation;
    slot->time = time;
    slot->kind = kind;
    slot->subject = subject;
    event_queue->live++;
    bool done = heap_insert(event_queue, key_of(time, sequence, index));
    return done ? generation << SLOT_BITS | index : 0;
}

event_queue_handle event_queue_push(struct event_queue *event_queue, sim_time_t time, uint16_t kind,
                                    uint32_t subject)
{
    if (!event_queue_ready(event_queue, time))
        return 0;
    return event_queue_add(event_queue, time, event_queue->next_sequence++, kind, subject);
}

uint64_t event_queue_draw_order(struct event_queue *event_queue)
{
    if (event_queue->next_sequence >= SEQUENCE_LIMIT)
        event_queue_renumber(event_queue);
    return event_queue->next_sequence++;
}

event_queue_handle event_queue_push_ordered(struct event_queue *event_queue, sim_time_t time,
                                            uint64_t order, uint16_t kind, uint32_t subject)
{
    return event_queue_ready(event_queue, time)
               ? event_queue_add(event_queue, time, order, kind, subject)
               : 0;
}

/* The slot of a pending event; NULL where the handle is stale. */
static inline struct slot *slot_of_handle(const struct event_queue *event_queue,
                                          event_queue_handle handle)
{
    uint64_t index = handle & SLOT_MASK;
    if (index >= event_queue->slot_count)
        return NULL;
    struct slot *slot = &event_queue->slots[index];
    return slot_sequence(slot) != 0 && slot_generation(slot) == handle >> SLOT_BITS ? slot : NULL;
}

/* Called after a key has become stale; the sweep pays for itself with the keys it drops. */
static inline void event_queue_tidy(struct event_queue *event_queue)
{
    if (event_queue_keys(event_queue) > 2 * event_queue->live + MIN_CAPACITY)
        heap_sweep(event_queue);
}

bool event_queue_cancel(struct event_queue *event_queue, event_queue_handle handle)
{
    struct slot *slot = slot_of_handle(event_queue, handle);
    if (slot == NULL)
        return false;
    slot_free(event_queue, (uint32_t)(handle & SLOT_MASK));
    event_queue_tidy(event_queue);
    return true;
}

/* The event comes `delay` after its key's time, which says so. */
static inline void slot_postpone(struct slot *slot, sim_time_t key, uint64_t delay,
                                 uint64_t sequence)
{
    slot->later = delay >> DELAY_LOW_BITS << SEQUENCE_BITS | sequence;
    slot->delay_low = (uint16_t)delay;
    slot->time = ~key;
}

/* Moves the event of `slot` to (time, sequence), for which there is room. One that is put off for
 * longer than a slot can tell gets another key at once. */
static inline bool slot_move(struct event_queue *event_queue, struct slot *slot, sim_time_t time,
                             uint64_t sequence)
{
    uint32_t index = (uint32_t)(slot - event_queue->slots);
    sim_time_t key = slot->time < 0 ? ~slot->time : slot->time;
    bool later = time > key || (time == key && sequence >= slot_sequence(slot));
    if (later && time - key < DELAY_LIMIT) {
        slot_postpone(slot, key, (uint64_t)(time - key), sequence);
        return true;
    }
    slot->time = time;
    slot_set_sequence(slot, sequence);
    bool done = heap_insert(event_queue, key_of(time, sequence, index));
    event_queue_tidy(event_queue);
    return done;
}

bool event_queue_retime(struct event_queue *event_queue, event_queue_handle handle, sim_time_t time)
{
    struct slot *slot = slot_of_handle(event_queue, handle);
    return slot != NULL && event_queue_admit(event_queue, time) &&
           slot_move(event_queue, slot, time, event_queue->next_sequence++);
}

bool event_queue_retime_ordered(struct event_queue *event_queue, event_queue_handle handle,
                                sim_time_t time, uint64_t order, uint32_t subject)
{
    struct slot *slot = slot_of_handle(event_queue, handle);
    if (slot == NULL || !event_queue_admit(event_queue, time))
        return false;
    slot->subject = subject;
    return slot_move(event_queue, slot, time, order);
}

/* The heap is empty: is what comes next a crowd of one time, too many to take in before they are
 * due? Then that time; else SIM_FOREVER. */
static sim_time_t far_crowd_time(struct event_queue *event_queue)
{
    uint64_t end;
    if (event_queue->far.count <= SPILL || overflow_heap_next(&event_queue->far, &end) <= SPILL)
        return SIM_FOREVER;
    event_queue_key key = overflow_heap_peek(&event_queue->far);
    bool comes = key_is_live(event_queue, key) && event_queue->slots[key_slot(key)].time >= 0;
    return comes ? key_time(key) : SIM_FOREVER;
}

sim_time_t event_queue_next_time(struct event_queue *event_queue)
{
    if (event_queue->hole)
        heap_close_hole(event_queue);
    if (heap_is_settled(event_queue))
        return key_time(event_queue->heap[0]);
    if (event_queue->length == 0) {
        sim_time_t crowd = far_crowd_time(event_queue);
        if (crowd != SIM_FOREVER)
            return crowd;
    }
    return heap_settle(event_queue) ? key_time(event_queue->heap[0]) : SIM_FOREVER;
}

bool event_queue_pop(struct event_queue *event_queue, struct event *event)
{
    if (!heap_is_settled(event_queue) && !heap_settle(event_queue))
        return false;
    event_queue_key key = event_queue->heap[0];
    uint32_t index = key_slot(key);
    const struct slot *slot = &event_queue->slots[index];
    event->time = event_queue->now = key_time(key);
    event->kind = slot->kind;
    event->subject = slot->subject;
    slot_free(event_queue, index);
    event_queue->hole = true;
    return true;
}

size_t event_queue_size(const struct event_queue *event_queue)
{
    return event_queue->live;
}

size_t event_queue_keys(const struct event_queue *event_queue)
{
    return event_queue->length - (event_queue->hole ? 1 : 0) + event_queue->far.count;
}

const char *event_queue_fault(const struct event_queue *event_queue)
{
    return event_queue->fault;
}

void event_queue_age(struct event_queue *event_queue, uint64_t uses)
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

struct soundness {
    const struct event_queue *event_queue;
    size_t live;
    bool sound;
};

/* Does the slot know of the key, if it is its current one? */
static void soundness_visit(void *context, event_queue_key key)
{
    struct soundness *check = context;
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

static bool heap_is_sound(const struct event_queue *event_queue, size_t *live)
{
    size_t first = event_queue->hole ? 1 : 0;
    struct soundness check = {.event_queue = event_queue, .sound = true};
    for (size_t i = first; i < event_queue->length; i++) {
        event_queue_key key = event_queue->heap[i];
        soundness_visit(&check, key);
        if ((uint64_t)(key >> 64) >= event_queue->horizon)
            return false;
        if (i > first && (i - 1) / ARITY >= first && event_queue->heap[(i - 1) / ARITY] >= key)
            return false;
    }
    for (size_t i = 0; i < ARITY; i++)
        if (event_queue->heap[event_queue->length + i] != KEY_END)
            return false;
    overflow_heap_each(&event_queue->far, soundness_visit, &check);
    *live = check.live;
    return check.sound && overflow_heap_are_sound(&event_queue->far, event_queue->horizon);
}

bool event_queue_is_sound(const struct event_queue *event_queue)
{
    size_t live, used = 0, freed = 0, spent = 0;
    if (event_queue->length > event_queue->heap_capacity || !heap_is_sound(event_queue, &live))
        return false;
    for (size_t i = 0; i < event_queue->slot_count; i++) {
        const struct slot *slot = &event_queue->slots[i];
        const uint64_t sequence = slot_sequence(slot);
        if (sequence >= event_queue->next_sequence)
            return false;
        used += sequence != 0;
        spent += sequence == 0 && slot_generation(slot) == GENERATION_MASK;
    }
    for (uint32_t i = event_queue->free_slot; i != NO_SLOT; i = event_queue->slots[i].subject) {
        if (i >= event_queue->slot_count || slot_sequence(&event_queue->slots[i]) != 0 ||
            freed++ > event_queue->slot_count)
            return false;
    }
    return live == event_queue->live && used == live &&
           used + freed + spent == event_queue->slot_count;
}
