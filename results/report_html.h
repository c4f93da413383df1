/* The report as one page of HTML that needs nothing else: no network, no other file. */
#ifndef ESGSIM_RESULTS_REPORT_HTML_H
#define ESGSIM_RESULTS_REPORT_HTML_H

#include "results/assumptions.h"
#include "results/details.h"
#include "results/report.h"

struct page_figure {
    const char *subject; /* title of a scenario, which it may go on from after a comma; else of
                            nothing in particular */
    const char *label;   /* what it shows, for who cannot see it */
    char *svg;
};

struct page {
    const struct report *report;
    const struct reference *reference;     /* NULL: nothing published to hold beside */
    const struct assumptions *assumptions; /* NULL: none listed */
    const struct details *details;         /* of the same file */
    const struct page_figure *figures;
    size_t figure_count;
    const char *without_figures; /* why there are none; NULL */
    const char *paper;           /* file of the reference, as given; NULL */
    const char *command;         /* that made the results; NULL: not known */
};

/* The look of a page, and what sorts its tables; for <style> and, at its end, <script>. */
extern const char html_style[], html_script[];

/* False: ERROR_RUN (memory, the stream failed, a figure that is no SVG). */
bool report_html(const struct page *page, FILE *out, struct error *error);

/* For the parts of the page alone: the tables of one scenario. */
void page_tables(const struct page *page, const struct report_scenario *scenario, FILE *out);
/* How the scenario's reference stands to the others, in sentences. */
void page_words(const struct page *page, const struct report_scenario *scenario, FILE *out);

#endif
