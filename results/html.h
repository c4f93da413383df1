/* Writing HTML that is XML as well: every element closed, every attribute quoted, nothing from a
 * file unescaped.
 *
 * Text may hold anything: what is no UTF-8, and control characters, become U+FFFD.
 */
#ifndef ESGSIM_RESULTS_HTML_H
#define ESGSIM_RESULTS_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "results/statistics.h"

/* Text with & < > " ' escaped: for content and for attribute values. */
void html_text(FILE *out, const char *text);
/* The same, what stands between backquotes as <code>; an odd one stands for itself. */
void html_marked(FILE *out, const char *text);

/* <TAG>text</TAG>; `tag` is ours, with attributes: "h2 id=\"figures\"". */
void html_element(FILE *out, const char *tag, const char *text);

/* A table that sorts by a press on its headers, within a box of its own that scrolls sideways. The
 * first column is kept in sight. Bit c of `texts` is set where column c is text, so that its header
 * stands left. `helps` (tooltips) and its entries may be NULL. */
void html_table_begin(FILE *out, const char *const *headers, const char *const *helps,
                      size_t columns, unsigned texts);
/* Rows after this one, which is not sorted among the others, stay at the foot. */
void html_table_foot(FILE *out);
void html_table_end(FILE *out, bool foot);
void html_row_begin(FILE *out);
void html_row_end(FILE *out);
void html_cell_text(FILE *out, const char *text);
/* Plain words: wraps. */
void html_cell_words(FILE *out, const char *text);
/* "mean ± half-width" with `decimals`, "-" for NAN; sorts by the mean. */
void html_cell_estimate(FILE *out, struct estimate estimate, int decimals);

/* An SVG document put into the page: without its XML head, ids led by `prefix`, as wide as the page
 * allows, described by `label`. False where it is none. */
bool html_svg(FILE *out, const char *svg, const char *prefix, const char *label);

#endif
