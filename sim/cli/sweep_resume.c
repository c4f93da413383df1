#include "sim/cli/sweep_resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/version.h"
#include "workloads/sweep_keys.h"

/* Why a finished run is done again. */
enum why { WHY_NOT, WHY_MODULE, WHY_PROGRAM, WHY_RECORD, WHYS };

struct known {
    char hash[TEXT_HASH + 1];
    size_t run;
};

struct taking {
    const struct sweep_resume *resume;
    struct known *known; /* runs of this sweep and shard, by hash; NULL: not filled */
    size_t known_count;
    bool *taken;         /* per run */
    size_t counts[WHYS]; /* finished runs */
    size_t strangers;    /* finished runs that are not of this sweep */
    const char *policy;  /* whose module changed */
    char program[32];    /* sources of another program */
    struct store *part;  /* NULL: none is taken yet */
    size_t first;        /* run of that part */
    bool related;
};

/* ---- Finding --------------------------------------------------------------------------------- */

static int compare_known(const void *a, const void *b)
{
    return strcmp(((const struct known *)a)->hash, ((const struct known *)b)->hash);
}

static bool known_fill(struct taking *taking, struct error *error)
{
    const struct sweep_resume *resume = taking->resume;
    const struct sweep *sweep = resume->sweep;
    taking->known = calloc(sweep->run_count + 1, sizeof *taking->known);
    taking->taken = calloc(sweep->run_count + 1, sizeof *taking->taken);
    if (taking->known == NULL || taking->taken == NULL)
        return error_run(error, "out of memory for %zu runs", sweep->run_count);
    for (size_t run = 0; run < sweep->run_count; run++) {
        if (!plan_is_ours(sweep, resume->cells, resume->facts->shard, resume->facts->shards, run))
            continue;
        struct experiment *experiment = sweep_experiment(sweep, run, error);
        if (experiment == NULL)
            return false;
        struct known *known = &taking->known[taking->known_count++];
        memcpy(known->hash, experiment->hash, sizeof known->hash);
        known->run = run;
        experiment_free(experiment);
    }
    qsort(taking->known, taking->known_count, sizeof *taking->known, compare_known);
    return true;
}

/* Returns whether the run's text attribute is `wanted`. Copies another one to `other`. */
static bool text_is(const struct run_source *source, size_t row, const char *name,
                    const char *wanted, char *other, size_t size)
{
    char *text = run_source_text(source, row, name);
    const bool equal = text != NULL && strcmp(text, wanted) == 0;
    if (!equal)
        (void)snprintf(other, size, "%s", text == NULL ? "unknown" : text);
    free(text);
    return equal;
}

/* Returns whether the sweep has the policy of a row, with another module. */
static bool module_changed(struct taking *taking, const struct summary_row *row)
{
    const struct sweep *sweep = taking->resume->sweep;
    for (size_t c = 0; row->policy_sha256[0] != '\0' && c < sweep->run_count / sweep->seeds; c++)
        if (strcmp(taking->resume->cells[c].policy, row->policy) == 0 &&
            strcmp(taking->resume->cells[c].policy_sha256, row->policy_sha256) != 0) {
            taking->policy = taking->resume->cells[c].policy;
            return true;
        }
    return false;
}

/* Returns the run of this sweep that row `row` is; NULL: none, or it must be done again. */
static const struct known *run_find(struct taking *taking, const struct run_source *source,
                                    size_t row)
{
    const struct sweep_resume *resume = taking->resume;
    const struct summary_row *summary = &run_source_results(source)->runs[row];
    struct known wanted = {.run = 0};
    memcpy(wanted.hash, summary->hash, sizeof wanted.hash);
    const struct known *known =
        bsearch(&wanted, taking->known, taking->known_count, sizeof wanted, compare_known);
    char other[TEXT_RECORDED];
    enum why why = WHY_NOT;
    if (known == NULL && !module_changed(taking, summary)) {
        taking->strangers++;
        return NULL;
    }
    if (known == NULL)
        why = WHY_MODULE;
    else if (!text_is(source, row, "sources", version_sources(), other, sizeof other))
        why = WHY_PROGRAM;
    else if (!text_is(source, row, "recorded",
                      resume->cells[known->run / resume->sweep->seeds].recorded, other,
                      sizeof other))
        why = WHY_RECORD;
    if (why == WHY_PROGRAM)
        (void)snprintf(taking->program, sizeof taking->program, "%.31s", other);
    taking->related = true;
    taking->counts[why]++;
    return why == WHY_NOT ? known : NULL;
}

/* ---- Taking ---------------------------------------------------------------------------------- */

static bool run_take(struct taking *taking, struct run_source *source, size_t row, size_t run,
                     bool *fits, struct error *error)
{
    const struct sweep_resume *resume = taking->resume;
    struct plan plan;
    const char *values[SWEEP_KEYS_LIMIT];
    if (taking->part == NULL) {
        taking->first = run;
        taking->part = run_folder_begin(resume->folder, run, error);
        if (taking->part == NULL || !store_set_swept(taking->part, resume->swept, error))
            return false;
    }
    *fits = *fits || store_reserve(taking->part, run_source_results(source)->path, error);
    if (!*fits || !plan_load(resume->sweep, run, &plan, error))
        return false;
    struct run_facts *facts = plan_facts(resume->sweep, run, &plan, values, error);
    const bool good = facts != NULL && store_copy_run(taking->part, source, row, facts, error);
    run_facts_free(facts);
    plan_clear(&plan);
    return good;
}

static bool file_take(struct taking *taking, const char *path, struct error *error)
{
    const struct sweep_resume *resume = taking->resume;
    struct run_source *source = run_source_open(path, error);
    const struct results *results = source == NULL ? NULL : run_source_results(source);
    bool good = source != NULL && (taking->known != NULL || known_fill(taking, error));
    bool fits = false;
    const bool ours = good && results->sweep.shard == resume->facts->shard &&
                      results->sweep.shards == resume->facts->shards;
    for (size_t row = 0; ours && good && row < results->run_count; row++) {
        const struct known *known = run_find(taking, source, row);
        if (known == NULL || taking->taken[known->run] ||
            run_folder_has(resume->folder, known->run))
            continue;
        taking->taken[known->run] = true;
        good = run_take(taking, source, row, known->run, &fits, error);
    }
    run_source_close(source);
    return good;
}

static void taken_tell(const struct taking *taking, char *text, size_t size)
{
    const size_t kept = run_folder_count(taking->resume->folder);
    const size_t wanted = taking->resume->expected > kept ? taking->resume->expected : kept;
    const struct {
        const char *before, *name, *after;
    } reasons[WHYS] = {
        [WHY_MODULE] = {"the module of policy ", taking->policy, " changed"},
        [WHY_PROGRAM] = {"the program changed, its sources were ", taking->program, ""},
        [WHY_RECORD] = {"what is recorded changed", "", ""}};
    int used = snprintf(text, size, "kept %zu of %zu runs", kept, wanted);
    for (enum why why = WHY_MODULE; why < WHYS; why++) {
        const size_t again =
            taking->counts[why] < wanted - kept ? taking->counts[why] : wanted - kept;
        if (again > 0 && (size_t)used < size)
            used += snprintf(text + used, size - (size_t)used, "; %zu %s done again: %s%s%s", again,
                             again == 1 ? "is" : "are", reasons[why].before, reasons[why].name,
                             reasons[why].after);
    }
    if (taking->strangers > 0 && (size_t)used < size)
        (void)snprintf(text + used, size - (size_t)used,
                       "; %zu finished runs are not of this sweep", taking->strangers);
    if (kept == 0 && !taking->related)
        text[0] = '\0';
}

bool sweep_resume(const struct sweep_resume *resume, char *text, size_t size, struct error *error)
{
    struct taking taking = {.resume = resume, .related = run_folder_count(resume->folder) > 0};
    const bool alone = !taking.related && run_folder_foreign(resume->folder, 0) == NULL;
    const char *path = NULL;
    bool good = true;
    for (size_t i = 0; good && (path = run_folder_foreign(resume->folder, i)) != NULL; i++)
        good = file_take(&taking, path, error);
    if (good && access(resume->out, F_OK) == 0)
        good = file_take(&taking, resume->out, alone ? error : NULL) || !alone;
    if (good && alone && !taking.related && access(resume->out, F_OK) == 0)
        good =
            error_input(error,
                        "%s: holds the results of another sweep or shard; give another --out, or "
                        "leave out --resume to write it anew",
                        resume->out);
    if (good && taking.part != NULL)
        good = store_finish(taking.part, error);
    else
        store_abandon(taking.part);
    for (size_t run = 0; good && taking.taken != NULL && run < resume->sweep->run_count; run++)
        if (taking.taken[run])
            run_folder_note(resume->folder, run, taking.first);
    good = good && run_folder_settle(resume->folder, taking.related, error);
    taken_tell(&taking, text, size);
    free(taking.known);
    free(taking.taken);
    return good;
}
