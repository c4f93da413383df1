/* A checksum at the end of a file, which detects damage before the file is read.
 *
 * A seal is a fixed mark and the CRC-32 of all bytes before the seal. HDF5 ignores bytes after the
 * end of its own data.
 */
#ifndef ESGSIM_RESULTS_STORE_SEAL_H
#define ESGSIM_RESULTS_STORE_SEAL_H

#include <stdbool.h>

#include "sim/base/error.h"

/* Appends a seal to a file that has none. ERROR_RUN if the file cannot be written. O(bytes). */
bool seal_put(const char *path, struct error *error);

/* Returns whether the file ends with a seal that matches its bytes. O(bytes). */
bool seal_is_whole(const char *path);

#endif
