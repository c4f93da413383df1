/* A checksum at the end of a file, so that damage is noticed before anything reads the file.
 *
 * A seal is a mark and the CRC-32 of all bytes before it. HDF5 passes over bytes behind its own.
 */
#ifndef ESGSIM_RESULTS_STORE_SEAL_H
#define ESGSIM_RESULTS_STORE_SEAL_H

#include <stdbool.h>

#include "sim/error.h"

/* Adds a seal to a file that has none. ERROR_RUN where the file cannot be written. O(bytes). */
bool seal_put(const char *path, struct error *error);

/* Whether the file ends with the seal of its bytes. O(bytes). */
bool seal_is_whole(const char *path);

#endif
