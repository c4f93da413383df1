/* Tables, built once and written as text or as HTML.
 *
 * In text each column is as wide as its widest cell, with two blanks between columns. Cells are
 * UTF-8, and each character takes one terminal column. The first column is left-aligned, the others
 * right-aligned. Estimates are aligned behind the mean. Notes follow the rows. If a line
 * (sim/base/text.h) has no room for all columns, headers are folded, and the columns that are still
 * too many form further blocks below, each with the first column. A name that is too long then has
 * a line of its own.
 *
 * In HTML a click on a header sorts the rows, and the first column stays visible. Columns with
 * names or words are left-aligned. The group of a row precedes its first cell. Notes are left out:
 * cells have what they say.
 */
#ifndef ESGSIM_RESULTS_REPORT_TABLE_H
#define ESGSIM_RESULTS_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/engine/statistics.h"

struct text_table;

/* Copies `headers`. Exhausted memory ends the process (arena_create). */
struct text_table *text_table_create(const char *const *headers, size_t columns);
/* Adds a line with a heading for the rows that follow. */
void text_table_group(struct text_table *table, const char *text);
/* Indents all rows in text. In HTML the rows' groups then form a first column with that header;
 * NULL: they do not. The header must outlive the table. */
void text_table_indent(struct text_table *table, const char *group_header);
/* One blank between columns in text, where two are too many for a line. */
void text_table_dense(struct text_table *table);
/* The headers' tooltips in HTML, which must outlive the table; entries may be NULL. */
void text_table_helps(struct text_table *table, const char *const *helps);
/* Rows after this call form the foot in HTML, which is not sorted. */
void text_table_foot(struct text_table *table);
/* Adds a row of empty cells. */
void text_table_row(struct text_table *table);
/* Adds a row of plain cells, which tabs separate in the text. A number that is not there, "nan",
 * becomes "-". */
void text_table_add(struct text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Each fills a cell of the last row: with any text; with a name; with running text, which wraps in
 * HTML and has names between backquotes; with a number, by which the column sorts in HTML, written
 * there with `digits`. */
enum text_cell { CELL_PLAIN, CELL_NAME, CELL_WORDS, CELL_NUMBER, CELL_ESTIMATE };
void text_table_put(struct text_table *table, size_t column, enum text_cell kind,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
#define text_table_cell(table, column, ...) text_table_put(table, column, CELL_PLAIN, __VA_ARGS__)
#define text_table_name(table, column, ...) text_table_put(table, column, CELL_NAME, __VA_ARGS__)
#define text_table_words(table, column, ...) text_table_put(table, column, CELL_WORDS, __VA_ARGS__)
void text_table_number(struct text_table *table, size_t column, double value, int digits,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Writes the 95 % interval as it follows the mean: " ± 3.2", " [80.2, 97.1]" if it is not
 * symmetric, "" if there is none. */
enum { INTERVAL_TEXT = 96 };
void interval_text(const struct estimate *estimate, int decimals, char text[INTERVAL_TEXT]);

/* The mean with `decimals` and its interval; "-" for NAN. If some seeds have no value, the cell
 * also gives n. */
void text_table_estimate(struct text_table *table, size_t column, struct estimate estimate,
                         int decimals);
/* Adds the values of the seeds to an estimate in HTML. */
void text_table_seeds(struct text_table *table, size_t column, const char *seeds);
/* Adds a line below the table. */
void text_table_note(struct text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes header, rule, rows and notes, each line indented by `indent` blanks, and frees the table.
 */
void text_table_print(struct text_table *table, int indent, FILE *out);
/* Writes the table as text or HTML and frees it. */
void text_table_end(struct text_table *table, bool html, FILE *out);

/* Writes "== text ====" over a whole line, after an empty one. */
void text_print_heading(FILE *out, const char *text);

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
