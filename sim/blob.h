/* A growing run of bytes, and a cursor that reads one back.
 *
 * Worker processes hand their results to the parent as a blob. Both ends are the same program on
 * the same machine, so values go in as they lie in memory; what is checked on the way out is
 * length.
 */
#ifndef ESGSIM_SIM_BLOB_H
#define ESGSIM_SIM_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob {
    unsigned char *bytes;
    size_t size;
    size_t capacity;
};

/* All put functions return false where memory ran out; the blob is then as it was. Zero-initialised
 * is empty; free with blob_clear. */
bool blob_put(struct blob *blob, const void *bytes, size_t size);
bool blob_put_u64(struct blob *blob, uint64_t value);
/* Length, then the characters; NULL is written as "". */
bool blob_put_text(struct blob *blob, const char *text);
void blob_clear(struct blob *blob);

struct blob_cursor {
    const unsigned char *bytes;
    size_t left;
};

/* Take from the front; false where fewer bytes are left than wanted. */
bool blob_take(struct blob_cursor *cursor, void *bytes, size_t size);
bool blob_take_u64(struct blob_cursor *cursor, uint64_t *value);
/* The text is allocated; the caller frees it. */
bool blob_take_text(struct blob_cursor *cursor, char **text);

#endif
