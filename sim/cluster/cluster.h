/* The cluster: invokers, GPUs, containers, and the free resources of each.
 *
 * The cluster is a ledger. Every reservation is recorded here in integers (vCPUs, GPU units, KiB),
 * so that "what was reserved equals what was released" is an exact check. The cluster has neither a
 * clock nor requests. The simulator calls it when a container starts, becomes idle, is used or is
 * evicted.
 *
 * GPU memory is a hard limit. It is used by the weights of all containers on the GPU and by the
 * activations of all running batches. If memory is short, idle containers are evicted, least
 * recently used first or in the order of the keep-alive policy. If that does not suffice, the
 * reservation is impossible.
 *
 * A MIG GPU has eight memory slots (an A30 four). A slice of n units starts at one of the slots
 * that the device allows: 1: slots 0–6; 2: 0, 2, 4; 3: 0, 4; 4: 0; 7: all slots. So two slices of 3
 * units leave no room, as on the hardware. Weights of containers share the memory of the whole GPU,
 * but a batch must fit in the memory of its own slice.
 */
#ifndef ESGSIM_SIM_CLUSTER_CLUSTER_H
#define ESGSIM_SIM_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "sim/cluster/best_fit.h"
#include "sim/engine/event_queue.h"
#include "workloads/spec/experiment.h"
#include "workloads/world/gpu_sharing.h"
#include "workloads/world/workload.h"

enum container_state { CONTAINER_FREE, CONTAINER_STARTING, CONTAINER_IDLE, CONTAINER_BUSY };

struct container {
    uint32_t function;
    uint32_t invoker;
    uint32_t gpu;            /* index into cluster.gpus; SIM_NONE: vCPUs only */
    uint32_t pool;           /* index into cluster.pools */
    uint32_t next, previous; /* in the pool's list of idle or of unclaimed starting containers */
    uint8_t state;           /* enum container_state */
    bool claimed;            /* starting, and reserved by a batch */
    bool fresh;              /* idle since its start; it stays until the controller rests */
    uint8_t quota;           /* busy or claimed: per cent of the time on its GPU share */
    /* start of the idle period; starting without a batch: time at which the start began */
    sim_time_t idle_since;
    /* idle: number of this idle period; the least recently used has the lowest */
    uint64_t idle_order;
    /* idle: end of the keep-alive. Starting: end of the keep-alive to come, 0: unknown */
    sim_time_t expiry;
    event_queue_handle expiry_event;
    sim_time_t rings_at; /* idle or busy: time of the pending expiry_event */

    uint64_t serial;     /* order of creation */
    sim_time_t ready_at; /* starting: end of the start; SIM_FOREVER: not drawn yet */
    double stamp;        /* for use by the keep-alive policy */
};

struct gpu_state {
    const struct gpu_spec *spec;
    uint32_t invoker;
    /* Units in hundredths, because instances may hold a part of the time: all that can be granted,
     * which exceeds the GPU's units if it is over-subscribed, and what is free of them. */
    uint32_t parts, free_parts;
    int64_t memory_kb, free_kb;
    int64_t idle_kb;          /* of idle containers, which can be evicted */
    uint32_t executing_count; /* executing batches */
    uint32_t holding;         /* batches, instances and trainings that hold units */
    uint32_t weight;          /* common units in one of its units, see cluster_use */
    uint8_t slots;            /* MIG: bit mask of occupied memory slots */
    bool absent;              /* its invoker has failed; then what nobody holds of it: */
    uint32_t absent_parts;
    int64_t absent_kb;
};

struct invoker_state {
    uint32_t free_vcpus;
    uint32_t batches; /* reservations of batches and instances */
    int64_t free_kb, idle_kb;
    uint32_t first_gpu;
    uint32_t first_site;
    uint16_t gpu_count;
    bool dirty;                         /* changed since the last index update (best_fit_file) */
    uint32_t dirty_before, dirty_after; /* in the list of those, in the order of last changes */
    bool touched;                       /* in cluster.touched */
    int64_t gang_micro_vcpus;           /* millionths of vCPUs that gangs of trainings hold */
    int64_t gang_kb;                    /* host memory that they hold, if `pooled` */
    uint32_t absent_vcpus;              /* of a failed invoker: what nobody holds */
    int64_t absent_kb;
    struct pool_entry {
        uint64_t place; /* sort key: function << 32 | gpu */
        uint32_t pool;  /* index into cluster.pools */
        /* gained its first or lost its last idle container since the index update */
        bool changed;
        bool member; /* had idle containers at the index update */
    } * pools;       /* pools of this invoker */
    uint32_t pool_count;
    uint32_t next_pool, pools_end; /* allocated for this invoker, not yet used */
    uint32_t pools_changed;        /* number of entries with `changed` */
    uint32_t first_changed;        /* if there are any: none of them precedes this one */
};

/* Capacity of an invoker. */
struct invoker_size {
    int64_t memory_kb;
    uint32_t vcpus;
};

/* The containers of one function on one GPU of an invoker, or on its vCPUs only. A pool exists
 * while it has containers or is a member in best_fit.h. */
struct container_pool {
    uint32_t function, invoker;
    uint32_t gpu;                  /* index into cluster.gpus; SIM_NONE: none */
    uint32_t idle_head, idle_tail; /* list of idle containers, most recently used first */
    uint32_t idle_count;
    /* list of unclaimed starting containers; in a free pool: next free pool */
    uint32_t starting_head;
    uint32_t containers; /* in any state */
    uint32_t rank;       /* index of its entry in invoker.pools */
    /* For best_fit.h, as of the invoker's last index update: */
    uint32_t position; /* in the function's member list; SIM_NONE: no member */
    struct fit_link link;
};

/* Data of a function that do not depend on the invoker. */
struct function_state {
    int64_t host_kb;         /* per container */
    uint32_t idle_total;     /* idle containers */
    uint32_t starting_total; /* unclaimed starting containers */
    /* start and step of the home walk; step and invoker count are co-prime */
    uint32_t home_first, home_step;
};

/* Totals of resources in use. Utilisation is computed from them. Units are counted in the least
 * common multiple of the units of all kinds of GPU (workload_common_units), so that a total is a
 * number of whole GPUs also where their units differ. */
struct cluster_use {
    int64_t vcpus, unit_parts, memory_kb, gpu_memory_kb;
    int64_t excess_parts; /* of unit_parts: held beyond the units of over-subscribed GPUs */
    /* total units of GPUs on which a batch or an instance holds units */
    int64_t active_unit_parts;
};

/* Invokers of a group are alike: their containers on one of its GPUs, or without a GPU, serve the
 * same configurations. */
struct site {
    const struct gpu_spec *gpu; /* NULL: none */
    uint32_t vcpus;
};

/* Which containers a search may find: idle, starting and new ones; idle ones; idle ones and new
 * ones; or idle ones and those for which memory is free without an eviction. */
enum reach { REACH_ALL, REACH_IDLE, REACH_IDLE_OR_NEW, REACH_IDLE_OR_FREE };

/* Result of a search for resources of a batch or an instance. */
struct placement {
    uint32_t invoker;
    uint32_t gpu;       /* SIM_NONE if vgpu is 0 */
    uint32_t container; /* idle, or starting and unclaimed; SIM_NONE: create one */
    uint32_t quota;     /* per cent of the time; 100 for a batch */
};

struct cluster {
    struct arena *arena; /* of all that it has */
    const struct workload *workload;
    enum reuse_order reuse;
    uint32_t invoker_count, gpu_count, function_count;
    struct invoker_state *invokers;
    struct invoker_size *sizes; /* capacity per invoker */
    struct gpu_state *gpus;
    struct function_state *functions;
    struct site *sites; /* of each group: one per GPU, and one without */
    uint32_t site_count;
    uint32_t *shared;      /* [function][site]: containers in any state that no instance holds */
    uint32_t kind_count;   /* kinds of GPU */
    uint32_t common_units; /* of one GPU */
    int64_t *weights_kb;   /* [function][kind], of a container on such a GPU */
    struct container_pool *pools;
    /* used so far; head of the free list */
    uint32_t pools_used, pool_free;
    struct container *containers;
    uint32_t containers_used; /* so far */
    uint32_t container_free;  /* head of the free list, linked by `next` */
    uint64_t next_serial;
    uint32_t idle_containers, starting_containers; /* of all functions */
    uint64_t idles;                                /* number of idle periods so far */
    struct best_fit fit;
    uint32_t dirty_first, dirty_last; /* list of the invokers that are dirty */
    uint32_t *touched; /* invokers changed since their user last emptied the list; NULL: not kept */
    uint32_t touched_count;
    uint64_t changes; /* number of changes so far to what is free or warm */
    struct {
        uint64_t changes; /* when it was found */
        const struct configuration *configuration;
        struct placement placement;
    } found;             /* by the last search for a batch */
    bool oversubscribed; /* more can be granted of some GPU than it has units */
    struct cluster_use use, capacity;
    /* Called when an idle container is claimed or evicted. May be NULL. */
    void (*on_leave_idle)(void *context, const struct container *container, bool evicted);
    /* Rank of an idle container when memory is short. The lowest rank is evicted first, and among
     * equal ranks the least recently used. NULL: least recently used. */
    double (*rank)(void *context, const struct container *container);
    void *context;
    bool pressing; /* the eviction in progress is caused by a shortage of memory */
    /* Gangs take vCPUs and host memory of any invoker, wherever they are free (gangs.c). */
    bool pooled;
    int64_t pool_micro_vcpus, pool_kb; /* that they hold then */
};

/* pools.c */

/* Range of the pools of `function` on `invoker`: cluster.pools[invoker.pools[k].pool] for first <=
 * k < end. If there are none, first = end. O(log of the invoker's pools). */
struct pool_range {
    uint32_t first, end;
};
struct pool_range pools_find(const struct cluster *cluster, uint32_t invoker, uint32_t function);

/* Number of idle containers of the function on the invoker. */
uint32_t pools_idle_count(const struct cluster *cluster, uint32_t invoker, uint32_t function);
/* Number of its containers on the invoker in any state. */
uint32_t pools_container_count(const struct cluster *cluster, uint32_t invoker, uint32_t function);

/* Returns the pool, and creates it if necessary. O(the invoker's pools). */
uint32_t pool_take(struct cluster *cluster, uint32_t function, uint32_t invoker, uint32_t gpu);
/* Frees the pool if it has no containers and is no member in best_fit.h. Returns whether it was
 * freed. O(the invoker's pools). */
bool pool_tidy(struct cluster *cluster, uint32_t pool);

/* Insert the container at the head of its pool's list of idle or starting containers, or remove it
 * from that list. */
void pool_push_idle(struct cluster *cluster, uint32_t container);
void pool_remove_idle(struct cluster *cluster, uint32_t container);
void pool_push_starting(struct cluster *cluster, uint32_t container);
void pool_remove_starting(struct cluster *cluster, uint32_t container);

/* cluster.c */

/* Initialises the cluster that `workload` describes, without containers. `workload` must exist
 * as long as the cluster, whose memory is the arena's. */
void cluster_init(struct cluster *cluster, const struct workload *workload, enum reuse_order reuse,
                  struct arena *arena);
/* From now on keeps the list of touched invokers, which begins with all. */
void cluster_watch(struct cluster *cluster);

/* Kind of a GPU; 0 for SIM_NONE, a container without a GPU. */
static inline uint16_t cluster_kind(const struct cluster *cluster, uint32_t gpu)
{
    return gpu == SIM_NONE ? 0 : cluster->gpus[gpu].spec->kind;
}

/* Common units in one unit of a kind of GPU. */
static inline uint32_t cluster_unit_weight(const struct cluster *cluster, size_t kind)
{
    return cluster->common_units / cluster->workload->kinds[kind].units;
}

/* Units of the GPU, in hundredths. */
static inline uint32_t gpu_unit_parts(const struct gpu_state *gpu)
{
    return (uint32_t)gpu->spec->units * UNIT_PARTS;
}

/* Most units that one batch could get on the GPU now: the free units (MPS), the largest slice that
 * can be placed (MIG), or all or nothing (exclusive). */
uint32_t gpu_headroom(const struct gpu_state *gpu);

/* What decides whether a batch can be placed on an invoker, at one time: [0] as it was, [1] as it
 * would be without turnarounds. */
struct invoker_view {
    uint32_t invoker, vcpus[2];
    bool down;
    int64_t free_kb, idle_kb;
    struct gpu_view {
        struct gpu_use use[2];
        int64_t free_kb, idle_kb;
    } * gpus;
    size_t pool_count;
    struct pool_view { /* of the containers of a function on a GPU; SIM_NONE: none */
        uint32_t function, gpu;
        bool any, idle, starting;
    } * pools;
};

/* Copies the present state; [1] is as [0]. */
struct invoker_view cluster_look(const struct cluster *cluster, uint32_t invoker,
                                 struct arena *arena);

/* What an invoker lacks for a batch, the nearest to its dispatch last: a GPU of its kind, all while
 * it is down, vCPUs, GPU units, a place for these on a MIG GPU, or memory; else it has room for a
 * new container if idle ones are evicted, or without, or a starting container, or an idle one. */
enum standing {
    STANDS_NEVER,
    STANDS_DOWN,
    STANDS_VCPUS,
    STANDS_UNITS,
    STANDS_PLACE,
    STANDS_MEMORY,
    STANDS_EVICT,
    STANDS_NEW,
    STANDS_STARTING,
    STANDS_IDLE,
    STANDINGS
};
enum standing cluster_standing(const struct cluster *cluster, const struct invoker_view *view,
                               bool later, uint32_t function,
                               const struct configuration *configuration);

/* Searches for resources for a batch of `function` with `configuration` on `invoker`. Prefers an
 * idle container, then a starting one, then room for a new one, as far as `reach` goes. Returns
 * false if nothing fits; then *placement is undefined. Remembers what it found until the cluster
 * changes, because a batch is dispatched to where its policy has just looked. */
bool cluster_place(struct cluster *cluster, uint32_t function,
                   const struct configuration *configuration, uint32_t invoker, enum reach reach,
                   struct placement *placement);

/* Like cluster_place, for an instance that holds its share for `quota` per cent of the time. `gpu`
 * is an index into cluster.gpus; SIM_NONE: any GPU. MIG and exclusive GPUs accept only a quota of
 * 100. */
bool cluster_place_instance(const struct cluster *cluster, uint32_t function,
                            const struct configuration *configuration, uint32_t quota,
                            uint32_t invoker, uint32_t gpu, struct placement *placement);

/* Reserves the resources of `placement`, evicting idle containers if memory is short. `placement`
 * must come from cluster_place or cluster_place_instance, and the cluster must not have changed
 * since. Returns the container, now busy or claimed. Sets *slots to the MIG slots. */
uint32_t cluster_reserve(struct cluster *cluster, uint32_t function,
                         const struct configuration *configuration,
                         const struct placement *placement, uint8_t *slots);
/* Starts a container where `placement` has room for a new one, evicting idle ones if memory is
 * short. It is unclaimed and holds memory only. */
uint32_t cluster_start(struct cluster *cluster, uint32_t function,
                       const struct placement *placement);
/* An instance takes the container, or gives it back. */
void cluster_share(struct cluster *cluster, uint32_t container, bool shared);
/* Whether a container that no instance holds could run the configuration once its GPU and its
 * invoker are free. O(sites). */
bool cluster_comes_free(const struct cluster *cluster, uint32_t function,
                        const struct configuration *configuration);
/* Releases units, vCPUs and activations. Container `id` becomes idle at `now`. */
void cluster_release(struct cluster *cluster, uint32_t id,
                     const struct configuration *configuration, uint8_t slots, sim_time_t now);

/* Changes the reservation of the busy container `id` from `from` to `to` for `quota` per cent of
 * the time. Evicts idle containers if GPU memory is short. Returns false, and changes nothing, if
 * vCPUs, units or GPU memory do not suffice. Not for MIG. */
bool cluster_reshare(struct cluster *cluster, uint32_t id, const struct configuration *from,
                     const struct configuration *to, uint32_t quota);

/* Returns whether the function has a configuration with a GPU, or without one. O(configurations).
 */
bool cluster_function_runs(const struct cluster *cluster, uint32_t function, bool gpu);

/* Creates a starting, unclaimed container on a GPU, or without one, without a batch. Evicts
 * nothing. SIM_NONE: the invoker or its GPUs have too little free memory. */
uint32_t cluster_prewarm(struct cluster *cluster, uint32_t function, uint32_t invoker, bool on_gpu);
/* Ends the start of a container. It becomes busy if it was claimed, otherwise idle. */
void cluster_container_ready(struct cluster *cluster, uint32_t id, sim_time_t now);
/* Evicts an idle container: frees its memory and its id. O(the invoker's pools). */
void cluster_evict(struct cluster *cluster, uint32_t id);
/* Returns the container of the invoker that has been idle longest, or SIM_NONE. O(the invoker's
 * pools). */
uint32_t cluster_longest_idle(const struct cluster *cluster, uint32_t invoker);

/* Returns the best-fitting invoker (see platform_best_fit), or SIM_NONE. O(rejected entries):
 * invokers without enough memory, and GPUs of invokers where the batch would run on another GPU. */
uint32_t cluster_best_fit(struct cluster *cluster, uint32_t function,
                          const struct configuration *configuration, enum reach reach);

/* What a gang of a training holds on one GPU and on its invoker. */
enum { MICRO = 1000000 };
struct gang_share {
    uint32_t gpu;   /* index into cluster.gpus */
    uint32_t parts; /* of its units, in hundredths; 0: vCPUs and memory of its invoker alone */
    int64_t gpu_kb, host_kb;
    int64_t micro_vcpus; /* millionths; an invoker's sum counts rounded up */
};

/* Takes all shares of a gang, or none. Evicts idle containers if memory is short. False: one does
 * not fit; nothing but evictions has changed. (gangs.c) O(gang). */
bool cluster_take_gang(struct cluster *cluster, const struct gang_share *shares, uint32_t count);
/* From now on gangs take vCPUs and host memory from all invokers as one. For a cluster that serves
 * only trainings; nothing may be reserved. */
void cluster_pool_gangs(struct cluster *cluster);
/* Releases shares that were taken. */
void cluster_free_gang(struct cluster *cluster, const struct gang_share *shares, uint32_t count);

/* Takes what is free of invoker `id`, which has failed, off the ledger (outages.c). It has no idle
 * and no unclaimed container. Again after a release there. O(its GPUs). */
void cluster_withdraw(struct cluster *cluster, uint32_t id);
/* Gives it back. */
void cluster_return(struct cluster *cluster, uint32_t id);

/* Checks the invariants of the ledger: all free amounts are within 0..capacity, and the totals in
 * use equal capacity minus free. If `at_rest` (no batches left), also checks that only containers
 * hold resources. Reports the first violation. O(invokers + GPUs). */
bool cluster_check(const struct cluster *cluster, bool at_rest, struct error *error);

#endif
