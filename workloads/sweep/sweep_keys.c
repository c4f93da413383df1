#include "workloads/sweep/sweep_keys.h"

#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/json_write.h"
#include "sim/base/utf8.h"
#include "workloads/spec/spec_internal.h"
#include "workloads/sweep/sweep_matrix.h"

/* One key's value. */
struct sweep_step {
    size_t key; /* index */
    const char *text;
};

/* What one value of a dimension sets. */
struct sweep_choice {
    struct sweep_step *steps;
    size_t count;
};

static const size_t NONE = (size_t)-1;

/* Keys whose value usually is a file. */
static const char *const file_keys[] = {"cluster", "functions", "profile", "applications", NULL};

bool sweep_key_is_list(const char *key)
{
    const size_t length = strcspn(key, ".");
    return key[length] == '\0' && !keys_have(experiment_keys, key, length);
}

bool sweep_key_replaces(const char *key, const char *earlier)
{
    const size_t length = strlen(key);
    return strncmp(key, earlier, length) == 0 &&
           (earlier[length] == '\0' || earlier[length] == '.');
}

/* An object at such a key is given in place of a file: "profile", "profiles.A100". */
static bool is_file_key(const char *key)
{
    return sweep_names(key, file_keys) || strncmp(key, "profiles.", 9) == 0;
}

/* Returns the index of the key, which the last dimension sets. NONE: too many. */
static size_t key_index(struct arena *arena, struct sweep_keys *keys, const char *name)
{
    size_t k = 0;
    while (k < keys->count && strcmp(keys->keys[k].name, name) != 0)
        k++;
    if (k < keys->count)
        return k;
    if (k == SWEEP_KEYS_LIMIT)
        return NONE;
    keys->keys[keys->count++] = (struct sweep_key){.name = arena_text(arena, "%s", name),
                                                   .number = true,
                                                   .dimension = keys->dimension_count - 1};
    return k;
}

/* What a value adds to, and where it is. */
struct adding {
    const struct sweep_plan *plan;
    struct sweep_keys *keys;
    struct sweep_choice *choice;
    struct json_value place;
    struct error *error;
};

static bool text_add(void *context, const char *name, const char *text, const cJSON *value)
{
    const struct adding *adding = context;
    struct arena *arena = adding->plan->arena;
    struct sweep_choice *choice = adding->choice;
    const size_t key = key_index(arena, adding->keys, name);
    if (key == NONE)
        return json_fault(&adding->place, adding->error,
                          "the matrix sets more than %d keys; split the sweep", SWEEP_KEYS_LIMIT);
    if (!utf8_is_name(name) || !utf8_is_name(text))
        return json_fault(&adding->place, adding->error,
                          "\"%s\" holds a control character; remove it", name);
    struct sweep_key *swept = &adding->keys->keys[key];
    const size_t length = strlen(text);
    swept->number = swept->number && cJSON_IsNumber(value);
    swept->length = swept->length > length ? swept->length : length;
    *ARENA_NEXT(arena, choice->steps, choice->count) =
        (struct sweep_step){key, arena_text(arena, "%s", text)};
    return true;
}

bool sweep_each_leaf(struct arena *arena, const char *name, const cJSON *value,
                     bool (*is_leaf)(const char *name),
                     bool (*each)(void *context, const char *name, const char *text,
                                  const cJSON *value),
                     void *context)
{
    bool good = true;
    if (!cJSON_IsObject(value) || value->child == NULL || (is_leaf != NULL && is_leaf(name)))
        return each(context, name,
                    cJSON_IsString(value) ? value->valuestring : json_print(arena, value), value);
    for (const cJSON *member = value->child; good && member != NULL; member = member->next)
        good = sweep_each_leaf(arena, arena_text(arena, "%s.%s", name, member->string), member,
                               is_leaf, each, context);
    return good;
}

/* Refuses a value that would replace what another dimension, or another key of its row, sets: a run
 * would bear the label of a value that it does not have. */
static bool entry_add(struct adding *adding, const char *name, const struct json_value *value)
{
    const struct sweep_keys *keys = adding->keys;
    for (size_t k = 0; k < keys->count; k++) {
        const struct sweep_key *key = &keys->keys[k];
        bool set = key->dimension != keys->dimension_count - 1;
        for (size_t s = 0; !set && s < adding->choice->count; s++)
            set = adding->choice->steps[s].key == k;
        if (set && sweep_key_replaces(name, key->name))
            return json_fault(value, adding->error,
                              "sets \"%s\", but \"%s\" of the matrix sets \"%s\"; set a key in "
                              "one place",
                              name, adding->plan->dimensions[key->dimension].key, key->name);
    }
    adding->place = *value;
    return sweep_each_leaf(adding->plan->arena, name, value->node, is_file_key, text_add, adding);
}

static bool row_add(struct adding *adding, const char *list, const struct json_value *row)
{
    char number[SWEEP_NUMBER];
    adding->place = *row;
    bool good = text_add(adding, list, sweep_row_name(row->node, row->index, number), NULL);
    for (struct json_value value = {0}; good && json_next(row, &value);) {
        const char *key = value.node->string;
        if (!sweep_names(key, sweep_row_texts))
            good = entry_add(adding, key, &value);
    }
    return good;
}

static bool dimension_add(struct sweep_keys *keys, const struct sweep_plan *plan,
                          struct error *error)
{
    const struct sweep_dimension *dimension = &plan->dimensions[keys->dimension_count];
    struct adding adding = {.plan = plan, .keys = keys, .error = error};
    bool good = true;
    keys->dimensions[keys->dimension_count++] = dimension->count;
    for (struct json_value value = {0}; good && json_next(&dimension->values, &value);) {
        adding.choice = &keys->choices[keys->choice_count++];
        good = dimension->rows ? row_add(&adding, dimension->key, &value)
                               : entry_add(&adding, dimension->key, &value);
    }
    return good;
}

struct sweep_keys *sweep_keys_find(struct arena *arena, const struct sweep_plan *plan,
                                   struct error *error)
{
    size_t values = 0;
    for (size_t d = 0; d < plan->dimension_count; d++)
        values += plan->dimensions[d].count;
    struct sweep_keys *keys = arena_allocate(arena, 1, sizeof *keys);
    keys->keys = arena_allocate(arena, SWEEP_KEYS_LIMIT, sizeof *keys->keys);
    keys->choices = arena_allocate(arena, values, sizeof *keys->choices);
    keys->dimensions = arena_allocate(arena, plan->dimension_count, sizeof *keys->dimensions);
    bool good = true;
    for (size_t d = 0; good && d < plan->dimension_count; d++)
        good = dimension_add(keys, plan, error);
    return good ? keys : NULL;
}

void sweep_keys_values(const struct sweep_keys *keys, size_t combination, const char **values)
{
    const struct sweep_choice *choices = keys->choices;
    size_t stride = 1;
    for (size_t d = 0; d < keys->dimension_count; d++)
        stride *= keys->dimensions[d];
    for (size_t k = 0; k < keys->count; k++)
        values[k] = NULL;
    for (size_t d = 0; d < keys->dimension_count; d++) {
        stride /= keys->dimensions[d];
        const struct sweep_choice *choice = &choices[combination / stride % keys->dimensions[d]];
        for (size_t s = 0; s < choice->count; s++)
            values[choice->steps[s].key] = choice->steps[s].text;
        choices += keys->dimensions[d];
    }
}
