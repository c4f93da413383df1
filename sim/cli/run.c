/* esgsim run: one simulation. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/output.h"
#include "sim/run/guard.h"
#include "sim/run/run_policies.h"
#include "workloads/load/policy_module.h"

/* A seed may be given in an experiment. JSON numbers are exact up to 2^53. */
#define SEED_MAX (UINT64_C(1) << 53)

struct run_options {
    struct policies_request request;
    struct cli_names policies; /* of --policies */
    bool json, details, sanitize, rehearse, quiet;
    struct emulated_options rehearsal;
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
     "cluster.price.vcpu_hour_usd=0.05; the value is JSON or a word. sim/KEYS.md has every key "
     "and default",
     CLI_MEMBER(struct run_options, settings), .repeated = true},
    {"--seed", "N",
     "the seed (default: the experiment's, else 1), of arrivals and noise under every policy",
     .kind = OPTION_TAKE, .take = take_seed},
    {"--policy", "NAME|FILE.c|FILE.so",
     "a policy's name (`esgsim list policies`), or your own, which $CC or cc compiles (.c) or has "
     "compiled (.so); a policy other than the experiment's uses its default parameters",
     CLI_MEMBER(struct run_options, settings), .key = "policy.name"},
    {"--policies", "A,B,…",
     "run several policies on the same arrivals and noise, by name or file, each with parameters "
     "if they follow, as in \"esg headroom=0,fifo\"; one row each",
     CLI_MEMBER(struct run_options, policies), .most = CLI_POLICIES_MAX},
    {"--out", "F.h5",
     "write the results: /summary, /applications and, as the experiment's \"record\" "
     "asks, requests, batches, jobs, containers, decisions and timeline",
     CLI_MEMBER(struct run_options, request.out)},
    {"--timeline", "F.json",
     "write all events as Chrome trace-event JSON, for ui.perfetto.dev or chrome://tracing; of "
     "--policies below each other on one clock, \"esg: cluster\", \"fifo: cluster\"",
     CLI_MEMBER(struct run_options, request.timeline)},
    {"--record-actions", "F.csv",
     "write what the policy does, an action a line; platform_seed then gives another number",
     CLI_MEMBER(struct run_options, request.record_actions)},
    {"--replay-actions", "F.csv",
     "do these in place of a policy, whose code does not run, in the same world and seed",
     CLI_MEMBER(struct run_options, request.replay_actions)},
    {"--swerve", "S",
     "with --record-actions: arrivals and noise after S simulated seconds are of another seed",
     CLI_MEMBER(struct run_options, request.swerve_s), .low = 1e-6, .high = 1e6},
    {"--rehearse", "WHAT",
     "replay on an emulated GPU: containers are warm, and the model's interference is not "
     "applied. WHAT changes the model's batch times: factor=1.05,cv=0.1 makes them 5 % "
     "longer with additional noise; speedup=10 runs in real time, ten times as fast (0: at once)",
     .kind = OPTION_TAKE, .take = take_rehearsal},
    GUARD_OPTION(struct run_options, request.decision_timeout),
    {"--in-process", NULL,
     "execute the run in this process, for debuggers and callgrind, not in a supervised one",
     CLI_MEMBER(struct run_options, request.in_process)},
    {"--sanitize", NULL,
     "compile policies with AddressSanitizer and UBSan, which find wrong accesses and arithmetic",
     CLI_MEMBER(struct run_options, sanitize)},
    {"--details", NULL, "print each application, the bounds and every metric with its meaning",
     CLI_MEMBER(struct run_options, details)},
    {"--json", NULL,
     "print one JSON object, whose keys contain the units; with --policies: {\"policies\": […]}",
     CLI_MEMBER(struct run_options, json)},
    {.name = NULL},
};

static bool options_check(const struct run_options *options, struct error *error)
{
    const bool replays = options->request.replay_actions != NULL;
    for (size_t i = 0; i < options->settings.count; i++) {
        const char *key = options->settings.list[i].key;
        if (options->policies.count > 0 && strcmp(key, "policy.name") == 0)
            return error_input(error, "--policies names the policies; omit --policy and --set "
                                      "policy.name");
        if (replays && strncmp(key, "policy", 6) == 0)
            return error_input(error, "--replay-actions has a policy's actions; omit --policy");
    }
    if ((replays || options->request.record_actions != NULL) &&
        (options->policies.count > 0 || options->rehearse))
        return error_input(error, "actions are of one run, not of --policies or --rehearse");
    if (options->policies.count > 1 && options->rehearse)
        return error_input(error, "--rehearse takes one policy; use --policy");
    for (size_t i = 0; options->request.out != NULL && i < options->policies.count; i++)
        if (strchr(options->policies.list[i], '=') != NULL)
            return error_input(error,
                               "--out keeps policies by name, and \"%s\" has parameters; a "
                               "sweep tells them apart",
                               options->policies.list[i]);
    return true;
}

static bool options_parse(int argc, char **argv, struct run_options *options, struct error *error)
{
    if (!cli_parse(&command_run, &argc, argv, options, error))
        return false;
    options->request.path = argv[1];
    const struct policies_request *request = &options->request;
    const char *const names[] = {"--record-actions", "--out", "--timeline", "--replay-actions",
                                 "the experiment"};
    const char *const files[] = {request->record_actions, request->out, request->timeline,
                                 request->replay_actions, request->path};
    bool good = options_check(options, error);
    for (size_t i = 0; i < 3; i++) /* that are written */
        for (size_t k = i + 1; good && k < 5; k++)
            good = cli_check_output(names[i], files[i], names[k], files[k], error);
    return good;
}

/* ---- Output ---------------------------------------------------------------------------------- */

static bool print_json(const struct run_options *options, const struct policy_run *runs,
                       size_t count, struct error *error)
{
    if (options->policies.count == 0)
        return cli_print_json(policy_run_json(runs), error);
    cJSON *root = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(root, "policies");
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, policy_run_json(&runs[i]));
    return cli_print_json(root, error);
}

static void print_text(const struct run_options *options, const struct policy_run *runs,
                       size_t count)
{
    text_begin();
    if (options->rehearse)
        printf("rehearsal of a replay: no GPU took part\n");
    for (size_t i = 0; options->details && i < count; i++) {
        printf("%s", i > 0 ? "\n" : "");
        policy_run_text(stdout, &runs[i]);
    }
    if (!options->details)
        policy_runs_table(stdout, runs, count);
    if (options->request.out != NULL)
        printf("results in %s\n", options->request.out);
    if (options->request.timeline != NULL)
        printf("timeline in %s: open it in ui.perfetto.dev or chrome://tracing\n",
               options->request.timeline);
}

/* The process of the runs ends here, without main. */
static bool runs_print(void *context, const struct policy_run *runs, size_t count,
                       struct error *error)
{
    const struct run_options *options = context;
    if (!options->quiet) {
        policy_runs_warn(runs, count);
        output_note_warmup(&options->settings, runs[0].run.experiment);
    }
    if (!options->json)
        print_text(options, runs, count);
    else if (!print_json(options, runs, count, error))
        return false;
    return options->request.in_process || output_close(error);
}

/* ---- The command ----------------------------------------------------------------------------- */

static bool run_command(int argc, char **argv, bool quiet, struct error *error)
{
    struct run_options options = {.request = {.show = !quiet && isatty(STDERR_FILENO),
                                              .decision_timeout = GUARD_TIMEOUT_DEFAULT,
                                              .print = runs_print,
                                              .context = &options},
                                  .quiet = quiet};
    struct policies_request *request = &options.request;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--sanitize") == 0 && !policy_module_sanitize(argc, argv, quiet, error))
            return false;
    if (!options_parse(argc, argv, &options, error))
        return false;
    request->overrides = options.settings.list;
    request->override_count = options.settings.count;
    request->policies = options.policies.list;
    request->policy_count = options.policies.count;
    request->rehearsal = options.rehearse ? &options.rehearsal : NULL;
    request->bounds = options.details || options.json;
    return policies_run(request, error);
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
