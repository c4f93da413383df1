#include <stdlib.h>
#include <string.h>

#include "workloads/loader_internal.h"

#define WEIGHT KEY_NUMBER("weight", application, weight, 1e-9, 1e9, 1, OPTIONAL)
const struct key application_keys[] = {KEY_NAME("name", application, name, REQUIRED),
                                       KEY_NEEDED("stages"),
                                       WEIGHT,
                                       KEY_NOTES,
                                       KEY_OWN("source"),
                                       KEY_END};
const struct key application_reference_keys[] = {KEY_OWN("ref"), WEIGHT, KEY_NOTES, KEY_END};
const struct key stage_keys[] = {
    KEY_NAME("name", stage, name, REQUIRED),
    KEY_NEEDED("function"),
    KEY_OWN("after"),
    KEY_NUMBER("output_bytes", stage, output_bytes, 0, 1e15, 0, OPTIONAL),
    KEY_NOTES,
    KEY_END};

/* Stages in the file's order, before topological sorting. */
struct draft {
    struct json_value place, function;
    struct stage stage; /* name and output only */
    uint32_t after;     /* bit p: stage p of the file is a predecessor */
};

static bool load_stage(const struct json_value *value, struct draft *drafts, size_t index,
                       struct error *error)
{
    struct draft *draft = &drafts[index];
    draft->place = *value;
    if (!keys_load(stage_keys, value, &draft->stage, error) ||
        !json_require(value, "function", &draft->function, error) ||
        json_as_string(&draft->function, error) == NULL)
        return false;
    return load_is_new(value, "stages", &drafts[0].stage.name, index, sizeof *drafts, error);
}

static bool load_after(struct draft *drafts, size_t count, size_t index, struct error *error)
{
    struct json_value after;
    struct draft *draft = &drafts[index];
    if (!json_child(&draft->place, "after", &after))
        return true;
    if (!json_is_array(&after, 0, WORKLOAD_MAX_STAGES, error))
        return false;
    for (struct json_value entry = {0}; json_next(&after, &entry);) {
        const char *name = json_as_string(&entry, error);
        size_t before = 0;
        if (name == NULL || !load_index(&entry, "stage", name, &drafts[0].stage.name, count,
                                        sizeof *drafts, &before, error))
            return false;
        if ((draft->after >> before & 1U) != 0)
            return json_fault(&entry, error, "stage \"%s\" is named twice; once is enough", name);
        draft->after |= 1U << before;
    }
    return true;
}

/* Kahn's algorithm; among the ready stages the file's order decides. order[i] is the file's index
 * of the i-th stage. */
static bool sort_stages(const struct draft *drafts, size_t count, size_t *order,
                        struct error *error)
{
    uint32_t placed = 0;
    for (size_t n = 0; n < count; n++) {
        size_t next = 0;
        while (next < count && ((placed >> next & 1U) != 0 || (drafts[next].after & ~placed) != 0))
            next++;
        if (next == count) {
            size_t stuck = 0;
            while ((placed >> stuck & 1U) != 0)
                stuck++;
            return json_fault(&drafts[stuck].place, error,
                              "stage \"%s\" can never start: it lies on or behind a cycle of "
                              "\"after\"; break the cycle",
                              drafts[stuck].stage.name);
        }
        placed |= 1U << next;
        order[n] = next;
    }
    return true;
}

/* Refuses a DAG of unconnected parts, which are separate applications. */
static bool check_connected(const struct draft *drafts, size_t count, struct error *error)
{
    uint32_t reached = 1;
    for (size_t round = 0; round < count; round++)
        for (size_t s = 0; s < count; s++) {
            uint32_t self = 1U << s;
            if ((reached & self) != 0)
                reached |= drafts[s].after;
            if ((reached & drafts[s].after) != 0)
                reached |= self;
        }
    for (size_t s = 0; s < count; s++)
        if ((reached >> s & 1U) == 0)
            return json_fault(&drafts[s].place, error,
                              "stage \"%s\" is unreachable from stage \"%s\"; join them by "
                              "\"after\" or make two applications",
                              drafts[s].stage.name, drafts[0].stage.name);
    return true;
}

static bool place_stages(struct draft *drafts, const size_t *order, size_t count,
                         struct function_table *table, struct application *application,
                         struct error *error)
{
    uint32_t position[WORKLOAD_MAX_STAGES] = {0};
    for (size_t n = 0; n < count; n++) {
        struct draft *draft = &drafts[order[n]];
        struct stage *stage = &application->stages[n];
        position[order[n]] = (uint32_t)n;
        application->stage_count = n + 1;
        *stage = draft->stage;
        draft->stage.name = NULL;
        stage->after = load_array(count, sizeof *stage->after, error);
        stage->next = load_array(count, sizeof *stage->next, error);
        if (stage->after == NULL || stage->next == NULL ||
            (table != NULL &&
             !function_table_use(table, &draft->function, draft->function.node->valuestring,
                                 &stage->function, error)))
            return false;
        for (size_t before = 0; before < count; before++)
            if ((draft->after >> before & 1U) != 0)
                stage->after[stage->after_count++] = position[before];
    }
    return true;
}

static bool load_stages(const struct json_value *stages, struct draft *drafts, size_t count,
                        struct function_table *table, struct application *application,
                        struct error *error)
{
    size_t order[WORKLOAD_MAX_STAGES] = {0};
    for (struct json_value value = {0}; json_next(stages, &value);)
        if (!load_stage(&value, drafts, value.index, error))
            return false;
    for (size_t s = 0; s < count; s++)
        if (!load_after(drafts, count, s, error))
            return false;
    return sort_stages(drafts, count, order, error) && check_connected(drafts, count, error) &&
           place_stages(drafts, order, count, table, application, error);
}

bool application_load(const struct json_value *value, struct function_table *table,
                      struct application *application, struct error *error)
{
    struct json_value stages;
    keys_default(application_keys, application);
    if (!keys_load(application_keys, value, application, error) ||
        !json_require(value, "stages", &stages, error))
        return false;
    application->stages =
        load_entries(&stages, 1, WORKLOAD_MAX_STAGES, sizeof *application->stages, error);
    if (application->stages == NULL)
        return false;
    size_t count = json_size(&stages);
    struct draft *drafts = load_array(count, sizeof *drafts, error);
    bool done = drafts != NULL && load_stages(&stages, drafts, count, table, application, error);
    for (size_t s = 0; drafts != NULL && s < count; s++)
        free(drafts[s].stage.name);
    free(drafts);
    return done;
}
