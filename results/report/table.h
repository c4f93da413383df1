/* Plain-text tables: each column is as wide as its widest cell, with two blanks between columns.
 *
 * Cells are UTF-8, and each character takes one terminal column. The first column is left-aligned,
 * the others right-aligned. Estimates are aligned behind the mean.
 */
#ifndef ESGSIM_RESULTS_REPORT_TABLE_H
#define ESGSIM_RESULTS_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "results/report/statistics.h"

struct text_table;

/* Copies `headers`. Returns NULL if memory is exhausted. All functions below accept NULL and then
 * do nothing; text_table_print returns false. */
struct text_table *text_table_create(const char *const *headers, size_t columns);
/* Adds a line with a heading for the rows that follow. */
void text_table_group(struct text_table *table, const char *text);
/* Adds a row of empty cells. */
void text_table_row(struct text_table *table);
void text_table_cell(struct text_table *table, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes the 95 % interval as it follows the mean: " ± 3.2", " [80.2, 97.1]" if it is not
 * symmetric, "" if there is none. */
enum { INTERVAL_TEXT = 96 };
void interval_text(const struct estimate *estimate, int decimals, char text[INTERVAL_TEXT]);

/* The mean with `decimals` and its interval; "-" for NAN. If some seeds have no value, the cell
 * also gives n. */
void text_table_estimate(struct text_table *table, size_t column, struct estimate estimate,
                         int decimals);
/* Adds a line below the table. */
void text_table_note(struct text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes header, rule, rows and notes, each line indented by `indent` blanks. False if memory was
 * exhausted. */
bool text_table_print(const struct text_table *table, int indent, FILE *out);
void text_table_free(struct text_table *table);

/* Columns of a line of the reports in text. */
enum { TEXT_LINE_WIDTH = 100 };

/* Writes `head` and the text, wrapped at TEXT_LINE_WIDTH. Continuation lines are indented by two
 * blanks. */
void text_print_filled(FILE *out, const char *head, const char *text);

/* The lowest and the highest of some values. */
struct text_range {
    uint64_t low, high;
};
#define TEXT_RANGE_NONE ((struct text_range){UINT64_MAX, 0})
void text_range_widen(struct text_range *range, uint64_t value);
/* Writes "1,000 to 12,345", or the common value alone, and returns `text`. Not `grouped`: without
 * commas. */
enum { RANGE_TEXT = 64 };
const char *text_range(const struct text_range *range, bool grouped, char text[RANGE_TEXT]);

/* Decimals needed to show `digits` significant digits of `largest`, at most 6. */
int text_table_decimals(double largest, int digits);

#endif
