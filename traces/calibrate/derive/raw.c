#include "traces/calibrate/derive/derive.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/calibrate/table_reader.h"
#include "traces/json/json.h"

static const double BYTES_PER_MB = 1024.0 * 1024.0;

/* A file and its header. */
static const struct source {
    const char *file, *header;
} sources[RAW_TABLES] = {
    [RAW_MODELS] = {"models/models.csv",
                    "network,parameters,grade,input_bytes,input_note,source,pipeswitch"},
    [RAW_SOLO] = {"igniter/solo.csv",
                  "model,batch,mps_pct,latency_ms,throughput_qps,l2_util_pct,dram_util_pct"},
    [RAW_GPU_TIME] = {"igniter/gpu_time.csv", "model,batch,mps_pct,gpu_ms"},
    [RAW_SLICES] = {"parvagpu/slices.csv", "mig_gpcs,memory_mb,source"},
    [RAW_RESTARTS] = {"pipeswitch/pipeswitch_v100_latency.csv",
                      "figure,system,model_or_interval,throughput_per_interval,lat_avg_ms,"
                      "lat_min_ms,lat_max_ms"},
    [RAW_CUDA_INIT] = {"streambox/cuda_init.csv",
                       "hardware,item,iterations,median_ms,mean_ms,min_ms,max_ms"},
    [RAW_ANCHORS] = {"esg/anchors.csv",
                     "function,network,model,latency_ms,latency_grade,cold_start_ms,"
                     "cold_start_grade,input_bytes,input_grade,donor,donor_reason"},
    [RAW_ABSOLUTE] = {"esg/absolute.csv", "function,network,macs,donor,donor_macs,donor_reason"},
    [RAW_ASSUMPTIONS] = {"esg/assumptions.csv", "quantity,value,unit,grade,note"},
};

/* ---- Files ----------------------------------------------------------------------------------- */

/* Cuts the file into rows, each an object of its cells. */
static bool read_table(const struct source *source, const char *path, cJSON *table,
                       struct error *error)
{
    char *names[TABLE_CELLS];
    char *cells[TABLE_CELLS];
    char *text = json_read_text(path, NULL, error);
    char *rest = text;
    char *line = strsep(&rest, "\n");
    bool fine = line != NULL && (strcmp(line, source->header) == 0 ||
                                 error_input(error, "%s: the header is '%.200s', not '%s'", path,
                                             line, source->header));
    const size_t columns = fine ? table_cut(line, ",", names) : 0;
    while (fine && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
        cJSON *row = cJSON_CreateObject();
        (void)cJSON_AddItemToArray(table, row);
        const size_t found = table_cut(line, ",", cells);
        if (found != columns)
            fine = error_input(error, "%s: row %d has %zu cells, the header has %zu", path,
                               cJSON_GetArraySize(table), found, columns);
        for (size_t i = 0; fine && i < columns; i++)
            (void)cJSON_AddStringToObject(row, names[i], cells[i]);
    }
    free(text);
    return fine;
}

/* Bandwidth demand of a model: DRAM utilisation, 0..1, at a share of 80 % (the largest measured),
 * mean over the five batch sizes of the co-location runs: 2, 4, 8, 16, 32. */
static double igniter_demand(const struct raw *raw, const char *model)
{
    double sum = 0;
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, raw->tables[RAW_SOLO])
    {
        const int batch = (int)raw_number(row, "batch");
        if (strcmp(raw_text(row, "model"), model) == 0 && raw_number(row, "mps_pct") == 80 &&
            batch > 1 && (batch & (batch - 1)) == 0)
            sum += raw_number(row, "dram_util_pct");
    }
    return sum / 100 / 5;
}

bool raw_open(struct raw *raw, const char *folder, struct error *error)
{
    const struct {
        const char *file;
        struct sample_set *set;
    } sets[] = {{"igniter/solo.csv", &raw->igniter},
                {"igniter/pairs.csv", &raw->igniter},
                {"parvagpu/parvagpu_all.csv", &raw->parvagpu},
                {"infless/infless_profiles_clean.csv", &raw->infless}};
    char path[PATH_MAX];
    bool fine = true;
    *raw = (struct raw){.folder = folder};
    for (size_t i = 0; fine && i < RAW_TABLES; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, sources[i].file);
        raw->tables[i] = cJSON_CreateArray();
        fine = read_table(&sources[i], path, raw->tables[i], error);
    }
    for (size_t i = 0; fine && i < sizeof sets / sizeof sets[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, sets[i].file);
        fine = sample_table_read(sets[i].set, path, error);
    }
    raw->assumed = cJSON_CreateObject();
    for (const cJSON *row = fine ? raw->tables[RAW_ASSUMPTIONS]->child : NULL; row != NULL;
         row = row->next)
        (void)cJSON_AddStringToObject(raw->assumed, raw_text(row, "quantity"),
                                      raw_text(row, "value"));
    for (size_t i = 0; fine && i < raw->igniter.functions.count; i++)
        raw->igniter.facts[i].demand = igniter_demand(raw, raw->igniter.functions.names[i]);
    return fine;
}

void raw_close(struct raw *raw)
{
    for (size_t i = 0; i < RAW_TABLES; i++)
        cJSON_Delete(raw->tables[i]);
    cJSON_Delete(raw->assumed);
    samples_clear(&raw->igniter);
    samples_clear(&raw->parvagpu);
    samples_clear(&raw->infless);
}

/* ---- Values ---------------------------------------------------------------------------------- */

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

const cJSON *raw_find(const struct raw *raw, enum raw_table table, const char *column,
                      const char *wanted)
{
    const cJSON *row = raw->tables[table]->child;
    while (row != NULL && strcmp(raw_text(row, column), wanted) != 0)
        row = row->next;
    return row;
}

void raw_put(cJSON *values, const char *name, double value)
{
    profile_put_text(values, name, "%.17g", value);
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

/* Mean of the measured process restarts of `model`, as PipeSwitch names it. */
static double restart_ms(const struct raw *raw, const char *model)
{
    double sum = 0;
    int count = 0;
    const cJSON *row = NULL;
    cJSON_ArrayForEach(
        row, raw->tables[RAW_RESTARTS]) if (strcmp(raw_text(row, "system"), "kill_restart") == 0 &&
                                            strcmp(raw_text(row, "model_or_interval"), model) == 0)
    {
        sum += raw_number(row, "lat_avg_ms");
        count++;
    }
    return sum / count;
}

/* Only the mean, minimum and maximum of ten values are known. The expected range of ten normal
 * deviates is 3.078 standard deviations (Tippett 1925). */
static double cold_start_cv(const cJSON *cuda_init)
{
    static const double range_of_ten = 3.078;
    double range = raw_number(cuda_init, "max_ms") - raw_number(cuda_init, "min_ms");
    return range / range_of_ten / raw_number(cuda_init, "mean_ms");
}

cJSON *raw_network(const struct raw *raw, const char *network, struct error *error)
{
    const cJSON *row = raw_find(raw, RAW_MODELS, "network", network);
    const char *restarted = raw_text(row, "pipeswitch");
    if (row == NULL) {
        error_input(error, "%s/models/models.csv: network \"%s\" is missing", raw->folder, network);
        return NULL;
    }
    cJSON *values = cJSON_Duplicate(row, true);
    raw_put(values, "weights_mb", raw_number(row, "parameters") * 4 / BYTES_PER_MB);
    raw_put(values, "restart_ms",
            restarted[0] != '\0'
                ? restart_ms(raw, restarted)
                : (restart_ms(raw, "resnet152") + restart_ms(raw, "inception_v3")) / 2);
    raw_put(values, "restart_cv", cold_start_cv(raw->tables[RAW_CUDA_INIT]->child));
    return values;
}
