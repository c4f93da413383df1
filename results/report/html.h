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

/* Writes text with & < > " ' escaped, for content and attribute values. */
void html_text(FILE *out, const char *text);
/* Like html_text, with text between backquotes as <code>. An unpaired backquote is literal. */
void html_marked(FILE *out, const char *text);

/* Writes <TAG>text</TAG>. `tag` is trusted and may have attributes: "h2 id=\"figures\"". */
void html_element(FILE *out, const char *tag, const char *text);

/* Writes the format, which is HTML, with the texts of its conversions escaped: "<p>%s</p>\n". %s is
 * a text, %zu a number, %% a per cent sign. */
void html_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Embeds an SVG document: without its XML declaration, with `prefix` before all ids, scaled to the
 * width of the page, with the accessible description `label`. False if it is not an SVG document.
 */
bool html_svg(FILE *out, const char *svg, const char *prefix, const char *label);

#endif
