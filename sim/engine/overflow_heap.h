/* The part of a event queue that is not due for long: keys kept roughly by time, in no order among
 * those of about the same time.
 *
 * A radix heap's idea (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path
 * problem", J. ACM 37, 1990) with digits of six bits, which makes it a hierarchy of timing wheels:
 * a key is filed by the highest digit in which its time differs from a base that no key is before,
 * and by that digit's value. Taking the earliest bucket out costs no comparison of keys; one that
 * holds many is first filed anew from its own beginning, by the digits below. So a key is moved a
 * few times, whatever the number pending and however their times are spread, and all that is
 * written is the end of a bucket.
 *
 * A bucket is a list of chunks from one pool; there is no other memory. All that says where a key
 * goes is kept apart from the chunks, so that filing one only writes, and waits for nothing.
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
    FAR_LEVELS = 11, /* of 6 bits: 66 */
    FAR_CHUNK_KEYS = 16,
    FAR_BUCKET_MOST = 256 /* keys of a bucket that is handed out as it is */
};

struct far_chunk {
    event_queue_key keys[FAR_CHUNK_KEYS];
};

struct overflow_heap {
    size_t count;
    uint64_t base;                              /* no key's time is before */
    uint64_t mask[FAR_LEVELS];                  /* buckets that hold keys */
    uint32_t head[FAR_LEVELS][FAR_DIGITS];      /* chunk being filled; UINT32_MAX: none */
    uint32_t in_bucket[FAR_LEVELS][FAR_DIGITS]; /* keys of each; its other chunks are full */
    struct far_chunk *chunks;
    uint32_t *next; /* of each chunk: of the bucket, or of the free ones; UINT32_MAX: the last */
    uint32_t chunk_free, chunks_used, chunk_capacity;
    uint32_t chunks_spare; /* in the list of free ones */
};

void overflow_heap_init(struct overflow_heap *far);
void overflow_heap_clear(struct overflow_heap *far);

/* Files the key, whose time must not be before the base (of an empty structure the caller sets the
 * base first). False when out of memory. */
bool overflow_heap_add(struct overflow_heap *far, event_queue_key key);

/* The keys of the earliest bucket: FAR_BUCKET_MOST at most, or more that are all of one time.
 * Returns how many, at least 1, and in *end the first time after that bucket's; 0 when out of
 * memory. The structure holds at least one key. */
size_t overflow_heap_next(struct overflow_heap *far, uint64_t *end);

/* One of the keys of that bucket. */
event_queue_key overflow_heap_peek(const struct overflow_heap *far);

/* Takes the keys of the bucket that overflow_heap_next told of into `keys`, in no order. */
void overflow_heap_take(struct overflow_heap *far, event_queue_key *keys);

/* Takes all keys into `keys`, in no order. */
void overflow_heap_take_all(struct overflow_heap *far, event_queue_key *keys);

/* Are all keys where they belong, none before `horizon`, and counted? For tests. O(n). */
bool overflow_heap_are_sound(const struct overflow_heap *far, uint64_t horizon);

/* Calls `visit` with each key. */
void overflow_heap_each(const struct overflow_heap *far,
                        void (*visit)(void *context, event_queue_key key), void *context);

#endif
