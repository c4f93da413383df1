#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/arena.h"
#include "sim/base/json_write.h"
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
    double gpu_hours = 0, held = 0;
    for (size_t i = 0; i < trace->count; i++) {
        struct gang *gang = &gangs[specs[i].gpus];
        const double share = trace->rows[i].request > 0 ? trace->rows[i].request : 1;
        gang->count++;
        if (!training_ends(&specs[i])) {
            held += share * specs[i].gpus;
            continue;
        }
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
    if (held > 0)
        json_put(root, "gpus_held_at_the_end %g", held);
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
    printf("%8s%12s%12s%14s%20s\n", "gpus", "gangs", "share", "gpu_hours", "share_of_gpu_hours");
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
        struct arena *memory = trace->memory;
        cJSON *root = describe(trace, specs, options->gpus,
                               arena_allocate(memory, trace->count, sizeof(double)),
                               arena_allocate(memory, TRAINING_MOST_GPUS + 1, sizeof(struct gang)));
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

static bool is_listed(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

bool trace_has_trainings(const struct trace_options *options, const char *line)
{
    if (options->as != NULL || options->list != NULL)
        return options->as != NULL && strcmp(options->as, "trainings") == 0;
    const char *format = options->format, *found = line != NULL ? training_layout_of(line) : NULL;
    return (found != NULL && (format == NULL || strcmp(format, found) == 0)) ||
           (format != NULL && is_listed(training_formats, format) &&
            !is_listed(trace_formats, format));
}

static struct training_trace *read_trainings(struct trace_options *options, const char *line,
                                             struct error *error)
{
    struct training_columns columns = {
        .unit = options->columns.unit, .duration_unit = options->duration_unit, .foreign = true};
    const struct training_source view = {&options->lines, &options->table, options->from,
                                         options->until};
    const char *format = options->format;
    if (options->list != NULL)
        return training_columns_parse((char *)(uintptr_t)options->list, &columns, error)
                   ? training_trace_read_view(options->file, NULL, &columns, &view, error)
                   : NULL;
    if (format == NULL && line != NULL && (format = training_layout_of(line)) == NULL) {
        char advice[768];
        (void)error_input(error, "%s:1: is in no known layout of trainings; %s", options->file,
                          listing_advice(options->file, line, 't', advice, sizeof advice));
        return NULL;
    }
    return training_trace_read_view(options->file, format != NULL ? format : training_formats[0],
                                    NULL, &view, error);
}

bool trace_trainings(struct trace_options *options, const char *line, bool convert, bool quiet,
                     struct error *error)
{
    struct training_trace *trace = read_trainings(options, line, error);
    size_t shared = 0;
    bool good =
        trace != NULL && (options->cluster == NULL ||
                          training_trace_keep(trace, options->file, options->cluster, error));
    for (size_t i = 0; good && i < trace->count; i++)
        shared += trace->rows[i].request > 0 || trace->rows[i].vcpus > 0;
    if (good && !convert)
        good = print_statistics(trace, options, error);
    else if (good && shared > 0)
        good = error_input(error,
                           "%s: %zu of %zu ask for a part of a GPU or for none, and gangs of the "
                           "layout esgsim have whole GPUs; leave them out by --where",
                           options->file, shared, trace->count);
    else if (good)
        good = training_trace_write(trace, options->out, error);
    if (good && !quiet)
        trace_print_notes(options, trace->notes);
    training_trace_free(trace);
    return good;
}
