/* The tables of one scenario in the HTML page, and the comparison in sentences. */
#include <math.h>

#include "results/page/report_columns.h"
#include "results/page/report_html.h"
#include "results/page/scenario_tables.h"
#include "results/report/html.h"

static void hidden_table(const struct report *report, const struct report_scenario *scenario,
                         const char *summary, enum metric_group first, enum metric_group last,
                         FILE *out)
{
    html_print(out, "<details><summary>%s</summary>", summary);
    if (first == METRIC_RESULTS)
        scenario_by_application(report, scenario, true, out);
    else
        scenario_overall(report, scenario, first, last, true, out);
    html_print(out, "</details>\n");
}

static void comparisons_write(const struct report *report, const struct report_scenario *scenario,
                              FILE *out)
{
    const char *name = report_reference_name(scenario);
    struct scenario_sign *signs;
    const size_t tests = scenario_signs(report, scenario, &signs);
    html_print(
        out,
        "<h3 class=\"part\">%s against each, seed by seed</h3><p>Runs with equal seeds have equal "
        "arrivals "
        "and noise, so these are intervals of paired differences. Above 0: %s is better. What "
        "differs significantly, in hits and in cost, is by paired t tests at 5 %% with Holm over "
        "%zu comparisons; the intervals are not adjusted.</p>",
        name, name, tests);
    scenario_comparisons(report, scenario, true, out);
}

void page_tables(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    const struct report *report = page->report;
    scenario_trainings(report, scenario, true, out);
    if (scenario->application_count == 0)
        return;
    scenario_overall(report, scenario, METRIC_RESULTS, METRIC_WORTH, true, out);
    if (scenario->contender_count > 1)
        comparisons_write(report, scenario, out);
    if (scenario->application_count > 1)
        hidden_table(report, scenario, "By application", METRIC_RESULTS, METRIC_RESULTS, out);
    hidden_table(report, scenario, "Use of the cluster", METRIC_USE, METRIC_BASIS, out);
    hidden_table(report, scenario, "Where the time goes, and what deciding takes", METRIC_TIME,
                 METRIC_DECISIONS, out);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

/* Writes a list item with the contenders whose difference has that sign; nothing if there are none.
 */
static void names_write(const struct page *page, const struct report_scenario *scenario, bool cost,
                        int sign, const char *lead, FILE *out)
{
    size_t count = 0;
    struct scenario_sign *signs;
    (void)scenario_signs(page->report, scenario, &signs);
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_comparison comparison = report_compare(page->report, scenario, c, NULL);
        const struct estimate gain =
            cost ? comparison.gains[GAIN_SAVING] : comparison.gains[GAIN_POINTS];
        if (c == scenario->reference || scenario_pair_lacks(scenario, c) || gain.n < 2 ||
            isnan(gain.mean) || (cost ? signs[c].saving : signs[c].hits) != sign)
            continue;
        html_print(out, count == 0 ? "<li>" : ", ");
        html_print(out, "%s<code>%s</code>", count++ == 0 ? lead : "",
                   scenario->contenders[c].title);
    }
    (void)fputs(count > 0 ? ".</li>\n" : "", out);
}

/* The contender's mean of the metric over all applications within a sentence, or a dash. */
static const char *mean_words(const struct page *page, const struct report_contender *contender,
                              const char *name)
{
    const struct metric *metric = metric_find(name);
    const double mean = report_column_estimate(page->report, contender, NULL, metric).mean;
    return isnan(mean)
               ? "–"
               : arena_text(page->report->arena, "%.*f", metric_decimals(metric, mean), mean);
}

static void front_write(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    size_t count = 0;
    for (size_t c = 0; c < scenario->contender_count; c++)
        if (report_is_on_front(page->report, scenario, c))
            html_print(out, "%s<code>%s</code>",
                       count++ == 0
                           ? "On the Pareto front, that is, by the means none here is as good and "
                             "cheaper, or as cheap and better: "
                           : ", ",
                       scenario->contenders[c].title);
    html_print(out, count > 0 ? ".</p>\n" : "</p>\n");
}

void page_words(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    static const struct {
        bool cost;
        int sign;
        const char *lead;
    } items[] = {{false, 1, "It meets more SLOs than "},
                 {false, -1, "It meets fewer SLOs than "},
                 {false, 0, "Its hit rate does not differ significantly from that of "},
                 {true, 1, "It costs less than "},
                 {true, -1, "It costs more than "},
                 {true, 0, "Its cost does not differ significantly from that of "}};
    if (scenario->application_count == 0)
        return;
    if (scenario->reference != REPORT_NONE) {
        const struct report_contender *led = &scenario->contenders[scenario->reference];
        html_print(out,
                   "<p><code>%s</code> meets %s %% of the SLOs at $%s for 1,000 requests.</p>\n"
                   "<ul>\n",
                   led->title, mean_words(page, led, "slo_hit_rate"),
                   mean_words(page, led, "cost_per_request_usd"));
        for (size_t i = 0; i < sizeof items / sizeof *items; i++)
            names_write(page, scenario, items[i].cost, items[i].sign, items[i].lead, out);
        html_print(out, "</ul>\n");
    }
    html_print(out, "<p>");
    front_write(page, scenario, out);
}
