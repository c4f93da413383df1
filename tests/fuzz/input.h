/* What the fuzz targets share: readers that take a path get their bytes through one. */
#ifndef ESGSIM_TESTS_FUZZ_INPUT_H
#define ESGSIM_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

/* libFuzzer's entry: one reader, one input; returns 0. Any input must be read or refused, and a
 * refusal must be ERROR_INPUT with a message of one line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An unnamed file that holds the bytes; its path goes to `path`. Returns the descriptor, which the
 * caller closes; the path is good until then. */
int input_open(const uint8_t *data, size_t size, char path[static 64]);

/* The same as a file with a name in TMPDIR, for readers that resolve or lock it; the caller closes
 * and unlinks it. */
int input_save(const uint8_t *data, size_t size, char path[static 256]);

/* The bytes as a string, to be freed by the caller. */
char *input_text(const uint8_t *data, size_t size);

/* Ends the program unless `error` is a refusal: ERROR_INPUT and one line. */
void input_require_refusal(const struct error *error);

/* Takes bytes off the front of an input, for targets that build a file of them. */
struct input_cursor {
    const uint8_t *data;
    size_t left;
};

/* The next byte; 0 at the end. */
uint8_t input_byte(struct input_cursor *cursor);
/* The next `size` bytes, zeros behind the end. */
void input_bytes(struct input_cursor *cursor, void *bytes, size_t size);

#endif
