/* Samples of the timeline and of fragmentation, at regular intervals. */
#include "sim/platform/batches.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/simulation.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/state.h"

enum { SAMPLES_MAX = 100000000 };

/* Returns whether the function's smallest batch on some kind of GPU fits on the invoker. */
static bool function_useful(const struct platform *platform, uint32_t f, uint32_t invoker)
{
    const struct function_gpu *gpus = platform->workload->functions[f].gpus;
    for (size_t k = 0; k < platform->workload->kind_count; k++)
        if (gpus[k].count > 0 && platform_fits(platform, f, (uint32_t)gpus[k].minimum, invoker))
            return true;
    return false;
}

/* Returns whether the invoker has room for the smallest batch of any non-empty queue. */
static bool invoker_useful(const struct platform *platform, uint32_t invoker)
{
    for (uint32_t q = platform_next_queue(platform, 0), first = SIM_NONE;
         q != SIM_NONE && q != first; q = platform_next_queue(platform, q + 1)) {
        if (function_useful(platform, platform->queues[q].function, invoker))
            return true;
        first = first == SIM_NONE ? q : first;
    }
    return false;
}

/* Returns the fraction of free vGPUs on invokers without room for any waiting job. O(invokers ×
 * waiting queues) per sample. */
static double stranded_share(const struct platform *platform)
{
    const struct cluster *cluster = &platform->cluster;
    int64_t free_parts = 0, stranded = 0;
    for (uint32_t i = 0; i < cluster->invoker_count; i++) {
        const struct invoker_state *invoker = &cluster->invokers[i];
        int64_t here = 0;
        for (uint32_t g = 0; g < invoker->gpu_count; g++)
            here += (int64_t)cluster->gpus[invoker->first_gpu + g].free_parts *
                    cluster->gpus[invoker->first_gpu + g].weight;
        free_parts += here;
        if (here > 0 && !invoker_useful(platform, i))
            stranded += here;
    }
    return free_parts > 0 ? (double)stranded / (double)free_parts : 0.0;
}

static void timeline_record(struct platform *platform, double stranded)
{
    const struct recorder *recorder = platform->recorder;
    const struct cluster_use *use = &platform->cluster.use, *all = &platform->cluster.capacity;
    if (recorder == NULL || recorder->timeline == NULL)
        return;
    struct timeline_row row = {
        .time_ns = platform->now,
        .waiting_jobs = platform->waiting_jobs,
        .running_batches = platform->running_batches,
        .idle_containers = platform->cluster.idle_containers,
        .starting_containers = platform->cluster.starting_containers,
        .gpu_used = all->unit_parts > 0
                        ? (double)(use->unit_parts - use->excess_parts) / (double)all->unit_parts
                        : 0,
        .vcpu_used = all->vcpus > 0 ? (double)use->vcpus / (double)all->vcpus : 0,
        .gpu_memory_used =
            all->gpu_memory_kb > 0 ? (double)use->gpu_memory_kb / (double)all->gpu_memory_kb : 0,
        .stranded_vgpu = stranded};
    if (!recorder->timeline(recorder->context, &row, platform->error))
        platform->failed = true;
}

void samples_take(struct platform *platform)
{
    double stranded = 0;
    /* Trainings alone: last at its instant. Rounds end at multiples of the interval, and before
     * their timer has fired the cluster is empty. */
    if (platform->workload->application_count == 0 &&
        event_queue_next_time(platform->event_queue) == platform->now) {
        platform_schedule(platform, platform->now, EVENT_SAMPLE, 0);
        return;
    }
    if (platform->waiting_jobs > 0 && platform->cluster.capacity.unit_parts > 0) {
        stranded = stranded_share(platform);
        if (platform->metrics.arriving) {
            platform->metrics.stranded_sum += stranded;
            platform->metrics.stranded_samples++;
        }
    }
    timeline_record(platform, stranded);
    /* Between two samples with nothing else the ledger cannot have changed. */
    if (platform->unchecked || platform->events != platform->sampled + 1)
        batches_check_holdings(platform);
    platform->sampled = platform->events;
    platform->unchecked = false;
    const sim_time_t interval = platform->experiment->platform.sample_interval;
    if (platform->now / interval >= SAMPLES_MAX)
        platform_fail(platform,
                      "platform.sample_interval_s is %g, so a run of this length has more than %d "
                      "samples; set a longer one",
                      sim_to_s(interval), SAMPLES_MAX);
    platform_schedule(platform, platform->now + interval, EVENT_SAMPLE, 0);
}
