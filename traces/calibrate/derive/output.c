#include "traces/calibrate/derive/derive.h"

#include <math.h>
#include <stdlib.h>

#include "traces/json/atomic_file.h"

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

static void put_notes(cJSON *function, const struct output_note *notes)
{
    cJSON *evidence = cJSON_AddObjectToObject(function, "evidence");
    cJSON *derivation = cJSON_AddObjectToObject(function, "derivation");
    for (; notes->key != NULL; notes++) {
        if (notes->evidence != NULL)
            (void)cJSON_AddStringToObject(evidence, notes->key, notes->evidence);
        if (notes->derivation != NULL)
            (void)cJSON_AddItemToObject(derivation, notes->key, notes->derivation);
    }
}

bool output_function(cJSON *profile, const char *name, const char *model,
                     const struct profile_function *facts, const struct output_note *notes,
                     output_latency *latency, const void *context, struct error *error)
{
    cJSON *functions = cJSON_GetObjectItemCaseSensitive(profile, "functions");
    cJSON *function = cJSON_AddObjectToObject(functions, name);
    char *text = latency_text(facts, latency, context);
    profile_put_text(function, "model", "%s", model);
    profile_put_axes(function, &facts->batch, &facts->vcpu, &facts->vgpu);
    (void)cJSON_AddRawToObject(function, "latency_ms", text);
    profile_put_facts(function, facts);
    put_notes(function, notes);
    bool fine = text != NULL || error_run(error, "out of memory for a latency grid");
    free(text);
    return fine;
}

cJSON *output_profile(const struct output_head *head)
{
    cJSON *profile = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(profile, "device", head->device);
    (void)cJSON_AddStringToObject(profile, "evidence", head->evidence);
    (void)cJSON_AddStringToObject(profile, "source", head->source);
    (void)cJSON_AddStringToObject(profile, "licence", head->licence);
    (void)cJSON_AddItemToObject(profile, "derivation", head->derivation);
    profile_put_number(profile, "unit", head->unit);
    (void)cJSON_AddObjectToObject(profile, "functions");
    return profile;
}

bool output_end(cJSON *profile, bool good, const char *folder, const char *name,
                struct error *error)
{
    struct atomic_file file;
    char *path = NULL;
    if (good && asprintf(&path, "%s/%s", folder, name) < 0)
        good = error_run(error, "%s/%s: out of memory", folder, name);
    good = good && atomic_file_open(&file, path, error) &&
           atomic_file_end(&file, profile_print(profile, file.stream, error), error);
    free(path);
    cJSON_Delete(profile);
    return good;
}
