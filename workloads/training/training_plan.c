#include "workloads/training/training_plan.h"

#include <inttypes.h>
#include <string.h>

#include "sim/base/arena.h"
#include "workloads/load/inputs.h"
#include "workloads/load/json_include.h"
#include "workloads/load/loader_internal.h"

static const char *const stop_names[] = {"all", "measured", NULL};
static const char *const progress_names[] = {"fluid", "whole", NULL};
static const char *const restart_names[] = {"model", "none", NULL};
const struct key training_keys[] = {
    KEY_OWN("models"),
    KEY_OWN("arrivals"),
    KEY_OWN("measured"),
    KEY_WORD("stop", training_plan, stop_at_measured, stop_names, 0, OPTIONAL),
    KEY_WORD("progress", training_plan, whole, progress_names, 0, OPTIONAL),
    KEY_WORD("restart", training_plan, instant_restart, restart_names, 0, OPTIONAL),
    KEY_SECONDS("save_s", training_plan, save, 0, LIMIT_S, 0, OPTIONAL),
    KEY_SECONDS("checkpoint_s", training_plan, checkpoint, 0, LIMIT_S, 0, SPARSE),
    KEY_NUMBER("share_exponent", training_plan, share_exponent, 0, 10, TRAINING_SHARE_EXPONENT,
               OPTIONAL),
    KEY_OWN("note"),
    KEY_END};

static void models_end(void *models)
{
    training_models_free(models);
}

static struct training_models *keep(struct arena *arena, struct training_models *models)
{
    arena_adopt(arena, models, models_end);
    return models;
}

static bool load_models(struct json_include *document, const struct json_value *value,
                        struct training_plan *plan, struct error *error)
{
    struct json_value models;
    if (!json_include_member(document, value, "models", &models, error))
        return false;
    if (plan->trace_path != NULL &&
        (strcmp(plan->trace_format, "dilu") == 0 || strcmp(plan->trace_format, "openb") == 0)) {
        plan->models = keep(value->arena, training_models_of_instances(error));
        return plan->models != NULL &&
               (models.node == NULL ||
                json_fault(value, error,
                           "\"models\" must be left out: a trace of the format %s has the "
                           "memory, the shares and the time of every instance",
                           plan->trace_format));
    }
    /* Then its trainings take their durations. */
    if (models.node == NULL && plan->trace_path != NULL &&
        strcmp(plan->trace_format, "esgsim") == 0)
        return true;
    if (models.node == NULL)
        return json_fault(value, error,
                          "key \"models\" is missing; name a file of workloads/models");
    plan->models = keep(value->arena, training_models_load(&models, error));
    if (plan->models == NULL)
        return false;
    char *text = json_print_sorted(value->arena, (cJSON *)(uintptr_t)models.node);
    hash_bytes(text, strlen(text), plan->models_sha256);
    return true;
}

/* Makes a load of the trace's pods. Its last half per cent of arrivals is measured. */
static bool load_fill(struct training_plan *plan, const struct cluster_spec *cluster, uint64_t seed,
                      struct error *error)
{
    struct arena *arena = plan->models->arena;
    uint64_t gpus = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        gpus += (uint64_t)cluster->groups[g].count * cluster->groups[g].gpu_count;
    plan->pods = arena_copy(arena, plan->trainings, plan->count, sizeof *plan->pods);
    plan->pod_count = plan->count;
    if (!trainings_fill(arena, &plan->trainings, &plan->count, plan->draw.load, gpus, seed, error))
        return false;
    plan->models_drawn = true;
    plan->measured_first = plan->count - 1;
    while (plan->measured_first > 0 && plan->trainings[plan->measured_first - 1].arrival >=
                                           plan->trainings[plan->count - 1].arrival - SIM_S / 2)
        plan->measured_first--;
    return true;
}

/* The types of the cluster's GPUs whose models are in the list "A|B"; all bits: every GPU's is. */
static uint64_t types_of(const char *list, const struct cluster_spec *cluster)
{
    uint64_t types = 0, all = 0;
    for (; *list != '\0'; list += *list == '|' ? 1 : 0) {
        const size_t length = strcspn(list, "|");
        for (size_t g = 0; g < cluster->group_count; g++)
            for (size_t i = 0; i < cluster->groups[g].gpu_count; i++) {
                const struct gpu_spec *gpu = &cluster->groups[g].gpus[i];
                all |= UINT64_C(1) << gpu->type;
                if (strlen(gpu->model) == length && strncmp(gpu->model, list, length) == 0)
                    types |= UINT64_C(1) << gpu->type;
            }
        list += length;
    }
    return types == all ? UINT64_MAX : types;
}

static bool load_trace(const struct json_include *document, struct training_plan *plan,
                       const struct cluster_spec *cluster, uint64_t seed, struct error *error)
{
    struct arena *arena = document->arena;
    if (!inputs_hash(document->inputs, plan->trace_path, &plan->trace_identity, plan->trace_sha256,
                     error))
        return false;
    struct training_trace *trace = training_trace_read(plan->trace_path, plan->trace_format, error);
    if (trace == NULL ||
        (plan->draw.cluster != NULL &&
         !training_trace_keep(trace, plan->trace_path, plan->draw.cluster, error))) {
        training_trace_free(trace);
        return false;
    }
    plan->count = trace->count;
    const bool timed = plan->models == NULL;
    if (timed)
        plan->models = keep(arena, training_models_timed((const char *const *)trace->models.names,
                                                         trace->models.count, error));
    for (size_t i = 0; i < trace->count; i++)
        plan->models_drawn = plan->models_drawn || (trace->rows[i].request == 0 && !timed &&
                                                    trace->rows[i].model == TRAINING_NO_MODEL);
    if (plan->models != NULL)
        plan->trainings =
            trainings_from_trace(trace, plan->trace_path, plan->models, &plan->draw, seed, error);
    for (size_t i = 0; plan->trainings != NULL && i < plan->count; i++)
        if (trace->rows[i].gpu_types != TRAINING_NO_MODEL)
            plan->trainings[i].gpu_types =
                types_of(trace->gpu_types.names[trace->rows[i].gpu_types], cluster);
    training_trace_free(trace);
    return plan->trainings != NULL &&
           (!(plan->draw.load > 0) || load_fill(plan, cluster, seed, error));
}

/* A class with a weight must have a model. */
static bool check_split(const struct json_value *arrivals, const struct training_plan *plan,
                        struct error *error)
{
    struct json_value split;
    if (plan->models == NULL)
        return !json_child(arrivals, "split", &split) ||
               json_fault(&split, error,
                          "nothing is drawn without \"training.models\"; name a file");
    for (int c = 0; json_child(arrivals, "split", &split) && c < TRAINING_CLASSES; c++) {
        size_t m = 0;
        while (m < plan->models->count && (int)plan->models->models[m].kind != c)
            m++;
        if (plan->draw.split[c] > 0 && m == plan->models->count)
            return json_fault(&split, error, "no model of class \"%s\" is in the models \"%s\"",
                              training_class_names[c], plan->models->name);
    }
    return true;
}

static bool load_arrivals(struct json_include *document, const struct json_value *value,
                          struct training_plan *plan, const struct cluster_spec *cluster,
                          uint64_t seed, struct error *error)
{
    struct json_value arrivals;
    if (!json_require(value, "arrivals", &arrivals, error) ||
        !training_arrivals_load(document, &arrivals, &plan->draw, &plan->trace_path,
                                &plan->trace_format, error) ||
        !load_models(document, value, plan, error) || !check_split(&arrivals, plan, error))
        return false;
    if (plan->trace_path == NULL) {
        plan->count = plan->draw.count;
        plan->trainings = trainings_draw(&plan->draw, plan->models, seed, error);
    } else if (!load_trace(document, plan, cluster, seed, error)) {
        return false;
    }
    for (size_t t = 0; plan->trainings != NULL && t < plan->count; t++)
        plan->models->models[plan->trainings[t].model].used = true;
    return plan->trainings != NULL;
}

/* Of the cluster's GPUs, which a gang may use, and their greatest memory. */
static bool check_gangs(const struct json_value *value, const struct training_plan *plan,
                        const struct cluster_spec *cluster, struct error *error)
{
    const char *source = plan->trace_path != NULL ? plan->trace_path : "training.arrivals";
    for (size_t t = 0; t < plan->count; t++) {
        const struct training_spec *spec = &plan->trainings[t];
        const struct training_model *model = &plan->models->models[spec->model];
        uint64_t gpus = 0, fitting = 0;
        for (size_t g = 0; g < cluster->group_count; g++)
            for (size_t i = 0; i < cluster->groups[g].gpu_count; i++) {
                gpus += cluster->groups[g].count;
                if (cluster->groups[g].gpus[i].memory_mb >= spec->gpu_memory_mb &&
                    gpu_types_have(spec->gpu_types, cluster->groups[g].gpus[i].type))
                    fitting += cluster->groups[g].count;
            }
        if (spec->gpus > gpus)
            return json_fault(value, error,
                              "training %" PRIu64 " of %s needs a gang of %" PRIu32
                              " GPUs, and the cluster has %" PRIu64,
                              spec->id, source, spec->gpus, gpus);
        if (spec->gpus > fitting)
            return json_fault(value, error,
                              "training %" PRIu64
                              " of %s, a \"%s\", needs %g MB on each of %" PRIu32
                              " GPUs%s, and %" PRIu64 " GPUs of the cluster have them",
                              spec->id, source, model->name, spec->gpu_memory_mb, spec->gpus,
                              spec->gpu_types == UINT64_MAX ? "" : " of its gpu_types", fitting);
    }
    return true;
}

static bool load_measured(const struct json_value *value, struct training_plan *plan,
                          struct error *error)
{
    struct json_value array;
    int64_t first = 0, last = 0;
    plan->measured_last = UINT64_MAX;
    if (!json_child(value, "measured", &array))
        return true;
    if (!json_is_array(&array, 2, 2, error))
        return false;
    const struct json_value low = json_entry(&array, 0);
    const struct json_value high = json_entry(&array, 1);
    if (!json_as_integer(&low, 0, INT64_C(1) << 53, &first, error) ||
        !json_as_integer(&high, first + 1, INT64_C(1) << 53, &last, error))
        return false;
    plan->measured_first = (uint64_t)first;
    plan->measured_last = (uint64_t)last;
    for (size_t t = 0; t < plan->count; t++)
        if (training_is_measured(plan, plan->trainings[t].id))
            return true;
    return json_fault(&array, error,
                      "no training has such an id; the first is %" PRIu64 ", the last %" PRIu64,
                      plan->trainings[0].id, plan->trainings[plan->count - 1].id);
}

struct training_plan *training_plan_load(struct json_include *document,
                                         const struct json_value *value,
                                         const struct cluster_spec *cluster, uint64_t seed,
                                         struct error *error)
{
    struct training_plan *plan = arena_allocate(value->arena, 1, sizeof *plan);
    keys_default(training_keys, plan);
    const bool good = keys_load(training_keys, value, plan, error) &&
                      load_arrivals(document, value, plan, cluster, seed, error) &&
                      check_gangs(value, plan, cluster, error) && load_measured(value, plan, error);
    return good ? plan : NULL;
}
