#include "results/store/hdf5_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/utf8.h"

enum { DEFLATE_LEVEL = 4 };
/* Far above any sweep. They prevent huge allocations for a damaged count. */
enum { TABLE_MAX_ROWS = 50000000, TEXT_MAX_BYTES = 1 << 26 };
/* DEFLATE_MOST: maximum compression ratio of deflate. SMALL_BYTES: sizes that need no check. */
enum { DEFLATE_MOST = 1032, SMALL_BYTES = 1 << 20 };

void hdf5_silence(void)
{
    /* At exit HDF5 closes files again that it failed to close, for example on a full disk, and
     * crashes. The program closes all its files itself. */
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

struct reason {
    char *text;
    size_t size;
};

static const char no_lock[] = "no lock: ";

static herr_t reason_step(unsigned depth, const H5E_error2_t *entry, void *context)
{
    const struct reason *reason = context;
    if (depth != 0 || entry->desc == NULL)
        return 0;
    /* For a failed system call HDF5 prints names, sizes and addresses. Keep only the system's error
     * message. */
    static const char mark[] = "error message = '";
    const char *words = strstr(entry->desc, mark);
    words = words == NULL ? entry->desc : words + sizeof mark - 1;
    const size_t length = words == entry->desc ? strlen(words) : strcspn(words, "'");
    (void)snprintf(reason->text, reason->size, "%s%.*s",
                   strncmp(entry->desc, "unable to lock", 14) == 0 ? no_lock : "", (int)length,
                   words);
    return 0;
}

void hdf5_reason(char *text, size_t size)
{
    struct reason reason = {text, size};
    text[0] = '\0';
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, reason_step, &reason);
}

void hdf5_handle_close(const hid_t *handle)
{
    if (*handle >= 0)
        (void)H5Idec_ref(*handle);
}

hid_t hdf5_access(void)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 10, 7)
    (void)H5Pset_file_locking(access, false, true);
#endif
    return access;
}

bool hdf5_explain_lock(const char *path, const char *reason, struct error *error)
{
    const bool lock = strncmp(reason, no_lock, strlen(no_lock)) == 0;
    if (strstr(reason, "already open") != NULL ||
        (lock && strstr(reason, strerror(EAGAIN)) != NULL))
        error_input(error,
                    "%s: is open for writing in another program; close it there; if that program "
                    "has ended, run: h5clear -s %s",
                    path, path);
    else if (lock)
        error_run(error, "%s: its file system has %s; set HDF5_USE_FILE_LOCKING=FALSE", path,
                  reason);
    else
        return false;
    return true;
}

static bool set_attribute(hid_t object, const char *name, hid_t file_type, hid_t memory_type,
                          const void *value)
{
    HANDLE space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, memory_type, value) >= 0;
    if (attribute >= 0)
        good = H5Aclose(attribute) >= 0 && good;
    return good;
}

/* Writes a text of fixed length. HDF5 stores texts of variable length in its global heap, the only
 * part of a file without a checksum. Damage there can crash the library. */
static bool set_text(hid_t object, const char *name, H5T_cset_t characters, const char *text)
{
    HANDLE type = H5Tcopy(H5T_C_S1);
    return type >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0 &&
           H5Tset_cset(type, characters) >= 0 && set_attribute(object, name, type, type, text);
}

bool hdf5_set_text(hid_t object, const char *name, const char *text)
{
    return set_text(object, name, H5T_CSET_UTF8, text);
}

bool hdf5_set_u64(hid_t object, const char *name, uint64_t value)
{
    return set_attribute(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

bool hdf5_set_f64(hid_t object, const char *name, double value)
{
    return set_attribute(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

/* Opens a scalar attribute of an HDF5 class. Below 0: there is none. */
static hid_t attribute_open(hid_t object, const char *name, H5T_class_t class)
{
    if (H5Aexists(object, name) <= 0)
        return -1;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    HANDLE stored = attribute < 0 ? -1 : H5Aget_type(attribute);
    HANDLE space = attribute < 0 ? -1 : H5Aget_space(attribute);
    if (stored >= 0 && space >= 0 && H5Tget_class(stored) == class &&
        H5Sget_simple_extent_npoints(space) == 1)
        return attribute;
    hdf5_handle_close(&attribute);
    return -1;
}

char *hdf5_get_text(struct arena *arena, hid_t object, const char *name)
{
    HANDLE attribute = attribute_open(object, name, H5T_STRING);
    HANDLE stored = attribute < 0 ? -1 : H5Aget_type(attribute);
    if (stored < 0 || H5Tis_variable_str(stored) != 0 || H5Tget_size(stored) > TEXT_MAX_BYTES)
        return NULL;
    char *text = arena_allocate(arena, H5Tget_size(stored) + 1, 1);
    return H5Aread(attribute, stored, text) < 0 ? NULL : text;
}

/* Reads a number of an HDF5 class into `value`, which has the type `memory`. */
static bool number_get(hid_t object, const char *name, H5T_class_t class, hid_t memory, void *value)
{
    HANDLE attribute = attribute_open(object, name, class);
    return attribute >= 0 && H5Aread(attribute, memory, value) >= 0;
}

bool hdf5_get_u64(hid_t object, const char *name, uint64_t *value)
{
    return number_get(object, name, H5T_INTEGER, H5T_NATIVE_UINT64, value);
}

bool hdf5_get_f64(hid_t object, const char *name, double *value)
{
    uint64_t whole = 0;
    if (number_get(object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, value))
        return true;
    if (!hdf5_get_u64(object, name, &whole))
        return false;
    *value = (double)whole;
    return true;
}

/* Numbers are little-endian in the file and native in memory. */
static hid_t scalar_type(enum column_type type, bool in_file)
{
    const hid_t types[][2] = {
        [COLUMN_U8] = {H5T_NATIVE_UINT8, H5T_STD_U8LE},
        [COLUMN_U16] = {H5T_NATIVE_UINT16, H5T_STD_U16LE},
        [COLUMN_U32] = {H5T_NATIVE_UINT32, H5T_STD_U32LE},
        [COLUMN_U64] = {H5T_NATIVE_UINT64, H5T_STD_U64LE},
        [COLUMN_I32] = {H5T_NATIVE_INT32, H5T_STD_I32LE},
        [COLUMN_I64] = {H5T_NATIVE_INT64, H5T_STD_I64LE},
        [COLUMN_F64] = {H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE},
    };
    return types[type][in_file];
}

/* Returns a new type, which the caller closes. A text uses the full column in the file. In memory
 * it is followed by a NUL. */
static hid_t column_type(const struct column *column, size_t array_length, bool in_file)
{
    if (column->type == COLUMN_TEXT) {
        hid_t text = H5Tcopy(H5T_C_S1);
        (void)H5Tset_size(text, in_file ? column->length : column->length + 1);
        (void)H5Tset_strpad(text, in_file ? H5T_STR_NULLPAD : H5T_STR_NULLTERM);
        return text;
    }
    if (column->length > 1)
        return H5Tarray_create2(scalar_type(column->type, in_file), 1,
                                &(hsize_t){(hsize_t)array_length});
    return H5Tcopy(scalar_type(column->type, in_file));
}

/* Gives a text's type the character set that the stored table has, because HDF5 does not convert
 * between them. */
static void column_take_cset(hid_t type, hid_t stored, const char *name)
{
    const int index = H5Tget_member_index(stored, name);
    if (index < 0)
        return;
    HANDLE text = H5Tget_member_type(stored, (unsigned)index);
    (void)H5Tset_cset(type, H5Tget_cset(text));
}

/* `stored`: the type of the table to be read; -1: none. */
static hid_t row_type(const struct layout *layout, size_t array_length, bool in_file, hid_t stored)
{
    size_t size = 0;
    hid_t *fields = malloc(layout->count * sizeof *fields);
    if (fields == NULL)
        return -1;
    for (size_t i = 0; i < layout->count; i++) {
        fields[i] = column_type(&layout->columns[i], array_length, in_file);
        if (stored >= 0 && layout->columns[i].type == COLUMN_TEXT)
            column_take_cset(fields[i], stored, layout->columns[i].name);
        size += H5Tget_size(fields[i]);
    }
    hid_t row = H5Tcreate(H5T_COMPOUND, in_file ? size : layout->row_bytes);
    size_t offset = 0;
    for (size_t i = 0; i < layout->count; i++) {
        const struct column *column = &layout->columns[i];
        (void)H5Tinsert(row, column->name, in_file ? offset : column->offset, fields[i]);
        offset += H5Tget_size(fields[i]);
        (void)H5Tclose(fields[i]);
    }
    free(fields);
    return row;
}

static hid_t table_properties(hsize_t chunk_rows)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (H5Pset_obj_track_times(properties, false) >= 0 &&
        H5Pset_chunk(properties, 1, &chunk_rows) >= 0 && H5Pset_shuffle(properties) >= 0 &&
        H5Pset_deflate(properties, DEFLATE_LEVEL) >= 0 && H5Pset_fletcher32(properties) >= 0)
        return properties;
    (void)H5Pclose(properties);
    return -1;
}

/* HDF5 converts rows in a buffer of 1 MiB, which it clears for every transfer. For the few rows of
 * a short run this sets a buffer of their size. */
static hid_t transfer_create(hid_t stored, hid_t memory_type, hsize_t rows)
{
    enum { USUAL = 1 << 20 };
    const size_t stored_bytes = H5Tget_size(stored), bytes = H5Tget_size(memory_type);
    const size_t longest = stored_bytes > bytes ? stored_bytes : bytes;
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    if (rows > 0 && rows < USUAL / longest)
        (void)H5Pset_buffer(transfer, (size_t)rows * longest, NULL, NULL);
    return transfer;
}

/* In the same form as HDF5's Table interface (H5TB). */
static bool set_plain_text(hid_t object, const char *name, const char *text)
{
    return set_text(object, name, H5T_CSET_ASCII, text);
}

/* Writes the attributes of the HDF5 Table specification, and unit and meaning of each column. */
static bool table_describe(hid_t dataset, const struct layout *layout)
{
    bool good = set_plain_text(dataset, "CLASS", "TABLE") &&
                set_plain_text(dataset, "VERSION", "3.0") &&
                set_plain_text(dataset, "TITLE", layout->title);
    for (size_t i = 0; good && i < layout->count; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "FIELD_%zu_NAME", i);
        good = set_plain_text(dataset, key, layout->columns[i].name);
        (void)snprintf(key, sizeof key, "FIELD_%zu_UNIT", i);
        good = good && hdf5_set_text(dataset, key, layout->columns[i].unit);
        (void)snprintf(key, sizeof key, "FIELD_%zu_HELP", i);
        good = good && hdf5_set_text(dataset, key, layout->columns[i].help);
    }
    return good;
}

bool table_begin(struct table_writer *table, hid_t group, const char *name,
                 struct table_writer *before, const struct layout *layout, size_t array_length,
                 hsize_t chunk_rows, size_t block_rows)
{
    *table = (struct table_writer){.group = group,
                                   .name = name,
                                   .before = before,
                                   .layout = layout,
                                   .array_length = array_length,
                                   .chunk_rows = chunk_rows,
                                   .dataset = -1,
                                   .block = malloc(block_rows * layout->row_bytes),
                                   .capacity = block_rows};
    if (table->block == NULL)
        return false;
    table->memory_type = row_type(layout, array_length, false, -1);
    return true;
}

static bool dataset_create(struct table_writer *table, hsize_t chunk_rows)
{
    struct table_writer *before = table->before;
    if (before != NULL && before->dataset < 0 && before->block != NULL &&
        !dataset_create(before, before->chunk_rows))
        return false;
    HANDLE file_type = row_type(table->layout, table->array_length, true, -1);
    HANDLE space = H5Screate_simple(1, &(hsize_t){0}, &(hsize_t){H5S_UNLIMITED});
    HANDLE properties = table_properties(chunk_rows);
    if (properties >= 0)
        table->dataset = H5Dcreate2(table->group, table->name, file_type, space, H5P_DEFAULT,
                                    properties, H5P_DEFAULT);
    return table->dataset >= 0 && (table->bare || table_describe(table->dataset, table->layout));
}

/* If the table ends within its first block, its chunk size is at most its number of rows. */
static bool table_flush(struct table_writer *table)
{
    hsize_t count = table->filled;
    hsize_t total = table->written + count;
    const bool is_short = count > 0 && count < table->chunk_rows;
    if (table->dataset < 0 && !dataset_create(table, is_short ? count : table->chunk_rows))
        return false;
    if (count == 0)
        return true;
    table->filled = 0;
    if (H5Dset_extent(table->dataset, &total) < 0)
        return false;
    HANDLE to = H5Dget_space(table->dataset);
    HANDLE from = H5Screate_simple(1, &count, NULL);
    HANDLE stored = H5Dget_type(table->dataset);
    HANDLE transfer = transfer_create(stored, table->memory_type, count);
    bool good = H5Sselect_hyperslab(to, H5S_SELECT_SET, &table->written, NULL, &count, NULL) >= 0 &&
                H5Dwrite(table->dataset, table->memory_type, from, to, transfer, table->block) >= 0;
    table->written = total;
    return good;
}

bool table_append(struct table_writer *table, const void *row)
{
    const size_t bytes = table->layout->row_bytes;
    memcpy(table->block + table->filled * bytes, row, bytes);
    table->filled++;
    return table->filled < table->capacity || table_flush(table);
}

void table_discard(struct table_writer *table)
{
    if (table->block == NULL)
        return;
    (void)H5Tclose(table->memory_type);
    free(table->block);
    *table = (struct table_writer){0};
}

bool table_close(struct table_writer *table)
{
    if (table->block == NULL)
        return true;
    bool good = table_flush(table);
    if (table->dataset >= 0)
        good = H5Dclose(table->dataset) >= 0 && good;
    table_discard(table);
    return good;
}

static bool member_fits(hid_t stored, const struct column *column)
{
    int member = H5Tget_member_index(stored, column->name);
    H5T_class_t class = member < 0 ? H5T_NO_CLASS : H5Tget_member_class(stored, (unsigned)member);
    if (column->type == COLUMN_TEXT) {
        HANDLE type = class == H5T_STRING ? H5Tget_member_type(stored, (unsigned)member) : -1;
        return type >= 0 && H5Tis_variable_str(type) == 0;
    }
    return class == (column->type == COLUMN_F64 ? H5T_FLOAT : H5T_INTEGER);
}

static bool columns_check(hid_t stored, const char *path, const char *name,
                          const struct layout *layout, struct error *error)
{
    if (H5Tget_class(stored) != H5T_COMPOUND)
        return error_input(error,
                           "%s: /%s is not a table of named columns; give a file that %s wrote",
                           path, name, layout->writer);
    for (size_t i = 0; i < layout->count; i++) {
        const struct column *column = &layout->columns[i];
        if (H5Tget_member_index(stored, column->name) < 0 && column->later)
            continue;
        if (H5Tget_member_index(stored, column->name) < 0)
            return error_input(error,
                               "%s: /%s has no column '%s'; write the file again with this "
                               "version of esgsim",
                               path, name, column->name);
        if (!member_fits(stored, column))
            return error_input(error, "%s: /%s: column '%s' should hold %s", path, name,
                               column->name,
                               column->type == COLUMN_TEXT  ? "text of fixed length"
                               : column->type == COLUMN_F64 ? "floating-point numbers"
                                                            : "integers");
    }
    return true;
}

/* Rejects control characters in names, because they would break the lines of reports. */
static bool names_check(const char *path, const char *name, const struct layout *layout,
                        const char *rows, size_t count, struct error *error)
{
    for (size_t c = 0; c < layout->count; c++) {
        const struct column *column = &layout->columns[c];
        for (size_t row = 0; column->type == COLUMN_TEXT && row < count; row++)
            if (!utf8_is_name(rows + row * layout->row_bytes + column->offset))
                return error_input(error,
                                   "%s: /%s row %zu: '%s' holds control characters or is not "
                                   "UTF-8; the file is damaged or was not written by esgsim",
                                   path, name, row, column->name);
    }
    return true;
}

/* Returns whether the dataset's stored bytes can contain that many rows. A damaged dataset may
 * claim any number. HDF5 fills missing rows, so a file of 2 kB could become gigabytes. */
static bool rows_are_held(hid_t dataset, hid_t stored_type, hssize_t rows)
{
    const double bytes = (double)rows * (double)H5Tget_size(stored_type);
    return bytes <= SMALL_BYTES + DEFLATE_MOST * (double)H5Dget_storage_size(dataset);
}

static bool rows_read(struct arena *arena, hid_t dataset, hid_t stored, const char *path,
                      const char *name, const struct layout *layout, void **rows, size_t *count,
                      struct error *error)
{
    HANDLE space = H5Dget_space(dataset);
    hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    if (rank != 1 || points < 0 || points > TABLE_MAX_ROWS)
        return error_input(error, "%s: /%s should be a list of 0 to %d rows", path, name,
                           TABLE_MAX_ROWS);
    if (!rows_are_held(dataset, stored, points))
        return error_input(error, "%s: /%s should have %lld rows but holds fewer; run it again",
                           path, name, (long long)points);
    *count = (size_t)points;
    *rows = arena_allocate(arena, *count, layout->row_bytes);
    HANDLE memory_type = row_type(layout, 1, false, stored);
    HANDLE transfer = transfer_create(stored, memory_type, *count);
    if (H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, transfer, *rows) >= 0)
        return names_check(path, name, layout, *rows, *count, error);
    char reason[200];
    hdf5_reason(reason, sizeof reason);
    return error_input(error, "%s: /%s cannot be read, the file is damaged (%s); run it again",
                       path, name, reason);
}

static bool swept_add_stored(struct swept_keys *keys, hid_t stored, const char *name)
{
    const int member = H5Tget_member_index(stored, name);
    HANDLE type = member < 0 ? -1 : H5Tget_member_type(stored, (unsigned)member);
    const H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    return utf8_is_name(name) &&
           (class == H5T_FLOAT || class == H5T_STRING || swept_is_shared(name)) &&
           swept_keys_add(keys, name, class == H5T_FLOAT, H5Tget_size(type));
}

hid_t hdf5_open_dataset(hid_t group, const char *name)
{
    return H5Lexists(group, name, H5P_DEFAULT) > 0 ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
}

struct swept_keys *table_find_swept(hid_t file, const char *path, const char *name,
                                    const char *names, struct error *error)
{
    struct swept_keys *keys = swept_keys_create();
    char *rest = arena_text(keys->arena, "%s", names);
    HANDLE dataset = hdf5_open_dataset(file, name);
    HANDLE stored = dataset < 0 ? -1 : H5Dget_type(dataset);
    bool good = stored >= 0;
    for (const char *line; good && *names != '\0' && (line = strsep(&rest, "\n")) != NULL;)
        good = swept_add_stored(keys, stored, line);
    if (good)
        return keys;
    arena_home_free(keys);
    (void)error_input(
        error, "%s: attribute 'swept_keys' does not list columns of /%s; run it again", path, name);
    return NULL;
}

bool table_read(struct arena *arena, hid_t file, const char *path, const char *name,
                const struct layout *layout, void **rows, size_t *count, struct error *error)
{
    HANDLE dataset = hdf5_open_dataset(file, name);
    if (dataset < 0)
        return error_input(error,
                           "%s: has no table /%s that can be read; give a whole file that %s wrote",
                           path, name, layout->writer);
    HANDLE stored = H5Dget_type(dataset);
    if (stored < 0)
        return error_input(error, "%s: /%s is damaged; run it again", path, name);
    return columns_check(stored, path, name, layout, error) &&
           rows_read(arena, dataset, stored, path, name, layout, rows, count, error);
}
