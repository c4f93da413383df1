/* Figures of means over the seeds: hit rate, cost, both together, decisions, sensitivity. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "plots/families.h"
#include "results/report/report_columns.h"
#include "results/report/training_table.h"

/* ---- Panels of dots ------------------------------------------------------------------------- */

#define DOTS "panel,panel_title,axis,row,contender,value,low,high,bound,colour,point"

struct dots_panel {
    const char *title;
    const char *axis;
    const char *application;
    const char *metric;
    double scale;
};

static void dots_row(const struct source *source, const struct report_scenario *scenario,
                     const struct dots_panel *panel, size_t number, size_t c, struct sheet *sheet)
{
    const struct report_contender *contender = &scenario->contenders[c];
    const struct look look = source_look(scenario, c);
    sheet_count(sheet, number);
    sheet_text_cut(sheet, panel->title, 30);
    sheet_text(sheet, panel->axis);
    sheet_count(sheet, c + 1);
    sheet_text_cut(sheet, contender->title, LABEL_LIMIT);
    sheet_estimate(
        sheet, source_estimate(source, contender, panel->application, panel->metric, panel->scale));
    sheet_number(sheet, report_column_bound(source->report, scenario, panel->application,
                                            report_metric_find(panel->metric))
                            .mean);
    sheet_colour(sheet, look.colour);
    sheet_number(sheet, look.point);
    sheet_row_end(sheet);
}

static bool dots(const struct source *source, const struct report_scenario *scenario,
                 const char *script, const char *lead, const struct dots_panel *panels,
                 size_t panel_count, struct figure_list *list, struct error *error)
{
    struct sheet sheet;
    char *caption = source_caption(source, scenario, lead, true);
    if (caption == NULL)
        return figure_no_memory(error);
    bool good = sheet_begin(&sheet, list, script, scenario->title, caption, DOTS, error);
    free(caption);
    if (!good)
        return false;
    for (size_t p = 0; p < panel_count; p++)
        for (size_t c = 0; c < scenario->contender_count; c++)
            dots_row(source, scenario, &panels[p], p + 1, c, &sheet);
    return sheet_end(&sheet, true, error);
}

/* One panel per application, and one for all together if there are several. */
static bool dots_by_application(const struct source *source, const struct report_scenario *scenario,
                                const char *script, const char *lead, const struct dots_panel *like,
                                struct figure_list *list, struct error *error)
{
    const size_t several = scenario->application_count > 1;
    const size_t count = scenario->application_count + several;
    struct dots_panel *panels = calloc(count + 1, sizeof *panels);
    if (panels == NULL)
        return figure_no_memory(error);
    for (size_t a = 0; a < count; a++) {
        panels[a] = *like;
        panels[a].application = a < scenario->application_count ? scenario->applications[a] : NULL;
        panels[a].title = a < scenario->application_count ? scenario->applications[a] : "all";
    }
    bool good = dots(source, scenario, script, lead, panels, count, list, error);
    free(panels);
    return good;
}

static bool draw_hit_rate(const struct source *source, const struct report_scenario *scenario,
                          struct figure_list *list, struct error *error)
{
    static const struct dots_panel like = {NULL, "SLO hit rate (%)", NULL, "slo_hit_rate", 100};
    return dots_by_application(source, scenario, "hit-rate",
                               report_bounded(source->report, scenario) == NULL
                                   ? "Requests that finished within their SLO."
                                   : "Requests that finished within their SLO. Dashed: what no "
                                     "policy can beat.",
                               &like, list, error);
}

static bool draw_cost(const struct source *source, const struct report_scenario *scenario,
                      struct figure_list *list, struct error *error)
{
    static const struct dots_panel like = {NULL, "$ per 1,000 requests", NULL,
                                           "cost_per_request_usd", 1000};
    return dots_by_application(source, scenario, "cost",
                               report_bounded(source->report, scenario) == NULL
                                   ? "Pay-per-use: execution time × (vCPU + vGPU price); axes do "
                                     "not begin at 0."
                                   : "Pay-per-use: execution time × (vCPU + vGPU price); axes do "
                                     "not begin at 0. Dashed: the cheapest configurations that "
                                     "meet the SLO alone.",
                               &like, list, error);
}

static bool draw_decisions(const struct source *source, const struct report_scenario *scenario,
                           struct figure_list *list, struct error *error)
{
    static const struct dots_panel panels[] = {
        {"mean time", "µs per decision, simulated", NULL, "decision_us_mean", 1},
        {"longest", "µs, simulated", NULL, "decision_us_max", 1},
        {"mean work", "units per decision", NULL, "decision_units_mean", 1},
    };
    return dots(source, scenario, "decisions",
                "Time charged for a decision and the work behind it as the policy counts it "
                "(nodes expanded, candidates examined). Logarithmic; 0 is at the left edge.",
                panels, sizeof panels / sizeof panels[0], list, error);
}

static bool draw_resources(const struct source *source, const struct report_scenario *scenario,
                           struct figure_list *list, struct error *error)
{
    static const struct dots_panel panels[] = {
        {"vGPUs", "held (%)", NULL, "gpu_utilisation", 100},
        {"vCPUs", "held (%)", NULL, "vcpu_utilisation", 100},
        {"GPU memory", "held (%)", NULL, "gpu_memory_utilisation", 100},
        {"fragmented", "free on GPUs in use (%)", NULL, "gpu_fragmentation", 100},
        {"stranded", "of the free vGPUs (%)", NULL, "stranded_vgpu", 100},
        {"batches", "jobs per batch", NULL, "mean_batch", 1},
    };
    enum { OF_TRAININGS = 4 }; /* the first panels make sense without requests */
    if (!source_serves(scenario))
        return dots(source, scenario, "resources", "Means over time. Axes do not begin at 0.",
                    panels, OF_TRAININGS, list, error);
    return dots(source, scenario, "resources",
                "Means over time. Stranded: free vGPUs that no waiting batch could use, while any "
                "waits; empty if none waited. Axes do not begin at 0.",
                panels, sizeof panels / sizeof panels[0], list, error);
}

static bool draw_jct(const struct source *source, const struct report_scenario *scenario,
                     struct figure_list *list, struct error *error)
{
    static const double hours = 1.0 / 3600;
    const struct dots_panel panels[] = {
        {"mean", "completion time (h)", NULL, "jct_s_mean", hours},
        {"99th percentile", "completion time (h)", NULL, "jct_s_p99", hours},
        {"mean wait", "without GPUs (h)", NULL, "queueing_s_mean", hours},
        {"slowdown", "completion time / alone", NULL, "slowdown", 1},
        {"GPUs", "held x speed / best (%)", NULL, "gpu_effective", 100},
        {"fragmented", "free GPUs of no use", NULL, "fragmented_gpus_mean", 1},
    };
    return dots(source, scenario, "jct",
                "Alone: with the proportional share, on a GPU that is free at once. Fragmented: "
                "free GPUs that a typical training cannot use (F of FGD), mean over time. Axes do "
                "not begin at 0.",
                panels, sizeof panels / sizeof panels[0], list, error);
}

/* ---- Hit rate against cost ------------------------------------------------------------------ */

static void tradeoff_row(const struct source *source, const struct report_scenario *scenario,
                         size_t c, struct sheet *sheet)
{
    const struct report_contender *contender = &scenario->contenders[c];
    const struct metric *const metrics[] = {metric_find("cost_per_request_usd"),
                                            metric_find("slo_hit_rate")};
    const struct look look = source_look(scenario, c);
    sheet_count(sheet, c + 1);
    sheet_text_cut(sheet, contender->title, LABEL_LIMIT);
    for (size_t m = 0; m < 2; m++)
        sheet_estimate(sheet, report_column_estimate(source->report, contender, NULL, metrics[m]));
    sheet_count(sheet, report_is_on_front(source->report, scenario, c));
    for (size_t m = 0; m < 2; m++)
        sheet_number(sheet, report_column_bound(source->report, scenario, NULL, metrics[m]).mean);
    sheet_colour(sheet, look.colour);
    sheet_number(sheet, look.point);
    sheet_row_end(sheet);
}

static bool draw_tradeoff(const struct source *source, const struct report_scenario *scenario,
                          struct figure_list *list, struct error *error)
{
    struct sheet sheet;
    char *caption = source_caption(source, scenario,
                                   report_bounded(source->report, scenario) == NULL
                                       ? "All applications. Up and to the left is better."
                                       : "All applications. Up and to the left is better; dashed: "
                                         "the most that can be hit, and the cheapest "
                                         "configurations that meet the SLO at nominal times.",
                                   true);
    bool good = caption != NULL || figure_no_memory(error);
    good =
        good &&
        sheet_begin(&sheet, list, "hit-against-cost", scenario->title, caption,
                    "row,contender,cost,cost_low,cost_high,hit,hit_low,hit_high,front,bound_cost,"
                    "bound_hit,colour,point",
                    error);
    free(caption);
    for (size_t c = 0; good && c < scenario->contender_count; c++)
        tradeoff_row(source, scenario, c, &sheet);
    return good && sheet_end(&sheet, true, error);
}

bool families_summary(const struct source *source, struct figure_list *list, struct error *error)
{
    bool good = true;
    for (size_t s = 0; good && s < source->report->scenario_count; s++) {
        const struct report_scenario *scenario = &source->report->scenarios[s];
        good = !figure_wanted(list, "resources") || draw_resources(source, scenario, list, error);
        if (figure_wanted(list, "jct") && training_table_exists(source->report, scenario))
            good = good && draw_jct(source, scenario, list, error);
        if (!source_serves(scenario))
            continue;
        good = good &&
               (!figure_wanted(list, "hit-rate") || draw_hit_rate(source, scenario, list, error)) &&
               (!figure_wanted(list, "cost") || draw_cost(source, scenario, list, error)) &&
               (!figure_wanted(list, "hit-against-cost") ||
                draw_tradeoff(source, scenario, list, error)) &&
               (!figure_wanted(list, "decisions") || draw_decisions(source, scenario, list, error));
    }
    return good;
}

/* ---- Sensitivity to a parameter ------------------------------------------------------------- */

/* A contender with all parameters of its policy. */
struct variant {
    const struct report_scenario *scenario;
    const struct report_contender *contender;
    cJSON *parameters;
};

enum { LEAST_VALUES = 3 };

static double parameter_of(const struct variant *variant, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(variant->parameters, name);
    return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

/* Returns whether the two differ at most in that parameter. */
static bool same_but(const struct variant *a, const struct variant *b, const char *name)
{
    if (a->scenario != b->scenario || strcmp(a->contender->policy, b->contender->policy) != 0)
        return false;
    for (const cJSON *value = a->parameters == NULL ? NULL : a->parameters->child; value != NULL;
         value = value->next)
        if (strcmp(value->string, name) != 0 &&
            !cJSON_Compare(value, cJSON_GetObjectItemCaseSensitive(b->parameters, value->string),
                           true))
            return false;
    return true;
}

/* If the variant is the first of its series, returns the number of distinct values in the series;
 * else 0. */
static size_t series_values(const struct variant *variants, size_t count, size_t at,
                            const char *name)
{
    size_t distinct = 0;
    if (isnan(parameter_of(&variants[at], name)))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (!same_but(&variants[at], &variants[i], name))
            continue;
        if (i < at)
            return 0;
        bool again = false;
        for (size_t j = at; j < i; j++)
            again = again || (same_but(&variants[at], &variants[j], name) &&
                              parameter_of(&variants[j], name) == parameter_of(&variants[i], name));
        distinct += !again;
    }
    return distinct;
}

/* Title of a series: "strict-light, esg method=frontier". It lists the parameters that are constant
 * along the series and differ from the policy's defaults. */
static void series_title(const struct variant *variant, const char *name, char *title, size_t size)
{
    const char *head = variant->scenario->title;
    size_t used = (size_t)snprintf(title, size, "%.60s%s%s", head, head[0] != '\0' ? ", " : "",
                                   variant->contender->policy);
    const char *at = variant->contender->distinction;
    while (*at != '\0' && used < size) {
        const size_t word = strcspn(at, " ");
        if (strncmp(at, name, strlen(name)) != 0 || at[strlen(name)] != '=')
            used += (size_t)snprintf(title + used, size - used, " %.*s", (int)word, at);
        at += word;
        at += strspn(at, " ");
    }
}

struct series {
    const struct source *source;
    const struct variant *variants;
    size_t count;
    const char *parameter;
};

static void series_rows(const struct series *series, size_t first, size_t number,
                        struct sheet *sheet)
{
    static const struct {
        const char *axis;
        const char *metric;
        double scale;
    } panels[] = {{"SLO hit rate (%)", "slo_hit_rate", 100},
                  {"$ per 1,000 requests", "cost_per_request_usd", 1000},
                  {"µs per decision", "decision_us_mean", 1}};
    char title[160];
    const struct look look = palette_series(number - 1);
    series_title(&series->variants[first], series->parameter, title, sizeof title);
    for (size_t p = 0; p < sizeof panels / sizeof panels[0]; p++)
        for (size_t i = first; i < series->count; i++) {
            const struct variant *variant = &series->variants[i];
            if (!same_but(&series->variants[first], variant, series->parameter))
                continue;
            sheet_count(sheet, p + 1);
            sheet_text(sheet, panels[p].axis);
            sheet_count(sheet, number);
            sheet_text_cut(sheet, title, 90);
            sheet_text(sheet, series->parameter);
            sheet_number(sheet, parameter_of(variant, series->parameter));
            sheet_estimate(sheet, source_estimate(series->source, variant->contender, NULL,
                                                  panels[p].metric, panels[p].scale));
            sheet_colour(sheet, look.colour);
            sheet_number(sheet, look.point);
            sheet_number(sheet, look.dash);
            sheet_row_end(sheet);
        }
}

static bool draw_parameter(const struct series *series, struct figure_list *list,
                           struct error *error)
{
    struct sheet sheet;
    size_t first = 0;
    while (first < series->count &&
           series_values(series->variants, series->count, first, series->parameter) < LEAST_VALUES)
        first++;
    if (first == series->count)
        return true;
    char *caption = source_caption(series->source, series->variants[first].scenario,
                                   "All else equal along a line.", true);
    if (caption == NULL)
        return figure_no_memory(error);
    bool good = sheet_begin(&sheet, list, "sensitivity", series->parameter, caption,
                            "panel,axis,series,series_title,parameter,x,value,low,high,colour,"
                            "point,dash",
                            error);
    free(caption);
    size_t number = 0;
    for (; good && first < series->count; first++)
        if (series_values(series->variants, series->count, first, series->parameter) >=
            LEAST_VALUES)
            series_rows(series, first, ++number, &sheet);
    return sheet_end(&sheet, good, error);
}

/* Draws a figure per numeric parameter of any policy, in order of appearance. */
static bool draw_parameters(const struct source *source, const struct variant *variants,
                            size_t count, struct figure_list *list, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        for (const cJSON *value = variants[i].parameters == NULL ? NULL
                                                                 : variants[i].parameters->child;
             value != NULL; value = value->next) {
            size_t earlier = 0;
            while (earlier < i && isnan(parameter_of(&variants[earlier], value->string)))
                earlier++;
            if (earlier < i || !cJSON_IsNumber(value))
                continue;
            const struct series series = {source, variants, count, value->string};
            if (!draw_parameter(&series, list, error))
                return false;
        }
    }
    return true;
}

bool families_sensitivity(const struct source *source, struct figure_list *list,
                          struct error *error)
{
    const struct report *report = source->report;
    size_t count = 0;
    if (!figure_wanted(list, "sensitivity"))
        return true;
    struct variant *variants = calloc(report->results->run_count + 1, sizeof *variants);
    if (variants == NULL)
        return figure_no_memory(error);
    for (size_t s = 0; s < report->scenario_count; s++)
        for (size_t c = 0; c < report->scenarios[s].contender_count; c++) {
            const struct report_contender *contender = &report->scenarios[s].contenders[c];
            char *text =
                run_details_text(source->details, report->results->runs[contender->runs[0]].hash,
                                 "policy_parameters");
            variants[count++] = (struct variant){&report->scenarios[s], contender,
                                                 text == NULL ? NULL : cJSON_Parse(text)};
            free(text);
        }
    bool good = draw_parameters(source, variants, count, list, error);
    for (size_t i = 0; i < count; i++)
        cJSON_Delete(variants[i].parameters);
    free(variants);
    return good;
}
