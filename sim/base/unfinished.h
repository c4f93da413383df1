/* The temporary files and directories that this process must not leave behind when a signal ends
 * it.
 *
 * At most UNFINISHED_MOST are registered. Each belongs to the process that registered it: a forked
 * child inherits the registry but removes nothing of its parent's.
 */
#ifndef ESGSIM_SIM_BASE_UNFINISHED_H
#define ESGSIM_SIM_BASE_UNFINISHED_H

#include <signal.h>
#include <stdbool.h>

#include "sim/base/error.h"

enum { UNFINISHED_MOST = 64 };

enum unfinished_kind {
    UNFINISHED_FILE,
    UNFINISHED_FOLDER, /* with the files in it; it has no subdirectories */
    UNFINISHED_LOCK    /* removed after all others */
};

/* Blocks all signals until unfinished_unblock. Creating and registering a file between the two is
 * atomic for signal handlers. */
void unfinished_block(sigset_t *old);
void unfinished_unblock(const sigset_t *old);

/* Registers a copy of the name. Returns its entry; -1 if memory is exhausted or the registry is
 * full. O(UNFINISHED_MOST). */
int unfinished_note(const char *path, enum unfinished_kind kind);

/* Removes an entry of this process from the registry, not the file. -1 is allowed. */
void unfinished_forget(int entry);

/* Returns whether this process has registered the name. O(UNFINISHED_MOST). */
bool unfinished_has(const char *path);

/* Removes all files and directories registered by this process. Async-signal-safe. The process must
 * then exit without writing to them. */
void unfinished_remove_all(void);

/* Creates and registers a directory in $TMPDIR, or in /tmp, whose name begins with `name`. NULL:
 * ERROR_RUN. Remove it with temporary_folder_remove. */
char *temporary_folder_create(const char *name, struct error *error);

/* Removes the directory with its files and frees its name. In a forked child it only frees the
 * name. NULL is allowed. */
void temporary_folder_remove(char *folder);

#endif
