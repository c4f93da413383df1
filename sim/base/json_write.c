#include "sim/base/json_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/json.h"
#include "sim/base/utf8.h"

void json_put(cJSON *object, const char *members, ...)
{
    va_list values;
    va_start(values, members);
    while (*members != '\0') {
        char key[64] = "", conversion[8] = "";
        const size_t length = strcspn(members, " ");
        memcpy(key, members, length < sizeof key ? length : sizeof key - 1);
        members += length + 1;
        const size_t end = strcspn(members, " ");
        memcpy(conversion, members, end < sizeof conversion ? end : sizeof conversion - 1);
        members += end + strspn(members + end, " ");
        cJSON *value = NULL;
        if (strcmp(conversion, "%s") == 0)
            value = cJSON_CreateString(va_arg(values, const char *));
        else if (strcmp(conversion, "%g") == 0)
            value = cJSON_CreateNumber(va_arg(values, double));
        else if (strcmp(conversion, "%hhd") == 0)
            value = cJSON_CreateBool(va_arg(values, int));
        else if (strcmp(conversion, "%zu") == 0)
            value = cJSON_CreateNumber((double)va_arg(values, size_t));
        else if (strcmp(conversion, "%" PRIu64) == 0)
            value = json_whole(va_arg(values, uint64_t));
        else if (strcmp(conversion, "%u") == 0)
            value = cJSON_CreateNumber(va_arg(values, unsigned));
        else
            value = cJSON_CreateNumber(va_arg(values, int));
        if (!cJSON_AddItemToObject(object, key, value))
            cJSON_Delete(value);
    }
    va_end(values);
}

cJSON *json_append(cJSON *array)
{
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(array, object);
    return object;
}

char *json_print(struct arena *arena, const cJSON *root)
{
    char *text = cJSON_PrintUnformatted(root);
    arena_adopt(arena, text, cJSON_free);
    return text;
}

bool json_write(cJSON *root, FILE *out, const char *what, struct error *error)
{
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    (void)fprintf(out, "%s\n", text);
    cJSON_free(text);
    return !ferror(out) || error_write(error, what, errno);
}

void utf8_add_json(cJSON *object, const char *key, const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    struct arena *arena = arena_create();
    char *clean = arena_allocate(arena, strlen(text) * strlen(replacement) + 1, 1);
    char *end = clean;
    while (*text != '\0') {
        const size_t length = utf8_sequence(text);
        end = mempcpy(end, length == 0 ? replacement : text,
                      length == 0 ? strlen(replacement) : length);
        text += length == 0 ? 1 : length;
    }
    (void)cJSON_AddStringToObject(object, key, clean);
    arena_destroy(arena);
}
