/* The data of the figures of a results file, for a page whose script draws them. */
#ifndef ESGSIM_PLOTS_EMBED_H
#define ESGSIM_PLOTS_EMBED_H

#include "results/page/report_html.h"

struct embedded {
    struct page_figure *figures;
    size_t count;
};

/* Writes the CSV of every figure of the report's file, in a temporary directory that is removed
 * afterwards, and packs it. The texts are the report's. False: ERROR_INPUT or ERROR_RUN, a file
 * cannot be written or read. */
bool embed_figures(const struct report *report, struct embedded *embedded, struct error *error);

#endif
