#include "sim/run/sweep_resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/text.h"
#include "sim/base/utf8.h"
#include "sim/base/version.h"

/* Why a finished run is done again, or is no run of the sweep. */
enum why { WHY_NOT, WHY_MODULE, WHY_PROGRAM, WHY_RECORD, WHY_STRANGER, WHYS };

struct taking {
    const struct plans *plans;
    struct run_folder *folder;
    struct plan_hash *known; /* runs of this sweep and shard, by hash; NULL: not filled */
    size_t known_count;
    size_t counts[WHYS]; /* finished runs */
    char reasons[WHYS][128];
    struct store *part; /* NULL: none is taken yet */
    size_t first;       /* run of that part */
    bool same;          /* a file is of this very sweep and shard, if only of its failures */
};

/* ---- Finding --------------------------------------------------------------------------------- */

static bool known_fill(struct taking *taking, struct error *error)
{
    const struct sweep *sweep = taking->plans->sweep;
    if (taking->known != NULL)
        return true;
    taking->known = arena_allocate(taking->plans->arena, sweep->run_count, sizeof *taking->known);
    for (size_t run = 0; run < sweep->run_count; run++) {
        if (!plans_have(taking->plans, run))
            continue;
        struct experiment *experiment = sweep_experiment(sweep, run, error);
        if (experiment == NULL)
            return false;
        struct plan_hash *known = &taking->known[taking->known_count++];
        memcpy(known->hash, experiment->hash, sizeof known->hash);
        known->run = run;
        experiment_free(experiment);
    }
    qsort(taking->known, taking->known_count, sizeof *taking->known, plan_hash_compare);
    return true;
}

/* Looks for the policy of a row that is not `known` with another module. */
static enum why stranger_why(struct taking *taking, const struct summary_row *row)
{
    for (size_t c = 0; row->policy_sha256[0] != '\0' && c < taking->plans->combinations; c++) {
        const struct plan_cell *cell = &taking->plans->cells[c];
        if (strcmp(cell->names.policy, row->policy) != 0 ||
            strcmp(cell->policy_sha256, row->policy_sha256) == 0)
            continue;
        (void)snprintf(taking->reasons[WHY_MODULE], sizeof taking->reasons[WHY_MODULE],
                       "the module of policy %s changed", cell->names.policy);
        return WHY_MODULE;
    }
    return WHY_STRANGER;
}

static enum why known_why(struct taking *taking, const struct run_source *source, size_t row,
                          size_t run)
{
    const struct plan_cell *cell = &taking->plans->cells[run / taking->plans->sweep->seeds];
    const char *sources = run_source_text(source, row, "sources");
    const char *recorded = run_source_text(source, row, "recorded");
    const enum why why = sources == NULL || strcmp(sources, version_sources()) != 0  ? WHY_PROGRAM
                         : recorded == NULL || strcmp(recorded, cell->recorded) != 0 ? WHY_RECORD
                                                                                     : WHY_NOT;
    (void)snprintf(taking->reasons[why], sizeof taking->reasons[why],
                   why == WHY_PROGRAM ? "the program changed, its sources were %.31s"
                                      : "what is recorded changed",
                   sources != NULL && utf8_is_name(sources) ? sources : "unknown");
    return why;
}

/* ---- Taking ---------------------------------------------------------------------------------- */

static bool run_take(struct taking *taking, struct run_source *source, size_t row, size_t run,
                     struct error *error)
{
    struct plan plan;
    if (!plan_load(taking->plans->sweep, run, &plan, error))
        return false;
    const bool good = store_copy_run(taking->part, source, row, plan.metadata, error);
    plan_clear(&plan);
    if (good)
        run_folder_note(taking->folder, run, taking->first);
    return good;
}

/* Takes what is kept of a file. One that cannot be read is an error if it `must` be. */
static bool file_take(struct taking *taking, const char *path, bool must, struct error *error)
{
    struct run_source *source = run_source_open(path, must ? error : NULL);
    if (source == NULL)
        return !must;
    const struct results *results = run_source_results(source);
    const struct sweep_metadata *metadata = &taking->plans->metadata;
    const bool ours =
        results->sweep.shard == metadata->shard && results->sweep.shards == metadata->shards;
    bool good = !ours || known_fill(taking, error), fits = false;
    taking->same = taking->same || sweep_metadata_equal(&results->sweep, metadata);
    for (size_t row = 0; ours && good && row < results->run_count; row++) {
        struct plan_hash wanted = {.run = 0};
        memcpy(wanted.hash, results->runs[row].hash, sizeof wanted.hash);
        const struct plan_hash *known =
            bsearch(&wanted, taking->known, taking->known_count, sizeof wanted, plan_hash_compare);
        const enum why why = known == NULL ? stranger_why(taking, &results->runs[row])
                                           : known_why(taking, source, row, known->run);
        taking->counts[why]++;
        if (why != WHY_NOT || run_folder_has(taking->folder, known->run))
            continue;
        if (taking->part == NULL) {
            taking->first = known->run;
            taking->part =
                run_folder_begin(taking->folder, known->run, taking->plans->swept, error);
        }
        fits = fits || (taking->part != NULL && store_reserve(taking->part, path, error));
        good = fits && run_take(taking, source, row, known->run, error);
    }
    run_source_close(source);
    return good;
}

/* Returns whether finished runs are of this sweep, or would be but for a reason that is told. */
static bool is_related(const struct taking *taking)
{
    return taking->same || run_folder_count(taking->folder) > 0 || taking->counts[WHY_MODULE] > 0 ||
           taking->counts[WHY_PROGRAM] > 0 || taking->counts[WHY_RECORD] > 0;
}

static void taken_tell(const struct taking *taking)
{
    const size_t kept = run_folder_count(taking->folder), expected = plans_wanted(taking->plans);
    const size_t rest = expected > kept ? expected - kept : 0;
    (void)fprintf(text_messages(), "kept %zu of %zu runs", kept, kept + rest);
    for (enum why why = WHY_MODULE; why < WHY_STRANGER; why++) {
        const size_t again = taking->counts[why] < rest ? taking->counts[why] : rest;
        if (again > 0)
            (void)fprintf(text_messages(), "; %zu %s done again: %s", again,
                          again == 1 ? "is" : "are", taking->reasons[why]);
    }
    if (taking->counts[WHY_STRANGER] > 0)
        (void)fprintf(text_messages(), "; %zu finished runs are not of this sweep",
                      taking->counts[WHY_STRANGER]);
    (void)fputc('\n', text_messages());
}

bool sweep_resume(const struct plans *plans, struct run_folder *folder, const char *out, bool quiet,
                  struct error *error)
{
    struct taking taking = {.plans = plans, .folder = folder};
    const char *path = run_folder_foreign(folder, 0);
    const bool alone = run_folder_count(folder) == 0 && path == NULL;
    const bool there = access(out, F_OK) == 0;
    bool good = true;
    for (size_t i = 0; good && (path = run_folder_foreign(folder, i)) != NULL; i++)
        good = file_take(&taking, path, true, error);
    if (good && there && (alone || is_related(&taking)))
        good = file_take(&taking, out, alone, error);
    if (good && there && alone && !is_related(&taking))
        good = error_input(error,
                           "%s: holds the results of another sweep or shard; give another --out, "
                           "or leave out --resume to write it anew",
                           out);
    if (good && taking.part != NULL)
        good = store_finish(taking.part, error);
    else
        store_abandon(taking.part);
    good = good && run_folder_settle(folder, is_related(&taking), error);
    if (good && !quiet && is_related(&taking))
        taken_tell(&taking);
    return good;
}
