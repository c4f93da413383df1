/* The profiles of an experiment, those of the world and those that policies plan with, and the
 * kinds of GPU that they make of the cluster's GPUs. */
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "traces/profile/interference.h"
#include "traces/profile/profile.h"
#include "workloads/load/inputs.h"
#include "workloads/spec/spec_internal.h"

/* Utilisation counts units of unlike kinds in their least common multiple. Sums over the greatest
 * cluster fit 64 bits up to this. */
enum { COMMON_UNITS_LIMIT = 1000000000 };

/* ---- Loading -------------------------------------------------------------------------------- */

static void profile_end(void *profile)
{
    profile_free(profile);
}

/* A profile that the experiment itself holds. */
static const struct profile *parse_object(const struct json_value *value, char sha256[65],
                                          struct error *error)
{
    char *text = json_print_sorted(value->arena, (cJSON *)(uintptr_t)value->node);
    hash_bytes(text, strlen(text), sha256);
    struct profile *profile = profile_parse(text, value->file, error);
    arena_adopt(value->arena, profile, profile_end);
    return profile;
}

/* The profile that the member `key` holds or names, and its digest. */
static const struct profile *member_profile(struct json_include *document,
                                            const struct json_value *object, const char *key,
                                            char sha256[65], struct error *error)
{
    struct json_value value;
    if (!json_child(object, key, &value))
        return NULL;
    if (cJSON_IsObject(value.node))
        return json_include_member(document, object, key, &value, error)
                   ? parse_object(&value, sha256, error)
                   : NULL;
    const char *path = json_include_find_file(document, &value, error);
    return path == NULL ? NULL : inputs_profile(document->inputs, path, sha256, error);
}

/* Appends the profile that the member `key` holds or names. */
static bool add_profile(struct json_include *document, const struct json_value *object,
                        const char *key, const char *model, struct experiment_profiles *list,
                        struct error *error)
{
    struct experiment_profile *next = &list->entries[list->count];
    next->profile = member_profile(document, object, key, next->sha256, error);
    next->model = model;
    list->count += next->profile != NULL;
    return next->profile != NULL;
}

static bool is_comment(const char *key)
{
    return strcmp(key, "note") == 0 || strcmp(key, "evidence") == 0;
}

static bool has_model(const struct workload *workload, const char *model)
{
    for (size_t k = 0; k < workload->kind_count; k++)
        if (model[0] != '\0' && strcmp(workload->kinds[k].model, model) == 0)
            return true;
    return false;
}

static bool fault_unused(const struct json_value *value, const struct workload *workload,
                         const char *model, struct error *error)
{
    const char *names[WORKLOAD_MAX_KINDS];
    int count = 0;
    for (size_t k = 0; k < workload->kind_count; k++)
        if (workload->kinds[k].model[0] != '\0')
            names[count++] = workload->kinds[k].model;
    return load_unknown_name(value, "\"model\" of a GPU of the cluster; remove it or name one",
                             model, names, count, error);
}

static bool load_by_model(struct json_include *document, const struct json_value *value,
                          const struct workload *workload, struct experiment_profiles *list,
                          struct error *error)
{
    if (!json_is_object(value, NULL, error))
        return false;
    list->entries = arena_allocate(value->arena, json_size(value), sizeof *list->entries);
    for (struct json_value child = {0}; json_next(value, &child);) {
        const char *model = child.node->string;
        if (is_comment(model))
            continue;
        if (!has_model(workload, model))
            return fault_unused(&child, workload, model, error);
        if (!add_profile(document, value, model, model, list, error))
            return false;
    }
    return true;
}

/* Loads the member `profile`, which is for GPUs of every model. */
static bool load_one(struct json_include *document, const struct json_value *object,
                     struct experiment_profiles *list, struct error *error)
{
    list->entries = arena_allocate(object->arena, 1, sizeof *list->entries);
    return add_profile(document, object, "profile", "", list, error);
}

/* Loads the profiles that policies plan with: one, or an object of one for each model of GPU. */
static bool load_planned(struct json_include *document, struct experiment *experiment,
                         struct error *error)
{
    const struct json_value root = json_include_root(document);
    struct json_value planning, value, functions;
    if (!json_include_member(document, &root, "planning", &planning, error))
        return false;
    if (planning.node == NULL || !json_child(&planning, "profile", &value))
        return true;
    return cJSON_IsObject(value.node) && !json_child(&value, "functions", &functions)
               ? load_by_model(document, &value, &experiment->workload,
                               &experiment->planning.profiles, error)
               : load_one(document, &planning, &experiment->planning.profiles, error);
}

/* ---- Kinds ---------------------------------------------------------------------------------- */

const struct profile *profiles_find(const struct experiment_profiles *list, const char *model)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct experiment_profile *found = &list->entries[i];
        if (found->model[0] != '\0' && strcmp(found->model, model) != 0)
            continue;
        for (size_t first = 0; first < i; first++)
            if (strcmp(list->entries[first].sha256, found->sha256) == 0)
                return list->entries[first].profile;
        return found->profile;
    }
    return NULL;
}

static bool assign_profiles(const struct json_value *value, struct experiment *experiment,
                            struct error *error)
{
    struct workload *workload = &experiment->workload;
    for (size_t k = 0; k < workload->kind_count; k++) {
        struct gpu_kind *kind = &workload->kinds[k];
        kind->profile = profiles_find(&experiment->profiles, kind->model);
        if (kind->profile == NULL && kind->model[0] == '\0')
            return json_fault(
                value, error,
                "a GPU of the cluster has no \"model\", which \"profiles\" needs; give "
                "each GPU its \"model\"");
        if (kind->profile == NULL)
            return json_fault(value, error,
                              "has no profile for GPU model \"%s\" of the cluster; add \"%s\": "
                              "FILE",
                              kind->model, kind->model);
        kind->interference = kind->profile->interference;
    }
    return true;
}

/* A kind is what latency, as it is and as it is planned with, and price depend on. `planned` is the
 * list of profiles that planning uses. */
static bool same_profiles(const void *planned, const struct gpu_kind *a, const struct gpu_kind *b)
{
    return a->profile == b->profile &&
           profiles_find(planned, a->model) == profiles_find(planned, b->model);
}

static bool check_common_units(const struct json_value *root, const struct workload *workload,
                               struct error *error)
{
    return workload_common_units(workload) <= COMMON_UNITS_LIMIT ||
           json_fault(root, error,
                      "the least common multiple of the \"units\" of the cluster's GPUs is above "
                      "%d; slice them in fewer unlike numbers of units",
                      COMMON_UNITS_LIMIT);
}

/* Checks that contexts of one GPU are a pool that was measured. */
static bool check_contexts(const struct json_value *root, const struct workload *workload,
                           struct error *error)
{
    const struct cluster_spec *cluster = &workload->cluster;
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct gpu_kind *kind = &workload->kinds[k];
        uint32_t contexts = 0;
        if (kind->interference == NULL || kind->interference->kind != INTERFERENCE_CONTEXTS)
            continue;
        for (size_t g = 0; g < cluster->group_count; g++)
            for (size_t i = 0; i < cluster->groups[g].gpu_count; i++)
                if (cluster->groups[g].gpus[i].kind == k)
                    contexts += cluster->groups[g].count;
        if (interference_pool(kind->interference, contexts, kind->units) == NULL)
            return json_fault(root, error,
                              "the profile has no pool of %u contexts of %u units, which the "
                              "cluster's GPUs are; see its \"interference\"",
                              contexts, kind->units);
    }
    return true;
}

/* ---- Whole ---------------------------------------------------------------------------------- */

static bool evidence_is_new(const struct experiment_profiles *list, size_t index)
{
    const char *evidence = list->entries[index].profile->evidence;
    for (size_t i = 0; i < index; i++)
        if (strcmp(list->entries[i].profile->evidence, evidence) == 0)
            return false;
    return evidence[0] != '\0';
}

void profiles_describe(struct experiment *experiment)
{
    const struct experiment_profiles *list = &experiment->profiles;
    struct arena *arena = experiment->arena;
    experiment->profile_sha256 = arena_text(arena, "%s", "");
    experiment->profile_evidence = arena_text(arena, "%s", "");
    for (size_t i = 0; i < list->count; i++) {
        const struct experiment_profile *one = &list->entries[i];
        arena_append(arena, &experiment->profile_sha256, "%s%s%s%s", i > 0 ? ", " : "", one->model,
                     one->model[0] != '\0' ? " " : "", one->sha256);
        if (evidence_is_new(list, i))
            arena_append(arena, &experiment->profile_evidence, "%s%s",
                         experiment->profile_evidence[0] != '\0' ? " and " : "",
                         one->profile->evidence);
    }
}

bool profiles_load(struct json_include *document, struct experiment *experiment,
                   struct error *error)
{
    const struct json_value root = json_include_root(document);
    struct json_value one, several;
    const bool has_one = json_child(&root, "profile", &one);
    const bool has_several = json_child(&root, "profiles", &several);
    if (has_one && has_several)
        return json_fault(&several, error,
                          "excludes \"profile\", which is for GPUs of every model; remove one of "
                          "them");
    if (has_several &&
        !load_by_model(document, &several, &experiment->workload, &experiment->profiles, error))
        return false;
    if (has_one && !load_one(document, &root, &experiment->profiles, error))
        return false;
    if ((has_one || has_several) && !assign_profiles(has_one ? &one : &several, experiment, error))
        return false;
    if (!load_planned(document, experiment, error))
        return false;
    workload_join_kinds(&experiment->workload, same_profiles, &experiment->planning.profiles);
    return check_contexts(&root, &experiment->workload, error) &&
           check_common_units(&root, &experiment->workload, error);
}
