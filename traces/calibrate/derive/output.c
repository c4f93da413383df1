#include "traces/calibrate/derive/derive.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/json/atomic_file.h"
#include "traces/json/json.h"

bool output_begin(struct output *output, const struct raw *raw, const char *template,
                  struct error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", raw->folder, template);
    *output = (struct output){.profile = json_parse_file(path, error)};
    output->function = cJSON_DetachItemFromObject(output->profile, "function");
    output->interference = cJSON_DetachItemFromObject(output->profile, "interference");
    (void)cJSON_AddObjectToObject(output->profile, "functions");
    return output->profile != NULL;
}

static void fill_text(cJSON *item, const cJSON *values)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *rest = item->valuestring;
    while (out != NULL && *rest != '\0') {
        char name[32];
        int length = 0;
        const char *value = NULL;
        if (sscanf(rest, "<%31[a-z0-9_]>%n", name, &length) == 1 && length > 0)
            value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(values, name));
        if (value == NULL)
            (void)fputc(*rest++, out);
        else if (fputs(value, out) >= 0)
            rest += length;
    }
    if (out != NULL && fclose(out) == 0)
        (void)cJSON_SetValuestring(item, text);
    free(text);
}

void output_fill(cJSON *item, const cJSON *values)
{
    cJSON *child = NULL;
    cJSON_ArrayForEach(child, item) output_fill(child, values);
    if (cJSON_IsString(item))
        fill_text(item, values);
}

/* The latencies in the layout of cJSON, but with a line for each batch. NULL: out of memory. */
static char *latency_text(const struct profile_function *facts, output_latency *latency,
                          const void *context)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t b = 0; out != NULL && b < facts->batch.count; b++) {
        (void)fputs(b == 0 ? "[\n\t\t\t\t[" : ",\n\t\t\t\t[", out);
        for (size_t c = 0; c < facts->vcpu.count; c++) {
            (void)fputs(c == 0 ? "[" : ", [", out);
            for (size_t g = 0; g < facts->vgpu.count; g++) {
                double ms = latency(context, facts->batch.values[b], facts->vcpu.values[c],
                                    facts->vgpu.values[g]);
                (void)fputs(g == 0 ? "" : ", ", out);
                (void)fprintf(out, isnan(ms) ? "null" : "%.6g", ms);
            }
            (void)fputs("]", out);
        }
        (void)fputs("]", out);
    }
    if (out != NULL && fputs("\n\t\t\t]", out) >= 0 && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Moves all members of `from`, which it frees, to the end of `to`. */
static void move_members(cJSON *from, cJSON *to)
{
    while (from != NULL && from->child != NULL) {
        cJSON *member = cJSON_DetachItemViaPointer(from, from->child);
        (void)cJSON_AddItemToObject(to, member->string, member);
    }
    cJSON_Delete(from);
}

cJSON *output_function(struct output *output, const char *name, const char *model,
                       const struct profile_function *facts, output_latency *latency,
                       const void *context, struct error *error)
{
    cJSON *functions = cJSON_GetObjectItemCaseSensitive(output->profile, "functions");
    cJSON *function = cJSON_AddObjectToObject(functions, name);
    char *text = latency_text(facts, latency, context);
    if (text == NULL)
        error_run(error, "out of memory for a latency grid");
    profile_put_text(function, "model", "%s", model);
    profile_put_axes(function, &facts->batch, &facts->vcpu, &facts->vgpu);
    (void)cJSON_AddRawToObject(function, "latency_ms", text);
    profile_put_facts(function, facts);
    move_members(cJSON_Duplicate(output->function, true), function);
    free(text);
    return text == NULL ? NULL : function;
}

void output_interference(struct output *output, const struct interference *law, cJSON *values)
{
    cJSON *object = profile_put_interference(output->profile, law);
    output_fill(output->interference, values);
    move_members(output->interference, object);
    output->interference = NULL;
    cJSON_Delete(values);
}

bool output_end(struct output *output, bool good, const char *folder, const char *name,
                struct error *error)
{
    struct atomic_file file;
    char path[PATH_MAX];
    char *text = good ? cJSON_PrintUnformatted(output->profile) : NULL;
    const char *hole = text == NULL ? NULL : strchr(text, '<');
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (hole != NULL)
        good = error_input(error, "%s: its template has the hole %.*s, for which there is no value",
                           name, (int)strcspn(hole, ">") + 1, hole);
    good = good && atomic_file_open(&file, path, error) &&
           atomic_file_end(&file, profile_print(output->profile, file.stream, error), error);
    free(text);
    cJSON_Delete(output->profile);
    cJSON_Delete(output->function);
    cJSON_Delete(output->interference);
    return good;
}
