/* The cluster: invokers, GPUs, containers and what is free of each.
 *
 * Everything that is reserved goes through here, in integers (vCPUs, GPU units, KiB), so that
 * "what was reserved equals what was released" is an exact check. It knows neither time's passing
 * nor requests: the simulator says when a container starts, idles, works and goes.
 *
 * GPU memory is a hard limit: weights of every container on the GPU plus activations of every
 * running batch. What does not fit evicts idle containers, least recently used first or as the
 * keep-alive ranks them, or does not start. A MIG GPU places slices on its eight memory slots where
 * the device allows them (1: slot 0–6; 2: 0, 2, 4; 3: 0, 4; 4: 0; 7: all), so 3 + 3 leaves nothing,
 * as on the hardware, and on an A30's four; containers' weights are pooled over the GPU, but a
 * batch must fit the memory of its own slice.
 */
#ifndef ESGSIM_SIM_CLUSTER_H
#define ESGSIM_SIM_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/calendar.h"
#include "sim/error.h"
#include "sim/fit_index.h"
#include "sim/lines.h"
#include "sim/warm_index.h"
#include "workloads/experiment.h"
#include "workloads/workload.h"

enum container_state { CONTAINER_FREE, CONTAINER_STARTING, CONTAINER_IDLE, CONTAINER_BUSY };

/* What a use of a container looks at comes first, within one cache line. */
struct container {
    _Alignas(LINE) uint32_t function;
    uint32_t invoker;
    uint32_t gpu;          /* index into cluster.gpus; SIM_NONE: runs on vCPUs alone */
    uint32_t next;         /* idle or unclaimed starting: list of (invoker, function) */
    uint32_t previous;     /* likewise; known where that one is settled */
    uint8_t state;         /* enum container_state */
    bool claimed;          /* a batch waits for this starting container */
    bool settled;          /* `previous` of its next is this one */
    uint8_t quota;         /* while busy or claimed: per cent of time on its share of the GPU */
    sim_time_t idle_since; /* of one that starts without a batch: since when it starts */
    uint64_t idle_order;   /* of an idle one: the lowest has been idle for longest */
    sim_time_t expiry;     /* when the keep-alive of an idle container ends; starting: will end, 0:
                              not known */
    calendar_handle expiry_event;
    sim_time_t rings_at; /* when the pending expiry_event of an idle or busy one comes */

    uint64_t serial;     /* order of creation */
    sim_time_t ready_at; /* of a starting container */
    double stamp;        /* of the keep-alive policy */
};

struct gpu_state {
    _Alignas(LINE) const struct gpu_spec *spec;
    uint32_t invoker;
    uint32_t free_parts; /* of its units, in hundredths: instances may hold a part of the time */
    int64_t memory_kb, free_kb;
    int64_t idle_kb;          /* held by idle containers: can be evicted */
    uint32_t executing_count; /* batches that execute here */
    uint32_t holding;         /* batches that hold units here */
    uint8_t slots;            /* MIG: memory slots taken */
};

struct invoker_state {
    _Alignas(LINE) uint32_t free_vcpus;
    uint32_t batches; /* reserved and not released */
    int64_t free_kb, idle_kb;
    uint32_t first_gpu;
    uint16_t gpu_count;
    bool dirty;       /* its filing in the indices is out of date */
    bool moved;       /* among cluster.moved */
    uint64_t changed; /* bit f % 64: function f may have come to idle here, or to do so no more */
    uint64_t idle;    /* cluster_idle of its first 64 functions */
    struct warm_standing standing;
};

/* All that an invoker has. */
struct invoker_size {
    int64_t memory_kb;
    uint32_t vcpus;
};

/* What a use of a container of (invoker, function) looks at. */
struct warm_list {
    uint32_t idle_head; /* most recently used first */
    uint32_t idle_count;
};

/* That and where the invoker stands in the function's index, which changes with it; several to a
 * line. */
struct warm_cell {
    struct fit_link link;
    struct warm_list list;
};

/* The rest of it: when containers start or go, or several idle. */
struct warm_rest {
    uint32_t idle_tail;     /* where two or more idle */
    uint32_t starting_head; /* starting and unclaimed */
    uint32_t containers;    /* in whatever state */
};

_Static_assert(offsetof(struct container, serial) == LINE, "a use touches one line");
_Static_assert(sizeof(struct gpu_state) == LINE && sizeof(struct invoker_state) == LINE,
               "one line each");

/* Parts of a GPU unit: a share held for q per cent of the time is share × q parts. */
enum { UNIT_PARTS = 100 };

/* Totals now held, for utilisation. */
struct cluster_use {
    int64_t vcpus, unit_parts, memory_kb, gpu_memory_kb;
    int64_t active_unit_parts; /* capacity of GPUs on which some batch holds units */
};

/* Where a batch or an instance would run. */
struct placement {
    uint32_t invoker;
    uint32_t gpu;       /* SIM_NONE for vgpu 0 */
    uint32_t container; /* idle, or starting and unclaimed; SIM_NONE: a new one */
    uint32_t quota;     /* per cent of the time; 100 for a batch */
};

/* What the last query for a best fit found; it holds as long as nothing has changed. */
struct found_fit {
    uint64_t changes; /* of the cluster, then */
    const struct configuration *configuration;
    uint32_t function;
    struct placement placement;
};

/* The indices by best fit: of every invoker, and, FIT_FUNCTION + f, of those with an idle container
 * of function f. */
enum { FIT_ALL, FIT_FUNCTION };

struct cluster {
    const struct workload *workload;
    enum reuse_order reuse;
    uint32_t invoker_count, gpu_count, function_count;
    struct invoker_state *invokers;
    struct invoker_size *sizes; /* of each invoker */
    struct gpu_state *gpus;
    size_t gpu_room;
    /* In the indices an invoker has `fit_slots` entries, numbered from invoker × fit_slots: one, or
     * one per GPU where some invoker has several. */
    uint32_t fit_slots;
    /* A row per entry: its place in FIT_ALL (whose list is none), then by function. The lists of an
     * invoker are in the row of its first entry. */
    struct warm_cell *cells;      /* [entry × cell_row + index] */
    size_t cell_row, cell_stride; /* cells per entry, per invoker */
    struct warm_rest *rest;       /* [invoker × function_count + function] */
    uint32_t *idle_total;         /* per function */
    uint32_t *starting_total;     /* per function: starting and unclaimed */
    struct container *containers;
    uint32_t container_capacity, containers_used; /* room, and how many were used ever */
    uint32_t container_free;                      /* list of those given back, through `next` */
    uint64_t next_serial;
    uint32_t idle_containers, starting_containers; /* all functions */
    uint64_t idles;                                /* times that a container became idle, so far */
    struct fit_index fit;
    struct warm_place *moved; /* invokers that FIT_ALL still has where they were */
    uint32_t moved_count;
    struct warm_function *by_function;    /* invokers with an idle container of it */
    uint64_t *idle_more;                  /* [invoker × (mask_words - 1)] see cluster_idle */
    struct warm_filed *filed;             /* [mask_words] */
    uint32_t mask_words, filed_functions; /* of `filed` and of one invoker's `idle`; in `filed` */
    uint32_t *dirty;
    uint32_t dirty_count;
    uint64_t filings; /* of an invoker, so far */
    uint64_t changes; /* to containers and what is free, so far */
    struct found_fit found;
    bool out_of_memory;
    struct function_memory {
        int64_t host_kb, weights_kb;
    } * memory; /* per function */
    struct cluster_use use, capacity;
    uint32_t *home_step; /* per function: co-prime step of the home walk */
    uint32_t *home_first;
    /* Called as an idle container leaves the idle state (claimed or evicted). */
    void (*on_leave_idle)(void *context, const struct container *container, bool evicted);
    /* Which idle container goes first when memory is short: the lowest, of equal ones the least
     * recently used. NULL: the least recently used. */
    double (*rank)(void *context, const struct container *container);
    void *context;
    bool pressing; /* what is evicted now goes for memory */
};

static inline struct warm_list *cluster_warm(const struct cluster *cluster, uint32_t invoker,
                                             uint32_t function)
{
    return &cluster->cells[invoker * cluster->cell_stride + FIT_FUNCTION + function].list;
}

/* Bit f: function 64 × word + f has idle containers there. */
static inline uint64_t *cluster_idle(const struct cluster *cluster, uint32_t invoker, uint32_t word)
{
    return word == 0 ? &cluster->invokers[invoker].idle
                     : &cluster->idle_more[(size_t)invoker * (cluster->mask_words - 1) + word - 1];
}

static inline struct warm_rest *cluster_rest(const struct cluster *cluster, uint32_t invoker,
                                             uint32_t function)
{
    return &cluster->rest[(size_t)invoker * cluster->function_count + function];
}

/* The idle container that was used least recently; SIM_NONE where none idles. */
static inline uint32_t cluster_idle_tail(const struct cluster *cluster, uint32_t invoker,
                                         uint32_t function)
{
    const struct warm_list *list = cluster_warm(cluster, invoker, function);
    return list->idle_count < 2 ? list->idle_head
                                : cluster_rest(cluster, invoker, function)->idle_tail;
}

bool cluster_init(struct cluster *cluster, const struct workload *workload, enum reuse_order reuse,
                  struct error *error);
void cluster_clear(struct cluster *cluster);

/* Most units a batch could get on the GPU now: free units (MPS), the largest slice that can be
 * placed (MIG), all or nothing (exclusive). */
uint32_t gpu_headroom(const struct gpu_state *gpu);

/* Fills `placement` for a batch of `function` with `configuration` on `invoker`: an idle container
 * if one fits, else (unless `warm_only`) one that is starting, else room for a new one. False, and
 * nothing in it that counts, where nothing fits. Changes nothing else. */
bool cluster_place(const struct cluster *cluster, uint32_t function,
                   const struct configuration *configuration, uint32_t invoker, bool warm_only,
                   struct placement *placement);

/* The same for an instance that holds its share for `quota` per cent of the time, on GPU `gpu` (an
 * index into cluster.gpus; SIM_NONE: any). MIG and exclusive GPUs take only a quota of 100. */
bool cluster_place_instance(const struct cluster *cluster, uint32_t function,
                            const struct configuration *configuration, uint32_t quota,
                            uint32_t invoker, uint32_t gpu, struct placement *placement);

/* Takes what `placement` (from cluster_place or cluster_place_instance, nothing changed since)
 * needs, evicting idle containers where memory asks for it. Returns the container, now busy or
 * claimed; *slots receives the MIG slots. SIM_NONE when out of memory. */
uint32_t cluster_reserve(struct cluster *cluster, uint32_t function,
                         const struct configuration *configuration,
                         const struct placement *placement, uint8_t *slots);
/* Gives back units, vCPUs and activations; container `id` becomes idle since `now`. */
void cluster_release(struct cluster *cluster, uint32_t id,
                     const struct configuration *configuration, uint8_t slots, sim_time_t now);

/* The busy container `id` holds `to` for `quota` per cent of the time in place of `from`; false,
 * and nothing changed, where vCPUs, units or GPU memory (idle containers evicted if need be) are
 * short. Not for MIG. */
bool cluster_reshare(struct cluster *cluster, uint32_t id, const struct configuration *from,
                     const struct configuration *to, uint32_t quota);

/* A new starting, unclaimed container without a batch; evicts nothing. SIM_NONE where memory is
 * short. */
uint32_t cluster_prewarm(struct cluster *cluster, uint32_t function, uint32_t invoker);
/* The starting container is ready: idle where nobody claimed it. */
void cluster_container_ready(struct cluster *cluster, uint32_t id, sim_time_t now);
void cluster_evict(struct cluster *cluster, uint32_t id);
/* The container of the invoker that has been idle for longest; SIM_NONE where none is. O(functions
 * that are idle there). */
uint32_t cluster_longest_idle(const struct cluster *cluster, uint32_t invoker);

/* Best fit (see platform_best_fit). O(entries turned down): invokers that lack memory, and GPUs of
 * invokers where the batch would run on another GPU. */
uint32_t cluster_best_fit(struct cluster *cluster, uint32_t function,
                          const struct configuration *configuration, bool warm);

/* Invariant: everything free lies within 0..capacity, what is counted as used is what is not free,
 * and — `at_rest`, no batch left — all is free but for containers. Names the first breach. O(size).
 */
bool cluster_check(const struct cluster *cluster, bool at_rest, struct error *error);

#endif
