/* The invoker that fits a batch best, found without examining all invokers.
 *
 * Fewest units left on the GPU come first, then fewest free vCPUs, then the invoker that changed
 * last. A query is for any invoker, or for those with an idle container of a function. An update
 * costs O(GPUs + pools of the invoker), a query O(rows of the kind + vCPUs / 64 +
 * BEST_FIT_WALK_MOST) for the first entry.
 */
#ifndef ESGSIM_SIM_CLUSTER_BEST_FIT_H
#define ESGSIM_SIM_CLUSTER_BEST_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;

/* Most members of a function that a query searches linearly. */
enum { BEST_FIT_WALK_MOST = 32 };

/* Linked-list node of an entry or a pool in a set. */
struct fit_link {
    uint32_t bucket; /* row << column_bits | free vCPUs; SIM_NONE: not in a set */
    uint32_t previous, next;
};

/* The arrays are allocated when the first entry is inserted. */
struct fit_set {
    uint32_t *heads; /* per bucket: most recent entry; SIM_NONE: empty */
    uint64_t *mask;  /* [rows][mask_words]: bit set: bucket is not empty */
};

struct fit_entry {
    struct fit_link link;
    uint64_t filed; /* number of its last update */
};

/* Members of a function: its pools with idle containers. */
struct fit_members {
    struct fit_member {
        uint32_t pool, entry;
    } * list; /* unordered */
    uint32_t count;
    bool in_set; /* the list is long, so the members are in the function's set */
};

struct best_fit {
    uint32_t *first_row; /* per kind of GPU: its row of headroom 0; last: number of rows */
    uint32_t rows;
    uint32_t filing_bits; /* of a member's key; the bits above are its bucket number */
    /* greatest number of free vCPUs distinguished; larger numbers share its bucket */
    uint32_t vcpus;
    uint32_t column_bits; /* bits of a bucket number for free vCPUs */
    uint32_t mask_words;  /* 64-bit words of the mask per row */
    uint32_t function_count;
    uint32_t set_count;          /* functions that use their set */
    struct fit_set *sets;        /* one per function, then that of all invokers */
    struct fit_members *members; /* one per function */
    struct fit_entry *entries;   /* one per GPU, then one per invoker for its vCPUs */
    uint64_t filings;            /* number of updates so far */
    uint64_t asked;              /* at the last query of the set of all invokers */
    bool all_kept;               /* that set exists */
};

/* State of an iteration in order of fit. */
struct fit_cursor {
    uint32_t function; /* SIM_NONE: all invokers */
    uint32_t need_units, need_vcpus;
    uint32_t at;           /* entry or pool; SIM_NONE: before the first */
    uint32_t invoker, gpu; /* of the entry; gpu SIM_NONE: vCPUs only */
    uint32_t kind;         /* of the GPUs that are searched, if need_units is not 0 */
};

/* Initialises the index. Functions, invokers and GPUs of the cluster must be set. */
void best_fit_init(struct cluster *cluster);

/* Updates the index for the present state of the invoker. Frees pools that have become empty. */
void best_fit_file(struct cluster *cluster, uint32_t id);

/* Moves the cursor to the next entry with at least the requested units and vCPUs, best fit first.
 * False after the last. The index must not be updated between two calls. */
bool best_fit_next(struct cluster *cluster, struct fit_cursor *cursor);

#endif
