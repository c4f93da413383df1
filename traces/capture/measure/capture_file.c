#include "traces/capture/measure/capture_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/store/hdf5_table.h"

enum { CHUNK_ROWS = 1024, COLUMNS = 16, COMPRESSION = 4 };

struct capture_file {
    char *path;
    hid_t file;
    hid_t tables[CAPTURE_TABLES];
    hid_t types[CAPTURE_TABLES];
};

/* ---- Tables ---------------------------------------------------------------------------------- */

#define COLUMN(row, type, member)                                                                  \
    {                                                                                              \
#member, "", "", type, offsetof(struct row, member), sizeof(((struct row *)0)->member),    \
            false                                                                                  \
    }
#define TEXT(row, member) COLUMN(row, COLUMN_TEXT, member)
#define WHOLE(row, member) COLUMN(row, COLUMN_I32, member)
#define LONG(row, member) COLUMN(row, COLUMN_I64, member)
#define REAL(row, member) COLUMN(row, COLUMN_F64, member)

static const struct table {
    const char *name;
    size_t size;
    struct column columns[COLUMNS];
} tables[CAPTURE_TABLES] = {
    [CAPTURE_LATENCY] = {"latency",
                         sizeof(struct layout_latency),
                         {TEXT(layout_latency, network), TEXT(layout_latency, precision),
                          TEXT(layout_latency, mechanism), WHOLE(layout_latency, batch),
                          REAL(layout_latency, share_percent), WHOLE(layout_latency, sms),
                          WHOLE(layout_latency, round), WHOLE(layout_latency, sample),
                          REAL(layout_latency, ms), WHOLE(layout_latency, launches),
                          REAL(layout_latency, warm_up_ms), WHOLE(layout_latency, settled),
                          WHOLE(layout_latency, sm_mhz_least), WHOLE(layout_latency, sm_mhz_most)}},
    [CAPTURE_COLOCATION] = {"colocation",
                            sizeof(struct layout_colocation),
                            {WHOLE(layout_colocation, group), WHOLE(layout_colocation, members),
                             TEXT(layout_colocation, network), TEXT(layout_colocation, precision),
                             TEXT(layout_colocation, mechanism), TEXT(layout_colocation, others),
                             WHOLE(layout_colocation, batch),
                             REAL(layout_colocation, share_percent), WHOLE(layout_colocation, sms),
                             REAL(layout_colocation, alone_ms), WHOLE(layout_colocation, sample),
                             REAL(layout_colocation, ms), WHOLE(layout_colocation, sm_mhz_least),
                             WHOLE(layout_colocation, sm_mhz_most)}},
    [CAPTURE_COPIES] = {"copies",
                        sizeof(struct layout_copies),
                        {TEXT(layout_copies, direction), TEXT(layout_copies, memory),
                         LONG(layout_copies, bytes), WHOLE(layout_copies, sample),
                         REAL(layout_copies, ms)}},
    [CAPTURE_COLD_START] = {"cold_start",
                            sizeof(struct layout_cold_start),
                            {TEXT(layout_cold_start, network), TEXT(layout_cold_start, precision),
                             TEXT(layout_cold_start, part), WHOLE(layout_cold_start, batch),
                             WHOLE(layout_cold_start, sample), REAL(layout_cold_start, ms)}},
    [CAPTURE_MEMORY] = {"memory",
                        sizeof(struct layout_memory),
                        {TEXT(layout_memory, network), TEXT(layout_memory, precision),
                         TEXT(layout_memory, part), WHOLE(layout_memory, batch),
                         LONG(layout_memory, planned_bytes), LONG(layout_memory, bytes)}},
    [CAPTURE_CLOCKS] = {"clocks",
                        sizeof(struct layout_clocks),
                        {REAL(layout_clocks, time_s), WHOLE(layout_clocks, sm_mhz),
                         WHOLE(layout_clocks, memory_mhz), REAL(layout_clocks, power_w),
                         WHOLE(layout_clocks, celsius), LONG(layout_clocks, reasons)}},
    [CAPTURE_PLAN] = {"plan",
                      sizeof(struct layout_plan),
                      {TEXT(layout_plan, what), TEXT(layout_plan, key), WHOLE(layout_plan, round),
                       TEXT(layout_plan, state), TEXT(layout_plan, reason),
                       REAL(layout_plan, estimated_s), REAL(layout_plan, spent_s),
                       REAL(layout_plan, began_s)}},
};

/* Texts fill their member without a final NUL. */
static hid_t make_member(const struct column *column)
{
    if (column->type == COLUMN_I32)
        return H5Tcopy(H5T_NATIVE_INT32);
    if (column->type == COLUMN_I64)
        return H5Tcopy(H5T_NATIVE_INT64);
    if (column->type == COLUMN_F64)
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    const hid_t text = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(text, column->length);
    (void)H5Tset_strpad(text, H5T_STR_NULLPAD);
    (void)H5Tset_cset(text, H5T_CSET_UTF8);
    return text;
}

/* Type of the struct in memory. The type in the file is packed. */
static hid_t make_type(const struct table *table)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, table->size);
    for (size_t c = 0; c < COLUMNS && table->columns[c].name != NULL; c++) {
        const hid_t member = make_member(&table->columns[c]);
        (void)H5Tinsert(type, table->columns[c].name, table->columns[c].offset, member);
        (void)H5Tclose(member);
    }
    return type;
}

static hid_t make_table(hid_t file, const struct table *table, hid_t type)
{
    const hsize_t none = 0;
    const hsize_t unlimited = H5S_UNLIMITED;
    const hsize_t chunk = CHUNK_ROWS;
    const hid_t packed = H5Tcopy(type);
    const hid_t space = H5Screate_simple(1, &none, &unlimited);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Tpack(packed);
    (void)H5Pset_chunk(properties, 1, &chunk);
    (void)H5Pset_shuffle(properties);
    (void)H5Pset_deflate(properties, COMPRESSION);
    const hid_t dataset =
        H5Dcreate2(file, table->name, packed, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    (void)H5Pclose(properties);
    (void)H5Sclose(space);
    (void)H5Tclose(packed);
    return dataset;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static bool write_number(hid_t file, const char *name, long long value)
{
    return hdf5_set_u64(file, name, (uint64_t)value);
}

static bool write_about(hid_t file, const struct capture_about *about)
{
    return hdf5_set_text(file, "format", "esgsim-capture") &&
           write_number(file, "version", LAYOUT_VERSION) &&
           hdf5_set_text(file, "device", about->device) && write_number(file, "device_count", 1) &&
           write_number(file, "sms", about->sms) &&
           hdf5_set_text(file, "compute_capability", about->compute_capability) &&
           write_number(file, "memory_bytes", about->memory_bytes) &&
           write_number(file, "driver", about->driver) &&
           write_number(file, "cudnn", about->cudnn) &&
           write_number(file, "cublas", about->cublas) &&
           write_number(file, "clock_khz", about->clock_khz) &&
           write_number(file, "memory_clock_khz", about->memory_clock_khz) &&
           hdf5_set_text(file, "date", about->date) && hdf5_set_text(file, "host", about->host) &&
           write_number(file, "host_cpus", about->host_cpus) &&
           hdf5_set_text(file, "esgsim", about->esgsim) && write_number(file, "seed", 1) &&
           hdf5_set_text(file, "access", about->access) &&
           hdf5_set_text(file, "clocks", about->clocks) &&
           write_number(file, "cuda_graphs", about->cuda_graphs) &&
           write_number(file, "rehearsal", about->rehearsal);
}

/* Sets ERROR_INPUT if a continued file holds samples of another kind than `about`. */
static bool is_the_same(const struct capture_file *file, const struct capture_about *about,
                        struct error *error)
{
    char *format = hdf5_get_text(file->file, "format");
    char *device = hdf5_get_text(file->file, "device");
    uint64_t version = 0, rehearsal = 0, graphs = 0;
    bool good = true;
    if (format == NULL || strcmp(format, "esgsim-capture") != 0)
        good = error_input(error, "%s: is no capture file; name another with --out", file->path);
    else if (!hdf5_get_u64(file->file, "version", &version) || version != LAYOUT_VERSION)
        good = error_input(error,
                           "%s: has layout version %" PRIu64
                           ", this program writes %d; name another with --out",
                           file->path, version, LAYOUT_VERSION);
    else if (device == NULL || strcmp(device, about->device) != 0)
        good = error_input(error, "%s: was captured on %s, this is %s; name another with --out",
                           file->path, device == NULL ? "no device" : device, about->device);
    else if (!hdf5_get_u64(file->file, "rehearsal", &rehearsal) ||
             rehearsal != (uint64_t)about->rehearsal)
        good = error_input(error,
                           "%s: holds %s, this run makes the other kind; name another with --out",
                           file->path, rehearsal != 0 ? "a rehearsal" : "measurements");
    else if (!hdf5_get_u64(file->file, "cuda_graphs", &graphs) ||
             graphs != (uint64_t)about->cuda_graphs)
        good = error_input(error, "%s: was captured %s CUDA graphs; name another with --out",
                           file->path, graphs != 0 ? "with" : "without");
    free(format);
    free(device);
    return good;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool open_tables(struct capture_file *file, bool fresh, struct error *error)
{
    for (int t = 0; t < CAPTURE_TABLES; t++) {
        file->types[t] = make_type(&tables[t]);
        file->tables[t] = fresh ? make_table(file->file, &tables[t], file->types[t])
                                : H5Dopen2(file->file, tables[t].name, H5P_DEFAULT);
        if (file->tables[t] < 0)
            return error_run(error, "%s: table /%s cannot be %s", file->path, tables[t].name,
                             fresh ? "made" : "opened");
    }
    return true;
}

static bool open_file(struct capture_file *file, const struct capture_about *about,
                      struct error *error)
{
    const bool fresh = access(file->path, F_OK) != 0;
    hdf5_silence();
    file->file = fresh ? H5Fcreate(file->path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)
                       : H5Fopen(file->path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file->file < 0)
        return error_input(error, "%s: cannot be %s as HDF5", file->path,
                           fresh ? "written" : "opened");
    if (!fresh && !is_the_same(file, about, error))
        return false;
    if (fresh && !write_about(file->file, about))
        return error_run(error, "%s: cannot be written", file->path);
    return open_tables(file, fresh, error);
}

struct capture_file *capture_file_open(const char *path, const struct capture_about *about,
                                       struct error *error)
{
    struct capture_file *file = calloc(1, sizeof *file);
    if (file == NULL || (file->path = strdup(path)) == NULL) {
        free(file);
        error_run(error, "capture: out of memory");
        return NULL;
    }
    file->file = -1;
    for (int t = 0; t < CAPTURE_TABLES; t++)
        file->tables[t] = file->types[t] = -1;
    if (open_file(file, about, error))
        return file;
    (void)capture_file_close(file, NULL);
    return NULL;
}

bool capture_file_close(struct capture_file *file, struct error *error)
{
    bool good = true;
    if (file == NULL)
        return true;
    for (int t = 0; t < CAPTURE_TABLES; t++) {
        if (file->tables[t] >= 0)
            good = H5Dclose(file->tables[t]) >= 0 && good;
        if (file->types[t] >= 0)
            (void)H5Tclose(file->types[t]);
    }
    if (file->file >= 0)
        good = H5Fclose(file->file) >= 0 && good;
    if (!good)
        error_run(error, "%s: could not be written to its end", file->path);
    free(file->path);
    free(file);
    return good;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static hsize_t count_rows(hid_t dataset)
{
    hsize_t rows = 0;
    const hid_t space = H5Dget_space(dataset);
    (void)H5Sget_simple_extent_dims(space, &rows, NULL);
    (void)H5Sclose(space);
    return rows;
}

static bool write_rows(hid_t dataset, hid_t type, hsize_t start, hsize_t count, const void *rows)
{
    const hsize_t size = start + count;
    if (H5Dset_extent(dataset, &size) < 0)
        return false;
    const hid_t space = H5Dget_space(dataset);
    const hid_t memory = H5Screate_simple(1, &count, NULL);
    const bool good = H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0 &&
                      H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, rows) >= 0;
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    return good;
}

bool capture_file_append(struct capture_file *file, enum capture_table table, const void *rows,
                         size_t count, struct error *error)
{
    if (count == 0)
        return true;
    if (write_rows(file->tables[table], file->types[table], count_rows(file->tables[table]), count,
                   rows) &&
        H5Fflush(file->file, H5F_SCOPE_LOCAL) >= 0)
        return true;
    return error_run(error, "%s: rows of /%s cannot be written", file->path, tables[table].name);
}

void *capture_file_rows(struct capture_file *file, enum capture_table table, size_t *count,
                        struct error *error)
{
    *count = (size_t)count_rows(file->tables[table]);
    if (*count == 0)
        return NULL;
    void *rows = calloc(*count, tables[table].size);
    if (rows != NULL &&
        H5Dread(file->tables[table], file->types[table], H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0)
        return rows;
    free(rows);
    error_run(error, "%s: rows of /%s cannot be read", file->path, tables[table].name);
    return NULL;
}
