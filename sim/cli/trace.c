/* esgsim trace: describes or converts a trace of arrivals, or of trainings. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sim/base/arena.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"
#include "sim/cli/trace.h"
#include "traces/readers/arrival_statistics.h"
#include "workloads/load/json_include.h"

#define MEMBER(member) CLI_MEMBER(struct trace_options, member)

static const struct cli_option trace_table[] = {
    {"--out", "OUT.csv[.gz]", "convert only, required: the file to write, gzip if it ends in .gz",
     MEMBER(out)},
    {"--format", "F", "format of FILE, one of those below (default: recognised by the header)",
     MEMBER(format)},
    {"--columns", "NAMES",
     "read any CSV with a header by the names of its columns: time=COLUMN and, if the file has "
     "them, application=COLUMN and slo_ms=COLUMN, separated by commas; others are ignored; needs "
     "--unit. For trainings: arrival=, gpus=, duration= or iterations=, and model=, iteration=, "
     "id=, cluster=",
     MEMBER(list)},
    {"--unit", "s|ms|us|ns|min|date", "unit of the column of times; date: 2023-11-16 18:17:03.97",
     .kind = OPTION_WORD, .place = offsetof(struct trace_options, columns.unit)},
    {"--sort", NULL,
     "with --columns: sort the requests by time, in memory (32 bytes each); without it a trace "
     "that is not in order of time is refused",
     MEMBER(columns.sort)},
    {"--scale-rate", "X", "compress time by X: 2 doubles the rate (default 1)",
     MEMBER(view.scale_rate), .low = 1e-6, .high = 1e6},
    {"--start-s", "S", "skip the first S seconds of the trace (default 0)", MEMBER(view.start_s),
     .high = 1e9},
    {"--duration-s", "D", "read D seconds of the trace (default: to its end)",
     MEMBER(view.duration_s), .low = 1e-9, .high = 1e9},
    {"--application", "NAME",
     "convert only: assign every request to NAME; default: to its source's label",
     MEMBER(application)},
    {"--seed", "N", "seed for the times within bins, if the trace has counts (default 1)",
     MEMBER(seed), .most = UINT64_MAX},
    {"--json", NULL, "stats as one JSON object", MEMBER(json)},
    {"--as", "requests|trainings",
     "what the rows of FILE are (default: trainings if it has one of their layouts)",
     .kind = OPTION_WORD, .place = offsetof(struct trace_options, as)},
    {"--cluster", "NAME", "trainings: only those of this virtual cluster", MEMBER(cluster)},
    {"--models", "MODELS.json", "stats of trainings: file of iteration times", MEMBER(models)},
    {"--gpus", "N", "stats of trainings: number of GPUs, by which the load is divided",
     MEMBER(gpus), .least = 1, .most = 1000000},
    {.name = NULL},
};

static bool trace_run(int argc, char **argv, bool quiet, struct error *error);

const struct command command_trace = {
    .name = "trace",
    .summary = "describe or convert a trace of arrivals or of trainings",
    .help =
        "Formats (recognised by the header without --format; bare integers need it):\n"
        "  esgsim             time_ms,application[,slo_ms]\n"
        "  azure-llm          TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "  azure-2019         HashOwner,HashApp,HashFunction,Trigger,1,...,1440\n"
        "  azure-2021         app,func,end_timestamp,duration\n"
        "  counts-per-second  second,requests, or bare integers\n"
        "  counts-per-minute  minute,requests, or bare integers\n"
        "Counts become arrivals at uniform random times in their bin, drawn with --seed.\n"
        "\n"
        "stats: requests, span from first to last, mean rate (requests - 1) / span, peaks, "
        "longest gap, coefficient of variation of the intervals, index of dispersion (variance / "
        "mean) of the counts in whole windows of 1, 10 and 60 s (1 for a Poisson process), "
        "sources. convert: writes the esgsim format. The first request or bin of FILE is at 0.\n"
        "\n"
        "Trainings: stats prints GPU-hours per hour, durations, and GPUs by size of the gang. "
        "convert writes arrival_s, gpus, model, and iterations or duration_s; with --columns it "
        "sorts the rows, and omits those without a GPU or a duration (traces/README.md).\n"
        "\n"
        "Examples: esgsim trace stats traces/arrivals/AzureLLMInferenceTrace_conv.csv.gz\n"
        "          esgsim trace convert traces/arrivals/azure2019_7d_permin_3.txt.gz --format "
        "counts-per-minute --scale-rate 10 --out arrivals.csv.gz\n"
        "          esgsim trace convert requests.csv --columns time=timestamp,application=app "
        "--unit s --out arrivals.csv\n"
        "          esgsim trace convert jobs.csv --as trainings --unit date --out own.csv "
        "--columns arrival=submit_time,gpus=gpu_num,duration=duration\n",

    .run = trace_run,
    .operands = "stats|convert FILE",
    .options = trace_table,
};

/* ---- stats ---- */

static bool print_json(const struct arrival_statistics *is, const char *file, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    utf8_add_json(root, "file", file);
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
        utf8_add_json(row, "name", is->labels.names[is->top[i]]);
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

static bool trace_stats(const struct trace_options *options, struct error *error)
{
    struct arrival_statistics statistics;
    bool good = arrival_statistics_read(options->file, options->format, options->seed,
                                        &options->view, &statistics, error);
    if (good && options->json)
        good = print_json(&statistics, options->file, error);
    else if (good)
        print_text(&statistics, options->file);
    arrival_statistics_clear(&statistics);
    return good;
}

/* ---- convert ---- */

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
    trace_close(reader);
    return good;
}

/* Refuses options that the verb does not take. */
static bool check_options(const struct trace_options *options, bool convert, bool trainings,
                          struct error *error)
{
    const char *fault = NULL;
    if (!convert && (options->out != NULL || options->application != NULL))
        fault = "stats takes no --out and no --application";
    else if (convert && options->json)
        fault = "convert takes no --json";
    else if (convert && options->out == NULL)
        fault = "convert needs --out";
    else if (options->list != NULL && options->format != NULL)
        fault = "a trace has either a --format or --columns";
    else if (options->list != NULL && options->columns.unit == NULL)
        fault = "--columns needs the --unit of its times: s, ms, us, ns, min or date";
    else if (options->list == NULL && (options->columns.unit != NULL || options->columns.sort))
        fault = "--unit and --sort belong to --columns";
    else if (options->application != NULL &&
             (*options->application == '\0' || strlen(options->application) > 256 ||
              strpbrk(options->application, ",\"\r\n") != NULL))
        fault = "--application is empty, too long or holds a comma or quote";
    else if (trainings ? options->application != NULL || options->view.scale_rate > 0 ||
                             options->view.start_s > 0 || options->view.duration_s > 0
                       : options->models != NULL || options->gpus > 0 || options->cluster != NULL)
        fault = trainings ? "trainings take no option of requests"
                          : "--models, --gpus and --cluster belong to trainings";
    return fault == NULL || cli_usage_error(&command_trace, error, "%s", fault);
}

static bool trace_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct trace_options options = {.seed = 1};
    if (!cli_parse(&command_trace, &argc, argv, &options, error))
        return false;
    const bool convert = strcmp(argv[1], "convert") == 0;
    if (!convert && strcmp(argv[1], "stats") != 0)
        return cli_usage_error(&command_trace, error, "'%.80s' is neither stats nor convert",
                               argv[1]);
    struct arena *arena = arena_create();
    options.file = json_include_operand(arena, argv[2]);
    const bool trainings = trace_has_trainings(&options);
    bool done = check_options(&options, convert, trainings, error) &&
                cli_check_output("--out", options.out, "the trace", options.file, error) &&
                (trainings || options.list == NULL ||
                 trace_columns_parse((char *)(uintptr_t)options.list, &options.columns, error));
    options.view.columns = options.columns.time != NULL ? &options.columns : NULL;
    if (done && trainings)
        done = trace_trainings(&options, convert, quiet, error);
    else if (done)
        done = convert ? trace_convert(&options, quiet, error) : trace_stats(&options, error);
    arena_destroy(arena);
    return done;
}
