#include "sim/blob.h"

#include <stdlib.h>
#include <string.h>

bool blob_put(struct blob *blob, const void *bytes, size_t size)
{
    if (size == 0)
        return true;
    if (size > SIZE_MAX / 4 || blob->size > SIZE_MAX / 4)
        return false;
    if (blob->size + size > blob->capacity) {
        size_t capacity = blob->capacity < 256 ? 256 : blob->capacity;
        while (capacity < blob->size + size)
            capacity *= 2;
        unsigned char *grown = realloc(blob->bytes, capacity);
        if (grown == NULL)
            return false;
        blob->bytes = grown;
        blob->capacity = capacity;
    }
    memcpy(blob->bytes + blob->size, bytes, size);
    blob->size += size;
    return true;
}

bool blob_put_u64(struct blob *blob, uint64_t value)
{
    return blob_put(blob, &value, sizeof value);
}

bool blob_put_text(struct blob *blob, const char *text)
{
    size_t before = blob->size;
    size_t length = text == NULL ? 0 : strlen(text);
    if (blob_put_u64(blob, length) && blob_put(blob, text, length))
        return true;
    blob->size = before;
    return false;
}

void blob_clear(struct blob *blob)
{
    free(blob->bytes);
    *blob = (struct blob){0};
}

bool blob_take(struct blob_cursor *cursor, void *bytes, size_t size)
{
    if (size > cursor->left)
        return false;
    if (size > 0)
        memcpy(bytes, cursor->bytes, size);
    cursor->bytes += size;
    cursor->left -= size;
    return true;
}

bool blob_take_u64(struct blob_cursor *cursor, uint64_t *value)
{
    return blob_take(cursor, value, sizeof *value);
}

bool blob_take_text(struct blob_cursor *cursor, char **text)
{
    uint64_t length = 0;
    if (!blob_take_u64(cursor, &length) || length > cursor->left)
        return false;
    char *copy = malloc((size_t)length + 1);
    if (copy == NULL)
        return false;
    (void)blob_take(cursor, copy, (size_t)length);
    copy[length] = '\0';
    *text = copy;
    return true;
}
