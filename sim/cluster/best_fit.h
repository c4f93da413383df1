/* Which invoker fits best, without looking at all of them.
 *
 * The order: fewest units left over, then fewest vCPUs, then the invoker that changed last. An
 * invoker has an entry for each of its GPUs, with that GPU's headroom, and one with 0 for what runs
 * on its vCPUs alone. Filing an invoker gives its entries their place, (headroom, free vCPUs), and
 * numbers the filing; an entry whose place changed is the latest comer there.
 *
 * A set holds entries in buckets by place. Bit masks tell which buckets are not empty, and a bucket
 * is a doubly linked list with the latest comer first, so that a query walks set bits upwards from
 * what is needed. There is a set of all invokers: of their GPUs, or of the invoker where it has
 * none.
 *
 * A query for an idle container of a function asks among the function's members: the pools that
 * have one. While there are few, a query looks at all of them, and filing an invoker costs nothing
 * for the functions that idle there. When there are many, the function has a set of its own. Both
 * give the same order: a member counts from the filing that found it idle, or that moved its entry,
 * whichever was later.
 *
 * Filing costs O(GPUs + pools of the invoker), a query O(units + vCPUs / 64 + WALK_MOST) for
 * the first entry.
 */
#ifndef ESGSIM_SIM_CLUSTER_BEST_FIT_H
#define ESGSIM_SIM_CLUSTER_BEST_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;

/* Most members that a query looks at one by one. */
enum { BEST_FIT_WALK_MOST = 32 };

/* Of an entry or a pool in a set. */
struct fit_link {
    uint32_t bucket; /* headroom << column_bits | free vCPUs; SIM_NONE: not in the set */
    uint32_t previous, next;
};

/* Its buckets are allocated when the first entry is filed. */
struct fit_set {
    uint32_t *heads; /* of each bucket: who came last; SIM_NONE: empty */
    uint64_t *mask;  /* [units + 1][mask_words] buckets that are not empty */
};

struct fit_entry {
    struct fit_link link;
    uint64_t filed; /* the filing that brought it to its place */
};

/* Of a function: the pools with idle containers. */
struct fit_members {
    struct fit_member {
        uint32_t pool, entry;
        uint64_t since; /* the filing that found it idle */
    } * list;           /* in no order */
    uint32_t count, capacity;
    bool in_set; /* they are many, and in the function's set */
};

struct best_fit {
    uint32_t units;       /* greatest headroom */
    uint32_t vcpus;       /* greatest count of free vCPUs told apart; more are filed there */
    uint32_t column_bits; /* of a bucket's number: its free vCPUs */
    uint32_t mask_words;  /* 64-bit words of one row's mask */
    uint32_t function_count;
    uint32_t set_count;          /* functions whose members are in their sets */
    struct fit_set *sets;        /* of each function; then of all */
    struct fit_members *members; /* of each function */
    struct fit_entry *entries;   /* of each GPU, then of each invoker's vCPUs */
    uint64_t filings;            /* of an invoker, so far */
};

/* A walk in order of fit. */
struct fit_cursor {
    uint32_t function; /* SIM_NONE: all invokers */
    uint32_t need_units, need_vcpus;
    uint32_t at;           /* entry or pool; SIM_NONE: before the first */
    uint32_t invoker, gpu; /* of the entry; gpu SIM_NONE: on vCPUs alone */
};

/* For a cluster whose functions, invokers and GPUs are set. False when out of memory. */
bool best_fit_init(struct cluster *cluster);
void best_fit_clear(struct best_fit *fit);

/* Files the invoker as it is now. Pools that have become empty are given back. False when out of
 * memory. */
bool best_fit_file(struct cluster *cluster, uint32_t invoker);

/* Moves the cursor to the next entry with at least what it needs, from the best fit upwards; false
 * past the last. Nothing may be filed between two calls. */
bool best_fit_next(const struct cluster *cluster, struct fit_cursor *cursor);

#endif
