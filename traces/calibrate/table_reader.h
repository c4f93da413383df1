/* Cells and columns of a text table of measurements, for traces/calibrate/sample_table.c. */
#ifndef ESGSIM_TRACES_CALIBRATE_TABLE_READER_H
#define ESGSIM_TRACES_CALIBRATE_TABLE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "traces/calibrate/samples.h"
#include "traces/readers/line_reader.h"

enum { TABLE_CELLS = 32 };

#define TABLE_MS_LIMIT 1e9

struct table_reader {
    struct sample_set *set;
    struct line_reader lines;
    const char *path;
    char *cells[TABLE_CELLS]; /* of the current line */
    size_t cell_count;
    int column[TABLE_CELLS];    /* column of each field of the format; -1: absent */
    size_t fields;              /* of the format, in `column`; 0: no header */
    int unit;                   /* of the share column: a whole GPU; 0: none, or not known yet */
    double most_share;          /* largest share read, in that unit */
    char name[128];             /* the function's name, if it is taken from the file name */
    int filter[SAMPLE_FILTERS]; /* column of each filter of the set; -1: absent */
    size_t taken, saturated, packed, unselected;
};

/* Column of a header by name, or by the first name found of a list that NULL ends; -1: absent. */
int table_column(const struct table_reader *reader, const char *name);
int table_column_any(const struct table_reader *reader, const char *const *names);

/* Checks that every column of the header is one of the format, one that is known to be no part of a
 * configuration, or one that a filter names. Sets reader->filter. ERROR_INPUT names the column. */
bool table_check_columns(struct table_reader *reader, struct error *error);
/* Returns whether the current line has the values that the filters ask for. */
bool table_is_selected(const struct table_reader *reader);

/* The readers below give ERROR_INPUT with file, line and column. */
bool cell_number(const struct table_reader *reader, int column, double low, double high,
                 double *value, struct error *error);
bool cell_integer(const struct table_reader *reader, int column, int low, int high, int *value,
                  struct error *error);
/* A share from `low` to the whole GPU, in units of the set. A fraction makes the set's unit finer,
 * up to 1000. If the reader's unit is 0 the share is a name K/N. */
bool cell_share(struct table_reader *reader, int column, int low, int *share, struct error *error);
/* column < 0: the name of the file. */
bool cell_function(const struct table_reader *reader, int column, uint32_t *function,
                   struct error *error);
/* NAN for a column that is absent or a cell that is empty. */
bool cell_optional(const struct table_reader *reader, int column, double low, double high,
                   double *value, struct error *error);

#endif
