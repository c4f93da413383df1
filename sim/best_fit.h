/* Which invoker fits best, without looking at all of them.
 *
 * A set files invokers in buckets by (GPU headroom, free vCPUs). Bit masks tell which buckets are
 * not empty, so the best fit (fewest units left over, then fewest vCPUs) is found by walking set
 * bits upwards from what is needed. There is one set of all invokers, and one for each function of
 * those on which a container of it idles. A bucket is a doubly linked list with the latest comer
 * first, so that among equals the invoker that changed last is found first.
 *
 * In the set of all an invoker has an entry for each of its GPUs, filed by that GPU's headroom, or
 * one filed by 0 where it has none. In a function's set it has one for each GPU on which a
 * container idles, and one filed by 0 where one idles on vCPUs alone.
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
    uint32_t set_count;
    struct fit_set *sets;       /* of each function; then of all */
    struct fit_link *all_links; /* of each GPU, then of each invoker without one */
};

/* A walk through a set. */
struct fit_cursor {
    uint32_t function; /* SIM_NONE: all invokers */
    uint32_t need_units, need_vcpus;
    uint32_t at;           /* the entry; SIM_NONE: before the first */
    uint32_t invoker, gpu; /* of the entry */
};

/* Empty sets for a cluster whose functions, invokers and GPUs are set. False when out of memory. */
bool best_fit_init(struct cluster *cluster);
void best_fit_clear(struct best_fit *fit);

/* Files the invoker as it is now, in the set of all and in that of every function of which it has a
 * pool. Pools that have become empty are given back. False when out of memory. O(its pools). */
bool best_fit_file(struct cluster *cluster, uint32_t invoker);

/* Moves the cursor to the next entry with at least what it needs, from the best fit upwards; false
 * past the last. Nothing may be filed between two calls. */
bool best_fit_next(const struct cluster *cluster, struct fit_cursor *cursor);

#endif
