/* v100-mps-igniter.json: measured latencies, noise and pairwise interference. */
#include <math.h>

#include "traces/calibrate/derive/derive.h"

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

static void fill_interference(const struct sample_set *set, cJSON *interference)
{
    const size_t models = set->functions.count;
    const char *const *names = (const char *const *)set->functions.names;
    double constant = 0;
    cJSON *rows = cJSON_CreateArray();
    cJSON *values = cJSON_CreateObject();
    for (size_t i = 0; i < models; i++) {
        cJSON *row = cJSON_CreateArray();
        for (size_t j = 0; j < models; j++)
            (void)cJSON_AddItemToArray(row, profile_number(pair_excess(set, i, j)));
        (void)cJSON_AddItemToArray(rows, row);
    }
    for (size_t i = 0; i < set->co_run_count; i++)
        constant += (set->co_runs[i].slowdown - 1) / (double)set->co_run_count;
    raw_put(values, "constant", fmax(0, constant));
    profile_put_text(values, "pairs", "%zu", set->co_run_count / 2);
    profile_put_text(values, "slowdowns", "%zu", set->co_run_count);
    cJSON_ReplaceItemInObject(interference, "functions",
                              cJSON_CreateStringArray(names, (int)models));
    cJSON_ReplaceItemInObject(interference, "excess", rows);
    output_fill(interference, values);
    cJSON_Delete(values);
}

static bool add_function(const struct raw *raw, uint32_t index, cJSON *profile, struct error *error)
{
    const struct sample_set *set = &raw->igniter;
    const struct raw_runs alone = {set, set->functions.names[index]};
    double cv = 0;
    size_t runs = 0;
    cJSON *values = raw_network(raw, alone.model, error);
    cJSON *function = output_function(profile, alone.model);
    for (size_t i = 0; i < set->co_run_count; i++)
        if (set->co_runs[i].function == index)
            cv += (set->co_runs[i].cv - cv) / (double)++runs;
    raw_put(values, "cv", cv);
    raw_put(values, "demand", set->facts[index].demand);
    profile_put_text(values, "runs", "%zu", runs);
    output_fill(function, values);
    output_fill(function, raw->assumed);
    bool fine = values != NULL && output_latencies(function, raw_latency_ms, &alone, error);
    cJSON_Delete(values);
    return fine;
}

bool derive_igniter(const struct raw *raw, const char *out, struct error *error)
{
    cJSON *profile = output_begin(raw, "igniter/profile.json", error);
    bool fine = profile != NULL;
    for (uint32_t i = 0; fine && i < raw->igniter.functions.count; i++)
        fine = add_function(raw, i, profile, error);
    fill_interference(&raw->igniter, cJSON_GetObjectItem(profile, "interference"));
    return output_end(profile, fine, out, "v100-mps-igniter.json", error);
}
