/* esgsim run: one simulation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/compare/replay.h"
#include "results/store/store.h"
#include "results/inspect/timeline.h"
#include "sim/cli/cli.h"
#include "sim/cli/guard.h"
#include "sim/cli/notices.h"
#include "sim/cli/output.h"
#include "sim/cli/run_once.h"

/* A seed may be given in an experiment. JSON numbers are exact up to 2^53. */
#define SEED_MAX (UINT64_C(1) << 53)

struct run_options {
    const char *path;
    const char *out;
    const char *timeline;
    bool json;
    bool rehearse;
    struct emulated_options rehearsal;
    double decision_timeout;
    struct cli_settings settings;
};

static bool take_set(void *options, const char *name, char *value, struct error *error)
{
    (void)name;
    return cli_settings_add_text(&((struct run_options *)options)->settings, value, error);
}

static bool take_seed(void *options, const char *name, char *value, struct error *error)
{
    uint64_t seed;
    return cli_parse_u64(name, value, 0, SEED_MAX, &seed, error) &&
           cli_settings_add(&((struct run_options *)options)->settings, "seed", value, error);
}

static bool take_policy(void *options, const char *name, char *value, struct error *error)
{
    (void)name;
    return cli_settings_add(&((struct run_options *)options)->settings, "policy.name", value,
                            error);
}

/* Parses "factor=1.05,cv=0.1": how the emulated hardware differs from the model. */
static bool take_rehearsal(void *options, const char *name, char *value, struct error *error)
{
    struct run_options *run = options;
    struct emulated_options *rehearsal = &run->rehearsal;
    const struct {
        const char *name;
        double low, high;
        double *place;
    } known[] = {{"factor", 0.01, 100, &rehearsal->factor},
                 {"cv", 0, 10, &rehearsal->jitter_cv},
                 {"speedup", 0, 1e6, &rehearsal->speedup}};
    run->rehearse = true;
    rehearsal->factor = 1;
    for (char *rest = value, *part; (part = strsep(&rest, ",")) != NULL;) {
        char *equals = strchr(part, '=');
        size_t k = 0;
        if (equals != NULL)
            *equals = '\0';
        while (k < 3 && strcmp(part, known[k].name) != 0)
            k++;
        if (equals == NULL || k == 3)
            return error_input(error,
                               "%s needs factor=, cv= or speedup=, separated by commas, such as "
                               "factor=1.05,cv=0.1, not '%s'",
                               name, part);
        if (!cli_parse_double(name, equals + 1, known[k].low, known[k].high, known[k].place, error))
            return false;
    }
    return true;
}

static const struct cli_option run_table[] = {
    {"--set", "KEY=VALUE",
     "override any key of the experiment, dotted: policy.params.k=10, slo.factor=1.2, "
     "cluster.price.vcpu_hour_usd=0.05; the value is JSON or a word. sim/README.md has "
     "every key and default",
     .kind = OPTION_TAKE, .repeated = true, .take = take_set},
    {"--seed", "N",
     "the seed (default: the experiment's, else 1); the same seed gives every policy the "
     "same arrivals and noise",
     .kind = OPTION_TAKE, .take = take_seed},
    {"--policy", "NAME|FILE.so",
     "a policy's name (`esgsim list policies`) or your own .so; a policy other than the "
     "experiment's uses its default parameters",
     .kind = OPTION_TAKE, .take = take_policy},
    {"--out", "F.h5",
     "write the results: /summary, /applications and, as the experiment's \"record\" "
     "asks, requests, batches, jobs, containers, decisions and timeline",
     CLI_MEMBER(struct run_options, out)},
    {"--timeline", "F.json",
     "write all events as Chrome trace-event JSON, for ui.perfetto.dev or "
     "chrome://tracing",
     CLI_MEMBER(struct run_options, timeline)},
    {"--rehearse", "WHAT",
     "replay on an emulated GPU: containers are warm, and the model's interference is not "
     "applied. WHAT changes the model's batch times: factor=1.05,cv=0.1 makes them 5 % "
     "longer with additional noise; speedup=10 runs in real time, ten times as fast (0: "
     "as fast as possible). See results/PROOF.md",
     .kind = OPTION_TAKE, .take = take_rehearsal},
    GUARD_OPTION(struct run_options, decision_timeout),
    {"--json", NULL, "print one JSON object; its keys contain the units",
     CLI_MEMBER(struct run_options, json)},
    {.name = NULL},
};

static bool options_parse(int argc, char **argv, struct run_options *options, struct error *error)
{
    options->decision_timeout = GUARD_TIMEOUT_DEFAULT;
    if (!cli_parse(&command_run, &argc, argv, options, error))
        return false;
    options->path = argv[1];
    return cli_check_output("--out", options->out, "--timeline", options->timeline, error) &&
           cli_check_output("--out", options->out, "the experiment", options->path, error) &&
           cli_check_output("--timeline", options->timeline, "the experiment", options->path,
                            error);
}

/* ---- Progress -------------------------------------------------------------------------------- */

/* Prints a line on a terminal and nothing elsewhere, because a single run is short. */
static bool report_progress(void *context, uint64_t finished, uint64_t total)
{
    const bool *show = context;
    if (*show)
        fprintf(stderr, "\r%5.1f %% of %llu requests", 100.0 * (double)finished / (double)total,
                (unsigned long long)total);
    return true;
}

/* ---- The run --------------------------------------------------------------------------------- */

/* The destinations of rows, and the backend; NULL: not used. */
struct sinks {
    struct store *store;
    struct timeline *timeline;
    struct emulated *rehearsal;
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
    const int output = guard_divert_output();
    bool ok = run_execute(experiment, policy, values, sinks, &recorder, &progress, result, error);
    guard_restore_output(output);
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
        (sinks->rehearsal = emulated_create(&options->rehearsal, error)) == NULL)
        return false;
    if (options->timeline == NULL)
        return true;
    sinks->timeline = timeline_create(options->timeline, experiment, error);
    return sinks->timeline != NULL;
}

/* Closes both files; a failed run leaves neither. */
static bool sinks_close(struct sinks *sinks, bool good, struct error *error)
{
    emulated_destroy(sinks->rehearsal);
    if (sinks->store != NULL && good)
        good = store_finish(sinks->store, error);
    else
        store_abandon(sinks->store);
    return timeline_close(sinks->timeline, good, error);
}

static bool run_experiment(const struct run_options *options, const struct experiment *experiment,
                           bool quiet, struct error *error)
{
    double *values = NULL;
    struct simulation_result result = {0};
    struct sinks sinks = {0};
    const struct policy *policy = runner_policy(experiment, &values, error);
    guard_watch_callbacks(options->decision_timeout);
    bool ok = policy != NULL && sinks_open(options, experiment, &sinks, error);
    bool simulated = ok && run_simulate(experiment, policy, values, &sinks, quiet, &result, error);
    ok = sinks_close(&sinks, simulated, error);
    if (ok && !quiet) {
        output_warnings(&result);
        notices_print_cold(&result);
        notices_print_warmup(&options->settings, experiment);
    }
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
        experiment_load(options.path, options.settings.list, options.settings.count, error);
    if (experiment == NULL)
        return false;
    bool ok = run_experiment(&options, experiment, quiet, error);
    experiment_free(experiment);
    return ok;
}

const struct command command_run = {
    .name = "run",
    .summary = "run one simulation and print its figures",
    .help = "Examples: esgsim run workloads/experiments/strict-light.json --policy edf --seed 7\n"
            "          esgsim run workloads/experiments/strict-light.json --set requests=1000 \\\n"
            "              --set record=all --out run.h5 --timeline run.json\n",
    .run = run_command,
    .operands = "EXP.json",
    .options = run_table,
};
