#include "traces/calibrate/derive/derive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static const cJSON *first_of(const cJSON *function, const char *axis)
{
    return cJSON_GetObjectItem(cJSON_GetObjectItem(function, "grid"), axis)->child;
}

/* NULL: out of memory. */
static char *latency_text(const cJSON *function, output_latency *latency, const void *context)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *before = "[\n\t\t\t\t[[";
    for (const cJSON *b = first_of(function, "batch"); out != NULL && b != NULL; b = b->next) {
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
    if (out != NULL && fputs("]]\n\t\t\t]", out) >= 0 && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

cJSON *output_function(cJSON *profile, const char *name)
{
    cJSON *function = cJSON_Duplicate(cJSON_GetObjectItem(profile, "function"), true);
    (void)cJSON_AddItemToObject(cJSON_GetObjectItem(profile, "functions"), name, function);
    return function;
}

bool output_values(cJSON *function, const cJSON *const *sources, output_latency *latency,
                   const void *context, struct error *error)
{
    char *text = latency_text(function, latency, context);
    for (; *sources != NULL; sources++)
        output_fill(function, *sources);
    bool fine =
        text != NULL && cJSON_ReplaceItemInObject(function, "latency_ms", cJSON_CreateRaw(text));
    free(text);
    return fine || error_run(error, "out of memory for a latency grid");
}
