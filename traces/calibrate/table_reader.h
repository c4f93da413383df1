/* Cells and columns of a text table of measurements, for traces/calibrate/sample_table.c. */
#ifndef ESGSIM_TRACES_CALIBRATE_TABLE_READER_H
#define ESGSIM_TRACES_CALIBRATE_TABLE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "traces/calibrate/samples.h"
#include "traces/readers/line_reader.h"

enum { TABLE_FIELDS = 32 };

#define TABLE_MS_LIMIT 1e9

struct table_reader {
    struct sample_set *set;
    struct line_reader lines;
    const char *path;
    bool named;                    /* the set has roles, or the format has no header */
    const struct bare_table *bare; /* of a format without a header; or NULL */
    struct listing table;
    int column[TABLE_FIELDS]; /* column of each field of the format; -1: absent */
    size_t fields;            /* of the format, in `column`; 0: no header */
    int unit;                 /* of the share column: a whole GPU; 0: none, or not known yet */
    double most_share;        /* largest share read, in that unit */
    char name[128];           /* the function's name, if it is taken from the file name */
    size_t taken, saturated, packed;
};

/* Gives the columns that the set's roles name the names of the format. ERROR_INPUT if one is
 * absent.
 */
bool table_name_columns(struct table_reader *reader, struct error *error);

/* Checks that every column of the header is one of the format, one that is known to be no part of a
 * configuration, or one that a rule names. Beside named roles all others are noted instead.
 * ERROR_INPUT names the column. */
bool table_check_columns(struct table_reader *reader, struct error *error);

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
