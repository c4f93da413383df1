/* esgsim claims: what published systems are known for, run and judged. */
#include <ftw.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

#include "plots/gnuplot.h"
#include "results/expect/claim.h"
#include "sim/base/text.h"
#include "sim/base/unfinished.h"
#include "sim/cli/picture.h"
#include "sim/run/guard.h"
#include "sim/run/claim_sweeps.h"
#include "sim/run/worker_pool.h"

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
    const struct sweep_runner_options runner = {.jobs = options->jobs,
                                                .shard = 1,
                                                .shards = 1,
                                                .restart = true,
                                                .quiet = quiet,
                                                .internal = true,
                                                .hold_ms = WORKER_POOL_HOLD_MS,
                                                .decision_timeout = options->decision_timeout};
    if (options->out != NULL) {
        struct figure_list list = {.folder = options->out, .style = options->style};
        (void)mkdir(options->out, 0777);
        const bool good = gnuplot_check(error) &&
                          claim_sweeps_run(claims, &runner, options->out, ours, error) &&
                          plot_claims(claims, ours, &list, error) && plot_draw(&list, "svg", error);
        figure_list_clear(&list);
        return good;
    }
    char *folder = temporary_folder_create("esgsim-claims", error);
    if (folder == NULL)
        return false;
    const bool good = claim_sweeps_run(claims, &runner, folder, ours, error);
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
                claim_sweeps_check(claims, options.dry_run ? stdout : NULL, error);
    if (!options.json && !options.dry_run)
        text_begin();
    if (good && !options.dry_run)
        good = claims_run(&options, quiet, claims, ours, error) &&
               (options.json ? cli_print_json(claims_json(claims, ours), error)
                             : claims_text(claims, ours, options.details, stdout, error));
    arena_destroy(arena);
    arena_home_free(claims);
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
