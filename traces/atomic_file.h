/* Files that are whole or as they were: written beside, and named when finished.
 *
 * A name that stands for something other than a regular file (a device, a pipe) is written to as it
 * is, since a rename would take its place. A link stays: what it names is written, and made where
 * it is not there.
 */
#ifndef ESGSIM_TRACES_ATOMIC_FILE_H
#define ESGSIM_TRACES_ATOMIC_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "sim/error.h"

struct atomic_file {
    char *path;   /* as it was given: for messages */
    char *target; /* where links lead from there */
    char *beside; /* where it is written: `target` with ".partial", or `path` itself */
    bool renames;
    FILE *stream; /* of atomic_file_open */
};

/* The name that a file must take for `path` to name it: where a link, or a chain of them, leads, be
 * that there or not; `path` itself where it is no link, or one that tells what a process has open
 * (/dev/stdout, /proc/self/fd/1), which is no place. To be freed. NULL: ERROR_INPUT where links
 * lead in a circle or cannot be read, ERROR_RUN without memory. */
char *atomic_file_target(const char *path, struct error *error);

/* Chooses where the file of that name is written, and creates it there to see that it can be.
 * ERROR_INPUT: no name, a folder, or a place that cannot be written. Each is ended. */
bool atomic_file_begin(struct atomic_file *file, const char *path, struct error *error);

/* The same, with a stream to write to. */
bool atomic_file_open(struct atomic_file *file, const char *path, struct error *error);

/* Closes the stream where there is one; where all is `good` so far the file takes its name, else it
 * is removed and `error` left as it is. Returns `good`, or false with ERROR_RUN where something
 * could not be written. */
bool atomic_file_end(struct atomic_file *file, bool good, struct error *error);

/* Whether a file of that name could be written, for those who would find out late; leaves nothing
 * behind and no file changed. */
bool atomic_file_check(const char *path, struct error *error);

/* Whether two names stand for one regular file, be it there or not. */
bool atomic_file_same(const char *one, const char *other);

#endif
