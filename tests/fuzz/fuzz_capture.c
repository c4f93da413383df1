/* Capture files: read as they are, or built of an input that is no HDF5: rows that hold together,
 * then changes of single cells. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "results/store/capture.h"
#include "results/store/hdf5_table.h"
#include "tests/fuzz/input.h"

enum { ROWS_MOST = 8, TEXT_SIZE = 32, OTHERS_SIZE = 128, CHANGES_MOST = 200 };

/* A row of any of the file's tables. */
struct row {
    char network[TEXT_SIZE], precision[TEXT_SIZE], mechanism[TEXT_SIZE], part[TEXT_SIZE];
    char others[OTHERS_SIZE];
    int32_t batch, sms, group;
    int64_t bytes;
    double share_percent, ms, alone_ms;
};

struct member {
    const char *name;
    size_t offset, size; /* text above 8 bytes */
    bool real;
};

#define MEMBER(name, real)                                                                         \
    {                                                                                              \
#name, offsetof(struct row, name), sizeof((struct row *)0)->name, real                     \
    }

static const struct member members[] = {
    MEMBER(network, false), MEMBER(precision, false), MEMBER(mechanism, false),
    MEMBER(part, false),    MEMBER(others, false),    MEMBER(batch, false),
    MEMBER(sms, false),     MEMBER(group, false),     MEMBER(bytes, false),
    MEMBER(ms, true),       MEMBER(alone_ms, true),   MEMBER(share_percent, true)};
enum { MEMBERS = sizeof members / sizeof members[0] };

static const char *const tables[] = {"latency", "colocation", "cold_start", "memory"};
enum { TABLES = sizeof tables / sizeof tables[0] };

static hid_t row_type(void)
{
    hid_t row = H5Tcreate(H5T_COMPOUND, sizeof(struct row));
    hid_t text = H5Tcopy(H5T_C_S1);
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct member *member = &members[i];
        if (member->size > 8)
            (void)H5Tset_size(text, member->size);
        (void)H5Tinsert(row, member->name, member->offset,
                        member->size > 8    ? text
                        : member->real      ? H5T_NATIVE_DOUBLE
                        : member->size == 8 ? H5T_NATIVE_INT64
                                            : H5T_NATIVE_INT32);
    }
    (void)H5Tclose(text);
    return row;
}

static void row_fill(struct row *row, size_t number)
{
    *row = (struct row){.network = "net",
                        .precision = "fp32",
                        .mechanism = "mps",
                        .part = "total",
                        .others = "net:1:50",
                        .batch = 1 + (int32_t)number,
                        .sms = 66,
                        .bytes = 1 << 20,
                        .share_percent = 50,
                        .ms = 10 + (double)number,
                        .alone_ms = 9};
}

/* A change: row, member, then a length and a text, or the bytes of a number. */
static void row_change(struct row rows[ROWS_MOST], struct input_cursor *cursor)
{
    char *row = (char *)&rows[input_byte(cursor) % ROWS_MOST];
    const struct member *member = &members[input_byte(cursor) % MEMBERS];
    char value[OTHERS_SIZE] = "";
    const size_t length =
        member->size <= 8 ? member->size : input_byte(cursor) % (member->size + 1);
    input_bytes(cursor, value, length);
    memcpy(row + member->offset, value, member->size);
}

static void table_write(hid_t file, const char *name, struct input_cursor *cursor)
{
    struct row rows[ROWS_MOST];
    const hsize_t count = input_byte(cursor) % (ROWS_MOST + 1);
    for (size_t i = 0; i < ROWS_MOST; i++)
        row_fill(&rows[i], i);
    for (int i = input_byte(cursor) % CHANGES_MOST; i > 0 && cursor->left > 0; i--)
        row_change(rows, cursor);
    const hid_t type = row_type();
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t dataset =
        H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dataset < 0 ||
        (count > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0))
        abort();
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

static void file_write(const char *path, struct input_cursor *cursor)
{
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0 || !hdf5_set_text(file, "format", "esgsim-capture") ||
        !hdf5_set_u64(file, "version", 1) || !hdf5_set_u64(file, "sms", input_byte(cursor)) ||
        !hdf5_set_u64(file, "rehearsal", input_byte(cursor) % 2))
        abort();
    for (size_t i = 0; i < TABLES; i++)
        table_write(file, tables[i], cursor);
    (void)H5Fclose(file);
}

static void read_back(const char *path, const struct capture_options *options)
{
    struct error error = {0};
    struct sample_set set = {0};
    if (capture_read(&set, path, options, &error))
        samples_reduce(&set);
    else
        input_require_refusal(&error);
    samples_clear(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    const bool is_file = size >= sizeof signature && memcmp(data, signature, sizeof signature) == 0;
    char path[256];
    int file = input_save(data, is_file ? size : 0, path);
    hdf5_silence();
    if (!is_file) {
        struct input_cursor cursor = {data, size};
        file_write(path, &cursor);
    }
    read_back(path, &(struct capture_options){.rehearsal = true});
    read_back(path, &(struct capture_options){.precision = "fp32", .mechanism = "green"});
    (void)close(file);
    (void)unlink(path);
    return 0;
}
