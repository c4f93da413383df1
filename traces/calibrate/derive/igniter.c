/* v100-mps-igniter.json: measured latencies, noise and pairwise interference. */
#include <math.h>
#include <stdlib.h>

#include "traces/calibrate/derive/derive.h"

static int shares[] = {20, 40, 50, 60, 80};
static int batches[] = {1, 2, 4, 8, 12, 16, 24, 32};

/* Mean excess slowdown of a victim by a co-runner, at least 0; NAN if they did not meet. The runs
 * of a pair are next to each other. */
static double pair_excess(const struct sample_set *set, size_t victim, size_t co_runner)
{
    double mean = 0;
    size_t count = 0;
    for (size_t i = 0; i < set->co_run_count; i++)
        if (set->co_runs[i].function == victim && set->co_runs[i ^ 1].function == co_runner)
            mean += (set->co_runs[i].slowdown - 1 - mean) / (double)++count;
    return count > 0 ? fmax(0, mean) : NAN;
}

static bool add_interference(const struct sample_set *set, struct output *output,
                             struct error *error)
{
    const size_t models = set->functions.count;
    struct interference law = {.kind = INTERFERENCE_PAIRS,
                               .pair_count = models,
                               .pair_names = set->functions.names,
                               .pairs = calloc(models * models + 1, sizeof *law.pairs)};
    cJSON *values = cJSON_CreateObject();
    if (law.pairs == NULL)
        return error_run(error, "out of memory for %zu models", models);
    for (size_t i = 0; i < models * models; i++)
        law.pairs[i] = pair_excess(set, i / models, i % models);
    for (size_t i = 0; i < set->co_run_count; i++)
        law.constant += (set->co_runs[i].slowdown - 1) / (double)set->co_run_count;
    law.constant = fmax(0, law.constant);
    profile_put_text(values, "pairs", "%zu", set->co_run_count / 2);
    profile_put_text(values, "slowdowns", "%zu", set->co_run_count);
    output_interference(output, &law, values);
    free(law.pairs);
    return true;
}

static bool add_function(const struct raw *raw, uint32_t index, struct output *output,
                         struct error *error)
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
    cJSON *function =
        output_function(output, alone.model, alone.model, &facts, raw_latency_ms, &alone, error);
    cJSON *values = cJSON_CreateObject();
    profile_put_text(values, "runs", "%zu", runs);
    output_fill(function, values);
    output_fill(function, network);
    cJSON_Delete(values);
    return function != NULL;
}

bool derive_igniter(const struct raw *raw, const char *out, struct error *error)
{
    struct output output;
    bool fine = output_begin(&output, raw, "igniter/profile.json", error);
    for (uint32_t i = 0; fine && i < raw->igniter.functions.count; i++)
        fine = add_function(raw, i, &output, error);
    fine = fine && add_interference(&raw->igniter, &output, error);
    return output_end(&output, fine, out, "v100-mps-igniter.json", error);
}
