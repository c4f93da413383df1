/* What the fuzz targets share: readers that take a path get their bytes through one. */
#ifndef ESGSIM_TESTS_FUZZ_INPUT_H
#define ESGSIM_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry: one reader, one input; returns 0. Any input must be read or refused, and a
 * refusal must be ERROR_INPUT with a message of one line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An unnamed file that holds the bytes; its path goes to `path`. Returns the descriptor, which the
 * caller closes; the path is good until then. */
int input_open(const uint8_t *data, size_t size, char path[static 64]);

/* The bytes as a string, to be freed by the caller. */
char *input_text(const uint8_t *data, size_t size);

#endif
