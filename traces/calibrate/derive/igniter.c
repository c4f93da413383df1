/* v100-mps-igniter.json: measured latencies, noise and pairwise interference. */
#include <math.h>
#include <stdlib.h>

#include "traces/calibrate/derive/derive.h"

static int shares[] = {20, 40, 50, 60, 80};
static int batches[] = {1, 2, 4, 8, 12, 16, 24, 32};

/* Mean excess slowdown per victim and co-runner. The runs of a pair are next to each other. */
static bool add_interference(const struct sample_set *set, cJSON *profile, struct error *error)
{
    const size_t models = set->functions.count;
    const size_t cells = models * models;
    double constant = 0;
    double *pairs = calloc(cells + 1, sizeof *pairs);
    size_t *runs = calloc(cells + 1, sizeof *runs);
    bool fine = pairs != NULL && runs != NULL;
    for (size_t i = 0; fine && i < set->co_run_count; i++) {
        size_t cell = set->co_runs[i].function * models + set->co_runs[i ^ 1].function;
        double excess = set->co_runs[i].slowdown - 1;
        pairs[cell] += (excess - pairs[cell]) / (double)++runs[cell];
        constant += excess / (double)set->co_run_count;
    }
    for (size_t i = 0; fine && i < cells; i++)
        pairs[i] = runs[i] > 0 ? fmax(0, pairs[i]) : NAN;
    cJSON *model =
        profile_put_interference(profile, &(struct interference){.kind = INTERFERENCE_PAIRS,
                                                                 .constant = fmax(0, constant),
                                                                 .pair_count = fine ? models : 0,
                                                                 .pair_names = set->functions.names,
                                                                 .pairs = pairs});
    profile_put_text(model, "evidence", "measured for two partners; adding up for more is assumed");
    profile_put_text(model, "source",
                     "iGniter, %zu co-locations of two different models at shares t and 100 - t",
                     set->co_run_count / 2);
    profile_put_text(
        model, "derivation",
        "Row victim, column co-runner: mean of slowdown - 1 over batches and shares, negative "
        "means raised to 0. A model beside itself was not measured (null): there the mean of "
        "all %zu slowdowns, \"constant\", stands in.",
        set->co_run_count);
    free(pairs);
    free(runs);
    return fine || error_run(error, "out of memory for %zu models", models);
}

static bool add_function(const struct raw *raw, uint32_t index, cJSON *profile, struct error *error)
{
    const struct sample_set *set = &raw->igniter;
    const struct raw_runs alone = {set, set->functions.names[index]};
    struct profile_function facts;
    size_t runs = 0;
    const cJSON *network = raw_function(raw, alone.model, &facts, error);
    if (network == NULL)
        return false;
    facts.batch = (struct profile_axis){batches, sizeof batches / sizeof batches[0]};
    facts.vgpu = (struct profile_axis){shares, sizeof shares / sizeof shares[0]};
    facts.gpu_per_item_mb = raw_assumption(raw, "per_item_igniter");
    facts.bandwidth_share = set->facts[index].demand;
    facts.noise_cv = 0;
    for (size_t i = 0; i < set->co_run_count; i++)
        if (set->co_runs[i].function == index)
            facts.noise_cv += (set->co_runs[i].cv - facts.noise_cv) / (double)++runs;
    const struct output_note notes[] = {
        {"latency_ms", "measured", NULL},
        {"noise.cv", "measured",
         profile_text("mean of standard deviation / mean over %zu co-locations", runs)},
        {"cold_start_ms", "derived",
         profile_text("%s; cv from ten CUDA initialisations (StreamBox)", raw_restart_note)},
        raw_weights_note(network),
        {"gpu_memory_mb.per_item", "assumed", NULL},
        {"host_memory_mb", "assumed", NULL},
        {"bandwidth_share", "measured",
         profile_text("DRAM utilisation at the 80 %% share, mean over batch 2, 4, 8, 16, 32")},
        {"input_bytes", "published", profile_text("%s", raw_text(network, "input_note"))},
        {0}};
    return output_function(profile, alone.model, alone.model, &facts, notes, raw_latency_ms, &alone,
                           error);
}

bool derive_igniter(const struct raw *raw, const char *out, struct error *error)
{
    cJSON *profile = output_profile(&(struct output_head){
        .device = "NVIDIA V100 16GB, MPS active-thread percentage",
        .evidence = "measured",
        .source = "iGniter (IEEE TPDS 2023), github.com/icloud-ecnu/igniter, commit "
                  "b1ff2ab2624bb8ae856fc133871afa8a93c84d59",
        .licence = "no licence file upstream; measured numbers only",
        .derivation = profile_text(
            "Mean latency of a batch alone at a share of 20, 40, 50, 60, 80 %% (unit 100), "
            "TensorRT FP32; 10 and 100 %% were measured at batch 1 only and are left out. The "
            "host's vCPUs were not varied: the vCPU axis has one point."),
        .unit = 100});
    bool fine = true;
    for (uint32_t i = 0; fine && i < raw->igniter.functions.count; i++)
        fine = add_function(raw, i, profile, error);
    fine = fine && add_interference(&raw->igniter, profile, error);
    return output_end(profile, fine, out, "v100-mps-igniter.json", error);
}
