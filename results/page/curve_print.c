/* The curves of a report as text, JSON and HTML. */
#include <math.h>
#include <string.h>

#include "results/page/report_columns.h"
#include "results/report/curve.h"
#include "results/report/html.h"
#include "results/report/paired.h"
#include "results/report/table.h"
#include "sim/base/json_write.h"

/* What the curve tables show beside a metric of requests. */
static const char cost[] = "cost_per_request_usd";

/* The name of the metric that the curve tables show beside the curves' own; NULL: none. */
static const char *companion(const struct metric *metric)
{
    if (metric->scope == METRIC_OF_TRAININGS)
        return strcmp(metric->name, CURVE_TRAINING_METRIC) == 0 ? "jct_s_p99"
                                                                : CURVE_TRAINING_METRIC;
    return strcmp(metric->name, cost) == 0 ? NULL : cost;
}

/* ---- Table of sustained values --------------------------------------------------------------- */

/* The line in the group's panel with that title; NULL: none. */
static const struct curve_line *line_titled(const struct curve_group *group, const char *title,
                                            const struct curve_line *line)
{
    const struct curve_line *here = NULL;
    for (size_t p = 0; here == NULL && p < group->panel_count; p++)
        if (strcmp(group->panels[p].title, title) == 0)
            here = curve_line_find(&group->panels[p], line);
    return here;
}

/* Returns whether an earlier panel of the group has the line too. */
static bool line_is_listed(const struct curve_group *group, size_t panel,
                           const struct curve_line *line)
{
    for (size_t p = 0; p < panel; p++)
        if (curve_line_find(&group->panels[p], line) != NULL)
            return true;
    return false;
}

static void sustained_rows(const struct curve_group *group, const char **titles, size_t count,
                           struct text_table *table)
{
    for (size_t p = 0; p < group->panel_count; p++)
        for (size_t l = 0; l < group->panels[p].line_count; l++) {
            const struct curve_line *line = &group->panels[p].lines[l];
            if (line_is_listed(group, p, line))
                continue;
            text_table_row(table);
            text_table_name(table, 0, "%s", line->title);
            for (size_t t = 0; t < count; t++) {
                const struct curve_line *here = line_titled(group, titles[t], line);
                const double value = here == NULL || isnan(here->sustained) ? 0 : here->sustained;
                text_table_number(table, t + 1, value, 6, "%s", here == NULL ? "" : here->words);
            }
        }
}

static void sustained_print(const struct report *report, bool html, FILE *out)
{
    const struct curves *curves = report->curves;
    const char **titles = NULL, **headers = NULL; /* the panels' titles; headers of the columns */
    size_t count = 0, columns = 0;
    report_name_add(report, &headers, &columns, html ? "policy" : "");
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++) {
            const char *title = curves->groups[g].panels[p].title;
            if (!report_name_add(report, &titles, &count, title))
                continue;
            title = title[0] == '\0' ? curves->key : title;
            title = html ? names_conditions(report->arena, title) : title;
            report_name_add(report, &headers, &columns, title);
        }
    struct text_table *table = text_table_create(headers, columns);
    text_table_indent(table, "setting");
    for (size_t g = 0; g < curves->group_count; g++) {
        const char *title = curves->groups[g].title;
        text_table_group(table, html ? names_conditions(report->arena, title) : title);
        sustained_rows(&curves->groups[g], titles, count, table);
    }
    text_table_end(table, html, out);
}

/* "arrivals.load sustained with SLO hit % of at least 95"; "mean JCT h by arrivals.per_hour" */
static const char *sustained_title(const struct report *report, const char *key)
{
    const struct curves *curves = report->curves;
    const char *metric = curves->metric->face.header;
    return isnan(curves->limit) ? arena_text(report->arena, "%s by %s", metric, key)
                                : arena_text(report->arena, "%s sustained with %s of at %s %g", key,
                                             metric, curves->at_most ? "most" : "least",
                                             curves->limit * curves->metric->face.scale);
}

static const char rule[] =
    "The greatest value of the sweep at which, as at every smaller one, the 95 % interval over the "
    "seeds is wholly within the limit (one seed: the value is). ≥: the sweep ends there; <: not "
    "even at its start.";

void curves_text_sustained(const struct report *report, FILE *out)
{
    (void)fprintf(out, "%s\n%s\n\n", sustained_title(report, report->curves->key), rule);
    sustained_print(report, false, out);
}

static int panel_decimals(const struct report *report, const struct curve_panel *panel,
                          const struct metric *metric)
{
    double largest = 0;
    for (size_t l = 0; l < panel->line_count; l++)
        for (size_t i = 0; i < panel->lines[l].point_count; i++)
            largest =
                fmax(largest, fabs(report_column_estimate(
                                       report, panel->lines[l].points[i].contender, NULL, metric)
                                       .mean));
    return metric_decimals(metric, largest);
}

/* Fills the line's cell in the column of the value, a dash if it has no such point. */
static void cell_fill(const struct report *report, const struct curve_line *line, double value,
                      const struct metric *metric, int decimals, struct text_table *table,
                      size_t column)
{
    const char *place = arena_text(report->arena, "%s %.6g", report->curves->key, value);
    text_table_cell(table, column, "-");
    for (size_t i = 0; i < line->point_count; i++)
        if (line->points[i].value == value)
            report_column_cell(report, line->points[i].contender, NULL, metric, decimals, place,
                               table, column);
}

static void text_panel_rows(const struct report *report, const struct curve_panel *panel,
                            const struct metric *metric, struct text_table *table)
{
    const int decimals = panel_decimals(report, panel, metric);
    text_table_group(table, metric->face.header);
    for (size_t l = 0; l < panel->line_count; l++) {
        text_table_row(table);
        text_table_cell(table, 0, "%s", panel->lines[l].title);
        for (size_t v = 0; v < panel->value_count; v++)
            cell_fill(report, &panel->lines[l], panel->values[v], metric, decimals, table, v + 1);
    }
}

/* A row per policy, a column per value. */
static void panel_print(const struct report *report, const struct curve_group *group,
                        const struct curve_panel *panel, bool html, FILE *out)
{
    const struct curves *curves = report->curves;
    const size_t columns = panel->value_count + 1;
    const char **headers = arena_allocate(report->arena, columns, sizeof *headers);
    headers[0] = html ? names_axis(curves->key) : curves->key;
    for (size_t v = 0; v < panel->value_count; v++)
        headers[v + 1] = arena_text(report->arena, "%.6g", panel->values[v]);
    struct text_table *table = text_table_create(headers, columns);
    text_table_indent(table, NULL);
    text_panel_rows(report, panel, curves->metric, table);
    const char *beside = companion(curves->metric);
    if (beside != NULL)
        text_panel_rows(report, panel, report_metric_find(beside), table);
    const char *before = group->title, *title = panel->title;
    before = html ? names_conditions(report->arena, before) : before;
    title = html ? names_conditions(report->arena, title) : title;
    title = arena_text(report->arena, "%s%s%s", before, title[0] == '\0' ? "" : ", ", title);
    if (html)
        html_print(out, "<details%s><summary>%s</summary>\n",
                   isnan(curves->limit) ? " open=\"open\"" : "", title);
    else
        (void)fprintf(out, "\n%s\n\n", title);
    text_table_end(table, html, out);
    (void)fputs(html ? "</details>\n" : "", out);
}

void curves_panels(const struct report *report, bool html, FILE *out)
{
    const struct curves *curves = report->curves;
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            panel_print(report, &curves->groups[g], &curves->groups[g].panels[p], html, out);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* The point whose value is nearest to 0, to which the others are compared: no error, the least
 * load. */
static const struct curve_point *reference_point(const struct curve_line *line)
{
    const struct curve_point *nearest = &line->points[0];
    for (size_t i = 1; i < line->point_count; i++)
        if (fabs(line->points[i].value) < fabs(nearest->value))
            nearest = &line->points[i];
    return nearest;
}

static void json_point(const struct report *report, const struct curve_line *line,
                       const struct curve_point *point, const char *const *names, size_t count,
                       cJSON *points)
{
    const struct paired_contenders pair = {point->contender, reference_point(line)->contender};
    cJSON *object = json_append(points);
    (void)cJSON_AddNumberToObject(object, "value", point->value);
    for (size_t n = 0; n < count; n++)
        estimate_json(
            object, names[n],
            report_estimate(report, point->contender, NULL, report_metric_find(names[n])));
    estimate_json(
        object, "change",
        paired_estimate(report, &pair, 1, NULL, report_metric_find(names[0]), PAIRED_DIFFERENCE));
}

static void json_line(const struct report *report, const struct curve_line *line, cJSON *lines)
{
    const char *const names[] = {report->curves->metric->name, companion(report->curves->metric)};
    const size_t count = names[1] != NULL ? 2 : 1;
    cJSON *object = json_append(lines);
    json_put(object, "policy %s variant %s label %s sustained %g beyond_the_sweep %hhd",
             line->like->policy, line->variant, line->like->label, line->sustained, line->beyond);
    cJSON *points = cJSON_AddArrayToObject(object, "points");
    for (size_t i = 0; i < line->point_count; i++)
        json_point(report, line, &line->points[i], names, count, points);
}

void curves_json(const struct report *report, cJSON *root)
{
    const struct curves *curves = report->curves;
    cJSON *object = cJSON_AddObjectToObject(root, "curves");
    json_put(object, "key %s metric %s at_least %g", curves->key, curves->metric->name,
             curves->at_most ? NAN : curves->limit);
    if (curves->at_most)
        (void)cJSON_AddNumberToObject(object, "at_most", curves->limit);
    cJSON *panels = cJSON_AddArrayToObject(object, "panels");
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++) {
            const struct curve_group *group = &curves->groups[g];
            cJSON *entry = json_append(panels);
            json_put(entry, "name %s setting %s label %s conditions %s profile_evidence %s",
                     group->like->name, curve_group_setting(group),
                     group->named ? "" : group->like->label, group->panels[p].conditions,
                     group->like->evidence);
            cJSON *lines = cJSON_AddArrayToObject(entry, "policies");
            for (size_t l = 0; l < group->panels[p].line_count; l++)
                json_line(report, &group->panels[p].lines[l], lines);
        }
}

/* ---- HTML ----------------------------------------------------------------------------------- */

void curves_html(const struct report *report, FILE *out)
{
    const struct curves *curves = report->curves;
    html_print(out, "<h2 id=\"sustained\">%s</h2>",
               sustained_title(report, names_axis(curves->key)));
    if (!isnan(curves->limit)) {
        html_print(out, "<p>%s</p>", rule);
        sustained_print(report, true, out);
    }
    curves_panels(report, true, out);
}
