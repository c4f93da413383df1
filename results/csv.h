/* Cells of comma-separated values (RFC 4180), without the commas between them. */
#ifndef ESGSIM_RESULTS_CSV_H
#define ESGSIM_RESULTS_CSV_H

#include <stdio.h>

/* In quotes where it has to be. */
void csv_text(FILE *out, const char *text);
/* With all its digits; empty for NAN. */
void csv_number(FILE *out, double value);

#endif
