#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/calibrate/derive/derive.h"

const char *const igniter_models[IGNITER_MODELS] = {"alexnet", "resnet50", "vgg19", "ssd"};

static const double BYTES_PER_MB = 1024.0 * 1024.0;

struct source {
    struct table **table;
    const char *file;
    const char *const *columns;
};

static bool open_sources(const struct source *sources, size_t count, const char *folder,
                         struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        *sources[i].table = table_load(folder, sources[i].file, sources[i].columns, error);
        if (*sources[i].table == NULL)
            return false;
    }
    return true;
}

bool raw_open(struct raw *raw, const char *folder, struct error *error)
{
    static const char *const models[] = {"network",    "parameters", "grade", "input_bytes",
                                         "input_note", "source",     NULL};
    static const char *const solo[] = {"model",      "batch",         "mps_pct",
                                       "latency_ms", "dram_util_pct", NULL};
    static const char *const pairs[] = {"model1",    "model2",    "mps1_pct", "mps2_pct",
                                        "lat1_ms",   "lat2_ms",   "std1_ms",  "std2_ms",
                                        "slowdown1", "slowdown2", NULL};
    static const char *const gpu_time[] = {"model", "batch", "mps_pct", "gpu_ms", NULL};
    static const char *const parvagpu[] = {"model",     "mig_gpcs",   "batch",
                                           "mps_procs", "latency_ms", NULL};
    static const char *const slices[] = {"mig_gpcs", "memory_mb", NULL};
    static const char *const restarts[] = {"system", "model_or_interval", "lat_avg_ms", NULL};
    static const char *const cuda_init[] = {"iterations", "mean_ms", "min_ms", "max_ms", NULL};
    static const char *const infless[] = {"model",      "cpu_cores", "gpu_pct", "batch",
                                          "latency_ms", "saturated", NULL};
    static const char *const anchors[] = {"function",    "network",          "model",
                                          "latency_ms",  "latency_grade",    "cold_start_ms",
                                          "input_bytes", "cold_start_grade", "input_grade",
                                          "donor",       "donor_reason",     NULL};
    static const char *const absolute[] = {"function",   "network",      "macs", "donor",
                                           "donor_macs", "donor_reason", NULL};
    static const char *const assumptions[] = {"quantity", "value", "grade", "note", NULL};
    *raw = (struct raw){0};
    const struct source sources[] = {
        {&raw->models, "models/models.csv", models},
        {&raw->solo, "igniter/solo.csv", solo},
        {&raw->pairs, "igniter/pairs.csv", pairs},
        {&raw->gpu_time, "igniter/gpu_time.csv", gpu_time},
        {&raw->parvagpu, "parvagpu/parvagpu_all.csv", parvagpu},
        {&raw->slices, "parvagpu/slices.csv", slices},
        {&raw->restarts, "pipeswitch/pipeswitch_v100_latency.csv", restarts},
        {&raw->cuda_init, "streambox/cuda_init.csv", cuda_init},
        {&raw->infless, "infless/infless_profiles_clean.csv", infless},
        {&raw->anchors, "esg/anchors.csv", anchors},
        {&raw->absolute, "esg/absolute.csv", absolute},
        {&raw->assumptions, "esg/assumptions.csv", assumptions},
    };
    return open_sources(sources, sizeof sources / sizeof sources[0], folder, error);
}

void raw_close(struct raw *raw)
{
    table_free(raw->models);
    table_free(raw->solo);
    table_free(raw->pairs);
    table_free(raw->gpu_time);
    table_free(raw->parvagpu);
    table_free(raw->slices);
    table_free(raw->restarts);
    table_free(raw->cuda_init);
    table_free(raw->infless);
    table_free(raw->anchors);
    table_free(raw->absolute);
    table_free(raw->assumptions);
}

double raw_weights_mb(const struct raw *raw, const char *network)
{
    size_t row = table_find(raw->models, "network", network);
    if (row == raw->models->rows)
        return NAN;
    return table_number(raw->models, row, "parameters") * 4 / BYTES_PER_MB;
}

double raw_assumption(const struct raw *raw, const char *quantity)
{
    size_t row = table_find(raw->assumptions, "quantity", quantity);
    return row == raw->assumptions->rows ? NAN : table_number(raw->assumptions, row, "value");
}

double raw_cold_start_cv(const struct raw *raw)
{
    /* Only the mean, minimum and maximum of ten values are known. The expected range of ten normal
     * deviates is 3.078 standard deviations (Tippett 1925). */
    static const double range_of_ten = 3.078;
    double range =
        table_number(raw->cuda_init, 0, "max_ms") - table_number(raw->cuda_init, 0, "min_ms");
    return range / range_of_ten / table_number(raw->cuda_init, 0, "mean_ms");
}

double raw_restart_ms(const struct raw *raw, const char *model)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < raw->restarts->rows; i++) {
        if (strcmp(table_text(raw->restarts, i, "system"), "kill_restart") != 0 ||
            strcmp(table_text(raw->restarts, i, "model_or_interval"), model) != 0)
            continue;
        sum += table_number(raw->restarts, i, "lat_avg_ms");
        count++;
    }
    return count == 0 ? NAN : sum / (double)count;
}

double raw_restart_convolutional_ms(const struct raw *raw)
{
    return (raw_restart_ms(raw, "resnet152") + raw_restart_ms(raw, "inception_v3")) / 2;
}

size_t igniter_index(const char *name)
{
    size_t i = 0;
    while (i < IGNITER_MODELS && strcmp(igniter_models[i], name) != 0)
        i++;
    return i;
}

static bool is_pair_batch(double batch)
{
    return batch == 2 || batch == 4 || batch == 8 || batch == 16 || batch == 32;
}

double igniter_demand(const struct raw *raw, const char *model)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < raw->solo->rows; i++) {
        double used = table_number(raw->solo, i, "dram_util_pct");
        if (strcmp(table_text(raw->solo, i, "model"), model) != 0 || isnan(used) ||
            table_number(raw->solo, i, "mps_pct") != 80 ||
            !is_pair_batch(table_number(raw->solo, i, "batch")))
            continue;
        sum += used / 100;
        count++;
    }
    return count == 0 ? NAN : sum / (double)count;
}

bool igniter_law(const struct raw *raw, const char *model, struct share_law *law,
                 struct error *error)
{
    struct share_sample *samples = calloc(raw->solo->rows, sizeof *samples);
    size_t count = 0;
    if (samples == NULL)
        return error_run(error, "%s: out of memory", raw->solo->path);
    for (size_t i = 0; i < raw->solo->rows; i++) {
        if (strcmp(table_text(raw->solo, i, "model"), model) != 0)
            continue;
        samples[count++] = (struct share_sample){
            .batch = table_number(raw->solo, i, "batch"),
            .share = table_number(raw->solo, i, "mps_pct") / 100,
            .ms = table_number(raw->solo, i, "latency_ms"),
        };
    }
    bool fine = fit_share_law(samples, count, law, error);
    free(samples);
    return fine;
}
