#include "results/report/scenario_tables.h"

#include <math.h>
#include <string.h>

#include "results/report/report_columns.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- Metrics --------------------------------------------------------------------------------- */

struct metric_rows {
    const struct report *report;
    const struct report_scenario *scenario;
    struct report_columns columns;
    const char *helps[1 + REPORT_COLUMNS];
    struct text_table *table;
};

/* Selects the columns and creates the table with their headers after the column `first`. */
static void rows_begin(struct metric_rows *rows, const enum metric_table tables[2],
                       const char *first, bool html)
{
    struct report_columns *columns = &rows->columns;
    const char *headers[1 + REPORT_COLUMNS] = {first};
    for (size_t t = 0; t < 1 + (size_t)(tables[0] != tables[1]); t++)
        report_columns_add(rows->report, rows->scenario, tables[t], html, columns);
    for (size_t m = 0; m < columns->count; m++) {
        headers[m + 1] = columns->metrics[m]->column.header;
        rows->helps[m + 1] = columns->metrics[m]->help;
    }
    rows->table = text_table_create(headers, columns->count + 1);
    text_table_helps(rows->table, rows->helps);
}

static void rows_add(const struct metric_rows *rows, const char *application)
{
    const struct report_scenario *scenario = rows->scenario;
    const struct report_columns *columns = &rows->columns;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        text_table_row(rows->table);
        text_table_name(rows->table, 0, "%s", scenario->contenders[c].title);
        for (size_t m = 0; m < columns->count; m++)
            report_column_cell(rows->report, &scenario->contenders[c], application,
                               columns->metrics[m], columns->decimals[m],
                               application == NULL ? "" : application, rows->table, m + 1);
    }
}

static void bound_add(const struct metric_rows *rows, const char *application)
{
    const struct report_columns *columns = &rows->columns;
    if (report_bounded(rows->report, rows->scenario) == NULL)
        return;
    text_table_row(rows->table);
    text_table_name(rows->table, 0, "bound");
    for (size_t m = 0; m < columns->count; m++) {
        const struct estimate bound =
            report_column_bound(rows->report, rows->scenario, application, columns->metrics[m]);
        if (bound.n > 0)
            text_table_estimate(rows->table, m + 1, bound, columns->decimals[m]);
    }
}

/* The applications and, last, all together, which is redundant if there is only one. */
static size_t group_count(const struct report_scenario *scenario)
{
    return scenario->application_count == 1 ? 1 : scenario->application_count + 1;
}

/* Begins a group and returns its application; NULL: all. */
static const char *group_begin(const struct report_scenario *scenario, size_t group,
                               struct text_table *table)
{
    const bool all = group == scenario->application_count;
    text_table_group(table, all ? "all applications" : scenario->applications[group]);
    return all ? NULL : scenario->applications[group];
}

void scenario_by_application(const struct report *report, const struct report_scenario *scenario,
                             bool html, FILE *out)
{
    static const enum metric_table tables[] = {METRIC_RESULTS, METRIC_RESULTS};
    struct metric_rows rows = {.report = report, .scenario = scenario};
    rows_begin(&rows, tables, html ? "policy" : "application, policy", html);
    text_table_indent(rows.table, "application");
    const size_t groups = html ? scenario->application_count : group_count(scenario);
    for (size_t g = 0; g < groups; g++) {
        const char *application = group_begin(scenario, g, rows.table);
        rows_add(&rows, application);
        bound_add(&rows, application);
    }
    text_table_end(rows.table, html, out);
}

void scenario_overall(const struct report *report, const struct report_scenario *scenario,
                      const char *title, const enum metric_table tables[2], bool bounded, bool html,
                      FILE *out)
{
    struct metric_rows rows = {.report = report, .scenario = scenario};
    rows_begin(&rows, tables, title, html);
    rows_add(&rows, NULL);
    if (bounded) {
        text_table_foot(rows.table);
        bound_add(&rows, NULL);
    }
    text_table_end(rows.table, html, out);
}

void scenario_trainings(const struct report *report, const struct report_scenario *scenario,
                        bool html, FILE *out)
{
    static const enum metric_table tables[] = {METRIC_TRAININGS, METRIC_GANGS};
    if (report_trains(report, scenario))
        scenario_overall(report, scenario, "trainings", tables, false, html, out);
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

int scenario_sign(struct estimate estimate)
{
    if (isnan(estimate.half_width))
        return 0;
    return estimate.low > 0 ? 1 : estimate.high < 0 ? -1 : 0;
}

bool scenario_pair_lacks(const struct report_scenario *scenario, size_t contender)
{
    return scenario->contenders[contender].missing > 0 ||
           scenario->contenders[scenario->reference].missing > 0;
}

/* `name`: name of the reference in sentences. `lacks`: no verdict. */
static void words_write(const struct report_comparison *comparison, const char *name, bool lacks,
                        char *words, size_t size)
{
    static const char *const forms[3][3] = {
        {"%s hits fewer and costs more", "%s hits fewer at about the same cost",
         "%s hits fewer and costs less"},
        {"about the same hit rate, %s costs more", NULL, "about the same hit rate, %s costs less"},
        {"%s hits more and costs more", "%s hits more at about the same cost",
         "%s hits more and costs less"}};
    const char *form =
        forms[scenario_sign(comparison->hit_points) + 1][scenario_sign(comparison->saving) + 1];
    const bool valued = !isnan(comparison->hit_points.mean) && !isnan(comparison->saving.mean);
    if (lacks || comparison->hit_points.n <= 1 || !valued || form == NULL) {
        (void)snprintf(words, size, "%s",
                       lacks                           ? "cannot be said: runs are missing"
                       : comparison->hit_points.n == 0 ? "no seed in common"
                       : comparison->hit_points.n == 1 ? "one seed: no interval"
                       : !valued                       ? "not every seed has both figures"
                                                       : "no significant difference");
        return;
    }
    const char *gap = strstr(form, "%s");
    (void)snprintf(words, size, "%.*s%s%s", (int)(gap - form), form, name, gap + strlen("%s"));
}

/* Adds the rows of an application; NULL: all together. Returns false if a gain in percent is
 * undefined. */
static bool comparison_rows(const struct report *report, const struct report_scenario *scenario,
                            const char *application, bool html, struct text_table *table)
{
    bool defined = true;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        if (c == scenario->reference)
            continue;
        const struct report_comparison comparison =
            report_compare(report, scenario, c, application);
        char words[TEXT_LABEL * 2];
        text_table_row(table);
        text_table_name(table, 0, "%s", scenario->contenders[c].title);
        text_table_number(table, 1, (double)comparison.saving.n, 17, "%zu", comparison.saving.n);
        text_table_estimate(table, 2, comparison.hit_points, 1);
        text_table_estimate(table, 3, comparison.hit_relative, 1);
        text_table_estimate(table, 4, comparison.saving, 1);
        defined =
            defined && !(comparison.hit_relative.n > 0 && isnan(comparison.hit_relative.mean));
        if (!html)
            continue;
        words_write(&comparison, report_reference_name(scenario), scenario_pair_lacks(scenario, c),
                    words, sizeof words);
        text_table_words(table, 5, "%s", words);
    }
    return defined;
}

void scenario_comparisons(const struct report *report, const struct report_scenario *scenario,
                          bool html, FILE *out)
{
    const char *name = report_reference_name(scenario);
    char first[TEXT_LABEL + 16], points[TEXT_LABEL * 2], relative[TEXT_LABEL * 2];
    char saving[TEXT_LABEL * 3];
    (void)snprintf(first, sizeof first, "%s against",
                   scenario->contenders[scenario->reference].title);
    (void)snprintf(points, sizeof points, "%s − baseline", name);
    (void)snprintf(relative, sizeof relative,
                   "(%s − baseline) / baseline; - if the baseline's is 0 for a seed", name);
    (void)snprintf(saving, sizeof saving, "(baseline − %s) / %s", name, name);
    const char *headers[] = {html ? "against" : first, "seeds",          "SLO hit gain, points",
                             "SLO hit gain, %",        "cost saving, %", "in words"};
    const char *helps[] = {
        NULL,   "seeds that both ran",
        points, relative,
        saving, "by the sign of the paired difference, if its 95 % interval excludes 0"};
    struct text_table *table = text_table_create(headers, COUNT(headers) - !html);
    text_table_helps(table, helps);
    bool defined = true;
    if (html)
        (void)comparison_rows(report, scenario, NULL, true, table);
    else
        text_table_indent(table, NULL);
    for (size_t g = 0; !html && g < group_count(scenario); g++)
        defined =
            comparison_rows(report, scenario, group_begin(scenario, g, table), false, table) &&
            defined;
    if (!defined)
        text_table_note(table, "- in %%: undefined, the baseline's hit rate being 0 for a seed.");
    text_table_end(table, html, out);
}
