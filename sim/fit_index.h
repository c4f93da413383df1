/* Which invoker fits best, without looking at all of them.
 *
 * Invokers are filed in buckets by (GPU headroom, free vCPUs); bit masks tell which buckets are not
 * empty, so the best fit — fewest units left over, then fewest vCPUs — is found by walking set bits
 * upwards from what is needed. One structure holds many indices over the same invokers: one of all,
 * and one for each function of those where it idles. An invoker moves in most of them at once.
 *
 * A bucket gives every invoker that comes a position, one after the other, and notes its number
 * there; for each index it has a bit map of positions, set where the invoker at the position is
 * filed in the index through it. Words of 64 positions stand side by side, index by index, so that
 * a move in all indices clears bits of one cache line and sets bits of another: no other invoker is
 * looked at. An invoker that moves in one index after the other without anyone else in between gets
 * one position for all; one that comes anew in a single index gets a further position, and the
 * other indices keep theirs. A second bit map an index tells which words have bits at all.
 *
 * When a bucket's positions are used up, it is packed, in place and in order, where at most one in
 * FIT_SPARSE is in use, else it doubles. So filing and unfiling are O(1), amortised, and memory is
 * O(indices) bits for each of at most 2 × FIT_SPARSE positions an invoker filed. A query is
 * O(units + rows / 64) for the first bucket plus one step per invoker that the caller turns down; a
 * step passes 4,096 positions that are not of the index at a time.
 *
 * Where an invoker stands in each index (its row) is kept side by side too, by the caller.
 */
#ifndef ESGSIM_SIM_FIT_INDEX_H
#define ESGSIM_SIM_FIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIT_SPARSE = 8 };

/* Where one invoker stands in one index. */
struct fit_link {
    uint32_t bucket;   /* SIM_NONE: not filed */
    uint32_t position; /* of one not filed: the caller's; SIM_NONE at first and when removed */
};

struct fit_bucket {
    uint32_t *invokers; /* [capacity] who came to a position; not all are there still */
    uint64_t *members;  /* [capacity / 64][lanes] bit: at this position, in this index */
    uint64_t *words;    /* [capacity / 4096, upwards][lanes] bit: this word of `members` is not 0 */
    uint32_t used, capacity; /* positions */
};

struct fit_index {
    uint32_t units;             /* greatest headroom */
    uint32_t vcpus;             /* greatest count of free vCPUs told apart; more are filed there */
    uint32_t indices;           /* numbered from 0 */
    uint32_t lanes;             /* `indices`, rounded up so that lanes fill whole cache lines */
    uint32_t mask_words;        /* 64-bit words of one row's mask */
    uint32_t column_bits;       /* of a bucket's number: its free vCPUs; above them, its headroom */
    struct fit_bucket *buckets; /* [(units + 1) << column_bits] */
    uint32_t *counts;           /* [bucket × indices + index] invokers filed */
    uint64_t *mask;             /* [index][units + 1][mask_words] buckets that are not empty */
    struct fit_link *links;     /* the caller's; of invoker i: links[i × stride + index × step] */
    size_t stride, step;
};

/* Empty indices through `links`, which stay the caller's and outlive them: invoker i < `invokers`
 * has `indices` of them, each `step` after the one before, from links[i × stride]. False when out
 * of memory. */
bool fit_index_init(struct fit_index *index, struct fit_link *links, size_t stride, size_t step,
                    uint32_t invokers, uint32_t indices, uint32_t units, uint32_t vcpus);
void fit_index_clear(struct fit_index *index);

/* File `invoker` in index `which` under (headroom, free_vcpus), moving it if it was filed elsewhere
 * there. False when out of memory: it is not filed then. */
bool fit_index_file(struct fit_index *index, uint32_t which, uint32_t invoker, uint32_t headroom,
                    uint32_t free_vcpus);
/* The same in every index first + i for which bit i of `set` is set. */
bool fit_index_file_set(struct fit_index *index, uint32_t first, uint64_t set, uint32_t invoker,
                        uint32_t headroom, uint32_t free_vcpus);
void fit_index_remove(struct fit_index *index, uint32_t which, uint32_t invoker);

/* Walks the invokers of index `which` with at least (need_units, need_vcpus) from the best fit
 * upwards. Start with *cursor = SIM_NONE; each call yields the next candidate, SIM_NONE past the
 * last. Among equals the most recently filed comes first. */
uint32_t fit_index_next(const struct fit_index *index, uint32_t which, uint32_t need_units,
                        uint32_t need_vcpus, uint32_t cursor);

#endif
