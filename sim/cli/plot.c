#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plots/against.h"
#include "plots/gnuplot.h"
#include "plots/plot.h"
#include "sim/cli/cli.h"
#include "workloads/document.h"

enum { ONLY_MOST = 64 };

struct options {
    const char *file;
    const char *against; /* a replay to hold it against; NULL */
    const char *folder;
    const char *format;
    const char *only[ONLY_MOST];
    size_t only_count;
};

static bool format_check(const char *text, struct error *error)
{
    static const char *const names[] = {"svg", "png", "pdf"};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return error_input(error, "--format %.40s: unknown format; give svg, png or pdf", text);
}

/* A script's name, or one that begins with it: which figures there are is known later. */
static bool only_check(const char *name, struct error *error)
{
    int count = 0;
    for (; plot_scripts[count] != NULL; count++) {
        const size_t length = strlen(plot_scripts[count]);
        if (strncmp(name, plot_scripts[count], length) == 0 &&
            (name[length] == '\0' || name[length] == '-'))
            return true;
    }
    const char *near = error_nearest_name(name, plot_scripts, count);
    return error_input(error, "--only %.60s: no such figure%s%s%s; `esgsim plot --help` lists them",
                       name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'" : "");
}

static bool option_take(struct options *options, const char *name, const char *value,
                        struct error *error)
{
    if (value == NULL) {
        char what[80];
        (void)snprintf(what, sizeof what, "%s needs a value", name);
        return cli_usage_error(&command_plot, what, error);
    }
    if (strcmp(name, "--out") == 0) {
        options->folder = value;
        return true;
    }
    if (strcmp(name, "--against") == 0) {
        options->against = value;
        return true;
    }
    if (strcmp(name, "--format") == 0) {
        options->format = value;
        return format_check(value, error);
    }
    if (options->only_count == ONLY_MOST)
        return cli_usage_error(&command_plot, "--only at most 64 times", error);
    options->only[options->only_count++] = value;
    return only_check(value, error);
}

static bool options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    options->format = "svg";
    for (int i = 1; i < argc; i++) {
        const bool known = strcmp(argv[i], "--out") == 0 || strcmp(argv[i], "--format") == 0 ||
                           strcmp(argv[i], "--against") == 0 || strcmp(argv[i], "--only") == 0;
        if (known) {
            if (!option_take(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL, error))
                return false;
            i++;
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return cli_unknown_argument(&command_plot, argv[i], error);
        } else if (options->file != NULL) {
            return cli_usage_error(&command_plot, "one file at a time", error);
        } else {
            options->file = argv[i];
        }
    }
    if (options->file == NULL)
        (void)cli_usage_error(&command_plot, "a file is missing", error);
    else if (options->folder == NULL)
        (void)cli_usage_error(&command_plot, "--out DIR is missing", error);
    return options->file != NULL && options->folder != NULL;
}

/* The folder, made where it is not there; the one above it must be. */
static bool folder_make(const char *path, struct error *error)
{
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return true;
    const int fault = errno;
    if (fault == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    return error_input(error, "--out %s: cannot be made a folder: %s", path,
                       fault == EEXIST ? "a file is in its place" : strerror(fault));
}

/* The figures of the file, or of it and the replay beside it. */
static bool figures_write(const struct options *options, struct figure_list *list,
                          struct error *error)
{
    if (options->against != NULL) {
        struct against *against = against_load(options->file, options->against, error);
        const bool good = against != NULL && plot_against(against, list, error);
        against_free(against);
        return good;
    }
    char *found = document_find_operand(options->file);
    const bool good = plot_file(found != NULL ? found : options->file, list, error);
    free(found);
    return good;
}

static bool run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    if (!options_parse(argc, argv, &options, error) || !gnuplot_check(error) ||
        options.folder == NULL || !folder_make(options.folder, error))
        return false;
    struct figure_list list = {
        .folder = options.folder, .only = options.only, .only_count = options.only_count};
    bool good = figures_write(&options, &list, error);
    for (size_t i = 0; good && !quiet && i < list.note_count; i++)
        (void)fprintf(stderr, "%s\n", list.notes[i]);
    if (good && list.count == 0)
        good = error_input(error,
                           "%s: has none of the figures asked for; without --only, all that "
                           "it has are drawn",
                           options.file);
    good = good && plot_draw(&list, options.format, error);
    for (size_t i = 0; good && i < list.count; i++)
        printf("%s\n", list.figures[i].picture);
    figure_list_clear(&list);
    return good;
}

const struct command command_plot = {
    "plot", "plot FILE --out DIR [--against REAL.h5] [--format svg|png|pdf] [--only NAME]…",
    "the figures of results, a profile, a trace or a calibration, through gnuplot",
    "  --out DIR             where to; each figure's data lie beside it as CSV, and\n"
    "                        gnuplot -e \"data='F.csv'; out='F.svg'\" plots/NAME.gp\n"
    "                        draws it again\n"
    "  --against REAL.h5     simulated-against-real alone, a figure a setting: FILE, simulated,\n"
    "                        beside a replay of the same runs\n"
    "  --format svg|png|pdf  default svg\n"
    "  --only NAME           this figure alone; may be given again\n"
    "\n"
    "Of results (run, sweep), a figure a setting:\n"
    "  hit-rate, cost        by application and policy, with 95 % intervals and bounds\n"
    "  hit-against-cost      the two together, with the Pareto front\n"
    "  latency-cdf           distribution of latency and of latency / SLO\n"
    "  latency-parts         p50 to p99.9 split into queue, transfer, cold start, execution\n"
    "  decisions             time and work of a decision\n"
    "  sensitivity           a figure a parameter with three values or more, all else equal\n"
    "  timeline              utilisation, fragmentation, queues, containers over time, of runs\n"
    "                        with \"record\": \"all\"\n"
    "Of a latency profile (JSON): profile. Of an arrival trace: arrivals. Of the points that\n"
    "calibrate --points writes: calibration.\n"
    "A figure of one setting alone is named like its file: hit-rate-strict-light.\n"
    "\n"
    "Example: esgsim plot results/paper.h5 --out figures --format pdf --only hit-against-cost\n",
    run};
