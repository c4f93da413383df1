#include "traces/calibrate/derive/derive.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/json.h"
#include "traces/calibrate/table_reader.h"

/* Cuts a table with a header line, without quoting, into rows, each an object of its cells. */
static bool read_table(const char *path, cJSON *table, struct error *error)
{
    char *names[TABLE_CELLS];
    char *cells[TABLE_CELLS];
    char *text = json_read_text(path, NULL, error);
    char *rest = text;
    char *line = strsep(&rest, "\n");
    const size_t columns = line == NULL ? 0 : line_cut(line, ",", names, TABLE_CELLS);
    bool fine = line != NULL;
    while (fine && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
        cJSON *row = cJSON_CreateObject();
        (void)cJSON_AddItemToArray(table, row);
        fine = line_cut(line, ",", cells, TABLE_CELLS) == columns ||
               error_input(error, "%s: row %d has not %zu cells, as the header has", path,
                           cJSON_GetArraySize(table), columns);
        for (size_t i = 0; fine && i < columns && i < TABLE_CELLS; i++)
            (void)cJSON_AddStringToObject(row, names[i], cells[i]);
    }
    free(text);
    return fine;
}

double raw_demand(const struct raw *raw, const char *model)
{
    double sum = 0;
    for (const cJSON *row = raw_rows(raw, "igniter/solo.csv"); row != NULL; row = row->next) {
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
        struct sample_set *set; /* NULL: a table of other values */
    } inputs[] = {
        {"models/models.csv", NULL},
        {"pipeswitch/pipeswitch_v100_latency.csv", NULL},
        {"streambox/cuda_init.csv", NULL},
        {"parvagpu/slices.csv", NULL},
        {"parvagpu/parvagpu_all.csv", &raw->parvagpu},
        {"igniter/solo.csv", NULL},
        {"igniter/solo.csv", &raw->igniter},
        {"igniter/pairs.csv", &raw->igniter},
        {"igniter/gpu_time.csv", NULL},
        {"infless/infless_profiles_clean.csv", &raw->infless},
        {"esg/anchors.csv", NULL},
        {"esg/absolute.csv", NULL},
        {"esg/assumptions.csv", NULL},
    };
    char path[PATH_MAX];
    bool fine = true;
    *raw = (struct raw){
        .folder = folder, .tables = cJSON_CreateObject(), .values = cJSON_CreateObject()};
    for (size_t i = 0; fine && i < sizeof inputs / sizeof inputs[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, inputs[i].file);
        fine = inputs[i].set != NULL
                   ? sample_table_read(inputs[i].set, path, error)
                   : read_table(path, cJSON_AddArrayToObject(raw->tables, inputs[i].file), error);
    }
    for (const cJSON *row = raw_rows(raw, "esg/assumptions.csv"); row != NULL; row = row->next)
        (void)cJSON_AddStringToObject(raw->values, raw_text(row, "quantity"),
                                      raw_text(row, "value"));
    /* Only the mean, minimum and maximum of ten values are known. The expected range of ten normal
     * deviates is 3.078 standard deviations (Tippett 1925). */
    const cJSON *init = raw_rows(raw, "streambox/cuda_init.csv");
    raw_put(raw->values, "restart_cv",
            (raw_number(init, "max_ms") - raw_number(init, "min_ms")) / 3.078 /
                raw_number(init, "mean_ms"));
    profile_put_text(raw->values, "pairs", "%zu", raw->igniter.co_run_count / 2);
    profile_put_text(raw->values, "slowdowns", "%zu", raw->igniter.co_run_count);
    for (size_t i = 0; fine && i < raw->igniter.functions.count; i++)
        raw->igniter.properties[i].demand = raw_demand(raw, raw->igniter.functions.names[i]);
    return fine;
}

void raw_close(struct raw *raw)
{
    cJSON_Delete(raw->tables);
    cJSON_Delete(raw->values);
    samples_clear(&raw->igniter);
    samples_clear(&raw->parvagpu);
    samples_clear(&raw->infless);
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

const cJSON *raw_rows(const struct raw *raw, const char *file)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(raw->tables, file), 0);
}

const cJSON *raw_find(const struct raw *raw, const char *file, const char *name)
{
    const cJSON *row = raw_rows(raw, file);
    while (row != NULL && strcmp(row->child->valuestring, name) != 0)
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
    for (const cJSON *row = raw_rows(raw, "pipeswitch/pipeswitch_v100_latency.csv"); row != NULL;
         row = row->next)
        if (strcmp(raw_text(row, "system"), "kill_restart") == 0 &&
            strcmp(raw_text(row, "model_or_interval"), model) == 0) {
            sum += raw_number(row, "lat_avg_ms");
            count++;
        }
    return sum / count;
}

cJSON *raw_network(const struct raw *raw, const char *network, struct error *error)
{
    const cJSON *row = raw_find(raw, "models/models.csv", network);
    const char *restarted = raw_text(row, "pipeswitch");
    if (row == NULL) {
        error_input(error, "%s/models/models.csv: network \"%s\" is missing", raw->folder, network);
        return NULL;
    }
    cJSON *values = cJSON_Duplicate(row, true);
    raw_put(values, "weights_mb", raw_number(row, "parameters") * 4 / (1024.0 * 1024.0));
    raw_put(values, "restart_ms",
            restarted[0] != '\0'
                ? restart_ms(raw, restarted)
                : (restart_ms(raw, "resnet152") + restart_ms(raw, "inception_v3")) / 2);
    return values;
}
