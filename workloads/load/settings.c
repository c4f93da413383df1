/* Loader for the "params" object of an experiment: settings of a policy or a keep-alive policy. */
#include <stdlib.h>
#include <string.h>

#include "workloads/load/loader_internal.h"

enum { SETTINGS_LIMIT = 256 };

static bool take_setting(const struct json_value *value, struct setting *setting,
                         struct error *error)
{
    if (cJSON_IsNumber(value->node))
        setting->number = value->node->valuedouble;
    else if (cJSON_IsBool(value->node))
        setting->number = cJSON_IsTrue(value->node) ? 1 : 0;
    else if (!cJSON_IsString(value->node))
        return json_fault(value, error, "must be a number, a string, true or false");
    else if (json_as_string(value, error) == NULL)
        return false;
    else if ((setting->text = strdup(value->node->valuestring)) == NULL)
        return error_input(error, "out of memory");
    setting->key = strdup(value->node->string);
    return setting->key != NULL || error_input(error, "out of memory");
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
    *settings = load_array(json_size(params), sizeof **settings, error);
    if (*settings == NULL)
        return false;
    for (struct json_value value = {0}; json_next(params, &value);)
        if (!take_setting(&value, &(*settings)[(*count)++], error))
            return false;
    qsort(*settings, *count, sizeof **settings, compare_settings);
    return true;
}

void settings_free(struct setting *settings, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        free(settings[s].key);
        free(settings[s].text);
    }
    free(settings);
}
