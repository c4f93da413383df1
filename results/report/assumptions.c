#include "results/report/assumptions.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/json.h"

enum { MOST = 1000 };

static bool text_take(const struct json_value *object, const char *key, char **text,
                      struct error *error)
{
    struct json_value value;
    return json_require(object, key, &value, error) && json_string(object, key, text, error);
}

static bool grades_take(const struct json_value *object, struct assumptions *assumptions,
                        struct error *error)
{
    if (!json_is_object(object, NULL, error))
        return false;
    assumptions->grades = calloc(json_size(object) + 1, sizeof *assumptions->grades);
    if (assumptions->grades == NULL)
        return error_run(error, "%s: out of memory", object->file);
    for (struct json_value value = {0}; json_next(object, &value);) {
        const char *meaning = json_as_string(&value, error);
        if (meaning == NULL)
            return false;
        struct grade *grade = &assumptions->grades[assumptions->grade_count++];
        grade->name = strdup(value.node->string);
        grade->meaning = strdup(meaning);
        if (grade->name == NULL || grade->meaning == NULL)
            return error_run(error, "%s: out of memory", object->file);
    }
    return true;
}

static bool entries_take(const struct json_value *array, struct assumptions *assumptions,
                         struct error *error)
{
    static const char *const keys[] = {"fact", "value", "grade", "of", NULL};
    static const char *const classes[] = {"requests", "trainings", NULL};
    if (!json_is_array(array, 1, MOST, error))
        return false;
    assumptions->entries = calloc(json_size(array), sizeof *assumptions->entries);
    if (assumptions->entries == NULL)
        return error_run(error, "%s: out of memory", array->file);
    for (struct json_value value = {0}; json_next(array, &value);) {
        struct assumption *entry = &assumptions->entries[assumptions->count++];
        int of = 0;
        if (!json_is_object(&value, keys, error) ||
            !text_take(&value, "fact", &entry->fact, error) ||
            !text_take(&value, "value", &entry->value, error) ||
            !text_take(&value, "grade", &entry->grade, error) ||
            !json_choice(&value, "of", classes, &of, error))
            return false;
        entry->of_trainings = of == 1;
    }
    return true;
}

struct assumptions *assumptions_load(const char *path, struct error *error)
{
    static const char *const keys[] = {"note", "grades", "assumptions", NULL};
    cJSON *node = json_parse_file(path, error);
    if (node == NULL)
        return NULL;
    const struct json_value root = json_root(path, node);
    struct json_value grades;
    struct json_value entries;
    struct assumptions *assumptions = calloc(1, sizeof *assumptions);
    if (assumptions == NULL) {
        (void)error_run(error, "%s: out of memory", path);
        cJSON_Delete(node);
        return NULL;
    }
    bool good =
        json_is_object(&root, keys, error) && json_require(&root, "grades", &grades, error) &&
        json_require(&root, "assumptions", &entries, error) &&
        grades_take(&grades, assumptions, error) && entries_take(&entries, assumptions, error);
    cJSON_Delete(node);
    if (good)
        return assumptions;
    assumptions_free(assumptions);
    return NULL;
}

void assumptions_free(struct assumptions *assumptions)
{
    if (assumptions == NULL)
        return;
    for (size_t i = 0; i < assumptions->count; i++) {
        free(assumptions->entries[i].fact);
        free(assumptions->entries[i].value);
        free(assumptions->entries[i].grade);
    }
    for (size_t i = 0; i < assumptions->grade_count; i++) {
        free(assumptions->grades[i].name);
        free(assumptions->grades[i].meaning);
    }
    free(assumptions->entries);
    free(assumptions->grades);
    free(assumptions);
}
