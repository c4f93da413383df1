/* v100-mps-igniter.json: measured latencies, noise and pairwise interference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/calibrate/derive/derive.h"
#include "traces/calibrate/derive/output.h"

enum { SHARES = 5, BATCHES = 8 };

static const int shares[SHARES] = {20, 40, 50, 60, 80};
static const int batches[BATCHES] = {1, 2, 4, 8, 12, 16, 24, 32};
static const int one_vcpu[1] = {1};

/* Per victim and co-runner: number of samples and Σ excess slowdown. Per victim: Σ std / mean. */
struct co_location {
    double excess[IGNITER_MODELS][IGNITER_MODELS];
    double runs[IGNITER_MODELS][IGNITER_MODELS];
    double spread[IGNITER_MODELS];
    double victim_runs[IGNITER_MODELS];
};

static void add_side(const struct raw *raw, size_t row, int side, struct co_location *sums)
{
    const struct table *pairs = raw->pairs;
    size_t victim = igniter_index(table_text(pairs, row, side == 1 ? "model1" : "model2"));
    size_t other = igniter_index(table_text(pairs, row, side == 1 ? "model2" : "model1"));
    double mean = table_number(pairs, row, side == 1 ? "lat1_ms" : "lat2_ms");
    double deviation = table_number(pairs, row, side == 1 ? "std1_ms" : "std2_ms");
    if (victim == IGNITER_MODELS || other == IGNITER_MODELS)
        return;
    sums->excess[victim][other] +=
        table_number(pairs, row, side == 1 ? "slowdown1" : "slowdown2") - 1;
    sums->runs[victim][other]++;
    sums->spread[victim] += deviation / mean;
    sums->victim_runs[victim]++;
}

static void sum_pairs(const struct raw *raw, struct co_location *sums)
{
    *sums = (struct co_location){0};
    for (size_t row = 0; row < raw->pairs->rows; row++) {
        add_side(raw, row, 1, sums);
        add_side(raw, row, 2, sums);
    }
}

static void add_interference(const struct co_location *sums, cJSON *profile)
{
    cJSON *model = cJSON_AddObjectToObject(profile, "interference");
    double total = 0;
    double runs = 0;
    for (size_t i = 0; i < IGNITER_MODELS; i++) {
        for (size_t j = 0; j < IGNITER_MODELS; j++) {
            total += sums->excess[i][j];
            runs += sums->runs[i][j];
        }
    }
    output_note(model, "model", "pairs");
    output_number(model, "constant", fmax(0, total / runs));
    (void)cJSON_AddItemToObject(model, "functions",
                                cJSON_CreateStringArray(igniter_models, IGNITER_MODELS));
    cJSON *excess = cJSON_AddArrayToObject(model, "excess");
    for (size_t i = 0; i < IGNITER_MODELS; i++) {
        cJSON *row = cJSON_CreateArray();
        for (size_t j = 0; j < IGNITER_MODELS; j++) {
            double mean = fmax(0, sums->excess[i][j] / fmax(1, sums->runs[i][j]));
            (void)cJSON_AddItemToArray(row, sums->runs[i][j] > 0
                                                ? cJSON_CreateNumber(output_round(mean))
                                                : cJSON_CreateNull());
        }
        (void)cJSON_AddItemToArray(excess, row);
    }
    output_note(model, "evidence", "measured for two partners; adding up for more is assumed");
    output_note(model, "source",
                "iGniter, 750 co-locations of two different models at shares t and "
                "100 - t");
    output_note(
        model, "derivation",
        "Row victim, column co-runner: mean of slowdown - 1 over batches and shares, negative "
        "means raised to 0. A model beside itself was not measured (null): there the mean of "
        "all %.0f slowdowns, \"constant\", stands in.",
        runs);
}

static void read_surface(const struct raw *raw, const char *model, double *ms)
{
    for (size_t i = 0; i < BATCHES * SHARES; i++)
        ms[i] = NAN;
    for (size_t i = 0; i < raw->solo->rows; i++) {
        if (strcmp(table_text(raw->solo, i, "model"), model) != 0)
            continue;
        for (size_t b = 0; b < BATCHES; b++)
            for (size_t s = 0; s < SHARES; s++)
                if (table_number(raw->solo, i, "batch") == batches[b] &&
                    table_number(raw->solo, i, "mps_pct") == shares[s])
                    ms[b * SHARES + s] = table_number(raw->solo, i, "latency_ms");
    }
}

static void add_memory(const struct raw *raw, size_t row, const char *model, cJSON *function,
                       cJSON *evidence, cJSON *derivation)
{
    cJSON *memory = cJSON_AddObjectToObject(function, "gpu_memory_mb");
    output_number(memory, "weights", raw_weights_mb(raw, model));
    output_number(memory, "per_item", raw_assumption(raw, "per_item_igniter"));
    output_note(evidence, "gpu_memory_mb.weights", "%s", table_text(raw->models, row, "grade"));
    output_note(evidence, "gpu_memory_mb.per_item", "assumed");
    output_note(derivation, "gpu_memory_mb.weights", "%.0f parameters x 4 bytes; %s",
                table_number(raw->models, row, "parameters"),
                table_text(raw->models, row, "source"));
    output_number(function, "host_memory_mb", raw_assumption(raw, "host_memory_mb"));
    output_note(evidence, "host_memory_mb", "assumed");
}

static void add_cold_start(const struct raw *raw, cJSON *function, cJSON *evidence,
                           cJSON *derivation)
{
    cJSON *cold = cJSON_AddObjectToObject(function, "cold_start_ms");
    output_number(cold, "mean", raw_restart_convolutional_ms(raw));
    output_number(cold, "cv", raw_cold_start_cv(raw));
    output_note(evidence, "cold_start_ms", "derived");
    output_note(
        derivation, "cold_start_ms",
        "mean process restart of resnet152 and inception_v3 on a V100 (PipeSwitch), without "
        "the start of a container; cv from ten CUDA initialisations (StreamBox)");
}

static bool add_function(const struct raw *raw, const struct co_location *sums, size_t index,
                         cJSON *functions, struct error *error)
{
    const char *model = igniter_models[index];
    double ms[BATCHES * SHARES];
    size_t row = table_find(raw->models, "network", model);
    cJSON *function = cJSON_AddObjectToObject(functions, model);
    if (row == raw->models->rows)
        return error_input(error, "%s: network \"%s\" is missing", raw->models->path, model);
    cJSON *evidence = cJSON_CreateObject();
    cJSON *derivation = cJSON_CreateObject();
    read_surface(raw, model, ms);
    output_note(function, "model", "%s", model);
    const struct output_grid grid = {.batch = batches,
                                     .vcpu = one_vcpu,
                                     .vgpu = shares,
                                     .batches = BATCHES,
                                     .vcpus = 1,
                                     .vgpus = SHARES,
                                     .latency_ms = ms};
    bool fine = output_latency(function, &grid, error);
    output_note(evidence, "latency_ms", "measured");
    output_number(cJSON_AddObjectToObject(function, "noise"), "cv",
                  sums->spread[index] / sums->victim_runs[index]);
    output_note(evidence, "noise.cv", "measured");
    output_note(derivation, "noise.cv", "mean of standard deviation / mean over %.0f co-locations",
                sums->victim_runs[index]);
    add_cold_start(raw, function, evidence, derivation);
    add_memory(raw, row, model, function, evidence, derivation);
    output_number(function, "bandwidth_share", igniter_demand(raw, model));
    output_note(evidence, "bandwidth_share", "measured");
    output_note(derivation, "bandwidth_share",
                "DRAM utilisation at the 80 %% share, mean over batch 2, 4, 8, 16, 32");
    output_number(function, "input_bytes", table_number(raw->models, row, "input_bytes"));
    output_note(evidence, "input_bytes", "published");
    output_note(derivation, "input_bytes", "%s", table_text(raw->models, row, "input_note"));
    (void)cJSON_AddItemToObject(function, "evidence", evidence);
    (void)cJSON_AddItemToObject(function, "derivation", derivation);
    return fine;
}

bool derive_igniter(const struct raw *raw, const char *out, struct error *error)
{
    struct co_location sums;
    cJSON *profile = cJSON_CreateObject();
    sum_pairs(raw, &sums);
    output_note(profile, "device", "NVIDIA V100 16GB, MPS active-thread percentage");
    output_note(profile, "evidence", "measured");
    output_note(profile, "source",
                "iGniter (IEEE TPDS 2023), github.com/icloud-ecnu/igniter, commit "
                "b1ff2ab2624bb8ae856fc133871afa8a93c84d59");
    output_note(profile, "licence", "no licence file upstream; measured numbers only");
    output_note(
        profile, "derivation",
        "Mean latency of a batch alone at a share of 20, 40, 50, 60, 80 %% (unit 100), TensorRT "
        "FP32; 10 and 100 %% were measured at batch 1 only and are left out. The host's vCPUs "
        "were not varied: the vCPU axis has one point.");
    (void)cJSON_AddNumberToObject(profile, "unit", 100);
    cJSON *functions = cJSON_AddObjectToObject(profile, "functions");
    bool fine = true;
    for (size_t i = 0; fine && i < IGNITER_MODELS; i++)
        fine = add_function(raw, &sums, i, functions, error);
    add_interference(&sums, profile);
    fine = fine && output_write(profile, out, "v100-mps-igniter.json", error);
    cJSON_Delete(profile);
    return fine;
}
