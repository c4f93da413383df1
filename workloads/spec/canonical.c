/* The canonical form of an experiment: all inputs that determine its result, with defaults filled
 * in and keys sorted, on one line. It has the form of an experiment file. The profile and the trace
 * are represented by their digests. Tables of keys write themselves; the rest is here.
 */
#include <math.h>
#include <string.h>

#include "sim/base/atomic_file.h"
#include "sim/base/json_write.h"
#include "traces/profile/profile.h"
#include "workloads/arrivals/arrivals_internal.h"
#include "workloads/spec/keep_alive.h"
#include "workloads/spec/spec_internal.h"
#include "workloads/training/training_plan.h"
#include "workloads/world/gpu_sharing.h"

static void put(cJSON *parent, const char *key, cJSON *item)
{
    (void)(cJSON_IsArray(parent) ? cJSON_AddItemToArray(parent, item)
                                 : cJSON_AddItemToObject(parent, key, item));
}

static void put_digest(cJSON *parent, const char *key, const char *path, const char *sha256)
{
    json_put(cJSON_AddObjectToObject(parent, key), "name %s sha256 %s", file_name(path), sha256);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

/* Equal prices are those of "price", as in files that price no GPU of its own. */
static bool unlike_prices(const struct workload *workload)
{
    for (size_t k = 1; k < workload->kind_count; k++)
        if (workload->kinds[k].vgpu_hour_usd != workload->kinds[0].vgpu_hour_usd)
            return true;
    return false;
}

static void write_gpus(cJSON *gpus, const struct workload *workload,
                       const struct invoker_group *group)
{
    for (size_t i = 0; i < group->gpu_count; i++) {
        const struct gpu_spec *gpu = &group->gpus[i];
        struct gpu_entry entry = {*gpu, workload->kinds[gpu->kind], .count = 1};
        cJSON *item = json_append(gpus);
        if (!unlike_prices(workload))
            entry.kind.vgpu_hour_usd = NAN;
        json_put(item, "model %s sharing %s", gpu->model, gpu_sharing_of(gpu)->name);
        keys_write(gpu_keys, &entry, item);
    }
}

static void write_cluster(cJSON *object, const struct workload *workload)
{
    const struct cluster_spec *cluster = &workload->cluster;
    const struct price price = {cluster->vcpu_hour_usd, workload->kinds[0].vgpu_hour_usd};
    cJSON *invokers = cJSON_AddArrayToObject(object, "invokers");
    keys_write(price_keys, &price, cJSON_AddObjectToObject(object, "price"));
    for (size_t g = 0; g < cluster->group_count; g++) {
        cJSON *invoker = json_append(invokers);
        keys_write(invoker_keys, &cluster->groups[g], invoker);
        write_gpus(cJSON_AddArrayToObject(invoker, "gpus"), workload, &cluster->groups[g]);
    }
}

static uint16_t axis_value(const struct configuration *c, int axis)
{
    return axis == 0 ? c->batch : axis == 1 ? c->vcpu : c->vgpu;
}

/* Writes the values of an axis that occur on GPUs of the model; NULL: on any. */
static void write_axis(cJSON *values, int axis, const struct workload *workload,
                       const struct function *function, const char *model)
{
    bool seen[UINT16_MAX + 1] = {false};
    uint16_t most = 0;
    for (size_t k = 0; k < function->configuration_count; k++) {
        const struct configuration *c = &function->configurations[k];
        if (model != NULL && strcmp(workload->kinds[c->kind].model, model) != 0)
            continue;
        const uint16_t value = axis_value(c, axis);
        seen[value] = true;
        most = value > most ? value : most;
    }
    for (int v = 0; v <= most; v++)
        if (seen[v])
            put(values, NULL, cJSON_CreateNumber(v));
}

/* Profile, cluster and memory are in the canonical form and determine which combinations of the
 * values can run. With several profiles the values are those of each model of GPU. */
static void write_axes(cJSON *axes, const struct experiment *experiment,
                       const struct function *function)
{
    static const char *const names[] = {"batch", "vcpu", "vgpu"};
    const struct workload *workload = &experiment->workload;
    for (int axis = 0; axis < 3; axis++) {
        if (experiment->profiles.count < 2) {
            write_axis(cJSON_AddArrayToObject(axes, names[axis]), axis, workload, function, NULL);
            continue;
        }
        cJSON *models = cJSON_AddObjectToObject(axes, names[axis]);
        for (size_t k = 0; k < workload->kind_count; k++) {
            const char *model = workload->kinds[k].model;
            if (function->gpus[k].count > 0 &&
                cJSON_GetObjectItemCaseSensitive(models, model) == NULL)
                write_axis(cJSON_AddArrayToObject(models, model), axis, workload, function, model);
        }
    }
}

/* A value of the function on its GPUs, which is at `offset` of struct function_gpu. NAN if it
 * differs between kinds of GPU: then it is the profiles', whose digests are written. */
static double common_number(const struct workload *workload, const struct function *function,
                            size_t offset)
{
    double first = 0, value = 0;
    memcpy(&first, (const char *)&function->gpus[0] + offset, sizeof first);
    for (size_t k = 1; k < workload->kind_count; k++) {
        memcpy(&value, (const char *)&function->gpus[k] + offset, sizeof value);
        if (value != first)
            return NAN;
    }
    return first;
}
#define COMMON(field) common_number(workload, function, offsetof(struct function_gpu, field))

/* The function's cold starts are the same samples on all kinds of GPU. */
static bool same_samples(const struct workload *workload, const struct function *function)
{
    const struct function_gpu *first = &function->gpus[0];
    for (size_t k = 1; k < workload->kind_count; k++)
        if (function->gpus[k].cold_start_samples_ms != first->cold_start_samples_ms)
            return false;
    return first->cold_start_sample_count > 0;
}

/* The entry of a functions file that gives the function as it is. */
static struct function_entry entry_of(const struct workload *workload,
                                      const struct function *function, bool sampled)
{
    const bool served = function->service != SERVICE_PROFILE;
    const struct configuration *only = &function->configurations[0];
    return (struct function_entry){
        .name = function->name,
        .model = function->model,
        .has_service = served,
        .distribution = served ? (uint32_t)(function->service - SERVICE_CONSTANT) : 0,
        .service_mean_ms =
            function->service == SERVICE_EMPIRICAL ? NAN : sim_to_ms(function->service_mean),
        .service_cv = function->service == SERVICE_LOGNORMAL ? function->service_cv : NAN,
        .input_bytes = function->input_bytes,
        .noise_cv = NAN, /* written as a number alone */
        .cold_start_mean_ms = sampled ? NAN : COMMON(cold_start_mean_ms),
        .cold_start_cv = sampled ? NAN : COMMON(cold_start_cv),
        .gpu_weights_mb = COMMON(gpu_weights_mb),
        .gpu_per_item_mb = COMMON(gpu_per_item_mb),
        .host_memory_mb = function->host_memory_mb,
        .bandwidth_share = COMMON(bandwidth_share),
        .turnaround_ms = COMMON(turnaround_ms) > 0 ? COMMON(turnaround_ms) : NAN,
        .turnaround_per_item_ms =
            COMMON(turnaround_per_item_ms) > 0 ? COMMON(turnaround_per_item_ms) : NAN,
        .batch = only->batch,
        .vcpu = only->vcpu,
        .vgpu = only->vgpu};
}

static void put_samples(cJSON *item, const char *key, const double *samples, size_t count)
{
    put(cJSON_GetObjectItemCaseSensitive(item, key), "samples_ms",
        cJSON_CreateDoubleArray(samples, (int)count));
}

static void write_function(cJSON *item, const struct experiment *experiment,
                           const struct function *function)
{
    const struct workload *workload = &experiment->workload;
    const struct function_gpu *gpu = &function->gpus[0];
    const bool sampled = same_samples(workload, function);
    const struct function_entry entry = entry_of(workload, function, sampled);
    const double noise = COMMON(noise_cv);
    keys_write(function_keys, &entry, item);
    if (sampled)
        put_samples(item, "cold_start_ms", gpu->cold_start_samples_ms,
                    gpu->cold_start_sample_count);
    if (function->service == SERVICE_EMPIRICAL)
        put_samples(item, "service", function->service_samples_ms, function->service_sample_count);
    if (entry.has_service)
        return;
    if (!isnan(noise))
        json_put(item, "noise %g", noise);
    write_axes(cJSON_AddObjectToObject(item, "configurations"), experiment, function);
}

static void write_functions(cJSON *object, const struct experiment *experiment)
{
    cJSON *array = cJSON_AddArrayToObject(object, "functions");
    for (size_t f = 0; f < experiment->workload.function_count; f++)
        write_function(json_append(array), experiment, &experiment->workload.functions[f]);
}

static void write_stage(cJSON *item, const struct workload *workload,
                        const struct application *application, const struct stage *stage)
{
    keys_write(stage_keys, stage, item);
    json_put(item, "function %s", workload->functions[stage->function].name);
    cJSON *after = cJSON_AddArrayToObject(item, "after");
    for (size_t i = 0; i < stage->after_count; i++)
        put(after, NULL, cJSON_CreateString(application->stages[stage->after[i]].name));
}

static void write_applications(cJSON *root, const struct workload *workload)
{
    cJSON *array = cJSON_AddArrayToObject(root, "applications");
    cJSON *slo = cJSON_AddObjectToObject(root, "slo");
    keys_write(slo_reference_key, &workload->reference, slo);
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        cJSON *item = json_append(array);
        cJSON *stages = cJSON_AddArrayToObject(item, "stages");
        keys_write(application_keys, application, item);
        json_put(cJSON_AddObjectToObject(slo, application->name), "ms %g",
                 sim_to_ms(application->slo));
        for (size_t s = 0; s < application->stage_count; s++)
            write_stage(json_append(stages), workload, application, &application->stages[s]);
    }
}

static void write_trace(cJSON *object, const struct experiment *experiment)
{
    const struct arrival_spec *arrivals = &experiment->arrivals;
    cJSON *mapping = cJSON_AddObjectToObject(object, "mapping");
    put_digest(object, "file", arrivals->trace_path, experiment->trace_sha256);
    if (arrivals->trace_format != NULL)
        json_put(object, "format %s", arrivals->trace_format);
    for (size_t i = 0; i < arrivals->mapping_count; i++)
        cJSON_AddStringToObject(
            mapping, arrivals->mappings[i].source,
            experiment->workload.applications[arrivals->mappings[i].application].name);
}

static void write_arrivals(cJSON *object, const struct experiment *experiment)
{
    const struct arrival_spec *arrivals = &experiment->arrivals;
    keys_write(arrival_keys[arrivals->process], arrivals, object);
    if (arrivals->process == ARRIVAL_TRACE)
        write_trace(object, experiment);
    if (arrivals->process == ARRIVAL_PERIODIC)
        put(object, "phase",
            arrivals->phase == PHASE_LIST
                ? cJSON_CreateDoubleArray(arrivals->phases_ms,
                                          (int)experiment->workload.application_count)
                : cJSON_CreateString(phase_names[arrivals->phase]));
    cJSON *states =
        arrivals->process == ARRIVAL_MMPP ? cJSON_AddArrayToObject(object, "states") : NULL;
    for (size_t i = 0; i < arrivals->state_count; i++)
        keys_write(mmpp_state_keys, &arrivals->states[i], json_append(states));
}

static void write_training_arrivals(cJSON *arrivals, const struct training_plan *plan)
{
    const struct training_draw *draw = &plan->draw;
    keys_write(training_arrival_keys[draw->drawn], draw, arrivals);
    if (!draw->drawn) {
        put_digest(arrivals, "file", plan->trace_path, plan->trace_sha256);
        json_put(arrivals, "format %s", plan->trace_format);
        return;
    }
    cJSON *ranges = cJSON_AddArrayToObject(arrivals, "minutes");
    for (size_t i = 0; i < draw->range_count; i++) {
        const struct training_range *range = &draw->ranges[i];
        const double numbers[] = {range->weight, range->low, range->high};
        put(ranges, NULL, cJSON_CreateDoubleArray(numbers, 3));
    }
}

static void write_training(cJSON *object, const struct training_plan *plan)
{
    write_training_arrivals(cJSON_AddObjectToObject(object, "arrivals"), plan);
    keys_write(training_keys, plan, object);
    if (plan->models_sha256[0] != '\0')
        json_put(cJSON_AddObjectToObject(object, "models"), "name %s sha256 %s", plan->models->name,
                 plan->models_sha256);
    if (plan->measured_last == UINT64_MAX)
        return;
    cJSON *measured = cJSON_AddArrayToObject(object, "measured");
    put(measured, NULL, json_whole(plan->measured_first));
    put(measured, NULL, json_whole(plan->measured_last));
}

static void write_initial(cJSON *object, const struct experiment *experiment)
{
    const struct platform_spec *platform = &experiment->platform;
    if (platform->initial != INITIAL_COUNTS) {
        json_put(object, "initial %s", initial_names[platform->initial]);
        return;
    }
    cJSON *counts = cJSON_AddObjectToObject(object, "initial");
    for (size_t f = 0; f < experiment->workload.function_count; f++) {
        const int *invokers = platform->initial_invokers[f];
        const int count = (int)platform->initial_counts[f];
        put(counts, experiment->workload.functions[f].name,
            invokers != NULL ? cJSON_CreateIntArray(invokers, count) : cJSON_CreateNumber(count));
    }
}

/* A named keep-alive overrides the policy's own. Naming the default therefore differs from omitting
 * it. */
static void write_keep_alive(cJSON *object, const struct platform_spec *platform)
{
    const struct keep_alive *policy = platform->keep_alive_policy;
    if (policy == NULL) {
        put(object, "keep_alive_s",
            platform->keep_alive == SIM_FOREVER
                ? cJSON_CreateString("infinite")
                : cJSON_CreateNumber(sim_to_s(platform->keep_alive)));
        return;
    }
    cJSON *named = cJSON_AddObjectToObject(object, "keep_alive");
    cJSON *params = cJSON_AddObjectToObject(named, "params");
    json_put(named, "name %s", policy->name);
    for (const struct key *key = policy->parameters; key != NULL && key->name != NULL; key++) {
        const double value = platform->keep_alive_values[key - policy->parameters];
        const char *word = parameter_word(key, value);
        put(params, key->name, word == NULL ? cJSON_CreateNumber(value) : cJSON_CreateString(word));
    }
}

static void write_pool(cJSON *object, const struct platform_spec *platform)
{
    if (platform->pool_target == 0)
        return;
    cJSON *pool = cJSON_AddObjectToObject(object, "pool");
    put(pool, "target",
        platform->pool_target == POOL_TARGET_AUTO ? cJSON_CreateString("auto")
                                                  : cJSON_CreateNumber(platform->pool_target));
    keys_write(pool_keys, platform, pool);
}

static void write_admission(cJSON *object, const struct platform_spec *platform)
{
    if (platform->admission.rule == ADMISSION_RATE)
        keys_write(admission_keys, platform, cJSON_AddObjectToObject(object, "admission"));
    else if (platform->admission.rule != ADMISSION_DEFAULT)
        json_put(object, "admission %s",
                 platform->admission.rule == ADMISSION_LOST ? "lost" : "none");
}

static void write_failures(cJSON *object, const struct platform_spec *platform)
{
    const struct failure_spec *failures = &platform->failures;
    if (!platform_fails(platform))
        return;
    cJSON *own = cJSON_AddObjectToObject(object, "failures");
    if (failures->outage_count == 0) {
        keys_write(failure_keys, platform, own);
        return;
    }
    cJSON *outages = cJSON_AddArrayToObject(own, "outages");
    for (size_t i = 0; i < failures->outage_count; i++) {
        const struct outage *outage = &failures->outages[i];
        const double row[] = {outage->invoker, sim_to_s(outage->from), sim_to_s(outage->until)};
        put(outages, NULL, cJSON_CreateDoubleArray(row, 3));
    }
}

static void write_platform(cJSON *object, const struct experiment *experiment)
{
    write_initial(object, experiment);
    write_keep_alive(object, &experiment->platform);
    write_pool(object, &experiment->platform);
    write_admission(object, &experiment->platform);
    write_failures(object, &experiment->platform);
    keys_write(platform_keys, &experiment->platform, object);
}

/* `several`: the key of profiles by model. */
static void write_profiles(cJSON *root, const char *several, const struct experiment_profiles *list)
{
    cJSON *object = root;
    for (size_t i = 0; i < list->count; i++) {
        const struct experiment_profile *one = &list->entries[i];
        const bool by_model = one->model[0] != '\0';
        if (by_model && i == 0)
            object = cJSON_AddObjectToObject(root, several);
        put_digest(object, by_model ? one->model : "profile", one->profile->path, one->sha256);
    }
}

static void write_policy(cJSON *object, const struct experiment *experiment)
{
    cJSON *params = cJSON_AddObjectToObject(object, "params");
    json_put(object, "name %s", file_name(experiment->policy_name));
    if (experiment->policy_shadow != NULL)
        json_put(object, "shadow %s", experiment->policy_shadow);
    if (experiment->policy_sha256[0] != '\0')
        json_put(object, "sha256 %s", experiment->policy_sha256);
    for (size_t i = 0; i < experiment->policy_setting_count; i++) {
        const struct setting *setting = &experiment->policy_settings[i];
        put(params, setting->key,
            setting->text != NULL ? cJSON_CreateString(setting->text)
                                  : cJSON_CreateNumber(setting->number));
    }
}

/* ---- Whole ---------------------------------------------------------------------------------- */

/* Planning is written only if it is not at its default, so that an experiment without it stays the
 * same. */
static void write_experiment(cJSON *root, const struct experiment *experiment)
{
    const struct planning *planning = &experiment->planning;
    cJSON *planned = planning->workload == NULL ? NULL : cJSON_AddObjectToObject(root, "planning");
    write_cluster(cJSON_AddObjectToObject(root, "cluster"), &experiment->workload);
    write_functions(cJSON_AddObjectToObject(root, "functions"), experiment);
    write_applications(root, &experiment->workload);
    if (experiment->workload.application_count > 0)
        write_arrivals(cJSON_AddObjectToObject(root, "arrivals"), experiment);
    if (experiment->training != NULL)
        write_training(cJSON_AddObjectToObject(root, "training"), experiment->training);
    write_platform(cJSON_AddObjectToObject(root, "platform"), experiment);
    write_policy(cJSON_AddObjectToObject(root, "policy"), experiment);
    write_profiles(root, "profiles", &experiment->profiles);
    if (planned != NULL) {
        write_profiles(planned, "profile", &planning->profiles);
        keys_write(planning_keys, planning, planned);
    }
    keys_write(experiment_keys, experiment, root);
}

void experiment_canonicalize(struct experiment *experiment)
{
    cJSON *root = cJSON_CreateObject();
    char sha256[65];
    write_experiment(root, experiment);
    experiment->resolved_json = json_print_sorted(experiment->arena, root);
    cJSON_Delete(root);
    hash_bytes(experiment->resolved_json, strlen(experiment->resolved_json), sha256);
    memcpy(experiment->hash, sha256, 16);
    experiment->hash[16] = '\0';
}
