/* Which invoker fits best, without looking at all of them.
 *
 * Invokers are filed in buckets by (GPU headroom, free vCPUs); bit masks tell which buckets are not
 * empty, so the best fit — fewest units left over, then fewest vCPUs — is found by walking set bits
 * upwards from what is needed. Filing and unfiling are O(1); a query is O(units + rows / 64) plus
 * one step per invoker that the caller turns down.
 *
 * A bucket is a list through the links of its invokers. An invoker is filed in many indices at
 * once, one for each function that idles there, and moves in all of them together; so the links
 * are the caller's, who keeps those of one invoker side by side.
 */
#ifndef ESGSIM_SIM_FIT_INDEX_H
#define ESGSIM_SIM_FIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one invoker in one index. */
struct fit_link {
    _Alignas(16) uint32_t bucket; /* SIM_NONE: not filed */
    uint32_t next, previous;      /* of the bucket's list */
};

struct fit_index {
    uint32_t units;         /* greatest headroom */
    uint32_t vcpus;         /* greatest count of free vCPUs told apart; more are filed there */
    uint32_t words;         /* 64-bit words of one row's mask */
    uint32_t *head;         /* [(units + 1) × (vcpus + 1)] first invoker of the bucket */
    uint64_t *mask;         /* [(units + 1) × words] non-empty buckets of each row */
    struct fit_link *links; /* the caller's; of invoker i: links[i × stride] */
    size_t stride;
};

/* An index of nobody through `links`, which stay the caller's and outlive it: that of invoker
 * i < `invokers` is links[i × stride]. False when out of memory. */
bool fit_index_init(struct fit_index *index, struct fit_link *links, size_t stride,
                    uint32_t invokers, uint32_t units, uint32_t vcpus);
void fit_index_clear(struct fit_index *index);

/* File `invoker` under (headroom, free_vcpus), moving it if it was filed elsewhere. */
void fit_index_file(struct fit_index *index, uint32_t invoker, uint32_t headroom,
                    uint32_t free_vcpus);
void fit_index_remove(struct fit_index *index, uint32_t invoker);

/* Walks invokers with at least (need_units, need_vcpus) from the best fit upwards. Start with
 * *cursor = SIM_NONE; each call yields the next candidate, SIM_NONE past the last. Among equals the
 * most recently filed comes first. */
uint32_t fit_index_next(const struct fit_index *index, uint32_t need_units, uint32_t need_vcpus,
                        uint32_t cursor);

#endif
