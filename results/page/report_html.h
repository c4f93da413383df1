/* The report as one self-contained HTML page, without references to the network or other files. */
#ifndef ESGSIM_RESULTS_PAGE_REPORT_HTML_H
#define ESGSIM_RESULTS_PAGE_REPORT_HTML_H

#include "results/page/assumptions.h"
#include "results/report/report.h"
#include "results/store/run_details.h"

struct page_figure {
    const char *subject; /* title of a scenario, optionally followed by a comma and more; else not
                            about a scenario */
    const char *script;  /* the figure's kind, which is the name of its script in plots/ */
    const char *caption;
    const char *csv; /* what the script of the page draws, as plots/embed.c packs it */
};

struct page {
    const struct report *report;
    const struct assumptions *assumptions; /* NULL: none */
    const struct run_details *details;     /* of the same results file */
    const struct page_figure *figures;
    size_t figure_count;
    const char *paper;   /* path of the reference file as given; may be NULL */
    const char *command; /* command that made the results; NULL: as in the file */
    const char *options; /* further options of the report, with a blank before each */
};

/* False: ERROR_RUN (the stream failed, or a file of the page is missing). */
bool report_html(const struct page *page, FILE *out, struct error *error);

/* Returns a sentence: who is first, in how many settings, ties as a whole; of one setting, by
 * which values. The means alone are compared. */
const char *page_verdict(const struct report *report);
/* Writes the figure of the published figures with ours, and how many of them are reproduced. */
void page_published(const struct page *page, const struct page_figure *figure, FILE *out);
/* Writes the tables of one scenario. For the modules of the page only. */
void page_tables(const struct page *page, const struct report_scenario *scenario, FILE *out);
/* Writes sentences that compare the scenario's reference with the other contenders. */
void page_words(const struct page *page, const struct report_scenario *scenario, FILE *out);
/* Writes what the columns mean; and the assumptions, of what ran: requests, trainings or both. */
void page_reading(const struct page *page, FILE *out);
void page_assumptions(const struct page *page, FILE *out);

#endif
