/* capture replay: an experiment in real time on this machine's GPU, into a results file. */
#include "traces/capture/replay.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/replay.h"
#include "sim/cli/runner.h"
#include "traces/capture/replay_device.h"
#include "traces/capture/replay_rows.h"

enum { OVERRIDES = 256, DETAILS = 1024 };

static const char usage[] =
    "usage: capture replay EXP.json --out F.h5 [OPTION…]\n"
    "Plays an experiment of one invoker with one GPU in real time on this machine's first GPU: "
    "the\n"
    "product's own queues and policy, batches executed by the networks on green contexts. The\n"
    "results compare with a simulation's: esgsim report F.h5 --against SIMULATED.h5.\n"
    "\n"
    "  --out F.h5       the results\n"
    "  --policy NAME    as in esgsim run\n"
    "  --set KEY=VALUE  likewise\n"
    "  --seed N         likewise\n"
    "  --precision P    fp16 or fp32, as captured (fp16)\n"
    "  --folder DIR     of network files (traces/capture/networks)\n"
    "  --dry-run        check the experiment; print copies, memory, time and capacity\n"
    "  --rehearse       without a GPU: in virtual time, batches take what the model says\n"
    "  --speed X        the same in real time, X times as fast, by all that a GPU's replay does\n"
    "                   but the GPU itself\n"
    "  --sleep          let the controller sleep while it waits, on a machine of few cores\n"
    "  --help\n";

struct replay_options {
    const char *path, *out, *folder;
    struct override overrides[OVERRIDES];
    size_t override_count;
    bool half, dry_run, rehearse, sleep, help;
    double speed; /* 0: virtual time */
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool add_override(struct replay_options *o, const char *key, const char *value,
                         struct error *error)
{
    if (o->override_count == OVERRIDES)
        return error_input(error, "replay: more than %d settings", OVERRIDES);
    o->overrides[o->override_count++] = (struct override){key, value};
    return true;
}

static bool take_set(struct replay_options *o, char *text, struct error *error)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return error_input(error, "replay: --set wants KEY=VALUE, not \"%s\"", text);
    *equals = '\0';
    return add_override(o, text, equals + 1, error);
}

static bool take_speed(struct replay_options *o, const char *text, struct error *error)
{
    char *end = NULL;
    o->speed = strtod(text, &end);
    o->rehearse = true;
    if (end == text || *end != '\0' || !(o->speed >= 1e-3 && o->speed <= 1e6))
        return error_input(error, "replay: --speed is \"%s\", must be a number within 0.001..1e6",
                           text);
    return true;
}

static bool take_precision(struct replay_options *o, const char *text, struct error *error)
{
    o->half = strcmp(text, "fp16") == 0;
    return o->half || strcmp(text, "fp32") == 0 ||
           error_input(error, "replay: --precision is \"%s\", must be fp16 or fp32", text);
}

static bool take_option(struct replay_options *o, int option, char *text, struct error *error)
{
    switch (option) {
    case 'o':
        o->out = text;
        return true;
    case 'f':
        o->folder = text;
        return true;
    case 's':
        return take_set(o, text, error);
    case 'n':
        return add_override(o, "seed", text, error);
    case 'p':
        return add_override(o, "policy.name", text, error);
    case 'P':
        return take_precision(o, text, error);
    case 'x':
        return take_speed(o, text, error);
    case 'd':
        return o->dry_run = true;
    case 'r':
        return o->rehearse = true;
    case 'w':
        return o->sleep = true;
    case 'h':
        return o->help = true;
    default:
        return error_input(error, "replay: unknown option; see capture replay --help");
    }
}

static bool read_options(int argc, char **argv, struct replay_options *o, struct error *error)
{
    static const struct option known[] = {
        {"out", required_argument, NULL, 'o'},    {"folder", required_argument, NULL, 'f'},
        {"set", required_argument, NULL, 's'},    {"seed", required_argument, NULL, 'n'},
        {"policy", required_argument, NULL, 'p'}, {"precision", required_argument, NULL, 'P'},
        {"speed", required_argument, NULL, 'x'},  {"dry-run", no_argument, NULL, 'd'},
        {"rehearse", no_argument, NULL, 'r'},     {"sleep", no_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    *o = (struct replay_options){.folder = "traces/capture/networks", .half = true};
    opterr = 0;
    for (int c = getopt_long(argc, argv, "", known, NULL); c != -1;
         c = getopt_long(argc, argv, "", known, NULL))
        if (!take_option(o, c, optarg, error))
            return false;
    if (o->help)
        return true;
    if (optind + 1 != argc)
        return error_input(error, "replay: one experiment is wanted; see capture replay --help");
    o->path = argv[optind];
    return o->out != NULL || o->dry_run ||
           error_input(error, "replay: --out is missing: where the results go");
}

/* ---- The device ------------------------------------------------------------------------------ */

static bool device_executor_open(struct replay_executor *executor, const struct replay_setup *setup,
                                 struct error *error)
{
    executor->state = replay_device_open(setup, error);
    return executor->state != NULL;
}

static struct pool_runner device_executor_runner(struct replay_executor *executor)
{
    return replay_device_runner(executor->state);
}

static void device_executor_close(struct replay_executor *executor)
{
    replay_device_close(executor->state);
    executor->state = NULL;
}

static struct replay_executor device_executor(void)
{
    return (struct replay_executor){NULL, device_executor_open, device_executor_runner,
                                    device_executor_close};
}

/* ---- The run --------------------------------------------------------------------------------- */

struct replay {
    const struct replay_options *options;
    struct experiment *experiment;
    const struct policy *policy;
    double *values;
    struct replay_setup setup;
    struct replay_backend backend;
    struct replay_device_about about; /* zeroed without a device */
    char details[DETAILS];
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static bool report_progress(void *context, uint64_t finished, uint64_t total)
{
    (void)context;
    (void)finished;
    (void)total;
    return !interrupted;
}

/* Called with the backend's own context; `details` is the replay's that holds it. */
static void describe(void *context, struct execution *execution)
{
    struct replay *replay =
        (struct replay *)(void *)((char *)context - offsetof(struct replay, backend));
    const struct pool_figures figures = pool_figures(replay->backend.pool);
    size_t count = 0;
    (void)pool_rows(replay->backend.pool, &count);
    if (!replay->options->rehearse)
        replay->about = replay_device_about(replay->backend.executor.state);
    (void)snprintf(replay->details, sizeof replay->details,
                   "{\"precision\": \"%s\", \"units\": %d, \"unit_sms\": %d, \"sms\": %d, "
                   "\"lanes\": %zu, \"lanes_s\": %.3f, \"executors_s\": %.3f, "
                   "\"warm_up_s\": %.3f, \"memory_bytes\": %zu, \"together\": %u, "
                   "\"scattered\": %llu, \"hand_over_us_mean\": %.3f, \"hand_over_us_p99\": %.3f, "
                   "\"batch_ms_mean\": %.6f, \"device_ms_mean\": %.6f}",
                   replay->setup.half ? "fp16" : "fp32", replay->setup.units,
                   replay->about.unit_sms, replay->about.sms, replay->setup.set_count,
                   replay->about.lanes_s, replay->about.executors_s, replay->about.warm_up_s,
                   replay->about.bytes, figures.together, (unsigned long long)figures.scattered,
                   figures.hand_over_mean, figures.hand_over_p99, figures.host_ms_mean,
                   replay->options->rehearse ? 0.0 : figures.device_ms_mean);
    *execution = (struct execution){
        .backend = replay->options->rehearse ? "rehearsal" : "green contexts",
        .device = replay->options->rehearse ? "none" : replay->about.name,
        .driver = replay->options->rehearse ? "none" : replay->about.driver,
        .details = replay->details,
        .gpu = !replay->options->rehearse,
        .starts = count,
        .late_us_mean = figures.late_mean,
        .late_us_p99 = figures.late_p99,
        .late_us_max = figures.late_max,
    };
}

static void print_result(const struct replay *replay, const struct simulation_result *result)
{
    const struct measures *m = &result->overall;
    (void)printf("%llu requests: latency mean %.3f, p50 %.3f, p95 %.3f, p99 %.3f ms; SLO hit rate "
                 "%.4f; cost %.9f $ a request\n",
                 (unsigned long long)m->requests, m->latency_ms_mean, m->latency_ms_p50,
                 m->latency_ms_p95, m->latency_ms_p99, m->slo_hit_rate, m->cost_per_request_usd);
    if (replay->backend.pool == NULL)
        return;
    const struct pool_figures f = pool_figures(replay->backend.pool);
    (void)printf("batches late by %.1f us on average, 99 %% within %.1f, at most %.1f; handed over "
                 "in %.1f us, 99 %% within %.1f\n",
                 f.late_mean, f.late_p99, f.late_max, f.hand_over_mean, f.hand_over_p99);
    (void)printf("at most %u at one time; %llu on units that do not lie side by side\n", f.together,
                 (unsigned long long)f.scattered);
    if (!replay->options->rehearse)
        (void)printf("a batch takes %.3f ms by the device, %.3f ms by the host's clock\n",
                     f.device_ms_mean, f.host_ms_mean);
}

static bool play_pool(struct replay *replay, struct simulation_result *result, struct error *error)
{
    const struct replay_options *o = replay->options;
    const struct progress progress = {.report = report_progress};
    size_t count = 0;
    replay->backend = (struct replay_backend){
        .setup = &replay->setup,
        .executor = o->rehearse ? replay_sleeper(&replay->backend.speed) : device_executor(),
        .speed = o->rehearse ? o->speed : 1,
        .spin = !o->rehearse && !o->sleep,
    };
    const struct replay_target target = {.backend = replay_backend(&replay->backend),
                                         .describe = describe};
    if (!replay_write(o->out, replay->experiment, replay->policy, replay->values, &target,
                      &progress, result, error))
        return false;
    const struct pool_row *rows = pool_rows(replay->backend.pool, &count);
    if (replay_rows_write(o->out, replay->experiment->hash, rows, count, error))
        return true;
    simulation_result_clear(result);
    return false;
}

static bool play_virtual(struct replay *replay, struct simulation_result *result,
                         struct error *error)
{
    const struct rehearsal_options options = {0};
    const struct progress progress = {.report = report_progress};
    struct rehearsal *rehearsal = rehearsal_create(&options, error);
    if (rehearsal == NULL)
        return false;
    const struct replay_target target = replay_rehearsal(rehearsal);
    const bool good = replay_write(replay->options->out, replay->experiment, replay->policy,
                                   replay->values, &target, &progress, result, error);
    rehearsal_destroy(rehearsal);
    return good;
}

/* What it will take; refuses what the run itself would. */
static bool print_plan(const struct replay *replay, struct error *error)
{
    struct replay_plan plan;
    replay_setup_print(&replay->setup, stdout);
    if (!replay_setup_fits(&replay->setup, replay->setup.memory_mb * 1048576, error) ||
        !replay_plan(replay->experiment, replay->policy, replay->values, &plan, error))
        return false;
    (void)printf("%s: %.1f s of real time, %llu batches, at most %u at one time\n",
                 replay->experiment->policy_name, plan.seconds, (unsigned long long)plan.batches,
                 plan.together);
    (void)fflush(stdout);
    return true;
}

static bool play(struct replay *replay, struct error *error)
{
    const struct replay_options *o = replay->options;
    struct simulation_result result = {0};
    if (!print_plan(replay, error) || o->dry_run)
        return error->kind == ERROR_NONE;
    const bool good = o->rehearse && o->speed == 0 ? play_virtual(replay, &result, error)
                                                   : play_pool(replay, &result, error);
    if (good) {
        print_result(replay, &result);
        (void)printf("results in %s%s\n", o->out,
                     o->rehearse ? ": a rehearsal, which measures nothing" : "");
        simulation_result_clear(&result);
    }
    if (replay->backend.setup != NULL)
        replay_backend_clear(&replay->backend);
    return good;
}

static bool run(const struct replay_options *o, struct error *error)
{
    struct replay replay = {.options = o};
    if (o->help) {
        (void)fputs(usage, stdout);
        return true;
    }
    replay.experiment = experiment_load(o->path, o->overrides, o->override_count, error);
    if (replay.experiment == NULL)
        return false;
    replay.policy = runner_policy(replay.experiment, &replay.values, error);
    bool good = replay.policy != NULL &&
                replay_setup_make(replay.experiment, o->folder, o->half, &replay.setup, error);
    if (good) {
        good = play(&replay, error);
        replay_setup_clear(&replay.setup);
    }
    free(replay.values);
    experiment_free(replay.experiment);
    return good;
}

int replay_command(int argc, char **argv)
{
    struct replay_options options;
    struct error error = {0};
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (read_options(argc, argv, &options, &error) && run(&options, &error))
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
