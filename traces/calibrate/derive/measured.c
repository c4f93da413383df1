/* The profiles of measured latencies.
 *
 * a100-mig-parvagpu.json: memory is estimated from which batches ran and which did not; cold starts
 * are from other measurements. v100-mps-igniter.json: also noise and pairwise interference. */
#include <math.h>
#include <string.h>

#include "traces/calibrate/derive/derive.h"

/* ---- ParvaGPU -------------------------------------------------------------------------------- */

/* Bounds on the memory per item of a batch. Every batch that ran gives an upper bound, and every
 * batch that ran out of memory a lower bound. least = 0: all batches ran. */
struct bracket {
    double least;
    double most;
    int batches; /* number of batch sizes up to the largest that ran on a slice */
};

static struct bracket item_bracket(const struct raw *raw, const struct raw_runs *runs,
                                   const cJSON *batches, double weights_mb)
{
    struct bracket bracket = {0, INFINITY, 0};
    double least = 0; /* with the batch sizes that ran on no slice so far */
    int b = 0;
    for (const cJSON *batch = batches->child; batch != NULL; batch = batch->next) {
        b++;
        for (const cJSON *slice = raw_rows(raw, "parvagpu/slices.csv"); slice != NULL;
             slice = slice->next) {
            const double room_mb = raw_number(slice, "memory_mb") - weights_mb;
            const double item_mb = room_mb / batch->valueint;
            if (isnan(
                    raw_latency_ms(runs, batch->valueint, 1, (int)raw_number(slice, "mig_gpcs")))) {
                least = fmax(least, item_mb);
                continue;
            }
            bracket.most = fmin(bracket.most, item_mb);
            bracket.batches = b;
        }
        if (bracket.batches == b)
            bracket.least = least;
    }
    return bracket;
}

/* Says where the values come from. */
static void put_notes(const struct bracket *bracket, cJSON *values)
{
    const bool restarted = raw_text(values, "pipeswitch")[0] != '\0';
    const bool guessed = strstr(raw_text(values, "input_note"), "assumed") != NULL;
    profile_put_text(values, "restart_grade", restarted ? "measured" : "derived");
    profile_put_text(values, "restart",
                     restarted ? "process restart of this model"
                               : "mean process restart of resnet152 and inception_v3");
    profile_put_text(values, "input_grade", guessed ? "assumed" : "derived");
    profile_put_text(values, "per_item_grade", bracket->least > 0 ? "derived" : "assumed");
    if (bracket->least > 0)
        profile_put_text(values, "per_item",
                         "geometric mean of the bracket that the out-of-memory boundary leaves: at "
                         "least %.4g MB by the batches that did not run, at most %.4g MB by those "
                         "that did",
                         bracket->least, bracket->most);
    else
        profile_put_text(values, "per_item",
                         "half of the most that the measurements allow, %.4g MB; every batch ran",
                         bracket->most);
}

static bool add_parvagpu(const struct raw *raw, const char *name, cJSON *profile,
                         struct error *error)
{
    const struct raw_runs runs = {&raw->parvagpu, name};
    cJSON *values = raw_network(raw, name, error);
    cJSON *function = output_function(profile, name);
    cJSON *batches = cJSON_GetObjectItem(cJSON_GetObjectItem(function, "grid"), "batch");
    const struct bracket bracket =
        item_bracket(raw, &runs, batches, raw_number(values, "weights_mb"));
    while (cJSON_GetArraySize(batches) > bracket.batches)
        cJSON_DeleteItemFromArray(batches, bracket.batches);
    raw_put(values, "per_item_mb",
            bracket.least > 0 ? sqrt(bracket.least * bracket.most) : bracket.most / 2);
    put_notes(&bracket, values);
    output_fill(function, values);
    output_fill(function, raw->assumed);
    bool fine = values != NULL && output_latencies(function, raw_latency_ms, &runs, error);
    cJSON_Delete(values);
    return fine;
}

bool derive_parvagpu(const struct raw *raw, const char *out, struct error *error)
{
    cJSON *profile = output_begin(raw, "parvagpu/profile.json", error);
    bool fine = profile != NULL;
    for (size_t i = 0; fine && i < raw->parvagpu.functions.count; i++)
        fine = add_parvagpu(raw, raw->parvagpu.functions.names[i], profile, error);
    return output_end(profile, fine, out, "a100-mig-parvagpu.json", error);
}

/* ---- iGniter --------------------------------------------------------------------------------- */

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

static bool add_igniter(const struct raw *raw, uint32_t index, cJSON *profile, struct error *error)
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
        fine = add_igniter(raw, i, profile, error);
    fill_interference(&raw->igniter, cJSON_GetObjectItem(profile, "interference"));
    return output_end(profile, fine, out, "v100-mps-igniter.json", error);
}
