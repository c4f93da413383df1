/* esgsim explain: the life of one request of a recorded run. */
#include <stdio.h>
#include <string.h>

#include "results/explain.h"
#include "results/store.h"
#include "sim/cli/cli.h"

struct options {
    const char *file, *run;
    bool json, by_seed, numbered;
    uint64_t seed, request;
};

static bool option_take(struct options *options, const char *name, const char *value,
                        struct error *error)
{
    if (strcmp(name, "--run") == 0) {
        options->run = value;
        return true;
    }
    if (strcmp(name, "--seed") == 0) {
        options->by_seed = true;
        return cli_parse_u64(name, value, 0, UINT64_MAX, &options->seed, error);
    }
    options->numbered = true;
    return cli_parse_u64(name, value, 0, UINT64_MAX, &options->request, error);
}

static bool options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    for (int i = 1; i < argc; i++) {
        const bool valued = strcmp(argv[i], "--request") == 0 || strcmp(argv[i], "--run") == 0 ||
                            strcmp(argv[i], "--seed") == 0;
        if (valued) {
            if (i + 1 == argc)
                return error_input(error, "explain: %s wants a value", argv[i]);
            if (!option_take(options, argv[i], argv[i + 1], error))
                return false;
            i++;
        } else if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else if (argv[i][0] == '-') {
            return cli_unknown_argument(&command_explain, argv[i], error);
        } else if (options->file != NULL) {
            return cli_usage_error(&command_explain, "one results file at a time", error);
        } else {
            options->file = argv[i];
        }
    }
    if (options->file == NULL)
        return cli_usage_error(&command_explain, "a results file is missing", error);
    return options->numbered || cli_usage_error(&command_explain, "--request is missing", error);
}

/* The one run that the options mean. */
static const struct summary_row *run_choose(const struct results *results,
                                            const struct options *options, struct error *error)
{
    const struct summary_row *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < results->run_count; i++) {
        const struct summary_row *run = &results->runs[i];
        if ((options->run == NULL || strncmp(run->hash, options->run, strlen(options->run)) == 0) &&
            (!options->by_seed || run->seed == options->seed)) {
            found = run;
            count++;
        }
    }
    if (count == 1)
        return found;
    if (count == 0)
        error_input(error,
                    "%s: none of its %zu runs is meant by --run and --seed; `esgsim report %s "
                    "--format csv` lists them",
                    results->path, results->run_count, results->path);
    else
        error_input(error,
                    "%s: %zu runs are meant, the first by --run %s (%s, seed %llu); name one with "
                    "--run HASH",
                    results->path, count, found->hash, found->policy,
                    (unsigned long long)found->seed);
    return NULL;
}

static bool explain_print(const struct options *options, const struct results *results,
                          struct error *error)
{
    const struct summary_row *run = run_choose(results, options, error);
    struct run_record *record =
        run == NULL ? NULL : run_record_load(options->file, run->hash, error);
    struct explanation *explanation =
        record == NULL ? NULL : explanation_build(run, record, options->request, error);
    bool good = explanation != NULL;
    if (good && options->json)
        good = explanation_json(explanation, stdout, error);
    else if (good)
        explanation_text(explanation, stdout);
    explanation_free(explanation);
    run_record_free(record);
    return good;
}

static bool explain_run(int argc, char **argv, bool quiet, struct error *error)
{
    (void)quiet;
    struct options options = {0};
    if (!options_parse(argc, argv, &options, error))
        return false;
    struct results *results = results_load(options.file, error);
    const bool good = results != NULL && explain_print(&options, results, error);
    results_free(results);
    return good;
}

const struct command command_explain = {
    .name = "explain",
    .usage = "explain F.h5 --request N [--run HASH] [--seed S] [--json]",
    .summary = "the life of one request in words: where its time and money went",
    .help = "  --request N  its number in order of arrival, from 0; warm-up requests count\n"
            "  --run HASH   which run, where the file holds several: its hash or the beginning\n"
            "  --seed S     the run with that seed\n"
            "  --json       print one JSON object\n"
            "\n"
            "The run must have been recorded in full: esgsim run … --set record=all --out F.h5.\n"
            "\n"
            "Example: esgsim explain run.h5 --request 1000\n",
    .run = explain_run,
};
