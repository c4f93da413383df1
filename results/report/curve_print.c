/* The curves of a report as text, CSV, JSON and HTML. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/csv.h"
#include "results/report/curve.h"
#include "results/report/html.h"
#include "results/report/paired.h"
#include "results/report/report_columns.h"
#include "results/report/table.h"
#include "results/report/training_table.h"

enum { SIGNIFICANT = 4 }; /* digits of a metric that no table of the report shows */

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

/* The distinct titles of all panels, in order of appearance. The caller frees the array; NULL:
 * memory exhausted. */
static const char **panel_titles(const struct curves *curves, size_t *count)
{
    size_t most = 0;
    for (size_t g = 0; g < curves->group_count; g++)
        most += curves->groups[g].panel_count;
    const char **titles = calloc(most + 1, sizeof *titles);
    *count = 0;
    for (size_t g = 0; titles != NULL && g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++) {
            const char *title = curves->groups[g].panels[p].title;
            size_t known = 0;
            while (known < *count && strcmp(titles[known], title) != 0)
                known++;
            if (known == *count)
                titles[(*count)++] = title;
        }
    return titles;
}

/* The line in the group's panel with that title, and in `text` what it sustains; NULL and "": none.
 */
static const struct curve_line *line_titled(const struct curve_group *group, const char *title,
                                            const struct curve_line *line, char text[64])
{
    const struct curve_line *here = NULL;
    text[0] = '\0';
    for (size_t p = 0; here == NULL && p < group->panel_count; p++) {
        if (strcmp(group->panels[p].title, title) == 0)
            here = curve_line_find(&group->panels[p], line);
        if (here != NULL)
            curve_sustained_text(&group->panels[p], here, text);
    }
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

/* Calls `row` for every distinct line of the group, in order of appearance. */
typedef void line_visit(void *context, const struct curve_group *group,
                        const struct curve_line *line);

static void group_visit(const struct curve_group *group, line_visit *visit, void *context)
{
    for (size_t p = 0; p < group->panel_count; p++)
        for (size_t l = 0; l < group->panels[p].line_count; l++)
            if (!line_is_listed(group, p, &group->panels[p].lines[l]))
                visit(context, group, &group->panels[p].lines[l]);
}

/* ---- Text ----------------------------------------------------------------------------------- */

struct sustained_table {
    struct text_table *table; /* or: */
    FILE *html;
    const char **titles;
    size_t count;
};

static void text_sustained_row(void *context, const struct curve_group *group,
                               const struct curve_line *line)
{
    const struct sustained_table *sustained = context;
    text_table_row(sustained->table);
    text_table_cell(sustained->table, 0, "  %s", line->title);
    for (size_t t = 0; t < sustained->count; t++) {
        char text[64];
        if (line_titled(group, sustained->titles[t], line, text) != NULL)
            text_table_cell(sustained->table, t + 1, "%s", text);
    }
}

static struct text_table *text_sustained(const struct curves *curves, const char **titles,
                                         size_t count)
{
    const char **headers = calloc(count + 1, sizeof *headers);
    if (headers == NULL)
        return NULL;
    headers[0] = "";
    for (size_t t = 0; t < count; t++)
        headers[t + 1] = titles[t][0] != '\0' ? titles[t] : curves->key;
    struct sustained_table sustained = {
        .table = text_table_create(headers, count + 1), .titles = titles, .count = count};
    free(headers);
    for (size_t g = 0; g < curves->group_count; g++) {
        text_table_group(sustained.table, curves->groups[g].title);
        group_visit(&curves->groups[g], text_sustained_row, &sustained);
    }
    return sustained.table;
}

/* "arrivals.load sustained with SLO hit % of at least 95"; "mean JCT h by arrivals.per_hour" */
static char *sustained_title(const struct curves *curves)
{
    char *title = NULL;
    const char *metric = curve_metric_title(curves->metric);
    if ((isnan(curves->limit) ? asprintf(&title, "%s by %s", metric, curves->key)
                              : asprintf(&title, "%s sustained with %s of at %s %g", curves->key,
                                         metric, curves->at_most ? "most" : "least",
                                         curves->limit * curves->metric->column.scale)) < 0)
        title = NULL;
    return title;
}

static const char rule[] =
    "The greatest value of the sweep at which, as at every smaller one, the 95 % interval over the "
    "seeds\nis wholly within the limit (one seed: the value is). ≥: the sweep ends there; <: not "
    "even at its start.";

bool curves_text_sustained(const struct curves *curves, FILE *out)
{
    size_t count = 0;
    const char **titles = panel_titles(curves, &count);
    char *title = sustained_title(curves);
    bool good = titles != NULL && title != NULL;
    if (good) {
        struct text_table *table = text_sustained(curves, titles, count);
        (void)fprintf(out, "%s\n%s\n\n", title, rule);
        good = text_table_print(table, 0, out);
        text_table_free(table);
    }
    free(titles);
    free(title);
    return good;
}

static int panel_decimals(const struct report *report, const struct curve_panel *panel,
                          const struct metric *metric)
{
    double largest = 0;
    const int digits = metric->column.digits;
    if (digits < 0)
        return -1 - digits;
    for (size_t l = 0; l < panel->line_count; l++)
        for (size_t i = 0; i < panel->lines[l].point_count; i++)
            largest =
                fmax(largest, fabs(report_column_estimate(
                                       report, panel->lines[l].points[i].contender, NULL, metric)
                                       .mean));
    return text_table_decimals(largest, digits == 0 ? SIGNIFICANT : digits);
}

/* Fills the line's cell in the column of the value, a dash if it has no such point. */
static void cell_fill(const struct report *report, const struct curve_line *line, double value,
                      const struct metric *metric, int decimals, struct text_table *table,
                      size_t column)
{
    char place[TEXT_NAME + 32];
    (void)snprintf(place, sizeof place, "%.*s %.6g", TEXT_NAME, report->curves->key, value);
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
    text_table_group(table, curve_metric_title(metric));
    for (size_t l = 0; l < panel->line_count; l++) {
        text_table_row(table);
        text_table_cell(table, 0, "  %s", panel->lines[l].title);
        for (size_t v = 0; v < panel->value_count; v++)
            cell_fill(report, &panel->lines[l], panel->values[v], metric, decimals, table, v + 1);
    }
}

static bool text_panel(const struct report *report, const struct curves *curves,
                       const struct curve_group *group, const struct curve_panel *panel, FILE *out)
{
    const char **headers = calloc(panel->value_count + 1, sizeof *headers);
    char(*texts)[32] = calloc(panel->value_count + 1, sizeof *texts);
    if (headers == NULL || texts == NULL) {
        free(headers);
        free(texts);
        return false;
    }
    headers[0] = curves->key;
    for (size_t v = 0; v < panel->value_count; v++) {
        (void)snprintf(texts[v], sizeof texts[v], "%.6g", panel->values[v]);
        headers[v + 1] = texts[v];
    }
    struct text_table *table = text_table_create(headers, panel->value_count + 1);
    free(headers);
    free(texts);
    text_panel_rows(report, panel, curves->metric, table);
    const char *beside = companion(curves->metric);
    if (beside != NULL)
        text_panel_rows(report, panel, report_metric_find(beside), table);
    (void)fprintf(out, "\n%s%s%s\n\n", group->title, panel->title[0] == '\0' ? "" : ", ",
                  panel->title);
    const bool good = text_table_print(table, 0, out);
    text_table_free(table);
    return good;
}

bool curves_text_panels(const struct report *report, FILE *out)
{
    const struct curves *curves = report->curves;
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            if (!text_panel(report, curves, &curves->groups[g], &curves->groups[g].panels[p], out))
                return false;
    return true;
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
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(points, object);
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
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(lines, object);
    (void)cJSON_AddStringToObject(object, "policy", line->like->policy);
    (void)cJSON_AddStringToObject(object, "variant", line->variant);
    (void)cJSON_AddStringToObject(object, "label", line->like->label);
    (void)cJSON_AddNumberToObject(object, "sustained", line->sustained);
    (void)cJSON_AddBoolToObject(object, "beyond_the_sweep", line->beyond);
    cJSON *points = cJSON_AddArrayToObject(object, "points");
    for (size_t i = 0; i < line->point_count; i++)
        json_point(report, line, &line->points[i], names, count, points);
}

void curves_json(const struct report *report, cJSON *root)
{
    const struct curves *curves = report->curves;
    cJSON *object = cJSON_AddObjectToObject(root, "curves");
    (void)cJSON_AddStringToObject(object, "key", curves->key);
    (void)cJSON_AddStringToObject(object, "metric", curves->metric->name);
    (void)cJSON_AddNumberToObject(object, "at_least", curves->at_most ? NAN : curves->limit);
    if (curves->at_most)
        (void)cJSON_AddNumberToObject(object, "at_most", curves->limit);
    cJSON *panels = cJSON_AddArrayToObject(object, "panels");
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++) {
            const struct curve_group *group = &curves->groups[g];
            cJSON *entry = cJSON_CreateObject();
            (void)cJSON_AddItemToArray(panels, entry);
            (void)cJSON_AddStringToObject(entry, "name", group->like->name);
            (void)cJSON_AddStringToObject(entry, "setting", curve_group_setting(group));
            (void)cJSON_AddStringToObject(entry, "label", group->named ? "" : group->like->label);
            (void)cJSON_AddStringToObject(entry, "conditions", group->panels[p].conditions);
            (void)cJSON_AddStringToObject(entry, "profile_evidence", group->like->evidence);
            cJSON *lines = cJSON_AddArrayToObject(entry, "policies");
            for (size_t l = 0; l < group->panels[p].line_count; l++)
                json_line(report, &group->panels[p].lines[l], lines);
        }
}

/* ---- HTML ----------------------------------------------------------------------------------- */

static void html_sustained_row(void *context, const struct curve_group *group,
                               const struct curve_line *line)
{
    const struct sustained_table *sustained = context;
    html_row_begin(sustained->html);
    html_cell_text(sustained->html, group->title);
    html_cell_text(sustained->html, line->title);
    for (size_t t = 0; t < sustained->count; t++) {
        char text[64];
        const struct curve_line *here = line_titled(group, sustained->titles[t], line, text);
        (void)fprintf(sustained->html, "<td data-v=\"%.6g\">",
                      here == NULL || isnan(here->sustained) ? 0 : here->sustained);
        html_text(sustained->html, text);
        (void)fputs("</td>", sustained->html);
    }
    html_row_end(sustained->html);
}

static bool html_sustained(const struct curves *curves, FILE *out)
{
    size_t count = 0;
    const char **titles = panel_titles(curves, &count);
    const char **headers = calloc(count + 2, sizeof *headers);
    const bool good = titles != NULL && headers != NULL;
    if (good) {
        headers[0] = "setting";
        headers[1] = "policy";
        for (size_t t = 0; t < count; t++)
            headers[t + 2] = titles[t][0] != '\0' ? titles[t] : curves->key;
        html_table_begin(out, headers, NULL, count + 2, 3U);
        struct sustained_table sustained = {.html = out, .titles = titles, .count = count};
        for (size_t g = 0; g < curves->group_count; g++)
            group_visit(&curves->groups[g], html_sustained_row, &sustained);
        html_table_end(out, false);
    }
    free(titles);
    free(headers);
    return good;
}

/* One row per policy and value, so that a click sorts by either. */
static void html_panel(const struct report *report, const struct curve_group *group,
                       const struct curve_panel *panel, FILE *out)
{
    const bool trainings = report->curves->metric->scope == METRIC_OF_TRAININGS;
    const struct metric *beside =
        report_metric_find(trainings ? companion(report->curves->metric) : cost);
    const struct metric *const shown[] = {report->curves->metric, beside,
                                          metric_find("latency_ms_p95")};
    const char *const headers[] = {"policy", report->curves->key, curve_metric_title(shown[0]),
                                   curve_metric_title(shown[1]), curve_metric_title(shown[2])};
    (void)fputs(isnan(report->curves->limit) ? "<details open=\"open\"><summary>"
                                             : "<details><summary>",
                out);
    html_text(out, group->title);
    html_text(out, panel->title[0] == '\0' ? "" : ", ");
    html_text(out, panel->title);
    (void)fputs("</summary>\n", out);
    const size_t count = trainings ? 2 : 3;
    html_table_begin(out, headers, NULL, 2 + count, 1U);
    for (size_t l = 0; l < panel->line_count; l++)
        for (size_t i = 0; i < panel->lines[l].point_count; i++) {
            const struct curve_point *point = &panel->lines[l].points[i];
            html_row_begin(out);
            html_cell_text(out, panel->lines[l].title);
            (void)fprintf(out, "<td data-v=\"%.17g\">%.6g</td>", point->value, point->value);
            for (size_t m = 0; m < count; m++)
                report_column_html(report, point->contender, NULL, shown[m],
                                   panel_decimals(report, panel, shown[m]), out);
            html_row_end(out);
        }
    html_table_end(out, false);
    (void)fputs("</details>\n", out);
}

bool curves_html(const struct report *report, FILE *out)
{
    const struct curves *curves = report->curves;
    char *title = sustained_title(curves);
    if (title == NULL)
        return false;
    html_element(out, "h2 id=\"sustained\"", title);
    if (!isnan(curves->limit))
        html_element(out, "p", rule);
    const bool good = isnan(curves->limit) || html_sustained(curves, out);
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            html_panel(report, &curves->groups[g], &curves->groups[g].panels[p], out);
    free(title);
    return good;
}
