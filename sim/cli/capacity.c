/* esgsim capacity: the greatest or the least value of a key at which a metric holds. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "plots/plot.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/run/capacity_runner.h"
#include "sim/run/guard.h"
#include "sim/run/run_process.h"

struct options {
    const char *metric;
    double at_least, at_most; /* NAN: not given */
    bool least, greatest, details, json;
    const char *out; /* folder; NULL: no figure */
    struct capacity_question question;
    struct cli_names policies;
    struct cli_settings settings;
};

/* ---- Options --------------------------------------------------------------------------------- */

#define LARGEST 1e15
enum { SEEDS_FIRST = 10, SEEDS_MOST = 100 };

static const struct cli_option capacity_table[] = {
    {"--over", "KEY",
     "the numeric key to vary, dotted: arrivals.load, arrivals.rate_per_s, arrivals.scale_rate, "
     "training.arrivals.per_hour, cluster.invokers.0.count, slo.factor, policy.params.k. "
     "sim/KEYS.md has every key",
     CLI_MEMBER(struct options, question.key), .required = true},
    {"--metric", "NAME",
     "the metric, a column of /summary or of /training (default slo_hit_rate); results/COLUMNS.md "
     "has them",
     CLI_MEMBER(struct options, metric)},
    {"--at-least", "X",
     "the metric's mean must be at least X, in its unit: 0.95 for a rate of 95 %",
     CLI_MEMBER(struct options, at_least), .low = -LARGEST, .high = LARGEST},
    {"--at-most", "X", "or at most X, e.g. for latency_ms_p99, or for queueing_s_mean of trainings",
     CLI_MEMBER(struct options, at_most), .low = -LARGEST, .high = LARGEST},
    {"--policies", "A,B,…",
     "policies to compare, by name or file; parameters may follow, as in \"esg headroom=0,fifo\" "
     "(default: the "
     "experiment's policy with its own)",
     CLI_MEMBER(struct options, policies), .most = CAPACITY_POLICIES},
    {"--seeds", "N",
     "seeds at each value at first, counted from the experiment's seed (default 10)",
     CLI_MEMBER(struct options, question.seeds), .least = 2, .most = CAPACITY_SEEDS},
    {"--max-seeds", "N",
     "most seeds per value; seeds are added while the interval is wider than the tolerance "
     "(default 100, or --seeds if that is more)",
     CLI_MEMBER(struct options, question.most_seeds), .least = 2, .most = CAPACITY_SEEDS},
    {"--greatest", NULL,
     "find the greatest value at which the limit is met (default for arrivals.load, rate_per_s, "
     "scale_rate, users and per_hour)",
     CLI_MEMBER(struct options, greatest)},
    {"--least", NULL,
     "find the least such value (default for cluster. and slo.; for other keys, and with both "
     "--low and --high, the answers at the ends decide)",
     CLI_MEMBER(struct options, least)},
    {"--low", "X",
     "lower end of the range (default: the experiment's value, or 1 if it has none, is halved "
     "until the answer changes, at most to a 1024th)",
     CLI_MEMBER(struct options, question.low), .low = 0, .high = LARGEST},
    {"--high", "X", "upper end of the range (default: the value is doubled, at most to 1024 times)",
     CLI_MEMBER(struct options, question.high), .low = 0, .high = LARGEST},
    {"--tolerance", "T",
     "greatest width of the interval from the last value that surely holds to the first that "
     "surely fails, as a share of its middle (default 0.04); 1 for whole numbers",
     CLI_MEMBER(struct options, question.tolerance), .low = 1e-6, .high = 0.5},
    {"--set", "KEY=VALUE", "override any other key of the experiment, as for run",
     CLI_MEMBER(struct options, settings), .repeated = true},
    {"--jobs", "N", "worker processes at a time (default: the machine's cores)",
     CLI_MEMBER(struct options, question.jobs), .least = 1, .most = 1024},
    GUARD_OPTION(struct options, question.decision_timeout),
    {"--out", "DIR",
     "draw the figure sustained in DIR, with the interval of each policy, and write its data as "
     "CSV",
     CLI_MEMBER(struct options, out)},
    {"--details", NULL, "print each value that was visited, too",
     CLI_MEMBER(struct options, details)},
    {"--json", NULL, "print one JSON object, with the metric of every seed",
     CLI_MEMBER(struct options, json)},
    {.name = NULL},
};

/* Not one of those that only reports compute. */
static bool metric_choose(const char *name, const struct metric **metric, struct error *error)
{
    const size_t count = metric_count + training_metric_count;
    for (size_t i = 0; i < count; i++) {
        *metric = &metrics[i];
        if (strcmp(metrics[i].name, name) == 0)
            return true;
    }
    const char *near = error_nearest_of(name, &metrics[0].name, count, sizeof *metrics);
    return error_input(error, "--metric: '%.80s' is unknown%s%s%s; results/COLUMNS.md lists them",
                       name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'" : "");
}

static bool options_check(struct options *options, struct error *error)
{
    struct capacity_question *question = &options->question;
    const bool at_least = !isnan(options->at_least);
    if (at_least == !isnan(options->at_most))
        return cli_usage_error(&command_capacity, error,
                               at_least ? "--at-least and --at-most exclude one another"
                                        : "--at-least X or --at-most X is missing");
    if (options->least && options->greatest)
        return cli_usage_error(&command_capacity, error,
                               "--least and --greatest exclude one another");
    if (strcmp(question->key, "seed") == 0)
        return error_input(error, "--over seed: every value is run with several seeds (--seeds)");
    for (size_t i = 0; i < options->settings.count && options->policies.count > 0; i++)
        if (strcmp(options->settings.list[i].key, "policy.name") == 0)
            return error_input(error, "--set policy.name: --policies names the policies");
    question->at_most = !at_least;
    question->threshold = at_least ? options->at_least : options->at_most;
    question->direction = options->least      ? CAPACITY_LEAST
                          : options->greatest ? CAPACITY_GREATEST
                          : !isnan(question->low) && !isnan(question->high)
                              ? CAPACITY_EITHER
                              : capacity_key_direction(question->key);
    question->policies = options->policies.list;
    question->policy_count = options->policies.count;
    question->overrides = options->settings.list;
    question->override_count = options->settings.count;
    if (question->most_seeds == 0)
        question->most_seeds = question->seeds < SEEDS_MOST ? SEEDS_MOST : question->seeds;
    if (question->most_seeds < question->seeds)
        return error_input(error, "--max-seeds %" PRIu64 " is below --seeds %" PRIu64,
                           question->most_seeds, question->seeds);
    char fault[METRIC_FAULT];
    return metric_choose(options->metric, &question->metric, error) &&
           (metric_allows(question->metric, question->threshold, fault) ||
            error_input(error, "--at-%s %g: %s", at_least ? "least" : "most", question->threshold,
                        fault));
}

/* ---- Figure ---------------------------------------------------------------------------------- */

static void curve_row(const struct capacity_answer *answer, size_t row, const char *key,
                      struct sheet *sheet)
{
    const struct capacity_curve *curve = &answer->curves[row - 1];
    const struct capacity_search *search = &curve->search;
    const struct capacity_interval is = capacity_search_interval(search);
    const bool greatest = search->range.direction == CAPACITY_GREATEST;
    const bool found = is.verdict == CAPACITY_FOUND;
    const bool upper = !found && (is.verdict == CAPACITY_ALL) == greatest;
    if (!found && search->range.direction == CAPACITY_EITHER)
        return;
    sustained_row(sheet, &(struct sustained){
                             .panel = 1,
                             .row = row,
                             .mark = 1,
                             .panel_title = answer->setting,
                             .key = key,
                             .contender = curve->policy,
                             .mark_title = "",
                             .value = found ? is.crossing
                                            : search->points[upper ? search->count - 1 : 0].value,
                             .low = greatest ? is.holds : is.fails,
                             .high = greatest ? is.fails : is.holds,
                             .ends = upper - !(found || upper),
                             .look = palette_policy(curve->policy, 0)});
}

static bool draw(const char *folder, const struct capacity_question *question,
                 const struct capacity_answer *answer, struct error *error)
{
    struct figure_list list = {.folder = folder};
    struct sheet sheet = {0};
    const char *caption = arena_text(
        answer->arena,
        "Where mean %s crosses %g; line: from the last value that surely holds to the first that "
        "surely fails, by %g %% intervals over %" PRIu64 " to %" PRIu64
        " seeds. Arrow: no crossing up to there. Latency profile: %s.",
        question->metric->name, question->threshold, 100 * CAPACITY_CONFIDENCE, question->seeds,
        question->most_seeds, answer->evidence[0] != '\0' ? answer->evidence : "none");
    bool good = sheet_begin(&sheet, &list, "sustained", "", caption, SUSTAINED, error);
    for (size_t i = 0; good && i < answer->curve_count; i++)
        curve_row(answer, i + 1, question->key, &sheet);
    good = sheet_end(&sheet, good, error) && plot_draw(&list, "svg", error);
    figure_list_clear(&list);
    return good;
}

static bool capacity_command(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {.metric = "slo_hit_rate",
                              .at_least = NAN,
                              .at_most = NAN,
                              .question = {.low = NAN,
                                           .high = NAN,
                                           .tolerance = 0.04,
                                           .seeds = SEEDS_FIRST,
                                           .decision_timeout = GUARD_TIMEOUT_DEFAULT,
                                           .quiet = quiet}};
    struct capacity_answer answer;
    if (!cli_parse(&command_capacity, &argc, argv, &options, error) ||
        !options_check(&options, error))
        return false;
    options.question.path = argv[1];
    if (!options.json)
        text_begin();
    run_process_begin(options.question.decision_timeout);
    bool good =
        (options.out == NULL || (gnuplot_check(error) && cli_make_folder(options.out, error))) &&
        capacity_run(&options.question, &answer, error);
    if (good && options.out != NULL)
        good = draw(options.out, &options.question, &answer, error);
    if (good && options.json)
        good = cli_print_json(capacity_json(&options.question, &answer), error);
    else if (good)
        capacity_text(&options.question, &answer, options.details, stdout);
    capacity_answer_clear(&answer);
    return good;
}

const struct command command_capacity = {
    .name = "capacity",
    .summary = "find the greatest or least value of a key at which a metric meets a limit",
    .help = "Finds where the mean of a metric over the seeds crosses --at-least or --at-most, on "
            "common random numbers: every value and every policy is simulated with the same "
            "seeds. The answer is an interval. Its first end is the last value at which the "
            "condition surely holds: the whole 99 % interval of the mean meets the "
            "threshold. Its second end is the first value at which it surely fails: the whole "
            "interval misses it. Seeds are added until the interval is within --tolerance or "
            "--max-seeds are spent. Long runs need fewer seeds: a run should be long compared "
            "with the time in which its queues change. Without both --low and --high the search "
            "doubles and halves the experiment's value first. A mean need not be monotone, so "
            "--details prints all visited values, and a contradiction is reported.\n"
            "\n"
            "Examples: esgsim capacity workloads/experiments/strict-light.json --at-least 0.95 "
            "--over slo.factor --policies esg,fifo --set requests=1000\n"
            "          esgsim capacity EXP.json --over cluster.invokers.0.count --at-most 200 "
            "--metric latency_ms_p99\n"
            "          esgsim capacity TRAININGS.json --over training.arrivals.per_hour "
            "--at-most 3600 --metric queueing_s_mean\n",
    .run = capacity_command,
    .operands = "EXP.json",
    .options = capacity_table,
};
