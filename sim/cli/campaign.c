#include "sim/cli/campaign.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/journal.h"
#include "results/statistics.h"
#include "results/store.h"
#include "sim/cli/guard.h"
#include "sim/cli/meter.h"
#include "sim/cli/modules.h"
#include "sim/cli/runner.h"
#include "sim/farm.h"
#include "sim/version.h"
#include "traces/atomic_file.h"
#include "workloads/loading.h"

struct campaign {
    const struct sweep *sweep;
    const struct campaign_options *options;
    char identity[JOURNAL_IDENTITY + 1]; /* of the sweep */
    struct journal *journal;
    struct store *store;
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

struct plan {
    struct experiment *experiment;
    const struct policy *policy;
    double *values;
};

static void plan_clear(struct plan *plan)
{
    free(plan->values);
    experiment_free(plan->experiment);
}

static bool plan_load(const struct sweep *sweep, size_t run, struct plan *plan, struct error *error)
{
    *plan = (struct plan){.experiment = sweep_experiment(sweep, run, error)};
    if (plan->experiment == NULL)
        return false;
    struct error fault = {0};
    plan->policy = runner_policy(plan->experiment, &plan->values, &fault);
    if (plan->policy != NULL)
        return true;
    plan_clear(plan);
    (void)sweep_fault(sweep, run, &fault, error);
    return false;
}

static bool label_run(const struct sweep *sweep, const struct plan *plan, struct run_facts *facts,
                      struct error *error)
{
    char label[POLICY_LABEL];
    modules_label(sweep, plan->experiment, plan->policy, plan->values, label);
    free(facts->policy_label);
    facts->policy_label = strdup(label);
    return facts->policy_label != NULL || error_run(error, "out of memory for a run's label");
}

/* In the worker process. */
static bool work(void *context, size_t job, struct blob *blob, struct error *error)
{
    const struct campaign *campaign = context;
    const size_t run = campaign->pending[job];
    struct plan plan;
    guard_enter_worker(farm_fail);
    guard_watch_callbacks(campaign->options->decision_timeout);
    if (!plan_load(campaign->sweep, run, &plan, error))
        return false;
    struct run_rows rows = {0};
    struct recorder recorder = run_rows_recorder(&rows, plan.experiment->record);
    struct simulation_result result;
    struct run_facts *facts = run_facts_create(plan.experiment, plan.policy, plan.values,
                                               campaign->sweep->runs[run].label, error);
    bool good =
        facts != NULL && label_run(campaign->sweep, &plan, facts, error) &&
        runner_execute(plan.experiment, plan.policy, plan.values, &recorder, NULL, &result, error);
    if (good) {
        facts->position = run;
        good = run_pack(blob, facts, &result, &rows, error);
        simulation_result_clear(&result);
    }
    run_facts_free(facts);
    run_rows_clear(&rows);
    plan_clear(&plan);
    return good;
}

/* ---- From the journal into the results file ------------------------------------------------- */

static bool is_ours(const struct campaign *campaign, size_t run)
{
    const struct sweep *sweep = campaign->sweep;
    const size_t unit = sweep->precision.given ? run / sweep->seeds : run;
    return unit % campaign->options->shards == campaign->options->shard - 1;
}

static bool store_from_journal(struct campaign *campaign, size_t run, struct error *error)
{
    struct blob blob = {0};
    bool good = journal_read(campaign->journal, run, &blob, error) &&
                store_add_packed(campaign->store, blob.bytes, blob.size, error);
    blob_clear(&blob);
    campaign->store_broken = !good;
    return good;
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
        if (journal_has(campaign->journal, run)) {
            if (!store_from_journal(campaign, run, error))
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

static bool value_note(struct campaign *campaign, size_t run, const void *bytes, size_t size,
                       struct error *error)
{
    struct run_facts *facts = NULL;
    struct simulation_result result;
    struct run_rows rows;
    if (!run_unpack(bytes, size, &facts, &result, &rows, error))
        return false;
    const struct metric *metric = metric_find(campaign->sweep->precision.metric);
    if (metric != NULL)
        campaign->values[run] = metric_value(metric, &result.overall, &result.run);
    run_facts_free(facts);
    run_rows_clear(&rows);
    simulation_result_clear(&result);
    return true;
}

static bool collect(void *context, size_t job, const void *bytes, size_t size,
                    const struct error *failure, struct error *error)
{
    struct campaign *campaign = context;
    const size_t run = campaign->pending[job];
    if (failure == NULL)
        return journal_append(campaign->journal, run, bytes, size, error) &&
               (campaign->values == NULL || value_note(campaign, run, bytes, size, error)) &&
               assemble(campaign, false, error);
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
    /* A sync that fails here fails again with the next run, which tells it. */
    (void)journal_sync(campaign->journal, NULL);
    meter_update(&campaign->meter, campaign->ended_before + ended, campaign->ended_before + jobs);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static void round_plan(struct campaign *campaign)
{
    const struct sweep *sweep = campaign->sweep;
    campaign->pending_count = 0;
    for (size_t run = 0; run < sweep->run_count; run++)
        if (is_ours(campaign, run) && run % sweep->seeds < campaign->wanted[run / sweep->seeds] &&
            !campaign->failed[run] && !journal_has(campaign->journal, run))
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

static bool rounds_run(struct campaign *campaign, const char *journal_path, struct error *error)
{
    char late[PATH_MAX + 128];
    (void)snprintf(late, sizeof late, "interrupted; finished runs are in %s; go on with --resume",
                   journal_path);
    const int stop = guard_defer_stop(late);
    do {
        round_plan(campaign);
        const size_t jobs = campaign->pending_count;
        const size_t workers =
            campaign->options->jobs < jobs ? (size_t)campaign->options->jobs : jobs;
        struct farm farm = {.jobs = jobs,
                            .workers = workers > 0 ? workers : 1,
                            .unordered = true,
                            .stops = stop >= 0,
                            .stop = stop,
                            .context = campaign,
                            .work = work,
                            .collect = collect,
                            .progress = progress};
        if (!farm_run(&farm, error))
            return false;
        campaign->ended_before += jobs;
    } while (round_next(campaign));
    return true;
}

/* ---- Before and after ------------------------------------------------------------------------ */

struct row {
    char hash[TEXT_HASH + 1];
    size_t run;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a;
    const struct row *right = b;
    int order = strcmp(left->hash, right->hash);
    return order != 0 ? order : (left->run > right->run) - (left->run < right->run);
}

static bool rows_check(const struct sweep *sweep, struct row *rows, size_t count,
                       struct error *error)
{
    qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 1; i < count; i++)
        if (strcmp(rows[i - 1].hash, rows[i].hash) == 0)
            return error_input(error,
                               "%s: the matrix gives one configuration twice: \"%s\" and \"%s\"; "
                               "take one out",
                               sweep->base_path, sweep->runs[rows[i - 1].run].label,
                               sweep->runs[rows[i].run].label);
    return true;
}

/* All that decides the tables but the runs' own configurations. */
static bool identity_begin(const struct sweep *sweep, struct blob *text)
{
    bool good = blob_put_text(text, version_number()) && blob_put_text(text, version_commit()) &&
                blob_put_u64(text, sweep->run_count) && blob_put_u64(text, sweep->seeds) &&
                blob_put_text(text, sweep->precision.metric) &&
                blob_put(text, &sweep->precision.half_width, sizeof(double)) &&
                blob_put_u64(text, sweep->precision.first_seeds);
    for (size_t seed = 0; good && seed < sweep->seeds && seed < sweep->run_count; seed++)
        good = blob_put_u64(text, sweep->runs[seed].seed);
    return good;
}

/* What the run is displayed as belongs to the sweep's identity: merged shards are labelled alike.
 */
static bool plan_name(const struct sweep *sweep, const struct plan *plan, struct modules *modules,
                      struct blob *text, struct error *error)
{
    char label[POLICY_LABEL];
    modules_label(sweep, plan->experiment, plan->policy, plan->values, label);
    if (!modules_note(modules, plan->experiment, plan->policy, plan->values, label, error))
        return false;
    return (blob_put_text(text, label) && blob_put_text(text, plan->experiment->setting_label)) ||
           error_run(error, "out of memory for the sweep");
}

/* Loads one run of each combination, so that a mistake in the last one is told at once and not
 * after the others have run; and no two may be the same, or the results would hold one run twice.
 */
static bool sweep_check(struct campaign *campaign, struct error *error)
{
    const struct sweep *sweep = campaign->sweep;
    struct row *rows = calloc(campaign->combinations + 1, sizeof *rows);
    struct modules *modules = modules_create(sweep, error);
    struct blob text = {0};
    if (rows == NULL || modules == NULL) {
        free(rows);
        modules_free(modules);
        (void)error_run(error, "out of memory for the sweep");
        return false;
    }
    bool good = identity_begin(sweep, &text) || error_run(error, "out of memory for the sweep");
    for (size_t c = 0; good && c < campaign->combinations; c++) {
        struct plan plan;
        const size_t run = c * sweep->seeds;
        good = plan_load(sweep, run, &plan, error);
        if (!good)
            break;
        memcpy(rows[c].hash, plan.experiment->hash, sizeof rows[c].hash);
        rows[c].run = run;
        good =
            (blob_put_text(&text, rows[c].hash) && blob_put_text(&text, sweep->runs[run].label) &&
             blob_put_text(&text, sweep->runs[run].setting_name)) ||
            error_run(error, "out of memory for the sweep");
        good = good && plan_name(sweep, &plan, modules, &text, error);
        plan_clear(&plan);
    }
    good = good && modules_check_labels(modules, error);
    modules_free(modules);
    good = good && rows_check(sweep, rows, campaign->combinations, error);
    if (good)
        hash_bytes((const char *)text.bytes, text.size, campaign->identity);
    blob_clear(&text);
    free(rows);
    return good;
}

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

/* The shard is part of the journal's identity. */
static struct journal *shard_journal(const struct campaign *campaign, const char *path,
                                     struct error *error)
{
    const struct campaign_options *options = campaign->options;
    char text[JOURNAL_IDENTITY + 64];
    char identity[JOURNAL_IDENTITY + 1];
    int length = snprintf(text, sizeof text, "%s %" PRIu64 "/%" PRIu64, campaign->identity,
                          options->shard, options->shards);
    hash_bytes(text, (size_t)length, identity);
    struct journal *journal = journal_open(path, identity, campaign->sweep->run_count,
                                           options->resume    ? JOURNAL_RESUME
                                           : options->restart ? JOURNAL_RESTART
                                                              : JOURNAL_NEW,
                                           error);
    if (journal != NULL && journal_discarded(journal) > 0)
        (void)fprintf(stderr,
                      "%s: %zu bytes are damaged or cut short; the runs in them are done again\n",
                      path, journal_discarded(journal));
    return journal;
}

/* What the journal holds of the figure that must become precise. */
static bool values_recall(struct campaign *campaign, struct error *error)
{
    bool good = true;
    for (size_t run = 0; good && campaign->values != NULL && run < campaign->sweep->run_count;
         run++) {
        struct blob blob = {0};
        if (!journal_has(campaign->journal, run))
            continue;
        good = journal_read(campaign->journal, run, &blob, error) &&
               value_note(campaign, run, blob.bytes, blob.size, error);
        blob_clear(&blob);
    }
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

static bool sweep_note(struct campaign *campaign, size_t missing, struct error *error)
{
    struct sweep_facts facts = {.shard = campaign->options->shard,
                                .shards = campaign->options->shards,
                                .runs = campaign->sweep->run_count,
                                .missing = missing};
    memcpy(facts.identity, campaign->identity, sizeof facts.identity);
    return store_set_sweep(campaign->store, &facts, error);
}

/* Whether the results file is of this sweep and shard. */
static bool is_of_sweep(const struct campaign *campaign, const struct sweep_facts *facts)
{
    return strcmp(facts->identity, campaign->identity) == 0 &&
           facts->shard == campaign->options->shard && facts->shards == campaign->options->shards;
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
static void error_complete(const struct campaign *campaign, const char *journal_path, bool written,
                           struct error *error)
{
    const struct error first = *error;
    const size_t finished = journal_count(campaign->journal);
    const char *out = campaign->options->out;
    char note[PATH_MAX + 64] = "";
    if (written)
        (void)snprintf(note, sizeof note, " and %s", out);
    else if (access(out, F_OK) == 0)
        (void)snprintf(note, sizeof note, ", and %s is as it was", out);
    if (finished > 0)
        (void)error_run(error, "%s; %zu finished runs are in %s%s; go on with --resume",
                        first.message, finished, journal_path, note);
}

/* How a sweep ended that ran to its end but is not whole. */
static bool failures_tell(const struct campaign *campaign, size_t expected, struct error *error)
{
    if (campaign->failures == 0)
        return error_input(error, "%s: no run falls to shard %" PRIu64 "/%" PRIu64,
                           campaign->sweep->path, campaign->options->shard,
                           campaign->options->shards);
    if (journal_count(campaign->journal) == 0)
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
    if (writes)
        good = sweep_note(campaign, missing, fault);
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
static int results_there(const struct campaign *campaign, const char *journal_path,
                         struct error *error)
{
    const struct campaign_options *options = campaign->options;
    if (access(journal_path, F_OK) == 0 || access(options->out, F_OK) != 0)
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

/* With the journal open. */
static bool campaign_farm(struct campaign *campaign, const char *journal_path, struct error *error)
{
    const size_t before = journal_count(campaign->journal);
    bool written = false;
    if (before > 0 && !campaign->options->quiet)
        (void)fprintf(stderr, "going on: %zu runs had finished\n", before);
    bool farmed = values_recall(campaign, error) && assemble(campaign, false, error);
    meter_start(&campaign->meter, "runs", campaign->options->quiet);
    farmed = farmed && rounds_run(campaign, journal_path, error);
    meter_end(&campaign->meter);
    const bool whole = campaign_finish(campaign, farmed, &written, error);
    if (!whole && error != NULL)
        error_complete(campaign, journal_path, written, error);
    const bool closed = journal_close(
        campaign->journal, whole || journal_count(campaign->journal) == 0, whole ? error : NULL);
    return whole && closed;
}

/* The results file is locked all the while, and its journal with it. */
static bool campaign_work(struct campaign *campaign, const char *journal_path, struct error *error)
{
    campaign->store = store_create(campaign->options->out, error);
    if (campaign->store == NULL)
        return false;
    const int there = campaign->options->resume ? results_there(campaign, journal_path, error) : 0;
    bool good = there > 0;
    if (there == 0) {
        campaign->journal = shard_journal(campaign, journal_path, error);
        good = campaign->journal != NULL && campaign_farm(campaign, journal_path, error);
    }
    store_abandon(campaign->store);
    return good;
}

bool campaign_run(const struct sweep *sweep, const struct campaign_options *options,
                  struct error *error)
{
    struct campaign campaign = {.sweep = sweep, .options = options};
    char *target = atomic_file_target(options->out, error), *journal_path = NULL;
    if (target != NULL && asprintf(&journal_path, "%s.journal", target) < 0) {
        journal_path = NULL;
        (void)error_run(error, "out of memory for the sweep");
    }
    free(target);
    bool good = journal_path != NULL && campaign_prepare(&campaign, error) &&
                sweep_check(&campaign, error) && campaign_work(&campaign, journal_path, error);
    free(journal_path);
    free(campaign.wanted);
    free(campaign.decided);
    free(campaign.failed);
    free(campaign.pending);
    free(campaign.values);
    return good;
}
