/* The figures of a results file as SVG texts, for embedding in a page. */
#ifndef ESGSIM_PLOTS_EMBED_H
#define ESGSIM_PLOTS_EMBED_H

#include "results/report/report_html.h"

struct embedded {
    struct page_figure *figures;
    size_t count;
};

/* Draws every figure of the report's file, in a temporary directory that is removed afterwards. The
 * texts are the report's. False: ERROR_RUN, e.g. if gnuplot is missing. */
bool embed_figures(const struct report *report, struct embedded *embedded, struct error *error);

#endif
