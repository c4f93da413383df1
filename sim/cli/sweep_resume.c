#include "sim/cli/sweep_resume.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/version.h"
#include "workloads/sweep_keys.h"

#define NO_RUN SIZE_MAX

/* Why a finished run is done again. */
enum why { WHY_NOT, WHY_TAKEN, WHY_MODULE, WHY_PROGRAM, WHY_RECORD, WHYS };

struct taking {
    const struct sweep_resume *resume;
    struct hsearch_data runs; /* by hash, and by label and seed: 1 + index */
    char **names;             /* its keys, two per run; NULL: not filled */
    unsigned char *why;       /* enum why, per run */
    char program[32];         /* sources of another program */
    struct store *part;       /* NULL: none is taken yet */
    size_t first;             /* run of that part */
    bool related;
};

/* ---- Finding --------------------------------------------------------------------------------- */

static char *name_by_label(const char *label, uint64_t seed)
{
    char *name = NULL;
    return asprintf(&name, "%s\n%" PRIu64, label, seed) < 0 ? NULL : name;
}

static bool name_add(struct taking *taking, char *name, size_t run, size_t kind)
{
    ENTRY *entry = NULL;
    taking->names[2 * run + kind] = name;
    return name != NULL && hsearch_r((ENTRY){name, (void *)(uintptr_t)(run + 1)}, ENTER, &entry,
                                     &taking->runs) != 0;
}

static bool names_fill(struct taking *taking, struct error *error)
{
    const struct sweep_resume *resume = taking->resume;
    const struct sweep *sweep = resume->sweep;
    taking->names = calloc(2 * sweep->run_count + 1, sizeof *taking->names);
    taking->why = calloc(sweep->run_count + 1, sizeof *taking->why);
    bool good = taking->names != NULL && taking->why != NULL &&
                hcreate_r(4 * sweep->run_count + 1, &taking->runs) != 0;
    for (size_t run = 0; good && run < sweep->run_count; run++) {
        struct experiment *experiment = NULL;
        if (!plan_is_ours(sweep, resume->cells, resume->facts->shard, resume->facts->shards, run))
            continue;
        if ((experiment = sweep_experiment(sweep, run, error)) == NULL)
            return false;
        good = name_add(taking, strdup(experiment->hash), run, 0) &&
               name_add(taking, name_by_label(sweep->runs[run].label, experiment->seed), run, 1);
        experiment_free(experiment);
    }
    return good || error_run(error, "out of memory for %zu runs", sweep->run_count);
}

static size_t name_find(struct taking *taking, char *name)
{
    ENTRY *entry = NULL;
    const bool known =
        name != NULL && hsearch_r((ENTRY){.key = name}, FIND, &entry, &taking->runs) != 0;
    return known ? (size_t)(uintptr_t)entry->data - 1 : NO_RUN;
}

static bool text_is(const struct run_source *source, size_t row, const char *name,
                    const char *wanted, char *other, size_t size)
{
    char *text = run_source_text(source, row, name);
    const bool equal = text != NULL && strcmp(text, wanted) == 0;
    if (!equal && other != NULL)
        (void)snprintf(other, size, "%s", text == NULL ? "unknown" : text);
    free(text);
    return equal;
}

/* Returns the run of this sweep that row `row` is, and in `*why` whether it must be done again. */
static size_t run_find(struct taking *taking, const struct run_source *source, size_t row,
                       enum why *why)
{
    const struct sweep_resume *resume = taking->resume;
    struct summary_row *summary = &run_source_results(source)->runs[row];
    size_t run = name_find(taking, summary->hash);
    *why = WHY_NOT;
    if (run == NO_RUN) {
        char *name = name_by_label(summary->label, summary->seed);
        run = name_find(taking, name);
        free(name);
        *why = WHY_MODULE;
    } else if (!text_is(source, row, "sources", version_sources(), taking->program,
                        sizeof taking->program)) {
        *why = WHY_PROGRAM;
    } else if (!text_is(source, row, "recorded", resume->cells[run / resume->sweep->seeds].recorded,
                        NULL, 0)) {
        *why = WHY_RECORD;
    }
    /* Of another configuration is another run, even if the label is the same. */
    return run != NO_RUN && *why == WHY_MODULE &&
                   strcmp(summary->policy_sha256,
                          resume->cells[run / resume->sweep->seeds].policy_sha256) == 0
               ? NO_RUN
               : run;
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
    bool good = source != NULL && (taking->names != NULL || names_fill(taking, error)),
         fits = false;
    if (good && results->sweep.shard == resume->facts->shard &&
        results->sweep.shards == resume->facts->shards)
        for (size_t row = 0; good && row < results->run_count; row++) {
            enum why why = WHY_NOT;
            const size_t run = run_find(taking, source, row, &why);
            taking->related = taking->related || run != NO_RUN;
            if (run == NO_RUN || taking->why[run] == WHY_TAKEN ||
                run_folder_has(resume->folder, run))
                continue;
            taking->why[run] = why == WHY_NOT ? WHY_TAKEN : (unsigned char)why;
            good = why != WHY_NOT || run_take(taking, source, row, run, &fits, error);
        }
    run_source_close(source);
    return good;
}

static void taken_tell(const struct taking *taking, char *text, size_t size)
{
    const struct sweep_resume *resume = taking->resume;
    const size_t kept = run_folder_count(resume->folder);
    size_t counts[WHYS] = {0}, last[WHYS] = {0};
    for (size_t run = 0; taking->why != NULL && run < resume->sweep->run_count; run++) {
        counts[taking->why[run]]++;
        last[taking->why[run]] = run;
    }
    int used = snprintf(text, size, "kept %zu of %zu runs", kept,
                        kept > resume->expected ? kept : resume->expected);
    for (enum why why = WHY_MODULE; why < WHYS; why++)
        if (counts[why] > 0 && (size_t)used < size)
            used +=
                snprintf(text + used, size - (size_t)used, "; %zu %s done again: %s%s%s",
                         counts[why], counts[why] == 1 ? "is" : "are",
                         why == WHY_MODULE    ? "the module of policy "
                         : why == WHY_PROGRAM ? "the program changed, its sources were "
                                              : "what is recorded changed",
                         why == WHY_MODULE ? resume->cells[last[why] / resume->sweep->seeds].policy
                         : why == WHY_PROGRAM ? taking->program
                                              : "",
                         why == WHY_MODULE ? " changed" : "");
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
    for (size_t run = 0; good && taking.why != NULL && run < resume->sweep->run_count; run++)
        if (taking.why[run] == WHY_TAKEN)
            run_folder_note(resume->folder, run, taking.first);
    good = good && run_folder_settle(resume->folder, taking.related, error);
    taken_tell(&taking, text, size);
    for (size_t i = 0; taking.names != NULL && i < 2 * resume->sweep->run_count; i++)
        free(taking.names[i]);
    hdestroy_r(&taking.runs);
    free(taking.names);
    free(taking.why);
    return good;
}
