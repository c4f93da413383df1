/* Tables in plain text: columns as wide as their widest cell, two blanks between.
 *
 * Cells are UTF-8, one column of the terminal a character. The first column is aligned left, the
 * others right; cells of the form "mean ± half-width" are aligned at the sign.
 */
#ifndef ESGSIM_RESULTS_TABLE_H
#define ESGSIM_RESULTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "results/statistics.h"

struct text_table;

/* `headers` are copied. NULL where memory is short; every function below takes NULL and does
 * nothing, and text_table_print then returns false. */
struct text_table *text_table_create(const char *const *headers, size_t columns);
/* A line of its own, e.g. the name of what follows. */
void text_table_group(struct text_table *table, const char *text);
/* A new row of empty cells, which the cell functions fill. */
void text_table_row(struct text_table *table);
void text_table_cell(struct text_table *table, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "mean ± half-width" with `decimals`; without the latter for n < 2; "-" for NAN. Where some seeds
 * have no figure: of how many it is the mean. */
void text_table_estimate(struct text_table *table, size_t column, struct estimate estimate,
                         int decimals);
/* Writes header, rule and rows, each line led by `indent` blanks. False where memory had run out.
 */
bool text_table_print(const struct text_table *table, int indent, FILE *out);
void text_table_free(struct text_table *table);

/* Decimals that show `digits` significant digits of `largest`, at most 6. */
int text_table_decimals(double largest, int digits);

#endif
