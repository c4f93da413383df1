/* esgsim explain: explains one request, or one training, of a recorded run. */
#include <stdio.h>
#include <string.h>

#include "results/inspect/explain.h"
#include "results/store/store.h"
#include "sim/cli/picture.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"

/* Larger than any seed: selects runs of all seeds. */
#define SEED_ANY UINT64_MAX
/* --request and --training: not given. */
#define NUMBER_NONE UINT64_MAX

struct options {
    const char *file, *run, *application;
    bool json;
    uint64_t seed, request, training, worst;
    struct picture picture;
};

static const struct cli_option explain_table[] = {
    {"--request", "N", "its number in order of arrival, from 0; warm-up requests count",
     CLI_MEMBER(struct options, request), .most = UINT64_MAX - 1},
    {"--training", "N", "a training instead of a request: its number in order of arrival",
     CLI_MEMBER(struct options, training), .most = UINT64_MAX - 1},
    {"--worst", "N", "list the N requests that ended latest after they were due (default: 5)",
     CLI_MEMBER(struct options, worst), .least = 1, .most = UINT64_MAX - 1},
    {"--application", "NAME", "--worst: of this application alone",
     CLI_MEMBER(struct options, application)},
    {"--run", "HASH", "the run, if the file has several: its hash, or the beginning of it",
     CLI_MEMBER(struct options, run)},
    {"--seed", "S", "the run with that seed", CLI_MEMBER(struct options, seed),
     .most = SEED_ANY - 1},
    {"--json", NULL, "print one JSON object", CLI_MEMBER(struct options, json)},
    CLI_PICTURE(struct options, picture),
    {.name = NULL},
};

/* The single run selected by the options. */
static const struct summary_row *run_choose(const struct results *results,
                                            const struct options *options, struct error *error)
{
    const struct summary_row *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < results->run_count; i++) {
        const struct summary_row *run = &results->runs[i];
        if ((options->run == NULL || strncmp(run->hash, options->run, strlen(options->run)) == 0) &&
            (options->seed == SEED_ANY || run->seed == options->seed)) {
            found = run;
            count++;
        }
    }
    if (count == 1)
        return found;
    if (count == 0)
        error_input(error,
                    "%s: --run and --seed match none of its %zu runs; `esgsim report %s "
                    "--format csv` lists them",
                    results->path, results->run_count, results->path);
    else
        error_input(error,
                    "%s: %zu runs match, the first is --run %s (%s, seed %llu); name one with "
                    "--run HASH",
                    results->path, count, found->hash, found->policy,
                    (unsigned long long)found->seed);
    return NULL;
}

static bool explain_training(const struct options *options, const struct summary_row *run,
                             const struct run_record *record, struct error *error)
{
    struct chart chart = {.arena = record->arena};
    return training_chart(run, record, options->training, &chart, error) &&
           picture_draw(&options->picture, &chart, error) &&
           training_explain(run, record, options->training, options->json, &chart, stdout, error);
}

static bool explain_request(const struct options *options, const struct summary_row *run,
                            const struct run_record *record, struct error *error)
{
    struct explanation *explanation = explanation_build(run, record, options->request, error);
    struct chart chart = {0};
    if (explanation != NULL)
        explanation_chart(explanation, &chart);
    bool good = explanation != NULL && picture_draw(&options->picture, &chart, error);
    if (good && options->json)
        good = explanation_json(explanation, stdout, error);
    else if (good)
        explanation_text(explanation, stdout);
    arena_home_free(explanation);
    return good;
}

static bool explain_print(const struct options *options, const struct results *results,
                          struct error *error)
{
    const bool trains = options->training != NUMBER_NONE;
    const struct summary_row *run = run_choose(results, options, error);
    struct run_record *record =
        run == NULL ? NULL : run_record_load(options->file, run->hash, trains, error);
    const bool good =
        record != NULL &&
        (trains               ? explain_training(options, run, record, error)
         : options->worst > 0 ? explanation_worst(run, record, options->application, options->worst,
                                                  options->json, stdout, error)
                              : explain_request(options, run, record, error));
    arena_home_free(record);
    return good;
}

static bool explain_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {.seed = SEED_ANY, .request = NUMBER_NONE, .training = NUMBER_NONE};
    if (!cli_parse(&command_explain, &argc, argv, &options, error))
        return false;
    options.file = argv[1];
    const int given =
        (options.request != NUMBER_NONE) + (options.training != NUMBER_NONE) + (options.worst > 0);
    options.worst = given == 0 ? 5 : options.worst;
    if (given > 1)
        return error_input(error, "explain: give one of --request, --training and --worst");
    if (options.application != NULL && options.worst == 0)
        return error_input(error, "explain: --application is for --worst");
    if (!options.json)
        text_begin();
    struct results *results = results_load(options.file, error);
    const bool good = results != NULL && explain_print(&options, results, error);
    results_free(results);
    return good;
}

const struct command command_explain = {
    .name = "explain",
    .summary = "explain where the time of one request or training went",
    .help = "The run must have been recorded in full: esgsim run … --set record=all --out F.h5.\n"
            "\n"
            "Example: esgsim explain run.h5 --worst 5, then explain run.h5 --request 1000\n",
    .run = explain_run,
    .operands = "F.h5",
    .options = explain_table,
};
