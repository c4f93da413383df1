/* Atomic replacement of files: a file has either its complete new content or its old content.
 *
 * A file is written under a temporary name in the directory of its destination. When it is
 * complete, it is synced to disk and renamed, and then the directory is synced. After a failure, a
 * signal or a crash the older file of that name, if any, is unchanged. A handler of a fatal signal
 * removes temporary files by unfinished_remove_all (sim/base/unfinished.h).
 *
 * The destination is locked from begin to end, and a second writer is refused immediately. The lock
 * is a record lock (fcntl) on the empty file .NAME.lock in the same directory. The temporary file
 * is NAME.partial-PID-NUMBER. Both are removed at the end. A process killed by SIGKILL leaves both
 * behind, and the next writer of the destination removes them. On a file system without locks there
 * is no lock, and of two writers the last one's complete file remains.
 *
 * If the destination is not a regular file (a device, a pipe), it is written directly and without a
 * lock, because a rename would replace the device. A symbolic link is kept: the file to which it
 * points is replaced, or created if it does not exist.
 */
#ifndef ESGSIM_SIM_BASE_ATOMIC_FILE_H
#define ESGSIM_SIM_BASE_ATOMIC_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "sim/base/error.h"

struct arena;

/* All zero: not begun. */
struct atomic_file {
    struct arena *arena; /* of the names */
    char *path;          /* as the caller gave it, for messages */
    char *target;        /* `path` with links resolved */
    char *beside;        /* the file being written: a temporary name, or `path` itself */
    bool renames;        /* `beside` is a temporary name */
    FILE *stream;        /* opened by atomic_file_open */
    /* The rest is private to the module. */
    pid_t owner; /* a forked child of the owner removes and renames nothing */
    mode_t mode; /* permissions of the file being replaced; 0: there is none */
    bool locked;
    int lock;                     /* descriptor, if locked */
    int lock_entry, beside_entry; /* entries of sim/base/unfinished.h; -1: none */
};

/* Resolves a symbolic link, or a chain of them; the final file need not exist. Returns a copy of
 * `path` if it is no link, or if it is a link to an open file of a process (/dev/stdout,
 * /proc/self/fd/1). NULL: ERROR_INPUT if the links form a cycle or cannot be read. */
char *atomic_file_target(struct arena *arena, const char *path, struct error *error);

/* Locks the destination and creates the empty temporary file `beside`. The caller ends each file by
 * atomic_file_end. On false there is nothing to end: ERROR_INPUT if the name is empty, a directory,
 * or not writable; ERROR_RUN if another process, named in the message, writes the destination, or
 * if memory is exhausted. */
bool atomic_file_begin(struct atomic_file *file, const char *path, struct error *error);

/* Like atomic_file_begin, and opens `stream` for writing. */
bool atomic_file_open(struct atomic_file *file, const char *path, struct error *error);

/* Closes the stream, if any, and unlocks the destination. If `good`, syncs the file and renames it
 * to its destination; else removes it and leaves `error` unchanged. Returns `good`, or false with
 * ERROR_RUN if writing failed. Does nothing for a file that was not begun. */
bool atomic_file_end(struct atomic_file *file, bool good, struct error *error);

/* Locks a directory into which several files are written; atomic_file_end unlocks it. The lock is
 * the file ..lock in it. ERROR_RUN if another process has the lock, ERROR_INPUT if the directory is
 * not writable. */
bool atomic_file_hold_folder(struct atomic_file *file, const char *folder, struct error *error);

/* Returns whether two names denote the same regular file, which need not exist. */
bool atomic_file_same(const char *one, const char *other);

/* The name of a file in its path, without the folder. */
const char *file_name(const char *path);

#endif
