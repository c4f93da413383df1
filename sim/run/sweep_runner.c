#include "sim/run/sweep_runner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "results/store/run_folder.h"
#include "sim/engine/statistics.h"
#include "results/store/store.h"
#include "sim/run/guard.h"
#include "sim/run/run_process.h"
#include "sim/run/sweep_estimate.h"
#include "sim/run/sweep_resume.h"
#include "sim/run/sweep_runner_plan.h"
#include "sim/run/progress_bar.h"
#include "sim/run/worker_pool.h"
#include "sim/base/atomic_file.h"
#include "sim/base/text.h"

struct sweep_runner {
    const struct sweep *sweep;
    const struct sweep_runner_options *options;
    struct plans plans;
    char *runs_path; /* of the folder */
    struct run_folder *folder;
    struct store *store; /* the results file; not used in a worker */
    struct store *part;  /* in a worker: the part in progress; NULL: none */
    size_t part_run;     /* first run of that part */
    const char **failed; /* per run: why it failed; NULL: it did not */
    double *values;      /* per run: value of the precision metric; NULL: no precision */
    size_t *pending;     /* runs of this round */
    size_t pending_count;
    size_t next; /* first run neither in the results file nor skipped */
    bool store_broken;
    size_t failures, killed; /* runs; of these, ended by a signal from outside */
    struct error first_failure;
    struct progress_bar progress_bar;
};

/* ---- One run ------------------------------------------------------------------------------- */

/* Executes the run and records it in the part in progress. */
static enum worker_pool_outcome run_record(struct sweep_runner *runner, const struct plan *plan,
                                           struct error *error)
{
    struct store *part = runner->part;
    struct simulation_result result;
    bool good = store_begin_run(part, plan->metadata, error);
    if (good) {
        const struct recorder recorder = store_recorder(part);
        good = resolved_run_simulate(
            &plan->run, &(struct simulation_options){.recorder = &recorder, .bounds = plan->bounds},
            &result, error);
    }
    if (good) {
        good = store_end_run(part, &result, error);
        simulation_result_clear(&result);
    }
    if (good)
        return WORKER_POOL_HELD;
    return !store_is_broken(part) && store_drop_run(part, error) ? WORKER_POOL_FAILED
                                                                 : WORKER_POOL_BROKEN;
}

/* Runs in a worker process. A part is named after its first run. If that run fails, the empty part
 * is therefore abandoned. */
static enum worker_pool_outcome work(void *context, size_t job, uint64_t *place,
                                     struct error *error)
{
    struct sweep_runner *runner = context;
    const size_t run = runner->pending[job];
    struct plan plan;
    if (!plan_load(runner->sweep, run, &plan, error))
        return WORKER_POOL_FAILED;
    if (runner->part == NULL) {
        runner->part_run = run;
        runner->part = run_folder_begin(runner->folder, run, runner->plans.swept, error);
    }
    const enum worker_pool_outcome outcome =
        runner->part == NULL ? WORKER_POOL_BROKEN : run_record(runner, &plan, error);
    plan_clear(&plan);
    if (outcome == WORKER_POOL_BROKEN ||
        (outcome == WORKER_POOL_FAILED && store_run_count(runner->part) == 0)) {
        store_abandon(runner->part);
        runner->part = NULL;
    }
    *place = runner->part_run;
    return outcome;
}

/* Runs in a worker process. */
static bool publish(void *context, struct error *error)
{
    struct sweep_runner *runner = context;
    struct store *part = runner->part;
    runner->part = NULL;
    return store_finish(part, error);
}

/* ---- From the parts into the results file ---------------------------------------------------- */

/* Copies runs to the results file in the order of the sweep, up to the first run that may still
 * finish. With `last` it skips unfinished runs instead. Runs of seeds that are not needed may be
 * there, kept of an earlier form of the sweep. */
static bool assemble(struct sweep_runner *runner, bool last, struct error *error)
{
    const struct sweep *sweep = runner->sweep;
    for (; runner->next < sweep->run_count; runner->next++) {
        const size_t run = runner->next;
        const bool has = run_folder_has(runner->folder, run);
        const bool wanted = plans_want(&runner->plans, run);
        const bool decided = runner->plans.cells[run / sweep->seeds].decided;
        if (has && (wanted || (last && !decided))) {
            runner->store_broken = !run_folder_copy(runner->folder, run, runner->store, error);
            if (runner->store_broken)
                return false;
        } else if (!last && plans_have(&runner->plans, run) &&
                   (wanted ? runner->failed[run] == NULL : !decided)) {
            return true;
        }
    }
    return true;
}

/* Notes the value of the precision metric in a finished run. */
static bool value_note(struct sweep_runner *runner, size_t run, struct error *error)
{
    const struct summary_row *row = run_folder_figures(runner->folder, run, error);
    if (row == NULL)
        return false;
    const struct metric *metric = metric_find(runner->sweep->precision.metric);
    if (metric != NULL)
        runner->values[run] = metric_value(metric, &row->measures, &row->run);
    return true;
}

static bool is_killed(const char *message)
{
    return strncmp(message, WORKER_POOL_KILLED, strlen(WORKER_POOL_KILLED)) == 0;
}

static bool collect(void *context, size_t job, uint64_t place, const struct error *failure,
                    struct error *error)
{
    struct sweep_runner *runner = context;
    const size_t run = runner->pending[job];
    if (failure == NULL) {
        run_folder_note(runner->folder, run, (size_t)place);
        return (runner->values == NULL || value_note(runner, run, error)) &&
               assemble(runner, false, error);
    }
    runner->failed[run] = arena_text(runner->plans.arena, "%s", failure->message);
    const bool killed = is_killed(failure->message);
    if (runner->failures++ == 0 || (killed && runner->killed == 0))
        runner->first_failure = *failure;
    runner->killed += killed;
    progress_bar_end(&runner->progress_bar);
    if (!runner->progress_bar.quiet)
        (void)fprintf(text_messages(), "run %zu (%s seed=%" PRIu64 ") failed: %s\n", run,
                      runner->sweep->runs[run].label, runner->sweep->runs[run].seed,
                      failure->message);
    return assemble(runner, false, error);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static void round_plan(struct sweep_runner *runner)
{
    const struct sweep *sweep = runner->sweep;
    runner->pending_count = 0;
    for (size_t run = 0; run < sweep->run_count; run++)
        if (plans_want(&runner->plans, run) && runner->failed[run] == NULL &&
            !run_folder_has(runner->folder, run))
            runner->pending[runner->pending_count++] = run;
}

/* Decides whether a combination needs more seeds, after all its wanted runs have ended. A
 * combination with a failed run gets no more. */
static void combination_decide(struct sweep_runner *runner, size_t combination)
{
    const struct sweep *sweep = runner->sweep;
    const size_t first = combination * sweep->seeds;
    struct plan_cell *cell = &runner->plans.cells[combination];
    const size_t n = cell->wanted;
    bool whole = plans_have(&runner->plans, first);
    for (size_t i = 0; i < n; i++)
        whole = whole && runner->failed[first + i] == NULL;
    if (whole)
        cell->wanted = statistics_next_count(runner->values + first, n, sweep->precision.half_width,
                                             sweep->seeds);
    cell->decided = cell->wanted == n;
}

/* Returns whether another round is needed. */
static bool round_next(struct sweep_runner *runner)
{
    bool more = false;
    for (size_t c = 0; c < runner->plans.combinations; c++) {
        if (!runner->plans.cells[c].decided)
            combination_decide(runner, c);
        more = more || !runner->plans.cells[c].decided;
    }
    return more;
}

static bool rounds_run(struct sweep_runner *runner, struct error *error)
{
    char late[PATH_MAX + 128] = "interrupted";
    if (!runner->options->internal)
        (void)snprintf(late, sizeof late,
                       "interrupted; finished runs are in %s; go on with --resume",
                       runner->runs_path);
    const int stop = guard_defer_stop(late);
    do {
        round_plan(runner);
        const struct worker_pool worker_pool = {.jobs = runner->pending_count,
                                                .workers = runner->options->jobs,
                                                .hold_ms = runner->options->hold_ms,
                                                .stops = stop >= 0,
                                                .stop = stop,
                                                .callback_s = runner->options->decision_timeout,
                                                .bar = &runner->progress_bar,
                                                .context = runner,
                                                .work = work,
                                                .publish = publish,
                                                .collect = collect};
        const bool good = worker_pool_run(&worker_pool, error);
        run_folder_tidy(runner->folder);
        if (!good)
            return false;
    } while (round_next(runner));
    return true;
}

/* ---- Before and after ------------------------------------------------------------------------ */

static bool sweep_runner_prepare(struct sweep_runner *runner, struct error *error)
{
    const struct sweep *sweep = runner->sweep;
    if (!plans_make(&runner->plans, sweep, runner->options->shard, runner->options->shards, error))
        return false;
    struct arena *arena = runner->plans.arena;
    runner->failed = arena_allocate(arena, sweep->run_count, sizeof *runner->failed);
    runner->pending = arena_allocate(arena, sweep->run_count, sizeof *runner->pending);
    if (sweep->precision.given)
        runner->values = arena_allocate(arena, sweep->run_count, sizeof *runner->values);
    return true;
}

static bool folder_open(struct sweep_runner *runner, struct error *error)
{
    const struct sweep_runner_options *options = runner->options;
    runner->folder = run_folder_open(runner->runs_path, &runner->plans.metadata,
                                     options->resume    ? RUNS_RESUME
                                     : options->restart ? RUNS_RESTART
                                                        : RUNS_NEW,
                                     error);
    if (runner->folder != NULL && run_folder_damaged(runner->folder) > 0)
        (void)fprintf(text_messages(),
                      "%s: files that are damaged or cut short: %zu; their runs are done again\n",
                      runner->runs_path, run_folder_damaged(runner->folder));
    return runner->folder != NULL;
}

/* Loads the values of the precision metric from runs of earlier calls. */
static bool values_recall(struct sweep_runner *runner, struct error *error)
{
    bool good = true;
    for (size_t run = 0; good && runner->values != NULL && run < runner->sweep->run_count; run++)
        good = !run_folder_has(runner->folder, run) || value_note(runner, run, error);
    return good;
}

static bool is_missing(const struct sweep_runner *runner, size_t run)
{
    return plans_want(&runner->plans, run) && !run_folder_has(runner->folder, run);
}

/* Writes which runs are missing, and why. */
static bool missing_write(const struct sweep_runner *runner, struct error *error)
{
    bool good = true;
    for (size_t run = 0; good && run < runner->sweep->run_count; run++) {
        const char *message = runner->failed[run];
        const bool failed = message != NULL && !is_killed(message);
        struct missing_run row;
        if (!is_missing(runner, run))
            continue;
        plans_fill_missing(&runner->plans, run, failed ? MISSING_FAILED : MISSING_NOT_RUN, message,
                           &row);
        good = store_append_missing(runner->store, &row, error);
    }
    return good;
}

/* Stores how many runs the results file has and lacks. False: there is none of this sweep. */
static bool older_find(const struct sweep_runner *runner, size_t *runs, size_t *missing)
{
    struct results *older = results_load(runner->options->out, NULL);
    const bool found =
        older != NULL && sweep_metadata_equal(&older->sweep, &runner->plans.metadata);
    *runs = found ? older->run_count : 0;
    *missing = found ? (size_t)older->sweep.missing : 0;
    results_free(older);
    return found;
}

/* Returns whether results without `missing` runs may replace the results file. */
static bool may_replace(const struct sweep_runner *runner, size_t missing)
{
    size_t runs, lacks;
    return missing == 0 || access(runner->options->out, F_OK) != 0 ||
           (older_find(runner, &runs, &lacks) && lacks > 0 && lacks >= missing);
}

/* How a sweep ended. */
struct sweep_outcome {
    struct error stopped_by;   /* ERROR_NONE: all runs that were wanted have ended */
    size_t finished, expected; /* runs: in the results file, wanted */
    bool written;              /* the results file is */
};

/* Words why a sweep that was not stopped lacks runs. */
static void missing_word(const struct sweep_runner *runner, size_t expected, struct error *why)
{
    const struct sweep_runner_options *options = runner->options;
    if (runner->failures == 0)
        (void)error_input(why, "%s: no run falls to shard %" PRIu64 "/%" PRIu64,
                          runner->sweep->path, options->shard, options->shards);
    else if (runner->killed == 0 && run_folder_count(runner->folder) == 0)
        (void)error_run(why, "all %zu runs failed; the first: %s", runner->failures,
                        runner->first_failure.message);
    else
        (void)error_run(why, "%zu of %zu runs %s; the first: %s", runner->failures, expected,
                        runner->killed > 0 ? "were not finished" : "failed",
                        runner->first_failure.message);
}

/* Tells how the sweep ended, and where its finished runs are. Returns whether it is complete. */
static bool outcome_tell(const struct sweep_runner *runner, struct sweep_outcome outcome,
                         struct error *error)
{
    const size_t kept = run_folder_count(runner->folder);
    const char *out = runner->options->out;
    const bool internal = runner->options->internal;
    struct error *why = &outcome.stopped_by;
    char note[PATH_MAX + 64] = "";
    if (outcome.written && !internal)
        (void)printf("%zu of %zu runs are in %s\n", outcome.finished, outcome.expected, out);
    if (why->kind == ERROR_NONE && outcome.expected > 0 && outcome.finished == outcome.expected)
        return true;
    if (why->kind == ERROR_NONE)
        missing_word(runner, outcome.expected, why);
    if (outcome.written)
        (void)snprintf(note, sizeof note, " and %s", out);
    else if (access(out, F_OK) == 0)
        (void)snprintf(note, sizeof note, ", and %s is as it was", out);
    if (kept > 0 && !internal)
        return error_run(error, "%s; %zu finished runs are in %s%s; go on with --resume",
                         why->message, kept, runner->runs_path, note);
    if (error != NULL)
        *error = *why;
    return false;
}

/* Writes the results file if it may replace an older one, even if the sweep was stopped. */
static bool outcome_write(struct sweep_runner *runner, struct sweep_outcome *outcome,
                          struct error *error)
{
    if (runner->store_broken || !assemble(runner, true, error))
        return false;
    outcome->finished = outcome->expected = store_run_count(runner->store);
    for (size_t run = 0; run < runner->sweep->run_count; run++)
        outcome->expected += is_missing(runner, run);
    /* A sweep that was stopped lacks at least one run: of the round that it would have begun. */
    const size_t lacks = outcome->expected - outcome->finished;
    const size_t missing = lacks == 0 && outcome->stopped_by.kind != ERROR_NONE ? 1 : lacks;
    /* A shard says which of its runs failed even if all did: merge needs its file. */
    const bool shard_failed = runner->failures > 0 && runner->plans.metadata.shards > 1;
    if ((outcome->finished == 0 && !shard_failed) || !may_replace(runner, missing))
        return true;
    runner->plans.metadata.missing = missing;
    if (!missing_write(runner, error) ||
        !store_set_sweep(runner->store, &runner->plans.metadata, error))
        return false;
    outcome->written = store_finish(runner->store, error);
    runner->store = NULL;
    return outcome->written;
}

/* Returns whether an earlier call wrote complete results, and says so. */
static bool results_there(const struct sweep_runner *runner)
{
    size_t runs, missing;
    if (!runner->options->resume || run_folder_count(runner->folder) > 0 ||
        run_folder_foreign(runner->folder, 0) != NULL || !older_find(runner, &runs, &missing) ||
        missing > 0)
        return false;
    (void)printf("%zu of %zu runs are in %s\n", runs, runs, runner->options->out);
    return true;
}

/* Executes the sweep with the folder open. Of several errors it tells the first. */
static bool sweep_runner_pool(struct sweep_runner *runner, struct error *error)
{
    struct sweep_outcome outcome = {.written = false};
    struct error fault = {0};
    const bool good =
        values_recall(runner, &outcome.stopped_by) && assemble(runner, false, &outcome.stopped_by);
    progress_bar_start(&runner->progress_bar, "runs", runner->options->quiet);
    const bool ended = good && rounds_run(runner, &outcome.stopped_by);
    progress_bar_end(&runner->progress_bar);
    if (!outcome_write(runner, &outcome, &fault) && ended)
        outcome.stopped_by = fault;
    return outcome_tell(runner, outcome, error);
}

/* Begins the results file, whose lock, held throughout, also protects the folder. */
static bool store_begin(struct sweep_runner *runner, struct error *error)
{
    struct arena *arena = runner->plans.arena;
    const char *target = atomic_file_target(arena, runner->options->out, error);
    if (target == NULL)
        return false;
    runner->runs_path = arena_text(arena, "%s.runs", target);
    runner->store = store_create(runner->options->out, error);
    return runner->store != NULL && store_set_swept(runner->store, runner->plans.swept, error) &&
           store_set_text(runner->store, "sweep_command", runner->options->command, error) &&
           store_set_text(runner->store, "show", runner->plans.sweep->show, error);
}

/* Executes the sweep after its plans were checked. */
static bool sweep_runner_execute(struct sweep_runner *runner, struct error *error)
{
    const struct sweep_runner_options *options = runner->options;
    bool whole = false;
    if (store_begin(runner, error) && folder_open(runner, error)) {
        whole = results_there(runner) ||
                ((!options->resume || sweep_resume(&runner->plans, runner->folder, options->out,
                                                   options->quiet, error)) &&
                 sweep_runner_pool(runner, error));
        run_folder_close(runner->folder, whole);
    }
    store_abandon(runner->store);
    return whole;
}

bool sweep_runner_run(const struct sweep *sweep, const struct sweep_runner_options *options,
                      struct error *error)
{
    struct sweep_runner runner = {.sweep = sweep, .options = options};
    run_process_begin(options->decision_timeout);
    const bool good = sweep_runner_prepare(&runner, error) &&
                      (options->dry_run ? sweep_estimate(&runner.plans, options, error)
                                        : sweep_runner_execute(&runner, error));
    plans_clear(&runner.plans);
    return good;
}
