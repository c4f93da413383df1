#include "results/store/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/store/seal.h"
#include "sim/base/arena.h"

/* Maximum number of open parts. About one part per worker is in use at any time. */
enum { PARTS_OPEN = 64 };

static const char prefix[] = "part-", suffix[] = ".h5";

enum part_state {
    PART_NONE, /* absent or damaged */
    PART_WHOLE,
    PART_RESERVED, /* complete, and its size is reserved in the results file */
    PART_STATES
};

struct run_folder {
    struct arena *arena; /* of what follows */
    char *path;
    struct sweep_metadata metadata;
    size_t *parts;         /* per run: 1 + the first run of its part; 0: none */
    unsigned char *states; /* enum part_state of each part, by its first run */
    char **foreign;        /* paths of parts of other sweeps */
    size_t foreign_count;
    size_t count;
    size_t damaged;
    struct open_part {
        struct run_source *source; /* NULL: free */
        size_t part;
    } open[PARTS_OPEN];
    size_t replace; /* the open part to close next */
};

/* ---- Names ----------------------------------------------------------------------------------- */

static char *part_path(const struct run_folder *folder, size_t part)
{
    return arena_text(folder->arena, "%s/%s%zu%s", folder->path, prefix, part, suffix);
}

/* Returns whether `name` is the name of a part, and its number in `*part`. */
static bool part_of_name(const char *name, size_t *part)
{
    char again[64], *end = NULL;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    *part = strtoull(name + sizeof prefix - 1, &end, 10);
    (void)snprintf(again, sizeof again, "%s%zu%s", prefix, *part, suffix);
    return strcmp(name, again) == 0;
}

/* Returns whether `name` is a part's lock or temporary file (sim/base/atomic_file.h). */
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

/* Notes the runs of a complete part. If two parts contain the same run, the part with the lower
 * number is used. */
static void runs_note(struct run_folder *folder, size_t part, const struct run_source *source)
{
    for (size_t row = 0; row < run_source_results(source)->run_count; row++) {
        const uint64_t run = run_source_position(source, row);
        if (run >= folder->metadata.runs)
            continue;
        folder->states[part] = PART_WHOLE;
        folder->count += folder->parts[run] == 0;
        if (folder->parts[run] == 0 || folder->parts[run] > part + 1)
            folder->parts[run] = part + 1;
    }
}

/* Checks one part. Notes its runs, or that it is of another sweep. */
static void part_scan(struct run_folder *folder, size_t part)
{
    char *path = part_path(folder, part);
    struct run_source *source = seal_is_whole(path) ? run_source_open(path, NULL) : NULL;
    if (source == NULL) {
        folder->damaged++;
    } else if (part < folder->metadata.runs &&
               sweep_metadata_equal(&run_source_results(source)->sweep, &folder->metadata)) {
        runs_note(folder, part, source);
    } else {
        *ARENA_NEXT(folder->arena, folder->foreign, folder->foreign_count) = path;
    }
    run_source_close(source);
}

/* Checks all parts and notes their runs. */
static bool folder_scan(struct run_folder *folder, struct error *error)
{
    DIR *listing = opendir(folder->path);
    if (listing == NULL)
        return error_input(error, "%s: cannot be read: %s", folder->path, strerror(errno));
    size_t part = 0;
    for (const struct dirent *file; (file = readdir(listing)) != NULL;)
        if (part_of_name(file->d_name, &part))
            part_scan(folder, part);
    (void)closedir(listing);
    return true;
}

static bool runs_refuse(const struct run_folder *folder, struct error *error)
{
    if (folder->foreign_count > 0)
        return error_input(error,
                           "%s: holds finished runs of another sweep, shard or version of esgsim; "
                           "give another --out, or discard them with --restart (--resume keeps "
                           "runs of this sweep alone)",
                           folder->path);
    return error_input(error,
                       "%s: holds %zu finished runs of this sweep; go on with --resume, or discard "
                       "them with --restart",
                       folder->path, folder->count);
}

/* Removes from `path` unfinished files, and the parts whose state in `folder` is below `least`. */
static void files_remove(const struct run_folder *folder, const char *path, enum part_state least)
{
    size_t part = 0;
    DIR *listing = opendir(path);
    for (const struct dirent *file; listing != NULL && (file = readdir(listing)) != NULL;) {
        const bool is_part = part_of_name(file->d_name, &part);
        const enum part_state state =
            is_part && part < folder->metadata.runs ? folder->states[part] : PART_NONE;
        if (is_part ? state < least : is_unfinished(file->d_name))
            (void)unlinkat(dirfd(listing), file->d_name, 0);
    }
    if (listing != NULL)
        (void)closedir(listing);
}

/* Removes the parts of a folder whose runs are not needed any more, and the folder. It is renamed
 * first: a process that is killed meanwhile leaves no incomplete folder of this sweep, and the next
 * one removes the rest. If other files are in it, they stay under the folder's own name. */
static void folder_discard(const struct run_folder *folder)
{
    const char *gone = arena_text(folder->arena, "%s.discarded", folder->path);
    files_remove(folder, gone, PART_STATES);
    (void)rmdir(gone);
    if (rename(folder->path, gone) == 0) {
        files_remove(folder, gone, PART_STATES);
        if (rmdir(gone) != 0)
            (void)rename(gone, folder->path);
    }
}

static bool folder_fill(struct run_folder *folder, enum run_folder_start start, struct error *error)
{
    if (start != RUNS_RESTART && !folder_scan(folder, error))
        return false;
    if (start == RUNS_NEW && folder->count + folder->foreign_count > 0)
        return runs_refuse(folder, error);
    if (start != RUNS_RESUME)
        files_remove(folder, folder->path, start == RUNS_RESTART ? PART_STATES : PART_WHOLE);
    return true;
}

const char *run_folder_foreign(const struct run_folder *folder, size_t index)
{
    return index < folder->foreign_count ? folder->foreign[index] : NULL;
}

bool run_folder_settle(const struct run_folder *folder, bool related, struct error *error)
{
    if (folder->foreign_count > 0 && !related)
        return runs_refuse(folder, error);
    files_remove(folder, folder->path, PART_WHOLE);
    return true;
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

struct run_folder *run_folder_open(const char *path, const struct sweep_metadata *metadata,
                                   enum run_folder_start start, struct error *error)
{
    struct run_folder *folder = arena_home(sizeof *folder);
    const size_t runs = (size_t)metadata->runs;
    folder->metadata = *metadata;
    folder->path = arena_text(folder->arena, "%s", path);
    folder->parts = arena_allocate(folder->arena, runs + 1, sizeof *folder->parts);
    folder->states = arena_allocate(folder->arena, runs + 1, sizeof *folder->states);
    if (folder_make(folder, error) && folder_fill(folder, start, error))
        return folder;
    run_folder_close(folder, false);
    return NULL;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

struct store *run_folder_begin(const struct run_folder *folder, size_t run,
                               const struct swept_keys *swept, struct error *error)
{
    char *path = part_path(folder, run);
    struct store *store = store_create_part(path, error);
    arena_release(folder->arena, path);
    if (store == NULL ||
        (store_set_sweep(store, &folder->metadata, error) && store_set_swept(store, swept, error)))
        return store;
    store_abandon(store);
    return NULL;
}

void run_folder_note(struct run_folder *folder, size_t run, size_t part)
{
    folder->count += folder->parts[run] == 0;
    folder->parts[run] = part + 1;
    if (folder->states[part] == PART_NONE)
        folder->states[part] = PART_WHOLE;
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

/* Returns the part that contains `run`; opens it if necessary. NULL: ERROR_RUN. O(PARTS_OPEN). */
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
    *open = (struct open_part){run_source_open(path, &fault), part};
    arena_release(folder->arena, path);
    if (open->source != NULL)
        return open;
    (void)error_run(error, "%s", fault.message);
    return NULL;
}

/* Returns the row of `run` in a part that contains it. */
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
    if (folder->states[open->part] != PART_RESERVED && !store_reserve(store, results->path, error))
        return false;
    folder->states[open->part] = PART_RESERVED;
    const bool good = store_copy_run(store, open->source, row, NULL, error);
    /* Runs of a part are in the order of the sweep, except for repeated runs. After the last row
     * the part is usually not needed again. */
    if (row + 1 == results->run_count)
        part_close(open);
    return good;
}

/* ---- The end --------------------------------------------------------------------------------- */

void run_folder_tidy(const struct run_folder *folder)
{
    files_remove(folder, folder->path, PART_NONE);
}

void run_folder_close(struct run_folder *folder, bool remove)
{
    if (folder == NULL)
        return;
    for (size_t i = 0; i < PARTS_OPEN; i++)
        part_close(&folder->open[i]);
    if (remove)
        folder_discard(folder);
    else
        (void)rmdir(folder->path); /* succeeds only if it is empty */
    arena_destroy(folder->arena);
}
