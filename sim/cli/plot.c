#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plots/gnuplot.h"
#include "plots/plot.h"
#include "sim/base/atomic_file.h"
#include "sim/cli/cli.h"
#include "workloads/json_include.h"

enum { ONLY_MOST = 64 };

struct options {
    const char *file;
    const char *against; /* a replay to compare with; NULL: none */
    const char *format;
    const char *trace_format; /* NULL: recognised by the content */
    const char *only[ONLY_MOST];
    struct cli_names policies;
    struct figure_list list;
};

/* Checks that a script's name is a prefix of `name`. The figures are not known yet. */
static bool only_check(const char *name, struct error *error)
{
    const char *scripts[ONLY_MOST];
    int count = 0;
    while (count < ONLY_MOST && (scripts[count] = plot_script((size_t)count)) != NULL) {
        const size_t length = strlen(scripts[count]);
        if (strncmp(name, scripts[count], length) == 0 &&
            (name[length] == '\0' || name[length] == '-'))
            return true;
        count++;
    }
    const char *near = error_nearest_name(name, scripts, count);
    return error_input(error, "--only %.60s: no such figure%s%s%s; `esgsim plot --help` lists them",
                       name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'" : "");
}

static bool take_only(void *options, const char *name, char *value, struct error *error)
{
    struct options *plot = options;
    if (plot->list.only_count == ONLY_MOST)
        return error_input(error, "%s: at most %d times", name, ONLY_MOST);
    plot->only[plot->list.only_count++] = value;
    return only_check(value, error);
}

static const struct cli_option plot_table[] = {
    {"--out", "DIR",
     "output directory; each figure's data are written beside it as CSV, and LC_ALL=C.UTF-8 "
     "gnuplot -e \"data='F.csv'; out='F.svg'\" plots/NAME.gp draws it again",
     CLI_MEMBER(struct options, list.folder), .required = true},
    {"--against", "REAL.h5",
     "draw only simulated-against-real, one figure per setting: FILE, simulated, and a replay "
     "of the same runs",
     CLI_MEMBER(struct options, against)},
    {"--format", "svg|png|pdf", "default svg", .kind = OPTION_WORD,
     .place = offsetof(struct options, format)},
    {"--only", "NAME", "draw only this figure; may be repeated", .kind = OPTION_TAKE,
     .repeated = true, .take = take_only},
    {"--over", "KEY",
     "draw curve: hit rate, cost and p95, or trainings' completion time and wait, against the "
     "numbers that a sweep gave KEY (default for a sweep with three or more values of "
     "arrivals.load or training.arrivals.per_hour)",
     CLI_MEMBER(struct options, list.over)},
    {"--metric", "NAME",
     "the first metric of curve (default slo_hit_rate, or jct_s_mean where only trainings run)",
     CLI_MEMBER(struct options, list.metric)},
    {"--policies", "A,B,…",
     "draw only these policies, named as in reports: \"esg\" (without parameters), "
     "\"esg k=10\", or a label",
     CLI_MEMBER(struct options, policies), .most = CLI_POLICIES_MAX},
    {"--variants", NULL, "with --policies: a policy's name stands for all its variants",
     CLI_MEMBER(struct options, list.variants)},
    {"--size", "column|page|slide",
     "a figure for print, one column (3.33 in) or the full width (7 in), with text of at least "
     "7 pt; or for a 16:9 slide with larger text",
     .kind = OPTION_WORD, .place = offsetof(struct options, list.style.size)},
    {"--no-title", NULL, "omit the title; the plot takes its room",
     CLI_MEMBER(struct options, list.style.no_title)},
    {"--no-caption", NULL,
     "omit the caption; the plot takes its room. The CSV keeps it in its column \"caption\"",
     CLI_MEMBER(struct options, list.style.no_caption)},
    {"--trace-format", "F",
     "FILE is a trace of this format (see `esgsim trace --help`); required for bare "
     "integers alone",
     CLI_MEMBER(struct options, trace_format)},
    {.name = NULL},
};

/* Creates the directory if it does not exist; its parent must exist. */
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

/* Writes the figures of the file, or of its comparison with the replay. */
static bool figures_write(struct options *options, struct error *error)
{
    struct figure_list *list = &options->list;
    if (options->against != NULL) {
        struct comparison *against = compare_load(options->file, options->against, error);
        const bool good = against != NULL && plot_compare(against, list, error);
        compare_free(against);
        return good;
    }
    char *found = json_include_find_operand(options->file);
    const bool good =
        plot_file(found != NULL ? found : options->file, options->trace_format, list, error);
    free(found);
    return good;
}

static bool run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {.format = "svg"};
    if (!cli_parse(&command_plot, &argc, argv, &options, error) || !gnuplot_check(error) ||
        !folder_make(options.list.folder, error))
        return false;
    struct figure_list *list = &options.list;
    options.file = argv[1];
    list->only = options.only;
    list->policies = options.policies.list;
    list->policy_count = options.policies.count;
    struct atomic_file lock = {0};
    bool good =
        atomic_file_hold_folder(&lock, list->folder, error) && figures_write(&options, error);
    good = good && plot_draw(list, options.format, error);
    for (size_t i = 0; !quiet && i < list->note_count; i++)
        (void)fprintf(stderr, "%s\n", list->notes[i]);
    if (good && list->count == 0)
        good = error_input(error,
                           "%s: has none of the requested figures, or none has room; omit --only "
                           "and --size to draw all that it has",
                           options.file);
    for (size_t i = 0; good && i < list->count; i++)
        printf("%s\n", list->figures[i].picture);
    figure_list_clear(list);
    return atomic_file_end(&lock, good, error);
}

const struct command command_plot = {
    .name = "plot",
    .summary = "draws the figures of results, a profile, a trace or a calibration with gnuplot",
    .help =
        "For results (run, sweep), one figure per setting:\n"
        "  hit-rate, cost        by application and policy, with 95 % intervals and bounds\n"
        "  hit-against-cost      the two together, with the Pareto front\n"
        "  cost-parts            resources paid for, and resources provisioned\n"
        "  resources             utilisation, fragmentation, mean batch\n"
        "  batch-sizes           share of the jobs by the size of their batch, of runs with "
        "\"record\": \"all\"\n"
        "  latency-cdf           distribution of latency and of latency / SLO\n"
        "  latency-parts         p50 to p99.9 split into queue, transfer, cold start, execution\n"
        "  jct, jct-cdf          completion time of trainings: means and tails; distribution\n"
        "  decisions             time and work of a decision\n"
        "  settings              one figure: hit rate, cost and p95 in every setting; of trainings "
        "alone completion time and wait\n"
        "  sensitivity           one figure per parameter with three or more values, all else "
        "equal\n"
        "  curve                 the same against a swept key, of a sweep over the load or with "
        "--over; then only this is drawn unless --only asks\n"
        "  timeline              utilisation, fragmentation, queues, containers over time, of runs "
        "with \"record\": \"all\"\n"
        "For a latency profile (JSON): profile. For an arrival trace: arrivals. For the points "
        "written by calibrate --points: calibration (residuals) and profile (the fit). To draw one "
        "setting only, give the name of its file: hit-rate-strict-light.\n"
        "\n"
        "Example: esgsim plot results/paper.h5 --out figures --format pdf --only "
        "hit-against-cost\n",
    .run = run,
    .operands = "FILE",
    .options = plot_table,
};
