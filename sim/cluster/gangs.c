/* What gangs of trainings hold, on the same ledger as batches and instances. */
#include <inttypes.h>

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

static bool share_fits(const struct cluster *cluster, const struct gang_share *share)
{
    const struct gpu_state *gpu = &cluster->gpus[share->gpu];
    const struct invoker_state *invoker = &cluster->invokers[gpu->invoker];
    return share->parts <= gpu->free_parts && share->gpu_kb <= gpu->free_kb + gpu->idle_kb &&
           share->host_kb <= invoker->free_kb + invoker->idle_kb;
}

static bool share_take(struct cluster *cluster, const struct gang_share *share)
{
    struct gpu_state *gpu = &cluster->gpus[share->gpu];
    struct invoker_state *invoker = &cluster->invokers[gpu->invoker];
    if (!share_fits(cluster, share) ||
        !vcpus_set(cluster, invoker, invoker->gang_micro_vcpus + share->micro_vcpus))
        return false;
    cluster_make_room(cluster, gpu->invoker, share->gpu, share->gpu_kb, SIM_NONE);
    cluster_make_room(cluster, gpu->invoker, SIM_NONE, share->host_kb, SIM_NONE);
    if (gpu->holding++ == 0)
        cluster->use.active_unit_parts += gpu->spec->units * UNIT_PARTS;
    gpu->free_parts -= share->parts;
    gpu->free_kb -= share->gpu_kb;
    invoker->free_kb -= share->host_kb;
    cluster->use.unit_parts += share->parts;
    cluster->use.gpu_memory_kb += share->gpu_kb;
    cluster->use.memory_kb += share->host_kb;
    cluster_mark_dirty(cluster, gpu->invoker);
    return true;
}

static void share_free(struct cluster *cluster, const struct gang_share *share)
{
    struct gpu_state *gpu = &cluster->gpus[share->gpu];
    struct invoker_state *invoker = &cluster->invokers[gpu->invoker];
    (void)vcpus_set(cluster, invoker, invoker->gang_micro_vcpus - share->micro_vcpus);
    if (--gpu->holding == 0)
        cluster->use.active_unit_parts -= gpu->spec->units * UNIT_PARTS;
    gpu->free_parts += share->parts;
    gpu->free_kb += share->gpu_kb;
    invoker->free_kb += share->host_kb;
    cluster->use.unit_parts -= share->parts;
    cluster->use.gpu_memory_kb -= share->gpu_kb;
    cluster->use.memory_kb -= share->host_kb;
    cluster_mark_dirty(cluster, gpu->invoker);
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
