/* Cells of comma-separated values (RFC 4180). */
#ifndef ESGSIM_RESULTS_PAGE_CSV_H
#define ESGSIM_RESULTS_PAGE_CSV_H

#include <stdbool.h>
#include <stdio.h>

#include "results/store/store.h"

/* Returns whether a spreadsheet would interpret the text as a formula, or its leading apostrophe as
 * a text marker. That is the case if it begins with one of = + - @ ', a tab or a carriage return,
 * and is neither a number nor "-". */
bool csv_is_formula(const char *text);
/* Writes a text, quoted if necessary. A text for which csv_is_formula is true gets a leading
 * apostrophe. A reader recovers every text by removing one leading apostrophe. */
void csv_text(FILE *out, const char *text);

/* Writes the format with its conversions as cells: %s a text, nothing for NULL; %g a number,
 * nothing for NAN; %zu a whole number. Commas and line ends are those of the format:
 * "%s,%zu,%g\r\n". */
void csv_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a column of a row of a table, or of the row of swept keys; nothing where it has none. */
void csv_column(FILE *out, const void *row, const struct column *column);

#endif
