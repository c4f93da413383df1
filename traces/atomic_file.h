/* Files that are either whole or as they were before.
 *
 * A file is written under a temporary name in the folder of its destination. When it is finished
 * it is synced to the disk and renamed, and the folder is synced. A failure, a signal or a crash
 * leaves the older file of that name, if there is one, as it was. A handler of a signal that ends
 * the process removes what is unfinished by unfinished_remove_all (traces/unfinished.h).
 *
 * The destination is locked from the start to the end: a second writer is refused at once. The lock
 * is a record lock (fcntl) on the empty file .NAME.lock beside the destination NAME; the temporary
 * file is NAME.partial-PID-NUMBER. Both are removed at the end. A process that SIGKILL ended leaves
 * them; the next writer of that destination removes them. Where a file system has no locks, none is
 * held, and of two writers the last one's whole file stays.
 *
 * A name of something other than a regular file (a device, a pipe) is written to as it is, without
 * a lock, since a rename would replace the device. A link stays: the file that it names is written,
 * or made where it does not exist.
 */
#ifndef ESGSIM_TRACES_ATOMIC_FILE_H
#define ESGSIM_TRACES_ATOMIC_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "sim/error.h"

/* All zero: not begun. */
struct atomic_file {
    char *path;   /* as it was given: for messages */
    char *target; /* where links lead from there */
    char *beside; /* where it is written: a temporary name, or `path` itself */
    bool renames; /* `beside` is a temporary name */
    FILE *stream; /* of atomic_file_open */
    /* The rest is the module's own. */
    pid_t owner; /* a forked child of the owner removes and renames nothing */
    mode_t mode; /* permissions of the file that is replaced; 0: none is */
    bool locked;
    int lock;                     /* descriptor, while locked */
    int lock_entry, beside_entry; /* of traces/unfinished.h; -1: none */
};

/* The file that `path` names: where a link, or a chain of them, leads, whether that exists or not.
 * `path` itself where it is no link, or a link that shows what a process has open (/dev/stdout,
 * /proc/self/fd/1). To be freed. NULL: ERROR_INPUT where links lead in a circle or cannot be read,
 * ERROR_RUN without memory. */
char *atomic_file_target(const char *path, struct error *error);

/* Locks the destination and creates the temporary file `beside`, empty. Each file is ended by
 * atomic_file_end. False: ERROR_INPUT where the name is empty, a folder, or cannot be written;
 * ERROR_RUN where another process, which the message names, writes there, or without memory; there
 * is nothing to end then. */
bool atomic_file_begin(struct atomic_file *file, const char *path, struct error *error);

/* The same, with a stream to write to. */
bool atomic_file_open(struct atomic_file *file, const char *path, struct error *error);

/* Closes the stream, if there is one. If all is `good` so far, syncs the file and gives it its
 * name; else removes it and leaves `error` as it is. Unlocks the destination. Returns `good`, or
 * false with ERROR_RUN where something could not be written. A file that was not begun is left
 * alone. */
bool atomic_file_end(struct atomic_file *file, bool good, struct error *error);

/* Whether a file of that name could be written now. Leaves nothing behind and changes no file. */
bool atomic_file_check(const char *path, struct error *error);

/* Locks a folder into which several files are written, so that a second holder is refused at once
 * with ERROR_RUN. The lock is the file ..lock in it. Where the folder cannot be written:
 * ERROR_INPUT. atomic_file_end unlocks it. */
bool atomic_file_hold_folder(struct atomic_file *file, const char *folder, struct error *error);

/* Whether two names mean one regular file, which need not exist. */
bool atomic_file_same(const char *one, const char *other);

#endif
