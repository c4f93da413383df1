#include "traces/capture/replay/replay_rows.h"

#include <stdio.h>

#include <hdf5.h>

enum { CHUNK_ROWS = 1024, COMPRESSION = 4 };

/* Columns at their offsets in pool_row. The columns in the file are packed. */
static hid_t make_type(void)
{
    const struct {
        const char *name;
        size_t offset;
        hid_t type;
    } columns[] = {
        {"batch", offsetof(struct pool_row, task.number), H5T_NATIVE_UINT64},
        {"function", offsetof(struct pool_row, task.function), H5T_NATIVE_UINT32},
        {"configuration", offsetof(struct pool_row, task.configuration), H5T_NATIVE_UINT32},
        {"jobs", offsetof(struct pool_row, task.jobs), H5T_NATIVE_UINT32},
        {"units", offsetof(struct pool_row, task.units), H5T_NATIVE_UINT32},
        {"copy", offsetof(struct pool_row, task.copy), H5T_NATIVE_UINT32},
        {"modelled_ns", offsetof(struct pool_row, task.modelled), H5T_NATIVE_INT64},
        {"due_ns", offsetof(struct pool_row, due), H5T_NATIVE_INT64},
        {"asked_ns", offsetof(struct pool_row, asked), H5T_NATIVE_INT64},
        {"placed_ns", offsetof(struct pool_row, placed), H5T_NATIVE_INT64},
        {"begun_ns", offsetof(struct pool_row, begun), H5T_NATIVE_INT64},
        {"ended_ns", offsetof(struct pool_row, ended), H5T_NATIVE_INT64},
        {"device_ms", offsetof(struct pool_row, device_ms), H5T_NATIVE_DOUBLE},
    };
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct pool_row));
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        (void)H5Tinsert(type, columns[i].name, columns[i].offset, columns[i].type);
    return type;
}

static bool write_table(hid_t run, const struct pool_row *rows, size_t count)
{
    const hsize_t length = count;
    const hsize_t chunk = CHUNK_ROWS;
    const hid_t memory = make_type();
    const hid_t packed = H5Tcopy(memory);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(1, &length, NULL);
    (void)H5Tpack(packed);
    if (count >= chunk) {
        (void)H5Pset_chunk(properties, 1, &chunk);
        (void)H5Pset_deflate(properties, COMPRESSION);
    }
    const hid_t table =
        H5Dcreate2(run, "replay", packed, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    const bool good = table >= 0 && (count == 0 || H5Dwrite(table, memory, H5S_ALL, H5S_ALL,
                                                            H5P_DEFAULT, rows) >= 0);
    if (table >= 0)
        (void)H5Dclose(table);
    (void)H5Sclose(space);
    (void)H5Pclose(properties);
    (void)H5Tclose(packed);
    (void)H5Tclose(memory);
    return good;
}

bool replay_rows_write(const char *path, const char *hash, const struct pool_row *rows,
                       size_t count, struct error *error)
{
    char group[64];
    (void)snprintf(group, sizeof group, "/runs/%s", hash);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t run = file < 0 ? -1 : H5Gopen2(file, group, H5P_DEFAULT);
    bool good = run >= 0 && write_table(run, rows, count);
    if (run >= 0)
        (void)H5Gclose(run);
    if (file >= 0 && H5Fclose(file) < 0)
        good = false;
    return good || error_run(error, "%s: the batches of the replay cannot be added to it", path);
}
