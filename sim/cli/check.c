/* esgsim check: validates input files of any kind. */
#include <stdlib.h>
#include <string.h>

#include "results/expect/expectation.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "traces/readers/arrival_trace.h"
#include "workloads/sweep/sweep.h"

struct options {
    bool json;
    const char *format;
};

static const struct cli_option check_table[] = {
    {"--format", "F",
     "treat every FILE as an arrival trace of format F (`esgsim trace --help`); required for "
     "bare counts",
     CLI_MEMBER(struct options, format)},
    {"--json", NULL,
     "one object: {\"files\": [{\"file\", \"kind\", \"valid\", \"error\"}]}; a sweep also "
     "has \"runs\", a trace whose last line has no end \"cut\"",
     CLI_MEMBER(struct options, json)},
    {.name = NULL},
};

static bool check_run(int argc, char **argv, bool quiet, struct error *error);

const struct command command_check = {
    .name = "check",
    .summary = "check input files, and report each error with its place",
    .help = "Takes experiments, sweeps, clusters, functions, applications, profiles, training "
            "models, reference figures, claims, traces of arrivals or trainings (gzip or plain) "
            "and tables of samples for `esgsim calibrate`; the kind is recognised. Prints a line "
            "for each valid file, with the number of runs for a sweep. All files are checked; "
            "exit status 2 if one is faulty.\n"
            "\n"
            "Examples: esgsim check workloads/experiments/*.json\n"
            "          esgsim check --format counts-per-minute "
            "traces/arrivals/azure2019_7d_permin_*.txt.gz\n",

    .run = check_run,
    .operands = "FILE…",
    .options = check_table,
};

/* The library recognises reference figures and claims by their keys, but only results/ can check
 * their content. */
static bool check_file(const char *path, const char *format, struct input_found *input,
                       struct error *error)
{
    if (format != NULL) {
        input->kind = "arrival trace";
        return input_check_trace(path, format, NULL, error);
    }
    if (!input_check(path, input, error))
        return false;
    const bool claims = strcmp(input->kind, "claims") == 0;
    if (!claims && strcmp(input->kind, "reference figures") != 0)
        return true;
    struct expectations *expectations =
        expectations_load(path, claims ? EXPECTATION_CLAIMS : EXPECTATION_FIGURES, error);
    arena_home_free(expectations);
    return expectations != NULL;
}

static bool is_cut(const char *path, const char *kind)
{
    return strcmp(kind, "arrival trace") == 0 && trace_file_is_cut(path);
}

static void print_valid(const char *path, const struct input_found *input)
{
    if (input->runs > 0)
        printf("%s: ok (%s of %s%zu run%s)\n", path, input->kind, input->least ? "at least " : "",
               input->runs, input->runs == 1 ? "" : "s");
    else
        printf("%s: ok (%s)\n", path, input->kind);
    if (is_cut(path, input->kind))
        printf("%s: note: the last line has no end: the file may be cut\n", path);
}

static void add_json(cJSON *files, const char *path, const struct input_found *input,
                     const struct error *fault)
{
    const bool valid = fault->kind == ERROR_NONE;
    cJSON *item = json_append(files);
    utf8_add_json(item, "file", path);
    json_put(item, "kind %s valid %hhd", input->kind, valid);
    if (valid && input->runs > 0)
        json_put(item, "runs %zu", input->runs);
    if (is_cut(path, input->kind))
        json_put(item, "cut %hhd", (bool)true);
    if (!valid)
        utf8_add_json(item, "error", fault->message);
}

/* The first fault becomes the command's error, which main prints. Later ones are printed here. */
static bool check_files(int argc, char **argv, const char *format, bool quiet, cJSON *files,
                        struct error *error)
{
    bool good = true;
    for (int i = 1; i < argc; i++) {
        struct input_found input = {.kind = "unknown"};
        struct error fault = {0};
        bool valid = check_file(argv[i], format, &input, &fault);
        if (files != NULL)
            add_json(files, argv[i], &input, &fault);
        if (valid && files == NULL && !quiet)
            print_valid(argv[i], &input);
        if (!valid && good)
            *error = fault;
        else if (!valid)
            (void)fprintf(text_messages(), "esgsim: %s\n", fault.message);
        good = good && valid;
    }
    return good;
}

static bool check_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    if (!cli_parse(&command_check, &argc, argv, &options, error))
        return false;
    cJSON *root = options.json ? cJSON_CreateObject() : NULL;
    cJSON *files = options.json ? cJSON_AddArrayToObject(root, "files") : NULL;
    bool good = check_files(argc, argv, options.format, quiet, files, error);
    struct error late = {0};
    if (!options.json || cli_print_json_line(root, &late))
        return good;
    *error = late;
    return false;
}
