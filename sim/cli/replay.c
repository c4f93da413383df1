/* esgsim replay: experiments in real time, whose batches a worker process executes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/backend/worker_backend.h"
#include "sim/cli/cli.h"
#include "sim/run/guard.h"
#include "sim/run/replay.h"
#include "sim/run/run_once.h"
#include "workloads/world/capacity.h"

/* At most so long all functions execute on all sets of units, before they do so for a run. */
#define WARM_S 40.0

enum { EXPERIMENTS_MAX = 16, RUNS_MAX = EXPERIMENTS_MAX * CLI_POLICIES_MAX };

struct options {
    const char *out, *worker;
    char **paths;
    size_t path_count;
    struct cli_names policies; /* without --policy a single NULL */
    struct cli_settings settings;
    int sets; /* index of its word */
    bool dry_run, resume, no_gpu;
    double silent_s, decision_timeout;
};

#define MEMBER(member) CLI_MEMBER(struct options, member)

static const struct cli_option replay_table[] = {
    {"--worker", "CMD",
     "the worker's command line, for the shell. It reads lines `run ID FUNCTION BATCH UNITS`, "
     "where "
     "UNITS is a bit set as a decimal number, executes the batch on these units of the GPU, and "
     "answers `done ID MS`. Batches overlap. It exits at the end of its input",
     MEMBER(worker)},
    {"--out", "F.h5", "the results, complete after each run", MEMBER(out)},
    {"--resume", NULL, "keep the runs that F.h5 has, and replay the others", MEMBER(resume)},
    {"--policy", "A,B", "the policies to replay, by name or file (default: the experiment's)",
     MEMBER(policies), .most = CLI_POLICIES_MAX},
    {"--set", "KEY=VALUE", "override any key, as for `esgsim run`", MEMBER(settings),
     .repeated = true},
    {"--seed", "N", "the seed (default: the experiment's, else 1)", MEMBER(settings),
     .key = "seed"},
    {"--sets", "side-by-side|all",
     "sets of units on which batches execute: neighbouring units only (default), for which a "
     "worker "
     "needs fewer streams, or all",
     MEMBER(sets)},
    {"--worker-timeout", "S",
     "seconds after which a worker that executes batches but answers none is killed (default 60)",
     MEMBER(silent_s), .low = 0.01, .high = 1e6},
    {"--no-gpu", NULL, "the worker has no GPU: results and reports say that nothing is measured",
     MEMBER(no_gpu)},
    {"--dry-run", NULL, "check the experiments, without a worker; print time, batches and capacity",
     MEMBER(dry_run)},
    GUARD_OPTION(struct options, decision_timeout),
    {.name = NULL},
};

static bool read_options(int argc, char **argv, struct options *o, struct error *error)
{
    *o = (struct options){.silent_s = 60, .decision_timeout = GUARD_TIMEOUT_DEFAULT};
    if (!cli_parse(&command_replay, &argc, argv, o, error))
        return false;
    o->paths = argv + 1;
    o->path_count = (size_t)argc - 1;
    if (o->path_count > EXPERIMENTS_MAX)
        return error_input(error, "replay: more than %d experiments", EXPERIMENTS_MAX);
    if (o->policies.count == 0)
        o->policies.list[o->policies.count++] = NULL;
    if (!o->dry_run && (o->worker == NULL || o->out == NULL))
        return cli_usage_error(&command_replay, error,
                               o->out == NULL ? "--out is missing" : "--worker is missing");
    for (size_t i = 0; i < o->path_count; i++)
        if (!cli_check_output("--out", o->out, "an experiment", o->paths[i], error))
            return false;
    return true;
}

/* ---- One run --------------------------------------------------------------------------------- */

/* One experiment with one policy. */
struct session {
    struct options options;
    struct resolved_run runs[RUNS_MAX];
    size_t run_count;
    struct worker *worker;
    struct replay_worker replay; /* by its backend */
    bool keeps;                  /* the results file has runs to keep */
};

static bool load(struct session *s, const char *path, const char *policy, struct error *error)
{
    struct cli_settings settings = s->options.settings;
    struct resolved_run *run = &s->runs[s->run_count++];
    return (policy == NULL || cli_settings_add(&settings, "policy.name", policy, error)) &&
           resolved_run_load(run, NULL, path, settings.list, settings.count, error) &&
           worker_backend_check(run->experiment, error);
}

/* Prints what a replay of each run needs, and reports the errors that it would have. */
static bool plan_all(const struct session *s, struct error *error)
{
    double seconds = 0;
    for (size_t i = 0; i < s->run_count; i++) {
        struct replay_plan plan;
        const struct resolved_run *run = &s->runs[i];
        guard_divert_output();
        const bool good = replay_plan(run, &plan, error);
        (void)guard_restore_output();
        if (!good)
            return false;
        (void)printf("%s, %s: %.1f s of real time, %" PRIu64 " batches, at most %" PRIu32
                     " at one time; capacity: %.3f requests per second\n",
                     run->experiment->name, run->experiment->policy_name, plan.seconds,
                     plan.batches, plan.together,
                     capacity_find(&run->experiment->workload).rate_per_s);
        seconds += plan.seconds;
    }
    (void)printf("in all: %.1f s, and the worker's start before\n", seconds);
    return true;
}

static void print_result(const struct session *s, const struct simulation_result *result)
{
    const struct measures *m = &result->overall;
    const struct worker_figures f = worker_backend_figures(s->replay.backend);
    const struct worker_warming warming = worker_backend_warming(s->replay.backend);
    (void)printf("  %" PRIu64 " requests: latency mean %.3f, p50 %.3f, p95 %.3f, p99 %.3f ms; SLO "
                 "hit rate %.4f; cost %.4g $ a request\n",
                 m->requests, m->latency_ms_mean, m->latency_ms_p50, m->latency_ms_p95,
                 m->latency_ms_p99, m->slo_hit_rate, m->cost_per_request_usd);
    (void)printf("  batches late by %.1f us on average, 99 %% within %.1f, at most %.1f; a batch "
                 "takes %.3f ms by the worker, %.3f ms by this clock\n",
                 f.late_mean, f.late_p99, f.late_max, f.device_ms_mean, f.host_ms_mean);
    (void)printf("  at most %" PRIu32 " at one time, %" PRIu64 " on units that are no neighbours; "
                 "%" PRIu64 " waited for a set of units, %.1f us on average, at most %.1f\n",
                 f.together, f.scattered, f.waited, f.waited_mean, f.waited_max);
    (void)printf("  warmed before: %zu of %zu combinations of function, batch and set in %.1f s\n",
                 warming.warmed, warming.combinations, warming.seconds);
}

/* *has: the results file had the run. */
static bool play(struct session *s, const struct resolved_run *run, bool *has, struct error *error)
{
    const struct replay_target target = replay_worker(&s->replay);
    struct simulation_result result = {0};
    struct store *store = replay_begin(s->options.out, s->keeps, run, has, error);
    if (store == NULL)
        return error->kind == ERROR_NONE;
    s->replay.run = run;
    guard_divert_output();
    const bool good = replay_record(store, run, &target, &result, error);
    (void)guard_restore_output();
    if (!good) {
        store_abandon(store);
        return false;
    }
    print_result(s, &result);
    simulation_result_clear(&result);
    s->keeps = store_finish(store, error) || s->keeps;
    return error->kind == ERROR_NONE;
}

/* A failed run does not stop the others, unless it was the worker's fault. The first error is
 * reported. */
static bool play_all(struct session *s, struct error *error)
{
    size_t played = 0, kept = 0;
    for (size_t i = 0; i < s->run_count && !worker_has_ended(s->worker); i++) {
        const struct resolved_run *run = &s->runs[i];
        struct error fault = {0};
        bool has;
        (void)printf("%s, %s\n", run->experiment->name, run->experiment->policy_name);
        (void)fflush(stdout);
        if (play(s, run, &has, &fault)) {
            played += !has;
            kept += has;
            continue;
        }
        (void)printf("  failed: %s\n", fault.message);
        if (error->kind == ERROR_NONE)
            *error = fault;
    }
    (void)printf("%zu runs replayed, %zu kept, %zu in all: %s%s\n", played, kept, s->run_count,
                 s->options.out, s->options.no_gpu ? ", which measure nothing" : "");
    return error->kind == ERROR_NONE;
}

static bool replay(struct session *s, struct error *error)
{
    const struct options *o = &s->options;
    for (size_t i = 0; i < o->path_count * o->policies.count; i++)
        if (!load(s, o->paths[i / o->policies.count], o->policies.list[i % o->policies.count],
                  error))
            return false;
    if (!plan_all(s, error) || o->dry_run)
        return error->kind == ERROR_NONE;
    (void)fflush(stdout);
    s->replay.command = o->worker;
    s->replay.gpu = !o->no_gpu;
    s->replay.side_by_side = o->sets == 0;
    s->keeps = o->resume && access(o->out, F_OK) == 0;
    s->worker = worker_start(o->worker, o->silent_s, guard_defer_stop("interrupted"), error);
    if (s->worker == NULL)
        return false;
    s->replay.backend = worker_backend_create(s->worker, o->sets == 0, WARM_S);
    const bool good = play_all(s, error);
    arena_home_free(s->replay.backend);
    worker_stop(s->worker);
    return good;
}

static bool replay_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct arena *arena = arena_create();
    struct session *s = arena_allocate(arena, 1, sizeof *s);
    bool good = read_options(argc, argv, &s->options, error);
    policy_probe = NULL;
    guard_watch_callbacks(s->options.decision_timeout);
    good = good && replay(s, error);
    for (size_t i = 0; i < s->run_count; i++)
        resolved_run_clear(&s->runs[i]);
    arena_destroy(arena);
    return good;
}

const struct command command_replay = {
    .name = "replay",
    .summary = "replay experiments in real time on a GPU, through a worker process",
    .help =
        "Queues, policy and arrivals are those of a simulation, in real time. The batches execute "
        "in the worker. Before a run, it executes every function at every batch size on every set "
        "of units; after 40 s only once per function and batch size, and once per set. "
        "traces/capture/worker.py is a worker for PyTorch. The experiment has one invoker with "
        "one GPU of 1 to 8 units, and all its containers from the start. Compare with a "
        "simulation: esgsim report SIMULATED.h5 --against F.h5 (results/PROOF.md).\n"
        "\n"
        "Example: esgsim replay workloads/experiments/proof-light.json --policy esg,fifo --worker "
        "'python3 traces/capture/worker.py --measured DIR' --out real.h5\n",
    .run = replay_run,
    .operands = "EXP.json…",
    .options = replay_table,
};
