/* A file's figures as SVG texts, for a page that holds them. */
#ifndef ESGSIM_PLOTS_EMBED_H
#define ESGSIM_PLOTS_EMBED_H

#include "results/report_html.h"

struct embedded {
    struct page_figure *figures;
    size_t count;
    char **texts; /* what the figures point to */
    size_t text_count;
};

/* Draws every figure of the report's file in a folder of its own, which is gone afterwards. False:
 * ERROR_RUN, e.g. gnuplot is missing; nothing to clear. */
bool embed_figures(const struct report *report, struct embedded *embedded, struct error *error);
void embedded_clear(struct embedded *embedded);

#endif
