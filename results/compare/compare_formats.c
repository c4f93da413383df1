/* The comparison in machine-readable form: CSV (RFC 4180), one line per figure, and one JSON
 * object. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "results/compare/compare.h"
#include "results/page/csv.h"
#include "sim/base/json_write.h"

static const char *standing_name(enum compare_standing standing)
{
    static const char *const names[] = {"met", "missed", ""};
    return names[standing];
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void cell_text(FILE *out, const char *text)
{
    csv_text(out, text);
    (void)fputc(',', out);
}

static void cell_number(FILE *out, double value)
{
    csv_number(out, value);
    (void)fputc(',', out);
}

/* Writes the fields with which every line begins. */
static void csv_lead(FILE *out, const struct compare_run *run, const char *of, const char *metric,
                     const char *unit)
{
    cell_text(out, run->real->setting[0] != '\0' ? run->real->setting : run->real->name);
    cell_text(out, run->real->policy);
    (void)fprintf(out, "%" PRIu64 ",%d,", run->real->seed, run->gpu);
    cell_text(out, of);
    cell_text(out, metric);
    cell_text(out, unit);
}

static void csv_parts(FILE *out, const struct compare_run *run)
{
    for (size_t p = 0; p < run->part_count; p++)
        for (size_t m = 0; m < COMPARE_METRICS; m++) {
            const struct compare_part *part = &run->parts[p];
            const struct metric *metric = compare_metric(m);
            const struct compare_figure *figure = &part->figures[m];
            const enum compare_standing standing =
                part->application == NULL ? compare_stands(run, (enum compare_metric)m, NULL)
                                          : COMPARE_UNTOLD;
            csv_lead(out, run, part->application == NULL ? "" : part->application, metric->name,
                     metric->unit);
            cell_number(out, figure->simulated);
            cell_number(out, figure->real);
            cell_number(out, figure->error);
            cell_text(out, metric->share ? "points" : "%");
            cell_number(out, figure->low);
            cell_number(out, figure->high);
            cell_number(out, part->application == NULL ? compare_measures[m].limit : NAN);
            (void)fprintf(out, "%s\r\n", standing_name(standing));
        }
}

/* Writes a figure without interval and limit: [0] simulated, [1] real. */
static void csv_pair(FILE *out, const struct compare_run *run, const char *of, const char *metric,
                     const char *unit, const double pair[2])
{
    csv_lead(out, run, of, metric, unit);
    cell_number(out, pair[0]);
    cell_number(out, pair[1]);
    cell_number(out, pair[1] > 0 ? 100 * (pair[0] - pair[1]) / pair[1] : NAN);
    (void)fputs("%,,,,\r\n", out);
}

static void csv_counts(FILE *out, const struct compare_run *run, const char *of, const char *metric,
                       const size_t counts[2])
{
    csv_pair(out, run, of, metric, "1", (const double[]){(double)counts[0], (double)counts[1]});
}

static void csv_batches(FILE *out, const struct compare_run *run)
{
    char of[256];
    for (size_t k = 0; k < run->batch_kinds; k++) {
        const struct compare_batches *kind = &run->batches[k];
        (void)snprintf(of, sizeof of, "%.180s batch=%u vcpu=%u vgpu=%u", kind->function,
                       kind->batch, kind->vcpu, kind->vgpu);
        csv_counts(out, run, of, "batches", kind->count);
        csv_pair(out, run, of, "batch_jobs", "1", kind->jobs);
        csv_pair(out, run, of, "batch_execution_ms_mean", "ms", kind->execution_ms);
        csv_pair(out, run, of, "batch_modelled_ms_mean", "ms", kind->modelled_ms);
        csv_pair(out, run, of, "batch_ratio_sd", "1", kind->ratio_sd);
    }
    for (size_t c = 0; c < run->company_count; c++) {
        (void)snprintf(of, sizeof of, "others=%" PRIu32, run->company[c].others);
        csv_counts(out, run, of, "batches", run->company[c].count);
        csv_pair(out, run, of, "slowdown_mean", "1", run->company[c].slowdown);
    }
}

static void csv_whole(FILE *out, const struct compare_run *run)
{
    for (size_t p = 0; p < run->part_count; p++) {
        const struct compare_part *part = &run->parts[p];
        const char *of = part->application == NULL ? "" : part->application;
        csv_counts(out, run, of, "requests", (const size_t[]){part->requests, part->requests});
        csv_counts(out, run, of, "dropped", part->dropped);
        csv_pair(out, run, of, "mean_batch", "1", part->mean_batch);
        csv_pair(out, run, of, "latency_distance", "1", (const double[]){part->distance, NAN});
    }
    csv_pair(out, run, "", "job_execution_ms_mean", "ms", run->execution_ms);
    csv_pair(out, run, "", "late_us_mean", "us", (const double[]){NAN, run->late_us_mean});
    csv_pair(out, run, "", "late_us_p99", "us", (const double[]){NAN, run->late_us_p99});
    csv_pair(out, run, "", "late_us_max", "us", (const double[]){NAN, run->late_us_max});
    csv_pair(out, run, "", "host_ms", "ms", (const double[]){NAN, run->host_ms});
}

bool compare_csv(const struct comparison *against, FILE *out, struct error *error)
{
    (void)fputs("setting,policy,seed,gpu,of,metric,unit,simulated,real,error,error_unit,low_95,"
                "high_95,limit,standing\r\n",
                out);
    for (size_t i = 0; i < against->run_count; i++) {
        csv_parts(out, &against->runs[i]);
        csv_whole(out, &against->runs[i]);
        csv_batches(out, &against->runs[i]);
    }
    return !ferror(out) || error_write(error, "the comparison", errno);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* cJSON writes NAN as null, which here means that there is no value. */
static cJSON *add_pair(cJSON *object, const char *key, double simulated, double real)
{
    cJSON *pair = cJSON_AddObjectToObject(object, key);
    json_put(pair, "simulated %g real %g", simulated, real);
    return pair;
}

static void add_figure(cJSON *object, const struct compare_run *run,
                       const struct compare_part *part, enum compare_metric metric)
{
    const struct compare_figure *figure = &part->figures[metric];
    cJSON *value = add_pair(object, compare_metric(metric)->name, figure->simulated, figure->real);
    json_put(value, "error %g error_unit %s low_95 %g high_95 %g", figure->error,
             compare_metric(metric)->share ? "points" : "%", figure->low, figure->high);
    double by = 0;
    const enum compare_standing standing = compare_stands(run, metric, &by);
    if (part->application != NULL || standing == COMPARE_UNTOLD)
        return;
    json_put(value, "limit %g standing %s missed_by %g", compare_measures[metric].limit,
             standing_name(standing), by);
}

static void add_part(cJSON *parts, const struct compare_run *run, const struct compare_part *part)
{
    cJSON *object = json_append(parts);
    if (part->application != NULL)
        (void)cJSON_AddStringToObject(object, "application", part->application);
    (void)cJSON_AddNumberToObject(object, "requests", (double)part->requests);
    add_pair(object, "dropped", (double)part->dropped[0], (double)part->dropped[1]);
    add_pair(object, "mean_batch", part->mean_batch[0], part->mean_batch[1]);
    (void)cJSON_AddNumberToObject(object, "latency_distance", part->distance);
    for (size_t m = 0; m < COMPARE_METRICS; m++)
        add_figure(object, run, part, (enum compare_metric)m);
}

static void add_batches(cJSON *array, const struct compare_batches *kind)
{
    cJSON *object = json_append(array);
    json_put(object, "function %s batch %u vcpu %u vgpu %u", kind->function, kind->batch,
             kind->vcpu, kind->vgpu);
    add_pair(object, "batches", (double)kind->count[0], (double)kind->count[1]);
    add_pair(object, "jobs", kind->jobs[0], kind->jobs[1]);
    add_pair(object, "execution_ms_mean", kind->execution_ms[0], kind->execution_ms[1]);
    add_pair(object, "modelled_ms_mean", kind->modelled_ms[0], kind->modelled_ms[1]);
    add_pair(object, "ratio_sd", kind->ratio_sd[0], kind->ratio_sd[1]);
}

static void add_run(cJSON *runs, const struct compare_run *run)
{
    cJSON *object = json_append(runs);
    json_put(object, "setting %s policy %s seed %" PRIu64 " gpu %hhd backend %s",
             run->real->setting[0] != '\0' ? run->real->setting : run->real->name,
             run->real->policy, run->real->seed, run->gpu, run->backend);
    json_put(object,
             "device %s driver %s late_us_mean %g late_us_p99 %g late_us_max %g "
             "host_ms %g",
             run->device, run->driver, run->late_us_mean, run->late_us_p99, run->late_us_max,
             run->host_ms);
    cJSON *parts = cJSON_AddArrayToObject(object, "applications");
    for (size_t p = 0; p + 1 < run->part_count; p++)
        add_part(parts, run, &run->parts[p]);
    add_part(cJSON_AddArrayToObject(object, "all"), run, &run->parts[run->part_count - 1]);
    add_pair(object, "job_execution_ms_mean", run->execution_ms[0], run->execution_ms[1]);
    (void)cJSON_AddNumberToObject(object, "job_execution_ms_of_same_batches",
                                  run->time_difference_ms);
    cJSON *batches = cJSON_AddArrayToObject(object, "batches");
    for (size_t k = 0; k < run->batch_kinds; k++)
        add_batches(batches, &run->batches[k]);
    cJSON *company = cJSON_AddArrayToObject(object, "company");
    for (size_t c = 0; c < run->company_count; c++) {
        const struct compare_company *beside = &run->company[c];
        cJSON *item = json_append(company);
        (void)cJSON_AddNumberToObject(item, "others", beside->others);
        add_pair(item, "batches", (double)beside->count[0], (double)beside->count[1]);
        add_pair(item, "slowdown_mean", beside->slowdown[0], beside->slowdown[1]);
    }
}

bool compare_json(const struct comparison *against, FILE *out, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root, "simulated %s real %s gpu %hhd", against->simulated->path, against->real->path,
             against->gpu);
    if (!against->gpu)
        (void)cJSON_AddStringToObject(root, "note", "rehearsal: no GPU took part");
    cJSON *runs = cJSON_AddArrayToObject(root, "runs");
    for (size_t i = 0; i < against->run_count; i++)
        add_run(runs, &against->runs[i]);
    cJSON *alone = cJSON_AddArrayToObject(root, "without_partner");
    for (size_t i = 0; i < against->alone_count; i++)
        (void)cJSON_AddItemToArray(alone, cJSON_CreateString(against->alone[i]));
    return json_write(root, out, "the comparison", error);
}
