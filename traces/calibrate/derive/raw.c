#include "traces/calibrate/derive/derive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/json/json.h"

static const double BYTES_PER_MB = 1024.0 * 1024.0;

const char raw_restart_note[] = "mean process restart of resnet152 and inception_v3 on a V100 "
                                "(PipeSwitch), without the start of a container";

/* ---- Tables ---------------------------------------------------------------------------------- */

/* A file and the columns that are used of it. */
static const struct source {
    const char *file, *columns[TABLE_CELLS];
} sources[RAW_TABLES] = {
    [RAW_MODELS] = {"models/models.csv",
                    {"network", "parameters", "grade", "input_bytes", "input_note", "source"}},
    [RAW_SOLO] = {"igniter/solo.csv", {"model", "batch", "mps_pct", "dram_util_pct"}},
    [RAW_GPU_TIME] = {"igniter/gpu_time.csv", {"model", "batch", "mps_pct", "gpu_ms"}},
    [RAW_SLICES] = {"parvagpu/slices.csv", {"mig_gpcs", "memory_mb"}},
    [RAW_RESTARTS] = {"pipeswitch/pipeswitch_v100_latency.csv",
                      {"system", "model_or_interval", "lat_avg_ms"}},
    [RAW_CUDA_INIT] = {"streambox/cuda_init.csv", {"mean_ms", "min_ms", "max_ms"}},
    [RAW_ANCHORS] = {"esg/anchors.csv",
                     {"function", "network", "model", "latency_ms", "latency_grade",
                      "cold_start_ms", "input_bytes", "cold_start_grade", "input_grade", "donor",
                      "donor_reason"}},
    [RAW_ABSOLUTE] = {"esg/absolute.csv",
                      {"function", "macs", "donor", "donor_macs", "donor_reason"}},
    [RAW_ASSUMPTIONS] = {"esg/assumptions.csv", {"quantity", "value"}},
};

/* TABLE_CELLS if the table has no such column. */
static size_t column_of(const struct raw *raw, enum raw_table table, const char *name)
{
    char *const *header = raw->tables[table].cells[0];
    size_t i = 0;
    while (i < TABLE_CELLS && (header[i] == NULL || strcmp(header[i], name) != 0))
        i++;
    return i;
}

static bool cut_table(struct raw *raw, enum raw_table table, struct error *error)
{
    const char *path = raw->tables[table].path;
    char *rest = raw->tables[table].text;
    size_t lines = 0, columns = 0, most = 2;
    for (const char *c = rest; *c != '\0'; c++)
        most += *c == '\n';
    raw->tables[table].cells = calloc(most, sizeof *raw->tables[table].cells);
    if (raw->tables[table].cells == NULL)
        return error_run(error, "%s: out of memory", path);
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (line[0] == '\0')
            continue;
        size_t found = table_cut(line, ",", raw->tables[table].cells[lines]);
        columns = lines == 0 ? found : columns;
        if (found != columns)
            return error_input(error, "%s: row %zu has %zu cells, the header has %zu", path, lines,
                               found, columns);
        raw->tables[table].rows = lines++;
    }
    for (const char *const *name = sources[table].columns; *name != NULL; name++)
        if (column_of(raw, table, *name) == TABLE_CELLS)
            return error_input(error, "%s: column \"%s\" is missing", path, *name);
    return true;
}

const char *raw_text(const struct raw *raw, enum raw_table table, size_t row, const char *column)
{
    return row < raw->tables[table].rows
               ? raw->tables[table].cells[row + 1][column_of(raw, table, column)]
               : "";
}

double raw_number(const struct raw *raw, enum raw_table table, size_t row, const char *column)
{
    const char *text = raw_text(raw, table, row, column);
    char *end = NULL;
    double value = strtod(text, &end);
    return end == text || *end != '\0' ? NAN : value;
}

size_t raw_find(const struct raw *raw, enum raw_table table, const char *column, const char *wanted)
{
    size_t row = 0;
    while (row < raw->tables[table].rows && strcmp(raw_text(raw, table, row, column), wanted) != 0)
        row++;
    return row;
}

double raw_mean(const struct raw *raw, enum raw_table table, const char *column,
                const char *const *where)
{
    double sum = 0;
    size_t count = 0;
    for (size_t row = 0; row < raw->tables[table].rows; row++) {
        const char *const *next = where;
        while (*next != NULL && strcmp(raw_text(raw, table, row, next[0]), next[1]) == 0)
            next += 2;
        if (*next != NULL)
            continue;
        sum += raw_number(raw, table, row, column);
        count++;
    }
    return count == 0 ? NAN : sum / (double)count;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool read_set(struct sample_set *set, const char *folder, const char *name,
                     struct error *error)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return error_run(error, "%s/%s: out of memory", folder, name);
    bool fine = sample_table_read(set, path, error);
    free(path);
    return fine;
}

/* Bandwidth demand of a model: DRAM utilisation, 0..1, at a share of 80 % (the largest measured),
 * mean over the batch sizes of the co-location runs. */
static double igniter_demand(const struct raw *raw, const char *model)
{
    static const char *const batches[] = {"2", "4", "8", "16", "32"};
    enum { BATCHES = sizeof batches / sizeof batches[0] };
    double sum = 0;
    for (size_t i = 0; i < BATCHES; i++)
        sum += raw_mean(
            raw, RAW_SOLO, "dram_util_pct",
            (const char *const[]){"model", model, "mps_pct", "80", "batch", batches[i], NULL});
    return sum / 100 / BATCHES;
}

bool raw_open(struct raw *raw, const char *folder, struct error *error)
{
    *raw = (struct raw){0};
    for (enum raw_table i = 0; i < RAW_TABLES; i++) {
        if (asprintf(&raw->tables[i].path, "%s/%s", folder, sources[i].file) < 0)
            return error_run(error, "%s/%s: out of memory", folder, sources[i].file);
        raw->tables[i].text = json_read_text(raw->tables[i].path, NULL, error);
        if (raw->tables[i].text == NULL || !cut_table(raw, i, error))
            return false;
    }
    if (!read_set(&raw->igniter, folder, "igniter/solo.csv", error) ||
        !read_set(&raw->igniter, folder, "igniter/pairs.csv", error) ||
        !read_set(&raw->parvagpu, folder, "parvagpu/parvagpu_all.csv", error) ||
        !read_set(&raw->infless, folder, "infless/infless_profiles_clean.csv", error))
        return false;
    for (size_t i = 0; i < raw->igniter.functions.count; i++)
        raw->igniter.facts[i].demand = igniter_demand(raw, raw->igniter.functions.names[i]);
    return true;
}

void raw_close(struct raw *raw)
{
    for (size_t i = 0; i < RAW_TABLES; i++) {
        free(raw->tables[i].path);
        free(raw->tables[i].text);
        free(raw->tables[i].cells);
    }
    samples_clear(&raw->igniter);
    samples_clear(&raw->parvagpu);
    samples_clear(&raw->infless);
}

/* ---- Values ---------------------------------------------------------------------------------- */

double raw_assumption(const struct raw *raw, const char *quantity)
{
    size_t row = raw_find(raw, RAW_ASSUMPTIONS, "quantity", quantity);
    return raw_number(raw, RAW_ASSUMPTIONS, row, "value");
}

double raw_latency_ms(const void *runs, int batch, int vcpu, int share)
{
    const struct raw_runs *of = runs;
    const int32_t function = string_index_find(&of->set->functions, of->model);
    (void)vcpu;
    for (size_t i = 0; i < of->set->latency_count; i++) {
        const struct latency_sample *sample = &of->set->latencies[i];
        if ((int32_t)sample->function == function && sample->batch == batch &&
            sample->share == share)
            return sample->ms;
    }
    return NAN;
}

double raw_restart_ms(const struct raw *raw, const char *model)
{
    return raw_mean(
        raw, RAW_RESTARTS, "lat_avg_ms",
        (const char *const[]){"system", "kill_restart", "model_or_interval", model, NULL});
}

/* Only the mean, minimum and maximum of ten values are known. The expected range of ten normal
 * deviates is 3.078 standard deviations (Tippett 1925). */
static double cold_start_cv(const struct raw *raw)
{
    static const double range_of_ten = 3.078;
    double range =
        raw_number(raw, RAW_CUDA_INIT, 0, "max_ms") - raw_number(raw, RAW_CUDA_INIT, 0, "min_ms");
    return range / range_of_ten / raw_number(raw, RAW_CUDA_INIT, 0, "mean_ms");
}

bool raw_function(const struct raw *raw, const char *network, size_t *row,
                  struct profile_function *function, struct error *error)
{
    static int one_vcpu[1] = {1};
    *row = raw_find(raw, RAW_MODELS, "network", network);
    if (*row == raw->tables[RAW_MODELS].rows)
        return error_input(error, "%s: network \"%s\" is missing", raw->tables[RAW_MODELS].path,
                           network);
    *function = (struct profile_function){
        .vcpu = {one_vcpu, 1},
        .input_bytes = raw_number(raw, RAW_MODELS, *row, "input_bytes"),
        .noise_cv = raw_assumption(raw, "noise_cv"),
        .cold_start_mean_ms =
            (raw_restart_ms(raw, "resnet152") + raw_restart_ms(raw, "inception_v3")) / 2,
        .cold_start_cv = cold_start_cv(raw),
        .gpu_weights_mb = raw_number(raw, RAW_MODELS, *row, "parameters") * 4 / BYTES_PER_MB,
        .host_memory_mb = raw_assumption(raw, "host_memory_mb"),
        .bandwidth_share = NAN};
    return true;
}

struct output_note raw_weights_note(const struct raw *raw, size_t row)
{
    return (struct output_note){"gpu_memory_mb.weights", raw_text(raw, RAW_MODELS, row, "grade"),
                                profile_text("%.0f parameters x 4 bytes; %s",
                                             raw_number(raw, RAW_MODELS, row, "parameters"),
                                             raw_text(raw, RAW_MODELS, row, "source"))};
}
