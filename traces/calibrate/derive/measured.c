/* The profiles of measured latencies.
 *
 * a100-mig-parvagpu.json: memory is estimated from which batches ran and which did not; cold starts
 * are from other measurements. v100-mps-igniter.json: also noise and pairwise interference. */
#include <math.h>
#include <string.h>

#include "traces/calibrate/derive/derive.h"

/* Estimates the memory per item of a batch. Every batch that ran gives an upper bound, and every
 * batch that ran out of memory a lower bound. Cuts `batches` behind the largest that ran on a
 * slice.
 */
static void put_item_memory(const struct raw *raw, const struct raw_runs *runs, cJSON *batches,
                            cJSON *values)
{
    const double weights_mb = raw_number(values, "weights_mb");
    double most = INFINITY;
    double least = 0;   /* 0: all batches ran */
    double refused = 0; /* with the batch sizes that ran on no slice so far */
    int ran = 0;
    for (int b = 0; b < cJSON_GetArraySize(batches); b++) {
        const int batch = cJSON_GetArrayItem(batches, b)->valueint;
        const cJSON *slice = raw_rows(raw, "parvagpu/slices.csv");
        for (; slice != NULL; slice = slice->next) {
            const double item_mb = (raw_number(slice, "memory_mb") - weights_mb) / batch;
            if (isnan(raw_latency_ms(runs, batch, 1, (int)raw_number(slice, "mig_gpcs")))) {
                refused = fmax(refused, item_mb);
                continue;
            }
            most = fmin(most, item_mb);
            ran = b + 1;
        }
        if (ran == b + 1)
            least = refused;
    }
    while (cJSON_GetArraySize(batches) > ran)
        cJSON_DeleteItemFromArray(batches, ran);
    raw_put(values, "per_item_mb", least > 0 ? sqrt(least * most) : most / 2);
    profile_put_text(values, "per_item_grade", least > 0 ? "derived" : "assumed");
    if (least > 0)
        profile_put_text(values, "per_item",
                         "geometric mean of the bracket that the out-of-memory boundary leaves: at "
                         "least %.4g MB by the batches that did not run, at most %.4g MB by those "
                         "that did",
                         least, most);
    else
        profile_put_text(values, "per_item",
                         "half of the most that the measurements allow, %.4g MB; every batch ran",
                         most);
}

static bool add_parvagpu(const struct raw *raw, const char *name, cJSON *profile,
                         struct error *error)
{
    const struct raw_runs runs = {&raw->parvagpu, name};
    cJSON *values = raw_network(raw, name, error);
    if (values == NULL)
        return false;
    const bool restarted = raw_text(values, "pipeswitch")[0] != '\0';
    const bool guessed = strstr(raw_text(values, "input_note"), "assumed") != NULL;
    cJSON *function = output_function(profile, name);
    put_item_memory(raw, &runs, cJSON_GetObjectItem(cJSON_GetObjectItem(function, "grid"), "batch"),
                    values);
    profile_put_text(values, "restart_grade", restarted ? "measured" : "derived");
    profile_put_text(values, "restart",
                     restarted ? "process restart of this model"
                               : "mean process restart of resnet152 and inception_v3");
    profile_put_text(values, "input_grade", guessed ? "assumed" : "derived");
    output_fill(function, values);
    cJSON_Delete(values);
    return output_latencies(function, raw_latency_ms, &runs, error);
}

bool fill_parvagpu(const struct raw *raw, const struct derived *derived, cJSON *profile,
                   struct error *error)
{
    bool fine = true;
    (void)derived;
    for (size_t i = 0; fine && i < raw->parvagpu.functions.count; i++)
        fine = add_parvagpu(raw, raw->parvagpu.functions.names[i], profile, error);
    return fine;
}

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
    for (size_t i = 0; i < models; i++) {
        cJSON *row = cJSON_CreateArray();
        for (size_t j = 0; j < models; j++)
            (void)cJSON_AddItemToArray(row, profile_number(pair_excess(set, i, j)));
        (void)cJSON_AddItemToArray(rows, row);
    }
    for (size_t i = 0; i < set->co_run_count; i++)
        constant += (set->co_runs[i].slowdown - 1) / (double)set->co_run_count;
    cJSON_ReplaceItemInObject(interference, "constant", profile_number(fmax(0, constant)));
    cJSON_ReplaceItemInObject(interference, "functions",
                              cJSON_CreateStringArray(names, (int)models));
    cJSON_ReplaceItemInObject(interference, "excess", rows);
}

static bool add_igniter(const struct raw *raw, uint32_t index, cJSON *profile, struct error *error)
{
    const struct sample_set *set = &raw->igniter;
    const struct raw_runs alone = {set, set->functions.names[index]};
    double cv = 0;
    size_t runs = 0;
    cJSON *values = raw_network(raw, alone.model, error);
    if (values == NULL)
        return false;
    cJSON *function = output_function(profile, alone.model);
    for (size_t i = 0; i < set->co_run_count; i++)
        if (set->co_runs[i].function == index)
            cv += (set->co_runs[i].cv - cv) / (double)++runs;
    raw_put(values, "cv", cv);
    raw_put(values, "demand", set->properties[index].demand);
    profile_put_text(values, "runs", "%zu", runs);
    output_fill(function, values);
    cJSON_Delete(values);
    return output_latencies(function, raw_latency_ms, &alone, error);
}

bool fill_igniter(const struct raw *raw, const struct derived *derived, cJSON *profile,
                  struct error *error)
{
    bool fine = true;
    (void)derived;
    for (uint32_t i = 0; fine && i < raw->igniter.functions.count; i++)
        fine = add_igniter(raw, i, profile, error);
    fill_interference(&raw->igniter, cJSON_GetObjectItem(profile, "interference"));
    return fine;
}
