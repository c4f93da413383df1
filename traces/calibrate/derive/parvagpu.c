/* a100-mig-parvagpu.json: measured latencies; memory estimated from which batches ran and which did
 * not; cold starts from other measurements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/calibrate/derive/derive.h"
#include "traces/calibrate/derive/output.h"

enum { SLICES = 5, BATCHES = 9 };

static const int slices[SLICES] = {1, 2, 3, 4, 7};
static const int batches[BATCHES] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
static const int one_vcpu[1] = {1};

struct surface {
    double ms[BATCHES * SLICES]; /* NAN: out of memory */
    size_t batches;              /* number of batch sizes that ran on at least one slice */
};

static size_t index_of(const int *values, size_t count, double wanted)
{
    size_t i = 0;
    while (i < count && values[i] != wanted)
        i++;
    return i;
}

static void read_surface(const struct table *table, const char *model, struct surface *surface)
{
    surface->batches = 0;
    for (size_t i = 0; i < BATCHES * SLICES; i++)
        surface->ms[i] = NAN;
    for (size_t i = 0; i < table->rows; i++) {
        if (strcmp(table_text(table, i, "model"), model) != 0 ||
            table_number(table, i, "mps_procs") != 1)
            continue;
        size_t b = index_of(batches, BATCHES, table_number(table, i, "batch"));
        size_t s = index_of(slices, SLICES, table_number(table, i, "mig_gpcs"));
        if (b == BATCHES || s == SLICES)
            continue;
        surface->ms[b * SLICES + s] = table_number(table, i, "latency_ms");
        if (b + 1 > surface->batches)
            surface->batches = b + 1;
    }
}

/* Bounds on the memory per item of a batch. Every batch that ran gives an upper bound, and every
 * batch that ran out of memory a lower bound. least = 0: all batches ran. */
struct bracket {
    double least;
    double most;
};

static struct bracket item_bracket(const struct raw *raw, const struct surface *surface,
                                   double weights_mb)
{
    struct bracket bracket = {0, INFINITY};
    for (size_t b = 0; b < surface->batches; b++) {
        for (size_t s = 0; s < SLICES; s++) {
            double room = table_number(raw->slices, s, "memory_mb") - weights_mb;
            double item = room / batches[b];
            if (isnan(surface->ms[b * SLICES + s]))
                bracket.least = fmax(bracket.least, item);
            else
                bracket.most = fmin(bracket.most, item);
        }
    }
    return bracket;
}

static void add_memory(const struct raw *raw, const char *model, const struct surface *surface,
                       cJSON *function, cJSON *evidence, cJSON *derivation)
{
    size_t row = table_find(raw->models, "network", model);
    double weights = raw_weights_mb(raw, model);
    struct bracket bracket = item_bracket(raw, surface, weights);
    cJSON *memory = cJSON_AddObjectToObject(function, "gpu_memory_mb");
    output_number(memory, "weights", weights);
    output_note(evidence, "gpu_memory_mb.weights", "%s", table_text(raw->models, row, "grade"));
    output_note(derivation, "gpu_memory_mb.weights", "%.0f parameters x 4 bytes; %s",
                table_number(raw->models, row, "parameters"),
                table_text(raw->models, row, "source"));
    if (bracket.least > 0) {
        output_number(memory, "per_item", sqrt(bracket.least * bracket.most));
        output_note(evidence, "gpu_memory_mb.per_item", "derived");
        output_note(
            derivation, "gpu_memory_mb.per_item",
            "geometric mean of the bracket that the out-of-memory boundary leaves: at least "
            "%.4g MB by the batches that did not run, at most %.4g MB by those that did",
            bracket.least, bracket.most);
    } else {
        output_number(memory, "per_item", bracket.most / 2);
        output_note(evidence, "gpu_memory_mb.per_item", "assumed");
        output_note(derivation, "gpu_memory_mb.per_item",
                    "half of the most that the measurements allow, %.4g MB; every batch ran",
                    bracket.most);
    }
}

static const char *restart_name(const char *model)
{
    static const char *const names[][2] = {
        {"resnet152", "resnet152"}, {"inceptionv3", "inception_v3"}, {"bert", "bert_base"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i][0], model) == 0)
            return names[i][1];
    return NULL;
}

static void add_cold_start(const struct raw *raw, const char *model, cJSON *function,
                           cJSON *evidence, cJSON *derivation)
{
    const char *measured = restart_name(model);
    cJSON *cold = cJSON_AddObjectToObject(function, "cold_start_ms");
    output_number(cold, "mean",
                  measured != NULL ? raw_restart_ms(raw, measured)
                                   : raw_restart_convolutional_ms(raw));
    output_number(cold, "cv", raw_cold_start_cv(raw));
    output_note(evidence, "cold_start_ms.mean", "%s", measured != NULL ? "measured" : "derived");
    output_note(
        derivation, "cold_start_ms.mean",
        measured != NULL
            ? "process restart of this model on a V100 (PipeSwitch), without the start of a "
              "container"
            : "mean process restart of resnet152 and inception_v3 on a V100 (PipeSwitch), "
              "without the start of a container");
    output_note(evidence, "cold_start_ms.cv", "derived");
    output_note(derivation, "cold_start_ms.cv",
                "range of ten CUDA initialisations on a V100 (StreamBox) / 3.078 / their mean");
}

static bool add_function(const struct raw *raw, const char *model, cJSON *functions,
                         struct error *error)
{
    struct surface surface;
    size_t row = table_find(raw->models, "network", model);
    cJSON *function = cJSON_AddObjectToObject(functions, model);
    if (row == raw->models->rows)
        return error_input(error, "%s: network \"%s\" is missing", raw->models->path, model);
    read_surface(raw->parvagpu, model, &surface);
    cJSON *evidence = cJSON_CreateObject();
    cJSON *derivation = cJSON_CreateObject();
    output_note(function, "model", "%s", model);
    const struct output_grid grid = {.batch = batches,
                                     .vcpu = one_vcpu,
                                     .vgpu = slices,
                                     .batches = surface.batches,
                                     .vcpus = 1,
                                     .vgpus = SLICES,
                                     .latency_ms = surface.ms};
    bool fine = output_latency(function, &grid, error);
    output_note(evidence, "latency_ms", "measured");
    output_number(cJSON_AddObjectToObject(function, "noise"), "cv",
                  raw_assumption(raw, "noise_cv"));
    output_note(evidence, "noise.cv", "assumed");
    add_cold_start(raw, model, function, evidence, derivation);
    add_memory(raw, model, &surface, function, evidence, derivation);
    output_number(function, "host_memory_mb", raw_assumption(raw, "host_memory_mb"));
    output_note(evidence, "host_memory_mb", "assumed");
    output_number(function, "input_bytes", table_number(raw->models, row, "input_bytes"));
    output_note(evidence, "input_bytes", "%s",
                strstr(table_text(raw->models, row, "input_note"), "assumed") != NULL ? "assumed"
                                                                                      : "derived");
    output_note(derivation, "input_bytes", "%s", table_text(raw->models, row, "input_note"));
    (void)cJSON_AddItemToObject(function, "evidence", evidence);
    (void)cJSON_AddItemToObject(function, "derivation", derivation);
    return fine;
}

bool derive_parvagpu(const struct raw *raw, const char *out, struct error *error)
{
    cJSON *profile = cJSON_CreateObject();
    output_note(profile, "device", "NVIDIA A100 80GB, MIG slices of 1, 2, 3, 4, 7 GPCs");
    output_note(profile, "evidence", "measured");
    output_note(profile, "source",
                "ParvaGPU (SC 2024), github.com/MunQ-Lee/ParvaGPU_SC24, commit "
                "5f3de1e18582b4c81896a1c3eb0e2915238dfee6");
    output_note(profile, "licence", "MIT, copyright (c) 2024 sslab6943");
    output_note(
        profile, "derivation",
        "Latency of one process in a MIG slice, as measured, also where a larger slice was "
        "slower; null where it ran out of memory. The host's vCPUs were not varied: the vCPU "
        "axis has one point. MIG slices are isolated: no interference model.");
    (void)cJSON_AddNumberToObject(profile, "unit", 7);
    cJSON *functions = cJSON_AddObjectToObject(profile, "functions");
    bool fine = true;
    for (size_t i = 0; fine && i < raw->parvagpu->rows; i++) {
        const char *model = table_text(raw->parvagpu, i, "model");
        if (cJSON_GetObjectItemCaseSensitive(functions, model) == NULL)
            fine = add_function(raw, model, functions, error);
    }
    fine = fine && output_write(profile, out, "a100-mig-parvagpu.json", error);
    cJSON_Delete(profile);
    return fine;
}
