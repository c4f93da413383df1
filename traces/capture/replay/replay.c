/* capture replay: runs an experiment in real time on this machine's GPU and writes a
 * results file. */
#include "traces/capture/replay/replay.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/compare/replay.h"
#include "sim/cli/run_once.h"
#include "traces/capture/replay/replay_device.h"
#include "traces/capture/replay/replay_rows.h"

enum { OVERRIDES = 256, DETAILS = 1024, PATHS = 16, POLICIES = 16 };

static const char usage[] =
    "usage: capture replay EXP.json --out F.h5 [OPTION…]\n"
    "Plays an experiment of one invoker with one GPU in real time on this machine's first GPU: "
    "the\n"
    "product's own queues and policy, batches executed by the networks on green contexts. The\n"
    "results compare with a simulation's: esgsim report SIMULATED.h5 --against F.h5.\n"
    "\n"
    "  --out F.h5       the results\n"
    "  --policy NAME    as in esgsim run\n"
    "  --set KEY=VALUE  likewise\n"
    "  --seed N         likewise\n"
    "  --precision P    fp16 or fp32, as captured (fp16)\n"
    "  --sets S         of units on which batches execute: side-by-side, all, or auto: all unless\n"
    "                   their streams wait for each other (auto)\n"
    "  --folder DIR     of network files (traces/networks)\n"
    "  --dry-run        check the experiment; print copies, memory, time and capacity\n"
    "  --rehearse       without a GPU: in virtual time, batches take what the model says\n"
    "  --speed X        the same in real time, X times as fast, by all that a GPU's replay does\n"
    "                   but the GPU itself\n"
    "  --sleep          let the controller sleep while it waits, on a machine of few cores\n"
    "  --help\n";

struct replay_options {
    const char *out, *folder;
    const char *paths[PATHS];
    const char *policies[POLICIES]; /* a single NULL: the experiment's policies */
    size_t path_count, policy_count;
    struct override overrides[OVERRIDES]; /* one entry is reserved for the policy */
    size_t override_count;
    bool half, dry_run, rehearse, sleep, help;
    double speed; /* 0: virtual time */
    enum replay_sets sets;
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool add_override(struct replay_options *o, const char *key, const char *value,
                         struct error *error)
{
    if (o->override_count + 1 == OVERRIDES)
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

static bool take_sets(struct replay_options *o, const char *text, struct error *error)
{
    static const char *const names[] = {"auto", "all", "side-by-side"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            o->sets = (enum replay_sets)i;
            return true;
        }
    return error_input(error, "replay: --sets is \"%s\", must be auto, all or side-by-side", text);
}

static bool take_policies(struct replay_options *o, char *text, struct error *error)
{
    for (char *name = strsep(&text, ","); name != NULL; name = strsep(&text, ",")) {
        if (o->policy_count == POLICIES)
            return error_input(error, "replay: more than %d policies", POLICIES);
        o->policies[o->policy_count++] = name;
    }
    return true;
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
        return take_policies(o, text, error);
    case 'P':
        return take_precision(o, text, error);
    case 'S':
        return take_sets(o, text, error);
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
        {"out", required_argument, NULL, 'o'},
        {"folder", required_argument, NULL, 'f'},
        {"set", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'n'},
        {"policy", required_argument, NULL, 'p'},
        {"precision", required_argument, NULL, 'P'},
        {"speed", required_argument, NULL, 'x'},
        {"dry-run", no_argument, NULL, 'd'},
        {"rehearse", no_argument, NULL, 'r'},
        {"sleep", no_argument, NULL, 'w'},
        {"sets", required_argument, NULL, 'S'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *o = (struct replay_options){.folder = "traces/networks", .half = true};
    opterr = 0;
    for (int c = getopt_long(argc, argv, "", known, NULL); c != -1;
         c = getopt_long(argc, argv, "", known, NULL))
        if (!take_option(o, c, optarg, error))
            return false;
    if (o->help)
        return true;
    if (optind == argc || argc - optind > PATHS)
        return error_input(error, "replay: 1..%d experiments are wanted; see capture replay --help",
                           PATHS);
    while (optind < argc)
        o->paths[o->path_count++] = argv[optind++];
    if (o->policy_count == 0)
        o->policies[o->policy_count++] = NULL;
    return o->out != NULL || o->dry_run ||
           error_input(error, "replay: --out is missing: where the results go");
}

/* ---- The device ------------------------------------------------------------------------------ */

static bool device_executor_open(struct replay_executor *executor, const struct replay_setup *setup,
                                 struct error *error)
{
    executor->state = replay_device_open(setup, executor->which, error);
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
    return (struct replay_executor){.open = device_executor_open,
                                    .runner = device_executor_runner,
                                    .close = device_executor_close};
}

/* ---- One run --------------------------------------------------------------------------------- */

/* A run of one experiment with one policy. */
struct run {
    struct experiment *experiment;
    const struct policy *policy;
    double *values;
};

/* Rows of a run. They outlive its pool. */
struct kept_rows {
    char hash[17];
    struct pool_row *rows;
    size_t count;
};

struct session {
    struct replay_options *options;
    struct replay_setup setup;
    struct replay_backend backend;
    struct replay_device_about about; /* zero without a device */
    struct store *store;
    struct kept_rows kept[PATHS * POLICIES];
    size_t kept_count;
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

static void run_clear(struct run *run)
{
    free(run->values);
    experiment_free(run->experiment);
    *run = (struct run){.experiment = NULL};
}

static bool run_load(struct replay_options *o, size_t path, size_t policy, struct run *run,
                     struct error *error)
{
    size_t overrides = o->override_count;
    *run = (struct run){.experiment = NULL};
    if (o->policies[policy] != NULL)
        o->overrides[overrides++] = (struct override){"policy.name", o->policies[policy]};
    run->experiment = experiment_load(o->paths[path], o->overrides, overrides, error);
    if (run->experiment != NULL)
        run->policy = runner_policy(run->experiment, &run->values, error);
    if (run->policy != NULL)
        return true;
    run_clear(run);
    return false;
}

/* `context` is the backend's own context, a member of the session. */
static void describe(void *context, struct execution *execution)
{
    struct session *s =
        (struct session *)(void *)((char *)context - offsetof(struct session, backend));
    const bool gpu = !s->options->rehearse;
    const struct pool_figures f = pool_figures(s->backend.pool);
    size_t count = 0;
    (void)pool_rows(s->backend.pool, &count);
    if (gpu)
        s->about = replay_device_about(s->backend.executor.state);
    (void)snprintf(
        s->details, sizeof s->details,
        "{\"precision\": \"%s\", \"units\": %d, \"unit_sms\": %d, \"sms\": %d, \"lanes\": %zu, "
        "\"refused\": %zu, \"side_by_side\": %s, \"queue_pairs\": %zu, \"queue_waiting\": %zu, "
        "\"lanes_s\": %.3f, \"executors_s\": %.3f, \"warm_up_s\": %.3f, \"memory_bytes\": %zu, "
        "\"together\": %u, \"scattered\": %llu, \"waited\": %llu, \"waited_us_mean\": %.3f, "
        "\"waited_us_max\": %.3f, \"hand_over_us_mean\": %.3f, \"hand_over_us_p99\": %.3f, "
        "\"batch_ms_mean\": %.6f, \"device_ms_mean\": %.6f}",
        s->setup.half ? "fp16" : "fp32", s->setup.units, s->about.unit_sms, s->about.sms,
        s->about.lanes, s->about.refused,
        s->about.side_by_side || s->options->sets == REPLAY_SIDE_BY_SIDE ? "true" : "false",
        s->about.queue_pairs, s->about.queue_waiting, s->about.lanes_s, s->about.executors_s,
        s->about.warm_up_s, s->about.bytes, f.together, (unsigned long long)f.scattered,
        (unsigned long long)f.waited, f.waited_mean, f.waited_max, f.hand_over_mean,
        f.hand_over_p99, f.host_ms_mean, gpu ? f.device_ms_mean : 0.0);
    *execution = (struct execution){
        .backend = gpu ? "green contexts" : "rehearsal",
        .device = gpu ? s->about.name : "none",
        .driver = gpu ? s->about.driver : "none",
        .details = s->details,
        .gpu = gpu,
        .starts = count,
        .late_us_mean = f.late_mean,
        .late_us_p99 = f.late_p99,
        .late_us_max = f.late_max,
    };
}

static void print_result(const struct session *s, const struct simulation_result *result)
{
    const struct measures *m = &result->overall;
    (void)printf("  %llu requests: latency mean %.3f, p50 %.3f, p95 %.3f, p99 %.3f ms; SLO hit "
                 "rate %.4f; cost %.4g $ a request\n",
                 (unsigned long long)m->requests, m->latency_ms_mean, m->latency_ms_p50,
                 m->latency_ms_p95, m->latency_ms_p99, m->slo_hit_rate, m->cost_per_request_usd);
    if (s->backend.pool != NULL) {
        const struct pool_figures f = pool_figures(s->backend.pool);
        (void)printf("  batches late by %.1f us on average, 99 %% within %.1f, at most %.1f; "
                     "handed over in %.1f us, 99 %% within %.1f\n",
                     f.late_mean, f.late_p99, f.late_max, f.hand_over_mean, f.hand_over_p99);
        (void)printf("  at most %u at one time; %llu on units that are not side by side\n",
                     f.together, (unsigned long long)f.scattered);
        (void)printf(
            "  %llu waited for a set of units while enough were free, %.1f us on average, at "
            "most %.1f\n",
            (unsigned long long)f.waited, f.waited_mean, f.waited_max);
        if (!s->options->rehearse)
            (void)printf("  a batch takes %.3f ms by the device, %.3f ms by the host's clock\n",
                         f.device_ms_mean, f.host_ms_mean);
    }
    (void)fflush(stdout);
}

static bool keep_rows(struct session *s, const char *hash, struct error *error)
{
    size_t count = 0;
    const struct pool_row *rows = pool_rows(s->backend.pool, &count);
    struct kept_rows *kept = &s->kept[s->kept_count];
    kept->rows = malloc((count + 1) * sizeof *kept->rows);
    if (kept->rows == NULL)
        return error_run(error, "replay: out of memory");
    if (count > 0)
        memcpy(kept->rows, rows, count * sizeof *rows);
    kept->count = count;
    (void)snprintf(kept->hash, sizeof kept->hash, "%s", hash);
    s->kept_count++;
    return true;
}

static bool record(struct session *s, const struct run *run, const struct replay_target *target,
                   struct error *error)
{
    const struct progress progress = {.report = report_progress};
    struct simulation_result result = {0};
    if (!replay_record(s->store, run->experiment, run->policy, run->values, target, &progress,
                       &result, error))
        return false;
    print_result(s, &result);
    simulation_result_clear(&result);
    return s->backend.pool == NULL || keep_rows(s, run->experiment->hash, error);
}

static bool record_virtual(struct session *s, const struct run *run, struct error *error)
{
    const struct emulated_options options = {0};
    struct emulated *rehearsal = emulated_create(&options, error);
    if (rehearsal == NULL)
        return false;
    const struct replay_target target = replay_rehearsal(rehearsal);
    const bool good = record(s, run, &target, error);
    emulated_destroy(rehearsal);
    return good;
}

static bool play(struct session *s, size_t path, size_t policy, struct error *error)
{
    const struct replay_target target = {replay_backend(&s->backend), describe};
    struct run run;
    if (!run_load(s->options, path, policy, &run, error))
        return false;
    (void)printf("%s, %s\n", run.experiment->name, run.experiment->policy_name);
    (void)fflush(stdout);
    const bool good = s->options->rehearse && s->options->speed == 0
                          ? record_virtual(s, &run, error)
                          : record(s, &run, &target, error);
    run_clear(&run);
    return good;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* The first experiment determines the setup of all. */
static bool take_setup(struct session *s, const struct run *run, struct error *error)
{
    struct replay_setup setup;
    if (!replay_setup_make(run->experiment, s->options->folder, s->options->half, &setup, error))
        return false;
    if (s->setup.units == 0) {
        s->setup = setup;
        replay_setup_print(&s->setup, stdout);
        return replay_setup_fits(&s->setup, s->setup.memory_mb * 1048576, error);
    }
    const bool equal = replay_setup_equal(&s->setup, &setup);
    replay_setup_clear(&setup);
    return equal ||
           error_input(error,
                       "replay: %s needs other networks, batches, shares or containers than %s; "
                       "replay it in a call of its own",
                       run->experiment->path, s->options->paths[0]);
}

/* Estimates the duration and reports the errors that the run itself would report. */
static bool check(struct session *s, size_t path, size_t policy, double *seconds,
                  struct error *error)
{
    struct run run;
    struct replay_plan plan = {.seconds = 0};
    if (!run_load(s->options, path, policy, &run, error))
        return false;
    const bool good = take_setup(s, &run, error) &&
                      replay_plan(run.experiment, run.policy, run.values, &plan, error);
    if (good)
        (void)printf("%s, %s: %.1f s of real time, %llu batches, at most %u at one time\n",
                     run.experiment->name, run.experiment->policy_name, plan.seconds,
                     (unsigned long long)plan.batches, plan.together);
    *seconds += plan.seconds;
    run_clear(&run);
    return good;
}

/* A failed run does not stop the others. The first error is reported. */
static bool play_all(struct session *s, struct error *error)
{
    const struct replay_options *o = s->options;
    bool good = true;
    size_t played = 0;
    s->store = store_create(o->out, error);
    if (s->store == NULL)
        return false;
    for (size_t path = 0; path < o->path_count && !interrupted; path++)
        for (size_t policy = 0; policy < o->policy_count && !interrupted; policy++) {
            struct error fault = {0};
            if (play(s, path, policy, &fault)) {
                played++;
                continue;
            }
            (void)printf("  failed: %s\n", fault.message);
            if (good)
                *error = fault;
            good = false;
        }
    if (played == 0) {
        store_abandon(s->store);
        return false;
    }
    if (!store_finish(s->store, good ? error : NULL))
        return false;
    for (size_t i = 0; i < s->kept_count; i++)
        if (!replay_rows_write(o->out, s->kept[i].hash, s->kept[i].rows, s->kept[i].count,
                               good ? error : NULL))
            good = false;
    (void)printf("%zu runs in %s%s\n", played, o->out,
                 o->rehearse ? ": a rehearsal, which measures nothing" : "");
    return good;
}

static bool replay_all(struct session *s, struct error *error)
{
    const struct replay_options *o = s->options;
    double seconds = 0;
    for (size_t path = 0; path < o->path_count; path++)
        for (size_t policy = 0; policy < o->policy_count; policy++)
            if (!check(s, path, policy, &seconds, error))
                return false;
    (void)printf("in all: %.1f s, and the set-up before\n", seconds);
    (void)fflush(stdout);
    if (o->dry_run)
        return true;
    s->backend = (struct replay_backend){
        .setup = &s->setup,
        .executor = o->rehearse ? replay_sleeper(&s->backend.speed) : device_executor(),
        .speed = o->rehearse ? o->speed : 1,
        .spin = !o->rehearse && !o->sleep,
    };
    s->backend.executor.which = o->sets;
    const bool good = play_all(s, error);
    replay_backend_clear(&s->backend);
    return good;
}

static bool replay(struct replay_options *o, struct error *error)
{
    if (o->help) {
        (void)fputs(usage, stdout);
        return true;
    }
    struct session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return error_run(error, "replay: out of memory");
    s->options = o;
    const bool good = replay_all(s, error);
    replay_setup_clear(&s->setup);
    for (size_t i = 0; i < s->kept_count; i++)
        free(s->kept[i].rows);
    free(s);
    return good;
}

int replay_command(int argc, char **argv)
{
    struct replay_options options;
    struct error error = {0};
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (read_options(argc, argv, &options, &error) && replay(&options, &error))
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
