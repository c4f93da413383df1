#include "tests/fuzz/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void write_all(int file, const uint8_t *data, size_t size)
{
    if (file < 0)
        abort();
    for (size_t done = 0; done < size;) {
        ssize_t part = write(file, data + done, size - done);
        if (part <= 0)
            abort();
        done += (size_t)part;
    }
}

int input_open(const uint8_t *data, size_t size, char path[static 64])
{
    int file = memfd_create("input", MFD_CLOEXEC);
    write_all(file, data, size);
    (void)snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

int input_save(const uint8_t *data, size_t size, char path[static 256])
{
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, 256, "%s/fuzz-input.XXXXXX", folder == NULL ? "/tmp" : folder);
    int file = mkstemp(path);
    write_all(file, data, size);
    return file;
}

char *input_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

void input_require_refusal(const struct error *error)
{
    if (error->kind == ERROR_INPUT && error->message[0] != '\0' &&
        strchr(error->message, '\n') == NULL)
        return;
    (void)fprintf(stderr, "no refusal of one line: kind %d, '%s'\n", (int)error->kind,
                  error->message);
    abort();
}

uint8_t input_byte(struct input_cursor *cursor)
{
    uint8_t byte = 0;
    input_bytes(cursor, &byte, 1);
    return byte;
}

void input_bytes(struct input_cursor *cursor, void *bytes, size_t size)
{
    const size_t taken = size < cursor->left ? size : cursor->left;
    if (taken > 0)
        memcpy(bytes, cursor->data, taken);
    memset((uint8_t *)bytes + taken, 0, size - taken);
    cursor->data += taken;
    cursor->left -= taken;
}
