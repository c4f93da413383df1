/* a100-mig-parvagpu.json: measured latencies; memory estimated from which batches ran and which did
 * not; cold starts from other measurements. */
#include <math.h>
#include <string.h>

#include "traces/calibrate/derive/derive.h"

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
        const cJSON *slice = NULL;
        b++;
        cJSON_ArrayForEach(slice, raw->tables[RAW_SLICES])
        {
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

static bool add_function(const struct raw *raw, const char *name, cJSON *profile,
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
        fine = add_function(raw, raw->parvagpu.functions.names[i], profile, error);
    return output_end(profile, fine, out, "a100-mig-parvagpu.json", error);
}
