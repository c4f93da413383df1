/* The HTML page's explanations: how to read its tables, and on which assumptions it depends. */
#include "results/page/report_html.h"
#include "results/report/html.h"
#include "results/report/table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char reading_of_requests[] =
    "<li>SLO hit %: requests whose latency was at most their SLO; a dropped request is a "
    "miss.</li>\n"
    "<li>p50, p95, p99, p99.9: percentiles of latency, of the requests that finished.</li>\n"
    "<li>$/1,000 requests: pay-per-use, execution time × (vCPUs + vGPUs at their price).</li>\n"
    "<li>Queue, transfer, cold start, execution: components of a request's latency, summed "
    "over its jobs, including those of parallel branches.</li>\n"
    "<li>plan missed %: batches with fewer jobs, or in another configuration, than "
    "planned; - if the policy does not plan ahead.</li>\n"
    "<li>Over time: if many runs were recorded, only the first policy's is drawn here; esgsim "
    "plot --only timeline draws all.</li>\n"
    "<li>Units: work per decision as reported by the policy: nodes expanded, candidates "
    "examined.</li>\n"
    "<li>bound, where the sweep asks for it: an upper bound of SLO hits, the share of requests "
    "whose fastest path, alone "
    "and with its noise, meets the SLO; and the cost of the cheapest path whose nominal time "
    "meets it."
    "</li>\n";

static const char reading_of_trainings[] =
    "<li>JCT: job completion time of a training, from arrival to finish. Only measured trainings "
    "that finished count.</li>\n"
    "<li>makespan: from the first arrival to the last finish.</li>\n"
    "<li>queueing: completion time less the time for which the training held its GPUs.</li>\n"
    "<li>slowdown: completion time ÷ the time that the training takes alone with the "
    "proportional share; mean over trainings.</li>\n"
    "<li>FTF rho: finish-time fairness, slowdown ÷ max(1, mean of the GPUs demanded while the "
    "training was present ÷ GPUs); above 1 it had less than its part.</li>\n"
    "<li>restarts: starts at another place, or after an interruption.</li>\n"
    "<li>GPU effective %: share of the GPUs' time that trainings hold × speed ÷ the model's best "
    "speed.</li>\n";

void page_reading(const struct page *page, FILE *out)
{
    (void)fprintf(
        out,
        "<h2 id=\"read\">How to read the tables</h2>\n<ul>\n"
        "<li>a <small>± h</small>: mean over the seeds and half of its 95 %% interval; "
        "a <small>[b, c]</small> if that is not symmetric: a share stays within 0 to 100 %%; a "
        "alone: one seed. Click a column's header to sort by it; its tooltip explains it."
        "</li>\n<li>First: by the means alone. In sentences <em>more</em>, <em>fewer</em> and "
        "<em>less</em> are used only if the 95 %% interval of the paired difference excludes "
        "zero.</li>\n%s%s</ul>\n",
        report_serves(page->report) ? reading_of_requests : "",
        page->report->results->training_count > 0 ? reading_of_trainings : "");
}

void page_assumptions(const struct page *page, FILE *out)
{
    static const char *const headers[] = {"fact", "value", "grade"};
    const struct assumptions *assumptions = page->assumptions;
    html_print(out, "<h2 id=\"assumed\">Assumptions and their evidence</h2>\n");
    if (assumptions == NULL) {
        html_print(out, "<p>The list of assumptions is not available.</p>\n");
        return;
    }
    html_print(out, "<p>");
    for (size_t g = 0; g < assumptions->grade_count; g++)
        html_print(out, "%s<strong>%s</strong>: %s", g > 0 ? "; " : "", assumptions->grades[g].name,
                   assumptions->grades[g].meaning);
    html_print(out, ".</p>\n");
    struct text_table *table = text_table_create(headers, COUNT(headers));
    for (size_t i = 0; i < assumptions->count; i++) {
        const struct assumption *entry = &assumptions->entries[i];
        if (entry->of_trainings ? page->report->results->training_count == 0
                                : !report_serves(page->report))
            continue;
        text_table_row(table);
        text_table_words(table, 0, "%s", entry->fact);
        text_table_words(table, 1, "%s", entry->value);
        text_table_words(table, 2, "%s", entry->grade);
    }
    text_table_end(table, true, out);
}
