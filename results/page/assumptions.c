#include "results/page/assumptions.h"

#include "sim/base/json.h"
#include "sim/base/keys.h"

enum { MOST = 1000 };

#define OF assumption
static const char *const classes[] = {"requests", "trainings", NULL};
static const struct key entry_keys[] = {
    KEY_TEXT("fact", OF, fact, REQUIRED), KEY_TEXT("value", OF, value, REQUIRED),
    KEY_TEXT("grade", OF, grade, REQUIRED), KEY_WORD("of", OF, of_trainings, classes, 0, OPTIONAL),
    KEY_END};
#undef OF

static bool grades_take(const struct json_value *object, struct assumptions *assumptions,
                        struct error *error)
{
    if (!json_is_object(object, NULL, error))
        return false;
    assumptions->grades =
        arena_allocate(assumptions->arena, json_size(object), sizeof *assumptions->grades);
    for (struct json_value value = {0}; json_next(object, &value);) {
        const struct grade grade = {value.node->string, json_as_string(&value, error)};
        if (grade.meaning == NULL)
            return false;
        assumptions->grades[assumptions->grade_count++] = grade;
    }
    return true;
}

static bool entries_take(const struct json_value *array, struct assumptions *assumptions,
                         struct error *error)
{
    if (!json_is_array(array, 1, MOST, error))
        return false;
    assumptions->entries =
        arena_allocate(assumptions->arena, json_size(array), sizeof *assumptions->entries);
    for (struct json_value value = {0}; json_next(array, &value);)
        if (!keys_load(entry_keys, &value, &assumptions->entries[assumptions->count++], error))
            return false;
    return true;
}

struct assumptions *assumptions_load(const char *path, struct error *error)
{
    static const char *const keys[] = {"note", "grades", "assumptions", NULL};
    struct json_value grades, entries;
    struct assumptions *assumptions = arena_home(sizeof *assumptions);
    const struct json_value root = json_load(assumptions->arena, path, error);
    if (root.node != NULL && json_is_object(&root, keys, error) &&
        json_require(&root, "grades", &grades, error) &&
        json_require(&root, "assumptions", &entries, error) &&
        grades_take(&grades, assumptions, error) && entries_take(&entries, assumptions, error))
        return assumptions;
    arena_destroy(assumptions->arena);
    return NULL;
}
