#include <math.h>
#include <stdio.h>

#include "plots/embed.h"
#include "results/compare/compare.h"
#include "results/expect/reproduction_check.h"
#include "results/page/tidy.h"
#include "results/page/verdict_table.h"
#include "results/report/curve.h"
#include "results/report/report.h"
#include "sim/base/atomic_file.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"

enum { FILES_MOST = 64 };
enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, FORMAT_TIDY };

struct options {
    char *const *files;
    size_t file_count;
    const char *reference_policy, *against, *paper, *out, *command;
    const char *over, *metric; /* NULL: the load, if it was swept; the default of the curves */
    double at_least, at_most;  /* NAN: not given */
    bool verdicts, details;
    int format;
};

static const struct cli_option report_table[] = {
    {"--format", "text|csv|json|html|tidy",
     "text tables (default); CSV with one line per figure; one object; a self-contained page with "
     "sortable tables and figures; or CSV with one row per run and one column per swept key and "
     "metric, from one or several results files",
     CLI_MEMBER(struct options, format)},
    {"--paper", "REF.json",
     "compare with published figures: for each figure every named policy in every named "
     "setting, and a verdict in one sentence",
     CLI_MEMBER(struct options, paper)},
    {"--over", "KEY",
     "print the metric for each value of KEY in the sweep, and the greatest value up to which the "
     "limit, if any, is met (default for a sweep with three or more values of arrivals.load, then "
     "without the curves, or of training.arrivals.per_hour)",
     CLI_MEMBER(struct options, over)},
    {"--metric", "NAME",
     "the metric of --over (default slo_hit_rate; jct_s_mean where only trainings run); "
     "results/COLUMNS.md lists them",
     CLI_MEMBER(struct options, metric)},
    {"--at-least", "X",
     "the limit, for the whole 95 % interval over the seeds, in the metric's unit (default 0.95 "
     "for slo_hit_rate, none for others)",
     CLI_MEMBER(struct options, at_least), .low = -1e300, .high = 1e300},
    {"--at-most", "X", "an upper limit instead, e.g. for jct_s_mean",
     CLI_MEMBER(struct options, at_most), .low = -1e300, .high = 1e300},
    {"--details", NULL,
     "also print the tables of every setting that curves or an overview summarise, and all pairs "
     "of --paper; CSV and JSON always have them",
     CLI_MEMBER(struct options, details)},
    {"--verdicts", NULL,
     "print only the overview and the verdicts on the figures of --paper, and which assumptions "
     "change them, as text, CSV or JSON; takes several results files",
     CLI_MEMBER(struct options, verdicts)},
    {"--reference", "POLICY",
     "compare with this policy instead of ESG, seed by seed; name it with all parameters that "
     "the sweep sets: \"esg k=10\"",
     CLI_MEMBER(struct options, reference_policy)},
    {"--against", "REAL.h5",
     "compare the simulation F.h5 with a replay of the same runs: both distributions, errors with "
     "intervals and limits, and their causes; both recorded with \"record\": \"all\". See "
     "results/PROOF.md",
     CLI_MEMBER(struct options, against)},
    {"--out", "FILE", "write to this file instead of standard output",
     CLI_MEMBER(struct options, out)},
    {"--command", "TEXT", "the command that made the results, shown in the page",
     CLI_MEMBER(struct options, command)},
    {.name = NULL},
};

/* The options that decide what the page shows, each with a blank before it; of the arena. */
static const char *options_text(const struct options *options, struct arena *arena)
{
    char *text = NULL;
    if (options->reference_policy != NULL)
        arena_append(arena, &text, " --reference \"%s\"", options->reference_policy);
    if (options->over != NULL)
        arena_append(arena, &text, " --over %s", options->over);
    if (options->metric != NULL)
        arena_append(arena, &text, " --metric %s", options->metric);
    if (!isnan(options->at_least))
        arena_append(arena, &text, " --at-least %g", options->at_least);
    if (!isnan(options->at_most))
        arena_append(arena, &text, " --at-most %g", options->at_most);
    arena_append(arena, &text, "%s", options->details ? " --details" : "");
    return text;
}

/* Prints the comparison, or the report if that is NULL. */
static bool print_to(const struct options *options, const struct report *report,
                     const struct comparison *against, FILE *out, struct error *error)
{
    bool (*const compared[])(const struct comparison *, FILE *, struct error *) = {
        compare_text, compare_csv, compare_json, compare_html};
    bool (*const prints[])(const struct report *, FILE *,
                           struct error *) = {report_text, report_csv, report_json};
    struct error fault = {0};
    bool printed = false;
    if (against != NULL)
        printed = options->format < FORMAT_TIDY && compared[options->format](against, out, &fault);
    else if (options->format < FORMAT_HTML)
        printed = prints[options->format](report, out, &fault);
    else
        printed = embed_page(&(struct page){.report = report,
                                            .paper = options->paper,
                                            .command = options->command,
                                            .options = options_text(options, report->arena)},
                             out, &fault);
    if (!printed && out != stdout && ferror(out))
        (void)error_run(error, "%s: %s", options->out, fault.message);
    else if (!printed)
        *error = fault;
    return printed;
}

static bool run_compare(const struct options *options, FILE *out, struct error *error)
{
    struct comparison *against = compare_load(options->files[0], options->against, error);
    const bool good = against != NULL && print_to(options, NULL, against, out, error);
    compare_free(against);
    return good;
}

static bool print_reports(const struct options *options, struct report *const *reports, FILE *out,
                          struct error *error)
{
    bool (*const verdicts[])(const struct report *const *, size_t, FILE *,
                             struct error *) = {verdicts_text, verdicts_csv, verdicts_json};
    const struct results *files[FILES_MOST];
    for (size_t i = 0; i < options->file_count; i++)
        files[i] = reports[i]->results;
    if (options->format == FORMAT_TIDY)
        return tidy_csv(files, options->file_count, out, error);
    if (options->verdicts)
        return verdicts[options->format]((const struct report *const *)reports, options->file_count,
                                         out, error);
    const struct curve_request request = {
        options->over, options->metric,
        isnan(options->at_most) ? options->at_least : options->at_most, !isnan(options->at_most)};
    reports[0]->details = options->details;
    reports[0]->compares = options->reference_policy != NULL;
    return report_show_curves(reports[0], &request, error) &&
           (options->reference_policy == NULL ||
            report_set_reference(reports[0], options->reference_policy, error)) &&
           print_to(options, reports[0], NULL, out, error);
}

static bool run_reports(const struct options *options, FILE *out, struct error *error)
{
    struct report *reports[FILES_MOST] = {NULL};
    struct expectations *expected = NULL;
    if (options->paper != NULL &&
        (expected = expectations_load(options->paper, EXPECTATION_FIGURES, error)) == NULL)
        return false;
    bool good = true;
    for (size_t i = 0; good && i < options->file_count; i++)
        good = (reports[i] = judged_open(options->files[i], expected, error)) != NULL;
    good = good && reports[0] != NULL && print_reports(options, reports, out, error);
    for (size_t i = 0; i < options->file_count; i++) {
        /* What a program that reads CSV or JSON may overlook. */
        if (good && reports[i]->incomplete != NULL && options->format != FORMAT_TEXT)
            (void)fprintf(text_messages(), "esgsim: %s: %s\n", options->files[i],
                          reports[i]->incomplete);
        judged_close(reports[i]);
    }
    arena_home_free(expected);
    return good;
}

/* Options that exclude or need one another. */
static bool options_check(const struct options *options, struct error *error)
{
    const bool tidy = options->format == FORMAT_TIDY, against = options->against != NULL;
    const bool paper = options->paper != NULL, reference = options->reference_policy != NULL;
    const bool shows = paper || options->verdicts || options->command != NULL || reference ||
                       options->over != NULL || options->details;
    const struct {
        bool wrong;
        const char *text;
    } rules[] = {{tidy && (against || shows || options->metric != NULL),
                  "--format tidy can be combined only with --out"},
                 {against && shows, "--against can be combined only with --format and --out"},
                 {options->verdicts && (!paper || options->format > FORMAT_JSON),
                  "--verdicts needs --paper, and prints text, csv or json"},
                 {!isnan(options->at_least) && !isnan(options->at_most),
                  "give --at-least or --at-most, not both"},
                 {reference && paper, "the figures of --paper compare ESG; leave out --reference"},
                 {options->file_count > 1 && !options->verdicts && !tidy,
                  "several results files need --verdicts or --format tidy"},
                 {options->file_count > FILES_MOST, "at most 64 results files"}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong)
            return cli_usage_error(&command_report, error, "%s", rules[i].text);
    return true;
}

static bool run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {.at_least = NAN, .at_most = NAN};
    if (!cli_parse(&command_report, &argc, argv, &options, error))
        return false;
    options.files = argv + 1;
    options.file_count = (size_t)argc - 1;
    if (!cli_check_output("--out", options.out, "the results file", options.files[0], error) ||
        !cli_check_output("--out", options.out, "--paper", options.paper, error) ||
        !cli_check_output("--out", options.out, "--against", options.against, error) ||
        !options_check(&options, error))
        return false;
    struct atomic_file file = {0};
    if (options.out != NULL && !atomic_file_open(&file, options.out, error))
        return false;
    const bool text = options.format == FORMAT_TEXT;
    if (text && options.out == NULL)
        text_begin();
    FILE *folded = text && options.out != NULL ? text_open(file.stream) : NULL;
    FILE *out = folded != NULL ? folded : options.out != NULL ? file.stream : stdout;
    const bool good = options.against != NULL ? run_compare(&options, out, error)
                                              : run_reports(&options, out, error);
    if (folded != NULL)
        (void)fclose(folded); /* a failure remains in the file's stream */
    return atomic_file_end(&file, good, error);
}

const struct command command_report = {
    .name = "report",
    .summary = "print tables with confidence intervals, paired comparisons, and verdicts on "
               "published figures",
    .help = "Figures are means over the seeds with 95 % intervals. Policies are compared with ESG "
            "seed by seed, because runs with equal seeds have equal arrivals and noise.\n"
            "\n"
            "For a sweep over the load, the first table is the load that each policy sustains. "
            "Otherwise the first tables are an overview: hit rate and cost by policy and setting.\n"
            "\n"
            "Examples: esgsim report paper.h5 --paper results/paper/esg-hpdc24.json\n"
            "          esgsim report headline.h5 --over arrivals.load --at-least 0.99\n"
            "          esgsim report paper.h5 paper-mps.h5 --paper results/paper/esg-hpdc24.json "
            "--verdicts\n"
            "          esgsim report paper.h5 --reference fifo\n"
            "          esgsim report paper.h5 headline.h5 --format tidy --out runs.csv\n",
    .run = run,
    .operands = "F.h5…",
    .options = report_table,
};
