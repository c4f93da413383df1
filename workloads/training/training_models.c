#include "workloads/training/training_models.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "sim/base/arena.h"
#include "traces/profile/pair_effects.h"
#include "workloads/load/json_include.h"
#include "workloads/load/loader_internal.h"

enum {
    AXIS_MOST = 64,
    GANGS_MOST = 32,
    MODELS_MOST = 256,
    GPUS_MOST = 1 << 16,
    SUB_BATCHES_MOST = 1 << 16,
    ELSEWHERE_MOST = 64
};

/* Largest slowdown of a pair. */
#define MOST_SLOWDOWN 1000.0

const char *const training_class_names[] = {"image", "language", "speech", NULL};

#define OF training_models
/* The allocation at which iteration_s holds. */
static const struct key base_keys[] = {
    KEY_NUMBER("vcpus", OF, base_vcpus, 1e-6, 65535, 0, REQUIRED),
    KEY_NUMBER("memory_gb", OF, base_gb, 1e-6, LIMIT_MB, 0, REQUIRED), KEY_END};
static const struct key file_keys[] = {KEY_NAME("name", OF, name, REQUIRED),
                                       KEY_TEXT("evidence", OF, evidence, OPTIONAL),
                                       KEY_OWN("source"),
                                       KEY_OWN("licence"),
                                       KEY_OWN("note"),
                                       KEY_TEXT("gpu", OF, gpu, OPTIONAL),
                                       KEY_OWN("vcpus"),
                                       KEY_OWN("memory_gb"),
                                       KEY_OBJECT("base", base_keys, OPTIONAL),
                                       KEY_OWN("gangs"),
                                       KEY_NEEDED("models"),
                                       KEY_OWN("pairs"),
                                       KEY_OWN("penalty"),
                                       KEY_NUMBER("overhead", OF, overhead, 1e-3, 1e3, 1, OPTIONAL),
                                       KEY_END};
#undef OF
#define OF training_model
static const struct key demand_keys[] = {
    KEY_NUMBER("vcpus", OF, demand_vcpus, 0, 65535, 0, OPTIONAL),
    KEY_NUMBER("memory_gb", OF, demand_gb, 0, LIMIT_MB, 0, OPTIONAL), KEY_END};
/* The default of the limit is the request. */
static const struct key share_keys[] = {KEY_NUMBER("request", OF, request, 0.01, 1, 0, OPTIONAL),
                                        KEY_NUMBER("limit", OF, limit, 0.01, 1, NAN, OPTIONAL),
                                        KEY_OWN("speed"), KEY_END};
static const struct key sub_batch_keys[] = {
    KEY_WHOLE("most", OF, most_sub_batches, 1, SUB_BATCHES_MOST, 1, REQUIRED),
    KEY_NUMBER("step_s", OF, step_s, 0, LIMIT_S, 0, REQUIRED),
    KEY_NUMBER("fixed_mb", OF, fixed_memory_mb, 0, LIMIT_MB, 0, REQUIRED), KEY_END};
static const struct key model_keys[] = {
    KEY_WORD("class", OF, kind, training_class_names, TRAINING_IMAGE, OPTIONAL),
    KEY_OWN("iteration_s"),
    KEY_OWN("iteration_s_on"),
    KEY_NUMBER("gpu_memory_mb", OF, gpu_memory_mb, 0, LIMIT_MB, 0, OPTIONAL),
    KEY_OBJECT("demand", demand_keys, OPTIONAL),
    KEY_NUMBER("speedup", OF, speedup, 1e-6, 1e6, 1, OPTIONAL),
    KEY_OWN("throughput"),
    KEY_OWN("restart_s"),
    KEY_NOTES,
    KEY_OBJECT("share", share_keys, OPTIONAL),
    KEY_NUMBER("bandwidth_share", OF, bandwidth_share, 0, 1, 0, OPTIONAL),
    KEY_OWN("penalty"),
    KEY_OBJECT("sub_batches", sub_batch_keys, OPTIONAL),
    KEY_END};
#undef OF

/* ---- Axes ------------------------------------------------------------------------------------ */

enum order { ANY, NOT_FALLING, RISING };

/* The numbers of an array into values[json_size(array)]. */
static bool load_numbers(const struct json_value *array, double low, double high, enum order order,
                         double *values, struct error *error)
{
    for (struct json_value entry = {0}; json_next(array, &entry); values++) {
        if (!json_as_number(&entry, low, high, values, error))
            return false;
        if (entry.index > 0 && order == RISING && *values <= values[-1])
            return json_fault(&entry, error, "must be above the entry before it");
        if (entry.index > 0 && order == NOT_FALLING && *values < values[-1])
            return json_fault(&entry, error, "must not be below the entry before it");
    }
    return true;
}

/* An optional array of positive numbers. */
static bool load_list(const struct json_value *root, const char *key, double high, enum order order,
                      double **values, size_t *count, struct error *error)
{
    struct json_value array;
    if (!json_child(root, key, &array))
        return true;
    *values = load_entries(&array, 1, AXIS_MOST, sizeof **values, error);
    *count = json_size(&array);
    return *values != NULL && load_numbers(&array, 1e-6, high, order, *values, error);
}

/* Whether the value is an array with one entry for each of `axis`. */
static bool is_along(const struct json_value *value, size_t most, const char *entries,
                     const char *axis, size_t count, struct error *error)
{
    return json_is_array(value, 0, most, error) &&
           (json_size(value) == count ||
            json_fault(value, error, "has %zu %s, not one per entry of \"%s\" (%zu)",
                       json_size(value), entries, axis, count));
}

static bool load_gangs(const struct json_value *root, struct training_models *models,
                       struct error *error)
{
    struct json_value array;
    const bool given = json_child(root, "gangs", &array);
    models->gang_count = given ? json_size(&array) : 1;
    models->gangs = given ? load_entries(&array, 1, GANGS_MOST, sizeof *models->gangs, error)
                          : arena_allocate(root->arena, 1, sizeof *models->gangs);
    if (models->gangs == NULL)
        return false;
    models->gangs[0] = 1;
    for (struct json_value entry = {0}; given && json_next(&array, &entry);) {
        uint32_t *out = &models->gangs[entry.index];
        int64_t gpus = 0;
        if (!json_as_integer(&entry, 1, GPUS_MOST, &gpus, error))
            return false;
        if (entry.index > 0 && gpus <= out[-1])
            return json_fault(&entry, error, "must be above the entry before it");
        *out = (uint32_t)gpus;
    }
    return true;
}

/* A number for all gang sizes, or one for each, into values[gang_count]. */
static bool load_by_gang(const struct json_value *value, const struct training_models *models,
                         double low, double high, double *values, struct error *error)
{
    if (!cJSON_IsArray(value->node)) {
        if (!json_as_number(value, low, high, &values[0], error))
            return false;
        for (size_t g = 1; g < models->gang_count; g++)
            values[g] = values[0];
        return true;
    }
    return is_along(value, GANGS_MOST, "numbers", "gangs", models->gang_count, error) &&
           load_numbers(value, low, high, ANY, values, error);
}

/* ---- Models ---------------------------------------------------------------------------------- */

/* The last entry that is not above `value`; the first if all are. */
static size_t lower_cell(const double *axis, size_t count, double value)
{
    size_t i = 0;
    while (i + 1 < count && axis[i + 1] <= value)
        i++;
    return i;
}

/* The matrix at the next cell that is not above (vcpus, memory_gb). */
static double cell_value(const struct training_models *models, const struct training_model *model,
                         double vcpus, double memory_gb)
{
    const size_t row = lower_cell(models->vcpus, models->vcpu_count, vcpus);
    const size_t column = lower_cell(models->memory_gb, models->memory_count, memory_gb);
    return model->throughput[row * models->memory_count + column];
}

static bool load_throughput(const struct json_value *value, const struct training_models *models,
                            struct training_model *model, struct error *error)
{
    if (models->vcpus == NULL || models->memory_gb == NULL)
        return json_fault(value, error, "needs the axes \"vcpus\" and \"memory_gb\" of the file");
    if (!is_along(value, AXIS_MOST, "rows", "vcpus", models->vcpu_count, error))
        return false;
    model->throughput =
        arena_allocate(value->arena, models->vcpu_count * models->memory_count, sizeof(double));
    double *cell = model->throughput;
    for (struct json_value row = {0}; json_next(value, &row);) {
        if (!is_along(&row, AXIS_MOST, "numbers", "memory_gb", models->memory_count, error) ||
            !load_numbers(&row, 1e-6, 1e6, ANY, cell, error))
            return false;
        cell += models->memory_count;
    }
    const double base =
        models->base_vcpus > 0 ? cell_value(models, model, models->base_vcpus, models->base_gb) : 1;
    while (cell > model->throughput)
        *--cell /= base;
    return true;
}

static bool load_optional_by_gang(const struct json_value *value, const char *key, double low,
                                  const struct training_models *models, double **values,
                                  struct error *error)
{
    struct json_value child;
    *values = arena_allocate(value->arena, models->gang_count, sizeof **values);
    return !json_child(value, key, &child) ||
           load_by_gang(&child, models, low, LIMIT_S, *values, error);
}

static bool load_share(const struct json_value *value, struct training_model *model,
                       struct error *error)
{
    struct json_value child;
    if (model->limit < model->request || (model->request > 0) != (model->limit > 0))
        return json_fault(value, error, "must have a \"limit\" of at least its \"request\"");
    if (!load_list(value, "speed", 1, NOT_FALLING, &model->speed, &model->speed_count, error))
        return false;
    if (model->speed == NULL || model->speed[model->speed_count - 1] == 1)
        return true;
    (void)json_child(value, "speed", &child);
    child = json_entry(&child, model->speed_count - 1);
    return json_fault(&child, error, "must be 1: the last entry is of the whole GPU");
}

static bool check_sub_batches(const struct json_value *value, const struct training_model *model,
                              struct error *error)
{
    return model->fixed_memory_mb <= model->gpu_memory_mb ||
           json_fault(value, error,
                      "has a \"fixed_mb\" of %g, above the model's \"gpu_memory_mb\" of %g",
                      model->fixed_memory_mb, model->gpu_memory_mb);
}

static bool load_elsewhere(const struct json_value *value, const struct training_models *models,
                           struct training_model *model, struct error *error)
{
    if (!json_is_object(value, NULL, error))
        return false;
    if (!(model->iteration_s[0] > 0))
        return json_fault(value, error, "needs \"iteration_s\", to which it is relative");
    if (json_size(value) == 0 || json_size(value) > ELSEWHERE_MOST)
        return json_fault(value, error, "must have the times of 1..%d GPU models", ELSEWHERE_MOST);
    model->elsewhere = arena_allocate(value->arena, json_size(value), sizeof *model->elsewhere);
    for (struct json_value child = {0}; json_next(value, &child);) {
        struct training_elsewhere *times = &model->elsewhere[model->elsewhere_count++];
        times->gpu = arena_text(value->arena, "%s", child.node->string);
        times->iteration_s =
            arena_allocate(value->arena, models->gang_count, sizeof *times->iteration_s);
        if (!load_by_gang(&child, models, 1e-9, LIMIT_S, times->iteration_s, error))
            return false;
    }
    return true;
}

static bool load_model(const struct json_value *value, const struct training_models *models,
                       struct training_model *model, struct error *error)
{
    struct json_value child;
    keys_default(model_keys, model);
    if (!keys_load(model_keys, value, model, error))
        return false;
    if (isnan(model->limit))
        model->limit = model->request;
    return load_optional_by_gang(value, "iteration_s", 1e-9, models, &model->iteration_s, error) &&
           (!json_child(value, "iteration_s_on", &child) ||
            load_elsewhere(&child, models, model, error)) &&
           load_optional_by_gang(value, "restart_s", 0, models, &model->restart_s, error) &&
           (!json_child(value, "share", &child) || load_share(&child, model, error)) &&
           (!json_child(value, "sub_batches", &child) || check_sub_batches(&child, model, error)) &&
           load_list(value, "penalty", 1, ANY, &model->penalty, &model->penalty_count, error) &&
           (!json_child(value, "throughput", &child) ||
            load_throughput(&child, models, model, error));
}

static bool load_models(const struct json_value *value, struct training_models *models,
                        struct error *error)
{
    if (!json_is_object(value, NULL, error))
        return false;
    if (json_size(value) == 0 || json_size(value) > MODELS_MOST)
        return json_fault(value, error, "has %zu models, not 1..%d", json_size(value), MODELS_MOST);
    models->models = arena_allocate(value->arena, json_size(value), sizeof *models->models);
    for (struct json_value child = {0}; json_next(value, &child);) {
        struct training_model *model = &models->models[models->count];
        if (!json_is_name(&child, child.node->string, error))
            return false;
        model->name = arena_text(value->arena, "%s", child.node->string);
        models->count++;
        if (!load_model(&child, models, model, error))
            return false;
    }
    return true;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool find_model(const struct json_value *value, const struct training_models *models,
                       size_t *index, struct error *error)
{
    const int32_t found = training_models_find(models, value->node->string);
    *index = (size_t)found;
    return found >= 0 || json_fault(value, error, "no model of that name is in \"models\"");
}

static bool load_victim(const struct json_value *value, struct training_models *models,
                        struct error *error)
{
    size_t victim = 0, other = 0;
    if (!find_model(value, models, &victim, error) || !json_is_object(value, NULL, error))
        return false;
    for (struct json_value child = {0}; json_next(value, &child);) {
        if (!find_model(&child, models, &other, error))
            return false;
        double *pair = &models->pairs[(victim * models->count + other) * models->gang_count];
        for (size_t g = 0; g < models->gang_count; g++)
            pair[g] = INFINITY;
        if (!cJSON_IsNull(child.node) &&
            !load_by_gang(&child, models, 1, MOST_SLOWDOWN, pair, error))
            return false;
    }
    return true;
}

/* The slowdown of pairs that were not measured: a number, "none" or "effects". */
static bool load_default_pair(const struct json_value *value, struct training_models *models,
                              bool *effects, struct error *error)
{
    const char *word = cJSON_IsString(value->node) ? value->node->valuestring : "";
    models->default_pair = 1;
    *effects = strcmp(word, "effects") == 0;
    if (*effects || strcmp(word, "none") == 0)
        return true;
    return cJSON_IsNumber(value->node)
               ? json_as_number(value, 1, MOST_SLOWDOWN, &models->default_pair, error)
               : json_fault(value, error,
                            "must be a slowdown of at least 1, \"none\" or \"effects\"");
}

/* Derives all pairs. The speed beside another, 1 / slowdown, is taken as mean + effect of the
 * victim
 * + effect of the other, by least squares over the measured pairs that fit on a GPU, between the
 * least measured speed and 1. Such pairs are there. */
static bool derive_pairs(struct training_models *models, struct error *error)
{
    const size_t cells = models->count * models->count, gangs = models->gang_count;
    double *speeds = arena_allocate(models->arena, cells, sizeof *speeds);
    models->derived = arena_allocate(models->arena, cells * gangs, sizeof *models->derived);
    bool fine = true;
    for (size_t g = 0; fine && g < gangs; g++) {
        double least = 1;
        for (size_t k = 0; k < cells; k++) {
            const double pair = models->pairs[k * gangs + g];
            speeds[k] = isinf(pair) ? NAN : 1 / pair;
            least = fmin(least, speeds[k]);
        }
        fine = pair_effects_fit(speeds, models->count, PAIR_EFFECTS_STRENGTH, speeds) ||
               error_run(error, "out of memory for %zu pairs of models", cells);
        for (size_t k = 0; fine && k < cells; k++)
            models->derived[k * gangs + g] = 1 / fmin(1, fmax(least, speeds[k]));
    }
    return fine;
}

/* A slowdown with this factor on what it has above 1. Without the factor not a bit changes. */
static double scaled_pair(double slowdown, double excess)
{
    return excess == 1 || !isfinite(slowdown) ? slowdown : 1 + excess * (slowdown - 1);
}

static bool load_pairs(const struct json_value *value, struct training_models *models,
                       struct error *error)
{
    const size_t cells = models->count * models->count * models->gang_count;
    double excess = 1;
    bool effects = false, known = false;
    if (!json_is_object(value, NULL, error))
        return false;
    models->pairs = arena_allocate(value->arena, cells, sizeof *models->pairs);
    for (size_t k = 0; k < cells; k++)
        models->pairs[k] = NAN;
    for (struct json_value child = {0}; json_next(value, &child);)
        if (!(strcmp(child.node->string, "default") == 0
                  ? load_default_pair(&child, models, &effects, error)
              : strcmp(child.node->string, "excess") == 0
                  ? json_as_number(&child, 0, MOST_SLOWDOWN, &excess, error)
                  : load_victim(&child, models, error)))
            return false;
    for (size_t k = 0; k < cells; k++) {
        known = known || isfinite(models->pairs[k]);
        models->pairs[k] = scaled_pair(models->pairs[k], excess);
    }
    models->default_pair = scaled_pair(models->default_pair, excess);
    return !effects ||
           (known ? derive_pairs(models, error)
                  : json_fault(value, error, "\"effects\" needs pairs with a slowdown"));
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool load_all(const struct json_value *value, struct training_models *models,
                     struct error *error)
{
    struct json_value child;
    return keys_load(file_keys, value, models, error) &&
           load_list(value, "vcpus", 1e9, RISING, &models->vcpus, &models->vcpu_count, error) &&
           load_list(value, "memory_gb", 1e9, RISING, &models->memory_gb, &models->memory_count,
                     error) &&
           load_gangs(value, models, error) &&
           load_list(value, "penalty", 1, ANY, &models->penalty, &models->penalty_count, error) &&
           json_require(value, "models", &child, error) && load_models(&child, models, error) &&
           (!json_child(value, "pairs", &child) || load_pairs(&child, models, error));
}

struct training_models *training_models_load(const struct json_value *value, struct error *error)
{
    struct json_value own = *value;
    own.arena = arena_create();
    struct training_models *models = arena_allocate(own.arena, 1, sizeof *models);
    models->arena = own.arena;
    keys_default(file_keys, models);
    models->default_pair = NAN;
    if (load_all(&own, models, error))
        return models;
    training_models_free(models);
    return NULL;
}

struct training_models *training_models_read(const char *path, struct error *error)
{
    struct json_include document;
    struct training_models *models = NULL;
    struct arena *arena = arena_create();
    if (json_include_open(&document, arena, NULL, path, error)) {
        const struct json_value root = json_include_root(&document);
        models = training_models_load(&root, error);
    }
    arena_destroy(arena);
    return models;
}

struct training_models *training_models_of_instances(struct error *error)
{
    static const char text[] =
        "{\"name\": \"instances\", \"evidence\": \"every instance runs for its time, whatever its "
        "share: assumed\", \"models\": {\"training\": {}, \"inference\": {}, \"llm-inference\": "
        "{}}}";
    cJSON *root = json_parse(text, "models of instances", error);
    const struct json_value value = json_root("models of instances", root);
    struct training_models *models = root == NULL ? NULL : training_models_load(&value, error);
    cJSON_Delete(root);
    for (int type = 0; models != NULL && type < INSTANCE_TYPES; type++) {
        models->models[type].type = (enum instance_type)type;
        models->models[type].timed = true;
    }
    return models;
}

struct training_models *training_models_timed(const char *const *names, size_t count,
                                              struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "name", TRAINING_TIMED);
    cJSON_AddStringToObject(root, "evidence",
                            "every training takes the time of its trace on its GPUs: assumed");
    cJSON *models = cJSON_AddObjectToObject(root, "models");
    cJSON_AddObjectToObject(models, TRAINING_TIMED);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], TRAINING_TIMED) != 0)
            cJSON_AddObjectToObject(models, names[i]);
    const struct json_value value = json_root(TRAINING_TIMED, root);
    struct training_models *timed = training_models_load(&value, error);
    cJSON_Delete(root);
    for (size_t i = 0; timed != NULL && i < timed->count; i++)
        timed->models[i].timed = true;
    if (timed != NULL)
        timed->default_pair = INFINITY;
    return timed;
}

void training_models_free(struct training_models *models)
{
    if (models != NULL)
        arena_destroy(models->arena);
}

/* ---- Queries --------------------------------------------------------------------------------- */

int32_t training_models_find(const struct training_models *models, const char *name)
{
    for (size_t i = 0; i < models->count; i++)
        if (strcmp(models->models[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

size_t training_gang(const struct training_models *models, uint32_t gpus)
{
    size_t g = 0;
    while (g + 1 < models->gang_count && models->gangs[g] < gpus)
        g++;
    return g;
}

double training_throughput(const struct training_models *models, uint32_t model, double vcpus,
                           double memory_gb)
{
    const struct training_model *own = &models->models[model];
    return own->throughput == NULL ? 1 : cell_value(models, own, vcpus, memory_gb);
}

double training_fair_speed(const struct training_models *models, uint32_t model,
                           const struct training_server *server)
{
    return training_throughput(models, model, server->vcpus / server->gpus,
                               server->memory_gb / server->gpus);
}

bool training_demand(const struct training_models *models, uint32_t model, double n,
                     const struct training_server *server, struct training_demand *demand)
{
    const struct training_model *own = &models->models[model];
    const double fair = training_fair_speed(models, model, server);
    const double vcpus = n * (server->vcpus / server->gpus);
    const double memory_gb = n * (server->memory_gb / server->gpus);
    const double ideal = own->demand_vcpus > 0 ? n * own->demand_vcpus : vcpus;
    const bool larger = n > server->gpus;
    bool limited = false;
    *demand = (struct training_demand){ideal, own->demand_gb > 0 ? n * own->demand_gb : memory_gb,
                                       own->speedup};
    if (demand->vcpus > server->vcpus) {
        demand->vcpus = larger ? vcpus : server->vcpus;
        demand->speed = larger ? fair : demand->speed;
        limited = !larger;
    }
    if (demand->memory_gb > server->memory_gb) {
        demand->memory_gb = larger ? memory_gb : server->memory_gb;
        demand->speed = larger ? fair : demand->speed;
        limited = !larger;
    }
    if (!limited)
        return true;
    if (ideal - vcpus == 0)
        return false;
    demand->speed = fair + (demand->speed - fair) / (ideal - vcpus) * (demand->vcpus - vcpus);
    return true;
}

double training_share_speed(const struct training_model *model, double part)
{
    const double at = part * (double)model->speed_count;
    const double below = floor(at);
    const size_t step = (size_t)below;
    if (step >= model->speed_count)
        return model->speed[model->speed_count - 1];
    const double low = step == 0 ? 0 : model->speed[step - 1];
    return low + (at - below) * (model->speed[step] - low);
}

bool training_splits(const struct training_model *model, uint32_t parts)
{
    return parts >= 1 && parts <= model->most_sub_batches && (parts & (parts - 1)) == 0;
}

double training_split_s(const struct training_model *model, uint32_t parts, double iteration_s)
{
    return iteration_s + (parts - 1) * model->step_s;
}

double training_split_mb(const struct training_model *model, uint32_t parts, double gpu_memory_mb)
{
    return parts == 1 ? gpu_memory_mb
                      : model->fixed_memory_mb + (gpu_memory_mb - model->fixed_memory_mb) / parts;
}

double training_gpu_speed(const struct training_models *models, uint32_t index, const char *gpu,
                          double speed, uint32_t gpus)
{
    const struct training_model *model = &models->models[index];
    for (size_t e = 0; e < model->elsewhere_count; e++)
        if (strcasecmp(model->elsewhere[e].gpu, gpu) == 0) {
            const size_t gang = training_gang(models, gpus);
            return model->iteration_s[gang] / model->elsewhere[e].iteration_s[gang];
        }
    return speed;
}

double training_penalty(const struct training_models *models, uint32_t model, uint32_t invokers)
{
    const struct training_model *own = &models->models[model];
    const double *penalty = own->penalty != NULL ? own->penalty : models->penalty;
    const size_t count = own->penalty != NULL ? own->penalty_count : models->penalty_count;
    return penalty == NULL ? 1 : penalty[(invokers < count ? invokers : count) - 1];
}

double training_pair(const struct training_models *models, uint32_t victim, uint32_t other,
                     uint32_t gpus, bool *measured)
{
    const size_t place =
        ((size_t)victim * models->count + other) * models->gang_count + training_gang(models, gpus);
    double slowdown = models->pairs != NULL ? models->pairs[place] : NAN;
    if (measured != NULL)
        *measured = !isnan(slowdown);
    if (isnan(slowdown))
        slowdown = models->derived != NULL ? models->derived[place] : models->default_pair;
    return isnan(slowdown) ? 1 : slowdown;
}

size_t training_pairs_missing(const struct training_models *models, size_t *pairs)
{
    size_t missing = 0;
    *pairs = 0;
    for (uint32_t a = 0; a < models->count; a++)
        for (uint32_t b = 0; b < models->count; b++) {
            bool measured = true;
            if (!models->models[a].used || !models->models[b].used || models->models[a].timed)
                continue;
            ++*pairs;
            (void)training_pair(models, a, b, 1, &measured);
            missing += !measured;
        }
    return missing;
}
