#include "sim/cli/campaign.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/run_folder.h"
#include "results/statistics.h"
#include "results/store.h"
#include "sim/cli/guard.h"
#include "sim/cli/campaign_plan.h"
#include "sim/cli/meter.h"
#include "sim/cli/modules.h"
#include "sim/cli/runner.h"
#include "sim/farm.h"
#include "traces/atomic_file.h"

struct campaign {
    const struct sweep *sweep;
    const struct campaign_options *options;
    struct sweep_facts facts;
    struct run_folder *folder;
    struct store *store; /* the results file; in a worker untouched */
    struct store *part;  /* in a worker: where its runs go; NULL: none is begun */
    size_t part_run;     /* the first run in it */
    size_t combinations;
    size_t *wanted;  /* per combination: seeds to run, as far as known */
    bool *decided;   /* per combination: no more than that */
    bool *failed;    /* per run */
    double *values;  /* per run: the figure that must become precise; else NULL */
    size_t *pending; /* runs of this round */
    size_t pending_count;
    size_t next;         /* first run that is not in the results file, nor passed over */
    size_t ended_before; /* runs of earlier rounds */
    bool store_broken;
    size_t failures;
    struct error first_failure;
    struct meter meter;
};

/* ---- One run ------------------------------------------------------------------------------- */

static bool label_run(const struct sweep *sweep, const struct plan *plan, struct run_facts *facts,
                      struct error *error)
{
    char label[POLICY_LABEL];
    modules_label(sweep, plan->experiment, plan->policy, plan->values, label);
    free(facts->policy_label);
    facts->policy_label = strdup(label);
    return facts->policy_label != NULL || error_run(error, "out of memory for a run's label");
}

/* The run into the part that is begun. */
static enum farm_outcome run_record(struct campaign *campaign, size_t run, const struct plan *plan,
                                    struct error *error)
{
    struct store *part = campaign->part;
    struct run_facts *facts = run_facts_create(plan->experiment, plan->policy, plan->values,
                                               campaign->sweep->runs[run].label, error);
    struct simulation_result result;
    bool good = facts != NULL && label_run(campaign->sweep, plan, facts, error);
    if (good) {
        facts->position = run;
        good = store_begin_run(part, facts, error);
    }
    run_facts_free(facts);
    if (good) {
        const struct recorder recorder = store_recorder(part);
        good = runner_execute(plan->experiment, plan->policy, plan->values, &recorder, NULL,
                              &result, error);
    }
    if (good) {
        good = store_end_run(part, &result, error);
        simulation_result_clear(&result);
    }
    if (good)
        return FARM_HELD;
    return !store_is_broken(part) && store_drop_run(part, error) ? FARM_FAILED : FARM_BROKEN;
}

/* In the worker process. A part is named after a run that is in it, so it ends with its only run
 * where that fails. */
static enum farm_outcome work(void *context, size_t job, uint64_t *place, struct error *error)
{
    struct campaign *campaign = context;
    const size_t run = campaign->pending[job];
    struct plan plan;
    guard_enter_worker(farm_fail);
    guard_watch_callbacks(campaign->options->decision_timeout);
    if (!plan_load(campaign->sweep, run, &plan, error))
        return FARM_FAILED;
    if (campaign->part == NULL) {
        campaign->part_run = run;
        campaign->part = run_folder_begin(campaign->folder, run, error);
    }
    const enum farm_outcome outcome =
        campaign->part == NULL ? FARM_BROKEN : run_record(campaign, run, &plan, error);
    plan_clear(&plan);
    if (outcome == FARM_BROKEN ||
        (outcome == FARM_FAILED && store_run_count(campaign->part) == 0)) {
        store_abandon(campaign->part);
        campaign->part = NULL;
    }
    *place = campaign->part_run;
    return outcome;
}

/* In the worker process. */
static bool publish(void *context, struct error *error)
{
    struct campaign *campaign = context;
    struct store *part = campaign->part;
    campaign->part = NULL;
    return store_finish(part, error);
}

/* ---- From the parts into the results file ---------------------------------------------------- */

static bool is_ours(const struct campaign *campaign, size_t run)
{
    const struct sweep *sweep = campaign->sweep;
    const size_t unit = sweep->precision.given ? run / sweep->seeds : run;
    return unit % campaign->options->shards == campaign->options->shard - 1;
}

/* Writes on, in the order of the sweep, up to the first run that may still come; at the end
 * (`last`) what has not come is passed over. */
static bool assemble(struct campaign *campaign, bool last, struct error *error)
{
    const struct sweep *sweep = campaign->sweep;
    for (; campaign->next < sweep->run_count; campaign->next++) {
        const size_t run = campaign->next;
        const size_t combination = run / sweep->seeds;
        if (!is_ours(campaign, run))
            continue;
        if (run_folder_has(campaign->folder, run)) {
            campaign->store_broken =
                !run_folder_copy(campaign->folder, run, campaign->store, error);
            if (campaign->store_broken)
                return false;
        } else {
            bool wanted = run % sweep->seeds < campaign->wanted[combination];
            bool settled = wanted ? campaign->failed[run] : campaign->decided[combination];
            if (!settled && !last)
                return true;
        }
    }
    return true;
}

/* The figure that must become precise. */
static bool value_note(struct campaign *campaign, size_t run, struct error *error)
{
    const struct summary_row *row = run_folder_figures(campaign->folder, run, error);
    if (row == NULL)
        return false;
    const struct metric *metric = metric_find(campaign->sweep->precision.metric);
    if (metric != NULL)
        campaign->values[run] = metric_value(metric, &row->measures, &row->run);
    return true;
}

static bool collect(void *context, size_t job, uint64_t place, const struct error *failure,
                    struct error *error)
{
    struct campaign *campaign = context;
    const size_t run = campaign->pending[job];
    if (failure == NULL) {
        run_folder_note(campaign->folder, run, (size_t)place);
        return (campaign->values == NULL || value_note(campaign, run, error)) &&
               assemble(campaign, false, error);
    }
    campaign->failed[run] = true;
    if (campaign->failures++ == 0)
        campaign->first_failure = *failure;
    meter_end(&campaign->meter);
    if (!campaign->meter.quiet)
        (void)fprintf(stderr, "run %zu (%s seed=%" PRIu64 ") failed: %s\n", run,
                      campaign->sweep->runs[run].label, campaign->sweep->runs[run].seed,
                      failure->message);
    return assemble(campaign, false, error);
}

static void progress(void *context, size_t ended, size_t jobs)
{
    struct campaign *campaign = context;
    meter_update(&campaign->meter, campaign->ended_before + ended, campaign->ended_before + jobs);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static void round_plan(struct campaign *campaign)
{
    const struct sweep *sweep = campaign->sweep;
    campaign->pending_count = 0;
    for (size_t run = 0; run < sweep->run_count; run++)
        if (is_ours(campaign, run) && run % sweep->seeds < campaign->wanted[run / sweep->seeds] &&
            !campaign->failed[run] && !run_folder_has(campaign->folder, run))
            campaign->pending[campaign->pending_count++] = run;
}

/* Of a combination all of whose wanted runs have ended. One with a failed run is left as it is. */
static void combination_decide(struct campaign *campaign, size_t combination)
{
    const struct sweep *sweep = campaign->sweep;
    const size_t first = combination * sweep->seeds;
    const size_t n = campaign->wanted[combination];
    size_t next = n;
    bool whole = true;
    for (size_t i = 0; i < n; i++)
        whole = whole && !campaign->failed[first + i];
    if (whole && is_ours(campaign, first))
        next = statistics_next_count(campaign->values + first, n, sweep->precision.half_width,
                                     sweep->seeds);
    campaign->wanted[combination] = next;
    campaign->decided[combination] = next == n;
}

/* False once nothing is left to run. */
static bool round_next(struct campaign *campaign)
{
    bool more = false;
    for (size_t c = 0; c < campaign->combinations; c++) {
        if (!campaign->decided[c])
            combination_decide(campaign, c);
        more = more || !campaign->decided[c];
    }
    return more;
}

static bool rounds_run(struct campaign *campaign, const char *runs_path, struct error *error)
{
    char late[PATH_MAX + 128];
    (void)snprintf(late, sizeof late, "interrupted; finished runs are in %s; go on with --resume",
                   runs_path);
    const int stop = guard_defer_stop(late);
    do {
        round_plan(campaign);
        const size_t jobs = campaign->pending_count;
        const size_t workers =
            campaign->options->jobs < jobs ? (size_t)campaign->options->jobs : jobs;
        struct farm farm = {.jobs = jobs,
                            .workers = workers > 0 ? workers : 1,
                            .hold_ms = campaign->options->hold_ms,
                            .stops = stop >= 0,
                            .stop = stop,
                            .context = campaign,
                            .work = work,
                            .publish = publish,
                            .collect = collect,
                            .progress = progress};
        const bool good = farm_run(&farm, error);
        run_folder_tidy(campaign->folder);
        if (!good)
            return false;
        campaign->ended_before += jobs;
    } while (round_next(campaign));
    return true;
}

/* ---- Before and after ------------------------------------------------------------------------ */

static bool campaign_prepare(struct campaign *campaign, struct error *error)
{
    const struct sweep *sweep = campaign->sweep;
    const bool precise = sweep->precision.given;
    campaign->combinations = sweep->run_count / sweep->seeds;
    campaign->wanted = calloc(campaign->combinations + 1, sizeof *campaign->wanted);
    campaign->decided = calloc(campaign->combinations + 1, sizeof *campaign->decided);
    campaign->failed = calloc(sweep->run_count + 1, sizeof *campaign->failed);
    campaign->pending = calloc(sweep->run_count + 1, sizeof *campaign->pending);
    if (precise)
        campaign->values = calloc(sweep->run_count + 1, sizeof *campaign->values);
    if (campaign->wanted == NULL || campaign->decided == NULL || campaign->failed == NULL ||
        campaign->pending == NULL || (precise && campaign->values == NULL))
        return error_run(error, "out of memory for %zu runs", sweep->run_count);
    for (size_t c = 0; c < campaign->combinations; c++) {
        campaign->wanted[c] = precise ? sweep->precision.first_seeds : sweep->seeds;
        campaign->decided[c] = !precise;
    }
    return true;
}

static struct run_folder *folder_open(const struct campaign *campaign, const char *path,
                                      struct error *error)
{
    const struct campaign_options *options = campaign->options;
    struct run_folder *folder = run_folder_open(path, &campaign->facts,
                                                options->resume    ? RUNS_RESUME
                                                : options->restart ? RUNS_RESTART
                                                                   : RUNS_NEW,
                                                error);
    if (folder != NULL && run_folder_damaged(folder) > 0)
        (void)fprintf(stderr,
                      "%s: files that are damaged or cut short: %zu; their runs are done again\n",
                      path, run_folder_damaged(folder));
    return folder;
}

/* What earlier calls found of the figure that must become precise. */
static bool values_recall(struct campaign *campaign, struct error *error)
{
    bool good = true;
    for (size_t run = 0; good && campaign->values != NULL && run < campaign->sweep->run_count;
         run++)
        good = !run_folder_has(campaign->folder, run) || value_note(campaign, run, error);
    return good;
}

static size_t runs_expected(const struct campaign *campaign)
{
    size_t expected = 0;
    for (size_t run = 0; run < campaign->sweep->run_count; run++)
        expected += is_ours(campaign, run) &&
                    run % campaign->sweep->seeds < campaign->wanted[run / campaign->sweep->seeds];
    return expected;
}

/* Whether the results file is of this sweep and shard. */
static bool is_of_sweep(const struct campaign *campaign, const struct sweep_facts *facts)
{
    return strcmp(facts->identity, campaign->facts.identity) == 0 &&
           facts->shard == campaign->facts.shard && facts->shards == campaign->facts.shards;
}

/* Whether results that lack `missing` runs may have the name. */
static bool may_replace(const struct campaign *campaign, size_t missing)
{
    const char *out = campaign->options->out;
    if (missing == 0 || access(out, F_OK) != 0)
        return true;
    struct results *older = results_load(out, NULL);
    const bool may = older != NULL && is_of_sweep(campaign, &older->sweep) &&
                     older->sweep.missing > 0 && older->sweep.missing >= missing;
    results_free(older);
    return may;
}

/* Adds to the error where the finished runs are. */
static void error_complete(const struct campaign *campaign, const char *runs_path, bool written,
                           struct error *error)
{
    const struct error first = *error;
    const size_t finished = run_folder_count(campaign->folder);
    const char *out = campaign->options->out;
    char note[PATH_MAX + 64] = "";
    if (written)
        (void)snprintf(note, sizeof note, " and %s", out);
    else if (access(out, F_OK) == 0)
        (void)snprintf(note, sizeof note, ", and %s is as it was", out);
    if (finished > 0)
        (void)error_run(error, "%s; %zu finished runs are in %s%s; go on with --resume",
                        first.message, finished, runs_path, note);
}

/* How a sweep ended that ran to its end but is not whole. */
static bool failures_tell(const struct campaign *campaign, size_t expected, struct error *error)
{
    if (campaign->failures == 0)
        return error_input(error, "%s: no run falls to shard %" PRIu64 "/%" PRIu64,
                           campaign->sweep->path, campaign->options->shard,
                           campaign->options->shards);
    if (run_folder_count(campaign->folder) == 0)
        return error_run(error, "all %zu runs failed; the first: %s", campaign->failures,
                         campaign->first_failure.message);
    return error_run(error, "%zu of %zu runs failed; the first: %s", campaign->failures, expected,
                     campaign->first_failure.message);
}

/* What has finished is kept, whatever ended the rest; the first error is the one to tell. Returns
 * whether the sweep is whole; `*written`: the results file is. */
static bool campaign_finish(struct campaign *campaign, bool farmed, bool *written,
                            struct error *error)
{
    const size_t expected = runs_expected(campaign);
    struct error closing = {0};
    struct error *fault = farmed ? error : &closing;
    bool good = !campaign->store_broken && assemble(campaign, true, fault);
    const size_t kept = store_run_count(campaign->store);
    size_t missing = expected > kept ? expected - kept : 0;
    if (missing == 0 && !farmed)
        missing = 1;
    const bool writes = good && kept > 0 && may_replace(campaign, missing);
    if (writes) {
        campaign->facts.missing = missing;
        good = store_set_sweep(campaign->store, &campaign->facts, fault);
    }
    if (writes && good) {
        *written = good = store_finish(campaign->store, fault);
        campaign->store = NULL;
    }
    if (*written)
        (void)printf("%zu of %zu runs are in %s\n", kept, expected, campaign->options->out);
    if (!farmed || !good)
        return false;
    return expected > 0 && missing == 0 ? true : failures_tell(campaign, expected, error);
}

/* Whether an earlier call wrote everything: 1; 0: not; -1: an error. */
static int results_there(const struct campaign *campaign, struct error *error)
{
    const struct campaign_options *options = campaign->options;
    if (!options->resume || run_folder_count(campaign->folder) > 0 ||
        access(options->out, F_OK) != 0)
        return 0;
    struct results *results = results_load(options->out, error);
    if (results == NULL)
        return -1;
    const struct sweep_facts facts = results->sweep;
    const size_t runs = results->run_count;
    const bool ours = is_of_sweep(campaign, &facts);
    results_free(results);
    if (!ours) {
        (void)error_input(error,
                          "%s: holds the results of another sweep, shard or version of esgsim; "
                          "give another --out, or leave out --resume to write it anew",
                          options->out);
        return -1;
    }
    if (facts.missing > 0)
        return 0;
    (void)printf("%zu of %zu runs are in %s\n", runs, runs, options->out);
    return 1;
}

/* With the folder open. */
static bool campaign_farm(struct campaign *campaign, const char *runs_path, struct error *error)
{
    const size_t before = run_folder_count(campaign->folder);
    bool written = false;
    if (before > 0 && !campaign->options->quiet)
        (void)fprintf(stderr, "going on: %zu runs had finished\n", before);
    bool farmed = values_recall(campaign, error) && assemble(campaign, false, error);
    meter_start(&campaign->meter, "runs", campaign->options->quiet);
    farmed = farmed && rounds_run(campaign, runs_path, error);
    meter_end(&campaign->meter);
    const bool whole = campaign_finish(campaign, farmed, &written, error);
    if (!whole && error != NULL)
        error_complete(campaign, runs_path, written, error);
    return whole;
}

/* The results file is locked all the while, and the folder with it. */
static bool campaign_work(struct campaign *campaign, const char *runs_path, struct error *error)
{
    bool whole = false;
    campaign->store = store_create(campaign->options->out, error);
    if (campaign->store != NULL)
        campaign->folder = folder_open(campaign, runs_path, error);
    if (campaign->folder != NULL) {
        const int there = results_there(campaign, error);
        whole = there > 0 || (there == 0 && campaign_farm(campaign, runs_path, error));
        run_folder_close(campaign->folder, whole || run_folder_count(campaign->folder) == 0);
    }
    store_abandon(campaign->store);
    return whole;
}

/* Versions before this one kept finished runs in a file. */
static bool journal_check(const struct campaign_options *options, const char *target,
                          struct error *error)
{
    static const char magic[] = "esgsim journal";
    char *path = NULL, head[sizeof magic] = "";
    if (asprintf(&path, "%s.journal", target) < 0)
        return error_run(error, "out of memory for the sweep");
    FILE *file = fopen(path, "r");
    const bool there =
        file != NULL && fgets(head, sizeof head, file) != NULL && strcmp(head, magic) == 0;
    if (file != NULL)
        (void)fclose(file);
    bool good = true;
    if (there && options->restart)
        (void)unlink(path);
    else if (there)
        good = error_input(error,
                           "%s: holds finished runs in the format of an earlier version of esgsim; "
                           "finish the sweep with that version, or discard them with --restart",
                           path);
    free(path);
    return good;
}

/* What would be run; with a precision, at least. */
static bool runs_print(const struct campaign *campaign)
{
    const struct sweep *sweep = campaign->sweep;
    for (size_t run = 0; run < sweep->run_count; run++)
        if (is_ours(campaign, run) && run % sweep->seeds < campaign->wanted[run / sweep->seeds])
            (void)printf("run %zu: %s seed=%" PRIu64 "\n", run, sweep->runs[run].label,
                         sweep->runs[run].seed);
    (void)printf("%zu runs of %zu combinations%s\n", runs_expected(campaign),
                 campaign->combinations,
                 sweep->precision.given ? ", and more until each interval is narrow enough" : "");
    return true;
}

bool campaign_run(const struct sweep *sweep, const struct campaign_options *options,
                  struct error *error)
{
    struct campaign campaign = {
        .sweep = sweep,
        .options = options,
        .facts = {.shard = options->shard, .shards = options->shards, .runs = sweep->run_count}};
    char *target = atomic_file_target(options->out, error), *runs_path = NULL;
    bool good = target != NULL && (options->dry_run || journal_check(options, target, error));
    if (good && asprintf(&runs_path, "%s.runs", target) < 0) {
        runs_path = NULL;
        good = error_run(error, "out of memory for the sweep");
    }
    good = good && campaign_prepare(&campaign, error) &&
           plans_check(sweep, campaign.facts.identity, error) &&
           (options->dry_run ? runs_print(&campaign) : campaign_work(&campaign, runs_path, error));
    free(target);
    free(runs_path);
    free(campaign.wanted);
    free(campaign.decided);
    free(campaign.failed);
    free(campaign.pending);
    free(campaign.values);
    return good;
}
