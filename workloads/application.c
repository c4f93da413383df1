#include <stdlib.h>
#include <string.h>

#include "workloads/loader_internal.h"

static const char *const application_keys[] = {"name",     "stages", "weight", "note",
                                               "evidence", "source", NULL};
static const char *const stage_keys[] = {"name", "function", "after", "output_bytes",
                                         "note", "evidence", NULL};

/* Stages in the file's order, before topological sorting. */
struct draft {
    struct json_value place;
    char *name;
    double output_bytes;
    uint32_t after; /* bit p: stage p of the file is a predecessor */
};

static bool load_stage(const struct json_value *value, struct draft *drafts, size_t index,
                       struct error *error)
{
    struct draft *draft = &drafts[index];
    struct json_value function;
    draft->place = *value;
    if (!json_is_object(value, stage_keys, error) ||
        !load_name(value, "name", &draft->name, error) ||
        !json_require(value, "function", &function, error) ||
        json_as_string(&function, error) == NULL ||
        !json_number(value, "output_bytes", 0, 1e15, &draft->output_bytes, error))
        return false;
    for (size_t s = 0; s < index; s++)
        if (strcmp(drafts[s].name, draft->name) == 0)
            return json_fault(value, error, "two stages are named \"%s\"; rename one", draft->name);
    return true;
}

static bool load_after(struct draft *drafts, size_t count, size_t index, struct error *error)
{
    struct json_value after;
    struct draft *draft = &drafts[index];
    if (!json_child(&draft->place, "after", &after))
        return true;
    if (!json_is_array(&after, 0, WORKLOAD_MAX_STAGES, error))
        return false;
    for (size_t i = 0; i < json_size(&after); i++) {
        struct json_value entry = json_entry(&after, i);
        const char *name = json_as_string(&entry, error);
        const char *names[WORKLOAD_MAX_STAGES];
        size_t before = 0;
        if (name == NULL)
            return false;
        for (size_t s = 0; s < count; s++)
            names[s] = drafts[s].name;
        while (before < count && strcmp(drafts[before].name, name) != 0)
            before++;
        if (before == count)
            return load_unknown_name(&entry, "stage", name, names, (int)count, error);
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
                              drafts[stuck].name);
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
                              drafts[s].name, drafts[0].name);
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
        struct json_value function;
        position[order[n]] = (uint32_t)n;
        application->stage_count = n + 1;
        stage->name = draft->name;
        draft->name = NULL;
        stage->output_bytes = draft->output_bytes;
        stage->after = load_array(count, sizeof *stage->after, error);
        stage->next = load_array(count, sizeof *stage->next, error);
        if (stage->after == NULL || stage->next == NULL ||
            !json_require(&draft->place, "function", &function, error) ||
            (table != NULL && !function_table_use(table, &function, function.node->valuestring,
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
    for (size_t s = 0; s < count; s++) {
        struct json_value value = json_entry(stages, s);
        if (!load_stage(&value, drafts, s, error))
            return false;
    }
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
    application->weight = 1;
    if (!json_is_object(value, application_keys, error) ||
        !load_name(value, "name", &application->name, error) ||
        !json_number(value, "weight", 1e-9, 1e9, &application->weight, error) ||
        !json_require(value, "stages", &stages, error) ||
        !json_is_array(&stages, 1, WORKLOAD_MAX_STAGES, error))
        return false;
    size_t count = json_size(&stages);
    application->stages = load_array(count, sizeof *application->stages, error);
    struct draft *drafts = load_array(count, sizeof *drafts, error);
    bool done = application->stages != NULL && drafts != NULL &&
                load_stages(&stages, drafts, count, table, application, error);
    for (size_t s = 0; drafts != NULL && s < count; s++)
        free(drafts[s].name);
    free(drafts);
    return done;
}
