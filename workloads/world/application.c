#include <string.h>

#include "sim/base/arena.h"
#include "workloads/world/world_internal.h"

#define WEIGHT KEY_NUMBER("weight", application, weight, 1e-9, 1e9, 1, OPTIONAL)
const struct key application_keys[] = {KEY_NAME("name", application, name, REQUIRED),
                                       KEY_NEEDED("stages"),
                                       WEIGHT,
                                       KEY_NOTES,
                                       KEY_OWN("source"),
                                       KEY_OWN("granularity"),
                                       KEY_END};
const struct key application_reference_keys[] = {
    KEY_OWN("ref"), WEIGHT, KEY_OWN("count"), KEY_NOTES, KEY_OWN("granularity"), KEY_END};
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
    const char *group;  /* the function of several stages that it belongs to; NULL: its own */
    size_t first;       /* of the group, in topological order */
    const char *fused;  /* functions of the group, at its first; NULL: one */
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

/* Kahn's algorithm on the stages that are not `placed`; among the ready ones the file's order
 * decides. order[i] is the file's index of the i-th stage. Returns whether all can be placed. */
static bool sort_stages(const struct draft *drafts, size_t count, uint32_t *placed, size_t *order)
{
    for (size_t n = 0; *placed + 1 < UINT32_C(1) << count; n++) {
        size_t next = 0;
        while (next < count &&
               ((*placed >> next & 1U) != 0 || (drafts[next].after & ~*placed) != 0))
            next++;
        if (next == count)
            return false;
        *placed |= 1U << next;
        order[n] = next;
    }
    return true;
}

static bool fault_cycle(const struct draft *drafts, uint32_t placed, struct error *error)
{
    const struct draft *stuck = &drafts[__builtin_ctz(~placed)];
    return json_fault(&stuck->place, error,
                      "stage \"%s\" can never start: it lies on or behind a cycle of \"after\"; "
                      "break the cycle",
                      stuck->stage.name);
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

/* ---- Granularity ---------------------------------------------------------------------------- */

static bool load_group(const struct json_value *list, struct draft *drafts, size_t count,
                       struct error *error)
{
    size_t s = 0;
    const size_t length = strlen(list->node->string);
    if (length == 0 || length > NAME_LIMIT)
        return json_fault(list, error, "a group's name has 1..%d characters", NAME_LIMIT);
    if (!json_is_name(list, list->node->string, error) ||
        !json_is_array(list, 1, WORKLOAD_MAX_STAGES, error))
        return false;
    for (struct json_value entry = {0}; json_next(list, &entry);) {
        const char *name = json_as_string(&entry, error);
        if (name == NULL || !load_index(&entry, "stage", name, &drafts[0].stage.name, count,
                                        sizeof *drafts, &s, error))
            return false;
        if (drafts[s].group != NULL)
            return json_fault(&entry, error, "stage \"%s\" has a group; name it once", name);
        drafts[s].group = list->node->string;
    }
    return true;
}

/* Loads the member "granularity" of an object that may have it. */
static bool load_granularity(const struct json_value *object, const struct application *application,
                             struct draft *drafts, size_t count, struct error *error)
{
    static const char *const words[] = {"stages", "fused", NULL};
    struct json_value value;
    int fused = 0;
    if (!json_child(object, "granularity", &value))
        return true;
    const bool named = cJSON_IsObject(value.node);
    bool good = named ? json_is_object(&value, NULL, error)
                      : json_choice(object, "granularity", words, &fused, error);
    for (size_t s = 0; fused != 0 && s < count; s++)
        drafts[s].group = application->name;
    for (struct json_value list = {0}; good && named && json_next(&value, &list);)
        good = load_group(&list, drafts, count, error);
    return good;
}

/* Joins the stages of each group at its first in the order; `joined` receives the others. */
static void join_groups(struct draft *drafts, const size_t *order, size_t count, uint32_t *joined)
{
    for (size_t n = 0; n < count; n++) {
        struct draft *draft = &drafts[order[n]];
        size_t m = 0;
        while (m < n && (draft->group == NULL || drafts[order[m]].group != draft->group))
            m++;
        draft->first = order[m];
        if (m == n)
            continue;
        struct draft *first = &drafts[order[m]];
        *joined |= 1U << order[n];
        first->fused =
            arena_text(draft->place.arena, "%s+%s",
                       first->fused != NULL ? first->fused : first->function.node->valuestring,
                       draft->function.node->valuestring);
    }
}

/* A group waits for all that its stages wait for, and sends what those send to others. */
static void join_edges(struct draft *drafts, size_t count)
{
    double sent[WORKLOAD_MAX_STAGES] = {0};
    uint32_t after[WORKLOAD_MAX_STAGES] = {0};
    for (size_t s = 0; s < count; s++) {
        const struct draft *draft = &drafts[s], *first = &drafts[draft->first];
        bool leaves = first->fused == NULL;
        for (size_t t = 0; t < count; t++)
            if (drafts[t].first != draft->first && (drafts[t].after >> s & 1U) != 0) {
                after[drafts[t].first] |= 1U << draft->first;
                leaves = true;
            }
        sent[draft->first] += leaves ? draft->stage.output_bytes : 0;
    }
    for (size_t s = 0; s < count; s++) {
        drafts[s].after = after[s];
        drafts[s].stage.output_bytes = sent[s];
    }
}

/* Names a group and what it waits for although that waits for the group: after as many steps to an
 * unplaced predecessor as there are stages, all are on the cycle, which has a group. */
static bool fault_group(const struct json_value *place, const char *application,
                        const struct draft *drafts, size_t count, uint32_t placed,
                        struct error *error)
{
    size_t at = (size_t)__builtin_ctz(~placed);
    for (size_t step = 0; step < count || drafts[at].fused == NULL; step++)
        at = (size_t)__builtin_ctz(drafts[at].after & ~placed);
    return json_fault(place, error,
                      "\"granularity\" of application \"%s\": a path leaves group \"%s\" and "
                      "returns to it from stage \"%s\"; add that stage, or divide the group",
                      application, drafts[at].group,
                      drafts[__builtin_ctz(drafts[at].after & ~placed)].stage.name);
}

/* ---- Whole ---------------------------------------------------------------------------------- */

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
        if (draft->group != NULL)
            stage->name = draft->group;
        stage->after = arena_allocate(draft->place.arena, count, sizeof *stage->after);
        stage->next = arena_allocate(draft->place.arena, count, sizeof *stage->next);
        if (!load_is_new(&draft->place, "stages", &application->stages[0].name, n, sizeof *stage,
                         error) ||
            (table != NULL &&
             !function_table_use(table, &draft->function,
                                 draft->fused != NULL ? draft->fused
                                                      : draft->function.node->valuestring,
                                 &stage->function, error)))
            return false;
        for (size_t before = 0; before < WORKLOAD_MAX_STAGES; before++)
            if ((draft->after >> before & 1U) != 0)
                stage->after[stage->after_count++] = position[before];
    }
    return true;
}

static bool load_stages(const struct json_value *stages, const struct json_value *granularity,
                        struct draft *drafts, struct function_table *table,
                        struct application *application, struct error *error)
{
    const size_t count = json_size(stages);
    size_t order[WORKLOAD_MAX_STAGES] = {0};
    uint32_t placed = 0;
    for (struct json_value value = {0}; json_next(stages, &value);)
        if (!load_stage(&value, drafts, value.index, error))
            return false;
    for (size_t s = 0; s < count; s++)
        if (!load_after(drafts, count, s, error))
            return false;
    if (!sort_stages(drafts, count, &placed, order))
        return fault_cycle(drafts, placed, error);
    if (!check_connected(drafts, count, error) ||
        !load_granularity(granularity, application, drafts, count, error))
        return false;
    uint32_t joined = 0;
    join_groups(drafts, order, count, &joined);
    join_edges(drafts, count);
    placed = joined;
    if (!sort_stages(drafts, count, &placed, order))
        return fault_group(granularity, application->name, drafts, count, placed, error);
    return place_stages(drafts, order, count - (size_t)__builtin_popcount(joined), table,
                        application, error);
}

bool application_load(const struct json_value *value, const struct json_value *granularity,
                      struct function_table *table, struct application *application,
                      struct error *error)
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
    struct draft *drafts = arena_allocate(value->arena, json_size(&stages), sizeof *drafts);
    return load_stages(&stages, granularity, drafts, table, application, error);
}
