/* esgsim validate: compares the simulator with queueing theory (sim/run/theory.h). */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "sim/base/json_write.h"
#include "sim/cli/cli.h"
#include "sim/run/theory.h"

static void print_row(const struct theory_check *check, const struct theory_outcome *outcome)
{
    const struct metric *metric = metric_find(check->metric);
    const double scale = metric->face.scale;
    char title[64];
    (void)snprintf(title, sizeof title, "%s%s", metric->face.title,
                   metric->type == COLUMN_U64 ? " / all" : "");
    printf("%-29s %-26s %11.5g %11.5g ± %-9.2g %s\n", check->name, title, scale * outcome->theory,
           scale * outcome->ours.mean, scale * outcome->ours.half_width, theory_verdict(outcome));
    fflush(stdout);
}

static bool print_json(const struct theory_outcome *outcomes, const struct theory_summary *summary,
                       size_t seeds, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(root, "checks");
    for (size_t i = 0; i < THEORY_CHECKS; i++) {
        cJSON *row = json_append(list);
        json_put(row, "check %s quantity %s unit %s experiment %s theory %g", theory_checks[i].name,
                 theory_checks[i].metric, metric_find(theory_checks[i].metric)->unit,
                 theory_checks[i].file, outcomes[i].theory);
        json_put(row, "simulated %g half_width_95 %g requests %g verdict %s", outcomes[i].ours.mean,
                 outcomes[i].ours.half_width, (double)outcomes[i].requests,
                 theory_verdict(&outcomes[i]));
    }
    json_put(root, "seeds %g outside %u wrong %u chance %g passed %hhd", (double)seeds,
             summary->outside, summary->wrong, summary->chance, summary->passed);
    return cli_print_json(root, error);
}

struct options {
    uint64_t seeds;
    bool json;
};

static const struct cli_option validate_table[] = {
    {"--json", NULL, "one JSON object instead of the table", CLI_MEMBER(struct options, json)},
    {"--seeds", "N", "independent runs of each check (default 10)",
     CLI_MEMBER(struct options, seeds), .least = 2, .most = THEORY_SEEDS_MOST},
    {.name = NULL},
};

static bool run_all(struct theory_outcome *outcomes, size_t seeds, bool json, bool quiet,
                    struct error *error)
{
    const bool show = !quiet && (json || isatty(STDERR_FILENO));
    if (!json)
        printf("%-29s %-26s %11s %11s ± 95 %%\n", "check", "quantity", "theory", "simulated");
    for (size_t i = 0; i < THEORY_CHECKS; i++) {
        if (show)
            fprintf(stderr, "%zu/%d %s\n", i + 1, (int)THEORY_CHECKS, theory_checks[i].name);
        if (!theory_run(i, seeds, &outcomes[i], error))
            return false;
        if (!json)
            print_row(&theory_checks[i], &outcomes[i]);
    }
    return true;
}

static bool validate_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct theory_outcome outcomes[THEORY_CHECKS];
    struct options options = {.seeds = 10};
    if (!cli_parse(&command_validate, &argc, argv, &options, error) ||
        !run_all(outcomes, options.seeds, options.json, quiet, error))
        return false;
    const struct theory_summary summary = theory_summarise(outcomes);
    if (options.json && !print_json(outcomes, &summary, options.seeds, error))
        return false;
    if (!options.json)
        printf("%u of %d outside their 95 %% interval (probability of as many by chance: %.2g), "
               "%u wrong; %" PRIu64 " seeds per check\n",
               summary.outside, (int)THEORY_CHECKS, summary.chance, summary.wrong, options.seeds);
    if (!summary.passed)
        return error_run(error,
                         "validate: the simulator disagrees with theory: %u of %d outside, "
                         "%u wrong",
                         summary.outside, (int)THEORY_CHECKS, summary.wrong);
    return true;
}

const struct command command_validate = {
    .name = "validate",
    .summary = "check the simulator against queueing theory",
    .help = "Each check simulates an experiment of workloads/experiments/theory/ and compares it "
            "with a closed form. \"outside\": the theoretical value is outside the 95 % "
            "interval, as expected in one of twenty checks. \"WRONG\": it is outside the "
            "interval with a joint level of 0.999 over all checks. Exit status 1 on any WRONG, "
            "or on more \"outside\" than chance explains (0.001).\n"
            "\n"
            "Example: esgsim validate --seeds 20\n",
    .run = validate_run,
    .options = validate_table,
};
