/* The folder of a sweep's finished runs, next to its results file until that file is complete.
 *
 * A worker process writes its runs into parts. A part is a separate results file, written by the
 * same functions as that of a single run. The worker adds a checksum, syncs the part to the disk
 * and publishes it by rename. The parent process copies the runs from the parts into the results
 * file.
 *
 * A process that is killed leaves complete parts and perhaps unfinished files. The next process
 * that opens the folder removes the unfinished files. If a part is damaged, its runs are lost.
 *
 * The process that opens the folder must hold the lock of the results file. Only that process and
 * its children write to the folder.
 */
#ifndef ESGSIM_RESULTS_STORE_RUN_FOLDER_H
#define ESGSIM_RESULTS_STORE_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "results/store/store.h"
#include "sim/base/error.h"

struct run_folder;

/* The treatment of runs that are already in the folder. */
enum run_folder_start {
    RUNS_NEW,    /* refuse them */
    RUNS_RESUME, /* keep those of this sweep, leave others to run_folder_settle */
    RUNS_RESTART /* discard them */
};

/* Opens the folder `path` for the sweep that `metadata` identifies; creates it if it is missing.
 * NULL: ERROR_INPUT if it cannot be created, is not a folder, or contains runs that `start`
 * refuses. In that case nothing is changed. O(bytes) for RUNS_RESUME. */
struct run_folder *run_folder_open(const char *path, const struct sweep_metadata *metadata,
                                   enum run_folder_start start, struct error *error);

/* Returns the path of a part of another sweep, or of an earlier form of this one; NULL: there are
 * no more. Runs of it may be copied to a part of this sweep, which run_folder_begin begins. */
const char *run_folder_foreign(const struct run_folder *folder, size_t index);
/* Call once after RUNS_RESUME. Removes those parts if they are `related` to this sweep, or if there
 * are none. Else false: ERROR_INPUT. */
bool run_folder_settle(const struct run_folder *folder, bool related, struct error *error);

/* Called in a child process, or before there is one: begins the part whose first run is `run`, with
 * the columns of `swept`, which must outlive it. No complete part may contain any of its runs.
 * NULL: as for store_create. */
struct store *run_folder_begin(const struct run_folder *folder, size_t run,
                               const struct swept_keys *swept, struct error *error);

/* Notes that the part whose first run is `part` is complete and contains `run`. */
void run_folder_note(struct run_folder *folder, size_t run, size_t part);

/* Returns whether the folder contains the run. */
bool run_folder_has(const struct run_folder *folder, size_t run);
/* Returns the number of runs in the folder. */
size_t run_folder_count(const struct run_folder *folder);
/* Returns the number of damaged or truncated parts that run_folder_open removed. */
size_t run_folder_damaged(const struct run_folder *folder);

/* Returns the summary of a run in the folder, valid until the next call. NULL: ERROR_RUN. */
const struct summary_row *run_folder_figures(struct run_folder *folder, size_t run,
                                             struct error *error);
/* Copies a run in the folder to the results file `store`, which must be the same in every call.
 * False: ERROR_RUN. */
bool run_folder_copy(struct run_folder *folder, size_t run, struct store *store,
                     struct error *error);

/* Removes the unfinished files of children that have ended. */
void run_folder_tidy(const struct run_folder *folder);

/* Closes the folder, removes it if it is empty, and frees `folder`, which may be NULL. `remove`
 * also deletes the parts and the folder, once the sweep's results are written. The folder is first
 * renamed to PATH.discarded; if the process is killed then, the next run_folder_close with `remove`
 * deletes the rest. Files with other names are not deleted. */
void run_folder_close(struct run_folder *folder, bool remove);

#endif
