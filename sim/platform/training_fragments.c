/* Fragmentation of the cluster while trainings run: Dilu's of GPU memory, and FGD's. An invoker is
 * looked at again only after a change on it, when the clock goes on. */
#include "sim/platform/shown.h"
#include "sim/platform/trainings.h"

#include <math.h>

#include "sim/cluster/cluster_internal.h"
#include "sched/common/fragmentation.h"

/* Most GPUs of one invoker (workloads/world/cluster_spec.c). */
enum { GPUS_MOST = 64 };

/* Part of all trainings that the typical shapes make up, as in FGD's experiments. */
static const double TYPICAL = 0.95;

/* Sums are kept in 2^-32 GPUs, so that they do not drift. */
static const double GRAIN = 4294967296.0;

struct training_fragments {
    struct fragment_shape *shapes;
    size_t shape_count;
    uint32_t largest; /* GPUs of an invoker */
    struct fragment_sums {
        int64_t active;                  /* GPUs that hold something */
        int64_t memory;                  /* free of theirs, as parts of a GPU's */
        int64_t fgd;                     /* F */
    } * invokers, all;                   /* each as of its last look; their sum */
    double active_ns, memory_ns, fgd_ns; /* integrals */
    int64_t most;                        /* active, and F then: */
    double fgd_at_most;
};

/* ---- Typical shapes -------------------------------------------------------------------------- */

/* What a training asks of one invoker. */
static struct fragment_shape shape_of(const struct platform *platform,
                                      const struct training_spec *spec, uint32_t largest)
{
    const struct training_model *model = &platform->trainings->plan->models->models[spec->model];
    const double request = spec->request > 0 ? spec->request : model->request;
    const bool pod = spec->vcpus > 0;
    return (struct fragment_shape){.gpus = spec->gpus < largest ? spec->gpus : largest,
                                   .share = request > 0 ? request : 1,
                                   .gpu_memory_mb = spec->gpu_memory_mb,
                                   .gpu_types = spec->gpus > 0 ? spec->gpu_types : UINT64_MAX,
                                   .vcpus = pod ? spec->vcpus : model->demand_vcpus,
                                   .memory_gb = pod ? spec->host_gb : model->demand_gb,
                                   .exact = pod,
                                   .frequency = 1};
}

static void shapes_collect(struct platform *platform, struct training_fragments *fragments)
{
    const struct training_plan *plan = platform->trainings->plan;
    const struct training_spec *specs = plan->pods != NULL ? plan->pods : plan->trainings;
    const size_t count = plan->pods != NULL ? plan->pod_count : plan->count;
    for (uint32_t i = 0; i < platform->cluster.invoker_count; i++)
        if (platform->cluster.invokers[i].gpu_count > fragments->largest)
            fragments->largest = platform->cluster.invokers[i].gpu_count;
    fragments->shapes = arena_allocate(&platform->arena, count, sizeof *fragments->shapes);
    for (size_t t = 0; t < count; t++) {
        fragments->shapes[t] = shape_of(platform, &specs[t], fragments->largest);
        if (fragments->shapes[t].exact) /* FGD's pods have no memory */
            fragments->shapes[t].memory_gb = 0;
    }
    fragments->shape_count = fragmentation_typical(fragments->shapes, count, TYPICAL);
}

void training_fragments_init(struct platform *platform)
{
    struct arena *arena = &platform->arena;
    const uint32_t invokers = platform->cluster.invoker_count;
    struct training_fragments *fragments = arena_allocate(arena, 1, sizeof *fragments);
    platform->trainings->fragments = fragments;
    fragments->invokers = arena_allocate(arena, invokers, sizeof *fragments->invokers);
    cluster_watch(&platform->cluster);
    shapes_collect(platform, fragments);
}

/* ---- For policies ---------------------------------------------------------------------------- */

bool platform_training_shape(const struct platform *platform, uint32_t id,
                             struct fragment_shape *shape)
{
    const struct trainings *trainings = platform->trainings;
    if (trainings == NULL || id >= trainings->arrived)
        return false;
    *shape = shape_of(platform, training_spec(platform, id), trainings->fragments->largest);
    return true;
}

const struct fragment_shape *platform_typical_shapes(const struct platform *platform, size_t *count)
{
    const struct trainings *trainings = platform->trainings;
    *count = trainings != NULL ? trainings->fragments->shape_count : 0;
    if (platform->shown != NULL)
        return platform->shown->shapes;
    return trainings != NULL ? trainings->fragments->shapes : NULL;
}

/* ---- One invoker ----------------------------------------------------------------------------- */

/* Free vCPUs, in which the sum of the gangs is not rounded up. */
static double vcpus_free(const struct invoker_state *invoker)
{
    const int64_t rounded = (invoker->gang_micro_vcpus + MICRO - 1) / MICRO;
    return invoker->free_vcpus + (double)(rounded * MICRO - invoker->gang_micro_vcpus) / MICRO;
}

/* With pooled invokers vCPUs and memory may come from any of them, so only GPUs count. */
static double fgd_of(const struct platform *platform, uint32_t id, const struct fragment_gpu *gpus,
                     uint32_t left)
{
    const struct training_fragments *fragments = platform->trainings->fragments;
    const struct cluster *cluster = &platform->cluster;
    const struct invoker_state *invoker = &cluster->invokers[id];
    const bool pooled = cluster->pooled;
    const double count = invoker->gpu_count, gb = 1024.0 * 1024.0;
    const struct fragment_node node = {
        .gpus = gpus,
        .gpu_count = left,
        .vcpus = vcpus_free(invoker),
        .memory_gb = (double)(invoker->free_kb + invoker->idle_kb) / gb,
        .vcpus_per_gpu = pooled ? 0 : cluster->sizes[id].vcpus / count,
        .memory_gb_per_gpu = pooled ? 0 : (double)cluster->sizes[id].memory_kb / gb / count};
    return fragmentation_of(&node, fragments->shapes, fragments->shape_count);
}

static struct fragment_sums invoker_look(const struct platform *platform, uint32_t id)
{
    const struct invoker_state *invoker = &platform->cluster.invokers[id];
    struct fragment_gpu gpus[GPUS_MOST];
    struct fragment_sums sums = {0};
    double memory = 0;
    uint32_t left = 0;
    for (uint32_t g = 0; g < invoker->gpu_count; g++) {
        const struct gpu_state *gpu = &platform->cluster.gpus[invoker->first_gpu + g];
        const uint32_t units = gpu_unit_parts(gpu);
        const uint32_t grantable = gpu->free_parts < units ? gpu->free_parts : units;
        const double free_kb = (double)(gpu->free_kb + gpu->idle_kb);
        if (grantable > 0)
            gpus[left++] =
                (struct fragment_gpu){(double)grantable / units, free_kb / 1024.0, gpu->spec->type};
        if (gpu->holding == 0)
            continue;
        sums.active++;
        memory += free_kb / (double)gpu->memory_kb;
    }
    sums.memory = llround(memory * GRAIN);
    sums.fgd = left > 0 ? llround(fgd_of(platform, id, gpus, left) * GRAIN) : 0;
    return sums;
}

/* ---- Over time ------------------------------------------------------------------------------- */

static void touched_look(struct platform *platform)
{
    struct training_fragments *fragments = platform->trainings->fragments;
    struct cluster *cluster = &platform->cluster;
    for (uint32_t k = 0; k < cluster->touched_count; k++) {
        const uint32_t id = cluster->touched[k];
        struct fragment_sums *old = &fragments->invokers[id];
        const struct fragment_sums now = invoker_look(platform, id);
        fragments->all.active += now.active - old->active;
        fragments->all.memory += now.memory - old->memory;
        fragments->all.fgd += now.fgd - old->fgd;
        *old = now;
    }
    cluster_untouch(cluster);
}

void training_fragments_reset(struct platform *platform)
{
    struct training_fragments *fragments = platform->trainings->fragments;
    fragments->active_ns = fragments->memory_ns = fragments->fgd_ns = 0;
    fragments->most = 0;
    fragments->fgd_at_most = 0;
}

void training_fragments_advance(struct platform *platform, sim_time_t until)
{
    struct training_fragments *fragments = platform->trainings->fragments;
    if (platform->trainings->window == SIM_FOREVER || until <= platform->now)
        return;
    touched_look(platform);
    const struct fragment_sums *all = &fragments->all;
    const double passed = (double)(until - platform->now);
    const double fgd = (double)all->fgd / GRAIN;
    fragments->active_ns += passed * (double)all->active;
    fragments->memory_ns += passed * (double)all->memory / GRAIN;
    fragments->fgd_ns += passed * fgd;
    if (all->active <= fragments->most)
        return;
    fragments->most = all->active;
    fragments->fgd_at_most = fgd;
}

void training_fragments_report(const struct platform *platform, double elapsed,
                               struct training_measures *out)
{
    const struct training_fragments *fragments = platform->trainings->fragments;
    const double active = fragments->active_ns > 0 ? fragments->active_ns : NAN;
    out->gpu_memory_fragmentation = fragments->memory_ns / active;
    out->fragmented_gpus_mean = fragments->fgd_ns / elapsed;
    out->fragmented_gpus_at_max = fragments->most > 0 ? fragments->fgd_at_most : NAN;
}
