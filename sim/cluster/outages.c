/* Failed invokers on the ledger: nothing of them is free, and nobody holds it. */
#include "sim/cluster/cluster_internal.h"

void cluster_withdraw(struct cluster *cluster, uint32_t id)
{
    struct invoker_state *invoker = &cluster->invokers[id];
    invoker->absent_vcpus += invoker->free_vcpus;
    invoker->absent_kb += invoker->free_kb;
    invoker->free_vcpus = 0;
    invoker->free_kb = 0;
    for (uint32_t g = invoker->first_gpu; g < invoker->first_gpu + invoker->gpu_count; g++) {
        struct gpu_state *gpu = &cluster->gpus[g];
        gpu->absent = true;
        gpu->absent_parts += gpu->free_parts;
        gpu->absent_kb += gpu->free_kb;
        gpu->free_parts = 0;
        gpu->free_kb = 0;
    }
    cluster_mark_dirty(cluster, id);
}

void cluster_return(struct cluster *cluster, uint32_t id)
{
    struct invoker_state *invoker = &cluster->invokers[id];
    invoker->free_vcpus += invoker->absent_vcpus;
    invoker->free_kb += invoker->absent_kb;
    invoker->absent_vcpus = 0;
    invoker->absent_kb = 0;
    for (uint32_t g = invoker->first_gpu; g < invoker->first_gpu + invoker->gpu_count; g++) {
        struct gpu_state *gpu = &cluster->gpus[g];
        gpu->absent = false;
        gpu->free_parts += gpu->absent_parts;
        gpu->free_kb += gpu->absent_kb;
        gpu->absent_parts = 0;
        gpu->absent_kb = 0;
    }
    cluster_mark_dirty(cluster, id);
}
