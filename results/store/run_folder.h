/* The finished runs of a sweep, in a folder beside its results file until that is whole.
 *
 * A worker process writes runs into a part, a results file of its own, by the same calls as a
 * single run. A part has its name once it is complete and on the disk, sealed with a checksum. The
 * parent process copies runs from the parts into the results file. A process that is killed leaves
 * whole parts and at most unfinished files, which the next one that opens the folder removes. A
 * damaged part costs the runs that are in it.
 *
 * The process that has the folder open has locked the results file beside it, and its children are
 * the only others that write there.
 */
#ifndef ESGSIM_RESULTS_STORE_RUN_FOLDER_H
#define ESGSIM_RESULTS_STORE_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "results/store/store.h"
#include "sim/error.h"

struct run_folder;

/* What becomes of runs that are in the folder already. */
enum run_folder_start {
    RUNS_NEW,    /* they are refused */
    RUNS_RESUME, /* those of this sweep are kept, others refused */
    RUNS_RESTART /* they are discarded */
};

/* Open the folder `path`, which is made where it is missing, for the sweep that `facts` are of.
 * NULL: ERROR_INPUT where it cannot be made, is no folder, or holds runs that `start` refuses;
 * nothing is changed then. O(bytes) for RUNS_RESUME. */
struct run_folder *run_folder_open(const char *path, const struct sweep_facts *facts,
                                   enum run_folder_start start, struct error *error);

/* In a child: begins the part whose first run is `run`; none of its runs is in a part that is
 * there. NULL as for store_create. */
struct store *run_folder_begin(const struct run_folder *folder, size_t run, struct error *error);

/* The part whose first run is `part` is complete and holds `run`. */
void run_folder_note(struct run_folder *folder, size_t run, size_t part);

bool run_folder_has(const struct run_folder *folder, size_t run);
/* Runs that are there. */
size_t run_folder_count(const struct run_folder *folder);
/* Parts that run_folder_open found damaged or cut short, and removed. */
size_t run_folder_damaged(const struct run_folder *folder);

/* The figures of a run that is there, valid until the next call. NULL: ERROR_RUN. */
const struct summary_row *run_folder_figures(struct run_folder *folder, size_t run,
                                             struct error *error);
/* Copy a run that is there to the results file; always the same one. False: ERROR_RUN. */
bool run_folder_copy(struct run_folder *folder, size_t run, struct store *store,
                     struct error *error);

/* Remove what children that have ended left unfinished. */
void run_folder_tidy(const struct run_folder *folder);

/* Frees it; `remove` deletes the folder as well, for a sweep whose results are written. Files of
 * other names stay. NULL is allowed. */
void run_folder_close(struct run_folder *folder, bool remove);

#endif
