#include "results/store/run_details.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/store/store_hdf5.h"

struct run_details {
    hid_t file;
    char *path;
};

/* A subset of layout_requests. HDF5 reads members by name and skips the others. */
#define REQUEST(type, field)                                                                       \
    {                                                                                              \
#field, "", "", type, offsetof(struct detail_request, field), 1, false                     \
    }
static const struct column request_part[] = {
    REQUEST(COLUMN_U8, measured),     REQUEST(COLUMN_U8, dropped),  REQUEST(COLUMN_I64, arrival_ns),
    REQUEST(COLUMN_I64, finish_ns),   REQUEST(COLUMN_I64, slo_ns),  REQUEST(COLUMN_I64, queue_ns),
    REQUEST(COLUMN_I64, transfer_ns), REQUEST(COLUMN_I64, cold_ns), REQUEST(COLUMN_I64, exec_ns),
};
static const struct layout layout_request_part = {
    "Requests", request_part, sizeof request_part / sizeof request_part[0],
    sizeof(struct detail_request), "esgsim run or sweep"};

struct run_details *run_details_open(const char *path, struct error *error)
{
    hdf5_silence();
    struct run_details *details = calloc(1, sizeof *details);
    if (details == NULL || (details->path = strdup(path)) == NULL) {
        free(details);
        (void)error_run(error, "%s: out of memory", path);
        return NULL;
    }
    details->file = store_open_read(path, error);
    if (details->file >= 0)
        return details;
    free(details->path);
    free(details);
    return NULL;
}

void run_details_close(struct run_details *details)
{
    if (details == NULL)
        return;
    (void)H5Fclose(details->file);
    free(details->path);
    free(details);
}

static hid_t run_open(const struct run_details *details, const char *hash)
{
    char group[TEXT_HASH + 16];
    (void)snprintf(group, sizeof group, "runs/%.*s", TEXT_HASH, hash);
    if (H5Lexists(details->file, "runs", H5P_DEFAULT) <= 0 ||
        H5Lexists(details->file, group, H5P_DEFAULT) <= 0)
        return -1;
    return H5Gopen2(details->file, group, H5P_DEFAULT);
}

char *run_details_text(const struct run_details *details, const char *hash, const char *name)
{
    hid_t run = run_open(details, hash);
    if (run < 0)
        return NULL;
    char *text = hdf5_get_text(run, name);
    (void)H5Gclose(run);
    return text;
}

double run_details_number(const struct run_details *details, const char *hash, const char *name)
{
    double value = NAN;
    hid_t run = run_open(details, hash);
    if (run < 0)
        return NAN;
    if (!hdf5_get_f64(run, name, &value))
        value = NAN;
    (void)H5Gclose(run);
    return value;
}

bool run_details_has(const struct run_details *details, const char *hash, const char *table)
{
    hid_t run = run_open(details, hash);
    if (run < 0)
        return false;
    bool has = false;
    hid_t dataset = H5Lexists(run, table, H5P_DEFAULT) > 0 ? H5Dopen2(run, table, H5P_DEFAULT) : -1;
    if (dataset >= 0) {
        hid_t space = H5Dget_space(dataset);
        has = space >= 0 && H5Sget_simple_extent_npoints(space) > 0;
        if (space >= 0)
            (void)H5Sclose(space);
        (void)H5Dclose(dataset);
    }
    (void)H5Gclose(run);
    return has;
}

static bool rows_of(const struct run_details *details, const char *hash, const char *table,
                    const struct layout *layout, void **rows, size_t *count, struct error *error)
{
    char name[TEXT_HASH + 32];
    *rows = NULL;
    *count = 0;
    if (!run_details_has(details, hash, table))
        return error_input(error, "%s: run %s has no %s; run it with \"record\" set to all",
                           details->path, hash, table);
    (void)snprintf(name, sizeof name, "runs/%.*s/%s", TEXT_HASH, hash, table);
    return table_read(details->file, details->path, name, layout, rows, count, error);
}

#define ROWS_OF(table, layout, row_type)                                                           \
    bool run_details_##table(const struct run_details *details, const char *hash,                  \
                             struct row_type **rows, size_t *count, struct error *error)           \
    {                                                                                              \
        void *read = NULL;                                                                         \
        const bool good = rows_of(details, hash, #table, &layout, &read, count, error);            \
        *rows = read;                                                                              \
        return good;                                                                               \
    }
ROWS_OF(requests, layout_request_part, detail_request)
ROWS_OF(batches, layout_batches, batch_row)
ROWS_OF(trainings, layout_trainings, training_result_row)
ROWS_OF(timeline, layout_timeline, timeline_row)
