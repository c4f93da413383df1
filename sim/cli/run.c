/* esgsim run: one simulation. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/replay.h"
#include "results/store.h"
#include "results/timeline.h"
#include "sim/cli/cli.h"
#include "sim/cli/output.h"
#include "sim/cli/runner.h"

enum { OVERRIDES_MAX = 256 };

/* A seed is a number of the experiment, which is JSON: exact up to 2^53. */
#define SEED_MAX (UINT64_C(1) << 53)

struct run_options {
    const char *path;
    const char *out;
    const char *timeline;
    bool json;
    bool rehearse;
    struct rehearsal_options rehearsal;
    struct override overrides[OVERRIDES_MAX];
    size_t override_count;
};

static bool options_add(struct run_options *options, const char *key, const char *value,
                        struct error *error)
{
    if (options->override_count == OVERRIDES_MAX)
        return error_input(error, "run: more than %d settings", OVERRIDES_MAX);
    options->overrides[options->override_count++] = (struct override){key, value};
    return true;
}

static bool options_add_set(struct run_options *options, char *text, struct error *error)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return error_input(
            error, "run: --set wants KEY=VALUE, such as policy.params.k=10, not '%s'", text);
    *equals = '\0';
    return options_add(options, text, equals + 1, error);
}

/* "factor=1.05,cv=0.1": what reality is to have that the model has not. */
static bool rehearsal_parse(struct run_options *options, char *text, struct error *error)
{
    struct rehearsal_options *rehearsal = &options->rehearsal;
    const struct {
        const char *name;
        double low, high;
        double *place;
    } known[] = {{"factor", 0.01, 100, &rehearsal->factor},
                 {"cv", 0, 10, &rehearsal->jitter_cv},
                 {"speedup", 0, 1e6, &rehearsal->speedup}};
    options->rehearse = true;
    rehearsal->factor = 1;
    for (char *rest = text, *part; (part = strsep(&rest, ",")) != NULL;) {
        char *equals = strchr(part, '=');
        size_t k = 0;
        if (equals != NULL)
            *equals = '\0';
        while (k < 3 && strcmp(part, known[k].name) != 0)
            k++;
        if (equals == NULL || k == 3)
            return error_input(error,
                               "run: --rehearse wants factor=, cv= or speedup=, joined by commas, "
                               "such as factor=1.05,cv=0.1, not '%s'",
                               part);
        if (!cli_parse_double("--rehearse", equals + 1, known[k].low, known[k].high, known[k].place,
                              error))
            return false;
    }
    return true;
}

static bool options_take(struct run_options *options, const char *name, char *value,
                         struct error *error)
{
    uint64_t seed;
    if (strcmp(name, "--set") == 0)
        return options_add_set(options, value, error);
    if (strcmp(name, "--seed") == 0)
        return cli_parse_u64(name, value, 0, SEED_MAX, &seed, error) &&
               options_add(options, "seed", value, error);
    if (strcmp(name, "--policy") == 0)
        return options_add(options, "policy.name", value, error);
    if (strcmp(name, "--rehearse") == 0)
        return rehearsal_parse(options, value, error);
    if (strcmp(name, "--timeline") == 0)
        options->timeline = value;
    else
        options->out = value;
    return true;
}

static bool options_parse(int argc, char **argv, struct run_options *options, struct error *error)
{
    static const char *const valued[] = {"--set", "--seed",     "--policy",
                                         "--out", "--timeline", "--rehearse"};
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof valued / sizeof *valued; k++)
            known = known || strcmp(argv[i], valued[k]) == 0;
        if (known) {
            if (i + 1 == argc)
                return error_input(error, "run: %s wants a value", argv[i]);
            if (!options_take(options, argv[i], argv[i + 1], error))
                return false;
            i++;
        } else if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else if (argv[i][0] == '-') {
            return cli_unknown_argument(&command_run, argv[i], error);
        } else if (options->path != NULL) {
            return cli_usage_error(&command_run, "more than one experiment", error);
        } else {
            options->path = argv[i];
        }
    }
    if (options->out != NULL && options->timeline != NULL &&
        strcmp(options->out, options->timeline) == 0)
        return error_input(error, "run: --out and --timeline both name %s; give two files",
                           options->out);
    return options->path != NULL || cli_usage_error(&command_run, "no experiment given", error);
}

/* ---- Progress -------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* A line on a terminal, nothing elsewhere: a single run is short. */
static bool report_progress(void *context, uint64_t finished, uint64_t total)
{
    const bool *show = context;
    if (*show)
        fprintf(stderr, "\r%5.1f %% of %llu requests", 100.0 * (double)finished / (double)total,
                (unsigned long long)total);
    return !interrupted;
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- The run --------------------------------------------------------------------------------- */

/* Where rows go: both, one, or neither; and what batches execute on: NULL, the model. */
struct sinks {
    struct store *store;
    struct timeline *timeline;
    struct rehearsal *rehearsal;
};

static bool run_execute(const struct experiment *experiment, const struct policy *policy,
                        const double *values, const struct sinks *sinks,
                        const struct recorder *recorder, const struct progress *progress,
                        struct simulation_result *result, struct error *error)
{
    if (sinks->rehearsal == NULL)
        return runner_execute(experiment, policy, values, recorder, progress, result, error);
    const struct replay_target target = replay_rehearsal(sinks->rehearsal);
    struct execution execution;
    if (!runner_replay(experiment, policy, values, &target.backend, recorder, progress, result,
                       error))
        return false;
    target.describe(target.backend.context, &execution);
    if (sinks->store == NULL || store_set_execution(sinks->store, &execution, error))
        return true;
    simulation_result_clear(result);
    return false;
}

static bool run_simulate(const struct experiment *experiment, const struct policy *policy,
                         const double *values, const struct sinks *sinks, bool quiet,
                         struct simulation_result *result, struct error *error)
{
    bool show = !quiet && isatty(STDERR_FILENO);
    struct progress progress = {.context = &show, .report = report_progress};
    struct store *store = sinks->store;
    struct recorder pair[2] = {{0}, {0}};
    if (store != NULL) {
        if (!store_begin_experiment(store, experiment, policy, values, error))
            return false;
        pair[0] = store_recorder(store);
    }
    if (sinks->timeline != NULL)
        pair[1] = timeline_recorder(sinks->timeline);
    struct recorder recorder = sinks->timeline != NULL ? recorder_join(pair) : pair[0];
    watch_signals();
    bool ok = run_execute(experiment, policy, values, sinks, &recorder, &progress, result, error);
    if (show)
        fprintf(stderr, "\r%40s\r", "");
    if (ok && store != NULL && !store_end_run(store, result, error)) {
        simulation_result_clear(result);
        ok = false;
    }
    return ok;
}

static bool run_print(const struct run_options *options, const struct experiment *experiment,
                      const struct simulation_result *result, struct error *error)
{
    if (options->json)
        return output_run_json(stdout, experiment, result, error);
    if (options->rehearse)
        printf("rehearsal of a replay: no GPU took part\n");
    output_run_text(stdout, experiment, result);
    if (options->out != NULL)
        printf("results in %s\n", options->out);
    if (options->timeline != NULL)
        printf("timeline in %s: open it in ui.perfetto.dev or chrome://tracing\n",
               options->timeline);
    return true;
}

static bool sinks_open(const struct run_options *options, const struct experiment *experiment,
                       struct sinks *sinks, struct error *error)
{
    if (options->out != NULL && (sinks->store = store_create(options->out, error)) == NULL)
        return false;
    if (options->rehearse &&
        (sinks->rehearsal = rehearsal_create(&options->rehearsal, error)) == NULL)
        return false;
    if (options->timeline == NULL)
        return true;
    sinks->timeline = timeline_create(options->timeline, experiment, error);
    return sinks->timeline != NULL;
}

/* What a run that failed or was interrupted has left: no results, and its timeline up to there. */
static bool sinks_close(struct sinks *sinks, bool simulated, struct error *error)
{
    struct error late = {0};
    bool ok = simulated;
    rehearsal_destroy(sinks->rehearsal);
    if (sinks->store != NULL && simulated)
        ok = store_finish(sinks->store, error);
    else
        store_abandon(sinks->store);
    if (timeline_close(sinks->timeline, &late))
        return ok;
    if (ok)
        *error = late;
    return false;
}

static bool run_experiment(const struct run_options *options, const struct experiment *experiment,
                           bool quiet, struct error *error)
{
    double *values = NULL;
    struct simulation_result result = {0};
    struct sinks sinks = {0};
    const struct policy *policy = runner_policy(experiment, &values, error);
    bool ok = policy != NULL && sinks_open(options, experiment, &sinks, error);
    bool simulated = ok && run_simulate(experiment, policy, values, &sinks, quiet, &result, error);
    ok = sinks_close(&sinks, simulated, error);
    if (ok)
        ok = run_print(options, experiment, &result, error);
    if (simulated)
        simulation_result_clear(&result);
    free(values);
    return ok;
}

static bool run_command(int argc, char **argv, bool quiet, struct error *error)
{
    struct run_options options = {0};
    if (!options_parse(argc, argv, &options, error))
        return false;
    struct experiment *experiment =
        experiment_load(options.path, options.overrides, options.override_count, error);
    if (experiment == NULL)
        return false;
    bool ok = run_experiment(&options, experiment, quiet, error);
    experiment_free(experiment);
    return ok;
}

const struct command command_run = {
    .name = "run",
    .usage = "run EXP.json [--set KEY=VALUE]… [--seed N] [--policy NAME|FILE.so] [--out F.h5] "
             "[--timeline F.json] [--rehearse WHAT] [--json]",
    .summary = "run one simulation and print its figures",
    .help =
        "  --set KEY=VALUE  override any key of the experiment, dotted: policy.params.k=10,\n"
        "                   slo.factor=1.2, cluster.price.vcpu_hour_usd=0.05; the value is JSON "
        "or\n"
        "                   a word; may be given again. sim/README.md has every key and default\n"
        "  --seed N         the seed (default: the experiment's, else 1); the same seed gives\n"
        "                   every policy the same arrivals and noise\n"
        "  --policy P       a policy's name (`esgsim list policies`) or a .so of your own, with "
        "its\n"
        "                   own defaults where it is not the experiment's policy\n"
        "  --out F.h5       write the results: /summary, /applications and, as the experiment's\n"
        "                   \"record\" asks, requests, batches, jobs, containers, decisions and\n"
        "                   timeline\n"
        "  --timeline F.json  write what happened, event by event, as Chrome trace-event JSON:\n"
        "                   ui.perfetto.dev and chrome://tracing open it\n"
        "  --rehearse WHAT  as a replay on a GPU would run (containers warm, no interference but\n"
        "                   the GPU's own), with batches that take what the model says times "
        "WHAT:\n"
        "                   factor=1.05,cv=0.1 for a reality 5 %% off with noise of its own; and\n"
        "                   speedup=10 in real time, ten times as fast (0: as fast as it goes)\n"
        "  --json           print one JSON object; units stand in its keys\n"
        "  --quiet          no progress\n\n"
        "Examples: esgsim run workloads/experiments/strict-light.json --policy edf --seed 7\n"
        "          esgsim run workloads/experiments/strict-light.json --set requests=1000 \\\n"
        "              --set record=all --out run.h5 --timeline run.json\n",
    .run = run_command,
};
