#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/campaign.h"
#include "sim/cli/cli.h"
#include "workloads/experiment.h"

struct options {
    const char *file;
    struct campaign_options campaign;
    struct override *overrides; /* keys owned, values within argv */
    size_t override_count;
};

/* ---- Options ------------------------------------------------------------------------------- */

static bool option_set(const char *text, struct options *options, struct error *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return error_input(error, "--set %s: should be KEY=VALUE, e.g. requests=1000", text);
    char *key = strndup(text, (size_t)(equals - text));
    if (key == NULL)
        return error_run(error, "out of memory for the options");
    options->overrides[options->override_count++] = (struct override){key, equals + 1};
    return true;
}

/* "I/N", 1 <= I <= N. */
static bool option_shard(const char *text, struct campaign_options *options, struct error *error)
{
    enum { SHARDS_LIMIT = 100000 };
    const char *slash = strchr(text, '/');
    char number[24] = "";
    if (slash != NULL && (size_t)(slash - text) < sizeof number)
        (void)snprintf(number, sizeof number, "%.*s", (int)(slash - text), text);
    if (slash == NULL)
        return error_input(error, "--shard %s: should be I/N, e.g. 2/8", text);
    return cli_parse_u64("--shard I/N", slash + 1, 1, SHARDS_LIMIT, &options->shards, error) &&
           cli_parse_u64("--shard I/N", number, 1, options->shards, &options->shard, error);
}

static bool option_parse(const char *name, const char *value, struct options *options,
                         struct error *error)
{
    if (strcmp(name, "--out") == 0) {
        options->campaign.out = value;
        return true;
    }
    if (strcmp(name, "--jobs") == 0)
        return cli_parse_u64(name, value, 1, 1024, &options->campaign.jobs, error);
    if (strcmp(name, "--shard") == 0)
        return option_shard(value, &options->campaign, error);
    return option_set(value, options, error);
}

static bool takes_value(const char *name)
{
    static const char *const names[] = {"--out", "--jobs", "--shard", "--set"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    options->campaign.jobs = cores < 1 ? 1 : (uint64_t)cores;
    options->campaign.shard = options->campaign.shards = 1;
    options->overrides = calloc((size_t)argc + 1, sizeof *options->overrides);
    if (options->overrides == NULL)
        return error_run(error, "out of memory for the options");
    for (int i = 1; i < argc; i++) {
        bool known = takes_value(argv[i]);
        if (known && i + 1 == argc)
            return cli_usage_error(&command_sweep, "an option lacks its value", error);
        if (known) {
            if (!option_parse(argv[i], argv[i + 1], options, error))
                return false;
            i++;
        } else if (strcmp(argv[i], "--resume") == 0) {
            options->campaign.resume = true;
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return cli_unknown_argument(&command_sweep, argv[i], error);
        } else if (options->file != NULL) {
            return cli_usage_error(&command_sweep, "one sweep at a time", error);
        } else {
            options->file = argv[i];
        }
    }
    if (options->file == NULL)
        return cli_usage_error(&command_sweep, "a sweep file is missing", error);
    return options->campaign.out != NULL ||
           cli_usage_error(&command_sweep, "--out F.h5 is missing", error);
}

static void options_clear(struct options *options)
{
    for (size_t i = 0; i < options->override_count; i++)
        free((char *)options->overrides[i].key);
    free(options->overrides);
}

static bool command_run_sweep(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    struct sweep *sweep = NULL;
    bool good = options_parse(argc, argv, &options, error);
    if (good)
        sweep = sweep_load(options.file, options.overrides, options.override_count, error);
    options.campaign.quiet = quiet;
    good = sweep != NULL && campaign_run(sweep, &options.campaign, error);
    if (sweep != NULL)
        sweep_free(sweep);
    options_clear(&options);
    return good;
}

const struct command command_sweep = {
    "sweep", "sweep SWEEP.json --out F.h5 [--jobs N] [--shard I/N] [--resume] [--set KEY=VALUE]...",
    "every combination x seed, in parallel worker processes",
    "  --out F.h5       where the results go; written beside, named when finished\n"
    "  --jobs N         worker processes at a time (default: the machine's cores)\n"
    "  --shard I/N      the I-th of N parts of the sweep; `esgsim merge` joins their files\n"
    "  --resume         go on after an interruption of any kind: runs that had finished are not\n"
    "                   run again; without any, begins\n"
    "  --set KEY=VALUE  change a key of the base experiment, e.g. requests=1000\n"
    "\n"
    "The tables are the same, byte for byte, for any number of jobs, shards and interruptions. A\n"
    "run that fails is told and left out, and --resume runs it again; Ctrl-C keeps what is\n"
    "finished. Until all is done, F.h5.journal holds the finished runs: keep it to go on.\n"
    "\n"
    "With \"precision\": {\"metric\": \"slo_hit_rate\", \"half_width\": 0.01, \"max_seeds\": 50} "
    "in the\n"
    "sweep, each combination is run with more seeds until the 95 % interval of the metric's mean\n"
    "is that narrow; \"seeds\" (default 10) is how many it has at least.\n"
    "\n"
    "Examples: esgsim sweep workloads/experiments/paper.json --out paper.h5\n"
    "          esgsim sweep paper.json --shard 2/8 --resume --out part2.h5\n",
    command_run_sweep};
