#include "workloads/sweep/sweep_matrix.h"

#include <stdio.h>
#include <string.h>

#include "workloads/spec/spec_internal.h"
#include "workloads/sweep/sweep_keys.h"

const char *const sweep_row_texts[] = {"name", "note", "evidence", NULL};

bool sweep_names(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Checks that a dotted key sets a part of an experiment other than its seed. */
static bool check_key(const struct json_value *place, const char *key, struct error *error)
{
    size_t length = strcspn(key, ".");
    if (strcmp(key, "seed") == 0)
        return json_fault(place, error, "the matrix cannot set the seed; use \"seeds\"");
    if (keys_have(experiment_keys, key, length))
        return true;
    char first[NAME_LIMIT + 1];
    const char *names[KEYS_MOST + 1];
    const int count = keys_names(experiment_keys, names);
    (void)snprintf(first, sizeof first, "%.*s", (int)(length > NAME_LIMIT ? NAME_LIMIT : length),
                   key);
    return load_unknown_name(place, "key of an experiment", first, names, count, error);
}

static bool check_row(const struct json_value *row, struct error *error)
{
    struct json_value text;
    if (!json_is_object(row, NULL, error))
        return false;
    if (json_child(row, "name", &text) && json_as_string(&text, error) == NULL)
        return false;
    for (size_t i = 1; sweep_row_texts[i] != NULL; i++)
        if (json_child(row, sweep_row_texts[i], &text) && json_as_text(&text, error) == NULL)
            return false;
    for (struct json_value value = {0}; json_next(row, &value);)
        if (!check_key(&value, value.node->string, error))
            return false;
    return true;
}

const char *sweep_row_name(const cJSON *row, size_t index, char number[SWEEP_NUMBER])
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "name");
    (void)snprintf(number, SWEEP_NUMBER, "%zu", index + 1);
    return name != NULL ? name->valuestring : number;
}

/* Runs with the same name would count as seeds of one setting. */
static bool check_row_names(const struct sweep_dimension *dimension, size_t index,
                            const struct json_value *row, struct error *error)
{
    char number[SWEEP_NUMBER];
    char other[SWEEP_NUMBER];
    const char *name = sweep_row_name(row->node, index, number);
    const cJSON *earlier = dimension->values.node->child;
    for (size_t i = 0; i < index; i++, earlier = earlier->next)
        if (strcmp(sweep_row_name(earlier, i, other), name) == 0)
            return json_fault(row, error,
                              "is named \"%s\", as %s[%zu] is; give each a name of its own", name,
                              dimension->values.path, i);
    return true;
}

static bool check_dimension(struct sweep_dimension *dimension, struct error *error)
{
    const struct json_value *values = &dimension->values;
    if (!json_is_array(values, 1, VALUES_LIMIT, error))
        return false;
    dimension->count = json_size(values);
    dimension->rows = cJSON_IsObject(values->node->child) && sweep_key_is_list(dimension->key);
    if (!dimension->rows && !check_key(values, dimension->key, error))
        return false;
    for (struct json_value value = {0}; json_next(values, &value);) {
        if (dimension->rows && !check_row(&value, error))
            return false;
        if (dimension->rows && !check_row_names(dimension, value.index, &value, error))
            return false;
        for (const cJSON *other = values->node->child; other != value.node; other = other->next)
            if (cJSON_Compare(other, value.node, true))
                return json_fault(&value, error, "occurs twice; list each value once");
    }
    return true;
}

static bool is_policy_key(const char *key)
{
    return strcmp(key, "policy") == 0 || strncmp(key, "policy.", strlen("policy.")) == 0;
}

bool sweep_dimension_is_policy(const struct sweep_dimension *dimension)
{
    if (!dimension->rows)
        return is_policy_key(dimension->key);
    for (const cJSON *row = dimension->values.node->child; row != NULL; row = row->next)
        for (const cJSON *entry = row->child; entry != NULL; entry = entry->next)
            if (!is_policy_key(entry->string) && !sweep_names(entry->string, sweep_row_texts))
                return false;
    return true;
}

bool sweep_matrix_load(const struct json_value *root, struct sweep_plan *plan, struct error *error)
{
    struct json_value matrix;
    plan->combinations = 1;
    if (!json_child(root, "matrix", &matrix))
        return true;
    if (!json_is_object(&matrix, NULL, error))
        return false;
    for (struct json_value value = {0}; json_next(&matrix, &value);) {
        if (plan->dimension_count == DIMENSIONS_LIMIT)
            return json_fault(&matrix, error, "has more than %d keys", DIMENSIONS_LIMIT);
        struct sweep_dimension *dimension = &plan->dimensions[plan->dimension_count++];
        dimension->values = value;
        dimension->key = value.node->string;
        if (!check_dimension(dimension, error))
            return false;
        plan->combinations *= dimension->count;
        if (plan->combinations > RUNS_LIMIT)
            return json_fault(&matrix, error, "has more than %d combinations; split the sweep",
                              RUNS_LIMIT);
    }
    return true;
}
