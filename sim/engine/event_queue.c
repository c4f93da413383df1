/* The queue is a 4-ary heap of 16-byte keys. A key is one 128-bit integer (time ‖ sequence ‖ slot),
 * so one integer comparison orders two keys and ties cannot occur.
 *
 * Deletion is lazy. A cancel, or a re-time to an earlier time, leaves the old key in the heap. Such
 * a key is stale, because its sequence number or its time differs from that of its slot. Stale keys
 * are dropped when they reach the root. When they outnumber the live keys, all of them are removed
 * in one sweep.
 *
 * The heap contains only the earliest keys. Once it has grown, keys at or beyond a horizon are
 * appended to an overflow heap (overflow_heap.h). When the heap becomes empty, the earliest keys of
 * the overflow heap move into it. The heap therefore fits into the processor's first-level cache.
 * Distant timers, such as those of keep-alives, do not slow down earlier events.
 *
 * The queue does not allocate memory after it has grown to the largest number of pending events.
 * When all 2^40 sequence numbers have been used, the pending events are renumbered in their order.
 * A slot is retired after 2^24 uses. Neither is visible to callers.
 */
#include "sim/engine/event_queue.h"

#include "sim/engine/event_queue_internal.h"

/* Moves the next live key to the root. False if there is none. */
static bool heap_settle(struct event_queue *event_queue)
{
    for (;;) {
        if (event_queue->hole)
            heap_close_hole(event_queue);
        if (event_queue->length == 0) {
            if (event_queue->far.count == 0)
                return false;
            event_heap_refill(event_queue);
        }
        event_queue_key key = event_queue->heap[0];
        if (!key_is_live(event_queue, key)) {
            event_queue->hole = true;
            continue;
        }
        if (event_queue->slots[key_slot(key)].time >= 0)
            return true;
        event_queue_key later = slot_resume(event_queue, key_slot(key));
        if ((uint64_t)(later >> 64) < event_queue->far.horizon) {
            heap_replace(event_queue->heap, event_queue->length, 0, later);
        } else {
            event_queue->hole = true;
            overflow_heap_add(&event_queue->far, later);
        }
    }
}

/* Returns whether the root is already the next live key, so that heap_settle is unnecessary. This
 * is the usual case. */
static inline bool heap_is_settled(const struct event_queue *event_queue)
{
    if (event_queue->hole || event_queue->length == 0)
        return false;
    const event_queue_key key = event_queue->heap[0];
    return key_is_live(event_queue, key) && event_queue->slots[key_slot(key)].time >= 0;
}

struct event_queue *event_queue_create(struct arena *arena, size_t initial_capacity)
{
    size_t capacity = initial_capacity < MIN_CAPACITY ? MIN_CAPACITY : initial_capacity;
    struct event_queue *event_queue = arena_allocate(arena, 1, sizeof *event_queue);
    event_queue->arena = arena;
    event_queue->next_sequence = 1;
    event_queue->free_slot = NO_SLOT;
    overflow_heap_init(&event_queue->far, arena);
    event_heap_grow(event_queue, MIN_CAPACITY);
    event_queue->slot_capacity = capacity < SLOT_LIMIT ? capacity : SLOT_LIMIT;
    event_queue->slots =
        arena_allocate(arena, event_queue->slot_capacity, sizeof *event_queue->slots);
    return event_queue;
}

/* The slow path of event_queue_admit. */
static bool event_queue_make_room(struct event_queue *event_queue, sim_time_t time)
{
    if (time < event_queue->now)
        return event_queue_fail(event_queue, "an event was set before the present time");
    event_heap_reserve(event_queue, event_queue->length + 1);
    return true;
}

/* Checks that a key at `time` can be inserted, and makes room for it. */
static inline bool event_queue_admit(struct event_queue *event_queue, sim_time_t time)
{
    if (time >= event_queue->now && event_queue->length < event_queue->heap_capacity)
        return true;
    return event_queue_make_room(event_queue, time);
}

static inline void heap_insert(struct event_queue *event_queue, event_queue_key key)
{
    if ((uint64_t)(key >> 64) >= event_queue->far.horizon) {
        overflow_heap_add(&event_queue->far, key);
        return;
    }
    INVARIANT(heap_admits(event_queue, (uint64_t)(key >> 64)));
    if (event_queue->hole) {
        event_queue->hole = false;
        /* An event due immediately is usually the next one, so this check often avoids a sink. */
        if (key_time(key) == event_queue->now && heap_is_first(event_queue->heap, key))
            event_queue->heap[0] = key;
        else
            heap_replace(event_queue->heap, event_queue->length, 0, key);
    } else {
        heap_raise(event_queue->heap, event_queue->length++, 0, key);
    }
    if (event_queue->length > SPILL && event_queue->patience-- == 0)
        event_heap_spill(event_queue);
}

/* Adds an unused slot to the free list, which is empty. Returns false if the limit is reached. */
static bool slot_add(struct event_queue *event_queue)
{
    if (event_queue->slot_count == SLOT_LIMIT)
        return event_queue_fail(event_queue, "more than 16777216 events pending");
    if (event_queue->slot_count == event_queue->slot_capacity) {
        const size_t capacity = 2 * event_queue->slot_capacity;
        event_queue->slot_capacity = capacity < SLOT_LIMIT ? capacity : SLOT_LIMIT;
        event_queue->slots = arena_reallocate(event_queue->arena, event_queue->slots,
                                              event_queue->slot_capacity, sizeof(struct slot));
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
    /* A slot with exhausted generations is retired, so that no stale handle becomes valid again. */
    if (slot_generation(slot) == GENERATION_MASK)
        return;
    slot->subject = event_queue->free_slot;
    event_queue->free_slot = index;
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
    if ((event_queue->free_slot == NO_SLOT && !slot_add(event_queue)) ||
        !event_queue_admit(event_queue, time))
        return 0;
    const uint32_t index = event_queue->free_slot;
    struct slot *slot = &event_queue->slots[index];
    event_queue->free_slot = slot->subject;
    const uint64_t generation = slot_generation(slot) + 1;
    slot->use = order << GENERATION_BITS | generation;
    slot->time = time;
    slot->kind = kind;
    slot->subject = subject;
    event_queue->live++;
    heap_insert(event_queue, key_of(time, order, index));
    return generation << SLOT_BITS | index;
}

event_queue_handle event_queue_push(struct event_queue *event_queue, sim_time_t time, uint16_t kind,
                                    uint32_t subject)
{
    const uint64_t order = event_queue_draw_order(event_queue);
    return event_queue_push_ordered(event_queue, time, order, kind, subject);
}

/* Returns the slot of a pending event, or NULL if the handle is stale. */
static inline struct slot *slot_of_handle(const struct event_queue *event_queue,
                                          event_queue_handle handle)
{
    uint64_t index = handle & SLOT_MASK;
    if (index >= event_queue->slot_count)
        return NULL;
    struct slot *slot = &event_queue->slots[index];
    return slot_sequence(slot) != 0 && slot_generation(slot) == handle >> SLOT_BITS ? slot : NULL;
}

/* Called after a key has become stale. Bounds the number of keys to 2 * live + MIN_CAPACITY. The
 * number of keys removed pays for the sweep. */
static inline void event_queue_tidy(struct event_queue *event_queue)
{
    if (event_queue_keys(event_queue) > 2 * event_queue->live + MIN_CAPACITY)
        event_heap_sweep(event_queue);
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

/* Marks the event as postponed to `delay` after its key's time. */
static inline void slot_postpone(struct slot *slot, sim_time_t key, uint64_t delay,
                                 uint64_t sequence)
{
    slot->later = delay >> DELAY_LOW_BITS << SEQUENCE_BITS | sequence;
    slot->delay_low = (uint16_t)delay;
    slot->time = ~key;
}

/* Moves the event of `slot` to (time, sequence). The caller has made room. If the delay is too long
 * for a slot, the event gets another key immediately. */
static inline void slot_move(struct event_queue *event_queue, struct slot *slot, sim_time_t time,
                             uint64_t sequence)
{
    uint32_t index = (uint32_t)(slot - event_queue->slots);
    sim_time_t key = slot->time < 0 ? ~slot->time : slot->time;
    bool later = time > key || (time == key && sequence >= slot_sequence(slot));
    if (later && time - key < DELAY_LIMIT) {
        slot_postpone(slot, key, (uint64_t)(time - key), sequence);
        return;
    }
    slot->time = time;
    slot_set_sequence(slot, sequence);
    heap_insert(event_queue, key_of(time, sequence, index));
    event_queue_tidy(event_queue);
}

bool event_queue_retime(struct event_queue *event_queue, event_queue_handle handle, sim_time_t time)
{
    struct slot *slot = slot_of_handle(event_queue, handle);
    if (slot == NULL)
        return false;
    const uint64_t order = event_queue_draw_order(event_queue);
    if (!event_queue_admit(event_queue, time))
        return false;
    slot_move(event_queue, slot, time, order);
    return true;
}

bool event_queue_retime_ordered(struct event_queue *event_queue, event_queue_handle handle,
                                sim_time_t time, uint64_t order, uint32_t subject)
{
    struct slot *slot = slot_of_handle(event_queue, handle);
    if (slot == NULL || !event_queue_admit(event_queue, time))
        return false;
    slot->subject = subject;
    slot_move(event_queue, slot, time, order);
    return true;
}

/* Called when the heap is empty. If the earliest bucket of the overflow heap has more than SPILL
 * keys, all of them have one time. They remain there until they are due. Returns their time, or
 * SIM_FOREVER in all other cases. */
static sim_time_t far_crowd_time(struct event_queue *event_queue)
{
    if (event_queue->far.count <= SPILL || overflow_heap_next(&event_queue->far) <= SPILL)
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
    INVARIANT(heap_admits(event_queue, (uint64_t)(key >> 64)));
    uint32_t index = key_slot(key);
    const struct slot *slot = &event_queue->slots[index];
    event->time = event_queue->now = key_time(key);
    event->kind = slot->kind;
    event->subject = slot->subject;
    slot_free(event_queue, index);
    event_queue->hole = true;
    return true;
}

bool event_queue_pop_if(struct event_queue *event_queue, sim_time_t time, uint16_t kind,
                        struct event *event)
{
    if (!heap_is_settled(event_queue) && !heap_settle(event_queue))
        return false;
    const event_queue_key key = event_queue->heap[0];
    return key_time(key) == time && event_queue->slots[key_slot(key)].kind == kind &&
           event_queue_pop(event_queue, event);
}

size_t event_queue_size(const struct event_queue *event_queue)
{
    return event_queue->live;
}

const char *event_queue_fault(const struct event_queue *event_queue)
{
    return event_queue->fault;
}
