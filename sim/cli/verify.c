/* esgsim verify: holds the simulator against runs of real systems.
 *
 * results/reality/runs.json has what was measured, by setting of a sweep that ships. The command
 * runs each sweep and prints the errors. It judges nothing and fits nothing. What is not known is
 * a list of the sweep: "turnaround" and "latency".
 *
 * A setting has the latency of each request, or the share of the requests in time. In the second
 * case the settings of one latency form a row: the mean of their absolute errors, and the largest.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

#include "plots/palette.h"
#include "plots/plot.h"
#include "results/report/table.h"
#include "sim/base/json.h"
#include "sim/base/json_write.h"
#include "sim/cli/cli.h"
#include "sim/run/sweep_runner_plan.h"
#include "workloads/json_include.h"

/* Dots of a run in the figure, about. */
enum { FIGURE_DOTS = 450 };

static const char reality_file[] = "results/reality/runs.json";

struct options {
    const char *out; /* folder; NULL: no figure */
    bool json;
};

static const struct cli_option verify_table[] = {
    {"--json", NULL, "one JSON object, with a row for each run", CLI_MEMBER(struct options, json)},
    {"--out", "DIR", "write a figure and its data there: measured and simulated latency by request",
     CLI_MEMBER(struct options, out)},
    {.name = NULL},
};

/* ---- One run --------------------------------------------------------------------------------- */

/* What was measured of a run, and what was simulated. */
struct held {
    const char *turnaround, *latency, *setting; /* of the sweep; "": it has no such list */
    double slo_ms;
    uint64_t requests;
    double busy;   /* share of the GPUs' time that batches and their turnarounds held */
    size_t listed; /* latencies; 0: shares alone were measured */
    double *ms[2]; /* latencies in order of arrival: measured, simulated; and so on */
    double hit_rate[2], mean_ms[2], p99_ms[2];
    double correlation;
};

static bool latency_take(void *context, const struct request_row *row, struct error *error)
{
    const struct held *held = context;
    (void)error;
    if (row->request < held->listed)
        held->ms[1][row->request] = sim_to_ms(row->finish_ns - row->arrival_ns);
    return true;
}

static const char *swept_name(const struct plan *plan, const struct sweep *sweep, const char *key)
{
    for (size_t k = 0; k < sweep->keys->count; k++)
        if (strcmp(sweep->keys->keys[k].name, key) == 0 && plan->swept[k] != NULL)
            return plan->swept[k];
    return "";
}

/* Reads a setting's list of latencies. One allocation has both sides. */
static bool latencies_read(const struct json_value *list, struct held *held, struct error *error)
{
    struct json_value one = {0};
    size_t read = 0;
    if (!json_is_array(list, held->requests, held->requests, error))
        return false;
    held->ms[0] = calloc(2 * held->requests, sizeof *held->ms[0]);
    if (held->ms[0] == NULL)
        return error_run(error, "out of memory for the latencies");
    held->listed = held->requests;
    held->ms[1] = held->ms[0] + held->listed;
    while (json_next(list, &one))
        if (!json_as_number(&one, 0, 1e9, &held->ms[0][read++], error))
            return false;
    return true;
}

/* Fills the statistics. The latencies are sorted by it after their correlation is known. */
static void latencies_compare(struct held *held)
{
    const size_t count = held->listed;
    held->correlation = gsl_stats_correlation(held->ms[0], 1, held->ms[1], 1, count);
    for (size_t i = 0; i < 2; i++) {
        size_t hits = 0;
        gsl_sort(held->ms[i], 1, count);
        while (hits < count && held->ms[i][hits] <= held->slo_ms)
            hits++;
        held->hit_rate[i] = (double)hits / (double)count;
        held->mean_ms[i] = gsl_stats_mean(held->ms[i], 1, count);
        held->p99_ms[i] = gsl_stats_quantile_from_sorted_data(held->ms[i], 1, count, 0.99);
    }
}

/* Runs a plan of the sweep and compares it with what was measured in its setting. */
static bool held_run(const struct plan *plan, const struct json_value *measured, struct held *held,
                     struct error *error)
{
    struct json_value setting;
    struct simulation_result result = {0};
    const struct recorder recorder = {.context = held, .request = latency_take};
    const struct simulation_options options = {.recorder = &recorder};
    if (!json_require(measured, held->setting, &setting, error))
        return false;
    const bool listed = cJSON_IsArray(setting.node);
    bool good = listed ? latencies_read(&setting, held, error)
                       : json_as_number(&setting, 0, 1, &held->hit_rate[0], error);
    good = good && resolved_run_simulate(&plan->run, &options, &result, error);
    if (good) {
        held->hit_rate[1] = result.overall.slo_hit_rate;
        held->busy = result.run.gpu_utilisation;
    }
    simulation_result_clear(&result);
    return good;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Settings that form one row of the table. */
struct together {
    char name[64]; /* of the latency; "": no row is open */
    size_t settings;
    uint64_t requests;
    double sum, largest; /* of the absolute errors, in points */
};

struct verification {
    struct text_table *table; /* NULL: the rows become `runs` */
    cJSON *runs;
    struct sheet sheet;
    struct together together;
    double least, most, largest; /* over the rows of settings together */
    size_t rows;                 /* of them */
    char group[64];              /* the turnaround of the rows above */
};

static double points(const struct held *held)
{
    return 100 * (held->hit_rate[1] - held->hit_rate[0]);
}

static double per_cent(const double figures[2])
{
    return 100 * (figures[1] / figures[0] - 1);
}

static void together_end(struct verification *all)
{
    const struct together *row = &all->together;
    if (row->settings == 0)
        return;
    const double mean = row->sum / (double)row->settings;
    text_table_add(all->table, "%s\t%llu\t-\t-\t-\t%.1f\t%.1f\t-", row->name,
                   (unsigned long long)row->requests, mean, row->largest);
    all->least = all->rows == 0 ? mean : fmin(all->least, mean);
    all->most = all->rows == 0 ? mean : fmax(all->most, mean);
    all->largest = fmax(all->largest, row->largest);
    all->rows++;
    all->together = (struct together){.settings = 0};
}

/* Ends the rows of one turnaround: those of several latencies have a range. */
static void group_end(struct verification *all)
{
    together_end(all);
    if (all->rows > 1)
        text_table_add(all->table, "range\t\t\t\t\t%.1f to %.1f\t%.1f\t", all->least, all->most,
                       all->largest);
    all->rows = 0;
    all->largest = 0;
    all->group[0] = '\0';
}

static void row_add(struct verification *all, const char *set, const struct held *held)
{
    struct together *row = &all->together;
    if (strcmp(all->group, held->turnaround) != 0) {
        char text[256];
        group_end(all);
        (void)snprintf(all->group, sizeof all->group, "%s", held->turnaround);
        (void)snprintf(text, sizeof text, "%s, turnaround: %s", set, held->turnaround);
        text_table_group(all->table, text);
    }
    if (held->listed > 0) {
        text_table_add(all->table, "%s\t%zu\t%.0f\t%+.1f\t%+.1f\t%+.1f\t\t%.3f", held->setting,
                       held->listed, 100 * held->busy, per_cent(held->mean_ms),
                       per_cent(held->p99_ms), points(held), held->correlation);
        return;
    }
    if (strcmp(row->name, held->latency) != 0)
        together_end(all);
    (void)snprintf(row->name, sizeof row->name, "%s", held->latency);
    row->settings++;
    row->requests += held->requests;
    row->sum += fabs(points(held));
    row->largest = fmax(row->largest, fabs(points(held)));
}

static void json_add(struct verification *all, const char *set, const struct held *held)
{
    cJSON *run = json_append(all->runs);
    json_put(run, "set %s setting %s turnaround %s latency %s requests %g", set, held->setting,
             held->turnaround, held->latency, (double)held->requests);
    json_put(
        run,
        "gpu_utilisation %g hit_rate_measured %g hit_rate_simulated %g hit_rate_error_points %g",
        held->busy, held->hit_rate[0], held->hit_rate[1], points(held));
    if (held->listed == 0)
        return;
    json_put(run, "mean_ms_measured %g mean_ms_simulated %g mean_error_percent %g",
             held->mean_ms[0], held->mean_ms[1], per_cent(held->mean_ms));
    json_put(run, "p99_ms_measured %g p99_ms_simulated %g p99_error_percent %g correlation %g",
             held->p99_ms[0], held->p99_ms[1], per_cent(held->p99_ms), held->correlation);
}

static void figure_add(struct verification *all, size_t panel, size_t row, const struct held *held)
{
    const struct look look = palette_series(row);
    const size_t step = 1 + held->listed / FIGURE_DOTS;
    for (size_t i = 0; i < held->listed; i += step)
        sheet_row(&all->sheet, "%zu %s %zu %s %g %g %x %d", panel + 1, held->turnaround, row + 1,
                  held->setting, held->ms[0][i], held->ms[1][i], look.colour, look.point);
}

/* ---- All ------------------------------------------------------------------------------------- */

static bool run_add(struct verification *all, const struct sweep *sweep, size_t run,
                    const char *set, const struct json_value *measured, struct error *error)
{
    struct plan plan;
    if (!plan_load(sweep, run, &plan, error))
        return false;
    const struct experiment *experiment = plan.run.experiment;
    struct held held = {.turnaround = swept_name(&plan, sweep, "turnaround"),
                        .latency = swept_name(&plan, sweep, "latency"),
                        .setting = swept_name(&plan, sweep, "setting"),
                        .slo_ms = sim_to_ms(experiment->workload.applications[0].slo),
                        .requests = experiment->requests};
    const bool good = held_run(&plan, measured, &held, error);
    if (good) {
        const size_t settings = json_size(measured);
        figure_add(all, run / settings, run % settings, &held); /* before they are sorted */
        if (held.listed > 0)
            latencies_compare(&held);
        if (all->table != NULL)
            row_add(all, set, &held);
        else
            json_add(all, set, &held);
    }
    free(held.ms[0]);
    plan_clear(&plan);
    return good;
}

static bool set_add(struct verification *all, const struct json_value *set, struct error *error)
{
    static const char *const keys[] = {"name", "quantity", "assumed", "sweep", "measured", NULL};
    const char *name = "", *quantity = "", *assumed = "", *file = "";
    struct json_value measured;
    if (!json_is_object(set, keys, error) || !json_text(set, "name", &name, error) ||
        !json_text(set, "quantity", &quantity, error) ||
        !json_text(set, "assumed", &assumed, error) || !json_text(set, "sweep", &file, error) ||
        !json_require(set, "measured", &measured, error) || !json_is_object(&measured, NULL, error))
        return false;
    char *path = json_include_find_operand(file);
    struct sweep *sweep = sweep_load(path != NULL ? path : file, NULL, 0, error);
    bool good = sweep != NULL;
    for (size_t run = 0; good && run < sweep->run_count; run++)
        good = run_add(all, sweep, run, name, &measured, error);
    group_end(all);
    if (all->table != NULL)
        text_table_note(all->table, "%s\n  measured: %s\n  assumed: %s", name, quantity, assumed);
    sweep_free(sweep);
    free(path);
    return good;
}

static bool sets_add(struct verification *all, struct error *error)
{
    struct json_value sets, set = {0};
    char *path = json_include_find_operand(reality_file);
    cJSON *root = json_parse_file(path != NULL ? path : reality_file, error);
    const struct json_value top = json_root(reality_file, root);
    bool good = root != NULL && json_require(&top, "sets", &sets, error) &&
                json_is_array(&sets, 1, 100, error);
    while (good && json_next(&sets, &set))
        good = set_add(all, &set, error);
    cJSON_Delete(root);
    free(path);
    return good;
}

static bool figure_begin(struct figure_list *list, struct sheet *sheet, struct error *error)
{
    if (list->folder == NULL)
        return true;
    if (mkdir(list->folder, 0777) != 0 && errno != EEXIST)
        return error_input(error, "--out: %s cannot be made: %s", list->folder, strerror(errno));
    return sheet_begin(sheet, list, "reality", "",
                       "A dot is a request; of long runs, every second to fifth. On the line: "
                       "simulated as measured.",
                       "panel,panel_title,row,setting,measured_ms,simulated_ms,colour,point",
                       error);
}

static struct text_table *table_begin(void)
{
    static const char *const headers[] = {"run",    "requests", "busy, %", "mean, %",
                                          "p99, %", "in time",  "largest", "correlation"};
    struct text_table *table = text_table_create(headers, sizeof headers / sizeof *headers);
    text_table_indent(table, NULL);
    return table;
}

static bool verify_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    (void)quiet;
    if (!cli_parse(&command_verify, &argc, argv, &options, error))
        return false;
    if (argc != 2 || strcmp(argv[1], "reality") != 0)
        return cli_usage_error(&command_verify, error, "what to verify is 'reality'");
    cJSON *root = options.json ? cJSON_CreateObject() : NULL;
    struct figure_list figures = {.folder = options.out};
    struct verification all = {.table = options.json ? NULL : table_begin(),
                               .runs = cJSON_AddArrayToObject(root, "runs")};
    bool good = figure_begin(&figures, &all.sheet, error) && sets_add(&all, error);
    if (all.sheet.out != NULL)
        good = sheet_end(&all.sheet, good, error) && plot_draw(&figures, "svg", error);
    if (options.json && good)
        good = cli_print_json(root, error);
    else
        cJSON_Delete(root);
    if (all.table != NULL) { /* what was done before a failure, too */
        text_table_note(all.table, "errors: of the mean and the 99th percentile of latency, in %%; "
                                   "of the share in time, in points\n(of several settings: the "
                                   "mean and the largest). busy: the simulated GPUs");
        text_table_print(all.table, 0, stdout);
    }
    figure_list_clear(&figures);
    return good;
}

const struct command command_verify = {
    .name = "verify",
    .summary = "hold the simulator against runs of real systems",
    .operands = "reality",
    .help =
        "Runs the sweeps of workloads/experiments/reality/ and compares them with what was\n"
        "measured (results/reality/). Nothing is fitted, and nothing is judged: the exit status\n"
        "is 0 when all ran. What was not measured is swept, and the range of the errors is\n"
        "printed. results/REALITY.md says what the sets cover and what they do not.\n"
        "\n"
        "Example: esgsim verify reality\n",
    .run = verify_run,
    .options = verify_table,
};
