#include "workloads/spec/experiment.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"
#include "sim/base/utf8.h"
#include "traces/profile/profile.h"
#include "workloads/arrivals/arrivals_internal.h"
#include "workloads/load/inputs.h"
#include "workloads/load/policy_module.h"
#include "workloads/spec/spec_internal.h"
#include "workloads/training/training_plan.h"

enum { APPLICATIONS_LIMIT = 1024 };
/* Trainings take hours, so they are sampled less often than requests. */
#define TRAINING_SAMPLE_INTERVAL (300 * SIM_S)

#define COUNT_MOST (INT64_C(1) << 53)
/* At the highest rate of arrivals they bring fewer requests than COUNT_MOST. */
#define SECONDS_MOST 1e6

const char *const experiment_record_names[] = {"summary", "requests", "all",
                                               "choices", "actions",  NULL};

#define OF experiment
const struct key experiment_keys[] = {
    KEY_NAME("name", OF, name, UNWRITTEN),
    KEY_OWN("cluster"),
    KEY_OWN("applications"),
    KEY_OWN("functions"),
    KEY_OWN("profile"),
    KEY_OWN("arrivals"),
    KEY_OWN("slo"),
    KEY_OWN("policy"),
    KEY_OWN("platform"),
    KEY_WHOLE("requests", OF, requests, 1, COUNT_MOST, 10000, OPTIONAL),
    KEY_WHOLE("seed", OF, seed, 0, COUNT_MOST, 1, OPTIONAL),
    KEY_WHOLE("warmup_requests", OF, warmup_requests, 0, COUNT_MOST, 0, OPTIONAL),
    KEY_OWN("evidence"),
    KEY_WORD("record", OF, record, experiment_record_names, RECORD_REQUESTS, UNWRITTEN),
    KEY_OWN("note"),
    KEY_OWN("profiles"),
    KEY_OWN("training"),
    KEY_OWN("planning"),
    KEY_OWN("granularity"),
    KEY_NUMBER("measured_s", OF, measured_s, 0, SECONDS_MOST, 0, UNWRITTEN),
    KEY_NUMBER("warmup_s", OF, warmup_s, 0, SECONDS_MOST, 0, UNWRITTEN),
    KEY_END};
static const struct key policy_keys[] = {KEY_TEXT("name", OF, policy_name, UNWRITTEN),
                                         KEY_TEXT("shadow", OF, policy_shadow, UNWRITTEN),
                                         KEY_OWN("params"),
                                         KEY_OWN("file"),
                                         KEY_NOTES,
                                         KEY_END};
#undef OF

/* Data needed only while an experiment is read. */
struct reading {
    struct json_include *document;
    struct json_value root;
    struct experiment *experiment;
    struct function_entries entries;
};

/* ---- Parts ---------------------------------------------------------------------------------- */

/* Gets a part, which is inside this file or in a file of its own. */
static bool load_part(struct reading *reading, const char *key, struct json_value *value,
                      struct error *error)
{
    return json_include_member(reading->document, &reading->root, key, value, error);
}

static bool load_policy(const struct json_include *document, const struct json_value *value,
                        struct experiment *experiment, struct error *error)
{
    struct json_value child;
    experiment->policy_name = arena_text(experiment->arena, "esg");
    if (value->node == NULL)
        return true;
    if (!keys_load(policy_keys, value, experiment, error))
        return false;
    if (experiment->policy_name[0] == '\0')
        return json_fault(value, error, "\"name\" is empty; see `esgsim list policies`");
    if (json_child(value, "file", &child) &&
        (experiment->policy_file = json_include_find_file(document, &child, error)) == NULL)
        return false;
    return !json_child(value, "params", &child) ||
           settings_load(&child, &experiment->policy_settings, &experiment->policy_setting_count,
                         error);
}

static bool load_functions(struct reading *reading, struct error *error)
{
    struct json_value value;
    return load_part(reading, "functions", &value, error) &&
           (value.node == NULL || function_entries_load(&value, &reading->entries, error));
}

/* Loads an entry, which may stand for several applications alike. */
static bool load_application(struct reading *reading, const struct json_value *array, size_t index,
                             struct function_table *table, struct error *error)
{
    struct workload *workload = &reading->experiment->workload;
    struct json_value value, target, reference, child;
    struct application own = {.weight = 0};
    int64_t count = 1;
    if (!json_include_entry(reading->document, array, index, &value, error))
        return false;
    target = value;
    if (json_child(&value, "ref", &reference) &&
        (!keys_load(application_reference_keys, &value, &own, error) ||
         !json_integer(&value, "count", 1, APPLICATIONS_LIMIT, &count, error) ||
         !json_include_member(reading->document, &value, "ref", &target, error)))
        return false;
    const struct json_value *granularity = json_child(&value, "granularity", &child) ? &value
                                           : json_child(&target, "granularity", &child)
                                               ? &target
                                               : &reading->root;
    for (int64_t copy = 1; copy <= count; copy++) {
        if (workload->application_count == APPLICATIONS_LIMIT)
            return json_fault(array, error, "more than %d applications in all", APPLICATIONS_LIMIT);
        struct application *application = &workload->applications[workload->application_count++];
        if (!application_load(&target, granularity, table, application, error))
            return false;
        if (count > 1)
            application->name = arena_text(value.arena, "%s-%" PRId64, application->name, copy);
        if (own.weight > 0)
            application->weight = own.weight;
        if (!load_is_new(&value, "applications", &workload->applications[0].name,
                         workload->application_count - 1, sizeof *application, error))
            return false;
    }
    return true;
}

static bool load_applications(struct reading *reading, struct error *error)
{
    struct workload *workload = &reading->experiment->workload;
    struct function_table table = {.entries = &reading->entries, .workload = workload};
    struct json_value array;
    if (!json_require(&reading->root, "applications", &array, error) ||
        !json_is_array(&array, 1, APPLICATIONS_LIMIT, error))
        return false;
    workload->applications =
        arena_allocate(array.arena, APPLICATIONS_LIMIT, sizeof *workload->applications);
    for (size_t entry = 0; entry < json_size(&array); entry++)
        if (!load_application(reading, &array, entry, &table, error))
            return false;
    const size_t count = workload->application_count;
    double sum = 0;
    for (size_t a = 0; a < count; a++)
        sum += workload->applications[a].weight;
    for (size_t a = 0; a < count; a++)
        workload->applications[a].weight /= sum;
    if (!function_table_resolve(&table, &reading->root, error))
        return false;
    workload_derive(workload);
    return true;
}

/* An experiment with trainings may go without applications. */
static bool serves_no_requests(const struct reading *reading)
{
    struct json_value value;
    return json_child(&reading->root, "training", &value) &&
           !json_child(&reading->root, "applications", &value);
}

/* The experiment's own fields. Refuses keys about requests in an experiment without any. */
static bool load_root(const struct reading *reading, struct error *error)
{
    static const char *const keys[] = {"functions",   "profile",    "profiles",        "arrivals",
                                       "slo",         "requests",   "warmup_requests", "planning",
                                       "granularity", "measured_s", "warmup_s"};
    struct experiment *experiment = reading->experiment;
    const bool requests = !serves_no_requests(reading);
    struct json_value value;
    for (size_t i = 0; !requests && i < sizeof keys / sizeof *keys; i++)
        if (json_child(&reading->root, keys[i], &value))
            return json_fault(&value, error,
                              "is about requests, and the experiment has no \"applications\"");
    keys_default(experiment_keys, experiment);
    if (!keys_load(experiment_keys, &reading->root, experiment, error))
        return false;
    if (!requests)
        experiment->requests = 0;
    else if (!json_child(&reading->root, "warmup_requests", &value))
        experiment->warmup_requests = experiment->requests / 10;
    return true;
}

static bool load_training(struct reading *reading, struct error *error)
{
    struct experiment *experiment = reading->experiment;
    struct json_value value;
    if (!load_part(reading, "training", &value, error))
        return false;
    if (value.node == NULL)
        return true;
    experiment->training = training_plan_load(
        reading->document, &value, &experiment->workload.cluster, experiment->seed, error);
    return experiment->training != NULL;
}

static bool load_workload(struct reading *reading, struct error *error)
{
    struct json_value cluster;
    if (!load_part(reading, "cluster", &cluster, error))
        return false;
    if (cluster.node == NULL)
        return json_fault(&reading->root, error,
                          "key \"cluster\" is missing; name a file of workloads/clusters");
    if (!cluster_load(&cluster, &reading->experiment->workload, error))
        return false;
    const bool requests = !serves_no_requests(reading);
    if (requests && !profiles_load(reading->document, reading->experiment, error))
        return false;
    if (!requests)
        workload_derive(&reading->experiment->workload);
    profiles_describe(reading->experiment);
    return !requests || (load_functions(reading, error) && load_applications(reading, error));
}

/* If the platform sets a noise, it overrides every function's own. */
static void apply_noise(struct experiment *experiment)
{
    struct workload *workload = &experiment->workload;
    for (size_t f = 0; experiment->platform.noise_cv >= 0 && f < workload->function_count; f++)
        if (workload->functions[f].service == SERVICE_PROFILE)
            for (size_t k = 0; k < workload->kind_count; k++)
                workload->functions[f].gpus[k].noise_cv = experiment->platform.noise_cv;
}

/* A policy's module, or its file, is identified by the digest of its bytes. A missing file is
 * reported when the policy is looked up. */
static bool hash_policy(struct reading *reading, struct error *error)
{
    struct experiment *experiment = reading->experiment;
    const char *name = experiment->policy_name, *file = experiment->policy_file;
    char module[POLICY_MODULE_PATH];
    if (file == NULL && (!policy_module_named(name) || access(name, R_OK) != 0))
        return true;
    return (file != NULL || policy_module_file(name, module, error)) &&
           inputs_hash(reading->document->inputs, file != NULL ? file : module,
                       &experiment->policy_identity, experiment->policy_sha256, error);
}

static bool load_arrivals(struct reading *reading, struct error *error)
{
    struct experiment *experiment = reading->experiment;
    struct json_value value;
    if (!load_part(reading, "arrivals", &value, error))
        return false;
    if (value.node == NULL)
        return json_fault(&reading->root, error,
                          "key \"arrivals\" is missing; for example {\"process\": \"poisson\", "
                          "\"rate_per_s\": 10}");
    struct arrival_spec *arrivals = &experiment->arrivals;
    if (!arrivals_load(reading->document, &value, &experiment->workload, arrivals, error))
        return false;
    if (arrivals->process == ARRIVAL_PERIODIC && !json_child(&reading->root, "requests", &value)) {
        experiment->requests = arrivals->frames * experiment->workload.application_count;
        if (!json_child(&reading->root, "warmup_requests", &value))
            experiment->warmup_requests = 0;
    }
    return experiment->arrivals.trace_path == NULL ||
           inputs_hash(reading->document->inputs, experiment->arrivals.trace_path,
                       &experiment->trace_identity, experiment->trace_sha256, error);
}

/* Sets a count of requests to those that so many seconds bring in the mean. 0: leaves it. */
static bool count_by_time(const struct reading *reading, const char *key, double seconds,
                          uint64_t *count, struct error *error)
{
    const double rate = arrival_spec_rate(&reading->experiment->arrivals);
    struct json_value value;
    if (seconds == 0)
        return true;
    if (isnan(rate))
        return json_child(&reading->root, key, &value) &&
               json_fault(&value, error,
                          "needs arrivals of a known mean rate; name a number of requests");
    *count = (uint64_t)ceil(seconds * rate);
    return true;
}

static bool load_rest(struct reading *reading, struct error *error)
{
    struct experiment *experiment = reading->experiment;
    struct json_value value;
    const bool requests = !serves_no_requests(reading);
    /* Loads of arrivals are relative to references of SLOs. */
    if (requests &&
        (!load_part(reading, "slo", &value, error) ||
         !slo_load(&value, &experiment->workload, error) || !load_arrivals(reading, error) ||
         !count_by_time(reading, "measured_s", experiment->measured_s, &experiment->requests,
                        error) ||
         !count_by_time(reading, "warmup_s", experiment->warmup_s, &experiment->warmup_requests,
                        error)))
        return false;
    if (!load_part(reading, "platform", &value, error) ||
        !platform_load(&value, &experiment->workload, &experiment->platform, error))
        return false;
    if (!requests && !json_child(&value, "sample_interval_s", &(struct json_value){0}))
        experiment->platform.sample_interval = TRAINING_SAMPLE_INTERVAL;
    apply_noise(experiment);
    return load_part(reading, "policy", &value, error) &&
           load_policy(reading->document, &value, experiment, error) &&
           hash_policy(reading, error) && load_training(reading, error) &&
           load_part(reading, "planning", &value, error) &&
           planning_load(&value, experiment, error);
}

/* ---- Whole ---------------------------------------------------------------------------------- */

static bool load_names(struct reading *reading, struct error *error)
{
    struct experiment *experiment = reading->experiment;
    const char *file = reading->root.file;
    experiment->path = file;
    experiment->directory = json_include_directory(reading->document, &reading->root);
    const bool named = experiment->name != NULL;
    if (!named)
        experiment->name = arena_text(experiment->arena, "%s", file_name(file));
    char *dot = named ? NULL : strrchr(experiment->name, '.');
    if (dot != NULL && dot != experiment->name)
        *dot = '\0';
    return utf8_is_name(experiment->name) ||
           json_fault(&reading->root, error,
                      "the file's name holds control characters or is not UTF-8, so it names no "
                      "experiment; give \"name\"");
}

/* Builds the experiment from a document to which the overrides have been applied. */
static struct experiment *resolve(struct json_include *document, struct error *error)
{
    struct reading reading = {.document = document, .root = json_include_root(document)};
    reading.experiment = arena_allocate(document->arena, 1, sizeof *reading.experiment);
    reading.experiment->arena = document->arena;
    if (!load_root(&reading, error) || !load_names(&reading, error) ||
        !load_workload(&reading, error) || !load_rest(&reading, error))
        return NULL;
    experiment_canonicalize(reading.experiment);
    return reading.experiment;
}

/* The file's parameters, and the file that it names, belong to its policy. If an override names
 * another policy they are dropped, except those that are overridden themselves. */
static bool drop_parameters(struct json_include *document, const struct override *overrides,
                            size_t count, struct error *error)
{
    struct json_value root = json_include_root(document);
    struct json_value policy;
    const char *wanted = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(overrides[i].key, "policy.name") == 0)
            wanted = overrides[i].value;
    if (wanted == NULL || !cJSON_IsObject(document->root))
        return true;
    if (!json_include_member(document, &root, "policy", &policy, error))
        return false;
    cJSON *object = cJSON_GetObjectItemCaseSensitive(document->root, "policy");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "name");
    cJSON *given = json_parse(wanted, "value", NULL);
    const char *text = cJSON_IsString(given) ? given->valuestring : wanted;
    if (strcmp(text, cJSON_IsString(name) ? name->valuestring : "esg") != 0) {
        cJSON_DeleteItemFromObjectCaseSensitive(object, "params");
        cJSON_DeleteItemFromObjectCaseSensitive(object, "file");
        cJSON_DeleteItemFromObjectCaseSensitive(object, "shadow");
    }
    cJSON_Delete(given);
    return true;
}

/* "policy.name" may have parameters behind the name, as in "esg headroom=0 late=lead". */
static bool override_apply(struct json_include *document, const char *key, const char *value,
                           struct error *error)
{
    char *word = arena_text(document->arena, "%s", value), *rest = strchr(word, ' ');
    if (strcmp(key, "policy.name") != 0 || rest == NULL || strchr(rest, '=') == NULL)
        return json_include_override(document, key, value, error);
    bool good = json_include_override(document, key, strsep(&word, " "), error);
    for (char *name; good && (name = strsep(&word, " ")) != NULL;) {
        char *parameter = arena_text(document->arena, "policy.params.%s", strsep(&name, "="));
        good = name != NULL ? json_include_override(document, parameter, name, error)
                            : error_input(error,
                                          "%s: policy.name: \"%s\": after the name it wants "
                                          "PARAMETER=VALUE, separated by single blanks",
                                          json_include_root(document).file, value);
    }
    return good;
}

struct experiment *experiment_resolve(bool opened, struct json_include *document,
                                      const struct override *overrides, size_t count,
                                      struct error *error)
{
    bool good = opened && drop_parameters(document, overrides, count, error);
    for (size_t i = 0; i < count && good; i++)
        good = override_apply(document, overrides[i].key, overrides[i].value, error);
    struct experiment *experiment = good ? resolve(document, error) : NULL;
    if (experiment == NULL)
        arena_destroy(document->arena);
    return experiment;
}

struct experiment *experiment_load(const char *path, const struct override *overrides,
                                   size_t override_count, struct error *error)
{
    return experiment_load_with(NULL, path, overrides, override_count, error);
}

struct experiment *experiment_load_with(struct inputs *inputs, const char *path,
                                        const struct override *overrides, size_t override_count,
                                        struct error *error)
{
    struct json_include document = {.arena = arena_create()};
    struct json_value base;
    bool good = json_include_open(&document, document.arena, inputs, path, error);
    if (good) {
        const struct json_value root = json_include_root(&document);
        good = (!json_child(&root, "base", &base) && !json_child(&root, "matrix", &base)) ||
               error_input(error, "%s: is a sweep, not an experiment; run it with `esgsim sweep`",
                           path);
    }
    return experiment_resolve(good, &document, overrides, override_count, error);
}

struct experiment *experiment_parse(const char *text, const char *name, const char *directory,
                                    const struct override *overrides, size_t override_count,
                                    struct error *error)
{
    struct json_include document = {.arena = arena_create()};
    const bool good =
        json_include_parse(&document, document.arena, NULL, text, name, directory, error);
    return experiment_resolve(good, &document, overrides, override_count, error);
}

bool experiment_inputs_check(const struct experiment *experiment, struct error *error)
{
    const struct training_plan *training = experiment->training;
    return (experiment->trace_sha256[0] == '\0' ||
            inputs_unchanged(experiment->arrivals.trace_path, &experiment->trace_identity,
                             experiment->trace_sha256, error)) &&
           (training == NULL || training->trace_path == NULL ||
            inputs_unchanged(training->trace_path, &training->trace_identity,
                             training->trace_sha256, error)) &&
           (experiment->policy_sha256[0] == '\0' ||
            (experiment->policy_file == NULL && !path_ends_in(experiment->policy_name, ".so")) ||
            inputs_unchanged(experiment->policy_file != NULL ? experiment->policy_file
                                                             : experiment->policy_name,
                             &experiment->policy_identity, experiment->policy_sha256, error));
}

void experiment_free(struct experiment *experiment)
{
    if (experiment != NULL)
        arena_destroy(experiment->arena);
}
