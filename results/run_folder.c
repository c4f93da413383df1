#include "results/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/seal.h"

/* Parts open at once. A part is needed for as long as its workers' runs are next in the sweep. */
enum { PARTS_OPEN = 64 };

static const char prefix[] = "part-", suffix[] = ".h5";

struct run_folder {
    char *path;
    struct sweep_facts facts;
    size_t *parts;  /* per run: 1 + the first run of the part that holds it; 0: none */
    bool *reserved; /* per part, by its first run: room for it in the results file */
    size_t count;
    size_t damaged;
    struct open_part {
        struct run_source *source; /* NULL: free */
        size_t part;
    } open[PARTS_OPEN];
    size_t replace; /* the open part to close next */
};

/* ---- Names ----------------------------------------------------------------------------------- */

/* To be freed; NULL without memory. */
static char *part_path(const struct run_folder *folder, size_t part)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s%zu%s", folder->path, prefix, part, suffix) < 0 ? NULL : path;
}

/* Whether `name` is a part's, and which. */
static bool part_of_name(const char *name, size_t *part)
{
    char again[64], *end = NULL;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    *part = strtoull(name + sizeof prefix - 1, &end, 10);
    (void)snprintf(again, sizeof again, "%s%zu%s", prefix, *part, suffix);
    return strcmp(name, again) == 0;
}

/* Whether `name` is that of a part's lock or temporary file (traces/atomic_file.h). */
static bool is_unfinished(const char *name)
{
    const size_t length = strlen(name);
    static const char lock[] = ".lock";
    if (name[0] == '.')
        return strncmp(name + 1, prefix, sizeof prefix - 1) == 0 && length > sizeof lock &&
               strcmp(name + length - (sizeof lock - 1), lock) == 0;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && strstr(name, ".partial-") != NULL;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* What the parts in a folder are. */
struct inventory {
    size_t *damaged;
    size_t damaged_count;
    bool foreign; /* one is of another sweep */
};

static bool is_of_sweep(const struct run_folder *folder, const struct sweep_facts *facts)
{
    return strcmp(facts->identity, folder->facts.identity) == 0 &&
           facts->shard == folder->facts.shard && facts->shards == folder->facts.shards &&
           facts->runs == folder->facts.runs;
}

/* Notes the runs of a whole part; of two parts with the same run the one with the lower number
 * counts. */
static void runs_note(struct run_folder *folder, size_t part, const struct run_source *source)
{
    for (size_t row = 0; row < run_source_results(source)->run_count; row++) {
        const uint64_t run = run_source_position(source, row);
        if (run >= folder->facts.runs)
            continue;
        folder->count += folder->parts[run] == 0;
        if (folder->parts[run] == 0 || folder->parts[run] > part + 1)
            folder->parts[run] = part + 1;
    }
}

static bool part_scan(struct run_folder *folder, size_t part, struct inventory *inventory,
                      struct error *error)
{
    char *path = part_path(folder, part);
    if (path == NULL)
        return error_run(error, "%s: out of memory", folder->path);
    struct run_source *source = seal_is_whole(path) ? run_source_open(path, NULL) : NULL;
    free(path);
    if (source == NULL) {
        size_t *grown = realloc(inventory->damaged,
                                (inventory->damaged_count + 1) * sizeof *inventory->damaged);
        if (grown == NULL)
            return error_run(error, "%s: out of memory", folder->path);
        inventory->damaged = grown;
        grown[inventory->damaged_count++] = part;
        return true;
    }
    if (part < folder->facts.runs && is_of_sweep(folder, &run_source_results(source)->sweep))
        runs_note(folder, part, source);
    else
        inventory->foreign = true;
    run_source_close(source);
    return true;
}

/* Takes stock of all parts. */
static bool folder_scan(struct run_folder *folder, struct inventory *inventory, struct error *error)
{
    DIR *listing = opendir(folder->path);
    if (listing == NULL)
        return error_input(error, "%s: cannot be read: %s", folder->path, strerror(errno));
    bool good = true;
    size_t part = 0;
    for (const struct dirent *file; good && (file = readdir(listing)) != NULL;)
        if (part_of_name(file->d_name, &part))
            good = part_scan(folder, part, inventory, error);
    (void)closedir(listing);
    return good;
}

static bool runs_refuse(const struct run_folder *folder, bool foreign, struct error *error)
{
    if (foreign)
        return error_input(error,
                           "%s: holds finished runs of another sweep, shard or version of esgsim; "
                           "give another --out, or discard them with --restart (--resume would go "
                           "on with that sweep alone)",
                           folder->path);
    return error_input(error,
                       "%s: holds %zu finished runs of this sweep; go on with --resume, or discard "
                       "them with --restart",
                       folder->path, folder->count);
}

/* Removes unfinished files, and the parts as well if `parts`. */
static void files_remove(const struct run_folder *folder, bool parts)
{
    size_t part = 0;
    DIR *listing = opendir(folder->path);
    for (const struct dirent *file; listing != NULL && (file = readdir(listing)) != NULL;)
        if (is_unfinished(file->d_name) || (parts && part_of_name(file->d_name, &part)))
            (void)unlinkat(dirfd(listing), file->d_name, 0);
    if (listing != NULL)
        (void)closedir(listing);
}

static bool folder_fill(struct run_folder *folder, enum run_folder_start start, struct error *error)
{
    struct inventory inventory = {.foreign = false};
    bool good = start == RUNS_RESTART || folder_scan(folder, &inventory, error);
    if (good && (inventory.foreign || (start == RUNS_NEW && folder->count > 0)))
        good = runs_refuse(folder, inventory.foreign, error);
    for (size_t i = 0; good && i < inventory.damaged_count; i++) {
        char *path = part_path(folder, inventory.damaged[i]);
        good = path != NULL || error_run(error, "%s: out of memory", folder->path);
        if (path != NULL)
            (void)unlink(path);
        free(path);
    }
    folder->damaged = inventory.damaged_count;
    free(inventory.damaged);
    if (good)
        files_remove(folder, start == RUNS_RESTART);
    return good;
}

static bool folder_make(const struct run_folder *folder, struct error *error)
{
    struct stat status;
    if (mkdir(folder->path, 0777) == 0)
        return true;
    const int reason = errno;
    if (reason != EEXIST)
        return error_input(error, "%s: cannot be created: %s; name a folder that can be written",
                           folder->path, strerror(reason));
    return (stat(folder->path, &status) == 0 && S_ISDIR(status.st_mode)) ||
           error_input(error,
                       "%s: is not a folder of finished runs; move it away or give another --out",
                       folder->path);
}

struct run_folder *run_folder_open(const char *path, const struct sweep_facts *facts,
                                   enum run_folder_start start, struct error *error)
{
    struct run_folder *folder = calloc(1, sizeof *folder);
    if (folder == NULL) {
        (void)error_run(error, "%s: out of memory for %zu runs", path, (size_t)facts->runs);
        return NULL;
    }
    folder->facts = *facts;
    folder->path = strdup(path);
    folder->parts = calloc((size_t)facts->runs + 1, sizeof *folder->parts);
    folder->reserved = calloc((size_t)facts->runs + 1, sizeof *folder->reserved);
    const bool whole = folder->path != NULL && folder->parts != NULL && folder->reserved != NULL;
    if (!whole)
        (void)error_run(error, "%s: out of memory for %zu runs", path, (size_t)facts->runs);
    else if (folder_make(folder, error) && folder_fill(folder, start, error))
        return folder;
    if (folder->path != NULL)
        (void)rmdir(folder->path); /* where it is empty */
    run_folder_close(folder, false);
    return NULL;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

struct store *run_folder_begin(const struct run_folder *folder, size_t run, struct error *error)
{
    char *path = part_path(folder, run);
    if (path == NULL) {
        (void)error_run(error, "%s: out of memory", folder->path);
        return NULL;
    }
    struct store *store = store_create_part(path, error);
    free(path);
    if (store == NULL || store_set_sweep(store, &folder->facts, error))
        return store;
    store_abandon(store);
    return NULL;
}

void run_folder_note(struct run_folder *folder, size_t run, size_t part)
{
    folder->count += folder->parts[run] == 0;
    folder->parts[run] = part + 1;
}

bool run_folder_has(const struct run_folder *folder, size_t run)
{
    return folder->parts[run] != 0;
}

size_t run_folder_count(const struct run_folder *folder)
{
    return folder->count;
}

size_t run_folder_damaged(const struct run_folder *folder)
{
    return folder->damaged;
}

static void part_close(struct open_part *open)
{
    run_source_close(open->source);
    *open = (struct open_part){.source = NULL};
}

/* The part that holds `run`, open. NULL: ERROR_RUN. O(PARTS_OPEN). */
static struct open_part *part_open(struct run_folder *folder, size_t run, struct error *error)
{
    const size_t part = folder->parts[run] - 1;
    for (size_t i = 0; i < PARTS_OPEN; i++)
        if (folder->open[i].source != NULL && folder->open[i].part == part)
            return &folder->open[i];
    struct open_part *open = &folder->open[folder->replace++ % PARTS_OPEN];
    part_close(open);
    struct error fault = {0};
    char *path = part_path(folder, part);
    *open = (struct open_part){path == NULL ? NULL : run_source_open(path, &fault), part};
    free(path);
    if (open->source != NULL)
        return open;
    (void)error_run(error, "%s", path == NULL ? "out of memory" : fault.message);
    return NULL;
}

/* The row of `run` in a part that holds it. */
static size_t row_of(const struct run_source *source, size_t run)
{
    size_t row = 0;
    while (row + 1 < run_source_results(source)->run_count &&
           run_source_position(source, row) != run)
        row++;
    return row;
}

const struct summary_row *run_folder_figures(struct run_folder *folder, size_t run,
                                             struct error *error)
{
    const struct open_part *open = part_open(folder, run, error);
    return open == NULL ? NULL : &run_source_results(open->source)->runs[row_of(open->source, run)];
}

bool run_folder_copy(struct run_folder *folder, size_t run, struct store *store,
                     struct error *error)
{
    struct open_part *open = part_open(folder, run, error);
    if (open == NULL)
        return false;
    const struct results *results = run_source_results(open->source);
    const size_t row = row_of(open->source, run);
    if (!folder->reserved[open->part] && !store_reserve(store, results->path, error))
        return false;
    folder->reserved[open->part] = true;
    const bool good = store_copy_run(store, open->source, row, error);
    /* Runs are in a part in the order of the sweep, but for those that were lost and done again. */
    if (row + 1 == results->run_count)
        part_close(open);
    return good;
}

/* ---- The end --------------------------------------------------------------------------------- */

void run_folder_tidy(const struct run_folder *folder)
{
    files_remove(folder, false);
}

void run_folder_close(struct run_folder *folder, bool remove)
{
    if (folder == NULL)
        return;
    for (size_t i = 0; i < PARTS_OPEN; i++)
        part_close(&folder->open[i]);
    if (remove) {
        files_remove(folder, true);
        (void)rmdir(folder->path);
    }
    free(folder->path);
    free(folder->parts);
    free(folder->reserved);
    free(folder);
}
