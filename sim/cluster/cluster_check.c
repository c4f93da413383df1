/* Invariants of the cluster's ledger. */
#include <inttypes.h>
#include <string.h>

#include "sim/cluster/cluster_internal.h"

/* Checks that the totals of use equal the capacities minus what is free. */
static bool cluster_check_use(const struct cluster *cluster, struct error *error)
{
    struct cluster_use use = {0};
    for (uint32_t i = 0; i < cluster->invoker_count; i++) {
        const struct invoker_state *v = &cluster->invokers[i];
        use.vcpus += (int64_t)cluster->sizes[i].vcpus - v->free_vcpus - v->absent_vcpus;
        use.memory_kb += cluster->sizes[i].memory_kb - v->free_kb - v->absent_kb;
    }
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const struct gpu_state *gpu = &cluster->gpus[g];
        use.unit_parts += ((int64_t)gpu->parts - gpu->free_parts - gpu->absent_parts) * gpu->weight;
        use.excess_parts += gpu_excess_parts(gpu) * gpu->weight;
        use.gpu_memory_kb += gpu->memory_kb - gpu->free_kb - gpu->absent_kb;
        use.active_unit_parts += gpu->holding > 0 ? (int64_t)gpu_unit_parts(gpu) * gpu->weight : 0;
    }
    if (memcmp(&use, &cluster->use, sizeof use) != 0)
        return error_run(error,
                         "invariant use: %" PRId64 " vCPUs and %.2f units are counted as used, "
                         "invokers lack %" PRId64 " and GPUs %.2f, or memory differs",
                         cluster->use.vcpus, (double)cluster->use.unit_parts / UNIT_PARTS,
                         use.vcpus, (double)use.unit_parts / UNIT_PARTS);
    return true;
}

bool cluster_check(const struct cluster *cluster, bool at_rest, struct error *error)
{
    for (uint32_t i = 0; i < cluster->invoker_count; i++) {
        const struct invoker_state *v = &cluster->invokers[i];
        const struct invoker_size *size = &cluster->sizes[i];
        if (v->free_vcpus > size->vcpus || (at_rest && v->free_vcpus != size->vcpus))
            return error_run(
                error, "invariant vCPU: invoker %" PRIu32 " has %" PRIu32 " of %" PRIu32 " free%s",
                i, v->free_vcpus, size->vcpus, at_rest ? " at rest" : "");
        if (v->free_kb < 0 || v->idle_kb < 0 || v->free_kb + v->idle_kb > size->memory_kb)
            return error_run(error,
                             "invariant host memory: invoker %" PRIu32 " has %" PRId64
                             " of %" PRId64 " KiB free, %" PRId64 " idle",
                             i, v->free_kb, size->memory_kb, v->idle_kb);
        if (at_rest && v->batches != 0)
            return error_run(
                error, "invariant release: invoker %" PRIu32 " holds %" PRIu32 " batches at rest",
                i, v->batches);
    }
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const struct gpu_state *gpu = &cluster->gpus[g];
        if (gpu->free_parts > gpu->parts || (at_rest && gpu->free_parts != gpu->parts))
            return error_run(error,
                             "invariant vGPU: GPU %" PRIu32 " of invoker %" PRIu32
                             " has %.2f of %.10g units free%s",
                             g, gpu->invoker, gpu->free_parts / (double)UNIT_PARTS,
                             gpu->parts / (double)UNIT_PARTS, at_rest ? " at rest" : "");
        if (gpu->free_kb < 0 || gpu->idle_kb < 0 || gpu->free_kb + gpu->idle_kb > gpu->memory_kb)
            return error_run(error,
                             "invariant GPU memory: GPU %" PRIu32 " of invoker %" PRIu32
                             " has %" PRId64 " of %" PRId64 " KiB free, %" PRId64 " idle",
                             g, gpu->invoker, gpu->free_kb, gpu->memory_kb, gpu->idle_kb);
        if (at_rest && (gpu->slots != 0 || gpu->executing_count != 0))
            return error_run(error,
                             "invariant release: GPU %" PRIu32 " of invoker %" PRIu32
                             " is not empty at rest",
                             g, gpu->invoker);
    }
    return cluster_check_use(cluster, error);
}
