/* Which invoker fits best, without looking at all of them.
 *
 * A set files invokers in buckets by (GPU headroom, free vCPUs). Bit masks tell which buckets are
 * not empty, so the best fit (fewest units left over, then fewest vCPUs) is found by walking set
 * bits upwards from what is needed. There is one set of all invokers, and one for each function of
 * those on which a container of it idles. A bucket is a doubly linked list with the latest comer
 * first, so that among equals the invoker that changed last is found first.
 *
 * An invoker has `slots` entries in a set: one, or one for each GPU where some invoker has several.
 * Each is filed by the headroom of its own GPU, or, where a container uses none, by 0.
 *
 * Filing and removing are O(1). A query is O(units + vCPUs / 64) for the first entry and O(1) for
 * most of the further ones.
 */
#ifndef ESGSIM_SIM_BEST_FIT_H
#define ESGSIM_SIM_BEST_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;

/* An entry in a set. */
struct fit_link {
    uint32_t bucket; /* SIM_NONE: not filed */
    uint32_t previous, next;
};

/* Its buckets are allocated when the first entry is filed. */
struct fit_set {
    uint32_t *heads; /* [(units + 1) × (vcpus + 1)] entry that came last; SIM_NONE: empty */
    uint64_t *mask;  /* [units + 1][mask_words] buckets that are not empty */
};

struct best_fit {
    uint32_t units;      /* greatest headroom */
    uint32_t vcpus;      /* greatest count of free vCPUs told apart; more are filed there */
    uint32_t mask_words; /* 64-bit words of one row's mask */
    uint32_t slots;
    struct fit_set all;
    struct fit_set *of_function;   /* [function] */
    struct fit_link *all_links;    /* [invoker × slots + slot] */
    struct fit_link *pool_links;   /* [pool × slots + slot], of the function's set */
    uint32_t set_count, pool_room; /* of `of_function`; pools that have links */
};

/* Empty sets for a cluster whose functions, invokers and GPUs are set. False when out of memory. */
bool best_fit_init(struct cluster *cluster);
void best_fit_clear(struct best_fit *fit);

/* Room for the entries of pools 0 … `pools` - 1. False when out of memory. */
bool best_fit_reserve(struct best_fit *fit, uint32_t pools);

/* Files the invoker as it is now, in the set of all and in that of every function of which it has a
 * pool. Pools that have become empty are given back. False when out of memory. O(its pools). */
bool best_fit_file(struct cluster *cluster, uint32_t invoker);

/* Is the pool in its function's set? */
bool best_fit_has_pool(const struct best_fit *fit, uint32_t pool);

/* Walks the entries with at least (need_units, need_vcpus), of invokers with an idle container of
 * `function` (SIM_NONE: of all), from the best fit upwards. Begin with *cursor = SIM_NONE. Returns
 * invoker × slots + slot; SIM_NONE past the last. */
uint32_t best_fit_next(const struct cluster *cluster, uint32_t function, uint32_t need_units,
                       uint32_t need_vcpus, uint32_t *cursor);

#endif
