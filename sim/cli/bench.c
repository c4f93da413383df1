/* esgsim bench: measures the speed of the simulator on this machine (sim/run/benchmarks.h). */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/run/benchmarks.h"

struct options {
    const char *only;
    bool json;
};

/* Prints one line per number: its path of keys and its value. */
static void print_figures(const char *path, const cJSON *item)
{
    char longer[128];
    if (cJSON_IsNumber(item))
        printf("%-40s %14.6g\n", path, item->valuedouble);
    for (const cJSON *child = item->child; child != NULL; child = child->next) {
        (void)snprintf(longer, sizeof longer, "%s%s%s", path, *path != '\0' ? "." : "",
                       child->string);
        print_figures(longer, child);
    }
}

static const struct cli_option bench_table[] = {
    {"--only", "NAME",
     "one benchmark: mm1_jobs_per_s, hold_events_per_s, faas_invocations_per_s, "
     "requests_per_s, decision_us, sweep_efficiency_2_jobs or training_s",
     CLI_MEMBER(struct options, only)},
    {"--json", NULL, "one JSON object", CLI_MEMBER(struct options, json)},
    {.name = NULL},
};

static bool bench_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    if (!cli_parse(&command_bench, &argc, argv, &options, error))
        return false;
    cJSON *result = cJSON_CreateObject();
    bool done = true, found = false;
    for (size_t i = 0; done && i < BENCHMARKS; i++) {
        if (options.only != NULL && strcmp(options.only, benchmarks[i].name) != 0)
            continue;
        found = true;
        if (!quiet)
            (void)fprintf(stderr, "%s: %s\n", benchmarks[i].name, benchmarks[i].summary);
        done = benchmarks[i].run(benchmarks[i].name, result, error);
    }
    if (!found)
        done = error_input(error, "bench: --only: there is no \"%s\"; see esgsim bench --help",
                           options.only);
    if (done && options.json)
        return cli_print_json(result, error);
    if (done)
        print_figures("", result);
    cJSON_Delete(result);
    return done;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "measure the speed of the engine on this machine",
    .help =
        "Rates are medians of 5 runs on one thread, by the monotonic clock. Compared cases run "
        "alternately. All benchmarks take some minutes. Names contain the units; compare on an "
        "idle machine. training_original_s: seconds of the authors' programs with the same "
        "trainings, order and allocation, recorded under Python 3.11 on another machine with two "
        "vCPUs (evidence: secondary, measured elsewhere). Synergy's 54.2 s are 17.7 s without a "
        "deep copy that its simulation does not use; of its 102 s that is not recorded.\n"
        "\n"
        "Example: esgsim bench --only mm1_jobs_per_s --json\n",
    .run = bench_run,
    .options = bench_table,
};
