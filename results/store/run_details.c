#include "results/store/run_details.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/store/store_hdf5.h"
#include "sim/base/arena.h"

struct run_details {
    struct arena *arena;
    hid_t file;
    char *path;
};

/* A subset of layout_requests. HDF5 reads members by name and skips the others. */
#define PART(type, field)                                                                          \
    {                                                                                              \
#field, "", "", type, offsetof(struct detail_request, field), 1, false                     \
    }
static const struct column request_part[] = {
    PART(COLUMN_U8, measured),     PART(COLUMN_U8, dropped),  PART(COLUMN_I64, arrival_ns),
    PART(COLUMN_I64, finish_ns),   PART(COLUMN_I64, slo_ns),  PART(COLUMN_I64, queue_ns),
    PART(COLUMN_I64, transfer_ns), PART(COLUMN_I64, cold_ns), PART(COLUMN_I64, exec_ns),
};
static const struct layout layout_request_part = {
    "Requests", request_part, sizeof request_part / sizeof request_part[0],
    sizeof(struct detail_request), "esgsim run or sweep"};

struct run_details *run_details_open(const char *path, struct error *error)
{
    hdf5_silence();
    struct run_details *details = arena_home(sizeof *details);
    details->path = arena_text(details->arena, "%s", path);
    details->file = store_open_read(path, error);
    if (details->file >= 0)
        return details;
    arena_destroy(details->arena);
    return NULL;
}

void run_details_close(struct run_details *details)
{
    if (details == NULL)
        return;
    (void)H5Fclose(details->file);
    arena_destroy(details->arena);
}

const char *run_details_text(const struct run_details *details, const char *hash, const char *name)
{
    return store_run_text(details->arena, details->file, hash, name);
}

double run_details_number(const struct run_details *details, const char *hash, const char *name)
{
    double value = NAN;
    HANDLE run = store_open_run(details->file, hash);
    return run >= 0 && hdf5_get_f64(run, name, &value) ? value : NAN;
}

bool run_details_has(const struct run_details *details, const char *hash, const char *table)
{
    HANDLE run = store_open_run(details->file, hash);
    HANDLE dataset = run < 0 ? -1 : hdf5_open_dataset(run, table);
    HANDLE space = dataset < 0 ? -1 : H5Dget_space(dataset);
    return space >= 0 && H5Sget_simple_extent_npoints(space) > 0;
}

static bool rows_of(struct arena *arena, const struct run_details *details, const char *hash,
                    const char *table, const struct layout *layout, void **rows, size_t *count,
                    struct error *error)
{
    char name[TEXT_HASH + 32];
    *rows = NULL;
    *count = 0;
    if (!run_details_has(details, hash, table))
        return error_input(error, "%s: run %s has no %s; run it with \"record\" set to %s",
                           details->path, hash, table,
                           strcmp(table, "choices") == 0 ? table : "all");
    (void)snprintf(name, sizeof name, "runs/%.*s/%s", TEXT_HASH, hash, table);
    return table_read(arena, details->file, details->path, name, layout, rows, count, error);
}

#define ROWS_OF(table, layout, row_type)                                                           \
    DETAILS_OF(table, row_type)                                                                    \
    {                                                                                              \
        void *read = NULL;                                                                         \
        const bool good = rows_of(arena, details, hash, #table, &layout, &read, count, error);     \
        *rows = read;                                                                              \
        return good;                                                                               \
    }
ROWS_OF(requests, layout_request_part, detail_request)
ROWS_OF(batches, layout_batches, batch_row)
ROWS_OF(trainings, layout_trainings, training_result_row)
ROWS_OF(timeline, layout_timeline, timeline_row)
ROWS_OF(choices, layout_choices, choice_row)

/* ---- All rows of one run --------------------------------------------------------------------- */

/* Reads the texts, and checks that the run was recorded with "record": "all". */
static bool record_open(const struct run_details *details, const char *hash, bool of_trainings,
                        struct run_record *record, struct error *error)
{
    const char *path = details->path;
    HANDLE run = store_open_run(details->file, hash);
    if (run < 0)
        return error_input(error, "%s: has no group /runs/%s that can be read; run it again", path,
                           hash);
    const char *level = hdf5_get_text(record->arena, run, "record");
    record->configuration = hdf5_get_text(record->arena, run, "configuration");
    record->models = hdf5_get_text(record->arena, run, "models");
    record->policy_text = hdf5_get_text(record->arena, run, "policy_text");
    if (of_trainings && record->models == NULL)
        return error_input(error, "%s: run %s has no trainings", path, hash);
    if (level == NULL || strcmp(level, "all") != 0)
        return error_input(error,
                           "%s: run %s was recorded as \"%s\", without its batches and decisions; "
                           "run it again with --set record=all",
                           path, hash, level == NULL ? "" : level);
    return record->configuration != NULL ||
           error_input(error, "%s: /runs/%s has no attribute 'configuration'; run it again", path,
                       hash);
}

static bool record_read(const struct run_details *details, const char *hash, bool of_trainings,
                        struct run_record *record, struct error *error)
{
    /* Skip `noise`, the last column: its length varies with the longest application. */
    struct layout requests = layout_requests;
    requests.count--;
    const struct {
        const char *name;
        const struct layout *layout;
        bool of_trainings, later; /* later: not in every file */
        size_t rows, count;       /* where the record has them */
    } tables[] = {
#define ROWS(table, layout, of_trainings, later, count)                                            \
    {#table,                                                                                       \
     layout,                                                                                       \
     of_trainings,                                                                                 \
     later,                                                                                        \
     offsetof(struct run_record, table),                                                           \
     offsetof(struct run_record, count)}
        ROWS(requests, &requests, false, false, request_count),
        ROWS(batches, &layout_batches, false, false, batch_count),
        ROWS(jobs, &layout_jobs, false, false, job_count),
        ROWS(decisions, &layout_decisions, false, false, decision_count),
        ROWS(trainings, &layout_trainings, true, false, training_count),
        ROWS(leases, &layout_leases, true, false, lease_count),
        ROWS(parts, &layout_parts, false, false, part_count),
        ROWS(lost, &layout_lost, false, true, lost_count),
        ROWS(containers, &layout_containers, false, true, container_count),
        ROWS(choices, &layout_choices, false, true, choice_count),
        ROWS(lease_gpus, &layout_lease_gpus, true, true, lease_gpu_count),
    };
    bool good = true;
    for (size_t i = 0; good && i < sizeof tables / sizeof *tables; i++) {
        char name[64];
        void *rows = NULL;
        size_t count = 0;
        (void)snprintf(name, sizeof name, "runs/%s/%s", hash, tables[i].name);
        if (tables[i].of_trainings == of_trainings &&
            (!tables[i].later || run_details_has(details, hash, tables[i].name)))
            good = table_read(record->arena, details->file, details->path, name, tables[i].layout,
                              &rows, &count, error);
        memcpy((char *)record + tables[i].rows, &rows, sizeof rows);
        memcpy((char *)record + tables[i].count, &count, sizeof count);
    }
    return good;
}

struct run_record *run_record_load(const char *path, const char *hash, bool of_trainings,
                                   struct error *error)
{
    struct run_details *details = run_details_open(path, error);
    if (details == NULL)
        return NULL;
    struct run_record *record = arena_home(sizeof *record);
    const bool good = record_open(details, hash, of_trainings, record, error) &&
                      record_read(details, hash, of_trainings, record, error);
    run_details_close(details);
    if (good)
        return record;
    arena_destroy(record->arena);
    return NULL;
}
