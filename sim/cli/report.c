#include <stdio.h>
#include <string.h>

#include "results/reference.h"
#include "results/report.h"
#include "results/store.h"
#include "sim/cli/cli.h"

typedef bool report_print(const struct report *report, const struct reference *reference, FILE *out,
                          struct error *error);

struct options {
    const char *file;
    const char *paper;
    report_print *print;
};

static bool format_parse(const char *text, struct options *options, struct error *error)
{
    static const char *const names[] = {"text", "csv", "json"};
    report_print *const prints[] = {report_text, report_csv, report_json};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            options->print = prints[i];
            return true;
        }
    if (strcmp(text, "html") == 0)
        return error_input(error, "--format html: not part of this version; give text, csv or "
                                  "json");
    return error_input(error, "--format %s: unknown format; give text, csv or json", text);
}

static bool options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    options->print = report_text;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool format = strcmp(argv[i], "--format") == 0;
        bool paper = strcmp(argv[i], "--paper") == 0;
        if (format || paper) {
            if (value == NULL)
                return cli_usage_error(&command_report,
                                       format ? "--format needs text, csv or json"
                                              : "--paper needs a file of published figures",
                                       error);
            if (format && !format_parse(value, options, error))
                return false;
            if (paper)
                options->paper = value;
            i++;
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return cli_unknown_argument(&command_report, argv[i], error);
        } else if (options->file != NULL) {
            return cli_usage_error(&command_report, "one results file at a time", error);
        } else {
            options->file = argv[i];
        }
    }
    return options->file != NULL ||
           cli_usage_error(&command_report, "a results file is missing", error);
}

static bool run(int argc, char **argv, bool quiet, struct error *error)
{
    (void)quiet;
    struct options options = {0};
    if (!options_parse(argc, argv, &options, error))
        return false;
    struct reference *reference = NULL;
    if (options.paper != NULL && (reference = reference_load(options.paper, error)) == NULL)
        return false;
    struct results *results = results_load(options.file, error);
    struct report *report = results == NULL ? NULL : report_build(results, error);
    bool good = report != NULL && options.print(report, reference, stdout, error);
    report_free(report);
    results_free(results);
    reference_free(reference);
    return good;
}

const struct command command_report = {
    "report", "report F.h5 [--format text|csv|json] [--paper REF.json]",
    "tables with confidence intervals, paired comparisons, published figures beside ours",
    "  --format text|csv|json  tables to read (default), a line a figure, or one object\n"
    "  --paper REF.json        hold published figures beside ours: how every named\n"
    "                          policy stands to each in every named setting, and a\n"
    "                          verdict in one sentence\n"
    "\n"
    "Figures are means over the seeds with 95 % Student t intervals. Policies are compared with\n"
    "ESG seed by seed, since equal seeds meet equal arrivals and noise.\n"
    "\n"
    "Example: esgsim report paper.h5 --paper results/paper/esg-hpdc24.json\n",
    run};
