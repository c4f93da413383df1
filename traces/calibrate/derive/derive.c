/* Builds every shipped profile from the raw measurements. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "sim/base/atomic_file.h"
#include "sim/base/json.h"
#include "traces/calibrate/derive/derive.h"

static const char usage[] =
    "usage: derive-profiles [--raw FOLDER] [--cpu-fraction X] [--out FOLDER]\n"
    "Builds the shipped profiles from the raw measurements.\n"
    "  --raw FOLDER      measurements (default traces/profiles/raw)\n"
    "  --out FOLDER      where the profiles are written (default traces/profiles)\n"
    "  --cpu-fraction X  0..1, the CPU's part of esg-reconstructed.json (default: as assumed\n"
    "                    in raw/esg/assumptions.csv)\n";

/* What it puts in is not searched for the hole again. */
static void fill_hole(cJSON *item, const char *name, const char *value)
{
    char hole[64];
    char *text = NULL;
    size_t done = 0;
    bool fine = true;
    (void)snprintf(hole, sizeof hole, "<%s>", name);
    for (const char *at; fine && (at = strstr(item->valuestring + done, hole)) != NULL;) {
        const int before = (int)(at - item->valuestring);
        if (asprintf(&text, "%.*s%s%s", before, item->valuestring, value, at + strlen(hole)) < 0)
            return;
        fine = cJSON_SetValuestring(item, text) != NULL;
        free(text);
        done = (size_t)before + strlen(value);
    }
}

void output_fill(cJSON *item, const cJSON *values)
{
    if (item == NULL || values == NULL)
        return;
    for (cJSON *child = item->child; child != NULL; child = child->next)
        output_fill(child, values);
    if (!cJSON_IsString(item))
        return;
    for (const cJSON *value = values->child; value != NULL; value = value->next)
        fill_hole(item, value->string, value->valuestring);
    char *end = item->valuestring;
    const double number = item->valuestring[0] == '#' ? strtod(item->valuestring + 1, &end) : NAN;
    if (!isfinite(number) || end == item->valuestring + 1 || *end != '\0')
        return;
    item->type = cJSON_Number;
    (void)cJSON_SetNumberValue(item, profile_round(number, 6));
}

static const cJSON *first_of(const cJSON *function, const char *axis)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(function, "grid"), axis), 0);
}

cJSON *output_function(cJSON *profile, const char *name)
{
    cJSON *function = cJSON_Duplicate(cJSON_GetObjectItem(profile, "function"), true);
    (void)cJSON_AddItemToObject(cJSON_GetObjectItem(profile, "functions"), name, function);
    return function;
}

bool output_latencies(cJSON *function, output_latency *latency, const void *context,
                      struct error *error)
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
    bool fine = out != NULL && fputs("]]\n\t\t\t]", out) >= 0 && fclose(out) == 0 &&
                before[0] == ']' &&
                cJSON_ReplaceItemInObject(function, "latency_ms", cJSON_CreateRaw(text));
    free(text);
    return fine || error_input(error, "a function without a grid in its template, or no memory");
}

static bool derive_profile(const struct raw *raw, const struct derived *derived, const char *out,
                           struct error *error)
{
    struct atomic_file file;
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", raw->folder, derived->template);
    cJSON *profile = json_parse_file(path, error);
    bool fine = profile != NULL && derived->fill(raw, derived, profile, error);
    cJSON_DeleteItemFromObject(profile, "function");
    output_fill(profile, raw->values);
    char *text = fine ? cJSON_PrintUnformatted(profile) : NULL;
    const char *hole = text == NULL ? NULL : strpbrk(text, "<#");
    if (hole != NULL)
        fine = error_input(error, "%s: no value, or no number, for the hole %.40s", path, hole);
    (void)snprintf(path, sizeof path, "%s/%s", out, derived->name);
    fine = fine && atomic_file_open(&file, path, error) &&
           atomic_file_end(&file, profile_print(profile, file.stream, error), error);
    free(text);
    cJSON_Delete(profile);
    return fine;
}

static bool derive_all(const char *folder, const char *out, const char *given, struct error *error)
{
    struct raw raw;
    char *end = NULL;
    bool fine = raw_open(&raw, folder, error);
    const double fraction =
        given == NULL ? raw_number(raw.values, "cpu_fraction") : strtod(given, &end);
    if (given != NULL && (end == given || *end != '\0' || !(fraction >= 0 && fraction <= 1)))
        fine = error_input(error, "--cpu-fraction %s: give a number from 0 to 1", given);
    const struct derived profiles[] = {
        {"parvagpu/profile.json", "a100-mig-parvagpu.json", fill_parvagpu, 0, false},
        {"igniter/profile.json", "v100-mps-igniter.json", fill_igniter, 0, false},
        {"esg/shaped.json", "esg-reconstructed.json", fill_esg, fraction, false},
        {"esg/shaped.json", "esg-reconstructed-cpu0.json", fill_esg, 0, false},
        {"esg/shaped.json", "esg-reconstructed-cpu50.json", fill_esg, 0.5, false},
        {"esg/absolute.json", "esg-reconstructed-absolute50.json", fill_esg, 0.5, true},
        {"esg/absolute.json", "esg-reconstructed-absolute80.json", fill_esg, 0.8, true},
    };
    for (size_t i = 0; fine && i < sizeof profiles / sizeof profiles[0]; i++)
        fine = derive_profile(&raw, &profiles[i], out, error);
    raw_close(&raw);
    return fine;
}

int main(int argc, char **argv)
{
    const char *raw = "traces/profiles/raw";
    const char *out = "traces/profiles";
    const char *fraction = NULL;
    const struct {
        const char *name, **value;
    } options[] = {{"--raw", &raw}, {"--out", &out}, {"--cpu-fraction", &fraction}};
    struct error error = {0};
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < 3 && strcmp(argv[i], options[k].name) != 0)
            k++;
        if (k == 3 || i + 1 == argc) {
            const bool help = strcmp(argv[i], "--help") == 0;
            (void)fputs(usage, help ? stdout : stderr);
            return help ? 0 : 2;
        }
        *options[k].value = argv[i + 1];
    }
    gsl_set_error_handler_off();
    if (derive_all(raw, out, fraction, &error))
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
