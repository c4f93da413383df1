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

static struct bracket item_bracket(const cJSON *memories, const struct raw_runs *runs,
                                   double weights_mb)
{
    struct bracket bracket = {0, INFINITY, 0};
    double least = 0; /* with the batch sizes that ran on no slice so far */
    for (size_t b = 0; b < BATCHES; b++) {
        for (int s = 0; s < SLICES; s++) {
            double room = raw_number(cJSON_GetArrayItem(memories, s), "memory_mb") - weights_mb;
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

static bool add_function(const struct raw *raw, const char *name, cJSON *profile,
                         struct error *error)
{
    const struct raw_runs runs = {&raw->parvagpu, name};
    const char *restarted = restart_name(name);
    struct profile_function facts;
    const cJSON *network = raw_function(raw, name, &facts, error);
    if (network == NULL)
        return false;
    const char *input = raw_text(network, "input_note");
    const struct bracket bracket =
        item_bracket(raw->tables[RAW_SLICES], &runs, facts.gpu_weights_mb);
    const bool bounded = bracket.least > 0;
    facts.batch = (struct profile_axis){batches, bracket.batches};
    facts.vgpu = (struct profile_axis){slices, SLICES};
    if (restarted != NULL)
        facts.cold_start_mean_ms = raw_restart_ms(raw, restarted);
    facts.gpu_per_item_mb = bounded ? sqrt(bracket.least * bracket.most) : bracket.most / 2;
    const struct output_note notes[] = {
        {"latency_ms", "measured", NULL},
        {"noise.cv", "assumed", NULL},
        {"cold_start_ms.mean", restarted != NULL ? "measured" : "derived",
         profile_text("%s", restarted != NULL ? "process restart of this model on a V100 "
                                                "(PipeSwitch), without the start of a container"
                                              : raw_restart_note)},
        {"cold_start_ms.cv", "derived",
         profile_text("range of ten CUDA initialisations on a V100 (StreamBox) / 3.078 / their "
                      "mean")},
        raw_weights_note(network),
        {"gpu_memory_mb.per_item", bounded ? "derived" : "assumed",
         bounded ? profile_text("geometric mean of the bracket that the out-of-memory boundary "
                                "leaves: at least %.4g MB by the batches that did not run, at most "
                                "%.4g MB by those that did",
                                bracket.least, bracket.most)
                 : profile_text("half of the most that the measurements allow, %.4g MB; every "
                                "batch ran",
                                bracket.most)},
        {"host_memory_mb", "assumed", NULL},
        {"input_bytes", strstr(input, "assumed") != NULL ? "assumed" : "derived",
         profile_text("%s", input)},
        {0}};
    return output_function(profile, name, name, &facts, notes, raw_latency_ms, &runs, error);
}

bool derive_parvagpu(const struct raw *raw, const char *out, struct error *error)
{
    cJSON *profile = output_profile(&(struct output_head){
        .device = "NVIDIA A100 80GB, MIG slices of 1, 2, 3, 4, 7 GPCs",
        .evidence = "measured",
        .source = "ParvaGPU (SC 2024), github.com/MunQ-Lee/ParvaGPU_SC24, commit "
                  "5f3de1e18582b4c81896a1c3eb0e2915238dfee6",
        .licence = "MIT, copyright (c) 2024 sslab6943",
        .derivation = profile_text(
            "Latency of one process in a MIG slice, as measured, also where a larger slice was "
            "slower; null where it ran out of memory. The host's vCPUs were not varied: the vCPU "
            "axis has one point. MIG slices are isolated: no interference model."),
        .unit = 7});
    bool fine = true;
    for (size_t i = 0; fine && i < raw->parvagpu.functions.count; i++)
        fine = add_function(raw, raw->parvagpu.functions.names[i], profile, error);
    return output_end(profile, fine, out, "a100-mig-parvagpu.json", error);
}
