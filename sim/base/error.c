#include "sim/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/utf8.h"

static void error_fill(struct error *error, enum error_kind kind, const char *format, va_list args)
{
    if (error == NULL)
        return;
    /* One line that a terminal shows as it is, whatever bytes the input put into a name. */
    char raw[sizeof error->message];
    error->kind = kind;
    utf8_mark_cut(raw, sizeof raw, vsnprintf(raw, sizeof raw, format, args));
    utf8_escape(raw, error->message, sizeof error->message);
}

bool error_input(struct error *error, const char *format, ...)
{
    if (errno == ENOMEM)
        return error_run(error, "out of memory");
    va_list args;
    va_start(args, format);
    error_fill(error, ERROR_INPUT, format, args);
    va_end(args);
    return false;
}

bool error_run(struct error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_fill(error, ERROR_RUN, format, args);
    va_end(args);
    return false;
}

enum { NAME_MAX_LENGTH = 64 };

static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[NAME_MAX_LENGTH + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_length];
}

const char *error_nearest_of(const char *wanted, const void *first, size_t count, size_t size)
{
    const char *nearest = NULL;
    size_t wanted_length = strlen(wanted);
    size_t best = SIZE_MAX;
    if (wanted_length > NAME_MAX_LENGTH)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *name = *(const char *const *)((const char *)first + i * size);
        size_t length = strlen(name);
        if (length > NAME_MAX_LENGTH)
            continue;
        size_t longer = length > wanted_length ? length : wanted_length;
        size_t distance = edit_distance(wanted, wanted_length, name, length);
        if (distance < best && (distance <= 2 || distance * 3 <= longer)) {
            best = distance;
            nearest = name;
        }
    }
    return nearest;
}

const char *error_nearest_name(const char *wanted, const char *const *names, int count)
{
    return error_nearest_of(wanted, names, (size_t)count, sizeof *names);
}

void error_list_names(const char *const *names, int count, char *list, size_t size)
{
    size_t used = 0;
    list[0] = '\0';
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%s", i == 0 ? "" : ", ", names[i]);
    utf8_mark_cut(list, size, (int)used);
}

bool error_write(struct error *error, const char *what, int reason)
{
    if (reason == EPIPE)
        return error_run(error, "%s", "");
    return error_run(error, "cannot write %s: %s", what, strerror(reason));
}
