#include "sim/calendar.h"

#include <stdlib.h>
#include <string.h>

#include "sim/far_keys.h"

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
#define KEY_END (~(calendar_key)0)

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
struct calendar {
    calendar_key *heap; /* `length` keys, then ARITY times KEY_END; heap + 1 is on a cache line */
    size_t length;      /* keys, stale ones and the hole included */
    size_t live;        /* pending events */
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
    struct far_keys far;
    const char *fault;
};

static inline calendar_key key_of(sim_time_t time, uint64_t sequence, uint32_t slot)
{
    return (calendar_key)(uint64_t)time << 64 | (sequence << SLOT_BITS | slot);
}

static inline sim_time_t key_time(calendar_key key)
{
    return (sim_time_t)(uint64_t)(key >> 64);
}

static inline uint32_t key_slot(calendar_key key)
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

static inline bool key_is_live(const struct calendar *calendar, calendar_key key)
{
    _Static_assert((int)GENERATION_BITS == (int)SLOT_BITS, "sequences stand above either");
    return (calendar->slots[key_slot(key)].use ^ (uint64_t)key) <= SLOT_MASK;
}

/* Moves the smallest child up until the hole at `hole` has reached a leaf; returns the leaf. Going
 * all the way down and then back up suits a key that belongs near the bottom, as most do. The child
 * is chosen by adding comparisons to an index, not by holding keys: the compiler makes branches of
 * the latter, which are mispredicted every other time. */
static inline size_t heap_sink_hole(calendar_key *heap, size_t length, size_t hole)
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

static inline void heap_raise(calendar_key *heap, size_t hole, size_t top, calendar_key key)
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
static inline void heap_replace(calendar_key *heap, size_t length, size_t top, calendar_key key)
{
    heap_raise(heap, heap_sink_hole(heap, length, top), top, key);
}

/* Does the key come before all that stand below the root? */
static inline bool heap_is_first(const calendar_key *heap, calendar_key key)
{
    return key < heap[1] && key < heap[2] && key < heap[3] && key < heap[4];
}

static void heap_close_hole(struct calendar *calendar)
{
    calendar_key *heap = calendar->heap;
    size_t last = --calendar->length;
    calendar_key key = heap[last];
    heap[last] = KEY_END;
    calendar->hole = false;
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
static calendar_key slot_resume(struct calendar *calendar, uint32_t index)
{
    struct slot *slot = &calendar->slots[index];
    slot->time = slot_later_time(slot);
    slot_set_sequence(slot, slot->later & SEQUENCE_MASK);
    return key_of(slot->time, slot_sequence(slot), index);
}

static bool calendar_fail(struct calendar *calendar, const char *fault)
{
    if (calendar->fault == NULL)
        calendar->fault = fault;
    return false;
}

static bool heap_grow(struct calendar *calendar, size_t capacity)
{
    /* The four children of a place are in one cache line. */
    enum { LINE = 64, LEAD = LINE / sizeof(calendar_key) - 1 };
    size_t bytes = (LEAD + capacity + ARITY) * sizeof(calendar_key);
    void *memory = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (memory == NULL)
        return calendar_fail(calendar, "out of memory for the event calendar");
    calendar_key *heap = (calendar_key *)memory + LEAD;
    if (calendar->length > 0)
        memcpy(heap, calendar->heap, calendar->length * sizeof *heap);
    for (size_t i = calendar->length; i < capacity + ARITY; i++)
        heap[i] = KEY_END;
    free(calendar->heap_memory);
    calendar->heap_memory = memory;
    calendar->heap = heap;
    calendar->heap_capacity = capacity;
    return true;
}

static bool heap_reserve(struct calendar *calendar, size_t keys)
{
    size_t capacity = calendar->heap_capacity;
    while (capacity < keys)
        capacity *= 2;
    return capacity == calendar->heap_capacity || heap_grow(calendar, capacity);
}

/* Makes a heap of `length` keys in any order, where there were `before`. O(n). */
static void heap_build(struct calendar *calendar, size_t length, size_t before)
{
    calendar_key *heap = calendar->heap;
    for (size_t i = length; i < before; i++)
        heap[i] = KEY_END;
    calendar->length = length;
    calendar->hole = false;
    for (size_t i = length < 2 ? 0 : (length - 2) / ARITY + 1; i-- > 0;)
        heap_replace(heap, length, i, heap[i]);
}

/* ---- Near and far ---------------------------------------------------------------------------- */

/* A time with about half of the keys at or after it: the median of a sample. */
static uint64_t heap_middle(const calendar_key *heap, size_t length)
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
static uint64_t heap_part(const struct calendar *calendar, size_t length)
{
    const uint64_t first = (uint64_t)(calendar->heap[0] >> 64);
    uint64_t part = heap_middle(calendar->heap, length);
    part = part > calendar->far.base ? part : calendar->far.base;
    if (part > first)
        return part;
    for (size_t i = 0; i < length; i++)
        if ((uint64_t)(calendar->heap[i] >> 64) > first)
            return first + 1;
    return first > (uint64_t)calendar->now ? first : 0;
}

/* Gives the later keys to `far`, about half at a time, until the heap is small; leaves them where
 * they are, for a while, where that cannot be. */
static bool heap_spill(struct calendar *calendar)
{
    calendar_key *heap = calendar->heap;
    size_t length = calendar->length;
    if (calendar->far.count == 0)
        calendar->far.base = (uint64_t)calendar->now;
    while (length > SPILL) {
        uint64_t part = heap_part(calendar, length);
        size_t kept = 0;
        if (part == 0)
            break;
        for (size_t i = 0; i < length; i++) {
            if ((uint64_t)(heap[i] >> 64) < part)
                heap[kept++] = heap[i];
            else if (!far_keys_add(&calendar->far, heap[i]))
                return calendar_fail(calendar, "out of memory for the event calendar");
        }
        if (kept == length)
            break;
        calendar->horizon = part;
        length = kept;
    }
    if (length < calendar->length)
        heap_build(calendar, length, calendar->length);
    calendar->patience = length > SPILL ? length : 0;
    return true;
}

/* The heap is empty: takes the earliest of the far keys, some buckets of them. Many keys of one
 * time that is not the first stay where they are. */
static bool heap_refill(struct calendar *calendar)
{
    struct far_keys *far = &calendar->far;
    uint64_t end = 0;
    size_t taken = 0;
    while (taken < REFILL && far->count > 0) {
        uint64_t bucket_end;
        const size_t count = far_keys_next(far, &bucket_end);
        if (count == 0)
            return calendar_fail(calendar, "out of memory for the event calendar");
        if (taken > 0 && count > FAR_BUCKET_MOST)
            break;
        if (!heap_reserve(calendar, taken + count))
            return false;
        far_keys_take(far, calendar->heap + taken);
        taken += count;
        end = bucket_end;
    }
    heap_build(calendar, taken, 0);
    calendar->horizon = far->count == 0 ? UINT64_MAX : end > far->base ? end : far->base;
    calendar->patience = 0;
    return true;
}

/* Takes all keys back; what was a heap is one no more. */
static bool heap_recall(struct calendar *calendar)
{
    size_t far = calendar->far.count;
    if (!heap_reserve(calendar, calendar->length + far))
        return false;
    far_keys_take_all(&calendar->far, calendar->heap + calendar->length);
    calendar->length += far;
    calendar->horizon = UINT64_MAX;
    calendar->patience = 0;
    return true;
}

/* Brings the next live key to the root; false where there is none. */
static bool heap_settle(struct calendar *calendar)
{
    for (;;) {
        if (calendar->hole)
            heap_close_hole(calendar);
        if (calendar->length == 0 && (calendar->far.count == 0 || !heap_refill(calendar)))
            return false;
        calendar_key key = calendar->heap[0];
        if (!key_is_live(calendar, key)) {
            calendar->hole = true;
            continue;
        }
        if (calendar->slots[key_slot(key)].time >= 0)
            return true;
        calendar_key later = slot_resume(calendar, key_slot(key));
        if ((uint64_t)(later >> 64) < calendar->horizon) {
            heap_replace(calendar->heap, calendar->length, 0, later);
        } else {
            calendar->hole = true;
            if (!far_keys_add(&calendar->far, later))
                return calendar_fail(calendar, "out of memory for the event calendar");
        }
    }
}

/* Is the root the next live key, as heap_settle leaves it? Mostly it is. */
static inline bool heap_is_settled(const struct calendar *calendar)
{
    if (calendar->hole || calendar->length == 0)
        return false;
    const calendar_key key = calendar->heap[0];
    return key_is_live(calendar, key) && calendar->slots[key_slot(key)].time >= 0;
}

/* Takes every stale key out, that of an open root among them. O(n). */
static void heap_sweep(struct calendar *calendar)
{
    if (!heap_recall(calendar))
        return;
    calendar_key *heap = calendar->heap;
    size_t kept = 0;
    for (size_t i = 0; i < calendar->length; i++)
        if (key_is_live(calendar, heap[i]))
            heap[kept++] = heap[i];
    heap_build(calendar, kept, calendar->length);
}

static int key_compare(const void *a, const void *b)
{
    const calendar_key *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The sequence numbers are used up: number the pending events anew in their present order. */
static void calendar_renumber(struct calendar *calendar)
{
    if (!heap_recall(calendar))
        return;
    for (size_t i = calendar->hole ? 1 : 0; i < calendar->length; i++) {
        uint32_t slot = key_slot(calendar->heap[i]);
        if (key_is_live(calendar, calendar->heap[i]) && calendar->slots[slot].time < 0)
            calendar->heap[i] = slot_resume(calendar, slot);
    }
    heap_sweep(calendar);
    qsort(calendar->heap, calendar->length, sizeof *calendar->heap, key_compare);
    for (size_t i = 0; i < calendar->length; i++) {
        uint32_t slot = key_slot(calendar->heap[i]);
        slot_set_sequence(&calendar->slots[slot], i + 1);
        calendar->heap[i] = key_of(key_time(calendar->heap[i]), i + 1, slot);
    }
    calendar->next_sequence = calendar->length + 1;
}

static bool slots_grow(struct calendar *calendar, size_t capacity)
{
    struct slot *slots = realloc(calendar->slots, capacity * sizeof *slots);
    if (slots == NULL)
        return false;
    calendar->slots = slots;
    calendar->slot_capacity = capacity;
    return true;
}

struct calendar *calendar_create(size_t initial_capacity)
{
    size_t capacity = initial_capacity < MIN_CAPACITY ? MIN_CAPACITY : initial_capacity;
    struct calendar *calendar = calloc(1, sizeof *calendar);
    if (calendar == NULL)
        return NULL;
    calendar->next_sequence = 1;
    calendar->free_slot = NO_SLOT;
    calendar->horizon = UINT64_MAX;
    far_keys_init(&calendar->far);
    if (capacity > SLOT_LIMIT)
        capacity = SLOT_LIMIT;
    if (!heap_grow(calendar, MIN_CAPACITY) || !slots_grow(calendar, capacity)) {
        calendar_destroy(calendar);
        return NULL;
    }
    return calendar;
}

void calendar_destroy(struct calendar *calendar)
{
    if (calendar == NULL)
        return;
    free(calendar->heap_memory);
    far_keys_clear(&calendar->far);
    free(calendar->slots);
    free(calendar);
}

/* The rare half of calendar_admit. */
static bool calendar_make_room(struct calendar *calendar, sim_time_t time)
{
    if (time < calendar->now)
        return calendar_fail(calendar, "an event was set before the present time");
    if (calendar->next_sequence >= SEQUENCE_LIMIT)
        calendar_renumber(calendar);
    return heap_reserve(calendar, calendar->length + 1);
}

/* Whether a key at `time` can be inserted, after making room for it. */
static inline bool calendar_admit(struct calendar *calendar, sim_time_t time)
{
    if (time >= calendar->now && calendar->next_sequence < SEQUENCE_LIMIT &&
        calendar->length < calendar->heap_capacity)
        return true;
    return calendar_make_room(calendar, time);
}

/* False when out of memory. */
static inline bool heap_insert(struct calendar *calendar, calendar_key key)
{
    if ((uint64_t)(key >> 64) >= calendar->horizon)
        return far_keys_add(&calendar->far, key) ||
               calendar_fail(calendar, "out of memory for the event calendar");
    if (calendar->hole) {
        calendar->hole = false;
        /* What is to happen at once mostly happens next. */
        if (key_time(key) == calendar->now && heap_is_first(calendar->heap, key))
            calendar->heap[0] = key;
        else
            heap_replace(calendar->heap, calendar->length, 0, key);
    } else {
        heap_raise(calendar->heap, calendar->length++, 0, key);
    }
    if (calendar->length <= SPILL || calendar->patience-- > 0)
        return true;
    return heap_spill(calendar);
}

/* Adds a slot never used so far to the empty list of free ones; false where there is none to be
 * had. */
static bool slot_add(struct calendar *calendar)
{
    if (calendar->slot_count == SLOT_LIMIT)
        return calendar_fail(calendar, "more than 16777216 events pending");
    if (calendar->slot_count == calendar->slot_capacity) {
        size_t capacity = 2 * calendar->slot_capacity;
        if (!slots_grow(calendar, capacity < SLOT_LIMIT ? capacity : SLOT_LIMIT))
            return calendar_fail(calendar, "out of memory for the event calendar");
    }
    calendar->slots[calendar->slot_count] = (struct slot){.subject = NO_SLOT};
    calendar->free_slot = (uint32_t)calendar->slot_count++;
    return true;
}

static inline void slot_free(struct calendar *calendar, uint32_t index)
{
    struct slot *slot = &calendar->slots[index];
    slot->use = slot_generation(slot);
    calendar->live--;
    /* A slot whose generations are used up is laid aside: no stale handle may come alive again. */
    if (slot_generation(slot) == GENERATION_MASK)
        return;
    slot->subject = calendar->free_slot;
    calendar->free_slot = index;
}

/* Room for one more event at `time`. */
static inline bool calendar_ready(struct calendar *calendar, sim_time_t time)
{
    return (calendar->free_slot != NO_SLOT || slot_add(calendar)) && calendar_admit(calendar, time);
}

static inline calendar_handle calendar_add(struct calendar *calendar, sim_time_t time,
                                           uint64_t sequence, uint16_t kind, uint32_t subject)
{
    uint32_t index = calendar->free_slot;
    struct slot *slot = &calendar->slots[index];
    calendar->free_slot = slot->subject;
    const uint64_t generation = slot_generation(slot) + 1;
    slot->use = sequence << GENERATION_BITS | generation;
    slot->time = time;
    slot->kind = kind;
    slot->subject = subject;
    calendar->live++;
    bool done = heap_insert(calendar, key_of(time, sequence, index));
    return done ? generation << SLOT_BITS | index : 0;
}

calendar_handle calendar_push(struct calendar *calendar, sim_time_t time, uint16_t kind,
                              uint32_t subject)
{
    if (!calendar_ready(calendar, time))
        return 0;
    return calendar_add(calendar, time, calendar->next_sequence++, kind, subject);
}

uint64_t calendar_draw_order(struct calendar *calendar)
{
    if (calendar->next_sequence >= SEQUENCE_LIMIT)
        calendar_renumber(calendar);
    return calendar->next_sequence++;
}

calendar_handle calendar_push_ordered(struct calendar *calendar, sim_time_t time, uint64_t order,
                                      uint16_t kind, uint32_t subject)
{
    return calendar_ready(calendar, time) ? calendar_add(calendar, time, order, kind, subject) : 0;
}

/* The slot of a pending event; NULL where the handle is stale. */
static inline struct slot *slot_of_handle(const struct calendar *calendar, calendar_handle handle)
{
    uint64_t index = handle & SLOT_MASK;
    if (index >= calendar->slot_count)
        return NULL;
    struct slot *slot = &calendar->slots[index];
    return slot_sequence(slot) != 0 && slot_generation(slot) == handle >> SLOT_BITS ? slot : NULL;
}

/* Called after a key has become stale; the sweep pays for itself with the keys it drops. */
static inline void calendar_tidy(struct calendar *calendar)
{
    if (calendar_keys(calendar) > 2 * calendar->live + MIN_CAPACITY)
        heap_sweep(calendar);
}

bool calendar_cancel(struct calendar *calendar, calendar_handle handle)
{
    struct slot *slot = slot_of_handle(calendar, handle);
    if (slot == NULL)
        return false;
    slot_free(calendar, (uint32_t)(handle & SLOT_MASK));
    calendar_tidy(calendar);
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
static inline bool slot_move(struct calendar *calendar, struct slot *slot, sim_time_t time,
                             uint64_t sequence)
{
    uint32_t index = (uint32_t)(slot - calendar->slots);
    sim_time_t key = slot->time < 0 ? ~slot->time : slot->time;
    bool later = time > key || (time == key && sequence >= slot_sequence(slot));
    if (later && time - key < DELAY_LIMIT) {
        slot_postpone(slot, key, (uint64_t)(time - key), sequence);
        return true;
    }
    slot->time = time;
    slot_set_sequence(slot, sequence);
    bool done = heap_insert(calendar, key_of(time, sequence, index));
    calendar_tidy(calendar);
    return done;
}

bool calendar_retime(struct calendar *calendar, calendar_handle handle, sim_time_t time)
{
    struct slot *slot = slot_of_handle(calendar, handle);
    return slot != NULL && calendar_admit(calendar, time) &&
           slot_move(calendar, slot, time, calendar->next_sequence++);
}

bool calendar_retime_ordered(struct calendar *calendar, calendar_handle handle, sim_time_t time,
                             uint64_t order, uint32_t subject)
{
    struct slot *slot = slot_of_handle(calendar, handle);
    if (slot == NULL || !calendar_admit(calendar, time))
        return false;
    slot->subject = subject;
    return slot_move(calendar, slot, time, order);
}

/* The heap is empty: is what comes next a crowd of one time, too many to take in before they are
 * due? Then that time; else SIM_FOREVER. */
static sim_time_t far_crowd_time(struct calendar *calendar)
{
    uint64_t end;
    if (calendar->far.count <= SPILL || far_keys_next(&calendar->far, &end) <= SPILL)
        return SIM_FOREVER;
    calendar_key key = far_keys_peek(&calendar->far);
    bool comes = key_is_live(calendar, key) && calendar->slots[key_slot(key)].time >= 0;
    return comes ? key_time(key) : SIM_FOREVER;
}

sim_time_t calendar_next_time(struct calendar *calendar)
{
    if (calendar->hole)
        heap_close_hole(calendar);
    if (heap_is_settled(calendar))
        return key_time(calendar->heap[0]);
    if (calendar->length == 0) {
        sim_time_t crowd = far_crowd_time(calendar);
        if (crowd != SIM_FOREVER)
            return crowd;
    }
    return heap_settle(calendar) ? key_time(calendar->heap[0]) : SIM_FOREVER;
}

bool calendar_pop(struct calendar *calendar, struct event *event)
{
    if (!heap_is_settled(calendar) && !heap_settle(calendar))
        return false;
    calendar_key key = calendar->heap[0];
    uint32_t index = key_slot(key);
    const struct slot *slot = &calendar->slots[index];
    event->time = calendar->now = key_time(key);
    event->kind = slot->kind;
    event->subject = slot->subject;
    slot_free(calendar, index);
    calendar->hole = true;
    return true;
}

size_t calendar_size(const struct calendar *calendar)
{
    return calendar->live;
}

size_t calendar_keys(const struct calendar *calendar)
{
    return calendar->length - (calendar->hole ? 1 : 0) + calendar->far.count;
}

const char *calendar_fault(const struct calendar *calendar)
{
    return calendar->fault;
}

void calendar_age(struct calendar *calendar, uint64_t uses)
{
    if (uses > SEQUENCE_LIMIT - 2)
        uses = SEQUENCE_LIMIT - 2;
    if (calendar->next_sequence < uses)
        calendar->next_sequence = uses;
    const uint64_t generation = uses < GENERATION_MASK - 1 ? uses : GENERATION_MASK - 1;
    for (uint32_t i = calendar->free_slot; i != NO_SLOT; i = calendar->slots[i].subject)
        if (slot_generation(&calendar->slots[i]) < generation)
            calendar->slots[i].use = generation;
}

struct soundness {
    const struct calendar *calendar;
    size_t live;
    bool sound;
};

/* Does the slot know of the key, if it is its current one? */
static void soundness_visit(void *context, calendar_key key)
{
    struct soundness *check = context;
    const struct calendar *calendar = check->calendar;
    if (key_time(key) < 0 || key_slot(key) >= calendar->slot_count) {
        check->sound = false;
        return;
    }
    if (!key_is_live(calendar, key))
        return;
    const struct slot *slot = &calendar->slots[key_slot(key)];
    check->live++;
    if (key_time(key) < calendar->now ||
        (slot->time < 0 ? ~slot->time : slot->time) != key_time(key) ||
        (slot->time < 0 && slot_later_time(slot) < key_time(key)))
        check->sound = false;
}

static bool heap_is_sound(const struct calendar *calendar, size_t *live)
{
    size_t first = calendar->hole ? 1 : 0;
    struct soundness check = {.calendar = calendar, .sound = true};
    for (size_t i = first; i < calendar->length; i++) {
        calendar_key key = calendar->heap[i];
        soundness_visit(&check, key);
        if ((uint64_t)(key >> 64) >= calendar->horizon)
            return false;
        if (i > first && (i - 1) / ARITY >= first && calendar->heap[(i - 1) / ARITY] >= key)
            return false;
    }
    for (size_t i = 0; i < ARITY; i++)
        if (calendar->heap[calendar->length + i] != KEY_END)
            return false;
    far_keys_each(&calendar->far, soundness_visit, &check);
    *live = check.live;
    return check.sound && far_keys_are_sound(&calendar->far, calendar->horizon);
}

bool calendar_is_sound(const struct calendar *calendar)
{
    size_t live, used = 0, freed = 0, spent = 0;
    if (calendar->length > calendar->heap_capacity || !heap_is_sound(calendar, &live))
        return false;
    for (size_t i = 0; i < calendar->slot_count; i++) {
        const struct slot *slot = &calendar->slots[i];
        const uint64_t sequence = slot_sequence(slot);
        if (sequence >= calendar->next_sequence)
            return false;
        used += sequence != 0;
        spent += sequence == 0 && slot_generation(slot) == GENERATION_MASK;
    }
    for (uint32_t i = calendar->free_slot; i != NO_SLOT; i = calendar->slots[i].subject) {
        if (i >= calendar->slot_count || slot_sequence(&calendar->slots[i]) != 0 ||
            freed++ > calendar->slot_count)
            return false;
    }
    return live == calendar->live && used == live && used + freed + spent == calendar->slot_count;
}
