/* esgsim trace: describes or converts a trace of arrivals, or of trainings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sim/base/arena.h"
#include "sim/cli/trace.h"
#include "workloads/load/json_include.h"

#define MEMBER(member) CLI_MEMBER(struct trace_options, member)

static const struct cli_option trace_table[] = {
    {"--out", "OUT.csv[.gz]", "convert only, required: the file to write, gzip if it ends in .gz",
     MEMBER(out)},
    {"--format", "F", "format of FILE, one of those below (default: recognised by the header)",
     MEMBER(format)},
    {"--columns", "NAMES",
     "read any table, or objects of JSON, by the names of its columns: time=COLUMN and, if the "
     "file "
     "has them, application=, slo_ms= and count= (requests of a bin), separated by commas; #3 is "
     "the third column; others are ignored; needs --unit. For trainings: arrival=, gpus= (a*b, % "
     "divides by 100), duration=, end= or iterations=, and start=, model=, iteration=, id=, "
     "cluster=",
     MEMBER(list)},
    {"--unit", "s|ms|us|ns|min|h|date",
     "unit of the column of times; date: 2023-11-16 18:17:03.97, in UTC or with an offset",
     .kind = OPTION_WORD, .place = offsetof(struct trace_options, columns.unit)},
    CLI_TABLE_OPTIONS,
    {"--bin", "S", "with count=: width of a bin (default: the median difference of the times)",
     MEMBER(columns.bin_s), .low = 1e-6, .high = 1e9},
    {"--concatenate", NULL,
     "several files: each begins where the one before ends (default: merged in order of time)",
     MEMBER(end_to_end)},
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
    {"--from", "TIME", "trainings: only those that arrive at this time of FILE or later",
     MEMBER(from)},
    {"--until", "TIME", "trainings: only those that arrive before it", MEMBER(until)},
    {"--duration-unit", "s|ms|us|ns|min|h",
     "trainings: unit of durations (default: --unit; beside dates s); H:M:S is read, too",
     .kind = OPTION_WORD, .place = offsetof(struct trace_options, duration_unit)},
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
        "  azure-2019         HashOwner,HashApp,HashFunction,Trigger,1,2,...,N: any minutes\n"
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
        "Trainings (esgsim, synergy, muri, gavel, philly, dilu, openb): stats prints GPU-hours per "
        "hour, durations, and GPUs by size of the gang. "
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
    .operands = "stats|convert FILE…",
    .options = trace_table,
};

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
    else if (options->list == NULL &&
             (options->columns.unit != NULL || options->columns.sort || options->table.header ||
              options->columns.bin_s > 0 || (options->table.rule_count > 0 && !trainings)))
        fault = "--unit, --sort, --header, --bin and, of requests, --where belong to --columns";
    else if (options->application != NULL &&
             (*options->application == '\0' || strlen(options->application) > 256 ||
              strpbrk(options->application, ",\"\r\n") != NULL))
        fault = "--application is empty, too long or holds a comma or quote";
    else if (trainings
                 ? options->application != NULL || options->view.scale_rate > 0 ||
                       options->view.start_s > 0 || options->view.duration_s > 0 ||
                       options->columns.bin_s > 0 || options->view.path_count > 0
                 : options->from || options->until || options->duration_unit ||
                       options->models != NULL || options->gpus > 0 || options->cluster != NULL)
        fault = trainings
                    ? "trainings take one file, and no option of requests; --from and --until "
                      "cut them"
                    : "--models, --gpus, --cluster, --from, --until and --duration-unit "
                      "belong to trainings";
    return fault == NULL || cli_usage_error(&command_trace, error, "%s", fault);
}

static bool run_verb(struct trace_options *options, const char *line, bool convert, bool quiet,
                     struct error *error)
{
    const bool trainings = trace_has_trainings(options, line);
    struct error unread = {0};
    if (line == NULL)
        unread = *error;
    if (!check_options(options, convert, trainings, error) ||
        !cli_check_output("--out", options->out, "the trace", options->file, error) ||
        (!trainings && options->list != NULL &&
         !trace_columns_parse((char *)(uintptr_t)options->list, &options->columns, error)))
        return false;
    for (size_t i = 0; i < options->view.path_count; i++)
        if (!cli_check_output("--out", options->out, "a trace", options->view.paths[i], error))
            return false;
    if (options->columns.bin_s > 0 && options->columns.count == NULL)
        return cli_usage_error(&command_trace, error, "--bin belongs to count= of --columns");
    if (unread.kind != ERROR_NONE) {
        *error = unread;
        return false;
    }
    options->columns.table = &options->table;
    options->view.columns = options->columns.time != NULL ? &options->columns : NULL;
    options->view.lines = &options->lines;
    options->view.end_to_end = options->end_to_end;
    if (trainings)
        return trace_trainings(options, line, convert, quiet, error);
    return trace_requests(options, convert, quiet, error);
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
    options.view.paths = (const char *const *)(argv + 3);
    options.view.path_count = (size_t)argc - 3;
    struct error fault = {0};
    char *line = line_reader_open(&options.lines, options.file, &fault)
                     ? line_reader_peek(&options.lines)
                     : NULL;
    *error = fault;
    const bool done = run_verb(&options, line, convert, quiet, error);
    line_reader_close(&options.lines);
    free(line);
    arena_destroy(arena);
    return done;
}
