/* Tables of comma-separated values with a header line, as raw measurements are kept here: no
 * quoting, every row as long as the header. */
#ifndef ESGSIM_TRACES_DERIVE_TABLE_H
#define ESGSIM_TRACES_DERIVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

struct table {
    char *path;
    char *text;   /* the file, cut into cells */
    char **cells; /* row-major; row 0 is the first after the header */
    char **names; /* of the columns */
    size_t columns;
    size_t rows;
};

/* Reads FOLDER/NAME; refuses one that lacks a column of `needed` (NULL-terminated) or has a row of
 * another length. NULL on failure; table_free() the result. */
struct table *table_load(const char *folder, const char *name, const char *const *needed,
                         struct error *error);
void table_free(struct table *table);

/* The cell's text; `column` is one that table_load was asked for. */
const char *table_text(const struct table *table, size_t row, const char *column);
/* The cell as a number, NAN where it is empty or none. */
double table_number(const struct table *table, size_t row, const char *column);
/* The first row whose `column` is `wanted`; table->rows where there is none. */
size_t table_find(const struct table *table, const char *column, const char *wanted);

#endif
