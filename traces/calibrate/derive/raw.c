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

/* Cuts the text into rows, each an object of its cells. */
static bool fill_table(char *text, const char *path, const char *const *needed, cJSON *table,
                       struct error *error)
{
    char *header[TABLE_CELLS], *cells[TABLE_CELLS];
    char *line = strsep(&text, "\n");
    const size_t columns = table_cut(line, ",", header);
    while ((line = strsep(&text, "\n")) != NULL) {
        if (line[0] == '\0')
            continue;
        cJSON *row = cJSON_CreateObject();
        (void)cJSON_AddItemToArray(table, row);
        size_t found = table_cut(line, ",", cells);
        if (found != columns)
            return error_input(error, "%s: row %d has %zu cells, the header has %zu", path,
                               cJSON_GetArraySize(table), found, columns);
        for (size_t i = 0; i < columns && i < TABLE_CELLS; i++)
            (void)cJSON_AddStringToObject(row, header[i], cells[i]);
    }
    for (; *needed != NULL; needed++)
        if (!cJSON_HasObjectItem(table->child, *needed))
            return error_input(error, "%s: column \"%s\" is missing", path, *needed);
    return true;
}

const char *raw_text(const cJSON *row, const char *column)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, column));
    return text == NULL ? "" : text;
}

double raw_number(const cJSON *row, const char *column)
{
    const char *text = raw_text(row, column);
    char *end = NULL;
    double value = strtod(text, &end);
    return end == text || *end != '\0' ? NAN : value;
}

static bool is_selected(const cJSON *row, const char *const *where)
{
    while (*where != NULL && strcmp(raw_text(row, where[0]), where[1]) == 0)
        where += 2;
    return *where == NULL;
}

const cJSON *raw_find(const cJSON *table, const char *column, const char *wanted)
{
    const cJSON *row = table->child;
    while (row != NULL && strcmp(raw_text(row, column), wanted) != 0)
        row = row->next;
    return row;
}

/* Mean of `column` over the rows that `where` selects, pairs of a column and its value that NULL
 * ends. NAN if there are none. */
static double mean_of(const cJSON *table, const char *column, const char *const *where)
{
    double sum = 0;
    size_t count = 0;
    for (const cJSON *row = table->child; row != NULL; row = row->next)
        if (is_selected(row, where)) {
            sum += raw_number(row, column);
            count++;
        }
    return count == 0 ? NAN : sum / (double)count;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool read_set(const char *folder, const char *file, struct sample_set *set,
                     struct error *error)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, file) < 0)
        return error_run(error, "%s/%s: out of memory", folder, file);
    bool fine = sample_table_read(set, path, error);
    free(path);
    return fine;
}

static bool read_table(const char *folder, const struct source *source, cJSON **table,
                       struct error *error)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, source->file) < 0)
        return error_run(error, "%s/%s: out of memory", folder, source->file);
    char *text = json_read_text(path, NULL, error);
    *table = cJSON_CreateArray();
    bool fine = text != NULL && fill_table(text, path, source->columns, *table, error);
    free(text);
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
        sum += mean_of(
            raw->tables[RAW_SOLO], "dram_util_pct",
            (const char *const[]){"model", model, "mps_pct", "80", "batch", batches[i], NULL});
    return sum / 100 / BATCHES;
}

bool raw_open(struct raw *raw, const char *folder, struct error *error)
{
    *raw = (struct raw){.folder = folder};
    for (size_t i = 0; i < RAW_TABLES; i++)
        if (!read_table(folder, &sources[i], &raw->tables[i], error))
            return false;
    if (!read_set(folder, "igniter/solo.csv", &raw->igniter, error) ||
        !read_set(folder, "igniter/pairs.csv", &raw->igniter, error) ||
        !read_set(folder, "parvagpu/parvagpu_all.csv", &raw->parvagpu, error) ||
        !read_set(folder, "infless/infless_profiles_clean.csv", &raw->infless, error))
        return false;
    for (size_t i = 0; i < raw->igniter.functions.count; i++)
        raw->igniter.facts[i].demand = igniter_demand(raw, raw->igniter.functions.names[i]);
    return true;
}

void raw_close(struct raw *raw)
{
    for (size_t i = 0; i < RAW_TABLES; i++)
        cJSON_Delete(raw->tables[i]);
    samples_clear(&raw->igniter);
    samples_clear(&raw->parvagpu);
    samples_clear(&raw->infless);
}

/* ---- Values ---------------------------------------------------------------------------------- */

double raw_assumption(const struct raw *raw, const char *quantity)
{
    return raw_number(raw_find(raw->tables[RAW_ASSUMPTIONS], "quantity", quantity), "value");
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
    return mean_of(
        raw->tables[RAW_RESTARTS], "lat_avg_ms",
        (const char *const[]){"system", "kill_restart", "model_or_interval", model, NULL});
}

/* Only the mean, minimum and maximum of ten values are known. The expected range of ten normal
 * deviates is 3.078 standard deviations (Tippett 1925). */
static double cold_start_cv(const cJSON *cuda_init)
{
    static const double range_of_ten = 3.078;
    double range = raw_number(cuda_init, "max_ms") - raw_number(cuda_init, "min_ms");
    return range / range_of_ten / raw_number(cuda_init, "mean_ms");
}

const cJSON *raw_function(const struct raw *raw, const char *network,
                          struct profile_function *function, struct error *error)
{
    static int one_vcpu[1] = {1};
    const cJSON *row = raw_find(raw->tables[RAW_MODELS], "network", network);
    if (row == NULL)
        error_input(error, "%s/models/models.csv: network \"%s\" is missing", raw->folder, network);
    *function = (struct profile_function){
        .vcpu = {one_vcpu, 1},
        .input_bytes = raw_number(row, "input_bytes"),
        .noise_cv = raw_assumption(raw, "noise_cv"),
        .cold_start_mean_ms =
            (raw_restart_ms(raw, "resnet152") + raw_restart_ms(raw, "inception_v3")) / 2,
        .cold_start_cv = cold_start_cv(raw->tables[RAW_CUDA_INIT]->child),
        .gpu_weights_mb = raw_number(row, "parameters") * 4 / BYTES_PER_MB,
        .host_memory_mb = raw_assumption(raw, "host_memory_mb"),
        .bandwidth_share = NAN};
    return row;
}

struct output_note raw_weights_note(const cJSON *network)
{
    return (struct output_note){"gpu_memory_mb.weights", raw_text(network, "grade"),
                                profile_text("%.0f parameters x 4 bytes; %s",
                                             raw_number(network, "parameters"),
                                             raw_text(network, "source"))};
}
