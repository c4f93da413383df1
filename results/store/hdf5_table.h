/* Tables in HDF5 files, for the results folder only. */
#ifndef ESGSIM_RESULTS_STORE_HDF5_TABLE_H
#define ESGSIM_RESULTS_STORE_HDF5_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <hdf5.h>

#include "results/store/columns.h"
#include "results/store/swept.h"
#include "sim/base/error.h"

/* A handle that is closed at the end of its scope. Below 0: there is none. */
#define HANDLE __attribute__((cleanup(hdf5_handle_close))) const hid_t
void hdf5_handle_close(const hid_t *handle);

/* Disables HDF5's error output and its exit handler. Errors are reported through struct error. Must
 * be called before any other HDF5 function. */
void hdf5_silence(void);

/* Copies the cause of HDF5's last failure, such as "No space left on device", to `text`; "" if HDF5
 * gave none. */
void hdf5_reason(char *text, size_t size);

/* How files are opened and created: without HDF5's own locks, which some file systems lack, if the
 * library can. The caller closes the property list. */
hid_t hdf5_access(void);

/* If hdf5_reason's text speaks of a lock, or of a file that is open elsewhere, sets an error that
 * names the remedy, and returns true. */
bool hdf5_explain_lock(const char *path, const char *reason, struct error *error);

/* Below 0: the group has no such dataset. The caller closes it. */
hid_t hdf5_open_dataset(hid_t group, const char *name);

/* Write an attribute of a group or dataset. False: HDF5 failed. */
bool hdf5_set_text(hid_t object, const char *name, const char *text);
bool hdf5_set_u64(hid_t object, const char *name, uint64_t value);
bool hdf5_set_f64(hid_t object, const char *name, double value);
/* Returns a text attribute, in the arena; NULL if it is absent or not a text. */
char *hdf5_get_text(struct arena *arena, hid_t object, const char *name);
/* False if the attribute is absent or not an integer. */
bool hdf5_get_u64(hid_t object, const char *name, uint64_t *value);
/* False if the attribute is absent or not a number. */
bool hdf5_get_f64(hid_t object, const char *name, double *value);

/* A writer that appends rows in blocks. It creates the dataset when it writes its first block. */
struct table_writer {
    hid_t group;
    const char *name;
    struct table_writer *before; /* its dataset is created first, in the same group; NULL: none */
    const struct layout *layout;
    size_t array_length;
    bool bare; /* omit descriptive attributes, which only other programs read */
    hsize_t chunk_rows;
    hid_t dataset;
    hid_t memory_type;
    unsigned char *block;
    size_t filled;
    size_t capacity; /* rows in a block */
    hsize_t written;
};

/* Begins table `name` in `group`, after the table `before` (or NULL). All three must outlive the
 * writer. Array columns have `array_length` entries. A chunk, which HDF5 reads and writes as a
 * whole, has `chunk_rows` rows, or fewer if the whole table has fewer. A block has `block_rows`
 * rows, at least `chunk_rows`. False: failed, and there is nothing to close. */
bool table_begin(struct table_writer *table, hid_t group, const char *name,
                 struct table_writer *before, const struct layout *layout, size_t array_length,
                 hsize_t chunk_rows, size_t block_rows);
/* Appends a row to the block; writes the block when it is full. False: HDF5 failed. */
bool table_append(struct table_writer *table, const void *row);
/* Closes a table to which no row was appended, and creates no dataset. */
void table_discard(struct table_writer *table);
/* Writes the buffered rows and closes the table. Does nothing if the writer is zeroed or closed. */
bool table_close(struct table_writer *table);

/* Finds in table `name` the keys that `names` lists, one per line. NULL: ERROR_INPUT names `path`.
 */
struct swept_keys *table_find_swept(hid_t file, const char *path, const char *name,
                                    const char *names, struct error *error);
/* Reads the whole table `name` into an array of the arena. ERROR_INPUT names `path`. */
bool table_read(struct arena *arena, hid_t file, const char *path, const char *name,
                const struct layout *layout, void **rows, size_t *count, struct error *error);

#endif
