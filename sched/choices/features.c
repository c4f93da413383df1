#include "sched/choices/features.h"

#include <string.h>

#include "sched/common/slo.h"

/* Jobs are counted by the second of simulated time in which they became ready. */
enum { SECONDS = 10 };
#define SECOND INT64_C(1000000000)

struct recent {
    uint32_t jobs[SECONDS]; /* ring, by second modulo SECONDS */
    int64_t second;         /* the last one that was counted */
};

struct tree_features {
    sim_time_t *path;      /* by queue: the fastest way to the end */
    uint32_t *depth;       /* by queue: most stages before it on a path */
    struct recent *recent; /* by queue */
    uint16_t *units;       /* by invoker: the most units that a GPU of it has; 0: no GPU */
    uint64_t changes;      /* platform_changes at the last look at what is free, less 1 */
    int64_t free_gpu, free_vcpus;
};

static void depths_fill(const struct application *application, uint32_t *depth)
{
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        for (size_t i = 0; i < stage->after_count; i++)
            if (depth[s] < depth[stage->after[i]] + 1)
                depth[s] = depth[stage->after[i]] + 1;
    }
}

static void units_fill(const struct cluster_spec *cluster, uint16_t *units)
{
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        uint16_t most = 0;
        for (size_t i = 0; i < group->gpu_count; i++)
            most = group->gpus[i].units > most ? group->gpus[i].units : most;
        for (uint32_t i = 0; i < group->count; i++)
            *units++ = most;
    }
}

struct tree_features *tree_features_create(struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    const size_t queues = workload->queue_count;
    struct tree_features *features = platform_allocate(platform, 1, sizeof *features);
    features->path = platform_allocate(platform, queues, sizeof *features->path);
    features->depth = platform_allocate(platform, queues, sizeof *features->depth);
    features->recent = platform_allocate(platform, queues, sizeof *features->recent);
    features->units =
        platform_allocate(platform, workload->cluster.invoker_count, sizeof *features->units);
    slo_fastest_paths(workload, features->path);
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        depths_fill(application, &features->depth[application->first_queue]);
    }
    units_fill(&workload->cluster, features->units);
    return features;
}

/* Forgets the seconds that are more than SECONDS ago. */
static void recent_advance(struct recent *recent, sim_time_t now)
{
    const int64_t second = now / SECOND;
    if (second - recent->second >= SECONDS) {
        memset(recent->jobs, 0, sizeof recent->jobs);
        recent->second = second;
    }
    while (recent->second < second)
        recent->jobs[++recent->second % SECONDS] = 0;
}

void tree_features_note(struct tree_features *features, const struct platform *platform,
                        uint32_t queue)
{
    struct recent *recent = &features->recent[queue];
    recent_advance(recent, platform_now(platform));
    recent->jobs[recent->second % SECONDS]++;
}

/* What is free on the best GPU, and on the invoker with the most free vCPUs. */
static void free_look(struct tree_features *features, const struct platform *platform)
{
    const uint64_t changes = platform_changes(platform) + 1;
    if (features->changes == changes)
        return;
    features->changes = changes;
    features->free_gpu = features->free_vcpus = 0;
    const uint32_t invokers = platform_workload(platform)->cluster.invoker_count;
    for (uint32_t i = 0; i < invokers; i++) {
        const int64_t vcpus = platform_free_vcpus(platform, i);
        const int64_t share = features->units[i] > 0 ? (int64_t)platform_free_vgpus(platform, i) *
                                                           1000 / features->units[i]
                                                     : 0;
        if (vcpus > features->free_vcpus)
            features->free_vcpus = vcpus;
        if (share > features->free_gpu)
            features->free_gpu = share;
    }
}

/* 1000 × part / whole within the bounds; the upper one where the whole is not positive. */
static int64_t permille(sim_time_t part, sim_time_t whole)
{
    if (whole <= 0)
        return TREE_SHARE_MOST;
    const double share = 1000.0 * (double)part / (double)whole;
    if (share >= TREE_SHARE_MOST)
        return TREE_SHARE_MOST;
    return share <= -TREE_SHARE_MOST ? -TREE_SHARE_MOST : (int64_t)share;
}

void tree_features_read(struct tree_features *features, const struct platform *platform,
                        uint32_t queue, int64_t values[TREE_FEATURE_COUNT])
{
    const struct job_view oldest = platform_job(platform, queue, 0);
    const sim_time_t now = platform_now(platform), slack = oldest.deadline - now;
    const uint32_t function = platform_queue_function(platform, queue);
    struct recent *recent = &features->recent[queue];
    free_look(features, platform);
    recent_advance(recent, now);
    int64_t arrivals = 0;
    for (int i = 0; i < SECONDS; i++)
        arrivals += recent->jobs[i];
    values[TREE_slack] = permille(slack, oldest.slo);
    values[TREE_path] = permille(features->path[queue], slack);
    values[TREE_queue_length] = platform_queue_length(platform, queue);
    values[TREE_oldest_wait] = (now - oldest.ready) / 1000;
    values[TREE_free_gpu] = features->free_gpu;
    values[TREE_free_vcpus] = features->free_vcpus;
    values[TREE_warm] = platform_warm_total(platform, function) > 0;
    values[TREE_depth] = features->depth[queue];
    values[TREE_arrivals] = arrivals;
    values[TREE_function] = function;
}

void tree_features_recorded(const struct choice_row *row, int64_t values[TREE_FEATURE_COUNT])
{
#define RECORDED(name) values[TREE_##name] = row->name;
    TREE_FEATURES(RECORDED)
#undef RECORDED
}
