/* The HTML page's explanations: how to read its tables, and on which assumptions it depends. */
#include "results/page/report_html.h"
#include "results/report/html.h"
#include "results/report/table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char reading_of_requests[] =
    "<li>Over time: if many runs were recorded, only the first policy's is drawn here; esgsim "
    "plot --only timeline draws all.</li>\n"
    "<li>bound, where the sweep asks for it: an upper bound of SLO hits, the share of requests "
    "whose fastest path, alone "
    "and with its noise, meets the SLO; and the cost of the cheapest path whose nominal time "
    "meets it."
    "</li>\n";

/* The columns and their meaning. */
static void columns_write(bool trainings, FILE *out)
{
    for (size_t m = 0; m < metric_count + training_metric_count; m++)
        if ((metrics[m].places & ON_PAGE) != 0 &&
            (metrics[m].scope == METRIC_OF_TRAININGS) == trainings)
            html_print(out, "<li>%s: %s</li>\n", metrics[m].face.header, metrics[m].help);
}

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
        "zero.</li>\n");
    if (page->report->results->training_count > 0)
        columns_write(true, out);
    if (report_serves(page->report)) {
        columns_write(false, out);
        (void)fputs(reading_of_requests, out);
    }
    (void)fputs("</ul>\n", out);
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
