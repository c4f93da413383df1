/* What gangs of trainings hold, on the same ledger as batches and instances. */

#include "sim/cluster/cluster_internal.h"

/* Sets the millionths of vCPUs that gangs hold on an invoker. The ledger's whole vCPUs follow,
 * rounded up. False, without a change: too few are free. */
static bool vcpus_set(struct cluster *cluster, struct invoker_state *invoker, int64_t micro)
{
    const int64_t held = (invoker->gang_micro_vcpus + MICRO - 1) / MICRO;
    const int64_t wanted = (micro + MICRO - 1) / MICRO;
    if (wanted - held > (int64_t)invoker->free_vcpus)
        return false;
    invoker->free_vcpus = (uint32_t)((int64_t)invoker->free_vcpus + held - wanted);
    invoker->gang_micro_vcpus = micro;
    cluster->use.vcpus += wanted - held;
    return true;
}

/* ---- Pooled invokers ------------------------------------------------------------------------- */

void cluster_pool_gangs(struct cluster *cluster)
{
    cluster->pooled = true;
}

/* Sets what gangs hold of all invokers together. They fill the first invokers. The caller has
 * checked that it fits. O(invokers). */
static void servers_set(struct cluster *cluster, int64_t micro, int64_t kb)
{
    cluster->pool_micro_vcpus = micro;
    cluster->pool_kb = kb;
    for (uint32_t i = 0; i < cluster->invoker_count; i++) {
        struct invoker_state *invoker = &cluster->invokers[i];
        const struct invoker_size *size = &cluster->sizes[i];
        const int64_t most = (int64_t)size->vcpus * MICRO;
        const int64_t here = micro < most ? micro : most;
        const int64_t here_kb = kb < size->memory_kb ? kb : size->memory_kb;
        (void)vcpus_set(cluster, invoker, here);
        cluster->use.memory_kb += here_kb - invoker->gang_kb;
        invoker->free_kb -= here_kb - invoker->gang_kb;
        invoker->gang_kb = here_kb;
        micro -= here;
        kb -= here_kb;
    }
}

static bool servers_take(struct cluster *cluster, const struct gang_share *share)
{
    const int64_t micro = cluster->pool_micro_vcpus + share->micro_vcpus;
    const int64_t kb = cluster->pool_kb + share->host_kb;
    if (micro > cluster->capacity.vcpus * MICRO || kb > cluster->capacity.memory_kb)
        return false;
    servers_set(cluster, micro, kb);
    return true;
}

/* ---- Shares ---------------------------------------------------------------------------------- */

/* Takes vCPUs and host memory of the invoker, or of all. */
static bool server_take(struct cluster *cluster, uint32_t id, const struct gang_share *share)
{
    struct invoker_state *invoker = &cluster->invokers[id];
    if (cluster->pooled)
        return servers_take(cluster, share);
    if (share->host_kb > invoker->free_kb + invoker->idle_kb ||
        !vcpus_set(cluster, invoker, invoker->gang_micro_vcpus + share->micro_vcpus))
        return false;
    cluster_make_room(cluster, id, SIM_NONE, share->host_kb, SIM_NONE);
    invoker->free_kb -= share->host_kb;
    cluster->use.memory_kb += share->host_kb;
    return true;
}

static void server_free(struct cluster *cluster, uint32_t id, const struct gang_share *share)
{
    struct invoker_state *invoker = &cluster->invokers[id];
    if (cluster->pooled) {
        servers_set(cluster, cluster->pool_micro_vcpus - share->micro_vcpus,
                    cluster->pool_kb - share->host_kb);
        return;
    }
    (void)vcpus_set(cluster, invoker, invoker->gang_micro_vcpus - share->micro_vcpus);
    invoker->free_kb += share->host_kb;
    cluster->use.memory_kb -= share->host_kb;
}

static bool share_take(struct cluster *cluster, const struct gang_share *share)
{
    struct gpu_state *gpu = &cluster->gpus[share->gpu];
    if (share->parts == 0) {
        cluster_mark_dirty(cluster, gpu->invoker);
        return server_take(cluster, gpu->invoker, share);
    }
    if (share->parts > gpu->free_parts || share->gpu_kb > gpu->free_kb + gpu->idle_kb ||
        !server_take(cluster, gpu->invoker, share))
        return false;
    cluster_make_room(cluster, gpu->invoker, share->gpu, share->gpu_kb, SIM_NONE);
    if (gpu->holding++ == 0)
        cluster->use.active_unit_parts += (int64_t)gpu->spec->units * UNIT_PARTS * gpu->weight;
    gpu_take_parts(cluster, gpu, share->parts);
    gpu->free_kb -= share->gpu_kb;
    cluster->use.gpu_memory_kb += share->gpu_kb;
    cluster_mark_dirty(cluster, gpu->invoker);
    return true;
}

static void share_free(struct cluster *cluster, const struct gang_share *share)
{
    struct gpu_state *gpu = &cluster->gpus[share->gpu];
    server_free(cluster, gpu->invoker, share);
    cluster_mark_dirty(cluster, gpu->invoker);
    if (share->parts == 0)
        return;
    if (--gpu->holding == 0)
        cluster->use.active_unit_parts -= (int64_t)gpu->spec->units * UNIT_PARTS * gpu->weight;
    gpu_take_parts(cluster, gpu, -(int64_t)share->parts);
    gpu->free_kb += share->gpu_kb;
    cluster->use.gpu_memory_kb -= share->gpu_kb;
}

bool cluster_take_gang(struct cluster *cluster, const struct gang_share *shares, uint32_t count)
{
    uint32_t taken = 0;
    while (taken < count && share_take(cluster, &shares[taken]))
        taken++;
    if (taken == count)
        return true;
    cluster_free_gang(cluster, shares, taken);
    return false;
}

void cluster_free_gang(struct cluster *cluster, const struct gang_share *shares, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        share_free(cluster, &shares[i]);
}
