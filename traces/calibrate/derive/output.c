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

/* ---- Holes ----------------------------------------------------------------------------------- */

static void fill_text(cJSON *item, const cJSON *values)
{
    char *text = NULL;
    char *end = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *rest = item->valuestring;
    while (out != NULL && *rest != '\0') {
        char name[32];
        int length = 0;
        const char *value = NULL;
        if (sscanf(rest, "<%31[a-z0-9_-]>%n", name, &length) == 1 && length > 0)
            value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(values, name));
        if (value == NULL)
            (void)fputc(*rest++, out);
        else if (fputs(value, out) >= 0)
            rest += length;
    }
    if (out == NULL || fclose(out) != 0)
        return;
    const double number = text[0] == '#' ? strtod(text + 1, &end) : NAN;
    if (isfinite(number) && end > text + 1 && *end == '\0') {
        item->type = cJSON_Number;
        (void)cJSON_SetNumberValue(item, profile_round(number, 6));
    } else {
        (void)cJSON_SetValuestring(item, text);
    }
    free(text);
}

void output_fill(cJSON *item, const cJSON *values)
{
    for (cJSON *child = item == NULL ? NULL : item->child; child != NULL; child = child->next)
        output_fill(child, values);
    if (cJSON_IsString(item))
        fill_text(item, values);
}

/* ---- Functions ------------------------------------------------------------------------------- */

cJSON *output_function(cJSON *profile, const char *name)
{
    cJSON *function = cJSON_Duplicate(cJSON_GetObjectItem(profile, "function"), true);
    (void)cJSON_AddItemToObject(cJSON_GetObjectItem(profile, "functions"), name, function);
    return function;
}

bool output_latencies(cJSON *function, output_latency *latency, const void *context,
                      struct error *error)
{
    const cJSON *grid = cJSON_GetObjectItem(function, "grid");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *before = "[\n\t\t\t\t[[";
    const cJSON *b = NULL;
    const cJSON *c = NULL;
    const cJSON *g = NULL;
    if (out == NULL)
        return error_run(error, "out of memory for a latency grid");
    cJSON_ArrayForEach(b, cJSON_GetObjectItem(grid, "batch"))
    {
        cJSON_ArrayForEach(c, cJSON_GetObjectItem(grid, "vcpu"))
        {
            cJSON_ArrayForEach(g, cJSON_GetObjectItem(grid, "vgpu"))
            {
                double ms = latency(context, b->valueint, c->valueint, g->valueint);
                (void)fprintf(out, isnan(ms) ? "%snull" : "%s%.6g", before, ms);
                before = ", ";
            }
            before = "], [";
        }
        before = "]],\n\t\t\t\t[[";
    }
    bool fine = fputs("]]\n\t\t\t]", out) >= 0;
    fine = fclose(out) == 0 && fine &&
           cJSON_ReplaceItemInObject(function, "latency_ms", cJSON_CreateRaw(text));
    free(text);
    return fine || error_run(error, "out of memory for a latency grid");
}

/* ---- Files ----------------------------------------------------------------------------------- */

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
