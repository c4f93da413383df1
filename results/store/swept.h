/* The keys that a sweep sets, as columns of /summary, with one value per run.
 *
 * A column has the key's dotted name. It is a number if the sweep sets the key to numbers only,
 * else a text. A run without the key has NAN or "". A key whose name is a column of every summary,
 * such as `requests`, has no column of its own: that column is read in its place.
 *
 * The attribute `swept_keys` of the file lists the keys, one per line. A file without a sweep, or
 * of an earlier version, has no such attribute and no such columns.
 */
#ifndef ESGSIM_RESULTS_STORE_SWEPT_H
#define ESGSIM_RESULTS_STORE_SWEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "results/store/columns.h"

enum { SWEPT_MOST = 1024 };

struct swept_keys {
    struct arena *arena;    /* of the columns; exhausted memory ends the process */
    struct column *columns; /* of a row of values: COLUMN_F64, COLUMN_TEXT, or a column's of
                               /summary; owned names */
    size_t count;
    size_t row_bytes; /* a multiple of 8 */
};

/* An empty list. Free with arena_home_free. */
struct swept_keys *swept_keys_create(void);

/* Appends a key: numbers, or texts of at most `length` bytes (longer ones are cut as by
 * column_copy_text). False: more than SWEPT_MOST keys. */
bool swept_keys_add(struct swept_keys *keys, const char *name, bool number, size_t length);

/* Returns whether the key is a column of every summary, too. */
bool swept_is_shared(const char *name);
/* Returns whether both lists give the same columns. NULL is an empty list. */
bool swept_keys_equal(const struct swept_keys *keys, const struct swept_keys *others);
/* Returns the names, one per line, in the arena of the keys. */
char *swept_keys_names(const struct swept_keys *keys);

/* Fills a row from the text of each value, NULL where there is none. */
void swept_row_fill(const struct swept_keys *keys, const char *const *values, void *row);

/* The layout of /summary with the columns of the keys behind. In memory a row is a struct
 * summary_row, followed by the row of values. It is of the arena of the keys. */
struct layout *swept_layout(const struct swept_keys *keys);

enum { SWEPT_NUMBER = 32 };
/* Writes the number with 15 digits, or with more if it could not be read back from these. */
void number_text(double value, char text[SWEPT_NUMBER]);

/* The value of key `index` in a row of values. A text has no number: NAN. The text of a number is
 * that of number_text; it is written to `number`. */
double swept_number(const struct swept_keys *keys, const void *row, size_t index);
const char *swept_text(const struct swept_keys *keys, const void *row, size_t index,
                       char number[SWEPT_NUMBER]);

#endif
