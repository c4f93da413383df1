#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plots/embed.h"
#include "plots/gnuplot.h"
#include "results/against.h"
#include "results/assumptions.h"
#include "results/reference.h"
#include "results/report.h"
#include "results/report_html.h"
#include "results/store.h"
#include "sim/cli/cli.h"
#include "workloads/document.h"

typedef bool report_print(const struct report *report, const struct reference *reference, FILE *out,
                          struct error *error);

typedef bool against_print(const struct against *against, FILE *out, struct error *error);

struct options {
    const char *file;
    const char *against;
    const char *paper;
    const char *out;
    const char *command;
    report_print *print; /* NULL: HTML */
    against_print *print_against;
};

static bool format_parse(const char *text, struct options *options, struct error *error)
{
    static const char *const names[] = {"text", "csv", "json", "html"};
    report_print *const prints[] = {report_text, report_csv, report_json, NULL};
    against_print *const prints_against[] = {against_text, against_csv, against_json, against_html};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i]) == 0) {
            options->print = prints[i];
            options->print_against = prints_against[i];
            return true;
        }
    return error_input(error, "--format %s: unknown format; give text, csv, json or html", text);
}

static bool option_take(struct options *options, const char *name, const char *value,
                        struct error *error)
{
    static const struct {
        const char *name;
        const char *without;
    } known[] = {{"--format", "--format needs text, csv, json or html"},
                 {"--paper", "--paper needs a file of published figures"},
                 {"--against", "--against needs the results file of a replay"},
                 {"--out", "--out needs a file name"},
                 {"--command", "--command needs the command that made the results"}};
    const char **const places[] = {NULL, &options->paper, &options->against, &options->out,
                                   &options->command};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        if (value == NULL)
            return cli_usage_error(&command_report, known[i].without, error);
        if (places[i] == NULL)
            return format_parse(value, options, error);
        *places[i] = value;
        return true;
    }
    return cli_unknown_argument(&command_report, name, error);
}

static bool options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    options->print = report_text;
    options->print_against = against_text;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!option_take(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL, error))
                return false;
            i++;
        } else if (options->file != NULL) {
            return cli_usage_error(&command_report, "one results file at a time", error);
        } else {
            options->file = argv[i];
        }
    }
    if (options->file == NULL)
        return cli_usage_error(&command_report, "a results file is missing", error);
    return options->against == NULL || (options->paper == NULL && options->command == NULL) ||
           cli_usage_error(&command_report, "--against goes with --format and --out alone", error);
}

static struct assumptions *assumptions_find(struct error *error)
{
    static const char local[] = "results/assumptions.json";
    char *path = document_find_operand(local);
    struct assumptions *assumptions = assumptions_load(path != NULL ? path : local, error);
    free(path);
    return assumptions;
}

/* The page with its figures; where they cannot be drawn, without, and it says why. */
static bool print_html(const struct options *options, const struct report *report,
                       const struct reference *reference, FILE *out, struct error *error)
{
    struct error without = {0};
    struct embedded embedded = {0};
    struct details *details = details_open(options->file, error);
    struct assumptions *assumptions = details == NULL ? NULL : assumptions_find(error);
    bool good = assumptions != NULL;
    if (good && !gnuplot_check(&without))
        (void)fprintf(stderr, "esgsim: the page is without figures: %s\n", without.message);
    else if (good && report->results->run_count > 0)
        good = embed_figures(report, &embedded, error);
    const struct page page = {.report = report,
                              .reference = reference,
                              .assumptions = assumptions,
                              .details = details,
                              .figures = embedded.figures,
                              .figure_count = embedded.count,
                              .without_figures =
                                  without.kind == ERROR_NONE ? NULL : without.message,
                              .paper = options->paper,
                              .command = options->command};
    good = good && report_html(&page, out, error);
    embedded_clear(&embedded);
    assumptions_free(assumptions);
    details_close(details);
    return good;
}

/* What is printed: a report, or a comparison. */
struct subject {
    const struct report *report;
    const struct reference *reference;
    const struct against *against; /* NULL: a report */
};

static bool print(const struct options *options, const struct subject *subject, FILE *out,
                  struct error *error)
{
    if (subject->against != NULL)
        return options->print_against(subject->against, out, error);
    return options->print == NULL
               ? print_html(options, subject->report, subject->reference, out, error)
               : options->print(subject->report, subject->reference, out, error);
}

/* To the file of --out, which is whole or not there, or to standard output. */
static bool write_report(const struct options *options, const struct subject *subject,
                         struct error *error)
{
    char *partial = NULL;
    if (options->out == NULL)
        return print(options, subject, stdout, error);
    if (asprintf(&partial, "%s.partial", options->out) < 0)
        return error_run(error, "out of memory for the report");
    FILE *out = fopen(partial, "w");
    if (out == NULL) {
        (void)error_input(error, "--out %s: cannot be written: %s", options->out, strerror(errno));
        free(partial);
        return false;
    }
    bool good = print(options, subject, out, error);
    if (fclose(out) != 0 && good)
        good = error_run(error, "--out %s: cannot be written: %s", options->out, strerror(errno));
    if (good && rename(partial, options->out) != 0)
        good = error_input(error, "--out %s: cannot be written: %s", options->out, strerror(errno));
    if (!good)
        (void)unlink(partial);
    free(partial);
    return good;
}

static bool run_against(const struct options *options, struct error *error)
{
    struct against *against = against_load(options->file, options->against, error);
    const struct subject subject = {.against = against};
    const bool good = against != NULL && write_report(options, &subject, error);
    against_free(against);
    return good;
}

static bool run(int argc, char **argv, bool quiet, struct error *error)
{
    (void)quiet;
    struct options options = {0};
    if (!options_parse(argc, argv, &options, error))
        return false;
    if (options.against != NULL)
        return run_against(&options, error);
    struct reference *reference = NULL;
    if (options.paper != NULL && (reference = reference_load(options.paper, error)) == NULL)
        return false;
    struct results *results = results_load(options.file, error);
    struct report *report = results == NULL ? NULL : report_build(results, error);
    const struct subject subject = {.report = report, .reference = reference};
    bool good = report != NULL && write_report(&options, &subject, error);
    report_free(report);
    results_free(results);
    reference_free(reference);
    return good;
}

const struct command command_report = {
    "report",
    "report F.h5 [--format text|csv|json|html] [--paper REF.json] [--against REAL.h5] [--out FILE] "
    "[--command TEXT]",
    "tables with confidence intervals, paired comparisons, published figures beside ours",
    "  --format text|csv|json|html  tables to read (default), a line a figure, one object,\n"
    "                          or a page with tables that sort and figures, which needs\n"
    "                          nothing else and no network (figures through gnuplot)\n"
    "  --paper REF.json        hold published figures beside ours: how every named\n"
    "                          policy stands to each in every named setting, and a\n"
    "                          verdict in one sentence\n"
    "  --against REAL.h5       hold the simulation F.h5 beside a replay of the same runs:\n"
    "                          both distributions, errors with intervals, how they stand to\n"
    "                          the limits, and where they come from; both recorded with\n"
    "                          \"record\": \"all\"\n"
    "  --out FILE              instead of standard output\n"
    "  --command TEXT          the command that made the results, for the page to tell\n"
    "\n"
    "Figures are means over the seeds with 95 % Student t intervals. Policies are compared with\n"
    "ESG seed by seed, since equal seeds meet equal arrivals and noise.\n"
    "\n"
    "Example: esgsim report paper.h5 --paper results/paper/esg-hpdc24.json\n",
    run};
