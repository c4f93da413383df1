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

#include "sim/base/error.h"

/* Writes text with & < > " ' escaped, for content and attribute values. */
void html_text(FILE *out, const char *text);
/* Like html_text, with text between backquotes as <code>. An unpaired backquote is literal. */
void html_marked(FILE *out, const char *text);

/* Writes <TAG>text</TAG>. `tag` is trusted and may have attributes: "h2 id=\"figures\"". */
void html_element(FILE *out, const char *tag, const char *text);

/* Writes the format, which is HTML, with the texts of its conversions escaped: "<p>%s</p>\n". %s is
 * a text, %zu a number, %% a per cent sign. */
void html_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write a page up to <body> with the style sheet page.css, and its end from </main> on with the
 * script page.js, which sorts the tables and draws the figures. Nothing is fetched when the page is
 * read. False: ERROR_RUN, one of the two files is missing or, at the end, the stream failed. */
bool html_begin(FILE *out, const char *title, struct error *error);
bool html_end(FILE *out, struct error *error);

#endif
