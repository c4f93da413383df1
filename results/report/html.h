/* Output of HTML that is also well-formed XML: all elements are closed, all attributes quoted, and
 * all text from files escaped.
 *
 * Text may contain any bytes. Invalid UTF-8 and control characters become U+FFFD.
 */
#ifndef ESGSIM_RESULTS_REPORT_HTML_H
#define ESGSIM_RESULTS_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "results/report/statistics.h"

/* Writes text with & < > " ' escaped, for content and attribute values. */
void html_text(FILE *out, const char *text);
/* Like html_text, with text between backquotes as <code>. An unpaired backquote is literal. */
void html_marked(FILE *out, const char *text);

/* Writes <TAG>text</TAG>. `tag` is trusted and may have attributes: "h2 id=\"figures\"". */
void html_element(FILE *out, const char *tag, const char *text);

/* Begins a table in a box with horizontal scrolling. Clicking a header sorts the rows, and the
 * first column stays visible. Bit c of `texts` makes column c a text column with a left-aligned
 * header. `helps` (tooltips) and its entries may be NULL. */
void html_table_begin(FILE *out, const char *const *headers, const char *const *helps,
                      size_t columns, unsigned texts);
/* Begins the foot: rows after this call are not sorted and stay at the bottom. */
void html_table_foot(FILE *out);
void html_table_end(FILE *out, bool foot);
void html_row_begin(FILE *out);
void html_row_end(FILE *out);
void html_cell_text(FILE *out, const char *text);
/* A cell with running text, which wraps. */
void html_cell_words(FILE *out, const char *text);
/* The mean and its interval with `decimals`, "-" for NAN, and the values of the seeds if `seeds` is
 * not "". The column sorts by the mean. */
void html_cell_estimate(FILE *out, struct estimate estimate, int decimals, const char *seeds);

/* Embeds an SVG document: without its XML declaration, with `prefix` before all ids, scaled to the
 * width of the page, with the accessible description `label`. False if it is not an SVG document.
 */
bool html_svg(FILE *out, const char *svg, const char *prefix, const char *label);

#endif
