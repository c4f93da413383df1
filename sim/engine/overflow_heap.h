/* Overflow heap: the events of the event queue that are far in the future.
 *
 * Keys are in buckets by time. Keys within one bucket are not ordered.
 *
 * The structure is a radix heap with digits of six bits (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster
 * algorithms for the shortest path problem", J. ACM 37, 1990). It is therefore also a hierarchy of
 * timing wheels. The highest digit in which a key's time differs from a base time determines the
 * level. The value of this digit determines the bucket. No key may be before the base.
 *
 * Removing the earliest bucket needs no comparison of keys. If the bucket holds many keys, its
 * start becomes the new base, and its keys are first distributed by their lower digits. So each key
 * moves a few times, regardless of the number of pending keys and the distribution of their times.
 * An insertion writes only to the end of a bucket.
 *
 * The owner inserts the keys at or after a horizon, and keeps the earlier ones itself. Therefore:
 *
 *     base <= horizon <= time of every key
 *
 * A key below the base would be filed among later ones. The horizon rises with the base.
 *
 * A bucket is a linked list of chunks from one pool. The data that determine a key's bucket are
 * stored apart from the chunks, so that an insertion does not have to read a chunk.
 */
#ifndef ESGSIM_SIM_ENGINE_OVERFLOW_HEAP_H
#define ESGSIM_SIM_ENGINE_OVERFLOW_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* time(64) ‖ sequence(40) ‖ slot(24). Times are never negative, so unsigned order is time order. */
__extension__ typedef unsigned __int128 event_queue_key;

enum {
    FAR_DIGIT_BITS = 6,
    FAR_DIGITS = 1 << FAR_DIGIT_BITS,
    FAR_LEVELS = 11, /* 11 digits of 6 bits cover 64 bits */
    FAR_CHUNK_KEYS = 16,
    FAR_BUCKET_MOST = 256 /* most keys of a bucket that is removed without splitting */
};

struct far_chunk {
    event_queue_key keys[FAR_CHUNK_KEYS];
};

struct arena;

struct overflow_heap {
    struct arena *arena;
    size_t count;
    uint64_t horizon; /* keys at or after this time belong here; UINT64_MAX: no key is here */
    uint64_t base;
    uint64_t mask[FAR_LEVELS]; /* bit set: bucket is not empty */
    /* first chunk of each bucket, which is being filled; UINT32_MAX: none */
    uint32_t head[FAR_LEVELS][FAR_DIGITS];
    /* keys of each bucket; all chunks but the first are full */
    uint32_t in_bucket[FAR_LEVELS][FAR_DIGITS];
    struct far_chunk *chunks;
    /* of each chunk: next chunk in its bucket or in the free list; UINT32_MAX: none */
    uint32_t *next;
    uint32_t chunk_free, chunks_used;
    size_t chunk_capacity;
    uint32_t chunks_spare; /* length of the free list */
};

/* Initialises an empty structure without allocating memory, which it will take of the arena. */
void overflow_heap_init(struct overflow_heap *far, struct arena *arena);

/* Returns whether a key at `time` can be inserted, and base and horizon are in order. */
static inline bool overflow_heap_admits(const struct overflow_heap *far, uint64_t time)
{
    return far->base <= far->horizon && far->horizon <= time;
}

/* Inserts the key. Its time must not be before the horizon. The caller must set base and horizon
 * before the first insertion into an empty structure. */
void overflow_heap_add(struct overflow_heap *far, event_queue_key key);

/* Finds the earliest bucket. The structure must not be empty. Splits the bucket until it has at
 * most FAR_BUCKET_MOST keys or all its keys have the same time. Base and horizon can rise. Returns
 * the number of keys, at least 1. */
size_t overflow_heap_next(struct overflow_heap *far);

/* Returns any one key of the earliest bucket. */
event_queue_key overflow_heap_peek(const struct overflow_heap *far);

/* Removes the keys of the bucket found by overflow_heap_next. Stores them in `keys`, unordered. The
 * horizon rises to the end of the bucket. */
void overflow_heap_take(struct overflow_heap *far, event_queue_key *keys);

/* Removes all keys. Stores them in `keys`, unordered. */
void overflow_heap_take_all(struct overflow_heap *far, event_queue_key *keys);

#endif
