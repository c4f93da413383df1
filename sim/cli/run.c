/* esgsim run: one simulation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/run/replay.h"
#include "results/inspect/timeline.h"
#include "results/store/store.h"
#include "sim/cli/cli.h"
#include "sim/run/guard.h"
#include "sim/cli/output.h"
#include "sim/run/run_once.h"
#include "sim/run/worker_pool.h"
#include "sim/base/atomic_file.h"
#include "sim/base/text.h"
#include "workloads/load/inputs.h"
#include "workloads/load/policy_module.h"

/* A seed may be given in an experiment. JSON numbers are exact up to 2^53. */
#define SEED_MAX (UINT64_C(1) << 53)

struct run_options {
    struct inputs *inputs; /* the files that are read */
    const char *path;
    const char *out;
    const char *timeline;
    struct cli_names policies; /* of --policies */
    bool json, details, in_process, sanitize, rehearse, quiet;
    struct emulated_options rehearsal;
    double decision_timeout;
    struct cli_settings settings;
};

static bool take_seed(void *options, const char *name, char *value, struct error *error)
{
    uint64_t seed;
    return cli_parse_u64(name, value, 0, SEED_MAX, &seed, error) &&
           cli_settings_add(&((struct run_options *)options)->settings, "seed", value, error);
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
     "override any key of the experiment, in dotted form: policy.params.k=10, slo.factor=1.2, "
     "cluster.price.vcpu_hour_usd=0.05; the value is JSON or a word. sim/README.md has every key "
     "and default",
     CLI_MEMBER(struct run_options, settings), .repeated = true},
    {"--seed", "N",
     "the seed (default: the experiment's, else 1); the same seed gives every policy the "
     "same arrivals and noise",
     .kind = OPTION_TAKE, .take = take_seed},
    {"--policy", "NAME|FILE.c|FILE.so",
     "a policy's name (`esgsim list policies`), or your own, which $CC or cc compiles (.c) or has "
     "compiled (.so); a policy other than the experiment's uses its default parameters",
     CLI_MEMBER(struct run_options, settings), .key = "policy.name"},
    {"--policies", "A,B,…",
     "run several policies, by name or file, on the same arrivals and noise; one row each",
     CLI_MEMBER(struct run_options, policies), .most = CLI_POLICIES_MAX},
    {"--out", "F.h5",
     "write the results: /summary, /applications and, as the experiment's \"record\" "
     "asks, requests, batches, jobs, containers, decisions and timeline",
     CLI_MEMBER(struct run_options, out)},
    {"--timeline", "F.json",
     "write all events as Chrome trace-event JSON, for ui.perfetto.dev or chrome://tracing; of "
     "--policies below each other on one clock, \"esg: cluster\", \"fifo: cluster\"",
     CLI_MEMBER(struct run_options, timeline)},
    {"--rehearse", "WHAT",
     "replay on an emulated GPU: containers are warm, and the model's interference is not "
     "applied. WHAT changes the model's batch times: factor=1.05,cv=0.1 makes them 5 % "
     "longer with additional noise; speedup=10 runs in real time, ten times as fast (0: "
     "as fast as possible). See results/PROOF.md",
     .kind = OPTION_TAKE, .take = take_rehearsal},
    GUARD_OPTION(struct run_options, decision_timeout),
    {"--in-process", NULL,
     "execute the run in this process, for debuggers and callgrind; by default a second process "
     "executes it, and this one supervises the policy",
     CLI_MEMBER(struct run_options, in_process)},
    {"--sanitize", NULL,
     "compile policies with AddressSanitizer and UBSan, which find wrong accesses and arithmetic",
     CLI_MEMBER(struct run_options, sanitize)},
    {"--details", NULL, "print each application, the bounds and every metric with its meaning",
     CLI_MEMBER(struct run_options, details)},
    {"--json", NULL,
     "print one JSON object; its keys contain the units. With --policies: {\"policies\": "
     "[…]}, one such object per policy",
     CLI_MEMBER(struct run_options, json)},
    {.name = NULL},
};

/* Checks what --policies excludes. */
static bool options_check(const struct run_options *options, struct error *error)
{
    for (size_t i = 0; i < options->settings.count && options->policies.count > 0; i++)
        if (strcmp(options->settings.list[i].key, "policy.name") == 0)
            return error_input(error, "--policies names the policies; omit --policy and --set "
                                      "policy.name");
    if (options->policies.count > 1 && options->rehearse)
        return error_input(error, "--rehearse takes one policy; use --policy");
    return true;
}

static bool options_parse(int argc, char **argv, struct run_options *options, struct error *error)
{
    options->decision_timeout = GUARD_TIMEOUT_DEFAULT;
    if (!cli_parse(&command_run, &argc, argv, options, error))
        return false;
    options->path = argv[1];
    return options_check(options, error) &&
           cli_check_output("--out", options->out, "--timeline", options->timeline, error) &&
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

/* One policy's run. */
struct policy_run {
    struct resolved_run run;
    struct simulation_result result;
};

/* The destinations of rows, and the backend; NULL: not used. */
struct sinks {
    struct store *store;
    struct timeline *timeline;
    struct emulated *rehearsal;
};

static bool run_simulate(struct policy_run *run, size_t position, const struct sinks *sinks,
                         bool bounds, bool show, struct error *error)
{
    const struct progress progress = {.context = &show, .report = report_progress};
    struct run_recording recording = {
        .store = sinks->store, .position = position, .progress = &progress, .bounds = bounds};
    struct recorder timeline;
    struct replay_target target;
    if (sinks->timeline != NULL) {
        if (!timeline_run(sinks->timeline, position, &timeline, error))
            return false;
        recording.also = &timeline;
    }
    if (sinks->rehearsal != NULL) {
        target = replay_rehearsal(sinks->rehearsal);
        recording.target = &target;
    }
    const bool good = resolved_run_record(&run->run, &recording, &run->result, error);
    if (show)
        fprintf(stderr, "\r%40s\r", "");
    return good;
}

static bool sinks_open(const struct run_options *options,
                       const struct experiment *const *experiments, size_t count,
                       struct sinks *sinks, struct error *error)
{
    if (options->out != NULL && (sinks->store = store_create(options->out, error)) == NULL)
        return false;
    if (options->rehearse &&
        (sinks->rehearsal = emulated_create(&options->rehearsal, error)) == NULL)
        return false;
    if (options->timeline == NULL)
        return true;
    sinks->timeline = timeline_create(options->timeline, experiments, count, error);
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

/* ---- Output ---------------------------------------------------------------------------------- */

static bool print_json(const struct run_options *options, const struct output_run *runs,
                       size_t count, struct error *error)
{
    if (options->policies.count == 0)
        return cli_print_json(output_run_json(runs), error);
    cJSON *root = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(root, "policies");
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, output_run_json(&runs[i]));
    return cli_print_json(root, error);
}

static bool runs_print(const struct run_options *options, const struct policy_run *runs,
                       size_t count, struct error *error)
{
    struct output_run shown[CLI_POLICIES_MAX];
    for (size_t i = 0; i < count; i++) {
        shown[i] = (struct output_run){runs[i].run.experiment, &runs[i].result};
        if (!options->quiet)
            output_note_cold(&runs[i].result);
    }
    if (!options->quiet) {
        output_warnings(shown, count);
        output_note_warmup(&options->settings, runs[0].run.experiment);
    }
    if (options->json)
        return print_json(options, shown, count, error);
    text_begin();
    if (options->rehearse)
        printf("rehearsal of a replay: no GPU took part\n");
    for (size_t i = 0; options->details && i < count; i++) {
        printf("%s", i > 0 ? "\n" : "");
        output_run_text(stdout, &shown[i]);
    }
    if (!options->details)
        output_table_text(stdout, shown, count);
    if (options->out != NULL)
        printf("results in %s\n", options->out);
    if (options->timeline != NULL)
        printf("timeline in %s: open it in ui.perfetto.dev or chrome://tracing\n",
               options->timeline);
    return true;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Loads the experiment once per policy, so that a wrong name is refused before the first run. */
static bool runs_load(struct run_options *options, struct policy_run *runs, size_t count,
                      struct error *error)
{
    struct cli_settings *settings = &options->settings;
    for (size_t i = 0; i < count; i++) {
        const size_t kept = settings->count;
        if (options->policies.count > 0 &&
            !cli_settings_add(settings, "policy.name", options->policies.list[i], error))
            return false;
        const bool good = resolved_run_load(&runs[i].run, options->inputs, options->path,
                                            settings->list, settings->count, error);
        settings->count = kept;
        if (!good)
            return false;
    }
    return inputs_spare(options->inputs, "--out", options->out, error) &&
           inputs_spare(options->inputs, "--timeline", options->timeline, error);
}

/* The bounds do not depend on the policy, unless users of a closed process wait for it. */
static bool run_asks_bounds(const struct run_options *options, const struct policy_run *runs,
                            size_t run)
{
    return options->details || options->json ||
           (options->policies.count > 0 &&
            (run == 0 || runs[run].run.experiment->arrivals.process == ARRIVAL_CLOSED));
}

static bool runs_simulate(const struct run_options *options, struct policy_run *runs, size_t count,
                          struct error *error)
{
    const bool show = !options->quiet && isatty(STDERR_FILENO);
    const struct experiment *experiments[CLI_POLICIES_MAX];
    struct sinks sinks = {0};
    for (size_t i = 0; i < count; i++)
        experiments[i] = runs[i].run.experiment;
    bool good = sinks_open(options, experiments, count, &sinks, error);
    for (size_t i = 0; good && i < count; i++)
        good = run_simulate(&runs[i], i, &sinks, run_asks_bounds(options, runs, i), show, error);
    return sinks_close(&sinks, good, error);
}

static bool run_work(struct run_options *options, struct error *error)
{
    struct policy_run runs[CLI_POLICIES_MAX] = {0};
    const size_t count = options->policies.count > 0 ? options->policies.count : 1;
    options->inputs = inputs_create(error);
    bool good = options->inputs != NULL && runs_load(options, runs, count, error) &&
                runs_simulate(options, runs, count, error);
    if (!guard_restore_output() && good)
        good = error_run(error, "standard output has been closed, by a policy perhaps");
    good = good && runs_print(options, runs, count, error);
    for (size_t i = 0; i < count; i++) {
        simulation_result_clear(&runs[i].result);
        resolved_run_clear(&runs[i].run);
    }
    inputs_free(options->inputs);
    return good;
}

static enum worker_pool_outcome work(void *context, size_t job, uint64_t *place,
                                     struct error *error)
{
    *place = job; /* the only one */
    const bool good = run_work(context, error) && output_close(error);
    return good ? WORKER_POOL_HELD : WORKER_POOL_FAILED;
}

static bool collect(void *context, size_t job, uint64_t place, const struct error *failure,
                    struct error *error)
{
    (void)context, (void)job, (void)place;
    if (failure != NULL)
        *error = *failure;
    return failure == NULL;
}

/* Removes what a process that was killed has left of an unfinished file. */
static void output_tidy(const char *path)
{
    struct atomic_file file;
    if (path != NULL && atomic_file_begin(&file, path, NULL))
        (void)atomic_file_end(&file, false, NULL);
}

/* Compiles the policies of the command line here: a process that is killed removes no module. */
static bool modules_make(const struct run_options *options, struct error *error)
{
    char file[POLICY_MODULE_PATH];
    bool good = true;
    for (size_t i = 0; good && i < options->policies.count; i++)
        good = policy_module_file(options->policies.list[i], file, error);
    for (size_t i = 0; good && i < options->settings.count; i++)
        good = strcmp(options->settings.list[i].key, "policy.name") != 0 ||
               policy_module_file(options->settings.list[i].value, file, error);
    return good;
}

static bool run_command(int argc, char **argv, bool quiet, struct error *error)
{
    struct run_options options = {.quiet = quiet};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--sanitize") == 0 && !policy_module_sanitize(argc, argv, quiet, error))
            return false;
    if (!options_parse(argc, argv, &options, error))
        return false;
    guard_divert_output();
    if (!modules_make(&options, error))
        return false;
    if (options.in_process) {
        guard_watch_callbacks(options.decision_timeout);
        return run_work(&options, error);
    }
    const struct worker_pool worker_pool = {.jobs = 1,
                                            .workers = 1,
                                            .stops = true,
                                            .stop = guard_defer_stop("interrupted"),
                                            .callback_s = options.decision_timeout,
                                            .context = &options,
                                            .work = work,
                                            .collect = collect};
    if (worker_pool_run(&worker_pool, error))
        return true;
    output_tidy(options.out);
    output_tidy(options.timeline);
    return false;
}

const struct command command_run = {
    .name = "run",
    .summary = "run one simulation and print its metrics",
    .help = "Prints one row per policy: SLO hits, cost in $ per 1,000 requests, 99th percentile "
            "of latency, cost per 1,000 hits, SLO hits of the worst application, the shares of "
            "GPUs and vCPUs held, mean batch, and mean decision time. --policies adds the row "
            "\"bound\": an upper bound of the hits on this cluster, and the cost of the cheapest "
            "paths whose nominal time meets the SLO. Missed requests can cost less. Bounds need "
            "time and memory; --details and --json also compute them.\n"
            "\n"
            "Examples: esgsim run workloads/experiments/strict-light.json --policy edf --seed 7\n"
            "          esgsim run workloads/experiments/strict-light.json --policies "
            "esg,fifo,edf\n"
            "          esgsim run workloads/experiments/strict-light.json --set requests=1000 "
            "--set record=all --out run.h5 --timeline run.json\n",
    .run = run_command,
    .operands = "EXP.json",
    .options = run_table,
};
