#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plots/gnuplot.h"
#include "plots/plot.h"
#include "sim/base/atomic_file.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/cli/picture.h"
#include "workloads/load/json_include.h"
#include "workloads/sweep/sweep.h"

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

/* Checks that a script's name, or *, is a prefix of `name`. The figures are not known yet. */
static bool only_check(const char *name, struct error *error)
{
    const char *scripts[ONLY_MOST];
    int count = 0;
    if (strncmp(name, "*-", 2) == 0)
        return true;
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
    {"--only", "NAME",
     "draw only this figure, or all of a setting by \"*-SETTING\"; may be repeated",
     .kind = OPTION_TAKE, .repeated = true, .take = take_only},
    {"--over", "KEY",
     "draw curve: hit rate, cost and p95, or trainings' completion time and wait, against the "
     "values of KEY in the sweep (default for a sweep with three or more values of arrivals.load "
     "or training.arrivals.per_hour)",
     CLI_MEMBER(struct options, list.over)},
    {"--metric", "NAME",
     "the first metric of curve (default slo_hit_rate, or jct_s_mean where only trainings run)",
     CLI_MEMBER(struct options, list.metric)},
    {"--paper", "REF.json", "draw published, too: the figures of this file, as for report",
     CLI_MEMBER(struct options, list.paper)},
    {"--policies", "A,B,…",
     "draw only these policies, named as in reports: \"esg\" (without parameters), "
     "\"esg k=10\", or a label",
     CLI_MEMBER(struct options, policies), .most = CLI_POLICIES_MAX},
    {"--from", "S", "gantt begins at this second of simulated time (default: after the warm-up)",
     CLI_MEMBER(struct options, list.from_s), .high = 1e9},
    {"--until", "S", "and ends at this one (default: ten seconds later, or all of trainings)",
     CLI_MEMBER(struct options, list.until_s), .high = 1e9},
    {"--variants", NULL, "with --policies: a policy's name stands for all its variants",
     CLI_MEMBER(struct options, list.variants)},
    {"--all", NULL,
     "every contender in colour and every setting; by default figures show those that the sweep's "
     "\"show\" names, or the first six policies, the others grey, and variants on their own",
     CLI_MEMBER(struct options, list.all)},
    CLI_STYLE(struct options, list.style),
    {"--trace-format", "F",
     "FILE is a trace of this format (see `esgsim trace --help`); required for bare "
     "integers alone",
     CLI_MEMBER(struct options, trace_format)},
    {.name = NULL},
};

/* A sweep is refused as one where it is loaded. */
static bool is_experiment(const char *path)
{
    cJSON *root = strstr(path, ".json") != NULL ? json_parse_file(path, NULL) : NULL;
    const char *kind = input_kind(root);
    cJSON_Delete(root);
    return kind != NULL && (strcmp(kind, "experiment") == 0 || strcmp(kind, "sweep") == 0);
}

/* The file of that name, else the results file NAME.h5 or the shipped NAME, which a note tells. */
static const char *file_find(const char *name, struct figure_list *list)
{
    const char *results = arena_text(figure_memory(list), "%s.h5", name);
    const bool swept = access(name, F_OK) != 0 && access(results, F_OK) == 0;
    const char *found = json_include_find_document(figure_memory(list), swept ? results : name);
    if (found == NULL || strcmp(found, name) == 0)
        return name;
    figure_list_note(list, "%s: taken from %s", name, found);
    return found;
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
    const char *path = file_find(options->file, list);
    return options->trace_format == NULL && list->policy_count == 0 && list->paper == NULL &&
                   is_experiment(path)
               ? plot_experiment(path, list, error)
               : plot_file(path, options->trace_format, list, error);
}

bool picture_draw(const struct picture *picture, const struct chart *chart, struct error *error)
{
    const char *file = picture->file;
    if (file == NULL)
        return true;
    const char *name = file_name(file);
    const char *dot = strrchr(name, '.');
    if (dot == NULL || dot == name || strlen(dot) != 4 || strstr(".svg.png.pdf", dot) == NULL)
        return error_input(error, "--out %s: should be a file ending in .svg, .png or .pdf", file);
    struct figure_list list = {.style = picture->style};
    struct arena *arena = figure_memory(&list);
    list.folder = name == file ? "." : arena_text(arena, "%.*s", (int)(name - 1 - file), file);
    list.name = arena_text(arena, "%.*s", (int)(dot - name), name);
    const bool good = gnuplot_check(error) && chart_sheet(chart, &list, error) &&
                      plot_draw(&list, dot + 1, error) &&
                      (list.count > 0 || error_input(error, "--out: %s", list.notes[0]));
    figure_list_clear(&list);
    return good;
}

static bool run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {.format = "svg"};
    if (!cli_parse(&command_plot, &argc, argv, &options, error) || !gnuplot_check(error) ||
        !cli_make_folder(options.list.folder, error))
        return false;
    struct figure_list *list = &options.list;
    if (list->until_s > 0 && list->until_s <= list->from_s)
        return error_input(error, "--until should be after --from, which is %g s", list->from_s);
    options.file = argv[1];
    list->only = options.only;
    list->policies = options.policies.list;
    list->policy_count = options.policies.count;
    struct atomic_file lock = {0};
    bool good =
        atomic_file_hold_folder(&lock, list->folder, error) && figures_write(&options, error);
    good = good && plot_draw(list, options.format, error);
    for (size_t i = 0; !quiet && i < list->note_count; i++)
        (void)fprintf(text_messages(), "%s\n", list->notes[i]);
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
    .summary = "draw figures of results, a profile, a trace, a calibration or trees with gnuplot",
    .help =
        "For results (run, sweep), one figure per setting:\n"
        "  hit-rate, cost        by application and policy, with 95 % intervals and bounds\n"
        "  hit-against-cost      the two together, with the Pareto front\n"
        "  cost-parts            resources paid for, and resources provisioned\n"
        "  resources             utilisation, fragmentation, mean batch\n"
        "  batch-sizes           share of the jobs by the size of their batch, for runs with "
        "\"record\": \"all\"\n"
        "  latency-cdf           distribution of latency and of latency / SLO\n"
        "  latency-parts         p50 to p99.9 split into queue, transfer, cold start, execution\n"
        "  jct, jct-cdf          completion time of trainings: means and tails; distribution\n"
        "  decisions             time and work of a decision\n"
        "  settings              one figure: hit rate, cost and p95 in every setting; of "
        "trainings alone completion time and wait\n"
        "  tornado               the first policy minus each other, by setting; orders that "
        "differ from the first setting are marked\n"
        "  sensitivity           one figure per parameter with three or more values, all else "
        "equal\n"
        "  curve                 the same against a swept key, for a sweep over the load or with "
        "--over; then no other figure is drawn without --only\n"
        "  sustained             for the same sweep, the greatest load that each policy "
        "sustains\n"
        "  published             with --paper: each published range, and ours in every set of "
        "assumptions\n"
        "  gantt                 each GPU over time under up to four policies, on one clock, for "
        "runs with \"record\": \"all\"\n"
        "  timeline              utilisation, fragmentation, queues, containers over time, for "
        "runs with \"record\": \"all\"\n"
        "For an experiment (JSON), without running it: cluster (invokers, GPUs and their shares) "
        "and dag (an application's stages with ESG's groups, quotas and deadlines). For a "
        "latency profile (JSON): profile. For an arrival trace: arrivals. For the points written "
        "by calibrate --points: calibration (residuals) and profile (the fit). For the trees "
        "that distill wrote: tree, one figure for each. To draw one setting only, give the name "
        "of its file: hit-rate-strict-light.\n"
        "\n"
        "Example: esgsim plot results/paper.h5 --out figures --format pdf --only "
        "hit-against-cost\n",
    .run = run,
    .operands = "FILE",
    .options = plot_table,
};
