/* Placement of gangs on whole GPUs, alone or beside one other training.
 *
 * Decisions of Lai-JX/Scheduler at 615f7a4, cluster/switch.py, the authors' prototype of SJF-BSBF
 * (Luo et al., IEEE TPDS 2024), in our own words. A GPU has at most two residents. A training
 * shares GPUs only with trainings beside which it is worth running: the share check. The module
 * keeps the residents of every GPU and knows neither clock nor platform.
 */
#ifndef ESGSIM_SCHED_SHARING_GANG_PLACEMENT_H
#define ESGSIM_SCHED_SHARING_GANG_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"

enum { GANG_RESIDENTS = 2 };

struct gang_gpu {
    double free_mb;
    uint32_t node;
    uint32_t type;  /* gpu_spec.type */
    uint32_t count; /* residents */
    uint32_t residents[GANG_RESIDENTS];
};

struct gang_node {
    uint32_t first, gpus; /* GPUs first .. first + gpus - 1 */
    uint32_t empty;       /* GPUs without a resident */
    uint32_t residents;   /* distinct trainings */
    bool down;
};

struct gang_cluster {
    struct gang_node *nodes;
    size_t node_count;
    struct gang_gpu *gpus;
    size_t gpu_count;
    uint32_t largest; /* GPUs of the largest node */
    size_t empty;     /* GPUs without a resident */
    size_t down;      /* GPUs of nodes that are down */
    /* The module's. */
    uint64_t *keys;
    uint32_t *order, *alone, *shared;
    struct gang_candidate {
        uint32_t resident;
        double time_s;
    } * candidates;
};

struct gang_request {
    uint32_t gpus;
    double memory_mb;   /* on each GPU */
    uint64_t gpu_types; /* that it accepts */
    bool share;         /* gang_place_shared: with others; false: empty GPUs only */
    bool consolidate;   /* on one node, if possible */
    /* Whether it can run beside a resident at all; NULL: beside any. */
    bool (*fits)(void *context, uint32_t resident);
    /* Whether it is worth running beside a resident, and the time of gang_share_check by which
     * candidates are sorted. NULL: always, in the order of the GPUs (first fit). */
    bool (*check)(void *context, uint32_t resident, double *time_s);
    void *context;
    double *worst_s; /* NULL, or for the time of the last partner that `check` found; 0: none */
};

/* Empty nodes of so many GPUs each. vCPUs are not counted: no gang gets more than its GPUs' part of
 * them. */
void gang_cluster_open(struct gang_cluster *cluster, struct arena *arena, const uint32_t *gpus,
                       size_t node_count, double gpu_memory_mb);

/* Adds and removes a resident on GPUs in ascending order. */
void gang_take(struct gang_cluster *cluster, uint32_t training, double memory_mb,
               const uint32_t *gpus, uint32_t count);
void gang_release(struct gang_cluster *cluster, uint32_t training, double memory_mb,
                  const uint32_t *gpus, uint32_t count);

/* A node without residents goes down, or comes back: its GPUs look full. */
void gang_node_set(struct gang_cluster *cluster, uint32_t node, bool down);

/* GPUs for a gang that may share (sjf-ffs without a check, sjf-bsbf with one), in ascending order,
 * into `gpus`. False if there are too few (switch.py:211-435). O(GPUs + residents log residents),
 * with `consolidate` times the nodes at worst. */
bool gang_place_shared(struct gang_cluster *cluster, const struct gang_request *request,
                       uint32_t *gpus);

/* GPUs for a gang that shares none: the first node with empty GPUs for all; for a gang
 * larger than a node whole empty nodes and one for the rest (switch.py:46-168). O(GPUs). */
bool gang_place_alone(const struct gang_cluster *cluster, const struct gang_request *request,
                      uint32_t *gpus);

/* One of two trainings, alone on their GPUs. */
struct gang_work {
    double remaining_iterations, iteration_s;
    double slowdown; /* ξ beside the other */
};

/* Mean completion time of `incoming` and `resident`, without common terms: of both side by side,
 * returned, and of one after the other, in *sequential. Sharing is worth it if the first is less
 * (switch.py:347-377). */
double gang_share_check(const struct gang_work *incoming, const struct gang_work *resident,
                        double *sequential);

#endif
