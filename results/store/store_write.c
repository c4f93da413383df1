#include "results/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_version.h>
#include <zlib.h>

#include "results/store/seal.h"
#include "results/store/store_hdf5.h"
#include "sim/base/version.h"

/* Rows per block, the unit of a write call, and per chunk, the unit of compression. */
enum { DETAIL_BLOCK = 16384, DETAIL_CHUNK = 4096, SUMMARY_BLOCK = 64, SUMMARY_CHUNK = 64 };
enum { DETAIL_KEPT = 1 << 18 }; /* block of a run in real time */

bool store_fault(struct store *store, struct error *error, const char *what)
{
    store->broken = true;
    char reason[200];
    struct statvfs disk;
    int number = errno;
    hdf5_reason(reason, sizeof reason);
    /* HDF5 discards its error message when a later call succeeds. Then test for a full disk. */
    if (reason[0] == '\0' && statvfs(store->out.beside, &disk) == 0 && disk.f_bavail == 0)
        number = ENOSPC;
    if (reason[0] == '\0' && (number == ENOSPC || number == EFBIG || number == EDQUOT))
        (void)snprintf(reason, sizeof reason, "%s", strerror(number));
    return error_run(error, "%s: cannot write %s: %s", store->out.path, what,
                     reason[0] == '\0' ? "HDF5 failed" : reason);
}

static void store_free(struct store *store)
{
    free(store->row);
    arena_home_free(store->own);
    free(store);
}

/* Creates a group without timestamps, so that the bytes of the file do not depend on the clock. */
static hid_t group_create(hid_t parent, const char *name)
{
    HANDLE properties = H5Pcreate(H5P_GROUP_CREATE);
    (void)H5Pset_obj_track_times(properties, false);
    return H5Gcreate2(parent, name, H5P_DEFAULT, properties, H5P_DEFAULT);
}

static hid_t file_create(struct store *store, struct error *error)
{
    char reason[200];
    HANDLE access = hdf5_access();
    HANDLE creation = H5Pcreate(H5P_FILE_CREATE);
    (void)H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST);
    (void)H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    (void)H5Pset_obj_track_times(creation, false);
    hid_t file = H5Fcreate(store->out.beside, H5F_ACC_TRUNC, creation, access);
    hdf5_reason(reason, sizeof reason);
    if (file < 0 && !hdf5_explain_lock(store->out.path, reason, error))
        store_fault(store, error, "the file");
    return file;
}

static bool provenance_write(hid_t object)
{
    char hdf5[32];
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    (void)H5get_libversion(&major, &minor, &release);
    (void)snprintf(hdf5, sizeof hdf5, "%u.%u.%u", major, minor, release);
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return hdf5_set_text(object, "program", "esgsim") &&
           hdf5_set_text(object, "version", version_number()) &&
           hdf5_set_text(object, "commit", version_commit()) &&
           hdf5_set_text(object, "sources", version_sources()) &&
           hdf5_set_text(object, "compiler", version_compiler()) &&
           hdf5_set_text(object, "gsl_version", gsl_version) &&
           hdf5_set_text(object, "cjson_version", cJSON_Version()) &&
           hdf5_set_text(object, "hdf5_version", hdf5) &&
           hdf5_set_text(object, "zlib_version", zlibVersion()) &&
           hdf5_set_text(object, "host", host) && hdf5_set_text(object, "date", date);
}

static bool tables_begin(struct store *store, const struct layout *summary)
{
    const bool good =
        table_begin(&store->summary, store->file, "summary", NULL, summary, 1, SUMMARY_CHUNK,
                    SUMMARY_BLOCK) &&
        table_begin(&store->applications, store->file, "applications", &store->summary,
                    &layout_applications, 1, SUMMARY_CHUNK, SUMMARY_BLOCK);
    store->summary.bare = store->applications.bare = store->is_part;
    return good;
}

static bool store_open(struct store *store, struct error *error)
{
    store->file = file_create(store, error);
    if (store->file < 0)
        return false;
    store->runs = group_create(store->file, "runs");
    const bool good = store->runs >= 0 && (store->is_part || provenance_write(store->file)) &&
                      tables_begin(store, &layout_summary);
    return good || store_fault(store, error, "the tables");
}

/* Refuses to replace a file that no run of esgsim wrote: it may be an input. An empty file, and a
 * damaged HDF5 file, which may be a results file, can be replaced. */
static bool older_check(const char *path, struct error *error)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return true;
    HANDLE access = hdf5_access();
    HANDLE file = H5Fis_hdf5(path) > 0 ? H5Fopen(path, H5F_ACC_RDONLY, access) : H5I_INVALID_HID;
    struct arena *arena = arena_create();
    const char *program = file < 0 ? NULL : hdf5_get_text(arena, file, "program");
    const bool results = file < 0 ? H5Fis_hdf5(path) > 0
                                  : program != NULL && strcmp(program, "esgsim") == 0 &&
                                        H5Lexists(file, "runs", H5P_DEFAULT) > 0;
    arena_destroy(arena);
    return results || error_input(error,
                                  "%s: is there and is no results file of esgsim; name another "
                                  "results file, or move that one away",
                                  path);
}

static struct store *create(const char *path, bool is_part, struct error *error)
{
    hdf5_silence();
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        error_run(error, "%s: out of memory for the results file", path);
        return NULL;
    }
    store->is_part = is_part;
    store->file = store->runs = store->run = -1;
    if (!atomic_file_begin(&store->out, path, error)) {
        store_free(store);
        return NULL;
    }
    /* HDF5 seeks in its file, so the target must be a regular file. */
    const bool good =
        store->out.renames
            ? (is_part || older_check(path, error)) && store_open(store, error)
            : error_input(error, "%s: is not a regular file; name another results file", path);
    if (good)
        return store;
    store_abandon(store);
    return NULL;
}

struct store *store_create(const char *path, struct error *error)
{
    return create(path, false, error);
}

struct store *store_create_part(const char *path, struct error *error)
{
    return create(path, true, error);
}

bool store_set_swept(struct store *store, const struct swept_keys *keys, struct error *error)
{
    if (keys == NULL || keys->count == 0)
        return true;
    store->layout = swept_layout(keys);
    store->row = calloc(1, sizeof(struct summary_row) + keys->row_bytes);
    store->swept = keys;
    table_discard(&store->summary);
    table_discard(&store->applications);
    const bool good = store->row != NULL &&
                      hdf5_set_text(store->file, "swept_keys", swept_keys_names(keys)) &&
                      tables_begin(store, store->layout);
    return good || store_fault(store, error, "the keys of the sweep");
}

bool store_set_text(struct store *store, const char *name, const char *text, struct error *error)
{
    return text == NULL || text[0] == '\0' || hdf5_set_text(store->file, name, text) ||
           store_fault(store, error, name);
}

bool store_append_summary(struct store *store, const struct summary_row *row, const void *values,
                          const char *const *texts)
{
    if (store->swept == NULL)
        return table_append(&store->summary, row);
    memcpy(store->row, row, sizeof *row);
    if (texts != NULL)
        swept_row_fill(store->swept, texts, store->row + sizeof *row);
    else if (values != NULL)
        memcpy(store->row + sizeof *row, values, store->swept->row_bytes);
    return table_append(&store->summary, store->row);
}

static bool metadata_write(hid_t run, const struct run_metadata *metadata)
{
    bool good = provenance_write(run) && hdf5_set_u64(run, "position", metadata->position) &&
                hdf5_set_u64(run, "seed", metadata->seed) &&
                hdf5_set_u64(run, "warmup_requests", metadata->warmup_requests) &&
                hdf5_set_f64(run, "arrival_rate_per_s", metadata->arrival_rate_per_s) &&
                hdf5_set_f64(run, "offered_load", metadata->offered_load) &&
                hdf5_set_text(run, "record", experiment_record_names[metadata->record]);
#define TEXT_OF(field) good = good && hdf5_set_text(run, #field, metadata->field);
    RUN_METADATA(TEXT_OF)
#undef TEXT_OF
    good = good && (metadata->policy_text == NULL ||
                    hdf5_set_text(run, "policy_text", metadata->policy_text));
    return good && (metadata->models == NULL ||
                    (hdf5_set_text(run, "models", metadata->models) &&
                     hdf5_set_text(run, "models_evidence", metadata->models_evidence)));
}

static const struct {
    const char *name;
    const struct layout *layout;
    enum record_level level;
} detail_tables[DETAILS] = {
#define RECORD(row, table, event, level, title) {#table, &layout_##table, level},
#include "sim/base/records.def"
};

/* Begins the tables of the record level; those of trainings and of outages and what they lost only
 * if the run has any. A policy that reads a file, trees, is explained by its choices: "all" has
 * them, too. */
static bool details_begin(struct store *store, size_t stages)
{
    const struct run_metadata *metadata = store->metadata;
    bool good = true;
    for (size_t t = metadata->models == NULL ? DETAIL_requests : 0; good && t < DETAILS; t++) {
        const struct layout *layout = t == DETAIL_batches && !metadata->planned
                                          ? &layout_unplanned_batches
                                          : detail_tables[t].layout;
        const bool explains =
            t == DETAIL_choices && metadata->policy_text != NULL && metadata->record == RECORD_ALL;
        if ((explains || record_has((enum record_level)metadata->record, detail_tables[t].level)) &&
            ((t != DETAIL_outages && t != DETAIL_lost) || metadata->fails))
            good = table_begin(&store->details[t], store->run, detail_tables[t].name,
                               t <= DETAIL_requests ? NULL : &store->details[t - 1], layout,
                               t == DETAIL_requests ? stages : 1, DETAIL_CHUNK,
                               store->keeps_rows ? DETAIL_KEPT : DETAIL_BLOCK);
    }
    return good;
}

/* Appends a row to a table that is in the file only if it has rows. */
static bool late_append(struct store *store, struct table_writer *table, const char *name,
                        const struct layout *layout, const void *row)
{
    if (table->block == NULL) {
        if (!table_begin(table, store->file, name, &store->applications, layout, 1, SUMMARY_CHUNK,
                         SUMMARY_BLOCK))
            return false;
        table->bare = store->is_part;
    }
    return table_append(table, row);
}

bool store_append_training(struct store *store, const struct training_summary_row *row)
{
    return late_append(store, &store->training, "training", &layout_training, row);
}

bool store_append_missing(struct store *store, const struct missing_run *row, struct error *error)
{
    return late_append(store, &store->missing, "missing", &layout_missing, row) ||
           store_fault(store, error, "the missing runs");
}

bool store_begin_run(struct store *store, const struct run_metadata *metadata, struct error *error)
{
    if (H5Lexists(store->runs, metadata->hash, H5P_DEFAULT) > 0)
        return error_run(error,
                         "%s: run %s is there already: two runs have the same configuration and "
                         "seed; take one out",
                         store->out.path, metadata->hash);
    store->metadata = metadata;
    store->run = group_create(store->runs, metadata->hash);
    size_t stages = metadata->max_stages;
    stages = stages < 1 ? 1 : stages > RECORD_MAX_STAGES ? RECORD_MAX_STAGES : stages;
    if (store->run >= 0 && metadata_write(store->run, metadata) && details_begin(store, stages))
        return true;
    return store_fault(store, error, "a run");
}

bool store_begin_experiment(struct store *store, const struct experiment *experiment,
                            const struct policy *policy, const double *values, size_t position,
                            bool bounds, struct error *error)
{
    store->own = run_metadata_create(experiment, policy, values, bounds, NULL);
    store->own->position = position;
    return store_begin_run(store, store->own, error);
}

#define RECORD(row_type, table, event, level, title)                                               \
    static bool record_##event(void *context, const struct row_type *row, struct error *error)     \
    {                                                                                              \
        struct store *store = context;                                                             \
        return table_append(&store->details[DETAIL_##table], row) ||                               \
               store_fault(store, error, #table);                                                  \
    }
#include "sim/base/records.def"

struct recorder store_recorder(struct store *store)
{
    struct recorder recorder = {.context = store};
#define RECORD(row_type, table, event, level, title)                                               \
    if (store->details[DETAIL_##table].block != NULL)                                              \
        recorder.event = record_##event;
#include "sim/base/records.def"
    return recorder;
}

/* Write the names of a run into a row. */
#define TEXT_FIELD(type, name, length, help)                                                       \
    column_copy_text(row->name, sizeof row->name, metadata->name);
#define LATER_TEXT TEXT_FIELD
#define OWN_TEXT(type, name, length, help)
#define FIELD(row, type, name, unit, help)
#define LATER_FIELD FIELD
void store_name_summary(struct summary_row *row, const struct run_metadata *metadata)
{
    SUMMARY_COLUMNS
}

void store_name_application(struct application_row *row, const struct run_metadata *metadata)
{
    APPLICATION_COLUMNS
}

void store_name_training(struct training_summary_row *row, const struct run_metadata *metadata)
{
    TRAINING_COLUMNS
}
#undef TEXT_FIELD
#undef LATER_TEXT
#undef OWN_TEXT
#undef FIELD
#undef LATER_FIELD

static bool summary_append(struct store *store, const struct simulation_result *result)
{
    const struct run_metadata *metadata = store->metadata;
    struct summary_row row;
    memset(&row, 0, sizeof row);
    store_name_summary(&row, metadata);
    row.notices = (uint32_t)result->notices.count;
    row.seed = metadata->seed;
    row.warmup_requests = metadata->warmup_requests;
    row.exact_quantiles = result->exact_quantiles ? 1 : 0;
    row.measures = result->overall;
    row.run = result->run;
    return store_append_summary(store, &row, NULL, metadata->swept);
}

static bool applications_append(struct store *store, const struct simulation_result *result)
{
    const struct run_metadata *metadata = store->metadata;
    for (size_t a = 0; a < result->application_count; a++) {
        struct application_row row;
        char name[1024];
        memset(&row, 0, sizeof row);
        store_name_application(&row, metadata);
        lines_copy(metadata->applications, a, name, sizeof name);
        column_copy_text(row.application, sizeof row.application, name);
        row.seed = metadata->seed;
        row.measures = result->applications[a];
        if (!table_append(&store->applications, &row))
            return false;
    }
    return true;
}

static bool training_append(struct store *store, const struct simulation_result *result)
{
    struct training_summary_row row;
    if (result->training == NULL)
        return true;
    memset(&row, 0, sizeof row);
    store_name_training(&row, store->metadata);
    row.seed = store->metadata->seed;
    row.measures = *result->training;
    return store_append_training(store, &row);
}

static bool run_close(struct store *store)
{
    bool good = true;
    for (size_t t = 0; t < DETAILS; t++)
        good = table_close(&store->details[t]) && good;
    if (store->run >= 0)
        good = H5Gclose(store->run) >= 0 && good;
    store->run = -1;
    arena_home_free(store->own);
    store->metadata = store->own = NULL;
    return good;
}

static bool notices_write(struct store *store, const struct notices *notices)
{
    struct arena *arena = arena_create();
    char *lines = arena_text(arena, "%s", ""), *kinds = arena_text(arena, "%s", "");
    for (size_t n = 0; n < notices->count; n++) {
        const struct notice *notice = &notices->rows[n];
        const char *begin = n == 0 ? "" : "\n";
        arena_append(arena, &lines, "%s%s: %s", begin, notice->warning ? "warning" : "note",
                     notice->text);
        arena_append(arena, &kinds, "%s%s", begin, notice_kinds[notice->kind].name);
    }
    const bool good = hdf5_set_text(store->run, "notices", lines) &&
                      hdf5_set_text(store->run, "notice_kinds", kinds);
    arena_destroy(arena);
    return good;
}

bool store_end_run(struct store *store, const struct simulation_result *result, struct error *error)
{
    bool good = summary_append(store, result) && applications_append(store, result) &&
                training_append(store, result) &&
                hdf5_set_f64(store->run, "wall_s", result->wall_s) &&
                notices_write(store, &result->notices);
    good = run_close(store) && good;
    if (!good)
        return store_fault(store, error, "a run's figures");
    store->run_count++;
    return true;
}

bool sweep_metadata_equal(const struct sweep_metadata *one, const struct sweep_metadata *other)
{
    return strcmp(one->identity, other->identity) == 0 && one->shard == other->shard &&
           one->shards == other->shards && one->runs == other->runs;
}

bool store_set_sweep(struct store *store, const struct sweep_metadata *metadata,
                     struct error *error)
{
    return (hdf5_set_text(store->file, "sweep", metadata->identity) &&
            hdf5_set_u64(store->file, "shard", metadata->shard) &&
            hdf5_set_u64(store->file, "shards", metadata->shards) &&
            hdf5_set_u64(store->file, "sweep_runs", metadata->runs) &&
            hdf5_set_u64(store->file, "missing_runs", metadata->missing)) ||
           store_fault(store, error, "the sweep's description");
}

bool store_drop_run(struct store *store, struct error *error)
{
    char hash[TEXT_HASH + 1];
    if (store->metadata == NULL)
        return true;
    column_copy_text(hash, sizeof hash, store->metadata->hash);
    (void)run_close(store);
    return H5Ldelete(store->runs, hash, H5P_DEFAULT) >= 0 || store_fault(store, error, "the file");
}

void store_keep_rows(struct store *store)
{
    store->keeps_rows = true;
}

bool store_set_execution(struct store *store, const struct execution *execution,
                         struct error *error)
{
    const hid_t run = store->run;
    const char *details = execution->details != NULL ? execution->details : "{}";
    struct table_writer table = {.group = run};
    bool good = execution->rows == NULL || table_begin(&table, run, "replay", NULL, &layout_replay,
                                                       1, DETAIL_CHUNK, DETAIL_BLOCK);
    for (size_t i = 0; good && execution->rows != NULL && i < execution->row_count; i++)
        good = table_append(&table, &execution->rows[i]);
    good = (execution->rows == NULL || table_close(&table)) && good;
    return (good && hdf5_set_text(run, "replay_backend", execution->backend) &&
            hdf5_set_text(run, "replay_device", execution->device) &&
            hdf5_set_text(run, "replay_driver", execution->driver) &&
            hdf5_set_text(run, "replay_details", details) &&
            hdf5_set_u64(run, "replay_gpu", execution->gpu) &&
            hdf5_set_u64(run, "replay_starts", execution->starts) &&
            hdf5_set_f64(run, "late_us_mean", execution->late_us_mean) &&
            hdf5_set_f64(run, "late_us_p99", execution->late_us_p99) &&
            hdf5_set_f64(run, "late_us_max", execution->late_us_max) &&
            hdf5_set_f64(run, "host_ms", execution->host_ms) &&
            hdf5_set_f64(run, "turnaround_ms", 0)) ||
           store_fault(store, error, "where a replay executed");
}

bool store_is_broken(const struct store *store)
{
    return store->broken;
}

size_t store_run_count(const struct store *store)
{
    return store->run_count;
}

/* Closes all tables and handles. False: a write failed. */
static bool store_close(struct store *store)
{
    bool good = run_close(store);
    good = table_close(&store->summary) && good;
    good = table_close(&store->applications) && good;
    good = table_close(&store->training) && good;
    good = table_close(&store->missing) && good;
    if (store->runs >= 0)
        good = H5Gclose(store->runs) >= 0 && good;
    if (store->file >= 0)
        good = H5Fclose(store->file) >= 0 && good;
    store->file = store->runs = -1;
    return good;
}

bool store_finish(struct store *store, struct error *error)
{
    /* An unfinished run is not a result, so its group is deleted. */
    (void)store_drop_run(store, NULL);
    bool good = store_close(store) || store_fault(store, error, "the file");
    struct stat status;
    /* Release the space that store_reserve allocated after the end of the file. */
    if (good && stat(store->out.beside, &status) == 0 &&
        truncate(store->out.beside, status.st_size) != 0)
        good = store_fault(store, error, "the file's end");
    good = good && (!store->is_part || seal_put(store->out.beside, error));
    good = atomic_file_end(&store->out, good, error);
    store_free(store);
    return good;
}

void store_abandon(struct store *store)
{
    if (store == NULL)
        return;
    (void)store_close(store);
    (void)atomic_file_end(&store->out, false, NULL);
    store_free(store);
}
