#include "results/page/scenario_tables.h"

#include <math.h>
#include <string.h>

#include "results/page/report_columns.h"
#include "results/report/paired.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- Metrics --------------------------------------------------------------------------------- */

struct metric_rows {
    const struct report *report;
    const struct report_scenario *scenario;
    struct report_columns columns;
    const char *helps[1 + REPORT_COLUMNS];
    struct text_table *table;
};

/* Over all contenders and applications, and all together. */
static double largest_of(const void *context, const struct metric *metric)
{
    const struct metric_rows *rows = context;
    const struct report_scenario *scenario = rows->scenario;
    double largest = 0;
    for (size_t c = 0; c < scenario->contender_count; c++)
        for (size_t a = 0; a <= scenario->application_count; a++)
            largest = fmax(
                largest,
                fabs(report_column_estimate(
                         rows->report, &scenario->contenders[c],
                         a < scenario->application_count ? scenario->applications[a] : NULL, metric)
                         .mean));
    return largest;
}

/* Selects the columns and creates the table with their headers after the column `first`. */
static void rows_begin(struct metric_rows *rows, enum metric_group group, enum metric_group last,
                       const char *first, bool html)
{
    struct report_columns *columns = &rows->columns;
    const char *headers[1 + REPORT_COLUMNS] = {first};
    metric_columns_select(html ? ON_PAGE : IN_REPORT, group, last, largest_of, rows, columns);
    for (size_t m = 0; m < columns->count; m++) {
        headers[m + 1] = columns->metrics[m]->face.header;
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
    struct metric_rows rows = {.report = report, .scenario = scenario};
    rows_begin(&rows, METRIC_RESULTS, METRIC_RESULTS, html ? "policy" : "application, policy",
               html);
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
                      enum metric_group first, enum metric_group last, bool html, FILE *out)
{
    struct metric_rows rows = {.report = report, .scenario = scenario};
    const bool named = !html || first == METRIC_COMPLETION;
    rows_begin(&rows, first, last, named ? metric_group_titles[first] : "policy", html);
    rows_add(&rows, NULL);
    if (first == METRIC_RESULTS) {
        text_table_foot(rows.table);
        bound_add(&rows, NULL);
    }
    text_table_end(rows.table, html, out);
}

void scenario_trainings(const struct report *report, const struct report_scenario *scenario,
                        bool html, FILE *out)
{
    if (report_trains(report, scenario))
        scenario_overall(report, scenario, METRIC_COMPLETION, METRIC_GANGS, html, out);
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

bool scenario_pair_lacks(const struct report_scenario *scenario, size_t contender)
{
    return scenario->contenders[contender].missing > 0 ||
           scenario->contenders[scenario->reference].missing > 0;
}

size_t scenario_signs(const struct report *report, const struct report_scenario *scenario,
                      struct scenario_sign **signs)
{
    const size_t count = scenario->contender_count;
    double *p = arena_allocate(report->arena, 4 * count, sizeof *p), *adjusted = p + 2 * count;
    *signs = arena_allocate(report->arena, count, sizeof **signs);
    for (size_t c = 0; c < count; c++) {
        const struct report_comparison comparison = report_compare(report, scenario, c, NULL);
        const bool told = c != scenario->reference && !scenario_pair_lacks(scenario, c);
        p[2 * c] = told ? statistics_p_value(&comparison.gains[GAIN_POINTS]) : NAN;
        p[2 * c + 1] = told && report_costs_compare(&comparison)
                           ? statistics_p_value(&comparison.gains[GAIN_SAVING])
                           : NAN;
        (*signs)[c] = (struct scenario_sign){comparison.gains[GAIN_POINTS].mean > 0 ? 1 : -1,
                                             comparison.gains[GAIN_SAVING].mean > 0 ? 1 : -1};
    }
    const size_t tests = statistics_holm(p, 2 * count, adjusted);
    for (size_t c = 0; c < count; c++) {
        (*signs)[c].hits *= adjusted[2 * c] < 0.05;
        (*signs)[c].saving *= adjusted[2 * c + 1] < 0.05;
    }
    return tests;
}

/* What a cell says of a difference with that sign. `lacks`: runs are missing. */
static const char *mark_of(const struct estimate *difference, int sign, bool lacks)
{
    static const char *const marks[] = {"worse", "not resolved", "better"};
    return lacks                           ? "cannot be said: runs are missing"
           : difference->n == 0            ? "no seed in common"
           : difference->n == 1            ? "one seed"
           : isnan(difference->half_width) ? "not every seed has both figures"
                                           : marks[sign + 1];
}

/* Adds the rows of an application; NULL: all together. `signs` NULL: no marks. Returns false if a
 * gain in percent is undefined. */
static bool comparison_rows(const struct report *report, const struct report_scenario *scenario,
                            const char *application, const struct scenario_sign *signs,
                            struct text_table *table)
{
    bool defined = true;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        if (c == scenario->reference)
            continue;
        const struct report_comparison comparison =
            report_compare(report, scenario, c, application);
        text_table_row(table);
        text_table_name(table, 0, "%s", scenario->contenders[c].title);
        text_table_number(table, 1, (double)comparison.gains[GAIN_SAVING].n, 17, "%zu",
                          comparison.gains[GAIN_SAVING].n);
        text_table_estimate(table, 2, comparison.gains[GAIN_POINTS], 1);
        text_table_estimate(table, 3, comparison.gains[GAIN_RELATIVE], 1);
        text_table_estimate(table, 4, comparison.gains[GAIN_SAVING], 1);
        defined = defined && !(comparison.gains[GAIN_RELATIVE].n > 0 &&
                               isnan(comparison.gains[GAIN_RELATIVE].mean));
        if (signs == NULL)
            continue;
        const bool lacks = scenario_pair_lacks(scenario, c);
        text_table_name(table, 5, "%s",
                        mark_of(&comparison.gains[GAIN_POINTS], signs[c].hits, lacks));
        if (report_costs_compare(&comparison))
            text_table_name(table, 6, "%s",
                            mark_of(&comparison.gains[GAIN_SAVING], signs[c].saving, lacks));
        else
            text_table_name(table, 6, "not judged: %.3g points more dropped by %s",
                            fabs(comparison.drops),
                            comparison.drops > 0 ? scenario->contenders[scenario->reference].title
                                                 : scenario->contenders[c].title);
    }
    return defined;
}

void scenario_places(const struct report *report, const struct report_scenario *scenario, FILE *out)
{
    const struct metric *hits = metric_find("slo_hit_rate"), *drops = metric_find("drop_rate");
    const size_t count = scenario->contender_count;
    bool *refuses = arena_allocate(report->arena, count, sizeof *refuses);
    char *behind = arena_text(report->arena, "%s", "");
    for (size_t c = 0; c < count; c++)
        refuses[c] = report_estimate(report, &scenario->contenders[c], NULL, drops).mean > 0.05;
    (void)fputs("\nPlaces by SLO hits, shared unless a paired 95 % interval separates", out);
    for (size_t place = 1; place <= count; place++)
        for (size_t c = 0, told = 0; c < count; c++) {
            const char *title = scenario->contenders[c].title;
            if (paired_place(report, scenario, c, hits, false, refuses) != place)
                continue;
            if (refuses[c])
                arena_append(report->arena, &behind, "; %s (%zu)", title, place);
            else if (told++ == 0)
                (void)fprintf(out, "; %zu: %s", place, title);
            else
                (void)fprintf(out, ", %s", title);
        }
    (void)fprintf(out, "%s%s\n", behind[0] != '\0' ? ". Without one, as over 5 % is refused" : "",
                  behind);
}

void scenario_comparisons(const struct report *report, const struct report_scenario *scenario,
                          bool html, FILE *out)
{
    const char *name = report_reference_name(scenario);
    struct arena *arena = report->arena;
    const char *relative =
        arena_text(arena, "(%s − baseline) / baseline; - if the baseline's is 0 for a seed", name);
    const char *saving =
        arena_text(arena, "(baseline − %s) / %s, per request that was not dropped", name, name);
    static const char mark[] =
        "whether the reference is better, by Student's paired t test at 5 % with Holm's adjustment "
        "over the table";
    const char *headers[] = {
        html ? "against"
             : arena_text(arena, "%s against", scenario->contenders[scenario->reference].title),
        "seeds",
        "SLO hit gain, points",
        "SLO hit gain, %",
        "cost saving, %",
        "hits",
        "cost"};
    const char *helps[] = {NULL,
                           "seeds that both ran",
                           arena_text(arena, "%s − baseline", name),
                           relative,
                           saving,
                           mark,
                           mark};
    struct scenario_sign *signs;
    const size_t tests = scenario_signs(report, scenario, &signs);
    struct text_table *table = text_table_create(headers, COUNT(headers));
    text_table_helps(table, helps);
    bool defined = true;
    if (html)
        (void)comparison_rows(report, scenario, NULL, signs, table);
    else
        text_table_indent(table, NULL);
    for (size_t g = 0; !html && g < group_count(scenario); g++)
        defined = comparison_rows(report, scenario, group_begin(scenario, g, table),
                                  g + 1 == group_count(scenario) ? signs : NULL, table) &&
                  defined;
    if (tests > 0)
        text_table_note(table,
                        "hits, cost: paired t tests at 5 %% with Holm over %zu comparisons; "
                        "intervals are not adjusted.",
                        tests);
    if (!defined)
        text_table_note(table, "- in %%: undefined, the baseline's hit rate being 0 for a seed.");
    text_table_end(table, html, out);
}
