/* Tables in HDF5 files, inside the results folder only. */
#ifndef ESGSIM_RESULTS_STORE_HDF5_TABLE_H
#define ESGSIM_RESULTS_STORE_HDF5_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <hdf5.h>

#include "results/store/columns.h"
#include "sim/error.h"

/* Keeps HDF5 from printing and from an exit handler; errors are told through struct error. To be
 * called before anything else of HDF5. */
void hdf5_silence(void);
/* What HDF5 gave as the cause of its last failure, e.g. "No space left on device"; "" if nothing.
 */
void hdf5_reason(char *text, size_t size);

/* Attributes of a group or dataset. False: HDF5 failed. */
bool hdf5_set_text(hid_t object, const char *name, const char *text);
bool hdf5_set_u64(hid_t object, const char *name, uint64_t value);
bool hdf5_set_f64(hid_t object, const char *name, double value);
/* Allocated; NULL where absent or no text. */
char *hdf5_get_text(hid_t object, const char *name);
/* False where absent or no whole number. */
bool hdf5_get_u64(hid_t object, const char *name, uint64_t *value);
/* False where absent or no number. */
bool hdf5_get_f64(hid_t object, const char *name, double *value);

/* Can the file hold so many rows? A dataset of a damaged file may claim any number of them, and
 * HDF5 makes up the rows that are not there: gigabytes of a file of two kilobytes. */
bool hdf5_rows_are_held(hid_t dataset, hid_t stored_type, hssize_t rows);

/* Rows appended in blocks. The dataset comes to be with the first of them. */
struct table_writer {
    hid_t group;
    const char *name;
    struct table_writer *before; /* of the same group: comes to be earlier; NULL: none */
    const struct layout *layout;
    size_t array_length;
    bool bare; /* without the attributes that describe it, which only other programs read */
    hsize_t chunk_rows;
    hid_t dataset;
    hid_t memory_type;
    unsigned char *block;
    size_t filled;
    size_t capacity; /* rows in a block */
    hsize_t written;
};

/* Begin table `name` in `group`, behind the table `before` (or NULL); all three outlive the writer.
 * `array_length` entries in columns that are arrays. `chunk_rows` rows a chunk, fewer where the
 * whole table has fewer: a chunk is read and written as a whole. Blocks of `block_rows`, no fewer
 * than that. False: nothing to close. */
bool table_begin(struct table_writer *table, hid_t group, const char *name,
                 struct table_writer *before, const struct layout *layout, size_t array_length,
                 hsize_t chunk_rows, size_t block_rows);
bool table_append(struct table_writer *table, const void *row);
/* Writes what is buffered and closes; harmless on one that is zeroed or already closed. */
bool table_close(struct table_writer *table);

/* Read table `name` whole into an allocated array. ERROR_INPUT names `path`. */
bool table_read(hid_t file, const char *path, const char *name, const struct layout *layout,
                void **rows, size_t *count, struct error *error);

#endif
