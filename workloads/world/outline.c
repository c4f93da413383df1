#include "workloads/world/outline.h"

#include <string.h>

#include "sim/base/arena.h"
#include "workloads/world/world_internal.h"

/* The digest of the profile for GPUs of this model; "" if one profile is for all. `root`: the
 * configuration. */
static const char *profile_of(const cJSON *root, const char *model)
{
    const cJSON *profiles = cJSON_GetObjectItemCaseSensitive(root, "profiles");
    const cJSON *profile = cJSON_GetObjectItemCaseSensitive(profiles, model);
    const char *digest = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(profile, "sha256"));
    return digest != NULL ? digest : "";
}

static bool same_profile(const void *root, const struct gpu_kind *a, const struct gpu_kind *b)
{
    return strcmp(profile_of(root, a->model), profile_of(root, b->model)) == 0;
}

/* The functions' names; the texts belong to the document. */
static bool load_names(const struct json_value *root, struct function_entries *functions,
                       struct error *error)
{
    struct json_value object, array, entry = {.node = NULL};
    if (!json_require(root, "functions", &object, error) ||
        !json_require(&object, "functions", &array, error))
        return false;
    functions->entries = arena_allocate(array.arena, json_size(&array), sizeof *functions->entries);
    while (json_next(&array, &entry)) {
        const char *name = NULL;
        if (!json_text(&entry, "name", &name, error) || name == NULL)
            return false;
        functions->entries[functions->count++].name = name;
    }
    return true;
}

static bool load_applications(const struct json_value *root, struct function_table *table,
                              struct error *error)
{
    struct workload *workload = table->workload;
    struct json_value array, entry = {.node = NULL};
    if (!json_child(root, "applications", &array))
        return true; /* it has only trainings */
    workload->applications =
        arena_allocate(array.arena, json_size(&array), sizeof *workload->applications);
    bool good = true;
    while (good && json_next(&array, &entry))
        good = application_load(&entry, &entry, table,
                                &workload->applications[workload->application_count++], error);
    return good;
}

bool outline_load(struct arena *arena, const char *configuration, struct outline *outline,
                  struct error *error)
{
    struct workload *workload = &outline->workload;
    struct function_entries functions = {NULL, 0};
    struct function_table table = {.entries = &functions, .workload = workload};
    struct json_value cluster, arrivals, process;
    *outline = (struct outline){.closed = false};
    const cJSON *json = json_parse_into(arena, configuration, "configuration", error);
    const struct json_value root = {.file = "configuration", .node = json, .arena = arena};
    bool good = json != NULL && json_require(&root, "cluster", &cluster, error) &&
                cluster_load(&cluster, workload, error) && load_names(&root, &functions, error) &&
                load_applications(&root, &table, error);
    if (!good)
        return false;
    workload_join_kinds(workload, same_profile, json);
    outline->closed = json_child(&root, "arrivals", &arrivals) &&
                      json_child(&arrivals, "process", &process) && cJSON_IsString(process.node) &&
                      strcmp(process.node->valuestring, "closed") == 0;
    return true;
}
