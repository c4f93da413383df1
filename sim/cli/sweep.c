#include <string.h>
#include <wordexp.h>

#include "sim/base/arena.h"
#include "sim/run/sweep_runner.h"
#include "sim/cli/cli.h"
#include "sim/run/guard.h"
#include "sim/cli/output.h"
#include "sim/run/worker_pool.h"
#include "sim/base/text.h"
#include "sim/base/utf8.h"
#include "workloads/sweep/sweep.h"

struct options {
    struct sweep_runner_options sweep_runner;
    struct cli_settings settings;
};

/* ---- Options ------------------------------------------------------------------------------- */

/* Parses "I/N", 1 <= I <= N. */
static bool take_shard(void *options, const char *name, char *value, struct error *error)
{
    enum { SHARDS_LIMIT = 100000 };
    struct sweep_runner_options *sweep_runner = &((struct options *)options)->sweep_runner;
    char *slash = strchr(value, '/');
    if (slash == NULL)
        return error_input(error, "--shard: wants I/N, such as 2/8, not '%.80s'", value);
    *slash = '\0';
    return cli_parse_u64("--shard I/N", slash + 1, 1, SHARDS_LIMIT, &sweep_runner->shards, error) &&
           cli_parse_u64("--shard I/N", value, 1, sweep_runner->shards, &sweep_runner->shard,
                         error);
}

static const struct cli_option sweep_table[] = {
    {"--out", "F.h5", "the results file; it gets its name when the sweep is finished",
     CLI_MEMBER(struct options, sweep_runner.out)},
    {"--jobs", "N", "worker processes at a time (default: the machine's cores)",
     CLI_MEMBER(struct options, sweep_runner.jobs), .least = 1, .most = 1024},
    {"--shard", "I/N", "the I-th of N parts of the sweep; `esgsim merge` joins their files",
     .kind = OPTION_TAKE, .take = take_shard},
    {"--resume", NULL,
     "continue after an interruption, or with an edited policy or more seeds, policies or "
     "settings: finished runs with the same identity are kept, and the reason for running others "
     "again is printed; starts if there are none",
     CLI_MEMBER(struct options, sweep_runner.resume)},
    {"--restart", NULL, "start again, and discard the finished runs in F.h5.runs",
     CLI_MEMBER(struct options, sweep_runner.restart)},
    {"--dry-run", NULL,
     "check everything, count the runs, and estimate time and memory from short parts of runs; "
     "F.h5 is not written and may be omitted",
     CLI_MEMBER(struct options, sweep_runner.dry_run)},
    {"--details", NULL, "with --dry-run: also list each run",
     CLI_MEMBER(struct options, sweep_runner.details)},
    GUARD_OPTION(struct options, sweep_runner.decision_timeout),
    {"--set", "KEY=VALUE", "change a key of the base experiment, e.g. requests=1000",
     CLI_MEMBER(struct options, settings), .repeated = true},
    {.name = NULL},
};

/* By the first run's experiment: what --set changes is the same in all that it reaches. */
static void note_settings(const struct options *options, const struct sweep *sweep)
{
    struct experiment *experiment = sweep_experiment(sweep, 0, NULL);
    if (experiment != NULL && !options->sweep_runner.quiet)
        output_note_warmup(&options->settings, experiment);
    if (sweep->kept[0] != '\0' && !options->sweep_runner.quiet)
        (void)fprintf(text_messages(), "esgsim: note: --set does not reach %s\n", sweep->kept);
    experiment_free(experiment);
}

/* Appends the text as one word of a shell. */
static void word_add(struct arena *arena, char **command, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._-+=/:,@%";
    const bool bare = text[0] != '\0' && text[strspn(text, plain)] == '\0';
    arena_append(arena, command, "%s", bare ? text : "'");
    for (; !bare && *text != '\0'; text++)
        arena_append(arena, command, "%s%c", *text == '\'' ? "'\\'" : "", *text);
    arena_append(arena, command, "%s", bare ? "" : "'");
}

/* The command that repeats the sweep, but for its --out. NULL: no line of text. */
static char *command_text(struct arena *arena, const char *path,
                          const struct cli_settings *settings)
{
    char *text = arena_text(arena, "esgsim sweep ");
    word_add(arena, &text, path);
    for (size_t i = 0; i < settings->count; i++) {
        const struct override *set = &settings->list[i];
        arena_append(arena, &text, " --set ");
        word_add(arena, &text, arena_text(arena, "%s=%s", set->key, set->value));
    }
    return utf8_is_name(text) ? text : NULL;
}

static bool sweep_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {.sweep_runner = {.shard = 1,
                                               .shards = 1,
                                               .hold_ms = WORKER_POOL_HOLD_MS,
                                               .decision_timeout = GUARD_TIMEOUT_DEFAULT,
                                               .quiet = quiet}};
    if (!cli_parse(&command_sweep, &argc, argv, &options, error) ||
        !cli_check_output("--out", options.sweep_runner.out, "the sweep", argv[1], error))
        return false;
    if (options.sweep_runner.details && !options.sweep_runner.dry_run)
        return cli_usage_error(&command_sweep, error, "--details is an option of --dry-run");
    if (options.sweep_runner.out == NULL && !options.sweep_runner.dry_run)
        return cli_usage_error(&command_sweep, error, "--out F.h5 is missing");
    if (options.sweep_runner.resume && options.sweep_runner.restart)
        return cli_usage_error(&command_sweep, error,
                               "--resume keeps what --restart discards; give one");
    struct sweep *sweep = sweep_load(argv[1], options.settings.list, options.settings.count, error);
    if (sweep != NULL && options.settings.count > 0)
        note_settings(&options, sweep);
    struct arena *arena = arena_create();
    options.sweep_runner.command = command_text(arena, argv[1], &options.settings);
    const bool good = sweep != NULL && sweep_runner_run(sweep, &options.sweep_runner, error);
    arena_destroy(arena);
    sweep_free(sweep);
    return good;
}

bool cli_sweep_again(const char *command, char *setting, const char *out, bool quiet,
                     struct error *error)
{
    wordexp_t words = {.we_wordc = 0};
    bool good = command != NULL && wordexp(command, &words, WRDE_NOCMD | WRDE_UNDEF) == 0 &&
                words.we_wordc > 2 && strcmp(words.we_wordv[1], command_sweep.name) == 0;
    if (good) {
        const size_t count = words.we_wordc - 1;
        char *further[] = {"--set", setting, "--resume", "--out", (char *)(uintptr_t)out};
        char *argv[count + sizeof further / sizeof *further];
        memcpy(argv, words.we_wordv + 1, count * sizeof *argv);
        memcpy(argv + count, further, sizeof further);
        guard_divert_output();
        good = sweep_run((int)(sizeof argv / sizeof *argv), argv, quiet, error);
        (void)guard_restore_output();
    }
    wordfree(&words);
    return good;
}

const struct command command_sweep = {
    .name = "sweep",
    .summary = "run every combination of a sweep with every seed, in parallel processes",
    .help =
        "The tables are the same, byte for byte, for any number of jobs, shards and "
        "interruptions. A failed run is reported and listed in the table /missing; --resume runs "
        "it again. Ctrl-C keeps the finished runs. Only one seed is run if nothing random is "
        "drawn. Until the sweep is finished, the folder F.h5.runs has the finished runs; if it "
        "exists, --resume or --restart is required. An older F.h5 is replaced only by complete "
        "results, or by more runs of the same sweep.\n"
        "\n"
        "With \"precision\": {\"metric\": \"slo_hit_rate\", \"half_width\": 0.01, \"max_seeds\": "
        "50} in the sweep, each combination is run with more seeds until the 95 % interval of "
        "the metric's mean is that narrow; \"seeds\" (default 10) is the least number.\n"
        "\n"
        "\"bounds\": true in the sweep computes upper bounds for any policy, once per setting "
        "and seed.\n"
        "\n"
        "Examples: esgsim sweep workloads/experiments/paper.json --dry-run\n"
        "          esgsim sweep workloads/experiments/paper.json --out paper.h5\n"
        "          esgsim sweep paper.json --shard 2/8 --resume --out part2.h5\n",
    .run = sweep_run,
    .operands = "SWEEP.json",
    .options = sweep_table,
};
