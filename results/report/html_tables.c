/* The tables of one scenario in the HTML page, and the comparison in sentences. */
#include <math.h>

#include "results/report/html.h"
#include "results/report/report_columns.h"
#include "results/report/report_html.h"
#include "results/report/scenario_tables.h"

static void hidden_table(const struct report *report, const struct report_scenario *scenario,
                         const char *summary, const enum metric_table tables[2], FILE *out)
{
    (void)fputs("<details>", out);
    html_element(out, "summary", summary);
    if (tables == NULL)
        scenario_by_application(report, scenario, true, out);
    else
        scenario_overall(report, scenario, "policy", tables, false, true, out);
    (void)fputs("</details>\n", out);
}

static void comparisons_write(const struct report *report, const struct report_scenario *scenario,
                              FILE *out)
{
    const char *name = report_reference_name(scenario);
    html_element(out, "h4", arena_text(report->arena, "%s against each, seed by seed", name));
    html_element(out, "p",
                 arena_text(report->arena,
                            "Runs with equal seeds have equal arrivals and noise, so these are "
                            "intervals of paired differences. Above 0: %s is better.",
                            name));
    scenario_comparisons(report, scenario, true, out);
}

void page_tables(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    static const enum metric_table results[] = {METRIC_RESULTS, METRIC_RESULTS},
                                   cluster[] = {METRIC_CLUSTER, METRIC_CLUSTER},
                                   times[] = {METRIC_TIME, METRIC_DECISIONS};
    const struct report *report = page->report;
    scenario_trainings(report, scenario, true, out);
    if (scenario->application_count == 0)
        return;
    scenario_overall(report, scenario, "policy", results, true, true, out);
    if (scenario->contender_count > 1)
        comparisons_write(report, scenario, out);
    if (scenario->application_count > 1)
        hidden_table(report, scenario, "By application", NULL, out);
    hidden_table(report, scenario, "Use of the cluster", cluster, out);
    hidden_table(report, scenario, "Where the time goes, and what deciding takes", times, out);
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
        if (c == scenario->reference || scenario_pair_lacks(scenario, c) || gain.n < 2 ||
            isnan(gain.mean) || scenario_sign(gain) != sign)
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
