/* Loader for the "params" object of an experiment: settings of a policy or a keep-alive policy. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "workloads/load/loader_internal.h"

enum { SETTINGS_LIMIT = 256 };

static bool take_setting(const struct json_value *value, struct setting *setting,
                         struct error *error)
{
    setting->key = value->node->string;
    if (cJSON_IsString(value->node))
        return (setting->text = json_as_string(value, error)) != NULL;
    const bool number = cJSON_IsNumber(value->node);
    setting->number = number ? value->node->valuedouble : cJSON_IsTrue(value->node);
    return number || cJSON_IsBool(value->node) ||
           json_fault(value, error, "must be a number, a string, true or false");
}

static int compare_settings(const void *a, const void *b)
{
    return strcmp(((const struct setting *)a)->key, ((const struct setting *)b)->key);
}

bool settings_load(const struct json_value *params, struct setting **settings, size_t *count,
                   struct error *error)
{
    if (!json_is_object(params, NULL, error))
        return false;
    if (json_size(params) > SETTINGS_LIMIT)
        return json_fault(params, error, "has more than %d parameters", SETTINGS_LIMIT);
    *settings = arena_allocate(params->arena, json_size(params), sizeof **settings);
    for (struct json_value value = {0}; json_next(params, &value);)
        if (!take_setting(&value, &(*settings)[(*count)++], error))
            return false;
    qsort(*settings, *count, sizeof **settings, compare_settings);
    return true;
}
