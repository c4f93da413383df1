#include "sched/aquatope/tune.h"

#include <math.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "sched/paths/search.h"
#include "traces/profile/interference.h"
#include "workloads/world/gpu_sharing.h"

enum { FEATURES = 4, CO_RUNNERS = 16 };

struct tune {
    struct arena *arena;
    const struct workload *workload;
    const struct application *application;
    const struct tune_parameters *settings;
    uint32_t index; /* of the application */
    struct bo_stage stages[WORKLOAD_MAX_STAGES];
    uint32_t *options[WORKLOAD_MAX_STAGES]; /* maps an option to a configuration */
    double *latencies;                      /* latencies of the executions of one evaluation */
    sim_time_t finish[WORKLOAD_MAX_STAGES]; /* finish times of the stages of one execution */
};

/* The share counts as a part of its GPU, so that shares of unlike GPUs compare. */
static double configuration_feature(const struct tune *tune,
                                    const struct configuration *configuration, size_t feature)
{
    const double units = tune->workload->kinds[configuration->kind].units;
    const double values[FEATURES] = {configuration->batch, configuration->vcpu,
                                     configuration->vgpu / units, configuration->kind};
    return values[feature];
}

/* Number of distinct values of the feature among the options, below `bound` only. */
static size_t feature_rank(const struct tune *tune, const struct configuration *all,
                           const uint32_t *options, size_t count, size_t feature, double bound)
{
    size_t rank = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = configuration_feature(tune, &all[options[i]], feature);
        bool first = value < bound;
        for (size_t j = 0; first && j < i; j++) {
            const double other = configuration_feature(tune, &all[options[j]], feature);
            first = other < value || other > value;
        }
        rank += first;
    }
    return rank;
}

/* Computes the options' coordinates: for each feature that varies, its rank among the occurring
 * values, scaled to [0, 1]. Grids double their steps, so ranks are closer to logarithms than the
 * values are. */
static void stage_features(struct tune *tune, size_t s)
{
    struct bo_stage *stage = &tune->stages[s];
    const struct configuration *all =
        tune->workload->functions[tune->application->stages[s].function].configurations;
    const uint32_t *options = tune->options[s];
    double *features =
        arena_allocate(tune->arena, stage->option_count * FEATURES, sizeof *features);
    size_t distinct[FEATURES];
    for (size_t f = 0; f < FEATURES; f++) {
        distinct[f] = feature_rank(tune, all, options, stage->option_count, f, INFINITY);
        stage->feature_count += distinct[f] > 1;
    }
    double *out = features;
    for (size_t i = 0; i < stage->option_count; i++)
        for (size_t f = 0; f < FEATURES; f++)
            if (distinct[f] > 1)
                *out++ = (double)feature_rank(tune, all, options, stage->option_count, f,
                                              configuration_feature(tune, &all[options[i]], f)) /
                         (double)(distinct[f] - 1);
    stage->features = features;
}

/* Selects the configurations that some invoker can hold; only those of the smallest batch if
 * requests run alone. */
static bool stage_options(struct tune *tune, size_t s, struct error *error)
{
    const uint32_t index = tune->application->stages[s].function;
    const struct configuration *all = tune->workload->functions[index].configurations;
    const struct search_table *table =
        search_table_create_placeable(tune->arena, tune->workload, index, error);
    if (table == NULL)
        return false;
    uint16_t smallest = UINT16_MAX;
    for (size_t i = 0; i < table->count; i++)
        smallest = table->batch[i] < smallest ? table->batch[i] : smallest;
    tune->options[s] = arena_allocate(tune->arena, table->count, sizeof *tune->options[s]);
    for (size_t i = 0; i < table->count; i++)
        if (tune->settings->batching == TUNE_PLANNED || all[table->index[i]].batch == smallest)
            tune->options[s][tune->stages[s].option_count++] = table->index[i];
    stage_features(tune, s);
    return true;
}

/* ---- Sampled executions ---------------------------------------------------------------------- */

/* The first GPU of the configuration's kind that allows its share; NULL if none is needed. */
static const struct gpu_spec *gpu_for(const struct cluster_spec *cluster,
                                      const struct configuration *configuration)
{
    for (size_t g = 0; configuration->vgpu > 0 && g < cluster->group_count; g++)
        for (size_t i = 0; i < cluster->groups[g].gpu_count; i++) {
            const struct gpu_spec *gpu = &cluster->groups[g].gpus[i];
            if (gpu->kind == configuration->kind && gpu_allows(gpu, configuration->vgpu))
                return gpu;
        }
    return NULL;
}

/* Draws a function that the workload's applications use. Each stage has the probability of its
 * application's requests. */
static const struct function *draw_co_runner(const struct workload *workload,
                                             struct random_stream *stream)
{
    const double at = random_uniform(stream);
    double sum = 0;
    size_t a = 0;
    while (a + 1 < workload->application_count && (sum += workload->applications[a].weight) <= at)
        a++;
    const struct application *application = &workload->applications[a];
    const size_t s = (size_t)(random_uniform(stream) * (double)application->stage_count);
    return &workload->functions[application->stages[s].function];
}

/* Draws the slowdown of the configuration by co-runners in the remainder of its GPU. Each part of
 * the remainder is occupied with probability `occupancy`. */
static double draw_slowdown(const struct tune *tune, const struct function *function,
                            const struct configuration *here, const struct gpu_spec *gpu,
                            struct random_stream *stream)
{
    const struct interference *model = tune->workload->kinds[gpu->kind].interference;
    if (model == NULL || !gpu_sharing_of(gpu)->interferes || !(tune->settings->occupancy > 0))
        return 1;
    struct co_runner runners[CO_RUNNERS] = {{.index = function->gpus[gpu->kind].interference_index,
                                             .demand = function->gpus[gpu->kind].bandwidth_share,
                                             .share = (double)here->vgpu / gpu->units,
                                             .batch = here->batch}};
    size_t count = 1;
    unsigned left = gpu->units - here->vgpu;
    while (left > 0 && count < CO_RUNNERS) {
        const unsigned part = 1 + (unsigned)(random_uniform(stream) * left);
        const bool taken = random_uniform(stream) < tune->settings->occupancy;
        const struct function *other = draw_co_runner(tune->workload, stream);
        if (taken)
            runners[count++] =
                (struct co_runner){.index = other->gpus[gpu->kind].interference_index,
                                   .demand = other->gpus[gpu->kind].bandwidth_share,
                                   .share = (double)part / gpu->units};
        left -= part;
    }
    return interference_slowdown(model, runners, count, 0);
}

static double noise_cv(const struct function *function, uint32_t kind)
{
    switch (function->service) {
    case SERVICE_PROFILE:
        return function->gpus[kind].noise_cv;
    case SERVICE_EXPONENTIAL:
        return 1;
    case SERVICE_LOGNORMAL:
        return function->service_cv;
    case SERVICE_EMPIRICAL:
        return gsl_stats_sd(function->service_samples_ms, 1, function->service_sample_count) /
               gsl_stats_mean(function->service_samples_ms, 1, function->service_sample_count);
    case SERVICE_CONSTANT:
        break;
    }
    return 0;
}

/* Executes one stage after its predecessors and adds its cost. */
static void execute_stage(struct tune *tune, size_t s, uint32_t option,
                          struct random_stream *stream, double *cost)
{
    const struct stage *stage = &tune->application->stages[s];
    const struct function *function = &tune->workload->functions[stage->function];
    const struct configuration *here = &function->configurations[tune->options[s][option]];
    const struct gpu_spec *gpu = gpu_for(&tune->workload->cluster, here);
    double factor = random_noise(stream, noise_cv(function, here->kind));
    if (gpu != NULL)
        factor *= draw_slowdown(tune, function, here, gpu, stream);
    sim_time_t start = 0;
    for (size_t i = 0; i < stage->after_count; i++)
        start = tune->finish[stage->after[i]] > start ? tune->finish[stage->after[i]] : start;
    tune->finish[s] = start + (sim_time_t)((double)here->time * factor);
    *cost +=
        factor * (tune->settings->batching == TUNE_ALONE ? here->cost_usd : here->cost_per_job_usd);
}

static void tune_evaluate(void *context, const uint32_t *choice, size_t number, double *cost,
                          double *latency)
{
    struct tune *tune = context;
    const size_t executions = tune->settings->executions;
    RANDOM_STREAM(stream, tune->settings->search.tuning_seed, RANDOM_POLICY, number + 1,
                  tune->index);
    *cost = 0;
    for (size_t e = 0; e < executions; e++) {
        sim_time_t last = 0;
        for (size_t s = 0; s < tune->application->stage_count; s++) {
            execute_stage(tune, s, choice[s], &stream, cost);
            last = tune->finish[s] > last ? tune->finish[s] : last;
        }
        tune->latencies[e] = sim_to_s(last);
    }
    gsl_sort(tune->latencies, 1, executions);
    *cost /= (double)executions;
    *latency = gsl_stats_quantile_from_sorted_data(tune->latencies, 1, executions,
                                                   tune->settings->percentile / 100);
}

bool tune_application(struct arena *arena, const struct workload *workload, uint32_t application,
                      const struct tune_parameters *settings, struct tuning *tuning,
                      struct error *error)
{
    const struct arena_block *scratch = arena->blocks;
    struct tune tune = {.arena = arena,
                        .workload = workload,
                        .application = &workload->applications[application],
                        .settings = settings,
                        .index = application};
    const size_t stages = tune.application->stage_count;
    tune.latencies = arena_allocate(arena, settings->executions, sizeof *tune.latencies);
    for (size_t s = 0; s < stages; s++)
        if (!stage_options(&tune, s, error))
            return false;
    const struct bo_problem problem = {.stage_count = stages,
                                       .stages = tune.stages,
                                       .limit = sim_to_s(tune.application->slo),
                                       .evaluate = tune_evaluate,
                                       .context = &tune};
    struct bo_parameters search = settings->search;
    search.stream = application;
    bo_minimise(arena, &problem, &search, &tuning->result);
    for (size_t s = 0; s < stages; s++)
        tuning->configuration[s] = tune.options[s][tuning->result.choice[s]];
    arena_rewind(arena, scratch);
    return true;
}
