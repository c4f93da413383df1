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

/* Says where the values come from. */
static void put_notes(cJSON *function, const cJSON *network, const struct bracket *bracket)
{
    const bool restarted = raw_text(network, "pipeswitch")[0] != '\0';
    const bool bounded = bracket->least > 0;
    const bool guessed = strstr(raw_text(network, "input_note"), "assumed") != NULL;
    cJSON *values = cJSON_CreateObject();
    profile_put_text(values, "restart_grade", restarted ? "measured" : "derived");
    profile_put_text(values, "restart",
                     restarted ? "process restart of this model"
                               : "mean process restart of resnet152 and inception_v3");
    profile_put_text(values, "per_item_grade", bounded ? "derived" : "assumed");
    if (bounded)
        profile_put_text(values, "per_item",
                         "geometric mean of the bracket that the out-of-memory boundary leaves: at "
                         "least %.4g MB by the batches that did not run, at most %.4g MB by those "
                         "that did",
                         bracket->least, bracket->most);
    else
        profile_put_text(values, "per_item",
                         "half of the most that the measurements allow, %.4g MB; every batch ran",
                         bracket->most);
    profile_put_text(values, "input_grade", guessed ? "assumed" : "derived");
    output_fill(function, values);
    output_fill(function, network);
    cJSON_Delete(values);
}

static bool add_function(const struct raw *raw, const char *name, struct output *output,
                         struct error *error)
{
    const struct raw_runs runs = {&raw->parvagpu, name};
    struct profile_function facts;
    const cJSON *network = raw_function(raw, name, &facts, error);
    if (network == NULL)
        return false;
    const struct bracket bracket =
        item_bracket(raw->tables[RAW_SLICES], &runs, facts.gpu_weights_mb);
    facts.batch = (struct profile_axis){batches, bracket.batches};
    facts.vgpu = (struct profile_axis){slices, SLICES};
    facts.gpu_per_item_mb =
        bracket.least > 0 ? sqrt(bracket.least * bracket.most) : bracket.most / 2;
    cJSON *function = output_function(output, name, name, &facts, raw_latency_ms, &runs, error);
    put_notes(function, network, &bracket);
    return function != NULL;
}

bool derive_parvagpu(const struct raw *raw, const char *out, struct error *error)
{
    struct output output;
    bool fine = output_begin(&output, raw, "parvagpu/profile.json", error);
    for (size_t i = 0; fine && i < raw->parvagpu.functions.count; i++)
        fine = add_function(raw, raw->parvagpu.functions.names[i], &output, error);
    return output_end(&output, fine, out, "a100-mig-parvagpu.json", error);
}
