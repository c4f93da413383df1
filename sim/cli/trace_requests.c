#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sim/base/json_write.h"
#include "sim/base/text.h"
#include "sim/cli/trace.h"
#include "traces/readers/arrival_statistics.h"

static bool print_json(const struct arrival_statistics *is, const char *file, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    (void)utf8_add_json(root, "file", file);
    json_put(root, "format %s requests %g file_first_s %g cut %hhd span_s %g", is->format,
             (double)is->requests, is->file_first_s, is->cut, is->span_s);
    json_put(root, "mean_rate_per_s %g peak_per_s %g peak_per_min %g interval_cv %g",
             is->mean_rate_per_s, (double)is->peak[0], (double)is->peak[2], is->interval_cv);
    json_put(cJSON_AddObjectToObject(root, "dispersion"), "1s %g 10s %g 60s %g", is->dispersion[0],
             is->dispersion[1], is->dispersion[2]);
    json_put(root, "longest_gap_s %g sources %g", is->longest_gap_s, (double)is->sources);
    cJSON *rows = cJSON_AddArrayToObject(root, "top_sources");
    for (size_t i = 0; i < is->top_count; i++) {
        cJSON *row = json_append(rows);
        (void)utf8_add_json(row, "name", is->labels.names[is->top[i]]);
        json_put(row, "requests %g", (double)is->label_requests[is->top[i]]);
    }
    return cli_print_json_line(root, error);
}

static void print_figure(const char *name, double value)
{
    if (isnan(value))
        printf("%-28s -\n", name);
    else
        printf("%-28s %.6g\n", name, value);
}

static void print_text(const struct arrival_statistics *is, const char *file)
{
    printf("%-28s %s (%s)\n", "trace", file, is->format);
    printf("%-28s %" PRIu64 "\n", "requests", is->requests);
    if (is->file_first_s != 0)
        printf("%-28s %.13g: it is time 0 of a run and of --start-s\n", "first in the file [s]",
               is->file_first_s);
    if (is->cut)
        printf("%-28s has no end: the file may be cut\n", "last line");
    printf("%-28s %.3f\n", "span [s]", is->span_s);
    print_figure("mean rate [1/s]", is->mean_rate_per_s);
    printf("%-28s %" PRIu64 "\n", "peak in a second", is->peak[0]);
    printf("%-28s %" PRIu64 "\n", "peak in a minute", is->peak[2]);
    printf("%-28s %.3f\n", "longest gap [s]", is->longest_gap_s);
    print_figure("cv of intervals", is->interval_cv);
    for (int i = 0; i < ARRIVAL_WINDOWS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "dispersion of counts, %d s", arrival_window_s[i]);
        print_figure(name, is->dispersion[i]);
    }
    printf("%-28s %zu\n", "sources", is->sources);
    for (size_t i = 0; i < is->top_count; i++)
        printf("  %-10" PRIu64 " %s\n", is->label_requests[is->top[i]],
               is->labels.names[is->top[i]]);
}

void trace_print_notes(const struct trace_options *options, const char *notes)
{
    while (notes != NULL && *notes != '\0') {
        const size_t length = strcspn(notes, "\n");
        (void)fprintf(text_messages(), "note: %s: %.*s\n", options->file, (int)length, notes);
        notes += length + (notes[length] == '\n');
    }
}

static bool trace_stats(const struct trace_options *options, bool quiet, struct error *error)
{
    struct arrival_statistics statistics;
    bool good = arrival_statistics_read(options->file, options->format, options->seed,
                                        &options->view, &statistics, error);
    if (good && options->json)
        good = print_json(&statistics, options->file, error);
    else if (good)
        print_text(&statistics, options->file);
    if (good && !quiet)
        trace_print_notes(options, statistics.notes);
    arrival_statistics_clear(&statistics);
    return good;
}

static bool trace_convert(const struct trace_options *options, bool quiet, struct error *error)
{
    struct trace_view view = options->view;
    if (options->application != NULL)
        view.others = TRACE_OTHERS_MERGE;
    struct trace_reader *reader =
        trace_open_view(options->file, options->format, options->seed, &view, error);
    const bool good =
        reader != NULL && trace_write(reader, options->application, options->out, error);
    if (good && !quiet && trace_first_s(reader) != 0)
        (void)fprintf(text_messages(), "note: %s begins at %.13g s, which is 0 in %s\n",
                      options->file, trace_first_s(reader), options->out);
    if (good && !quiet)
        trace_print_notes(options, trace_notes(reader));
    trace_close(reader);
    return good;
}

bool trace_requests(const struct trace_options *options, bool convert, bool quiet,
                    struct error *error)
{
    return convert ? trace_convert(options, quiet, error) : trace_stats(options, quiet, error);
}
