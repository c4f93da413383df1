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

/* ---- Quantities of both ---------------------------------------------------------------------- */

/* Where a quantity goes: a line of CSV about `of`, or a member of the object. */
struct sink {
    FILE *out; /* NULL: the object */
    const struct compare_run *run;
    const char *of;
    cJSON *object;
};

/* Writes the fields with which every line begins. */
static void csv_lead(const struct sink *sink, const char *metric, const char *unit)
{
    const struct compare_run *run = sink->run;
    csv_print(sink->out, "%s,%s,%zu,%zu,%s,%s,%s,", run->setting, run->real->policy,
              (size_t)run->real->seed, (size_t)run->gpu, sink->of, metric, unit);
}

/* cJSON writes NAN as null, which here means that there is no value. */
static cJSON *add_pair(cJSON *object, const char *key, double simulated, double real)
{
    cJSON *pair = cJSON_AddObjectToObject(object, key);
    json_put(pair, "simulated %g real %g", simulated, real);
    return pair;
}

/* Writes a quantity without interval and limit. What is of batches says so in CSV alone: in JSON it
 * is a member of them. */
static void put(const struct sink *sink, const char *name, const char *unit, double simulated,
                double real)
{
    if (sink->out == NULL) {
        (void)add_pair(sink->object, strncmp(name, "batch_", 6) == 0 ? name + 6 : name, simulated,
                       real);
        return;
    }
    csv_lead(sink, name, unit);
    csv_print(sink->out, "%g,%g,%g,%s,,,,\r\n", simulated, real,
              real > 0 ? 100 * (simulated - real) / real : NAN, "%");
}

static void put_batches(const struct sink *sink, const struct compare_batches *kind)
{
    put(sink, "batches", "1", (double)kind->count[0], (double)kind->count[1]);
    put(sink, "batch_jobs", "1", kind->jobs[0], kind->jobs[1]);
    put(sink, "batch_execution_ms_mean", "ms", kind->execution_ms[0], kind->execution_ms[1]);
    put(sink, "batch_modelled_ms_mean", "ms", kind->modelled_ms[0], kind->modelled_ms[1]);
    put(sink, "batch_ratio_sd", "1", kind->ratio_sd[0], kind->ratio_sd[1]);
}

static void put_company(const struct sink *sink, const struct compare_company *company)
{
    put(sink, "batches", "1", (double)company->count[0], (double)company->count[1]);
    put(sink, "slowdown_mean", "1", company->slowdown[0], company->slowdown[1]);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void csv_part(struct sink *sink, const struct compare_part *part)
{
    const bool all = part->application == NULL;
    for (size_t m = 0; m < COMPARE_METRICS; m++) {
        const struct metric *metric = compare_metric(m);
        const struct compare_figure *figure = &part->figures[m];
        const enum compare_standing standing =
            all ? compare_stands(sink->run, (enum compare_metric)m, NULL) : COMPARE_UNTOLD;
        csv_lead(sink, metric->name, metric->unit);
        csv_print(sink->out, "%g,%g,%g,%s,%g,%g,%g,%s\r\n", figure->simulated, figure->real,
                  figure->error, metric->share ? "points" : "%", figure->low, figure->high,
                  all ? compare_measures[m].limit : NAN, standing_name(standing));
    }
}

static void csv_run(FILE *out, const struct compare_run *run)
{
    struct sink sink = {.out = out, .run = run};
    for (int whole = 0; whole < 2; whole++)
        for (size_t p = 0; p < run->part_count; p++) {
            const struct compare_part *part = &run->parts[p];
            sink.of = part->application == NULL ? "" : part->application;
            if (!whole) {
                csv_part(&sink, part);
                continue;
            }
            put(&sink, "requests", "1", (double)part->requests, (double)part->requests);
            put(&sink, "dropped", "1", (double)part->dropped[0], (double)part->dropped[1]);
            put(&sink, "mean_batch", "1", part->mean_batch[0], part->mean_batch[1]);
            put(&sink, "latency_distance", "1", part->distance, NAN);
        }
    sink.of = "";
    put(&sink, "job_execution_ms_mean", "ms", run->execution_ms[0], run->execution_ms[1]);
    put(&sink, "late_us_mean", "us", NAN, run->late_us_mean);
    put(&sink, "late_us_p99", "us", NAN, run->late_us_p99);
    put(&sink, "late_us_max", "us", NAN, run->late_us_max);
    put(&sink, "host_ms", "ms", NAN, run->host_ms);
    for (size_t k = 0; k < run->batch_kinds; k++) {
        const struct compare_batches *kind = &run->batches[k];
        sink.of = arena_text(run->arena, "%.180s batch=%u vcpu=%u vgpu=%u", kind->function,
                             kind->batch, kind->vcpu, kind->vgpu);
        put_batches(&sink, kind);
    }
    for (size_t c = 0; c < run->company_count; c++) {
        sink.of = arena_text(run->arena, "others=%" PRIu32, run->company[c].others);
        put_company(&sink, &run->company[c]);
    }
}

bool compare_csv(const struct comparison *against, FILE *out, struct error *error)
{
    (void)fputs("setting,policy,seed,gpu,of,metric,unit,simulated,real,error,error_unit,low_95,"
                "high_95,limit,standing\r\n",
                out);
    for (size_t i = 0; i < against->run_count; i++)
        csv_run(out, &against->runs[i]);
    return !ferror(out) || error_write(error, "the comparison", errno);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

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

static void add_run(cJSON *runs, const struct compare_run *run)
{
    cJSON *object = json_append(runs);
    json_put(object, "setting %s policy %s seed %" PRIu64 " gpu %hhd backend %s", run->setting,
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
    for (size_t k = 0; k < run->batch_kinds; k++) {
        const struct compare_batches *kind = &run->batches[k];
        cJSON *item = json_append(batches);
        json_put(item, "function %s batch %u vcpu %u vgpu %u", kind->function, kind->batch,
                 kind->vcpu, kind->vgpu);
        put_batches(&(struct sink){.object = item}, kind);
    }
    cJSON *company = cJSON_AddArrayToObject(object, "company");
    for (size_t c = 0; c < run->company_count; c++) {
        cJSON *item = json_append(company);
        (void)cJSON_AddNumberToObject(item, "others", run->company[c].others);
        put_company(&(struct sink){.object = item}, &run->company[c]);
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
