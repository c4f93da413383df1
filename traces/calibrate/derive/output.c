#include "traces/calibrate/derive/output.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/json/atomic_file.h"

double output_round(double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.6g", value);
    return strtod(text, NULL);
}

void output_number(cJSON *object, const char *key, double value)
{
    (void)cJSON_AddNumberToObject(object, key, output_round(value));
}

void output_note(cJSON *object, const char *key, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return;
    (void)cJSON_AddStringToObject(object, key, text);
    free(text);
}

static void output_integers(cJSON *object, const char *key, const int *values, size_t count)
{
    (void)cJSON_AddItemToObject(object, key, cJSON_CreateIntArray(values, (int)count));
}

static void print_row(FILE *out, const double *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "[" : ", ", out);
        if (isnan(row[i]))
            (void)fputs("null", out);
        else
            (void)fprintf(out, "%.6g", row[i]);
    }
    (void)fputs("]", out);
}

bool output_latency(cJSON *function, const struct output_grid *grid, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return error_run(error, "out of memory for a latency grid");
    for (size_t b = 0; b < grid->batches; b++) {
        (void)fputs(b == 0 ? "[\n\t\t\t\t" : ",\n\t\t\t\t", out);
        for (size_t c = 0; c < grid->vcpus; c++) {
            (void)fputs(c == 0 ? "[" : ", ", out);
            print_row(out, grid->latency_ms + (b * grid->vcpus + c) * grid->vgpus, grid->vgpus);
        }
        (void)fputs("]", out);
    }
    (void)fputs("\n\t\t\t]", out);
    if (fclose(out) != 0) {
        free(text);
        return error_run(error, "out of memory for a latency grid");
    }
    cJSON *axes = cJSON_AddObjectToObject(function, "grid");
    output_integers(axes, "batch", grid->batch, grid->batches);
    output_integers(axes, "vcpu", grid->vcpu, grid->vcpus);
    output_integers(axes, "vgpu", grid->vgpu, grid->vgpus);
    (void)cJSON_AddRawToObject(function, "latency_ms", text);
    free(text);
    return true;
}

bool output_write(const cJSON *profile, const char *folder, const char *name, struct error *error)
{
    struct atomic_file file;
    char *path = NULL;
    char *text = cJSON_Print(profile);
    bool fine = text != NULL && asprintf(&path, "%s/%s", folder, name) >= 0;
    if (!fine)
        error_run(error, "%s/%s: out of memory", folder, name);
    fine = fine && atomic_file_open(&file, path, error);
    if (fine) {
        (void)fprintf(file.stream, "%s\n", text);
        fine = atomic_file_end(&file, true, error);
    }
    free(path);
    cJSON_free(text);
    return fine;
}
