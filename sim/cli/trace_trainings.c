#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/arena.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"
#include "sim/cli/trace.h"
#include "traces/readers/training_trace.h"
#include "workloads/training/trainings.h"

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
    /* n trainings arrive in n intervals, of which the trace shows all but one. */
    const double hours_of_all = span_h * (double)trace->count / (double)(trace->count - 1);
    const double demand = ended > 0 ? gpu_hours / hours_of_all : NAN;
    json_put(root, "gpu_hours %g gpu_hours_per_h %g", ended > 0 ? gpu_hours : NAN, demand);
    if (gpus > 0)
        cJSON_AddNumberToObject(root, "load", demand / (double)gpus);
    put_durations(root, hours, ended);
    cJSON *rows = cJSON_AddArrayToObject(root, "gangs");
    for (uint32_t g = 0; g <= TRAINING_MOST_GPUS; g++)
        if (gangs[g].count > 0)
            json_put(json_append(rows),
                     "gpus %u trainings %zu share %g gpu_hours %g share_of_gpu_hours %g", g,
                     gangs[g].count, (double)gangs[g].count / (double)trace->count,
                     gangs[g].gpu_hours, gpu_hours > 0 ? gangs[g].gpu_hours / gpu_hours : NAN);
    return root;
}

/* The names of the figures have their units. */
static void print_text(const cJSON *root, const char *file)
{
    const cJSON *item = NULL, *part = NULL;
    printf("%-28s %s\n", "trace", file);
    cJSON_ArrayForEach(item, root)
    {
        if (cJSON_IsNumber(item) && isnan(item->valuedouble))
            printf("%-28s -\n", item->string);
        else if (cJSON_IsNumber(item))
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

static bool print_statistics(const struct training_trace *trace,
                             const struct trace_options *options, struct error *error)
{
    const struct training_draw draw = {.drawn = false};
    struct training_models *models =
        options->models != NULL ? training_models_read(options->models, error)
                                : training_models_timed((const char *const *)trace->models.names,
                                                        trace->models.count, error);
    struct training_spec *specs =
        models == NULL ? NULL : trainings_from_trace(trace, options->file, models, &draw, 1, error);
    bool good = specs != NULL;
    if (good) {
        double *hours = arena_allocate(models->arena, trace->count, sizeof *hours);
        struct gang *gangs = arena_allocate(models->arena, TRAINING_MOST_GPUS + 1, sizeof *gangs);
        cJSON *root = describe(trace, specs, options->gpus, hours, gangs);
        if (options->json) {
            good = cli_print_json_line(root, error);
        } else {
            print_text(root, options->file);
            cJSON_Delete(root);
        }
    }
    training_models_free(models);
    return good;
}

/* ---- The command ---- */

bool trace_has_trainings(const struct trace_options *options)
{
    if (options->as != NULL || options->list != NULL)
        return options->as != NULL && strcmp(options->as, "trainings") == 0;
    struct stat status; /* a pipe is read once */
    const bool file = stat(options->file, &status) == 0 && S_ISREG(status.st_mode);
    const char *found = file ? training_trace_recognise(options->file) : NULL;
    return found != NULL && (options->format == NULL || strcmp(options->format, found) == 0);
}

static struct training_trace *read_trainings(const struct trace_options *options, bool quiet,
                                             struct error *error)
{
    struct training_columns columns = {.unit = options->columns.unit, .foreign = true};
    const char *format = options->format;
    size_t left_out = 0;
    if (format == NULL && (format = training_trace_recognise(options->file)) == NULL)
        format = training_formats[0]; /* whose reader says what is missing */
    if (options->list == NULL)
        return training_trace_read(options->file, format, error);
    if (!training_columns_parse((char *)(uintptr_t)options->list, &columns, error))
        return NULL;
    struct training_trace *trace =
        training_trace_read_columns(options->file, &columns, &left_out, error);
    if (trace != NULL && left_out > 0 && !quiet)
        (void)fprintf(text_messages(),
                      "note: %s: %zu row%s without a GPU or without a duration left out\n",
                      options->file, left_out, left_out == 1 ? "" : "s");
    return trace;
}

bool trace_trainings(const struct trace_options *options, bool convert, bool quiet,
                     struct error *error)
{
    struct training_trace *trace = read_trainings(options, quiet, error);
    bool good =
        trace != NULL && (options->cluster == NULL ||
                          training_trace_keep(trace, options->file, options->cluster, error));
    if (good && !convert)
        good = print_statistics(trace, options, error);
    else if (good && (trace->rows[0].request > 0 || trace->rows[0].vcpus > 0))
        good = error_input(error, "%s: the layout esgsim has no shares; run the file as it is",
                           options->file);
    else if (good)
        good = training_trace_write(trace, options->out, error);
    training_trace_free(trace);
    return good;
}
