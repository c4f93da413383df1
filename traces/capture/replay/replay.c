/* capture replay: runs an experiment in real time on this machine's GPU and writes a
 * results file. */
#include "traces/capture/replay/replay.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/compare/replay.h"
#include "sim/cli/cli.h"
#include "sim/cli/run_once.h"
#include "traces/capture/replay/replay_device.h"
#include "traces/capture/replay/replay_rows.h"

enum { DETAILS = 1024, PATHS = 16, POLICIES = 16 };

struct replay_options {
    const char *out, *folder;
    char **paths;
    const char *policies[POLICIES]; /* a single NULL: the experiment's policies */
    size_t path_count, policy_count;
    struct cli_settings settings;
    int precision, sets; /* indices of their words */
    bool dry_run, rehearse, sleep;
    double speed; /* 0: virtual time */
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_set(void *options, const char *name, char *value, struct error *error)
{
    (void)name;
    return cli_settings_add_text(&((struct replay_options *)options)->settings, value, error);
}

static bool take_seed(void *options, const char *name, char *value, struct error *error)
{
    (void)name;
    return cli_settings_add(&((struct replay_options *)options)->settings, "seed", value, error);
}

static bool take_policies(void *options, const char *name, char *value, struct error *error)
{
    struct replay_options *o = options;
    for (char *rest = value, *policy; (policy = strsep(&rest, ",")) != NULL;) {
        if (o->policy_count == POLICIES)
            return error_input(error, "%s: more than %d policies", name, POLICIES);
        o->policies[o->policy_count++] = policy;
    }
    return true;
}

#define MEMBER(member) CLI_MEMBER(struct replay_options, member)

static const struct cli_option replay_table[] = {
    {"--out", "F.h5", "the results", MEMBER(out)},
    {"--policy", "A,B", "the policies to replay (default: the experiment's)", .kind = OPTION_TAKE,
     .take = take_policies},
    {"--set", "KEY=VALUE", "as in esgsim run", .kind = OPTION_TAKE, .repeated = true,
     .take = take_set},
    {"--seed", "N", "as in esgsim run", .kind = OPTION_TAKE, .take = take_seed},
    {"--precision", "fp16|fp32", "as captured (default fp16)", MEMBER(precision)},
    /* In the order of enum replay_sets. */
    {"--sets", "auto|all|side-by-side",
     "sets of units on which batches execute; auto (default): all unless their streams wait for "
     "each other",
     MEMBER(sets)},
    {"--folder", "DIR", "of network files (default traces/networks)", MEMBER(folder)},
    {"--dry-run", NULL, "check the experiment; print copies, memory, time and capacity",
     MEMBER(dry_run)},
    {"--rehearse", NULL, "without a GPU: in virtual time, batches take what the model says",
     MEMBER(rehearse)},
    {"--speed", "X",
     "rehearse in real time, X times as fast, by all that a GPU's replay does but the GPU itself",
     MEMBER(speed), .low = 1e-3, .high = 1e6},
    {"--sleep", NULL, "let the controller sleep while it waits, on a machine of few cores",
     MEMBER(sleep)},
    {.name = NULL},
};

static const struct command command_replay = {
    .name = "capture replay",
    .alone = true,
    .summary = "executes experiments in real time on this machine's first GPU",
    .help = "The experiment has one invoker with one GPU. Queues and policy are those of a\n"
            "simulation; the networks execute its batches on green contexts. Compare the results\n"
            "with a simulation's: esgsim report SIMULATED.h5 --against F.h5.\n",
    .operands = "EXP.json…",
    .options = replay_table,
};

static bool read_options(int argc, char **argv, struct replay_options *o, struct error *error)
{
    *o = (struct replay_options){.folder = "traces/networks"};
    if (!cli_parse(&command_replay, &argc, argv, o, error))
        return false;
    o->paths = argv + 1;
    o->path_count = (size_t)argc - 1;
    o->rehearse = o->rehearse || o->speed > 0;
    if (o->path_count > PATHS)
        return error_input(error, "replay: more than %d experiments", PATHS);
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
    struct cli_settings settings = o->settings;
    *run = (struct run){.experiment = NULL};
    if (o->policies[policy] != NULL &&
        !cli_settings_add(&settings, "policy.name", o->policies[policy], error))
        return false;
    run->experiment = experiment_load(o->paths[path], settings.list, settings.count, error);
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
    const struct pool_figures f = replay_pool_figures(s->backend.pool);
    size_t count = 0;
    (void)replay_pool_rows(s->backend.pool, &count);
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
        s->about.side_by_side || s->options->sets == (int)REPLAY_SIDE_BY_SIDE ? "true" : "false",
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
        const struct pool_figures f = replay_pool_figures(s->backend.pool);
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
    const struct pool_row *rows = replay_pool_rows(s->backend.pool, &count);
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
    if (!replay_setup_make(run->experiment, s->options->folder, s->options->precision == 0, &setup,
                           error))
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
    s->backend.executor.which = (enum replay_sets)o->sets;
    const bool good = play_all(s, error);
    replay_backend_clear(&s->backend);
    return good;
}

static bool replay(struct replay_options *o, struct error *error)
{
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
    if (cli_asks_help(argc, argv)) {
        cli_print_help(&command_replay);
        return 0;
    }
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (read_options(argc, argv, &options, &error) && replay(&options, &error))
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
