#include "results/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "results/store/store_hdf5.h"
#include "sim/base/utf8.h"

static bool file_check(const char *path, struct error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return error_input(error, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_input(error, "%s: is not a regular file; give a results file", path);
    if (H5Fis_hdf5(path) <= 0)
        return error_input(error,
                           "%s: is not an HDF5 file; give a results file that esgsim run or sweep "
                           "wrote",
                           path);
    return true;
}

hid_t store_open_read(const char *path, struct error *error)
{
    if (!file_check(path, error))
        return -1;
    HANDLE access = hdf5_access();
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    char reason[200];
    hdf5_reason(reason, sizeof reason);
    if (file < 0 && !hdf5_explain_lock(path, reason, error))
        error_input(error, "%s: cannot be opened, it is cut short or damaged (%s); run it again",
                    path, reason);
    return file;
}

hid_t store_open_run(hid_t file, const char *hash)
{
    char name[sizeof "runs/" + TEXT_HASH];
    (void)snprintf(name, sizeof name, "runs/%s", hash);
    return H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Gopen2(file, name, H5P_DEFAULT) : -1;
}

char *store_run_text(struct arena *arena, hid_t file, const char *hash, const char *name)
{
    HANDLE run = store_open_run(file, hash);
    return run < 0 ? NULL : hdf5_get_text(arena, run, name);
}

static int compare_runs(const void *a, const void *b)
{
    const struct summary_row *const *left = a;
    const struct summary_row *const *right = b;
    return strcmp((*left)->hash, (*right)->hash);
}

bool results_link(struct results *results, struct error *error)
{
    const size_t count = results->application_count;
    const struct summary_row **sorted =
        arena_allocate(results->arena, results->run_count, sizeof *sorted);
    results->first_row =
        arena_allocate(results->arena, results->run_count, sizeof *results->first_row);
    results->next_row = arena_allocate(results->arena, count, sizeof *results->next_row);
    for (size_t i = 0; i < results->run_count; i++) {
        sorted[i] = &results->runs[i];
        results->first_row[i] = RESULTS_NONE;
    }
    qsort(sorted, results->run_count, sizeof *sorted, compare_runs);
    bool good = true;
    for (size_t i = 1; good && i < results->run_count; i++)
        if (strcmp(sorted[i - 1]->hash, sorted[i]->hash) == 0)
            good = error_input(error, "%s: /summary holds run %s twice; each run belongs in once",
                               results->path, sorted[i]->hash);
    for (size_t i = 0; good && i < count; i++) {
        struct summary_row wanted;
        memcpy(wanted.hash, results->applications[i].hash, sizeof wanted.hash);
        const struct summary_row *key = &wanted, **found = bsearch(&key, sorted, results->run_count,
                                                                   sizeof *sorted, compare_runs);
        if (found == NULL)
            good = error_input(error,
                               "%s: /applications row %zu is of run '%s', which /summary "
                               "does not hold",
                               results->path, i, wanted.hash);
        else
            results->next_row[i] = (size_t)(*found - results->runs);
    }
    for (size_t i = good ? count : 0; i-- > 0;) { /* until here its run */
        size_t *first = &results->first_row[results->next_row[i]];
        results->next_row[i] = *first;
        *first = i;
    }
    arena_release(results->arena, sorted);
    return good;
}

size_t results_first_row(const struct results *results, size_t run)
{
    return results->application_count == 0 ? RESULTS_NONE : results->first_row[run];
}

const struct measures *results_measures(const struct results *results, size_t run,
                                        const char *application)
{
    if (application == NULL)
        return &results->runs[run].measures;
    for (size_t row = results_first_row(results, run); row != RESULTS_NONE;
         row = results->next_row[row])
        if (strcmp(results->applications[row].application, application) == 0)
            return &results->applications[row].measures;
    return NULL;
}

const struct training_summary_row *results_training(const struct results *results, size_t run)
{
    for (size_t t = 0; t < results->training_count; t++)
        if (strcmp(results->training[t].hash, results->runs[run].hash) == 0)
            return &results->training[t];
    return NULL;
}

static bool tables_read(hid_t file, struct results *results, struct error *error)
{
    void *rows[4] = {NULL};
    const struct {
        const char *name;
        const struct layout *layout;
        size_t *count;
        bool always; /* it is in every file */
    } tables[] = {
        {"summary", &layout_summary, &results->run_count, true},
        {"applications", &layout_applications, &results->application_count, true},
        {"training", &layout_training, &results->training_count, false},
        {"missing", &layout_missing, &results->missing_count, false},
    };
    for (size_t i = 0; i < 4; i++)
        if ((tables[i].always || H5Lexists(file, tables[i].name, H5P_DEFAULT) > 0) &&
            !table_read(results->arena, file, results->path, tables[i].name, tables[i].layout,
                        &rows[i], tables[i].count, error))
            return false;
    results->runs = rows[0];
    results->applications = rows[1];
    results->training = rows[2];
    results->missing = rows[3];
    return results_link(results, error);
}

/* Reads the columns of the swept keys. Earlier versions wrote none. */
static bool swept_read(hid_t file, struct results *results, struct error *error)
{
    const char *names = hdf5_get_text(results->arena, file, "swept_keys");
    results->swept =
        table_find_swept(file, results->path, "summary", names == NULL ? "" : names, error);
    if (results->swept == NULL || results->swept->count == 0)
        return results->swept != NULL;
    const struct layout layout = {.columns = results->swept->columns,
                                  .count = results->swept->count,
                                  .row_bytes = results->swept->row_bytes,
                                  .writer = layout_summary.writer};
    void *values = NULL;
    size_t count = 0;
    const bool good =
        table_read(results->arena, file, results->path, "summary", &layout, &values, &count, error);
    results->values = values;
    return good;
}

size_t results_key_count(const struct results *results)
{
    return results->swept == NULL ? 0 : results->swept->count;
}

size_t results_key_find(const struct results *results, const char *name)
{
    size_t k = 0;
    while (k < results_key_count(results) && strcmp(results->swept->columns[k].name, name) != 0)
        k++;
    return k;
}

const void *results_values(const struct results *results, size_t run)
{
    return results->values == NULL ? NULL : results->values + run * results->swept->row_bytes;
}

static void sweep_read(struct arena *arena, hid_t file, struct sweep_metadata *metadata)
{
    struct sweep_metadata read = {.shards = 0};
    const char *identity = hdf5_get_text(arena, file, "sweep");
    if (identity != NULL && strlen(identity) < sizeof read.identity &&
        hdf5_get_u64(file, "shard", &read.shard) && hdf5_get_u64(file, "shards", &read.shards) &&
        hdf5_get_u64(file, "sweep_runs", &read.runs) &&
        hdf5_get_u64(file, "missing_runs", &read.missing)) {
        memcpy(read.identity, identity, strlen(identity) + 1);
        *metadata = read;
    }
}

/* Reads the notices of a run. Checks their text, because reports print each line unchanged. */
static bool run_notices_read(struct arena *arena, hid_t file, const char *hash,
                             struct notices *notices)
{
    char *lines = store_run_text(arena, file, hash, "notices");
    char *kinds = store_run_text(arena, file, hash, "notice_kinds"); /* NULL: of earlier versions */
    bool printable = lines != NULL;
    for (char *line, *left = lines, *names = kinds;
         printable && (line = strsep(&left, "\n")) != NULL;) {
        const char *mark = strstr(line, ": "), *words = mark == NULL ? line : mark + 2;
        const bool warning = strncmp(line, "warning: ", strlen("warning: ")) == 0;
        notices_add(notices, notice_kind_find(strsep(&names, "\n"), warning), "%s", words);
        printable = utf8_is_name(words);
    }
    return printable;
}

static bool notices_read(hid_t file, struct results *results, struct error *error)
{
    results->notices = arena_allocate(results->arena, results->run_count, sizeof *results->notices);
    for (size_t run = 0; run < results->run_count; run++)
        if (results->runs[run].notices > 0 &&
            !run_notices_read(results->arena, file, results->runs[run].hash,
                              &results->notices[run]))
            return error_input(error,
                               "%s: attribute 'notices' of /runs/%s is not there or no text; run "
                               "it again",
                               results->path, results->runs[run].hash);
    return true;
}

/* Checks the texts that every report prints. */
static bool origin_check(const struct results *results, struct error *error)
{
    return ((results->version == NULL || utf8_is_name(results->version)) &&
            (results->sources == NULL || utf8_is_name(results->sources)) &&
            (results->commit == NULL || utf8_is_name(results->commit)) &&
            (results->command == NULL || utf8_is_name(results->command))) ||
           error_input(error,
                       "%s: attribute 'version', 'commit' or 'sweep_command' holds control "
                       "characters; the file is damaged or was not written by esgsim",
                       results->path);
}

struct results *results_load(const char *path, struct error *error)
{
    hdf5_silence();
    HANDLE file = store_open_read(path, error);
    if (file < 0)
        return NULL;
    struct results *results = arena_home(sizeof *results);
    struct arena *arena = results->arena;
    results->path = arena_text(arena, "%s", path);
    results->version = hdf5_get_text(arena, file, "version");
    results->sources = hdf5_get_text(arena, file, "sources");
    results->commit = hdf5_get_text(arena, file, "commit");
    results->command = hdf5_get_text(arena, file, "sweep_command");
    results->show = hdf5_get_text(arena, file, "show");
    sweep_read(arena, file, &results->sweep);
    const bool good = origin_check(results, error) && tables_read(file, results, error) &&
                      swept_read(file, results, error) && notices_read(file, results, error);
    if (good)
        return results;
    results_free(results);
    return NULL;
}

void results_free(struct results *results)
{
    if (results == NULL)
        return;
    for (size_t run = 0; results->notices != NULL && run < results->run_count; run++)
        notices_clear(&results->notices[run]);
    arena_home_free(results->swept);
    arena_destroy(results->arena);
}
