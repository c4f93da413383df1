#include "tests/fuzz/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int input_open(const uint8_t *data, size_t size, char path[static 64])
{
    int file = memfd_create("input", MFD_CLOEXEC);
    if (file < 0)
        abort();
    for (size_t done = 0; done < size;) {
        ssize_t part = write(file, data + done, size - done);
        if (part <= 0)
            abort();
        done += (size_t)part;
    }
    (void)snprintf(path, 64, "/proc/self/fd/%d", file);
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
