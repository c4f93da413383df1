/* Tables of comma-separated values with a header line, as used for raw measurements. There is no
 * quoting, and every row has as many cells as the header. */
#ifndef ESGSIM_TRACES_CALIBRATE_DERIVE_TABLE_H
#define ESGSIM_TRACES_CALIBRATE_DERIVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

struct table {
    char *path;
    char *text;   /* the file's content, cut into cells */
    char **cells; /* row-major; row 0 is the first after the header */
    char **names; /* column names */
    size_t columns;
    size_t rows;
};

/* Reads FOLDER/NAME. Refuses a table that lacks a column of `needed` (NULL-terminated) or has a row
 * of a different length. NULL on failure; free with table_free. */
struct table *table_load(const char *folder, const char *name, const char *const *needed,
                         struct error *error);
void table_free(struct table *table);

/* The cell's text; `column` must be one of those required by table_load. */
const char *table_text(const struct table *table, size_t row, const char *column);
/* The cell as a number, NAN if it is empty or not a number. */
double table_number(const struct table *table, size_t row, const char *column);
/* The first row whose `column` equals `wanted`; table->rows if there is none. */
size_t table_find(const struct table *table, const char *column, const char *wanted);

#endif
