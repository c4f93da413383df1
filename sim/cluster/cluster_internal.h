/* Definitions shared by the files of the cluster's ledger: sizes in whole kilobytes, and the use of
 * a GPU.
 */
#ifndef ESGSIM_SIM_CLUSTER_CLUSTER_INTERNAL_H
#define ESGSIM_SIM_CLUSTER_CLUSTER_INTERNAL_H

#include <math.h>

#include "sim/cluster/cluster.h"

static inline int64_t kb_from_mb(double mb)
{
    return (int64_t)llround(mb * 1024.0);
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
    return (struct gpu_use){gpu->free_parts, gpu->holding, gpu->slots};
}

/* Notes that an invoker changed, for the index of best_fit.h. */
void cluster_mark_dirty(struct cluster *cluster, uint32_t invoker);

/* Evicts idle containers of the invoker (on `gpu`, unless SIM_NONE) until `kb` are free, lowest
 * rank or least recently used first. Never evicts `keep`. The caller has checked that this
 * suffices. */
void cluster_make_room(struct cluster *cluster, uint32_t invoker, uint32_t gpu, int64_t kb,
                       uint32_t keep);

#endif
