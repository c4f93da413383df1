#include "sim/cli/sweep_resume.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/version.h"

/* Why a finished run is done again. */
enum why { WHY_NOT, WHY_MODULE, WHY_PROGRAM, WHY_RECORD, WHY_CONFIGURATION, WHYS };

struct sweep_resume {
    const struct sweep *sweep;
    const struct plan_cell *cells;
    const struct sweep_facts *facts;
    struct hsearch_data runs; /* by hash, and by label and seed: 1 + index */
    char **names;             /* its keys, two per run; NULL: not filled */
    unsigned char *why;       /* enum why, per run */
    char program[128];        /* that wrote a run which is done again because of it */
};

struct sweep_resume *sweep_resume_create(const struct sweep *sweep, const struct plan_cell *cells,
                                         const struct sweep_facts *facts, struct error *error)
{
    struct sweep_resume *resume = calloc(1, sizeof *resume);
    if (resume != NULL) {
        *resume = (struct sweep_resume){.sweep = sweep, .cells = cells, .facts = facts};
        resume->why = calloc(sweep->run_count + 1, sizeof *resume->why);
    }
    if (resume != NULL && resume->why != NULL)
        return resume;
    (void)error_run(error, "out of memory for %zu runs", sweep->run_count);
    sweep_resume_free(resume);
    return NULL;
}

void sweep_resume_free(struct sweep_resume *resume)
{
    if (resume == NULL)
        return;
    for (size_t i = 0; resume->names != NULL && i < 2 * resume->sweep->run_count; i++)
        free(resume->names[i]);
    if (resume->names != NULL)
        hdestroy_r(&resume->runs);
    free(resume->names);
    free(resume->why);
    free(resume);
}

/* ---- Finding --------------------------------------------------------------------------------- */

static char *name_by_label(const char *label, uint64_t seed)
{
    char *name = NULL;
    return asprintf(&name, "%s\n%" PRIu64, label, seed) < 0 ? NULL : name;
}

static void name_add(struct sweep_resume *resume, char **place, char *name, size_t run)
{
    ENTRY *entry = NULL;
    *place = name;
    if (name != NULL)
        (void)hsearch_r((ENTRY){.key = name, .data = (void *)(uintptr_t)(run + 1)}, ENTER, &entry,
                        &resume->runs);
}

/* A run whose experiment cannot be loaded has no name, and is thus done again. */
static void names_fill(struct sweep_resume *resume)
{
    const struct sweep *sweep = resume->sweep;
    resume->names = calloc(2 * sweep->run_count + 1, sizeof *resume->names);
    if (resume->names != NULL && hcreate_r(4 * sweep->run_count + 1, &resume->runs) == 0) {
        free(resume->names);
        resume->names = NULL;
    }
    for (size_t run = 0; resume->names != NULL && run < sweep->run_count; run++) {
        if (!plan_is_ours(sweep, resume->cells, resume->facts->shard, resume->facts->shards, run))
            continue;
        struct experiment *experiment = sweep_experiment(sweep, run, NULL);
        if (experiment != NULL)
            name_add(resume, &resume->names[2 * run], strdup(experiment->hash), run);
        experiment_free(experiment);
        name_add(resume, &resume->names[2 * run + 1],
                 name_by_label(sweep->runs[run].label, sweep->runs[run].seed), run);
    }
}

static size_t name_find(struct sweep_resume *resume, char *name)
{
    ENTRY *entry = NULL;
    if (name == NULL || resume->names == NULL ||
        hsearch_r((ENTRY){.key = name}, FIND, &entry, &resume->runs) == 0)
        return NO_RUN;
    return (size_t)(uintptr_t)entry->data - 1;
}

/* Compares what a run was made by with this program and this sweep. */
static enum why why_again(struct sweep_resume *resume, const struct run_source *source, size_t row,
                          size_t run)
{
    char *version = run_source_text(source, row, "version");
    char *sources = run_source_text(source, row, "sources");
    char *recorded = run_source_text(source, row, "recorded");
    enum why why = WHY_NOT;
    if (version == NULL || sources == NULL || strcmp(version, version_number()) != 0 ||
        strcmp(sources, version_sources()) != 0) {
        why = WHY_PROGRAM;
        (void)snprintf(resume->program, sizeof resume->program, "%.40s, sources %.40s",
                       version == NULL ? "unknown" : version,
                       sources == NULL ? "unknown" : sources);
    } else if (recorded == NULL ||
               strcmp(recorded, resume->cells[run / resume->sweep->seeds].recorded) != 0) {
        why = WHY_RECORD;
    }
    free(version);
    free(sources);
    free(recorded);
    return why;
}

static size_t find(void *context, const struct run_source *source, size_t row, bool *related)
{
    struct sweep_resume *resume = context;
    const struct results *results = run_source_results(source);
    struct summary_row *summary = &results->runs[row];
    if (resume->names == NULL)
        names_fill(resume);
    enum why why = WHY_NOT;
    size_t run = name_find(resume, summary->hash);
    if (run != NO_RUN) {
        why = why_again(resume, source, row, run);
    } else {
        char *name = name_by_label(summary->label, summary->seed);
        run = name_find(resume, name);
        free(name);
        if (run == NO_RUN)
            return NO_RUN;
        why = strcmp(summary->policy_sha256,
                     resume->cells[run / resume->sweep->seeds].policy_sha256) != 0
                  ? WHY_MODULE
                  : WHY_CONFIGURATION;
    }
    /* Alone, runs of other configurations are another sweep with the same labels. */
    *related = *related || why != WHY_CONFIGURATION;
    resume->why[run] = (unsigned char)why;
    return why == WHY_NOT ? run : NO_RUN;
}

struct run_finder sweep_resume_finder(struct sweep_resume *resume)
{
    return (struct run_finder){resume, find};
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* Writes "the module of policy a, b changed": policies of the runs that are done again. */
static void modules_tell(const struct sweep_resume *resume, const bool *again, FILE *out)
{
    const size_t combinations = resume->sweep->run_count / resume->sweep->seeds;
    size_t told = 0;
    (void)fputs("the module of policy", out);
    for (size_t c = 0; c < combinations; c++) {
        bool earlier = !again[c];
        for (size_t i = 0; i < c && !earlier; i++)
            earlier = again[i] && strcmp(resume->cells[i].policy, resume->cells[c].policy) == 0;
        if (!earlier)
            (void)fprintf(out, "%s %s", told++ > 0 ? "," : "", resume->cells[c].policy);
    }
    (void)fputs(" changed", out);
}

static void why_tell(const struct sweep_resume *resume, const struct run_folder *folder,
                     enum why why, bool *again, FILE *out)
{
    size_t count = 0;
    memset(again, 0, resume->sweep->run_count * sizeof *again);
    for (size_t run = 0; run < resume->sweep->run_count; run++)
        if (resume->why[run] == why && !run_folder_has(folder, run)) {
            count++;
            again[run / resume->sweep->seeds] = true;
        }
    if (count == 0)
        return;
    (void)fprintf(out, "; %zu %s done again: ", count, count == 1 ? "is" : "are");
    if (why == WHY_MODULE)
        modules_tell(resume, again, out);
    else if (why == WHY_PROGRAM)
        (void)fprintf(out, "the program was %s and is %s, sources %s", resume->program,
                      version_number(), version_sources());
    else
        (void)fputs(why == WHY_RECORD ? "what is recorded changed" : "their configuration changed",
                    out);
}

void sweep_resume_tell(const struct sweep_resume *resume, const struct run_folder *folder,
                       size_t expected, char *text, size_t size)
{
    const size_t kept = run_folder_count(folder);
    bool *again = calloc(resume->sweep->run_count + 1, sizeof *again);
    FILE *out = fmemopen(text, size, "w");
    text[0] = '\0';
    if (out != NULL && (kept > 0 || resume->names != NULL)) {
        (void)fprintf(out, "kept %zu of %zu runs", kept, kept > expected ? kept : expected);
        for (enum why why = WHY_MODULE; again != NULL && why < WHYS; why++)
            why_tell(resume, folder, why, again, out);
    }
    if (out != NULL)
        (void)fclose(out);
    free(again);
}
