/* Cells of comma-separated values (RFC 4180), without the commas between them. */
#ifndef ESGSIM_RESULTS_CSV_H
#define ESGSIM_RESULTS_CSV_H

#include <stdbool.h>
#include <stdio.h>

/* Whether a spreadsheet would run the text as a formula, or take its apostrophe for a mark of text:
 * it begins with one of = + - @ ', a tab or a carriage return, and is neither a number nor "-". */
bool csv_is_formula(const char *text);
/* In quotes where it has to be. A text that could be a formula begins with an apostrophe; so a
 * reader gets every text back when it takes away one apostrophe from those that begin with one. */
void csv_text(FILE *out, const char *text);
/* With all its digits; empty for NAN. */
void csv_number(FILE *out, double value);

#endif
