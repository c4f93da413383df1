#include "traces/calibrate/profile_writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "traces/calibrate/calibrate_interference.h"

double profile_round(double value, int digits)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    return strtod(text, NULL);
}

/* Six significant digits are more than the measurements have, and the same on every machine. */
cJSON *profile_number(double value)
{
    return isfinite(value) ? cJSON_CreateNumber(profile_round(value, 6)) : cJSON_CreateNull();
}

void profile_put_number(cJSON *object, const char *key, double value)
{
    (void)cJSON_AddItemToObject(object, key, profile_number(value));
}

void profile_put_known(cJSON *object, const char *key, double value)
{
    if (isfinite(value))
        profile_put_number(object, key, value);
}

void profile_put_text(cJSON *object, const char *key, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0) {
        (void)cJSON_AddStringToObject(object, key, text);
        free(text);
    }
    va_end(args);
}

void profile_put_axes(cJSON *function, const struct profile_axis *batch,
                      const struct profile_axis *vcpu, const struct profile_axis *vgpu)
{
    cJSON *grid = cJSON_AddObjectToObject(function, "grid");
    (void)cJSON_AddItemToObject(grid, "batch",
                                cJSON_CreateIntArray(batch->values, (int)batch->count));
    (void)cJSON_AddItemToObject(grid, "vcpu", cJSON_CreateIntArray(vcpu->values, (int)vcpu->count));
    (void)cJSON_AddItemToObject(grid, "vgpu", cJSON_CreateIntArray(vgpu->values, (int)vgpu->count));
}

static void put_cold_start(cJSON *function, const struct profile_function *properties)
{
    if (properties->cold_start_samples_ms == NULL && !isfinite(properties->cold_start_mean_ms))
        return;
    cJSON *cold = cJSON_AddObjectToObject(function, "cold_start_ms");
    if (properties->cold_start_samples_ms == NULL) {
        profile_put_number(cold, "mean", properties->cold_start_mean_ms);
        profile_put_known(cold, "cv", properties->cold_start_cv);
        return;
    }
    cJSON *samples = cJSON_AddArrayToObject(cold, "samples_ms");
    for (size_t i = 0; i < properties->cold_start_sample_count; i++)
        (void)cJSON_AddItemToArray(samples, profile_number(properties->cold_start_samples_ms[i]));
}

void profile_put_properties(cJSON *function, const struct profile_function *properties)
{
    if (isfinite(properties->noise_cv))
        profile_put_number(cJSON_AddObjectToObject(function, "noise"), "cv", properties->noise_cv);
    put_cold_start(function, properties);
    if (isfinite(properties->gpu_weights_mb) || isfinite(properties->gpu_per_item_mb)) {
        cJSON *memory = cJSON_AddObjectToObject(function, "gpu_memory_mb");
        profile_put_known(memory, "weights", properties->gpu_weights_mb);
        profile_put_known(memory, "per_item", properties->gpu_per_item_mb);
    }
    profile_put_known(function, "host_memory_mb", properties->host_memory_mb);
    profile_put_known(function, "bandwidth_share", properties->bandwidth_share);
    if (isfinite(properties->turnaround_ms)) {
        cJSON *turnaround = cJSON_AddObjectToObject(function, "turnaround_ms");
        profile_put_number(turnaround, "base_ms", properties->turnaround_ms);
        profile_put_known(turnaround, "per_item_ms", properties->turnaround_per_item_ms);
    }
    profile_put_known(function, "input_bytes", properties->input_bytes);
}

static void put_pairs(cJSON *profile, const struct interference *law, cJSON *object)
{
    const cJSON *functions = cJSON_GetObjectItemCaseSensitive(profile, "functions");
    cJSON *names = cJSON_AddArrayToObject(object, "functions");
    cJSON *rows = cJSON_AddArrayToObject(object, "excess");
    for (size_t i = 0; i < law->pair_count; i++) {
        if (cJSON_GetObjectItemCaseSensitive(functions, law->pair_names[i]) == NULL)
            continue;
        cJSON *row = cJSON_CreateArray();
        (void)cJSON_AddItemToArray(names, cJSON_CreateString(law->pair_names[i]));
        for (size_t j = 0; j < law->pair_count; j++)
            if (cJSON_GetObjectItemCaseSensitive(functions, law->pair_names[j]) != NULL)
                (void)cJSON_AddItemToArray(row,
                                           profile_number(law->pairs[i * law->pair_count + j]));
        (void)cJSON_AddItemToArray(rows, row);
    }
}

cJSON *profile_put_interference(cJSON *profile, const struct interference *law)
{
    cJSON *object = cJSON_AddObjectToObject(profile, "interference");
    const bool shaped = law->kind == INTERFERENCE_SHAPED;
    profile_put_text(object, "model", "%s",
                     interference_law_names[shaped ? INTERFERENCE_PAIRS : law->kind]);
    if (law->kind == INTERFERENCE_BANDWIDTH) {
        profile_put_number(object, "coefficient", law->coefficient);
        profile_put_number(object, "victim_exponent", law->victim_exponent);
        profile_put_number(object, "share_exponent", law->share_exponent);
    } else {
        profile_put_number(object, "constant", law->constant);
    }
    if (law->kind == INTERFERENCE_PAIRS || shaped)
        put_pairs(profile, law, object);
    cJSON *slopes = shaped ? cJSON_AddObjectToObject(object, "slopes") : NULL;
    for (size_t i = 0; shaped && i < INTERFERENCE_NUMBERS; i++)
        profile_put_number(slopes, interference_number_keys[i], law->shape[i]);
    return object;
}

bool profile_print(const cJSON *profile, FILE *out, struct error *error)
{
    char *text = cJSON_Print(profile);
    if (text == NULL)
        return error_run(error, "out of memory for the profile");
    (void)fprintf(out, "%s\n", text);
    cJSON_free(text);
    return true;
}
