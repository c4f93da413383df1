#include "results/store/hdf5_utf8.h"

#include <stdlib.h>
#include <string.h>

bool utf8_add_json(cJSON *object, const char *key, const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    char *clean = malloc(strlen(text) * strlen(replacement) + 1);
    char *end = clean;
    if (clean == NULL)
        return false;
    while (*text != '\0') {
        const size_t length = utf8_sequence(text);
        end = mempcpy(end, length == 0 ? replacement : text,
                      length == 0 ? strlen(replacement) : length);
        text += length == 0 ? 1 : length;
    }
    *end = '\0';
    const bool added = cJSON_AddStringToObject(object, key, clean) != NULL;
    free(clean);
    return added;
}
