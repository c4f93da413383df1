#include <string.h>

#include <nettle/sha2.h>

#include "sched/aquatope/tune.h"
#include "traces/profile/interference.h"

/* An application takes one entry, and a sweep's neighbouring runs have few applications. */
enum { ENTRIES = 32 };

static _Thread_local struct {
    uint8_t key[SHA256_DIGEST_SIZE];
    struct tuning tuning;
} memory[ENTRIES];
static _Thread_local size_t stored;

#define ADD(context, value) sha256_update((context), sizeof(value), (const uint8_t *)&(value))

static void add_numbers(struct sha256_ctx *context, const double *numbers, size_t count)
{
    ADD(context, count);
    if (count > 0)
        sha256_update(context, count * sizeof *numbers, (const uint8_t *)numbers);
}

static void add_function_gpu(struct sha256_ctx *context, const struct function_gpu *gpu)
{
    ADD(context, gpu->noise_cv);
    ADD(context, gpu->gpu_weights_mb);
    ADD(context, gpu->gpu_per_item_mb);
    ADD(context, gpu->bandwidth_share);
    ADD(context, gpu->interference_index);
}

static void add_function(struct sha256_ctx *context, const struct function *function, size_t kinds)
{
    ADD(context, function->service);
    ADD(context, function->service_cv);
    add_numbers(context, function->service_samples_ms, function->service_sample_count);
    ADD(context, function->host_memory_mb);
    for (size_t k = 0; k < kinds; k++)
        add_function_gpu(context, &function->gpus[k]);
    ADD(context, function->configuration_count);
    for (size_t k = 0; k < function->configuration_count; k++) {
        const struct configuration *configuration = &function->configurations[k];
        ADD(context, configuration->batch);
        ADD(context, configuration->vcpu);
        ADD(context, configuration->vgpu);
        ADD(context, configuration->kind);
        ADD(context, configuration->time);
        ADD(context, configuration->cost_usd);
        ADD(context, configuration->cost_per_job_usd);
        ADD(context, configuration->gpu_memory_mb);
    }
}

static void add_application(struct sha256_ctx *context, const struct application *application)
{
    ADD(context, application->weight);
    ADD(context, application->slo);
    ADD(context, application->stage_count);
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        ADD(context, stage->function);
        ADD(context, stage->after_count);
        for (size_t i = 0; i < stage->after_count; i++)
            ADD(context, stage->after[i]);
    }
}

static void add_cluster(struct sha256_ctx *context, const struct cluster_spec *cluster)
{
    ADD(context, cluster->group_count);
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        ADD(context, group->count);
        ADD(context, group->vcpus);
        ADD(context, group->memory_mb);
        ADD(context, group->gpu_count);
        for (size_t i = 0; i < group->gpu_count; i++) {
            const struct gpu_spec *gpu = &group->gpus[i];
            sha256_update(context, strlen(gpu->model) + 1, (const uint8_t *)gpu->model);
            ADD(context, gpu->sharing);
            ADD(context, gpu->units);
            ADD(context, gpu->memory_mb);
            ADD(context, gpu->kind);
        }
    }
}

static void add_interference(struct sha256_ctx *context, const struct interference *model)
{
    const bool given = model != NULL;
    ADD(context, given);
    if (!given)
        return;
    ADD(context, model->kind);
    ADD(context, model->constant);
    add_numbers(context, model->pairs, model->pair_count * model->pair_count);
    ADD(context, model->coefficient);
    ADD(context, model->victim_exponent);
    ADD(context, model->share_exponent);
    add_numbers(context, model->shape, INTERFERENCE_NUMBERS);
}

static void add_settings(struct sha256_ctx *context, const struct tune_parameters *settings)
{
    ADD(context, settings->search.initial);
    ADD(context, settings->search.rounds);
    ADD(context, settings->search.proposals);
    ADD(context, settings->search.candidates);
    ADD(context, settings->search.confidence);
    ADD(context, settings->search.tuning_seed);
    ADD(context, settings->batching);
    ADD(context, settings->executions);
    ADD(context, settings->percentile);
    ADD(context, settings->occupancy);
}

/* All that tune_application reads. */
static void key_make(const struct workload *workload, uint32_t application,
                     const struct tune_parameters *settings, uint8_t key[SHA256_DIGEST_SIZE])
{
    struct sha256_ctx context;
    sha256_init(&context);
    ADD(&context, application);
    ADD(&context, workload->function_count);
    for (size_t f = 0; f < workload->function_count; f++)
        add_function(&context, &workload->functions[f], workload->kind_count);
    ADD(&context, workload->application_count);
    for (size_t a = 0; a < workload->application_count; a++)
        add_application(&context, &workload->applications[a]);
    add_cluster(&context, &workload->cluster);
    ADD(&context, workload->kind_count);
    for (size_t k = 0; k < workload->kind_count; k++) {
        ADD(&context, workload->kinds[k].units);
        add_interference(&context, workload->kinds[k].interference);
    }
    add_settings(&context, settings);
    sha256_digest(&context, SHA256_DIGEST_SIZE, key);
}

bool tune_application_once(struct arena *arena, const struct workload *workload,
                           uint32_t application, const struct tune_parameters *settings,
                           struct tuning *tuning, struct error *error)
{
    uint8_t key[SHA256_DIGEST_SIZE];
    key_make(workload, application, settings, key);
    for (size_t e = 0; e < stored && e < ENTRIES; e++)
        if (memcmp(memory[e].key, key, sizeof key) == 0) {
            *tuning = memory[e].tuning;
            return true;
        }
    if (!tune_application(arena, workload, application, settings, tuning, error))
        return false;
    memcpy(memory[stored % ENTRIES].key, key, sizeof key);
    memory[stored++ % ENTRIES].tuning = *tuning;
    return true;
}
