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
#ifndef ESGSIM_SIM_CLUSTER_CLUSTER_H
#define ESGSIM_SIM_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/cluster/best_fit.h"
#include "sim/engine/event_queue.h"
#include "sim/error.h"
#include "workloads/experiment.h"
#include "workloads/gpu_sharing.h"
#include "workloads/workload.h"

enum container_state { CONTAINER_FREE, CONTAINER_STARTING, CONTAINER_IDLE, CONTAINER_BUSY };

struct container {
    uint32_t function;
    uint32_t invoker;
    uint32_t gpu;            /* index into cluster.gpus; SIM_NONE: runs on vCPUs alone */
    uint32_t pool;           /* index into cluster.pools */
    uint32_t next, previous; /* in the pool's list of idle or of unclaimed starting ones */
    uint8_t state;           /* enum container_state */
    bool claimed;            /* a batch waits for this starting container */
    uint8_t quota;           /* while busy or claimed: per cent of time on its share of the GPU */
    sim_time_t idle_since;   /* of one that starts without a batch: since when it starts */
    uint64_t idle_order;     /* of an idle one: the lowest has been idle for longest */
    sim_time_t expiry; /* when the keep-alive of an idle container ends; starting: will end, 0:
                          not known */
    event_queue_handle expiry_event;
    sim_time_t rings_at; /* when the pending expiry_event of an idle or busy one comes */

    uint64_t serial;     /* order of creation */
    sim_time_t ready_at; /* of a starting container */
    double stamp;        /* of the keep-alive policy */
};

struct gpu_state {
    const struct gpu_spec *spec;
    uint32_t invoker;
    uint32_t free_parts; /* of its units, in hundredths: instances may hold a part of the time */
    int64_t memory_kb, free_kb;
    int64_t idle_kb;          /* held by idle containers: can be evicted */
    uint32_t executing_count; /* batches that execute here */
    uint32_t holding;         /* batches that hold units here */
    uint8_t slots;            /* MIG: memory slots taken */
};

struct invoker_state {
    uint32_t free_vcpus;
    uint32_t batches; /* reserved and not released */
    int64_t free_kb, idle_kb;
    uint32_t first_gpu;
    uint16_t gpu_count;
    bool dirty; /* it changed since best_fit_file filed it */
    struct pool_entry {
        uint64_t place; /* function << 32 | gpu: entries are in this order */
        uint32_t pool;  /* index into cluster.pools */
        bool changed;   /* since the invoker was filed: it came to have idle containers, or none */
        bool member;    /* it had idle containers when the invoker was filed */
    } * pools;          /* of the containers here */
    uint32_t pool_count, pool_capacity;
    uint32_t next_pool, pools_end; /* allocated for it and never used */
    uint32_t pools_changed;        /* entries with `changed` */
};

/* All that an invoker has. */
struct invoker_size {
    int64_t memory_kb;
    uint32_t vcpus;
};

/* The containers of one function on one GPU of an invoker, or on its vCPUs alone: there is a pool
 * where there is a container, or where best_fit.h still has the pool. */
struct container_pool {
    uint32_t function, invoker;
    uint32_t gpu;                  /* index into cluster.gpus; SIM_NONE: none */
    uint32_t idle_head, idle_tail; /* most recently used first */
    uint32_t idle_count;
    uint32_t starting_head; /* starting and unclaimed; of a free pool: the next free one */
    uint32_t containers;    /* in whatever state */
    uint32_t rank;          /* of its entry among the invoker's */
    /* Of best_fit.h, where the pool had idle containers when its invoker was filed: */
    uint32_t position; /* among the function's members; SIM_NONE: it had none */
    struct fit_link link;
};

/* What is known of a function, wherever its containers are. */
struct function_state {
    int64_t host_kb, weights_kb;    /* of a container */
    uint32_t idle_total;            /* containers */
    uint32_t starting_total;        /* starting and unclaimed */
    uint32_t home_first, home_step; /* of the home walk; the step is co-prime to the invokers */
};

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

struct cluster {
    const struct workload *workload;
    enum reuse_order reuse;
    uint32_t invoker_count, gpu_count, function_count;
    struct invoker_state *invokers;
    struct invoker_size *sizes; /* of each invoker */
    struct gpu_state *gpus;
    struct function_state *functions;
    struct container_pool *pools;
    uint32_t pool_capacity, pools_used, pool_free; /* as of containers */
    struct container *containers;
    uint32_t container_capacity, containers_used; /* room, and how many were used ever */
    uint32_t container_free;                      /* list of those given back, through `next` */
    uint64_t next_serial;
    uint32_t idle_containers, starting_containers; /* all functions */
    uint64_t idles;                                /* times that a container became idle, so far */
    struct best_fit fit;
    uint32_t *dirty; /* invokers that changed since they were filed in `fit`, the first first */
    uint32_t dirty_count;
    bool out_of_memory;
    struct cluster_use use, capacity;
    /* Called as an idle container leaves the idle state (claimed or evicted). */
    void (*on_leave_idle)(void *context, const struct container *container, bool evicted);
    /* Which idle container goes first when memory is short: the lowest, of equal ones the least
     * recently used. NULL: the least recently used. */
    double (*rank)(void *context, const struct container *container);
    void *context;
    bool pressing; /* what is evicted now goes for memory */
};

/* pools.c */

/* The pools of `function` on `invoker` are cluster.pools[invoker.pools[k].pool], first <= k < end;
 * none: first = end. O(log of the invoker's pools). */
struct pool_range {
    uint32_t first, end;
};
struct pool_range pools_find(const struct cluster *cluster, uint32_t invoker, uint32_t function);

/* Idle containers of the function on the invoker. */
uint32_t pools_idle_count(const struct cluster *cluster, uint32_t invoker, uint32_t function);
/* Its containers there in whatever state. */
uint32_t pools_container_count(const struct cluster *cluster, uint32_t invoker, uint32_t function);

/* The pool, made where there is none; SIM_NONE when out of memory. O(the invoker's pools). */
uint32_t pool_take(struct cluster *cluster, uint32_t function, uint32_t invoker, uint32_t gpu);
/* Gives the pool back where it has no container and is no member in best_fit.h; true: it did.
 * O(the invoker's pools). */
bool pool_tidy(struct cluster *cluster, uint32_t pool);

/* Puts the container at the head of its pool's list of idle or of starting ones, or takes it out of
 * that list. */
void pool_push_idle(struct cluster *cluster, uint32_t container);
void pool_remove_idle(struct cluster *cluster, uint32_t container);
void pool_push_starting(struct cluster *cluster, uint32_t container);
void pool_remove_starting(struct cluster *cluster, uint32_t container);

/* cluster.c */

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
