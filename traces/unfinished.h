/* Temporary files and folders of this process, so that a signal that ends it leaves none behind.
 *
 * A table of at most UNFINISHED_MOST names. Each name belongs to the process that noted it: a
 * forked child inherits the table and removes nothing of its parent's.
 */
#ifndef ESGSIM_TRACES_UNFINISHED_H
#define ESGSIM_TRACES_UNFINISHED_H

#include <signal.h>
#include <stdbool.h>

#include "sim/error.h"

enum { UNFINISHED_MOST = 64 };

enum unfinished_kind {
    UNFINISHED_FILE,
    UNFINISHED_FOLDER, /* with the files in it; it has no folders */
    UNFINISHED_LOCK    /* removed after all others */
};

/* Blocks all signals until unfinished_unblock, so that a handler finds a file either absent or
 * noted. */
void unfinished_block(sigset_t *old);
void unfinished_unblock(const sigset_t *old);

/* Notes a name, which is copied. The number of its entry; -1 where memory or the table is short.
 * O(UNFINISHED_MOST). */
int unfinished_note(const char *path, enum unfinished_kind kind);

/* Takes an entry of this process out of the table; removes no file. -1 is allowed. */
void unfinished_forget(int entry);

/* Whether this process has noted that name. O(UNFINISHED_MOST). */
bool unfinished_has(const char *path);

/* Removes everything that this process has noted. Async-signal-safe. The process must end after it
 * without a further write to what was noted. */
void unfinished_remove_all(void);

/* Makes and notes a folder in $TMPDIR, or in /tmp, whose name begins with `name`. NULL: ERROR_RUN.
 * Ends with temporary_folder_remove. */
char *temporary_folder_create(const char *name, struct error *error);

/* Removes the folder with the files in it and frees its name. In a forked child it frees the name
 * alone. NULL is allowed. */
void temporary_folder_remove(char *folder);

#endif
