#include "traces/calibrate/derive/derive.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/json/atomic_file.h"
#include "traces/json/json.h"

cJSON *output_begin(const struct raw *raw, const char *template, struct error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", raw->folder, template);
    return json_parse_file(path, error);
}

static void fill_hole(cJSON *item, const char *name, const char *value)
{
    char hole[64];
    char *text = NULL;
    char *at = NULL;
    (void)snprintf(hole, sizeof hole, "<%s>", name);
    while ((at = strstr(item->valuestring, hole)) != NULL &&
           asprintf(&text, "%.*s%s%s", (int)(at - item->valuestring), item->valuestring, value,
                    at + strlen(hole)) >= 0) {
        (void)cJSON_SetValuestring(item, text);
        free(text);
    }
}

void output_fill(cJSON *item, const cJSON *values)
{
    char *end = NULL;
    for (cJSON *child = item == NULL ? NULL : item->child; child != NULL; child = child->next)
        output_fill(child, values);
    if (!cJSON_IsString(item))
        return;
    for (const cJSON *value = values->child; value != NULL; value = value->next)
        fill_hole(item, value->string, value->valuestring);
    if (item->valuestring[0] != '#')
        return;
    const double number = strtod(item->valuestring + 1, &end);
    if (end == item->valuestring + 1 || *end != '\0' || !isfinite(number))
        return;
    item->type = cJSON_Number;
    (void)cJSON_SetNumberValue(item, profile_round(number, 6));
}

cJSON *output_function(cJSON *profile, const char *name)
{
    cJSON *function = cJSON_Duplicate(cJSON_GetObjectItem(profile, "function"), true);
    (void)cJSON_AddItemToObject(cJSON_GetObjectItem(profile, "functions"), name, function);
    return function;
}

static const cJSON *first_of(const cJSON *function, const char *axis)
{
    return cJSON_GetObjectItem(cJSON_GetObjectItem(function, "grid"), axis)->child;
}

bool output_latencies(cJSON *function, output_latency *latency, const void *context,
                      struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *before = "[\n\t\t\t\t[[";
    if (out == NULL)
        return error_run(error, "out of memory for a latency grid");
    for (const cJSON *b = first_of(function, "batch"); b != NULL; b = b->next) {
        for (const cJSON *c = first_of(function, "vcpu"); c != NULL; c = c->next) {
            for (const cJSON *g = first_of(function, "vgpu"); g != NULL; g = g->next) {
                double ms = latency(context, b->valueint, c->valueint, g->valueint);
                (void)fprintf(out, isnan(ms) ? "%snull" : "%s%.6g", before, ms);
                before = ", ";
            }
            before = "], [";
        }
        before = "]],\n\t\t\t\t[[";
    }
    (void)fputs("]]\n\t\t\t]", out);
    bool fine = fclose(out) == 0 &&
                cJSON_ReplaceItemInObject(function, "latency_ms", cJSON_CreateRaw(text));
    free(text);
    return fine || error_run(error, "out of memory for a latency grid");
}

bool output_end(cJSON *profile, bool good, const char *folder, const char *name,
                struct error *error)
{
    struct atomic_file file;
    char path[PATH_MAX];
    cJSON_DeleteItemFromObject(profile, "function");
    char *text = good ? cJSON_PrintUnformatted(profile) : NULL;
    const char *hole = text == NULL ? NULL : strpbrk(text, "<#");
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (hole != NULL)
        good = error_input(error,
                           "%s: its template has a hole without a value, or with one that "
                           "is no number: %.40s",
                           name, hole);
    good = good && atomic_file_open(&file, path, error) &&
           atomic_file_end(&file, profile_print(profile, file.stream, error), error);
    free(text);
    cJSON_Delete(profile);
    return good;
}
