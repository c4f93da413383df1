#include "sim/engine/overflow_heap.h"

#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/invariant.h"

#define NO_CHUNK UINT32_MAX

void overflow_heap_init(struct overflow_heap *far, struct arena *arena)
{
    *far = (struct overflow_heap){.arena = arena, .horizon = UINT64_MAX, .chunk_free = NO_CHUNK};
    memset(far->head, 0xFF, sizeof far->head);
}

static void chunks_grow(struct overflow_heap *far)
{
    arena_reserve(far->arena, &far->next, far->chunk_capacity + 1, sizeof *far->next);
    far->chunk_capacity = arena_room(far->next, sizeof *far->next);
    arena_reserve(far->arena, &far->chunks, far->chunk_capacity, sizeof *far->chunks);
}

/* Returns an empty chunk linked to `next`. */
static uint32_t chunk_take(struct overflow_heap *far, uint32_t next)
{
    uint32_t id = far->chunk_free;
    if (id != NO_CHUNK) {
        far->chunk_free = far->next[id];
        far->chunks_spare--;
    } else {
        if (far->chunks_used == far->chunk_capacity)
            chunks_grow(far);
        id = far->chunks_used++;
    }
    far->next[id] = next;
    return id;
}

/* Adds the chunk to the free list. Returns the chunk that followed it. */
static uint32_t chunk_free(struct overflow_heap *far, uint32_t id)
{
    uint32_t next = far->next[id];
    far->next[id] = far->chunk_free;
    far->chunk_free = id;
    far->chunks_spare++;
    return next;
}

/* Ensures enough chunks for one more in each bucket below `level`, plus one. */
static void chunks_reserve(struct overflow_heap *far, unsigned level)
{
    while (far->chunks_spare + (far->chunk_capacity - far->chunks_used) < level * FAR_DIGITS + 1)
        chunks_grow(far);
}

static inline void far_place(const struct overflow_heap *far, uint64_t time, unsigned *level,
                             unsigned *digit)
{
    unsigned bit = 63U - (unsigned)__builtin_clzll((time ^ far->base) | 1);
    *level = bit / FAR_DIGIT_BITS;
    *digit = (unsigned)(time >> (FAR_DIGIT_BITS * *level)) & (FAR_DIGITS - 1);
}

/* Adds a chunk to a bucket that has none or only full ones. Not inlined, so that the code executed
 * for every key needs few registers. */
static __attribute__((noinline)) void bucket_extend(struct overflow_heap *far, uint32_t *head)
{
    *head = chunk_take(far, *head);
}

static inline void key_file(struct overflow_heap *far, event_queue_key key)
{
    unsigned level, digit;
    far_place(far, (uint64_t)(key >> 64), &level, &digit);
    uint32_t *head = &far->head[level][digit];
    const uint32_t place = far->in_bucket[level][digit] % FAR_CHUNK_KEYS;
    if (place == 0)
        bucket_extend(far, head);
    far->chunks[*head].keys[place] = key;
    far->in_bucket[level][digit]++;
    far->mask[level] |= UINT64_C(1) << digit;
    far->count++;
}

void overflow_heap_add(struct overflow_heap *far, event_queue_key key)
{
    INVARIANT(overflow_heap_admits(far, (uint64_t)(key >> 64)));
    key_file(far, key);
}

/* Number of keys in the first chunk of a bucket of `in_bucket` keys. */
static inline uint32_t head_keys(uint32_t in_bucket)
{
    return in_bucket == 0 ? 0 : (in_bucket - 1) % FAR_CHUNK_KEYS + 1;
}

/* Unlinks the bucket. Returns its first chunk, and in *keys the number of keys in it. */
static uint32_t bucket_detach(struct overflow_heap *far, unsigned level, unsigned digit,
                              uint32_t *keys)
{
    uint32_t head = far->head[level][digit];
    *keys = head_keys(far->in_bucket[level][digit]);
    far->count -= far->in_bucket[level][digit];
    far->head[level][digit] = NO_CHUNK;
    far->in_bucket[level][digit] = 0;
    far->mask[level] &= ~(UINT64_C(1) << digit);
    return head;
}

static void bucket_earliest(const struct overflow_heap *far, unsigned *level, unsigned *digit)
{
    *level = 0;
    while (far->mask[*level] == 0)
        ++*level;
    *digit = (unsigned)__builtin_ctzll(far->mask[*level]);
}

/* Called when all earlier keys have left. */
static void horizon_raise(struct overflow_heap *far, uint64_t time)
{
    far->horizon = far->count == 0 ? UINT64_MAX : far->horizon > time ? far->horizon : time;
}

static uint64_t bucket_start(const struct overflow_heap *far, unsigned level, unsigned digit)
{
    unsigned above = FAR_DIGIT_BITS * (level + 1);
    uint64_t high = above < 64 ? far->base >> above << above : 0;
    return high | (uint64_t)digit << (FAR_DIGIT_BITS * level);
}

/* Distributes the bucket's keys by their lower digits. */
static void bucket_split(struct overflow_heap *far, unsigned level, unsigned digit)
{
    chunks_reserve(far, level);
    uint64_t start = bucket_start(far, level, digit);
    uint32_t held;
    uint32_t id = bucket_detach(far, level, digit, &held);
    far->base = start;
    for (; id != NO_CHUNK; id = chunk_free(far, id), held = FAR_CHUNK_KEYS) {
        for (uint32_t i = 0; i < held; i++)
            key_file(far, far->chunks[id].keys[i]); /* which stays: chunks were reserved */
    }
    horizon_raise(far, start);
}

size_t overflow_heap_next(struct overflow_heap *far)
{
    unsigned level, digit;
    bucket_earliest(far, &level, &digit);
    while (level > 0 && far->in_bucket[level][digit] > FAR_BUCKET_MOST) {
        bucket_split(far, level, digit);
        bucket_earliest(far, &level, &digit);
    }
    return far->in_bucket[level][digit];
}

event_queue_key overflow_heap_peek(const struct overflow_heap *far)
{
    unsigned level, digit;
    bucket_earliest(far, &level, &digit);
    return far->chunks[far->head[level][digit]].keys[0];
}

static event_queue_key *bucket_take(struct overflow_heap *far, unsigned level, unsigned digit,
                                    event_queue_key *keys)
{
    uint32_t held;
    uint32_t id = bucket_detach(far, level, digit, &held);
    for (; id != NO_CHUNK; id = chunk_free(far, id), held = FAR_CHUNK_KEYS) {
        memcpy(keys, far->chunks[id].keys, held * sizeof *keys);
        keys += held;
    }
    return keys;
}

void overflow_heap_take(struct overflow_heap *far, event_queue_key *keys)
{
    unsigned level, digit;
    bucket_earliest(far, &level, &digit);
    const uint64_t start = bucket_start(far, level, digit);
    bucket_take(far, level, digit, keys);
    horizon_raise(far, start + (UINT64_C(1) << (FAR_DIGIT_BITS * level)));
}

void overflow_heap_take_all(struct overflow_heap *far, event_queue_key *keys)
{
    while (far->count > 0) {
        unsigned level, digit;
        bucket_earliest(far, &level, &digit);
        keys = bucket_take(far, level, digit, keys);
    }
    far->horizon = UINT64_MAX;
}
