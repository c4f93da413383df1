/* esgsim claims: what published systems are known for, run and judged.
 *
 * The file of claims names a sweep for each claim. The command loads all sweeps and finds every
 * claim's runs in them before it runs any, so that a mistake is reported at once.
 */
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "plots/gnuplot.h"
#include "results/expect/claim.h"
#include "sim/base/atomic_file.h"
#include "sim/base/text.h"
#include "sim/base/unfinished.h"
#include "sim/cli/picture.h"
#include "sim/run/guard.h"
#include "sim/run/sweep_runner.h"
#include "sim/run/sweep_runner_plan.h"
#include "sim/run/worker_pool.h"
#include "workloads/load/json_include.h"

struct options {
    const char *file;
    const char *out; /* folder; NULL: a temporary one */
    struct picture_style style;
    uint64_t jobs;
    double decision_timeout;
    bool json;
    bool details;
    bool dry_run;
};

static const struct cli_option claims_table[] = {
    {"--jobs", "N", "worker processes at a time (default: the machine's cores)",
     CLI_MEMBER(struct options, jobs), .least = 1, .most = 1024},
    {"--json", NULL, "one JSON object, with every source and note",
     CLI_MEMBER(struct options, json)},
    {"--details", NULL, "also print the source and the note of each claim",
     CLI_MEMBER(struct options, details)},
    {"--out", "DIR",
     "keep the results files, one per sweep, for `esgsim report`, and draw each claim: published-*",
     CLI_MEMBER(struct options, out)},
    CLI_STYLE(struct options, style),
    {"--file", "CLAIMS.json", "claims in place of results/paper/known-for.json",
     CLI_MEMBER(struct options, file)},
    {"--dry-run", NULL, "check everything, list the sweeps with their runs, and run nothing",
     CLI_MEMBER(struct options, dry_run)},
    GUARD_OPTION(struct options, decision_timeout),
    {.name = NULL},
};

/* ---- Selecting claims ------------------------------------------------------------------------ */

/* Removes the claims of other systems, if any is named. */
static bool claims_select(struct expectations *claims, char **systems, size_t count,
                          struct error *error)
{
    struct expectation *list = claims->list;
    bool selected[1000] = {false};
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t c = 0; c < claims->count; c++)
            if (strcasecmp(list[c].system, systems[i]) == 0)
                found = selected[c] = true;
        if (found)
            continue;
        const char *nearest =
            error_nearest_of(systems[i], &list[0].system, claims->count, sizeof *list);
        return error_input(error, "no claim of a system '%.80s'; %s%s", systems[i],
                           nearest != NULL ? "did you mean " : "the first is ",
                           nearest != NULL ? nearest : list[0].system);
    }
    for (size_t c = 0; c < claims->count; c++)
        if (count == 0 || selected[c])
            list[kept++] = list[c];
    claims->count = kept;
    return true;
}

/* ---- The sweeps ------------------------------------------------------------------------------ */

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
    char *path = json_include_find_operand(claim->sweep);
    struct sweep *sweep = sweep_load(path != NULL ? path : claim->sweep, NULL, 0, &fault);
    if (sweep == NULL)
        (void)error_input(error, "%s.sweep: %s", claim->file, fault.message);
    free(path);
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
    struct results results = {.path = (char *)claims->list[first].sweep};
    struct arena *arena = arena_create();
    results.runs = arena_allocate(arena, sweep->run_count, sizeof *results.runs);
    bool good = true;
    for (size_t run = 0; good && run < sweep->run_count; run += sweep->seeds)
        good = preview_add(arena, sweep, run, &results, error);
    struct report *report = good ? report_build(&results) : NULL;
    for (size_t c = first; good && c < claims->count; c++) {
        struct estimate ours;
        if (first_of_sweep(claims, c) == first)
            good = claim_estimate(report, &claims->list[c], &ours, error);
    }
    report_free(report);
    arena_destroy(arena);
    return good;
}

/* Checks all sweeps; with `print` lists them. */
static bool sweeps_check(const struct expectations *claims, bool print, struct error *error)
{
    bool good = true;
    size_t sweeps = 0;
    size_t runs = 0;
    for (size_t c = 0; good && c < claims->count; c++) {
        if (first_of_sweep(claims, c) != c)
            continue;
        struct sweep *sweep = sweep_open(&claims->list[c], error);
        good = sweep != NULL && sweep_preview(claims, c, sweep, error);
        if (good && print)
            (void)printf("%5zu runs  %s\n", sweep->run_count, claims->list[c].sweep);
        if (good) {
            sweeps++;
            runs += sweep->run_count;
        }
        sweep_free(sweep);
    }
    if (good && print)
        (void)printf("%5zu runs of %zu sweeps for %zu claims\n", runs, sweeps, claims->count);
    return good;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* FOLDER/NAME.h5 for the sweep PATH/NAME.json. */
static void results_path(const char *folder, const char *sweep, char *path, size_t size)
{
    const char *name = file_name(sweep);
    (void)snprintf(path, size, "%s/%.*s.h5", folder, (int)strcspn(name, "."), name);
}

static bool sweep_judge(const struct expectations *claims, size_t first, const char *path,
                        struct estimate *ours, struct error *error)
{
    struct results *results = results_load(path, error);
    struct report *report = results == NULL ? NULL : report_build(results);
    bool good = report != NULL;
    for (size_t c = first; good && c < claims->count; c++)
        if (first_of_sweep(claims, c) == first)
            good = claim_estimate(report, &claims->list[c], &ours[c], error);
    report_free(report);
    results_free(results);
    return good;
}

static bool sweeps_run(const struct options *options, bool quiet, const struct expectations *claims,
                       const char *folder, struct estimate *ours, struct error *error)
{
    bool good = true;
    for (size_t c = 0; good && c < claims->count; c++) {
        char path[PATH_MAX];
        if (first_of_sweep(claims, c) != c)
            continue;
        results_path(folder, claims->list[c].sweep, path, sizeof path);
        const struct sweep_runner_options runner = {.out = path,
                                                    .jobs = options->jobs,
                                                    .shard = 1,
                                                    .shards = 1,
                                                    .restart = true,
                                                    .quiet = quiet,
                                                    .internal = true,
                                                    .hold_ms = WORKER_POOL_HOLD_MS,
                                                    .decision_timeout = options->decision_timeout};
        struct sweep *sweep = sweep_open(&claims->list[c], error);
        if (sweep != NULL && !quiet)
            (void)fprintf(text_messages(), "%s: %zu runs\n", claims->list[c].sweep,
                          sweep->run_count);
        good = sweep != NULL && sweep_runner_run(sweep, &runner, error) &&
               sweep_judge(claims, c, path, ours, error);
        sweep_free(sweep);
    }
    return good;
}

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    (void)remove(path);
    return 0;
}

/* Runs the sweeps in the folder of --out, or in a temporary one that is removed. */
static bool claims_run(const struct options *options, bool quiet, const struct expectations *claims,
                       struct estimate *ours, struct error *error)
{
    if (options->out != NULL) {
        struct figure_list list = {.folder = options->out, .style = options->style};
        (void)mkdir(options->out, 0777);
        const bool good = gnuplot_check(error) &&
                          sweeps_run(options, quiet, claims, options->out, ours, error) &&
                          plot_claims(claims, ours, &list, error) && plot_draw(&list, "svg", error);
        figure_list_clear(&list);
        return good;
    }
    char *folder = temporary_folder_create("esgsim-claims", error);
    if (folder == NULL)
        return false;
    const bool good = sweeps_run(options, quiet, claims, folder, ours, error);
    (void)nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    temporary_folder_remove(folder);
    return good;
}

static bool run(int argc, char **argv, bool quiet, struct error *error)
{
    static const char shipped[] = "results/paper/known-for.json";
    struct options options = {.file = shipped, .decision_timeout = GUARD_TIMEOUT_DEFAULT};
    if (!cli_parse(&command_claims, &argc, argv, &options, error))
        return false;
    const size_t systems = (size_t)argc - 1;
    struct expectations *claims = expectations_load(options.file, EXPECTATION_CLAIMS, error);
    if (claims == NULL)
        return false;
    struct arena *arena = arena_create();
    struct estimate *ours = arena_allocate(arena, claims->count, sizeof *ours);
    bool good = claims_select(claims, argv + 1, systems, error) &&
                sweeps_check(claims, options.dry_run, error);
    if (!options.json && !options.dry_run)
        text_begin();
    if (good && !options.dry_run)
        good = claims_run(&options, quiet, claims, ours, error) &&
               (options.json ? cli_print_json(claims_json(claims, ours), error)
                             : claims_text(claims, ours, options.details, stdout, error));
    arena_destroy(arena);
    expectations_free(claims);
    return good;
}

const struct command command_claims = {
    .name = "claims",
    .summary = "test the best-known claims of published systems: the published figure and ours",
    .help = "Runs a small sweep for each claim, and judges its 95 % interval over the seeds:\n"
            "  self-check    the value that a closed form or the policy's definition gives\n"
            "  real          the value that was measured on real machines\n"
            "  size          the published effect within a factor of 1.5, or its sign only\n"
            "  sign          the direction of the published effect alone\n"
            "Contradicted: the opposite direction, or another value in the first two groups. Not "
            "shown: neither. One column is our mean divided by the published effect; 1 within a "
            "published range. Each row names the one mechanism in which its two sides differ.\n"
            "\n"
            "Example: esgsim claims Clockwork Nexus --details\n",
    .run = run,
    .operands = "[SYSTEM…]",
    .options = claims_table,
};
