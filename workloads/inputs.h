/* Input files, each read once for all runs of a sweep, so that every run has the same ones.
 *
 * A JSON file is kept as text. An arrival trace or a policy's module is too large, or is loaded by
 * the system: its digest is kept with what the file system says of the file (`file_identity`).
 * Where that has changed, the file is hashed again, and other contents are an error. Worker
 * processes get what the parent has read by being forked from it.
 */
#ifndef ESGSIM_WORKLOADS_INPUTS_H
#define ESGSIM_WORKLOADS_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "workloads/experiment.h"

struct inputs;

/* NULL with ERROR_RUN without memory. */
struct inputs *inputs_create(struct error *error);
void inputs_free(struct inputs *inputs); /* NULL is allowed */

/* The text of a file, as json_read_text gives it; the caller frees. With `inputs` (else NULL) the
 * file is read once. O(files) to find it. */
char *inputs_text(struct inputs *inputs, const char *path, size_t *size, struct error *error);

/* The SHA-256 in hexadecimal and the identity of a regular file. With `inputs` (else NULL) a file
 * that is no longer what it was the first time is an ERROR_RUN that names both digests. O(size), or
 * O(files) where the identity is known. */
bool inputs_hash(struct inputs *inputs, const char *path, struct file_identity *identity,
                 char sha256[65], struct error *error);

/* Whether the file still has that digest; it is read only where its identity has changed. False:
 * ERROR_RUN that names both digests. */
bool inputs_unchanged(const char *path, const struct file_identity *identity, const char sha256[65],
                      struct error *error);

#endif
