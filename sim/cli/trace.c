/* esgsim trace: describes or converts a trace of arrivals, or of trainings. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_rstat.h>
#include <zlib.h>

#include "sim/base/array.h"
#include "sim/cli/cli.h"
#include "sim/cli/trace_trainings.h"
#include "traces/readers/arrival_trace.h"
#include "sim/base/string_index.h"
#include "sim/base/atomic_file.h"
#include "workloads/load/json_include.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"

struct trace_options {
    const char *file;
    const char *format;
    const char *out;
    const char *application;
    double scale_rate, start_s, duration_s;
    uint64_t seed;
    bool json;
    bool sort;
    const char *unit;
    const char *as, *models, *cluster, *list; /* list: of --columns */
    uint64_t gpus;
    struct trace_columns columns; /* without a time: not given */
};

/* Parses "time=timestamp,application=app,slo_ms=deadline", in place: the columns of the roles. The
 * first `needed` roles are required. */
static bool parse_columns(const char *list, const char *const *roles, size_t count, size_t needed,
                          const char **columns, const char *form, struct error *error)
{
    for (char *rest = (char *)(uintptr_t)list, *part; (part = strsep(&rest, ",")) != NULL;) {
        char *equals = strchr(part, '=');
        size_t r = 0;
        if (equals != NULL)
            *equals = '\0';
        while (r < count && strcmp(part, roles[r]) != 0)
            r++;
        if (equals == NULL || equals[1] == '\0' || r == count || columns[r] != NULL)
            return error_input(error,
                               "--columns takes %s, each once and separated by commas, not '%s'",
                               form, part);
        columns[r] = equals + 1;
    }
    for (size_t r = 0; r < needed; r++)
        if (columns[r] == NULL)
            return error_input(error, "--columns lacks %s=COLUMN; it takes %s", roles[r], form);
    return true;
}

static bool parse_request_columns(struct trace_options *options, struct error *error)
{
    static const char *const roles[] = {"time", "application", "slo_ms"};
    const char *columns[3] = {NULL};
    const bool good =
        options->list == NULL ||
        parse_columns(options->list, roles, 3, 1, columns,
                      "time=COLUMN and, if the file has them, application=COLUMN and slo_ms=COLUMN",
                      error);
    options->columns =
        (struct trace_columns){columns[0], columns[1], columns[2], options->unit, options->sort};
    return good;
}

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
     .kind = OPTION_WORD, .place = offsetof(struct trace_options, unit)},
    {"--sort", NULL,
     "with --columns: sort the requests by time, in memory (32 bytes each); without it a trace "
     "that is not in order of time is refused",
     MEMBER(sort)},
    {"--scale-rate", "X", "compress time by X: 2 doubles the rate (default 1)", MEMBER(scale_rate),
     .low = 1e-6, .high = 1e6},
    {"--start-s", "S", "skip the first S seconds of the trace (default 0)", MEMBER(start_s),
     .high = 1e9},
    {"--duration-s", "D", "read D seconds of the trace (default: to its end)", MEMBER(duration_s),
     .low = 1e-9, .high = 1e9},
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

enum { WINDOWS = 3, TOP_SOURCES = 5 };
static const int window_seconds[WINDOWS] = {1, 10, 60};

/* Counts in consecutive windows, starting at the first arrival. */
struct window {
    sim_time_t width;
    uint64_t index, count; /* of the current window */
    uint64_t most;
    double sum, sum_squares; /* over the complete windows before it */
};

struct source_counts {
    struct string_index labels;
    uint64_t *requests;
    size_t capacity;
    bool full;
};

struct statistics {
    const char *format;
    uint64_t requests;
    double file_first_s; /* stamp of the file's first request or bin */
    sim_time_t first, last, longest_gap;
    gsl_rstat_workspace *intervals;
    struct window windows[WINDOWS];
    struct source_counts sources;
};

static void count_source(void *context, const char *label, uint64_t requests)
{
    struct source_counts *counts = context;
    int32_t number = string_index_add(&counts->labels, label);
    if (number == STRING_INDEX_NONE ||
        !array_reserve_zeroed(&counts->requests, &counts->capacity, (size_t)number + 1,
                              sizeof *counts->requests))
        counts->full = true;
    else
        counts->requests[number] += requests;
}

static void window_close(struct window *window)
{
    window->sum += (double)window->count;
    window->sum_squares += (double)window->count * (double)window->count;
    window->count = 0;
}

static void window_add(struct window *window, sim_time_t since_first)
{
    uint64_t index = (uint64_t)(since_first / window->width);
    if (index != window->index) {
        window_close(window);
        window->index = index; /* skipped windows are empty and add nothing to the sums */
    }
    window->count++;
    if (window->count > window->most)
        window->most = window->count;
}

/* Variance / mean of the counts of complete windows; NAN for fewer than two. */
static double window_dispersion(const struct window *window)
{
    double whole = (double)window->index;
    if (window->index < 2 || window->sum <= 0)
        return NAN;
    double mean = window->sum / whole;
    return (window->sum_squares - whole * mean * mean) / (whole - 1) / mean;
}

static void statistics_add(struct statistics *statistics, sim_time_t time)
{
    if (statistics->requests == 0) {
        statistics->first = time;
    } else {
        sim_time_t gap = time - statistics->last;
        (void)gsl_rstat_add(sim_to_s(gap), statistics->intervals);
        if (gap > statistics->longest_gap)
            statistics->longest_gap = gap;
    }
    for (int i = 0; i < WINDOWS; i++)
        window_add(&statistics->windows[i], time - statistics->first);
    statistics->last = time;
    statistics->requests++;
}

static const struct trace_columns *columns_of(const struct trace_options *options)
{
    return options->columns.time == NULL ? NULL : &options->columns;
}

static bool statistics_read(struct statistics *statistics, const struct trace_options *options,
                            struct error *error)
{
    struct error fault = {.kind = ERROR_NONE};
    struct trace_record record;
    const struct trace_view view = {.others = TRACE_OTHERS_MERGE,
                                    .start_s = options->start_s,
                                    .duration_s = options->duration_s,
                                    .scale_rate = options->scale_rate,
                                    .columns = columns_of(options),
                                    .count = count_source,
                                    .context = &statistics->sources};
    struct trace_reader *reader =
        trace_open_view(options->file, options->format, options->seed, &view, error);
    if (reader == NULL)
        return false;
    statistics->format = trace_format(reader);
    while (trace_next(reader, &record, &fault))
        statistics_add(statistics, record.time);
    statistics->file_first_s = trace_first_s(reader);
    trace_close(reader);
    if (fault.kind != ERROR_NONE) {
        *error = fault;
        return false;
    }
    if (statistics->sources.full)
        return error_input(error, "%s: more sources than can be told apart (%d); split the trace",
                           options->file, (int)STRING_INDEX_MOST);
    return true;
}

static double mean_rate(const struct statistics *statistics)
{
    sim_time_t span = statistics->last - statistics->first;
    return span > 0 ? (double)(statistics->requests - 1) / sim_to_s(span) : NAN;
}

static double interval_cv(struct statistics *statistics)
{
    double mean = gsl_rstat_mean(statistics->intervals);
    if (statistics->requests < 3 || mean <= 0)
        return NAN;
    return gsl_rstat_sd(statistics->intervals) / mean;
}

/* Sources with a label, by number of requests; ties in order of appearance. */
static size_t top_sources(const struct source_counts *counts, size_t top[TOP_SOURCES],
                          size_t *named)
{
    size_t count = 0;
    *named = 0;
    for (size_t i = 0; i < counts->labels.count; i++) {
        if (*counts->labels.names[i] == '\0')
            continue;
        (*named)++;
        size_t at = count < TOP_SOURCES ? count++ : TOP_SOURCES;
        while (at > 0 && counts->requests[i] > counts->requests[top[at - 1]]) {
            if (at < TOP_SOURCES)
                top[at] = top[at - 1];
            at--;
        }
        if (at < TOP_SOURCES)
            top[at] = i;
    }
    return count;
}

static cJSON *sources_json(const struct source_counts *counts, const size_t *top, size_t count)
{
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *row = cJSON_CreateObject();
        (void)utf8_add_json(row, "name", counts->labels.names[top[i]]);
        cJSON_AddNumberToObject(row, "requests", (double)counts->requests[top[i]]);
        cJSON_AddItemToArray(rows, row);
    }
    return rows;
}

static bool print_json(struct statistics *statistics, const char *file, struct error *error)
{
    size_t top[TOP_SOURCES], named = 0;
    size_t count = top_sources(&statistics->sources, top, &named);
    cJSON *root = cJSON_CreateObject();
    (void)utf8_add_json(root, "file", file);
    json_put(root, "format %s requests %g file_first_s %g cut %hhd span_s %g", statistics->format,
             (double)statistics->requests, statistics->file_first_s, trace_file_is_cut(file),
             sim_to_s(statistics->last - statistics->first));
    json_put(root, "mean_rate_per_s %g peak_per_s %g peak_per_min %g interval_cv %g",
             mean_rate(statistics), (double)statistics->windows[0].most,
             (double)statistics->windows[2].most, interval_cv(statistics));
    cJSON *dispersion = cJSON_AddObjectToObject(root, "dispersion");
    for (int i = 0; i < WINDOWS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%ds", window_seconds[i]);
        cJSON_AddNumberToObject(dispersion, key, window_dispersion(&statistics->windows[i]));
    }
    json_put(root, "longest_gap_s %g sources %g", sim_to_s(statistics->longest_gap), (double)named);
    cJSON_AddItemToObject(root, "top_sources", sources_json(&statistics->sources, top, count));
    return cli_print_json_line(root, error);
}

static void print_figure(const char *name, double value)
{
    if (isnan(value))
        printf("%-28s -\n", name);
    else
        printf("%-28s %.6g\n", name, value);
}

static void print_text(struct statistics *statistics, const char *file)
{
    size_t top[TOP_SOURCES], named = 0;
    size_t count = top_sources(&statistics->sources, top, &named);
    printf("%-28s %s (%s)\n", "trace", file, statistics->format);
    printf("%-28s %llu\n", "requests", (unsigned long long)statistics->requests);
    if (statistics->file_first_s != 0)
        printf("%-28s %.13g: it is time 0 of a run and of --start-s\n", "first in the file [s]",
               statistics->file_first_s);
    if (trace_file_is_cut(file))
        printf("%-28s has no end: the file may be cut\n", "last line");
    printf("%-28s %.3f\n", "span [s]", sim_to_s(statistics->last - statistics->first));
    print_figure("mean rate [1/s]", mean_rate(statistics));
    printf("%-28s %llu\n", "peak in a second", (unsigned long long)statistics->windows[0].most);
    printf("%-28s %llu\n", "peak in a minute", (unsigned long long)statistics->windows[2].most);
    printf("%-28s %.3f\n", "longest gap [s]", sim_to_s(statistics->longest_gap));
    print_figure("cv of intervals", interval_cv(statistics));
    for (int i = 0; i < WINDOWS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "dispersion of counts, %d s", window_seconds[i]);
        print_figure(name, window_dispersion(&statistics->windows[i]));
    }
    printf("%-28s %zu\n", "sources", named);
    for (size_t i = 0; i < count; i++)
        printf("  %-10llu %s\n", (unsigned long long)statistics->sources.requests[top[i]],
               statistics->sources.labels.names[top[i]]);
}

static bool trace_stats(const struct trace_options *options, struct error *error)
{
    struct statistics statistics = {.intervals = gsl_rstat_alloc()};
    if (statistics.intervals == NULL)
        return error_run(error, "trace: out of memory");
    for (int i = 0; i < WINDOWS; i++)
        statistics.windows[i].width = window_seconds[i] * SIM_S;
    bool good = statistics_read(&statistics, options, error);
    if (good && statistics.requests == 0)
        good = error_input(error, "%s: no request in this part of the trace", options->file);
    if (good && options->json)
        good = print_json(&statistics, options->file, error);
    else if (good)
        print_text(&statistics, options->file);
    gsl_rstat_free(statistics.intervals);
    string_index_clear(&statistics.sources.labels);
    free(statistics.sources.requests);
    return good;
}

/* ---- convert ---- */

static bool write_record(gzFile out, const struct trace_record *record, const char *application,
                         bool with_slo)
{
    char slo[40] = "";
    if (with_slo && record->slo > 0)
        (void)snprintf(slo, sizeof slo, "%lld.%06lld", (long long)(record->slo / SIM_MS),
                       (long long)(record->slo % SIM_MS));
    return gzprintf(out, "%lld.%06lld,%s%s%s\n", (long long)(record->time / SIM_MS),
                    (long long)(record->time % SIM_MS), application, with_slo ? "," : "", slo) > 0;
}

static bool convert_records(struct trace_reader *reader, gzFile out,
                            const struct trace_options *options, struct error *error)
{
    struct error fault = {.kind = ERROR_NONE};
    struct trace_record record;
    uint64_t records = 0;
    bool with_slo = strcmp(trace_format(reader), "esgsim") == 0 || options->columns.slo_ms != NULL;
    errno = 0;
    if (gzputs(out, with_slo ? "time_ms,application,slo_ms\n" : "time_ms,application\n") < 0)
        return error_run(error, "%s: cannot be written: %s", options->out, strerror(errno));
    for (; trace_next(reader, &record, &fault); records++) {
        const char *name = options->application == NULL ? record.source : options->application;
        if (*name == '\0')
            return error_input(error, "%s: %s names no sources; give --application NAME%s",
                               options->file, trace_format(reader),
                               options->columns.time == NULL ? ""
                                                             : ", or application= in --columns");
        if (!write_record(out, &record, name, with_slo))
            return error_run(error, "%s: cannot be written: %s", options->out, strerror(errno));
    }
    if (fault.kind != ERROR_NONE) {
        *error = fault;
        return false;
    }
    return records > 0 ||
           error_input(error, "%s: no request in this part of the trace", options->file);
}

static bool convert_to(struct trace_reader *reader, const struct training_trace *trainings,
                       const struct trace_options *options, const char *path, struct error *error)
{
    size_t length = strlen(options->out);
    bool zipped = length > 3 && strcmp(options->out + length - 3, ".gz") == 0;
    errno = 0;
    gzFile out = gzopen(path, zipped ? "wb9" : "wbT");
    if (out == NULL)
        return error_run(error, "%s: cannot be created: %s", options->out,
                         errno != 0 ? strerror(errno) : "out of memory");
    bool good = trainings != NULL ? trace_trainings_write(trainings, out, options->out, error)
                                  : convert_records(reader, out, options, error);
    errno = 0;
    if (gzclose(out) != Z_OK && good)
        good = error_run(error, "%s: cannot be written: %s", options->out,
                         errno != 0 ? strerror(errno) : "compression failed");
    return good;
}

static bool trace_convert(const struct trace_options *options, bool quiet, struct error *error)
{
    const struct trace_view view = {.others = options->application == NULL ? TRACE_OTHERS_KEEP
                                                                           : TRACE_OTHERS_MERGE,
                                    .start_s = options->start_s,
                                    .duration_s = options->duration_s,
                                    .scale_rate = options->scale_rate,
                                    .columns = columns_of(options)};
    struct trace_reader *reader =
        trace_open_view(options->file, options->format, options->seed, &view, error);
    if (reader == NULL)
        return false;
    struct atomic_file file;
    bool good = atomic_file_begin(&file, options->out, error);
    if (good)
        good = atomic_file_end(&file, convert_to(reader, NULL, options, file.beside, error), error);
    if (good && !quiet && trace_first_s(reader) != 0)
        (void)fprintf(text_messages(), "note: %s begins at %.13g s, which is 0 in %s\n",
                      options->file, trace_first_s(reader), options->out);
    trace_close(reader);
    return good;
}

/* ---- trainings ---- */

/* Whether FILE holds trainings: as the options or its first line say. */
static bool are_trainings(const struct trace_options *options)
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
    struct training_columns columns = {.unit = options->unit, .foreign = true};
    const char *format = options->format;
    size_t left_out = 0;
    if (format == NULL && (format = training_trace_recognise(options->file)) == NULL)
        format = training_formats[0]; /* whose reader says what is missing */
    if (options->list == NULL)
        return training_trace_read(options->file, format, error);
    if (!parse_columns(options->list, training_roles, TRAINING_NAMED_ROLES, 2, columns.names,
                       "arrival=COLUMN, gpus=, duration= or iterations=, and if the file has them "
                       "model=, iteration=, id= and cluster=",
                       error) ||
        ((columns.names[TRAINING_ROLE_DURATION] == NULL &&
          columns.names[TRAINING_ROLE_ITERATIONS] == NULL) &&
         !error_input(error, "--columns lacks duration=COLUMN or iterations=COLUMN")))
        return NULL;
    struct training_trace *trace =
        training_trace_read_columns(options->file, &columns, &left_out, error);
    if (trace != NULL && left_out > 0 && !quiet)
        (void)fprintf(text_messages(),
                      "note: %s: %zu row%s without a GPU or without a duration left out\n",
                      options->file, left_out, left_out == 1 ? "" : "s");
    return trace;
}

static bool trace_trainings(const struct trace_options *options, bool convert, bool quiet,
                            struct error *error)
{
    struct atomic_file file;
    struct training_trace *trace = read_trainings(options, quiet, error);
    bool good =
        trace != NULL && (options->cluster == NULL ||
                          training_trace_keep(trace, options->file, options->cluster, error));
    if (good && !convert)
        good = trace_trainings_stats(trace, options->file, options->models, options->gpus,
                                     options->json, error);
    else if (good && (trace->rows[0].request > 0 || trace->rows[0].vcpus > 0))
        good = error_input(error, "%s: the layout esgsim has no shares; run the file as it is",
                           options->file);
    else if (good)
        good = atomic_file_begin(&file, options->out, error) &&
               atomic_file_end(&file, convert_to(NULL, trace, options, file.beside, error), error);
    training_trace_free(trace);
    return good;
}

/* ---- options ---- */

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
    else if (options->list != NULL && options->unit == NULL)
        fault = "--columns needs the --unit of its times: s, ms, us, ns, min or date";
    else if (options->list == NULL && (options->unit != NULL || options->sort))
        fault = "--unit and --sort belong to --columns";
    else if (options->application != NULL &&
             (*options->application == '\0' || strlen(options->application) > 256 ||
              strpbrk(options->application, ",\"\r\n") != NULL))
        fault = "--application is empty, too long or holds a comma or quote";
    else if (trainings ? options->application != NULL || options->scale_rate > 0 ||
                             options->start_s > 0 || options->duration_s > 0
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
    char *found = json_include_find_operand(argv[2]);
    options.file = found != NULL ? found : argv[2];
    const bool trainings = are_trainings(&options);
    bool done = check_options(&options, convert, trainings, error) &&
                cli_check_output("--out", options.out, "the trace", options.file, error) &&
                (trainings || parse_request_columns(&options, error));
    if (done && trainings)
        done = trace_trainings(&options, convert, quiet, error);
    else if (done)
        done = convert ? trace_convert(&options, quiet, error) : trace_stats(&options, error);
    free(found);
    return done;
}
