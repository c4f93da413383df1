#include "sim/cli/trace_trainings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/json_write.h"
#include "sim/cli/cli.h"
#include "workloads/training/trainings.h"

/* ---- The layout esgsim ----------------------------------------------------------------------- */

/* Seconds behind `before`, with as few decimals as they have; nothing below 0. */
static bool put_time(gzFile out, const char *before, sim_time_t time)
{
    char text[48] = ".";
    if (time >= 0)
        (void)snprintf(text, sizeof text, "%lld.%09lld", (long long)(time / SIM_S),
                       (long long)(time % SIM_S));
    char *end = text + strlen(text);
    while (end[-1] == '0')
        end--;
    end[end[-1] == '.' ? -1 : 0] = '\0';
    return gzprintf(out, "%s%s", before, text) > 0;
}

/* Seconds; none of 0. */
static bool put_span(gzFile out, double seconds)
{
    return put_time(out, ",", seconds > 0 ? sim_from_s(seconds) : -1);
}

/* A name, in quotes if it holds a comma; nothing where there is none. */
static bool put_name(gzFile out, const struct string_index *names, int32_t number)
{
    const char *name = number == TRAINING_NO_MODEL ? "" : names->names[number];
    return gzprintf(out, strchr(name, ',') == NULL ? ",%s" : ",\"%s\"", name) > 0;
}

bool trace_trainings_write(const struct training_trace *trace, gzFile out, const char *path,
                           struct error *error)
{
    bool timed = false, iterations = false, own_times = false, ids = false;
    for (size_t i = 0; i < trace->count; i++) {
        timed = timed || trace->rows[i].duration_s > 0;
        iterations = iterations || trace->rows[i].iterations > 0;
        own_times = own_times || trace->rows[i].iteration_ms > 0;
        ids = ids || trace->rows[i].id != i;
    }
    errno = 0;
    bool good = gzprintf(out, "arrival_s,gpus%s%s%s%s%s%s\n", ids ? ",id" : "",
                         trace->models.count > 0 ? ",model" : "", iterations ? ",iterations" : "",
                         timed ? ",duration_s" : "", own_times ? ",iteration_s" : "",
                         trace->clusters.count > 0 ? ",cluster" : "") > 0;
    for (size_t i = 0; good && i < trace->count; i++) {
        const struct training_row *row = &trace->rows[i];
        const unsigned long long id = row->id, made = row->iterations;
        good = put_time(out, "", row->arrival) && gzprintf(out, ",%u", row->gpus) > 0 &&
               (!ids || gzprintf(out, ",%llu", id) > 0) &&
               (trace->models.count == 0 || put_name(out, &trace->models, row->model)) &&
               (!iterations || gzprintf(out, made > 0 ? ",%llu" : ",", made) > 0) &&
               (!timed || put_span(out, row->duration_s)) &&
               (!own_times || put_span(out, row->iteration_ms / 1000)) &&
               (trace->clusters.count == 0 || put_name(out, &trace->clusters, row->cluster)) &&
               gzputs(out, "\n") > 0;
    }
    return good || error_run(error, "%s: cannot be written: %s", path, strerror(errno));
}

/* ---- Statistics ------------------------------------------------------------------------------ */

/* Trainings of one size. */
struct gang {
    size_t count;
    double gpu_hours;
};

static void put_durations(cJSON *root, double *hours, size_t count)
{
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
    cJSON *durations = cJSON_AddObjectToObject(root, "duration_h");
    gsl_sort(hours, 1, count);
    cJSON_AddNumberToObject(durations, "mean", gsl_stats_mean(hours, 1, count));
    for (size_t q = 0; q < sizeof quantiles / sizeof quantiles[0]; q++)
        cJSON_AddNumberToObject(
            durations, quantiles[q].name,
            gsl_stats_quantile_from_sorted_data(hours, 1, count, quantiles[q].share));
}

/* All figures. `hours` has room for every training, `gangs` for every size. */
static cJSON *describe(const struct training_trace *trace, const struct training_spec *specs,
                       uint64_t gpus, double *hours, struct gang *gangs)
{
    const sim_time_t span = trace->rows[trace->count - 1].arrival - trace->rows[0].arrival;
    const double span_h = span > 0 ? sim_to_s(span) / 3600 : NAN;
    size_t ended = 0;
    double gpu_hours = 0;
    for (size_t i = 0; i < trace->count; i++) {
        struct gang *gang = &gangs[specs[i].gpus];
        gang->count++;
        if (!training_ends(&specs[i]))
            continue;
        hours[ended] = (double)specs[i].iterations * specs[i].iteration_s / 3600;
        gang->gpu_hours += hours[ended] * specs[i].gpus;
        gpu_hours += hours[ended++] * specs[i].gpus;
    }
    cJSON *root = cJSON_CreateObject();
    json_put(root, "trainings %zu endless %zu models %zu clusters %zu span_h %g arrivals_per_h %g",
             trace->count, trace->count - ended, trace->models.count, trace->clusters.count, span_h,
             (double)(trace->count - 1) / span_h);
    json_put(root, "gpu_hours %g gpu_hours_per_h %g", gpu_hours, gpu_hours / span_h);
    if (gpus > 0)
        cJSON_AddNumberToObject(root, "load", gpu_hours / span_h / (double)gpus);
    put_durations(root, hours, ended);
    cJSON *rows = cJSON_AddArrayToObject(root, "gangs");
    for (uint32_t g = 0; g <= TRAINING_MOST_GPUS; g++)
        if (gangs[g].count > 0)
            json_put(json_append(rows),
                     "gpus %u trainings %zu share %g gpu_hours %g share_of_gpu_hours %g", g,
                     gangs[g].count, (double)gangs[g].count / (double)trace->count,
                     gangs[g].gpu_hours, gpu_hours > 0 ? gangs[g].gpu_hours / gpu_hours : 0);
    return root;
}

/* The names of the figures have their units. */
static void print_text(const cJSON *root, const char *file)
{
    const cJSON *item = NULL, *part = NULL;
    printf("%-28s %s\n", "trace", file);
    cJSON_ArrayForEach(item, root)
    {
        if (cJSON_IsNumber(item))
            printf("%-28s %.6g\n", item->string, item->valuedouble);
        else if (cJSON_IsObject(item))
            cJSON_ArrayForEach(part, item)
            {
                printf("%s %-17s %.6g\n", item->string, part->string, part->valuedouble);
            }
    }
    printf("%8s%12s%12s%14s%20s\n", "gpus", "trainings", "share", "gpu_hours",
           "share_of_gpu_hours");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "gangs"))
    {
        static const int widths[] = {8, 12, 12, 14, 20};
        size_t column = 0;
        cJSON_ArrayForEach(part, item)
        {
            printf("%*.6g", widths[column++], part->valuedouble);
        }
        printf("\n");
    }
}

bool trace_trainings_stats(const struct training_trace *trace, const char *file,
                           const char *models_file, uint64_t gpus, bool json, struct error *error)
{
    const struct training_draw draw = {.drawn = false};
    struct training_models *models =
        models_file != NULL ? training_models_read(models_file, error)
                            : training_models_timed((const char *const *)trace->models.names,
                                                    trace->models.count, error);
    struct training_spec *specs =
        models == NULL ? NULL : trainings_from_trace(trace, file, models, &draw, 1, error);
    double *hours = calloc(trace->count, sizeof *hours);
    struct gang *gangs = calloc(TRAINING_MOST_GPUS + 1, sizeof *gangs);
    bool good = specs != NULL && hours != NULL && gangs != NULL;
    if (hours == NULL || gangs == NULL) {
        (void)error_run(error, "trace: out of memory");
    } else if (specs != NULL) {
        cJSON *root = describe(trace, specs, gpus, hours, gangs);
        if (json) {
            good = cli_print_json_line(root, error);
        } else {
            print_text(root, file);
            cJSON_Delete(root);
        }
    }
    training_models_free(models);
    free(specs);
    free(hours);
    free(gangs);
    return good;
}
