/* Which invokers have an idle container of a function, in the order of best fit.
 *
 * The order is that of an index a function (sim/fit_index.h): fewest units left over, then fewest
 * vCPUs; among equals the invoker that came to its place last. Keeping such an index for every
 * function costs every change of an invoker a step for every function idle there. So a function
 * with idle containers on few invokers has only a list of them, which a query walks; it is filed in
 * an index of its own when the list grows long, and taken out when it has become short again. Both
 * yield the same order: an invoker remembers when it was last filed anew, a list entry since when
 * it stands there, and the later of the two is when an index would have filed it. The place of an
 * entry in its list is kept in the invoker's link for the index in which it is not filed.
 *
 * That needs one headroom per invoker: a function with configurations both with and without a GPU,
 * and every function in a cluster where some invoker has several GPUs, is filed always. In such a
 * cluster an invoker has an entry per GPU, which is filed by that GPU's headroom.
 */
#ifndef ESGSIM_SIM_WARM_INDEX_H
#define ESGSIM_SIM_WARM_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/fit_index.h"

struct cluster;
struct workload;

/* Longest list that a query walks. */
enum { WARM_WALK_MAX = 32 };

/* Where an invoker stands in the walk of a function, in one number: units left over, vCPUs, and the
 * filing that brought it there, counted backwards so that the latest comes first. */
struct warm_standing {
    uint64_t on_gpu; /* by the headroom of its GPU */
    uint64_t on_cpu; /* of functions that use none */
};

/* Where one invoker stands. */
struct warm_place {
    uint64_t standing;
    uint32_t invoker;
};

struct warm_member {
    uint64_t since; /* the filing in which it came, as a standing ends with it */
    uint32_t invoker;
};

struct warm_function {
    struct warm_member *members; /* where not filed, those with an idle container, in no order */
    uint32_t count, capacity;    /* invokers with an idle container; room */
    bool on_gpu;                 /* its containers are ranked by the GPU's headroom */
    bool always;                 /* filed however few */
    bool filed;                  /* in an index in place of the list */
};

/* Of 64 functions, a bit each: those that are in an index, by the headroom that counts for them. */
struct warm_filed {
    uint64_t on_gpu, on_cpu;
    uint64_t always; /* by the GPUs of their own idle containers */
};

/* Entries that an invoker needs in the indices: 1, or where some invoker has several GPUs their
 * greatest number, and one more where containers of one function may run with and without a GPU. */
uint32_t warm_index_slots(const struct workload *workload);

/* For a cluster whose invokers, GPUs and workload are set; false when out of memory. */
bool warm_index_init(struct cluster *cluster);
void warm_index_clear(struct cluster *cluster);

/* Files `invoker` for every function idle there. Where it has one entry, the index of all invokers
 * only notes that it has moved: most queries ask for an idle container, and moves come much oftener
 * than one that does not. A failure for want of memory is kept in cluster.out_of_memory. */
void warm_index_file(struct cluster *cluster, uint32_t invoker, uint32_t vcpus);

/* Files those that have moved in the index of all invokers. */
void warm_index_file_moved(struct cluster *cluster);

/* The walk of fit_index_next over the entries of invokers with an idle container of `function`. */
uint32_t warm_index_next(const struct cluster *cluster, uint32_t function, uint32_t need_units,
                         uint32_t need_vcpus, uint32_t cursor);

#endif
