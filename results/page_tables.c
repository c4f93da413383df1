/* The HTML page's tables of one scenario, and the same in words. */
#include <math.h>
#include <string.h>

#include "results/html.h"
#include "results/report_html.h"
#include "results/table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { MOST_COLUMNS = 12 };

struct column_of {
    const char *header;
    const char *metric;
    double scale;
    int digits; /* significant, of the column's largest; below 0: −1 − decimals */
};

#define DECIMALS(count) (-1 - (count))

static const struct column_of main_columns[] = {
    {"SLO hit %", "slo_hit_rate", 100, DECIMALS(1)},
    {"$/1,000 requests", "cost_per_request_usd", 1000, 4},
    {"p50 ms", "latency_ms_p50", 1, 4},
    {"p95 ms", "latency_ms_p95", 1, 4},
    {"p99 ms", "latency_ms_p99", 1, 4},
    {"p99.9 ms", "latency_ms_p999", 1, 4},
    {"cold %", "cold_start_rate", 100, DECIMALS(2)},
    {"mean batch", "mean_batch", 1, DECIMALS(2)},
    {"plan missed %", "preplanned_miss_rate", 100, DECIMALS(1)},
    {"dropped", "dropped", 1, DECIMALS(0)},
};

static const struct column_of cluster_columns[] = {
    {"vGPU held %", "gpu_utilisation", 100, DECIMALS(1)},
    {"vCPU held %", "vcpu_utilisation", 100, DECIMALS(1)},
    {"GPU memory %", "gpu_memory_utilisation", 100, DECIMALS(1)},
    {"fragmented %", "gpu_fragmentation", 100, DECIMALS(1)},
    {"stranded vGPU %", "stranded_vgpu", 100, DECIMALS(1)},
    {"slowdown", "slowdown_mean", 1, DECIMALS(3)},
    {"cold starts", "cold_starts", 1, DECIMALS(0)},
    {"prewarms", "prewarms", 1, DECIMALS(0)},
    {"evictions", "evictions", 1, DECIMALS(0)},
    {"$ provisioned", "cost_provisioned_usd", 1, 4},
};

static const struct column_of time_columns[] = {
    {"queue ms", "queue_ms_mean", 1, DECIMALS(1)},
    {"transfer ms", "transfer_ms_mean", 1, DECIMALS(1)},
    {"cold ms", "cold_ms_mean", 1, DECIMALS(1)},
    {"execution ms", "exec_ms_mean", 1, DECIMALS(1)},
    {"latency ms", "latency_ms_mean", 1, DECIMALS(1)},
    {"decisions", "decisions", 1, DECIMALS(0)},
    {"units/decision", "decision_units_mean", 1, DECIMALS(1)},
    {"µs/decision", "decision_us_mean", 1, DECIMALS(1)},
    {"longest µs", "decision_us_max", 1, DECIMALS(1)},
};

static const struct metric *metric_of(const struct column_of *column, bool *of_run)
{
    const struct metric *metric = metric_find(column->metric);
    *of_run = metric == NULL;
    return metric != NULL ? metric : run_metric_find(column->metric);
}

static struct estimate estimate_of(const struct report *report,
                                   const struct report_contender *contender,
                                   const char *application, const struct column_of *column)
{
    bool of_run;
    const struct metric *metric = metric_of(column, &of_run);
    struct estimate estimate =
        report_estimate(report, contender, of_run ? NULL : application, metric, of_run);
    estimate.mean *= column->scale;
    estimate.sd *= column->scale;
    estimate.half_width *= column->scale;
    return estimate;
}

static int decimals_of(const struct report *report, const struct report_scenario *scenario,
                       const struct column_of *column)
{
    double largest = 0;
    if (column->digits < 0)
        return -1 - column->digits;
    for (size_t c = 0; c < scenario->contender_count; c++)
        largest =
            fmax(largest, fabs(estimate_of(report, &scenario->contenders[c], NULL, column).mean));
    return text_table_decimals(largest, column->digits);
}

static void table_begin(const struct column_of *columns, size_t count, bool by_application,
                        FILE *out)
{
    const char *headers[MOST_COLUMNS + 2];
    const char *helps[MOST_COLUMNS + 2] = {NULL};
    const size_t led = by_application ? 2 : 1;
    headers[0] = by_application ? "application" : "policy";
    headers[1] = "policy";
    for (size_t c = 0; c < count; c++) {
        bool of_run;
        headers[led + c] = columns[c].header;
        helps[led + c] = metric_of(&columns[c], &of_run)->help;
    }
    html_table_begin(out, headers, helps, led + count, by_application ? 3U : 1U);
}

static void contender_row(const struct report *report, const struct report_scenario *scenario,
                          size_t contender, const char *application,
                          const struct column_of *columns, size_t count, FILE *out)
{
    html_row_begin(out);
    if (application != NULL)
        html_cell_text(out, application);
    html_cell_text(out, scenario->contenders[contender].title);
    for (size_t c = 0; c < count; c++)
        html_cell_estimate(
            out, estimate_of(report, &scenario->contenders[contender], application, &columns[c]),
            decimals_of(report, scenario, &columns[c]));
    html_row_end(out);
}

/* The bounds: hit rate and cost alone. */
static void bound_row(const struct report *report, const struct report_scenario *scenario,
                      const char *application, FILE *out)
{
    static const struct column_of bounds[] = {
        {NULL, "bound_slo_hit_rate", 100, DECIMALS(1)},
        {NULL, "bound_cost_per_request_usd", 1000, 4},
    };
    const struct report_contender *any =
        &scenario->contenders[scenario->reference == REPORT_NONE ? 0 : scenario->reference];
    html_row_begin(out);
    if (application != NULL)
        html_cell_text(out, application);
    html_cell_text(out, "bound");
    for (size_t b = 0; b < COUNT(bounds); b++)
        html_cell_estimate(out, estimate_of(report, any, application, &bounds[b]),
                           decimals_of(report, scenario, &main_columns[b]));
    for (size_t c = COUNT(bounds); c < COUNT(main_columns); c++)
        (void)fputs("<td></td>", out);
    html_row_end(out);
}

static void overall_table(const struct page *page, const struct report_scenario *scenario,
                          const struct column_of *columns, size_t count, FILE *out)
{
    const bool bounded = columns == main_columns;
    table_begin(columns, count, false, out);
    for (size_t c = 0; c < scenario->contender_count; c++)
        contender_row(page->report, scenario, c, NULL, columns, count, out);
    if (bounded) {
        html_table_foot(out);
        bound_row(page->report, scenario, NULL, out);
    }
    html_table_end(out, bounded);
}

static void application_table(const struct page *page, const struct report_scenario *scenario,
                              FILE *out)
{
    table_begin(main_columns, COUNT(main_columns), true, out);
    for (size_t a = 0; a < scenario->application_count; a++) {
        for (size_t c = 0; c < scenario->contender_count; c++)
            contender_row(page->report, scenario, c, scenario->applications[a], main_columns,
                          COUNT(main_columns), out);
        bound_row(page->report, scenario, scenario->applications[a], out);
    }
    html_table_end(out, false);
}

/* ---- Comparisons ---------------------------------------------------------------------------- */

/* 1: surely above 0, −1: surely below, 0: neither can be said. */
static int sign_of(struct estimate estimate)
{
    if (isnan(estimate.half_width))
        return 0;
    return estimate.mean - estimate.half_width > 0   ? 1
           : estimate.mean + estimate.half_width < 0 ? -1
                                                     : 0;
}

/* `name` is what the reference is called. */
static void words_write(const struct report_comparison *comparison, const char *name, char *words,
                        size_t size)
{
    static const char *const forms[3][3] = {
        {"%s hits fewer and costs more", "%s hits fewer at about the same cost",
         "%s hits fewer and costs less"},
        {"about the same hit rate, %s costs more", NULL, "about the same hit rate, %s costs less"},
        {"%s hits more and costs more", "%s hits more at about the same cost",
         "%s hits more and costs less"}};
    const char *form = forms[sign_of(comparison->hit_points) + 1][sign_of(comparison->saving) + 1];
    const bool valued = !isnan(comparison->hit_points.mean) && !isnan(comparison->saving.mean);
    if (comparison->hit_points.n <= 1 || !valued || form == NULL) {
        (void)snprintf(words, size, "%s",
                       comparison->hit_points.n == 0   ? "no seed in common"
                       : comparison->hit_points.n == 1 ? "one seed: nothing can be told"
                       : !valued                       ? "not every seed has both figures"
                                                       : "no difference can be told");
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
                   "(%s − baseline) / baseline; - where the baseline's is 0 for a seed", name);
    (void)snprintf(saving, sizeof saving, "(baseline − %s) / %s", name, name);
    const char *helps[] = {
        NULL,   "seeds that both ran",
        points, relative,
        saving, "by whether the 95 % interval of the paired difference lies on one side of 0"};
    html_table_begin(out, headers, helps, COUNT(headers), 1U | 1U << 5);
    for (size_t c = 0; c < scenario->contender_count; c++) {
        if (c == scenario->reference)
            continue;
        const struct report_comparison comparison = report_compare(page->report, scenario, c, NULL);
        html_row_begin(out);
        html_cell_text(out, scenario->contenders[c].title);
        (void)fprintf(out, "<td data-v=\"%zu\">%zu</td>", comparison.saving.n, comparison.saving.n);
        html_cell_estimate(out, comparison.hit_points, 1);
        html_cell_estimate(out, comparison.hit_relative, 1);
        html_cell_estimate(out, comparison.saving, 1);
        words_write(&comparison, name, words, sizeof words);
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
    overall_table(page, scenario, main_columns, COUNT(main_columns), out);
    if (scenario->reference != REPORT_NONE && scenario->contender_count > 1) {
        const char *name = report_reference_name(scenario);
        char text[TEXT_LABEL * 2];
        (void)snprintf(text, sizeof text, "%s against each, seed by seed", name);
        html_element(out, "h4", text);
        (void)snprintf(text, sizeof text,
                       "Equal seeds meet equal arrivals and noise, so these are intervals of "
                       "paired differences. Above 0: %s is better.",
                       name);
        html_element(out, "p", text);
        comparison_table(page, scenario, out);
    }
    if (scenario->application_count > 1) {
        details_begin(out, "By application");
        application_table(page, scenario, out);
        (void)fputs("</details>\n", out);
    }
    details_begin(out, "Use of the cluster");
    overall_table(page, scenario, cluster_columns, COUNT(cluster_columns), out);
    (void)fputs("</details>\n", out);
    details_begin(out, "Where the time goes, and what deciding takes");
    overall_table(page, scenario, time_columns, COUNT(time_columns), out);
    (void)fputs("</details>\n", out);
}

/* ---- In words ------------------------------------------------------------------------------- */

/* An entry with the contenders whose sign is that; nothing where there is none. */
static void names_write(const struct page *page, const struct report_scenario *scenario, bool cost,
                        int sign, const char *lead, FILE *out)
{
    size_t count = 0;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_comparison comparison = report_compare(page->report, scenario, c, NULL);
        const struct estimate gain = cost ? comparison.saving : comparison.hit_points;
        if (c == scenario->reference || gain.n < 2 || isnan(gain.mean) || sign_of(gain) != sign)
            continue;
        (void)fputs(count == 0 ? "<li>" : ", ", out);
        (void)fputs(count == 0 ? lead : "", out);
        html_element(out, "code", scenario->contenders[c].title);
        count++;
    }
    (void)fputs(count > 0 ? ".</li>\n" : "", out);
}

static void front_write(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    size_t count = 0;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct estimate hit =
            estimate_of(page->report, &scenario->contenders[c], NULL, &main_columns[0]);
        const struct estimate cost =
            estimate_of(page->report, &scenario->contenders[c], NULL, &main_columns[1]);
        /* Without both figures it has no place among the others. */
        bool beaten = isnan(hit.mean) || isnan(cost.mean);
        for (size_t o = 0; o < scenario->contender_count; o++) {
            const double other_hit =
                estimate_of(page->report, &scenario->contenders[o], NULL, &main_columns[0]).mean;
            const double other_cost =
                estimate_of(page->report, &scenario->contenders[o], NULL, &main_columns[1]).mean;
            beaten = beaten || (other_hit >= hit.mean && other_cost <= cost.mean &&
                                (other_hit > hit.mean || other_cost < cost.mean));
        }
        if (beaten)
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

/* A number in a sentence; a dash where there is none. */
static void number_write(FILE *out, double value, int decimals)
{
    if (isnan(value))
        (void)fputs("–", out);
    else
        (void)fprintf(out, "%.*f", decimals, value);
}

void page_words(const struct page *page, const struct report_scenario *scenario, FILE *out)
{
    (void)fputs("<p>", out);
    if (scenario->reference != REPORT_NONE) {
        const struct report_contender *esg = &scenario->contenders[scenario->reference];
        html_element(out, "code", esg->title);
        (void)fputs(" meets ", out);
        number_write(out, estimate_of(page->report, esg, NULL, &main_columns[0]).mean, 1);
        (void)fputs(" % of the SLOs at $", out);
        number_write(out, estimate_of(page->report, esg, NULL, &main_columns[1]).mean, 4);
        (void)fputs(" for 1,000 requests.</p>\n<ul>\n", out);
        names_write(page, scenario, false, 1, "It meets more SLOs than ", out);
        names_write(page, scenario, false, -1, "It meets fewer SLOs than ", out);
        names_write(page, scenario, false, 0, "Its hit rate cannot be told apart from that of ",
                    out);
        names_write(page, scenario, true, 1, "It costs less than ", out);
        names_write(page, scenario, true, -1, "It costs more than ", out);
        names_write(page, scenario, true, 0, "Its cost cannot be told apart from that of ", out);
        (void)fputs("</ul>\n<p>", out);
    }
    front_write(page, scenario, out);
    (void)fputs("</p>\n", out);
}
