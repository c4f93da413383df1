/* a100-mig-parvagpu.json: measured latencies; memory estimated from which batches ran and which did
 * not; cold starts from other measurements. */
#include <math.h>
#include <string.h>

#include "traces/calibrate/derive/derive.h"

enum { SLICES = 5, BATCHES = 9 };

static int slices[SLICES] = {1, 2, 3, 4, 7};
static int batches[BATCHES] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

/* Bounds on the memory per item of a batch. Every batch that ran gives an upper bound, and every
 * batch that ran out of memory a lower bound. least = 0: all batches ran. */
struct bracket {
    double least;
    double most;
    size_t batches; /* number of batch sizes up to the largest that ran on a slice */
};

static struct bracket item_bracket(const struct raw *raw, const struct raw_runs *runs,
                                   double weights_mb)
{
    struct bracket bracket = {0, INFINITY, 0};
    double least = 0; /* with the batch sizes that ran on no slice so far */
    for (size_t b = 0; b < BATCHES; b++) {
        for (size_t s = 0; s < SLICES; s++) {
            double room = raw_number(raw, RAW_SLICES, s, "memory_mb") - weights_mb;
            double item = room / batches[b];
            if (isnan(raw_latency_ms(runs, batches[b], 1, slices[s]))) {
                least = fmax(least, item);
                continue;
            }
            bracket.most = fmin(bracket.most, item);
            bracket.batches = b + 1;
        }
        if (bracket.batches == b + 1)
            bracket.least = least;
    }
    return bracket;
}

/* The name that PipeSwitch gives the model, NULL if it did not measure it. */
static const char *restart_name(const char *model)
{
    static const char *const names[][2] = {
        {"resnet152", "resnet152"}, {"inceptionv3", "inception_v3"}, {"bert", "bert_base"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i][0], model) == 0)
            return names[i][1];
    return NULL;
}

static void describe(const struct raw *raw, size_t row, bool restarted,
                     const struct bracket *bracket, cJSON *function)
{
    const bool bounded = bracket->least > 0;
    const char *input = raw_text(raw, RAW_MODELS, row, "input_note");
    const struct output_text evidence[] = {
        {"latency_ms", "measured"},
        {"noise.cv", "assumed"},
        {"cold_start_ms.mean", restarted ? "measured" : "derived"},
        {"cold_start_ms.cv", "derived"},
        {"gpu_memory_mb.weights", raw_text(raw, RAW_MODELS, row, "grade")},
        {"gpu_memory_mb.per_item", bounded ? "derived" : "assumed"},
        {"host_memory_mb", "assumed"},
        {"input_bytes", strstr(input, "assumed") != NULL ? "assumed" : "derived"},
        {0}};
    const struct output_text cold_start[] = {
        {"cold_start_ms.mean",
         restarted ? "process restart of this model on a V100 (PipeSwitch), without the start of a "
                     "container"
                   : raw_restart_note},
        {"cold_start_ms.cv",
         "range of ten CUDA initialisations on a V100 (StreamBox) / 3.078 / their mean"},
        {0}};
    output_texts(cJSON_AddObjectToObject(function, "evidence"), evidence);
    cJSON *derivation = cJSON_AddObjectToObject(function, "derivation");
    output_texts(derivation, cold_start);
    output_weights(raw, row, derivation);
    if (bounded)
        profile_put_text(
            derivation, "gpu_memory_mb.per_item",
            "geometric mean of the bracket that the out-of-memory boundary leaves: at least "
            "%.4g MB by the batches that did not run, at most %.4g MB by those that did",
            bracket->least, bracket->most);
    else
        profile_put_text(derivation, "gpu_memory_mb.per_item",
                         "half of the most that the measurements allow, %.4g MB; every batch ran",
                         bracket->most);
    profile_put_text(derivation, "input_bytes", "%s", input);
}

static bool add_function(const struct raw *raw, const char *name, cJSON *functions,
                         struct error *error)
{
    const struct raw_runs runs = {&raw->parvagpu, name};
    const char *restarted = restart_name(name);
    struct profile_function facts;
    size_t row = 0;
    if (!raw_function(raw, name, &row, &facts, error))
        return false;
    struct bracket bracket = item_bracket(raw, &runs, facts.gpu_weights_mb);
    facts.batch = (struct profile_axis){batches, bracket.batches};
    facts.vgpu = (struct profile_axis){slices, SLICES};
    if (restarted != NULL)
        facts.cold_start_mean_ms = raw_restart_ms(raw, restarted);
    facts.gpu_per_item_mb =
        bracket.least > 0 ? sqrt(bracket.least * bracket.most) : bracket.most / 2;
    cJSON *function = output_function(functions, name, name, &facts, raw_latency_ms, &runs, error);
    if (function != NULL)
        describe(raw, row, restarted != NULL, &bracket, function);
    return function != NULL;
}

bool derive_parvagpu(const struct raw *raw, const char *out, struct error *error)
{
    static const struct output_text head[] = {
        {"device", "NVIDIA A100 80GB, MIG slices of 1, 2, 3, 4, 7 GPCs"},
        {"evidence", "measured"},
        {"source", "ParvaGPU (SC 2024), github.com/MunQ-Lee/ParvaGPU_SC24, commit "
                   "5f3de1e18582b4c81896a1c3eb0e2915238dfee6"},
        {"licence", "MIT, copyright (c) 2024 sslab6943"},
        {"derivation",
         "Latency of one process in a MIG slice, as measured, also where a larger slice was "
         "slower; null where it ran out of memory. The host's vCPUs were not varied: the vCPU "
         "axis has one point. MIG slices are isolated: no interference model."},
        {0}};
    cJSON *profile = cJSON_CreateObject();
    output_texts(profile, head);
    profile_put_number(profile, "unit", 7);
    cJSON *functions = cJSON_AddObjectToObject(profile, "functions");
    bool fine = true;
    for (size_t i = 0; fine && i < raw->parvagpu.functions.count; i++)
        fine = add_function(raw, raw->parvagpu.functions.names[i], functions, error);
    fine = fine && output_write(profile, out, "a100-mig-parvagpu.json", error);
    cJSON_Delete(profile);
    return fine;
}
