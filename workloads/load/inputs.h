/* Input files as a sweep first read them, so that all of its runs use the same contents.
 *
 * A JSON file is cached as text, and a profile as it was parsed, too. Arrival traces are too large
 * for that, and policy modules are loaded by the system. Their digest is cached together with the
 * file's identity: device, inode, size and times, which stay equal while nobody writes to it or
 * replaces it. If the identity has changed, the file is hashed again, and a different digest is an
 * error. Worker processes inherit the cache by fork.
 */
#ifndef ESGSIM_WORKLOADS_LOAD_INPUTS_H
#define ESGSIM_WORKLOADS_LOAD_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "sim/base/error.h"

struct arena;
struct inputs;
struct profile; /* traces/profile/profile.h */

/* A cache that lives as long as the arena. */
struct inputs *inputs_create(struct arena *arena);

/* The text of a file, in the format of json_read_text, which is read only once. O(files). */
const char *inputs_text(struct inputs *inputs, const char *path, size_t *size, struct error *error);

/* The profile of a file and the SHA-256 of its text. It is read and parsed only once. O(files). */
const struct profile *inputs_profile(struct inputs *inputs, const char *path, char sha256[65],
                                     struct error *error);

/* The SHA-256 in hexadecimal and the identity of a regular file. If the digest differs from the
 * first one, the result is an ERROR_RUN that names both digests. O(size), or O(files) if the
 * identity is known. */
bool inputs_hash(struct inputs *inputs, const char *path, struct stat *identity, char sha256[65],
                 struct error *error);

/* True if the file still has this digest. The file is read only if its identity has changed. False
 * with an ERROR_RUN that names both digests. */
bool inputs_unchanged(const char *path, const struct stat *identity, const char sha256[65],
                      struct error *error);

/* Checks that `out`, which `option` names and which may be NULL, is none of the files read so far.
 * False: ERROR_INPUT. O(files). */
bool inputs_spare(const struct inputs *inputs, const char *option, const char *out,
                  struct error *error);

#endif
