#include "sim/run/claim_sweeps.h"

#include <limits.h>
#include <string.h>

#include "results/expect/claim.h"
#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"
#include "sim/base/text.h"
#include "sim/run/sweep_runner_plan.h"
#include "workloads/load/json_include.h"

/* The first claim of the same sweep, which stands for the sweep. */
static size_t first_of_sweep(const struct expectations *claims, size_t claim)
{
    size_t first = 0;
    while (strcmp(claims->list[first].sweep, claims->list[claim].sweep) != 0)
        first++;
    return first;
}

static struct sweep *sweep_open(const struct expectation *claim, struct error *error)
{
    struct error fault = {0};
    struct arena *arena = arena_create();
    struct sweep *sweep = sweep_load(json_include_operand(arena, claim->sweep), NULL, 0, &fault);
    if (sweep == NULL)
        (void)error_input(error, "%s.sweep: %s", claim->file, fault.message);
    arena_destroy(arena);
    return sweep;
}

/* Adds a run of the sweep, without figures, and its applications. */
static bool preview_add(struct arena *arena, const struct sweep *sweep, size_t run,
                        struct results *results, struct error *error)
{
    struct plan plan;
    if (!plan_load(sweep, run, &plan, error))
        return false;
    struct summary_row *row = &results->runs[results->run_count++];
    *row = (struct summary_row){.seed = plan.run.experiment->seed};
    store_name_summary(row, plan.metadata);
    const struct workload *workload = &plan.run.experiment->workload;
    arena_reserve(arena, &results->applications,
                  results->application_count + workload->application_count,
                  sizeof *results->applications);
    for (size_t a = 0; a < workload->application_count; a++) {
        struct application_row *added = &results->applications[results->application_count++];
        *added = (struct application_row){.seed = row->seed};
        column_copy_text(added->hash, sizeof added->hash, row->hash);
        column_copy_text(added->application, sizeof added->application,
                         workload->applications[a].name);
    }
    plan_clear(&plan);
    return true;
}

/* Finds the runs of all claims of the sweep, before it is run. */
static bool sweep_preview(const struct expectations *claims, size_t first,
                          const struct sweep *sweep, struct error *error)
{
    struct arena *arena = arena_create();
    struct results results = {.arena = arena, .path = (char *)claims->list[first].sweep};
    results.runs = arena_allocate(arena, sweep->run_count, sizeof *results.runs);
    bool good = true;
    for (size_t run = 0; good && run < sweep->run_count; run += sweep->seeds)
        good = preview_add(arena, sweep, run, &results, error);
    good = good && results_link(&results, error);
    struct report *report = good ? report_build(&results) : NULL;
    for (size_t c = first; good && c < claims->count; c++) {
        struct estimate ours;
        if (first_of_sweep(claims, c) == first)
            good = claim_estimate(report, &claims->list[c], &ours, error);
    }
    arena_home_free(report);
    arena_destroy(arena);
    return good;
}

bool claim_sweeps_check(const struct expectations *claims, FILE *out, struct error *error)
{
    bool good = true;
    size_t sweeps = 0;
    size_t runs = 0;
    for (size_t c = 0; good && c < claims->count; c++) {
        if (first_of_sweep(claims, c) != c)
            continue;
        struct sweep *sweep = sweep_open(&claims->list[c], error);
        good = sweep != NULL && sweep_preview(claims, c, sweep, error);
        if (good && out != NULL)
            (void)fprintf(out, "%5zu runs  %s\n", sweep->run_count, claims->list[c].sweep);
        if (good) {
            sweeps++;
            runs += sweep->run_count;
        }
        sweep_free(sweep);
    }
    if (good && out != NULL)
        (void)fprintf(out, "%5zu runs of %zu sweeps for %zu claims\n", runs, sweeps, claims->count);
    return good;
}

/* FOLDER/NAME.h5 for the sweep PATH/NAME.json. */
static void results_path(const char *folder, const char *sweep, char *path, size_t size)
{
    const char *name = file_name(sweep);
    (void)snprintf(path, size, "%s/%.*s.h5", folder, (int)strcspn(name, "."), name);
}

static bool sweep_judge(const struct expectations *claims, size_t first, const char *path,
                        struct estimate *ours, struct error *error)
{
    struct report *report = judged_open(path, NULL, error);
    bool good = report != NULL;
    for (size_t c = first; good && c < claims->count; c++)
        if (first_of_sweep(claims, c) == first)
            good = claim_estimate(report, &claims->list[c], &ours[c], error);
    judged_close(report);
    return good;
}

bool claim_sweeps_run(const struct expectations *claims, const struct sweep_runner_options *options,
                      const char *folder, struct estimate *ours, struct error *error)
{
    bool good = true;
    for (size_t c = 0; good && c < claims->count; c++) {
        char path[PATH_MAX];
        if (first_of_sweep(claims, c) != c)
            continue;
        results_path(folder, claims->list[c].sweep, path, sizeof path);
        struct sweep_runner_options runner = *options;
        struct sweep *sweep = sweep_open(&claims->list[c], error);
        runner.out = path;
        if (sweep != NULL && !options->quiet)
            (void)fprintf(text_messages(), "%s: %zu runs\n", claims->list[c].sweep,
                          sweep->run_count);
        good = sweep != NULL && sweep_runner_run(sweep, &runner, error) &&
               sweep_judge(claims, c, path, ours, error);
        sweep_free(sweep);
    }
    return good;
}
