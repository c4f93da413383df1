/* The tables of one scenario in the HTML page, and the comparison in sentences. */
#include <math.h>
#include <string.h>

#include "results/report/html.h"
#include "results/report/report_columns.h"
#include "results/report/report_html.h"
#include "results/report/table.h"
#include "results/report/training_table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void table_begin(const struct report_columns *columns, bool by_application, FILE *out)
{
    const char *headers[REPORT_COLUMNS + 2];
    const char *helps[REPORT_COLUMNS + 2] = {NULL};
    const size_t led = by_application ? 2 : 1;
    headers[0] = by_application ? "application" : "policy";
    headers[1] = "policy";
    for (size_t m = 0; m < columns->count; m++) {
        headers[led + m] = columns->metrics[m]->column.header;
        helps[led + m] = columns->metrics[m]->help;
    }
    html_table_begin(out, headers, helps, led + columns->count, by_application ? 3U : 1U);
}

static void contender_row(const struct report *report, const struct report_contender *contender,
                          const char *application, const struct report_columns *columns, FILE *out)
{
    html_row_begin(out);
    if (application != NULL)
        html_cell_text(out, application);
    html_cell_text(out, contender->title);
    for (size_t m = 0; m < columns->count; m++)
        report_column_html(report, contender, application, columns->metrics[m],
                           columns->decimals[m], out);
    html_row_end(out);
}

static void bound_row(const struct report *report, const struct report_scenario *scenario,
                      const char *application, const struct report_columns *columns, FILE *out)
{
    if (report_bounded(report, scenario) == NULL)
        return;
    html_row_begin(out);
    if (application != NULL)
        html_cell_text(out, application);
    html_cell_text(out, "bound");
    for (size_t m = 0; m < columns->count; m++) {
        const struct estimate bound =
            report_column_bound(report, scenario, application, columns->metrics[m]);
        if (bound.n > 0)
            html_cell_estimate(out, bound, columns->decimals[m], "");
        else
            (void)fputs("<td></td>", out);
    }
    html_row_end(out);
}

static void overall_table(const struct page *page, const struct report_scenario *scenario,
                          const struct report_columns *columns, bool bounded, FILE *out)
{
    table_begin(columns, false, out);
    for (size_t c = 0; c < scenario->contender_count; c++)
        contender_row(page->report, &scenario->contenders[c], NULL, columns, out);
    if (bounded) {
        html_table_foot(out);
        bound_row(page->report, scenario, NULL, columns, out);
    }
    html_table_end(out, bounded);
}

static void application_table(const struct page *page, const struct report_scenario *scenario,
                              const struct report_columns *columns, FILE *out)
{
    table_begin(columns, true, out);
    for (size_t a = 0; a < scenario->application_count; a++) {
        for (size_t c = 0; c < scenario->contender_count; c++)
            contender_row(page->report, &scenario->contenders[c], scenario->applications[a],
                          columns, out);
        bound_row(page->report, scenario, scenario->applications[a], columns, out);
    }
    html_table_end(out, false);
}

/* ---- Comparisons ---------------------------------------------------------------------------- */

/* 1: significantly above 0; −1: significantly below 0; 0: not significant. */
static int sign_of(struct estimate estimate)
{
    if (isnan(estimate.half_width))
        return 0;
    return estimate.low > 0 ? 1 : estimate.high < 0 ? -1 : 0;
}

/* Whether runs of the contender or of the scenario's reference are missing. */
static bool pair_lacks(const struct report_scenario *scenario, size_t contender)
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
    const char *form = forms[sign_of(comparison->hit_points) + 1][sign_of(comparison->saving) + 1];
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

static void comparison_table(const struct page *page, const struct report_scenario *scenario,
                             FILE *out)
{
    static const char *const headers[] = {
        "against",         "seeds",          "SLO hit gain, points",
        "SLO hit gain, %", "cost saving, %", "in words"};
    const char *name = report_reference_name(scenario);
    char points[TEXT_LABEL * 2], relative[TEXT_LABEL * 2], saving[TEXT_LABEL * 3];
    char words[TEXT_LABEL * 2];
    (void)snprintf(points, sizeof points, "%s − baseline", name);
    (void)snprintf(relative, sizeof relative,
                   "(%s − baseline) / baseline; - if the baseline's is 0 for a seed", name);
    (void)snprintf(saving, sizeof saving, "(baseline − %s) / %s", name, name);
    const char *helps[] = {
        NULL,   "seeds that both ran",
        points, relative,
        saving, "by the sign of the paired difference, if its 95 % interval excludes 0"};
    html_table_begin(out, headers, helps, COUNT(headers), 1U | 1U << 5);
    for (size_t c = 0; c < scenario->contender_count; c++) {
        if (c == scenario->reference)
            continue;
        const struct report_comparison comparison = report_compare(page->report, scenario, c, NULL);
        html_row_begin(out);
        html_cell_text(out, scenario->contenders[c].title);
        (void)fprintf(out, "<td data-v=\"%zu\">%zu</td>", comparison.saving.n, comparison.saving.n);
        html_cell_estimate(out, comparison.hit_points, 1, "");
        html_cell_estimate(out, comparison.hit_relative, 1, "");
        html_cell_estimate(out, comparison.saving, 1, "");
        words_write(&comparison, name, pair_lacks(scenario, c), words, sizeof words);
        html_cell_words(out, words);
        html_row_end(out);
    }
    html_table_end(out, false);
}

static void details_begin(FILE *out, const char *summary)
{
    (void)fputs("<details>", out);
    html_element(out, "summary", summary);
}

void page_tables(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    struct report_columns results = {.count = 0}, cluster = {.count = 0}, times = {.count = 0};
    if (training_table_exists(page->report, scenario))
        training_table_html(page->report, scenario, out);
    if (scenario->application_count == 0)
        return;
    report_columns_add(page->report, scenario, METRIC_RESULTS, true, &results);
    report_columns_add(page->report, scenario, METRIC_CLUSTER, true, &cluster);
    report_columns_add(page->report, scenario, METRIC_TIME, true, &times);
    report_columns_add(page->report, scenario, METRIC_DECISIONS, true, &times);
    overall_table(page, scenario, &results, true, out);
    if (scenario->reference != REPORT_NONE && scenario->contender_count > 1) {
        const char *name = report_reference_name(scenario);
        char text[TEXT_LABEL * 2];
        (void)snprintf(text, sizeof text, "%s against each, seed by seed", name);
        html_element(out, "h4", text);
        (void)snprintf(
            text, sizeof text,
            "Runs with equal seeds have equal arrivals and noise, so these are intervals "
            "of paired differences. Above 0: %s is better.",
            name);
        html_element(out, "p", text);
        comparison_table(page, scenario, out);
    }
    if (scenario->application_count > 1) {
        details_begin(out, "By application");
        application_table(page, scenario, &results, out);
        (void)fputs("</details>\n", out);
    }
    details_begin(out, "Use of the cluster");
    overall_table(page, scenario, &cluster, false, out);
    (void)fputs("</details>\n", out);
    details_begin(out, "Where the time goes, and what deciding takes");
    overall_table(page, scenario, &times, false, out);
    (void)fputs("</details>\n", out);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

/* Writes a list item with the contenders whose difference has that sign; nothing if there are none.
 */
static void names_write(const struct page *page, const struct report_scenario *scenario, bool cost,
                        int sign, const char *lead, FILE *out)
{
    size_t count = 0;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_comparison comparison = report_compare(page->report, scenario, c, NULL);
        const struct estimate gain = cost ? comparison.saving : comparison.hit_points;
        if (c == scenario->reference || pair_lacks(scenario, c) || gain.n < 2 || isnan(gain.mean) ||
            sign_of(gain) != sign)
            continue;
        (void)fputs(count == 0 ? "<li>" : ", ", out);
        (void)fputs(count == 0 ? lead : "", out);
        html_element(out, "code", scenario->contenders[c].title);
        count++;
    }
    (void)fputs(count > 0 ? ".</li>\n" : "", out);
}

/* A contender's SLO hit rate in percent, or cost per 1,000 requests, over all applications. */
static double mean_of(const struct page *page, const struct report_contender *contender, bool cost)
{
    const struct metric *metric = metric_find(cost ? "cost_per_request_usd" : "slo_hit_rate");
    return report_column_estimate(page->report, contender, NULL, metric).mean;
}

static void front_write(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    size_t count = 0;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        if (!report_is_on_front(page->report, scenario, c))
            continue;
        (void)fputs(count == 0
                        ? "On the Pareto front, that is, by the means none here is as good and "
                          "cheaper, or as cheap and better: "
                        : ", ",
                    out);
        html_element(out, "code", scenario->contenders[c].title);
        count++;
    }
    if (count > 0)
        (void)fputs(".", out);
}

/* Writes a number within a sentence, or a dash if there is none. */
static void number_write(FILE *out, double value, int decimals)
{
    if (isnan(value))
        (void)fputs("–", out);
    else
        (void)fprintf(out, "%.*f", decimals, value);
}

void page_words(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    if (scenario->application_count == 0)
        return;
    (void)fputs("<p>", out);
    if (scenario->reference != REPORT_NONE) {
        const struct report_contender *led = &scenario->contenders[scenario->reference];
        html_element(out, "code", led->title);
        (void)fputs(" meets ", out);
        number_write(out, mean_of(page, led, false), 1);
        (void)fputs(" % of the SLOs at $", out);
        number_write(out, mean_of(page, led, true), 4);
        (void)fputs(" for 1,000 requests.</p>\n<ul>\n", out);
        names_write(page, scenario, false, 1, "It meets more SLOs than ", out);
        names_write(page, scenario, false, -1, "It meets fewer SLOs than ", out);
        names_write(page, scenario, false, 0,
                    "Its hit rate does not differ significantly from that of ", out);
        names_write(page, scenario, true, 1, "It costs less than ", out);
        names_write(page, scenario, true, -1, "It costs more than ", out);
        names_write(page, scenario, true, 0, "Its cost does not differ significantly from that of ",
                    out);
        (void)fputs("</ul>\n<p>", out);
    }
    front_write(page, scenario, out);
    (void)fputs("</p>\n", out);
}
