/* The figures of a results file, one entry each, and what fills their CSVs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/families.h"
#include "plots/plot.h"
#include "plots/selection.h"
#include "results/page/report_columns.h"
#include "results/report/curve.h"
#include "results/report/report.h"

/* ---- Panels of dots ------------------------------------------------------------------------- */

#define DOTS "panel,panel_title,axis,row,contender,value,low,high,bound,colour,point"

/* Above 90 %, on an axis of 90, 99, 99.9: plots/dots.gp knows it by its title. */
#define NINES "by nines (edge: 100 %)"

/* A panel: its metric, of an application or all together. */
struct panel {
    const struct metric *metric;
    const char *title, *axis, *application;
};

static void panel_rows(const struct source *source, const struct report_scenario *scenario,
                       const struct panel *panel, size_t number, struct sheet *sheet)
{
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        const struct look look = source_look(scenario, c);
        const struct estimate value =
            report_column_estimate(source->report, contender, panel->application, panel->metric);
        const struct estimate bound =
            report_column_bound(source->report, scenario, panel->application, panel->metric);
        sheet_row(sheet, "%zu %.30s %s %zu " LABEL " %g %g %g %g %x %d", number, panel->title,
                  panel->axis, contender->pale > 0 ? contender->pale : c + 1, contender->title,
                  value.mean, value.low, value.high, bound.mean, look.colour, look.point);
    }
}

static bool is_above_ninety(const struct source *source, const struct report_scenario *scenario,
                            const struct metric *hits)
{
    for (size_t c = 0; c < scenario->contender_count; c++)
        if (report_estimate(source->report, &scenario->contenders[c], NULL, hits).mean > 0.9)
            return true;
    return false;
}

static void dots_rows(const struct source *source, const struct report_scenario *scenario,
                      const struct figure_kind *kind, struct sheet *sheet)
{
    const size_t applications = scenario->application_count + (scenario->application_count > 1);
    const struct metric *hits = metric_find("slo_hit_rate");
    size_t number = 0;
    for (const char *const *name = kind->metrics; *name != NULL; name++) {
        const struct metric *metric = report_metric_find(*name);
        struct panel panel = {metric, metric->face.words, metric->face.unit, NULL};
        for (size_t a = 0; a < (kind->apart ? applications : 1); a++) {
            if (kind->apart) {
                panel.axis = metric->face.title;
                panel.application =
                    a < scenario->application_count ? scenario->applications[a] : NULL;
                panel.title = panel.application != NULL ? panel.application : "all";
            }
            panel_rows(source, scenario, &panel, ++number, sheet);
        }
        if (metric == hits && is_above_ninety(source, scenario, hits))
            panel_rows(source, scenario, &(struct panel){hits, NINES, hits->face.title, NULL},
                       ++number, sheet);
    }
}

/* ---- Hit rate against cost ------------------------------------------------------------------ */

static void tradeoff_rows(const struct source *source, const struct report_scenario *scenario,
                          const struct figure_kind *kind, struct sheet *sheet)
{
    const struct metric *const metrics[] = {metric_find("cost_per_request_usd"),
                                            metric_find("slo_hit_rate")};
    const struct report *report = source->report;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        const struct look look = source_look(scenario, c);
        struct estimate values[2], bounds[2];
        for (size_t m = 0; m < 2; m++) {
            values[m] = report_column_estimate(report, contender, NULL, metrics[m]);
            bounds[m] = report_column_bound(report, scenario, NULL, metrics[m]);
        }
        char *by_seed = NULL;
        for (size_t r = 0; r < contender->run_count; r++) {
            const size_t run = contender->runs[r];
            arena_append(report->arena, &by_seed, "%s%" PRIu64 " %.7g %.7g", r > 0 ? "; " : "",
                         report->results->runs[run].seed,
                         report_value(report, run, NULL, metrics[1]) * metrics[1]->face.scale,
                         report_value(report, run, NULL, metrics[0]) * metrics[0]->face.scale);
        }
        sheet_row(sheet, "%zu " LABEL " %s %g %g %g %s %g %g %g %d %g %g %x %d %s", c + 1,
                  contender->title, metrics[0]->face.title, values[0].mean, values[0].low,
                  values[0].high, metrics[1]->face.title, values[1].mean, values[1].low,
                  values[1].high, report_is_on_front(report, scenario, c), bounds[0].mean,
                  bounds[1].mean, look.colour, look.point, by_seed);
    }
}

/* ---- The table ------------------------------------------------------------------------------ */

#define COST_LEAD "Pay-per-use: execution time × (vCPU + vGPU price); axes do not begin at 0."

#define METRICS(...)                                                                               \
    .metrics = (const char *const[])                                                               \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define SHOWS_DOTS(...) .columns = DOTS, .intervals = true, METRICS(__VA_ARGS__), .rows = dots_rows

/* In the order in which they are drawn. */
const struct figure_kind figure_kinds[] = {
    {.script = "curve",
     .columns = "row,axis,logarithmic,limit,panel,panel_title,series,series_title,key,x,value,low,"
                "high,colour,point,dash",
     .intervals = true,
     .draw = curve_draw},
    {.script = "sustained", .columns = SUSTAINED, .draw = sustained_draw},
    {.script = "published",
     .columns = PUBLISHED,
     .lead = "Grey: the published range, with the grade of its evidence. Dots: our average over "
             "the settings of each set of assumptions; an arrow where it is far away.",
     .intervals = true,
     .draw = published_draw},
    {.script = "resources",
     .about = ABOUT_REQUESTS,
     .lead = "Means over time. Stranded: free vGPUs that no waiting batch could use, while any "
             "waits; empty if none waited. Axes do not begin at 0.",
     SHOWS_DOTS("gpu_utilisation", "vcpu_utilisation", "gpu_memory_utilisation",
                "gpu_fragmentation", "stranded_vgpu", "mean_batch")},
    {.script = "resources",
     .about = ABOUT_TRAININGS_ALONE,
     .lead = "Means over time. Axes do not begin at 0.",
     SHOWS_DOTS("gpu_utilisation", "vcpu_utilisation", "gpu_memory_utilisation",
                "gpu_fragmentation"),
     .joined = true},
    {.script = "jct",
     .about = ABOUT_TRAININGS,
     .lead = "Alone: with the proportional share, on a GPU that is free at once. Of no use: to a "
             "typical training (F of FGD), mean over time. Axes do not begin at 0.",
     SHOWS_DOTS("jct_s_mean", "jct_s_p99", "queueing_s_mean", "slowdown", "gpu_effective",
                "fragmented_gpus_mean"),
     .joined = true},
    {.script = "hit-rate",
     .about = ABOUT_REQUESTS,
     .lead = "Requests that finished within their SLO.",
     .bounded = "Requests that finished within their SLO. Dashed: what no policy can beat.",
     SHOWS_DOTS("slo_hit_rate"),
     .apart = true,
     .joined = true},
    {.script = "cost",
     .about = ABOUT_REQUESTS,
     .lead = COST_LEAD,
     .bounded = COST_LEAD " Dashed: the cheapest configurations that meet the SLO alone.",
     SHOWS_DOTS("cost_per_request_usd"),
     .apart = true,
     .joined = true},
    {.script = "hit-against-cost",
     .about = ABOUT_REQUESTS,
     .columns = "row,contender,cost_axis,cost,cost_low,cost_high,hit_axis,hit,hit_low,hit_high,"
                "front,bound_cost,bound_hit,colour,point,by_seed",
     .lead = "All applications. Up and to the left is better.",
     .bounded = "All applications. Up and to the left is better; dashed: the most that can be hit, "
                "and the cheapest configurations that meet the SLO at nominal times.",
     .intervals = true,
     .rows = tradeoff_rows,
     .joined = true},
    {.script = "decisions",
     .about = ABOUT_REQUESTS,
     .lead = "Time charged for a decision and the work behind it as the policy counts it (nodes "
             "expanded, candidates examined). Logarithmic; 0 is at the left edge.",
     SHOWS_DOTS("decision_us_mean", "decision_us_max", "decision_units_mean"),
     .joined = true},
    {.script = "latency-cdf",
     .about = ABOUT_REQUESTS,
     .table = "requests",
     .columns = "row,contender,percent,latency_ms,slo_share,colour,dash,point",
     .lead = "A line that ends below 100 %: the rest was dropped, or is above the 99.95th "
             "percentile. Dashed: the SLO. The right axis may end before the longest.",
     .contender = latency_cdf_rows},
    {.script = "latency-parts",
     .about = ABOUT_REQUESTS,
     .table = "requests",
     .missing = "latency-cdf, latency-parts",
     .columns = "panel,panel_title,row,contender,queue_ms,transfer_ms,cold_ms,exec_ms,latency_ms",
     .lead = "Dashed: the applications' SLOs. Below: shares of the percentile, means over the "
             "nearest requests (parallel branches overlap). No dot: the percentile is among the "
             "dropped requests.",
     .contender = latency_parts_rows,
     .joined = true},
    {.script = "jct-cdf",
     .about = ABOUT_ALL,
     .table = "trainings",
     .columns = "row,contender,percent,jct_h,slowdown,colour,dash,point",
     .lead = "Job completion time: finish - arrival. A line that ends below 100 %: the rest did "
             "not finish, or is above the 99.95th percentile. Dashed: as fast as alone at the "
             "proportional share.",
     .contender = jct_cdf_rows},
    {.script = "cost-parts",
     .about = ABOUT_REQUESTS,
     .columns = BARS,
     .lead = "Every part is priced by the vCPUs and vGPUs that it occupies: pay-per-use bills only "
             "execution; the provider also pays for the rest.",
     .rows = cost_parts_rows},
    {.script = "batch-sizes",
     .about = ABOUT_REQUESTS,
     .table = "batches",
     .columns = BARS,
     .lead = "Jobs counted, those of the warm-up too; mean: jobs per batch.",
     .contender = batch_sizes_rows,
     .joined = true},
    {.script = "gantt",
     .table = "timeline",
     .missing = "batch-sizes, gantt",
     .columns = "panel,panel_title,row,name,part,from,ready,started,until,low,high,number",
     .lead =
         "One row per GPU, at most 128. Height: the share held; the place within the row has no "
         "meaning. One run of each policy, at most four.",
     .one_run = true,
     .contender = gantt_rows,
     .joined = true},
    {.script = "settings",
     .columns = "panel,panel_title,logarithmic,row,setting,series,contender,value,low,high,colour,"
                "point",
     .intervals = true,
     .draw = settings_draw},
    {.script = "tornado",
     .columns = "panel,panel_title,axis,row,setting,base,value,low,high,flip",
     .intervals = true,
     .draw = tornado_draw},
    {.script = "sensitivity",
     .columns = "panel,axis,series,series_title,parameter,x,value,low,high,colour,point,dash",
     .lead = "All else equal along a line.",
     .intervals = true,
     METRICS("slo_hit_rate", "cost_per_request_usd", "decision_us_mean"),
     .draw = sensitivity_draw},
    {.script = "timeline",
     .columns = "time_s,gpu,vcpu,gpu_memory,stranded,waiting,running,idle,starting",
     .draw = timeline_draw},
    /* Of other files. */
    {.script = "profile"},
    {.script = "arrivals"},
    {.script = "calibration"},
    {.script = "tree"},
    {.script = "simulated-against-real"},
    {.script = "dag"},
    {.script = "cluster"},
    {0},
};

const char *plot_script(size_t index)
{
    return figure_kinds[index].script;
}

/* ---- A setting ------------------------------------------------------------------------------ */

enum { TOGETHER_MOST = 4 }; /* figures that are filled from one reading of a contender's rows */

static bool kind_applies(const struct figure_kind *kind, const struct source *source,
                         const struct report_scenario *scenario)
{
    return kind->about == ABOUT_ALL ||
           (kind->about == ABOUT_TRAININGS
                ? report_trains(source->report, scenario)
                : source_serves(scenario) == (kind->about == ABOUT_REQUESTS));
}

static bool setting_sheet(const struct source *source, const struct report_scenario *scenario,
                          const struct figure_kind *kind, struct figure_list *list,
                          struct sheet *sheet, struct error *error)
{
    const bool bounded = kind->bounded != NULL && report_bounded(source->report, scenario) != NULL;
    return source_sheet(source, scenario, kind, scenario->title,
                        bounded ? kind->bounded : kind->lead, list, sheet, error);
}

/* Fills several figures contender by contender, from their recorded rows. */
static bool contenders_draw(const struct source *source, const struct report_scenario *scenario,
                            const struct figure_kind *const *kinds, size_t count,
                            struct figure_list *list, struct error *error)
{
    struct sheet sheets[TOGETHER_MOST] = {{0}};
    size_t rows[TOGETHER_MOST] = {0};
    bool good = true;
    for (size_t k = 0; good && k < count; k++)
        good = setting_sheet(source, scenario, kinds[k], list, &sheets[k], error);
    for (size_t c = 0; good && c < scenario->contender_count; c++) {
        struct reading reading = {
            source, &scenario->contenders[c], source_look(scenario, c), NULL, 0, false};
        for (size_t k = 0; good && k < count; k++)
            good =
                sheets[k].out == NULL || kinds[k]->contender(&reading, &rows[k], &sheets[k], error);
        arena_release(source->report->arena, reading.samples);
    }
    for (size_t k = count; k-- > 0;)
        good = sheet_end(&sheets[k], good, error);
    return good;
}

/* Draws the figures [first, end) of the setting. Adds to `*without` if it lacks their rows. */
static bool setting_draw(const struct source *source, const struct report_scenario *scenario,
                         const struct figure_kind *first, const struct figure_kind *end,
                         struct figure_list *list, size_t *without, struct error *error)
{
    const struct figure_kind *together[TOGETHER_MOST];
    size_t count = 0;
    bool good = true, lacking = false;
    for (const struct figure_kind *kind = first; good && kind < end; kind++) {
        struct sheet sheet = {0};
        if (!figure_wanted(list, kind->script) || !kind_applies(kind, source, scenario))
            continue;
        const bool has = kind->table == NULL || source_has(source, scenario, kind->table);
        lacking = lacking || !has;
        if (has && kind->contender != NULL)
            together[count++] = kind;
        if (kind->rows == NULL)
            continue;
        good = setting_sheet(source, scenario, kind, list, &sheet, error);
        if (good)
            kind->rows(source, scenario, kind, &sheet);
        good = sheet_end(&sheet, good, error);
    }
    *without += lacking;
    return good && (count == 0 || contenders_draw(source, scenario, together, count, list, error));
}

/* ---- All ------------------------------------------------------------------------------------ */

/* Draws the figures [first, end), setting by setting. */
static bool settings_each(const struct source *source, const struct figure_kind *first,
                          const struct figure_kind *end, struct figure_list *list,
                          struct error *error)
{
    const struct report *report = source->report;
    const struct figure_kind *last = end - 1;
    size_t without = 0;
    bool good = true;
    for (size_t s = 0; good && s < report->scenario_count; s++)
        good = setting_draw(source, &report->scenarios[s], first, end, list, &without, error);
    if (good && without > 0 && last->missing != NULL)
        figure_list_note(
            list,
            "%s: not drawn of %zu of %zu settings, whose runs recorded no %s (\"record\": \"%s\" "
            "keeps them)",
            last->missing, without, report->scenario_count, last->table,
            strcmp(last->table, "requests") == 0 ? "requests" : "all");
    return good;
}

/* Draws the figures of the `view`, of `whole` those that have room for every contender. Of a view
 * that `list->about` names, only those of all settings together. */
static bool kinds_draw(const struct source *view, const struct source *whole,
                       struct figure_list *list, struct error *error)
{
    const struct report *report = view->report;
    /* Curves summarise the settings, of which a sweep over a load has many. */
    const bool curves_alone = report->curves != NULL && !report->details && list->only_count == 0;
    bool good = true;
    for (const struct figure_kind *first = figure_kinds, *end = first;
         good && first->columns != NULL; first = end) {
        while ((++end)->joined)
            ;
        const bool together = first->draw == curve_draw || first->draw == settings_draw;
        if ((curves_alone && first->draw != curve_draw && first->draw != sustained_draw &&
             first->draw != published_draw) ||
            (list->about != NULL && !together))
            continue;
        good = first->draw == NULL ? settings_each(view, first, end, list, error)
                                   : !figure_wanted(list, first->script) ||
                                         first->draw(together ? view : whole, first, list, error);
    }
    return good;
}

bool plot_results(const struct report *report, struct figure_list *list, struct error *error)
{
    const struct curve_request request = {list->over, list->metric, NAN, false};
    struct report views[2];
    struct run_details *details = run_details_open(report->results->path, error);
    bool good = details != NULL && selection_views(report, list, views, error);
    const struct source whole = {list->policy_count > 0 ? &views[0] : report, details};
    for (size_t v = 0; v < 2 && good && views[v].scenario_count > 0; v++) {
        const struct source view = {&views[v], details};
        list->about = v == 0 ? NULL : "variants";
        good = (views[v].curves != NULL || report_follow(&views[v], &request, error)) &&
               kinds_draw(&view, &whole, list, error);
    }
    run_details_close(details);
    return good;
}
