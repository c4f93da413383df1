/* A page with the data of its figures, which its script draws. */
#ifndef ESGSIM_PLOTS_EMBED_H
#define ESGSIM_PLOTS_EMBED_H

#include "results/page/report_html.h"

/* Completes the page with assumptions, details and the data of every figure of the report's file,
 * and writes it. The CSVs are made in a temporary directory, which is removed. False: ERROR_INPUT
 * or ERROR_RUN, a file cannot be written or read. */
bool embed_page(const struct page *page, FILE *out, struct error *error);

#endif
