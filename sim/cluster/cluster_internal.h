/* Definitions shared by the files of the cluster's ledger: sizes in whole kilobytes, and the use of
 * a GPU.
 */
#ifndef ESGSIM_SIM_CLUSTER_CLUSTER_INTERNAL_H
#define ESGSIM_SIM_CLUSTER_CLUSTER_INTERNAL_H

#include "sim/base/units.h"
#include "sim/cluster/cluster.h"

static inline int64_t kb_from_mb(double mb)
{
    return sim_round(mb * 1024.0);
}

/* Of a container on the GPU. */
static inline int64_t weights_kb(const struct cluster *cluster, uint32_t function, uint32_t gpu)
{
    return cluster->weights_kb[function * cluster->kind_count + cluster_kind(cluster, gpu)];
}

static inline int64_t host_kb(const struct cluster *cluster, uint32_t function)
{
    return cluster->functions[function].host_kb;
}

static inline int64_t activation_kb(const struct cluster *cluster, uint32_t function,
                                    const struct configuration *configuration)
{
    return kb_from_mb(configuration->gpu_memory_mb) -
           cluster->weights_kb[function * cluster->kind_count + configuration->kind];
}

static inline struct gpu_use gpu_use(const struct gpu_state *gpu)
{
    return (struct gpu_use){gpu->free_parts, gpu->holding + gpu->absent,
                            gpu->absent ? UINT8_MAX : gpu->slots};
}

/* What is held of the GPU beyond its units. */
static inline int64_t gpu_excess_parts(const struct gpu_state *gpu)
{
    const int64_t held = (int64_t)gpu->parts - gpu->free_parts - gpu->absent_parts;
    const int64_t units = gpu_unit_parts(gpu);
    return held > units ? held - units : 0;
}

/* Takes `parts` of the GPU's units, or gives them back if negative. */
static inline void gpu_take_parts(struct cluster *cluster, struct gpu_state *gpu, int64_t parts)
{
    const int64_t excess = cluster->oversubscribed ? gpu_excess_parts(gpu) : 0;
    gpu->free_parts = (uint32_t)((int64_t)gpu->free_parts - parts);
    cluster->use.unit_parts += parts * gpu->weight;
    if (cluster->oversubscribed)
        cluster->use.excess_parts += (gpu_excess_parts(gpu) - excess) * gpu->weight;
}

/* Notes that an invoker changed, also in the list of touched ones. */
static inline void cluster_touch(struct cluster *cluster, uint32_t invoker)
{
    cluster->changes++;
    if (cluster->touched == NULL || cluster->invokers[invoker].touched)
        return;
    cluster->invokers[invoker].touched = true;
    cluster->touched[cluster->touched_count++] = invoker;
}

/* Empties the list of touched invokers. */
static inline void cluster_untouch(struct cluster *cluster)
{
    for (uint32_t k = 0; k < cluster->touched_count; k++)
        cluster->invokers[cluster->touched[k]].touched = false;
    cluster->touched_count = 0;
}

/* Makes an invoker the last of those that changed since the last update of best_fit.h. */
void cluster_move_dirty(struct cluster *cluster, uint32_t id);

/* Notes that an invoker changed, there and for the index of best_fit.h. */
static inline void cluster_mark_dirty(struct cluster *cluster, uint32_t invoker)
{
    cluster_touch(cluster, invoker);
    if (cluster->dirty_last != invoker)
        cluster_move_dirty(cluster, invoker);
}

/* Evicts idle containers of the invoker (on `gpu`, unless SIM_NONE) until `kb` are free, lowest
 * rank or least recently used first. Never evicts `keep`. The caller has checked that this
 * suffices. */
void cluster_make_room(struct cluster *cluster, uint32_t invoker, uint32_t gpu, int64_t kb,
                       uint32_t keep);

#endif
