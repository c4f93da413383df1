/* The canonical form of an experiment: all inputs that determine its result, with defaults filled
 * in and keys sorted, on one line. It has the form of an experiment file. The profile and the trace
 * are represented by their digests.
 */
#include <stdlib.h>
#include <string.h>

#include "traces/profile/profile.h"
#include "workloads/gpu_sharing.h"
#include "workloads/keep_alive.h"
#include "workloads/loader_internal.h"
#include "workloads/training_plan.h"

/* cJSON's adders accept NULL parents and report a failure by NULL. One flag collects all failures.
 */
struct writer {
    bool failed;
};

static cJSON *put(struct writer *writer, cJSON *parent, const char *key, cJSON *item)
{
    bool done = item != NULL && (cJSON_IsArray(parent) ? cJSON_AddItemToArray(parent, item)
                                                       : cJSON_AddItemToObject(parent, key, item));
    if (!done) {
        cJSON_Delete(item);
        writer->failed = true;
        return NULL;
    }
    return item;
}

static void put_number(struct writer *writer, cJSON *parent, const char *key, double number)
{
    put(writer, parent, key, cJSON_CreateNumber(number));
}

static void put_text(struct writer *writer, cJSON *parent, const char *key, const char *text)
{
    put(writer, parent, key, cJSON_CreateString(text));
}

static cJSON *put_object(struct writer *writer, cJSON *parent, const char *key)
{
    return put(writer, parent, key, cJSON_CreateObject());
}

static cJSON *put_array(struct writer *writer, cJSON *parent, const char *key)
{
    return put(writer, parent, key, cJSON_CreateArray());
}

static void put_keys(struct writer *writer, cJSON *object, const struct key *keys, const void *in)
{
    writer->failed |= object == NULL || !keys_write(keys, in, object);
}

static const char *basename_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void put_digest(struct writer *writer, cJSON *parent, const char *key, const char *path,
                       const char *sha256)
{
    cJSON *object = put_object(writer, parent, key);
    put_text(writer, object, "name", basename_of(path));
    put_text(writer, object, "sha256", sha256);
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

static void write_cluster(struct writer *writer, cJSON *root, const struct workload *workload)
{
    const struct cluster_spec *cluster = &workload->cluster;
    cJSON *object = put_object(writer, root, "cluster");
    cJSON *invokers = put_array(writer, object, "invokers");
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        cJSON *invoker = put_object(writer, invokers, NULL);
        put_keys(writer, invoker, invoker_keys, group);
        cJSON *gpus = put_array(writer, invoker, "gpus");
        for (size_t i = 0; i < group->gpu_count; i++) {
            const struct gpu_spec *gpu = &group->gpus[i];
            cJSON *item = put_object(writer, gpus, NULL);
            put_text(writer, item, "model", gpu->model);
            put_text(writer, item, "sharing", gpu_sharing_of(gpu)->name);
            put_keys(writer, item, gpu_keys,
                     &(struct gpu_entry){*gpu, workload->kinds[gpu->kind], .count = 1});
            if (unlike_prices(workload))
                put_number(writer, item, "vgpu_hour_usd", workload->kinds[gpu->kind].vgpu_hour_usd);
        }
    }
    cJSON *price = put_object(writer, object, "price");
    put_keys(writer, price, price_keys, cluster);
    put_number(writer, price, "vgpu_hour_usd", workload->kinds[0].vgpu_hour_usd);
}

static void write_service(struct writer *writer, cJSON *item, const struct function *function)
{
    cJSON *service = put_object(writer, item, "service");
    put_text(writer, service, "distribution",
             distribution_names[function->service - SERVICE_CONSTANT]);
    if (function->service == SERVICE_LOGNORMAL)
        put_number(writer, service, "cv", function->service_cv);
    if (function->service == SERVICE_EMPIRICAL)
        put(writer, service, "samples_ms",
            cJSON_CreateDoubleArray(function->service_samples_ms,
                                    (int)function->service_sample_count));
    else
        put_number(writer, service, "mean_ms", sim_to_ms(function->service_mean));
    const struct configuration *only = &function->configurations[0];
    cJSON *configuration = put_object(writer, item, "configuration");
    put_number(writer, configuration, "batch", only->batch);
    put_number(writer, configuration, "vcpu", only->vcpu);
    put_number(writer, configuration, "vgpu", only->vgpu);
}

static uint16_t axis_value(const struct configuration *c, int axis)
{
    return axis == 0 ? c->batch : axis == 1 ? c->vcpu : c->vgpu;
}

/* Writes the values of an axis that occur on GPUs of the model; NULL: on any. */
static void write_axis(struct writer *writer, cJSON *parent, const char *key, int axis,
                       const struct workload *workload, const struct function *function,
                       const char *model)
{
    bool *seen = calloc(UINT16_MAX + 1, sizeof *seen);
    uint16_t most = 0;
    cJSON *values = put_array(writer, parent, key);
    writer->failed |= seen == NULL;
    for (size_t k = 0; seen != NULL && k < function->configuration_count; k++) {
        const struct configuration *c = &function->configurations[k];
        if (model != NULL && strcmp(workload->kinds[c->kind].model, model) != 0)
            continue;
        const uint16_t value = axis_value(c, axis);
        seen[value] = true;
        most = value > most ? value : most;
    }
    for (int v = 0; seen != NULL && v <= most; v++)
        if (seen[v])
            put_number(writer, values, NULL, v);
    free(seen);
}

/* Profile, cluster and memory are in the canonical form and determine which combinations of the
 * values can run. With several profiles the values are those of each model of GPU. */
static void write_axes(struct writer *writer, cJSON *item, const struct experiment *experiment,
                       const struct function *function)
{
    static const char *const names[] = {"batch", "vcpu", "vgpu"};
    const struct workload *workload = &experiment->workload;
    cJSON *axes = put_object(writer, item, "configurations");
    for (int axis = 0; axis < 3; axis++) {
        if (experiment->profiles.count < 2) {
            write_axis(writer, axes, names[axis], axis, workload, function, NULL);
            continue;
        }
        cJSON *models = put_object(writer, axes, names[axis]);
        for (size_t k = 0; k < workload->kind_count; k++)
            if (function->gpus[k].count > 0 &&
                cJSON_GetObjectItemCaseSensitive(models, workload->kinds[k].model) == NULL)
                write_axis(writer, models, workload->kinds[k].model, axis, workload, function,
                           workload->kinds[k].model);
    }
}

/* Writes a value of the function on its GPUs, which is at `offset` of struct function_gpu. Values
 * that differ between kinds of GPU are left out: they are the profiles', whose digests are written.
 */
static void put_gpu_number(struct writer *writer, cJSON *parent, const char *key,
                           const struct workload *workload, const struct function *function,
                           size_t offset)
{
    double first = 0;
    for (size_t k = 0; k < workload->kind_count; k++) {
        double value;
        memcpy(&value, (const char *)&function->gpus[k] + offset, sizeof value);
        if (k == 0)
            first = value;
        else if (value != first)
            return;
    }
    put_number(writer, parent, key, first);
}

/* The function's cold starts are the same samples on all kinds of GPU. */
static bool same_samples(const struct workload *workload, const struct function *function)
{
    const struct function_gpu *first = &function->gpus[0];
    for (size_t k = 1; k < workload->kind_count; k++)
        if (function->gpus[k].cold_start_samples_ms != first->cold_start_samples_ms)
            return false;
    return first->cold_start_sample_count > 0;
}

static void write_functions(struct writer *writer, cJSON *root, const struct experiment *experiment)
{
    const struct workload *workload = &experiment->workload;
    cJSON *array = put_array(writer, put_object(writer, root, "functions"), "functions");
    for (size_t f = 0; f < workload->function_count; f++) {
        const struct function *function = &workload->functions[f];
        cJSON *item = put_object(writer, array, NULL);
        put_text(writer, item, "name", function->name);
        put_text(writer, item, "model", function->model);
        put_number(writer, item, "input_bytes", function->input_bytes);
        cJSON *cold_start = put_object(writer, item, "cold_start_ms");
        if (same_samples(workload, function)) {
            put(writer, cold_start, "samples_ms",
                cJSON_CreateDoubleArray(function->gpus[0].cold_start_samples_ms,
                                        (int)function->gpus[0].cold_start_sample_count));
        } else {
            put_gpu_number(writer, cold_start, "mean", workload, function,
                           offsetof(struct function_gpu, cold_start_mean_ms));
            put_gpu_number(writer, cold_start, "cv", workload, function,
                           offsetof(struct function_gpu, cold_start_cv));
        }
        cJSON *memory = put_object(writer, item, "gpu_memory_mb");
        put_gpu_number(writer, memory, "weights", workload, function,
                       offsetof(struct function_gpu, gpu_weights_mb));
        put_gpu_number(writer, memory, "per_item", workload, function,
                       offsetof(struct function_gpu, gpu_per_item_mb));
        put_number(writer, item, "host_memory_mb", function->host_memory_mb);
        put_gpu_number(writer, item, "bandwidth_share", workload, function,
                       offsetof(struct function_gpu, bandwidth_share));
        if (function->service == SERVICE_PROFILE) {
            put_gpu_number(writer, item, "noise", workload, function,
                           offsetof(struct function_gpu, noise_cv));
            write_axes(writer, item, experiment, function);
        } else {
            write_service(writer, item, function);
        }
    }
}

static void write_applications(struct writer *writer, cJSON *root, const struct workload *workload)
{
    cJSON *array = put_array(writer, root, "applications");
    cJSON *slo = put_object(writer, root, "slo");
    put_keys(writer, slo, slo_reference_key, &workload->reference);
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        cJSON *item = put_object(writer, array, NULL);
        put_text(writer, item, "name", application->name);
        put_number(writer, item, "weight", application->weight);
        cJSON *stages = put_array(writer, item, "stages");
        for (size_t s = 0; s < application->stage_count; s++) {
            const struct stage *stage = &application->stages[s];
            cJSON *entry = put_object(writer, stages, NULL);
            put_text(writer, entry, "name", stage->name);
            put_text(writer, entry, "function", workload->functions[stage->function].name);
            put_number(writer, entry, "output_bytes", stage->output_bytes);
            cJSON *after = put_array(writer, entry, "after");
            for (size_t i = 0; i < stage->after_count; i++)
                put_text(writer, after, NULL, application->stages[stage->after[i]].name);
        }
        put_number(writer, put_object(writer, slo, application->name), "ms",
                   sim_to_ms(application->slo));
    }
}

static void write_trace(struct writer *writer, cJSON *object, const struct experiment *experiment)
{
    const struct arrival_spec *arrivals = &experiment->arrivals;
    put_digest(writer, object, "file", arrivals->trace_path, experiment->trace_sha256);
    if (arrivals->trace_format != NULL)
        put_text(writer, object, "format", arrivals->trace_format);
    cJSON *mapping = put_object(writer, object, "mapping");
    for (size_t i = 0; i < arrivals->mapping_count; i++)
        put_text(writer, mapping, arrivals->mappings[i].source,
                 experiment->workload.applications[arrivals->mappings[i].application].name);
}

static void write_arrivals(struct writer *writer, cJSON *root, const struct experiment *experiment)
{
    const struct arrival_spec *arrivals = &experiment->arrivals;
    cJSON *object = put_object(writer, root, "arrivals");
    put_keys(writer, object, arrival_keys[arrivals->process], arrivals);
    if (arrivals->process == ARRIVAL_TRACE)
        write_trace(writer, object, experiment);
    cJSON *states = arrivals->process == ARRIVAL_MMPP ? put_array(writer, object, "states") : NULL;
    for (size_t i = 0; i < arrivals->state_count; i++)
        put_keys(writer, put_object(writer, states, NULL), mmpp_state_keys, &arrivals->states[i]);
}

static void write_training_arrivals(struct writer *writer, cJSON *object,
                                    const struct training_plan *plan)
{
    const struct training_draw *draw = &plan->draw;
    cJSON *arrivals = put_object(writer, object, "arrivals");
    put_text(writer, arrivals, "process", plan->trace_path != NULL ? "trace" : "poisson");
    if (plan->trace_path != NULL) {
        put_digest(writer, arrivals, "file", plan->trace_path, plan->trace_sha256);
        put_text(writer, arrivals, "format", plan->trace_format);
        if (draw->cluster[0] != '\0')
            put_text(writer, arrivals, "cluster", draw->cluster);
    } else {
        put_keys(writer, arrivals, training_poisson_keys, draw);
        cJSON *ranges = put_array(writer, arrivals, "minutes");
        for (size_t i = 0; i < draw->range_count; i++) {
            cJSON *range = put_array(writer, ranges, NULL);
            put_number(writer, range, NULL, draw->ranges[i].weight);
            put_number(writer, range, NULL, draw->ranges[i].low);
            put_number(writer, range, NULL, draw->ranges[i].high);
        }
    }
    cJSON *split = put_object(writer, arrivals, "split");
    for (size_t c = 0; c < TRAINING_CLASSES; c++)
        put_number(writer, split, training_class_names[c], draw->split[c]);
}

static void write_training(struct writer *writer, cJSON *root, const struct training_plan *plan)
{
    if (plan == NULL)
        return;
    cJSON *object = put_object(writer, root, "training");
    if (plan->models_sha256[0] != '\0') {
        cJSON *models = put_object(writer, object, "models");
        put_text(writer, models, "name", plan->models->name);
        put_text(writer, models, "sha256", plan->models_sha256);
    }
    write_training_arrivals(writer, object, plan);
    if (plan->measured_last != UINT64_MAX) {
        cJSON *measured = put_array(writer, object, "measured");
        put(writer, measured, NULL, json_whole(plan->measured_first));
        put(writer, measured, NULL, json_whole(plan->measured_last));
    }
    put_keys(writer, object, training_keys, plan);
}

static void write_initial(struct writer *writer, cJSON *object, const struct experiment *experiment)
{
    const struct platform_spec *platform = &experiment->platform;
    if (platform->initial != INITIAL_COUNTS) {
        put_text(writer, object, "initial", initial_names[platform->initial]);
        return;
    }
    cJSON *counts = put_object(writer, object, "initial");
    for (size_t f = 0; f < experiment->workload.function_count; f++)
        put_number(writer, counts, experiment->workload.functions[f].name,
                   platform->initial_counts[f]);
}

/* A named keep-alive overrides the policy's own. Naming the default therefore differs from omitting
 * it. */
static void write_keep_alive(struct writer *writer, cJSON *object,
                             const struct platform_spec *platform)
{
    if (platform->keep_alive_policy == NULL) {
        if (platform->keep_alive == SIM_FOREVER)
            put_text(writer, object, "keep_alive_s", "infinite");
        else
            put_number(writer, object, "keep_alive_s", sim_to_s(platform->keep_alive));
        return;
    }
    cJSON *keep_alive_policy = put_object(writer, object, "keep_alive");
    put_text(writer, keep_alive_policy, "name", platform->keep_alive_policy->name);
    cJSON *params = put_object(writer, keep_alive_policy, "params");
    const struct key *parameters = platform->keep_alive_policy->parameters;
    for (size_t i = 0; i < keys_count(parameters); i++) {
        const char *word = parameter_word(&parameters[i], platform->keep_alive_values[i]);
        if (word == NULL)
            put_number(writer, params, parameters[i].name, platform->keep_alive_values[i]);
        else
            put_text(writer, params, parameters[i].name, word);
    }
}

static void write_platform(struct writer *writer, cJSON *root, const struct experiment *experiment)
{
    const struct platform_spec *platform = &experiment->platform;
    cJSON *object = put_object(writer, root, "platform");
    write_initial(writer, object, experiment);
    write_keep_alive(writer, object, platform);
    put_keys(writer, object, platform_keys, platform);
}

/* `several`: the key of profiles by model. */
static void write_profiles(struct writer *writer, cJSON *root, const char *several,
                           const struct experiment_profiles *list)
{
    cJSON *object = root;
    for (size_t i = 0; i < list->count; i++) {
        const struct experiment_profile *one = &list->entries[i];
        const bool by_model = one->model[0] != '\0';
        if (by_model && i == 0)
            object = put_object(writer, root, several);
        put_digest(writer, object, by_model ? one->model : "profile", one->profile->path,
                   one->sha256);
    }
}

/* Only what is not at its default, so that an experiment without planning stays the same. */
static void write_planning(struct writer *writer, cJSON *root, const struct planning *planning)
{
    if (planning->workload == NULL)
        return;
    cJSON *object = put_object(writer, root, "planning");
    write_profiles(writer, object, "profile", &planning->profiles);
    put_keys(writer, object, planning_keys, planning);
}

static void write_policy(struct writer *writer, cJSON *root, const struct experiment *experiment)
{
    cJSON *object = put_object(writer, root, "policy");
    put_text(writer, object, "name", basename_of(experiment->policy_name));
    if (experiment->policy_sha256[0] != '\0')
        put_text(writer, object, "sha256", experiment->policy_sha256);
    cJSON *params = put_object(writer, object, "params");
    for (size_t i = 0; i < experiment->policy_setting_count; i++) {
        const struct setting *setting = &experiment->policy_settings[i];
        if (setting->text != NULL)
            put_text(writer, params, setting->key, setting->text);
        else
            put_number(writer, params, setting->key, setting->number);
    }
}

/* ---- Whole ---------------------------------------------------------------------------------- */

static int compare_members(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* Sorts the members of objects by key, at every depth. cJSON's list is circular backwards: the
 * first element's prev is the last. */
static bool sort_members(cJSON *node)
{
    size_t count = 0;
    for (cJSON *child = node->child; child != NULL; child = child->next, count++)
        if (!sort_members(child))
            return false;
    if (!cJSON_IsObject(node) || count < 2)
        return true;
    cJSON **members = malloc(count * sizeof *members);
    if (members == NULL)
        return false;
    size_t i = 0;
    for (cJSON *child = node->child; child != NULL; child = child->next)
        members[i++] = child;
    qsort(members, count, sizeof(cJSON *), compare_members);
    for (i = 0; i < count; i++) {
        members[i]->next = i + 1 < count ? members[i + 1] : NULL;
        members[i]->prev = members[i > 0 ? i - 1 : count - 1];
    }
    node->child = members[0];
    free(members);
    return true;
}

char *json_print_sorted(cJSON *root)
{
    char *printed = sort_members(root) ? cJSON_PrintUnformatted(root) : NULL;
    char *text = printed == NULL ? NULL : strdup(printed);
    cJSON_free(printed);
    return text;
}

bool experiment_canonicalize(struct experiment *experiment, struct error *error)
{
    struct writer writer = {false};
    cJSON *root = cJSON_CreateObject();
    if (root == NULL)
        return error_input(error, "out of memory");
    write_cluster(&writer, root, &experiment->workload);
    write_functions(&writer, root, experiment);
    write_applications(&writer, root, &experiment->workload);
    if (experiment->workload.application_count > 0)
        write_arrivals(&writer, root, experiment);
    write_training(&writer, root, experiment->training);
    write_platform(&writer, root, experiment);
    write_policy(&writer, root, experiment);
    write_profiles(&writer, root, "profiles", &experiment->profiles);
    write_planning(&writer, root, &experiment->planning);
    put(&writer, root, "requests", json_whole(experiment->requests));
    put(&writer, root, "warmup_requests", json_whole(experiment->warmup_requests));
    put(&writer, root, "seed", json_whole(experiment->seed));
    experiment->resolved_json = writer.failed ? NULL : json_print_sorted(root);
    cJSON_Delete(root);
    if (experiment->resolved_json == NULL)
        return error_input(error, "out of memory");
    char sha256[65];
    hash_bytes(experiment->resolved_json, strlen(experiment->resolved_json), sha256);
    memcpy(experiment->hash, sha256, 16);
    experiment->hash[16] = '\0';
    return true;
}
