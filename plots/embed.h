/* The figures of a results file as SVG texts, for embedding in a page. */
#ifndef ESGSIM_PLOTS_EMBED_H
#define ESGSIM_PLOTS_EMBED_H

#include "results/report/report_html.h"

struct embedded {
    struct page_figure *figures;
    size_t count;
    char **texts; /* owned; `figures` points to them */
    size_t text_count;
};

/* Draws every figure of the report's file, in a temporary directory that is removed afterwards.
 * False: ERROR_RUN, e.g. if gnuplot is missing; there is nothing to clear. */
bool embed_figures(const struct report *report, struct embedded *embedded, struct error *error);
void embedded_clear(struct embedded *embedded);

#endif
