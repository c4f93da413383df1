#include "results/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "results/store_hdf5.h"

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
    hid_t file = file_check(path, error) ? H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) : -2;
    if (file == -1) {
        char reason[200];
        hdf5_reason(reason, sizeof reason);
        error_input(error, "%s: cannot be opened, it is cut short or damaged (%s); run it again",
                    path, reason);
    }
    return file;
}

static int compare_runs(const void *a, const void *b)
{
    const struct summary_row *const *left = a;
    const struct summary_row *const *right = b;
    return strcmp((*left)->hash, (*right)->hash);
}

/* Every run once, every application row of a run that is there. */
static bool results_check(const struct results *results, struct error *error)
{
    const struct summary_row **sorted = calloc(results->run_count + 1, sizeof *sorted);
    if (sorted == NULL)
        return error_run(error, "%s: out of memory for %zu runs", results->path,
                         results->run_count);
    for (size_t i = 0; i < results->run_count; i++)
        sorted[i] = &results->runs[i];
    qsort(sorted, results->run_count, sizeof *sorted, compare_runs);
    bool good = true;
    for (size_t i = 1; good && i < results->run_count; i++)
        if (strcmp(sorted[i - 1]->hash, sorted[i]->hash) == 0)
            good = error_input(error, "%s: /summary holds run %s twice; each run belongs in once",
                               results->path, sorted[i]->hash);
    for (size_t i = 0; good && i < results->application_count; i++) {
        struct summary_row wanted;
        memcpy(wanted.hash, results->applications[i].hash, sizeof wanted.hash);
        const struct summary_row *key = &wanted;
        if (bsearch(&key, sorted, results->run_count, sizeof *sorted, compare_runs) == NULL)
            good = error_input(error,
                               "%s: /applications row %zu is of run '%s', which /summary "
                               "does not hold",
                               results->path, i, wanted.hash);
    }
    free(sorted);
    return good;
}

static bool tables_read(hid_t file, struct results *results, struct error *error)
{
    void *runs = NULL;
    void *applications = NULL;
    const char *path = results->path;
    bool good =
        table_read(file, path, "summary", &layout_summary, &runs, &results->run_count, error) &&
        table_read(file, path, "applications", &layout_applications, &applications,
                   &results->application_count, error);
    results->runs = runs;
    results->applications = applications;
    return good && results_check(results, error);
}

static void sweep_read(hid_t file, struct sweep_facts *facts)
{
    struct sweep_facts read = {.shards = 0};
    char *identity = hdf5_get_text(file, "sweep");
    if (identity != NULL && strlen(identity) < sizeof read.identity &&
        hdf5_get_u64(file, "shard", &read.shard) && hdf5_get_u64(file, "shards", &read.shards) &&
        hdf5_get_u64(file, "sweep_runs", &read.runs) &&
        hdf5_get_u64(file, "missing_runs", &read.missing)) {
        memcpy(read.identity, identity, strlen(identity) + 1);
        *facts = read;
    }
    free(identity);
}

struct results *results_load(const char *path, struct error *error)
{
    hdf5_silence();
    hid_t file = store_open_read(path, error);
    if (file < 0)
        return NULL;
    bool good = false;
    struct results *results = calloc(1, sizeof *results);
    if (results != NULL && (results->path = strdup(path)) != NULL) {
        results->version = hdf5_get_text(file, "version");
        results->commit = hdf5_get_text(file, "commit");
        sweep_read(file, &results->sweep);
        good = tables_read(file, results, error);
    } else {
        error_run(error, "%s: out of memory", path);
    }
    (void)H5Fclose(file);
    if (good)
        return results;
    results_free(results);
    return NULL;
}

void results_free(struct results *results)
{
    if (results == NULL)
        return;
    free(results->path);
    free(results->version);
    free(results->commit);
    free(results->runs);
    free(results->applications);
    free(results);
}
