#include "traces/readers/line_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/array.h"
#include "sim/base/utf8.h"

enum { CHUNK = 1 << 16 };

bool line_fault(const struct line_reader *reader, struct error *error, const char *format, ...)
{
    char message[sizeof error->message];
    va_list args;
    va_start(args, format);
    utf8_mark_cut(message, sizeof message, vsnprintf(message, sizeof message, format, args));
    va_end(args);
    return error_input(error, "%s:%llu: %s", reader->path, (unsigned long long)reader->line,
                       message);
}

bool line_reader_open(struct line_reader *reader, const char *path, struct error *error)
{
    struct stat status;
    reader->path = path;
    if (stat(path, &status) != 0)
        return error_input(error, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return error_input(error, "%s: is a folder; name a file", path);
    reader->file = gzopen(path, "rb");
    if (reader->file == NULL)
        return error_input(error, "%s: cannot be read: %s", path,
                           errno != 0 ? strerror(errno) : "out of memory");
    (void)gzbuffer(reader->file, CHUNK);
    reader->capacity = 2 * CHUNK;
    reader->buffer = malloc(reader->capacity);
    if (reader->buffer == NULL)
        return error_run(error, "%s: out of memory", path);
    return true;
}

void line_reader_close(struct line_reader *reader)
{
    if (reader->file != NULL)
        (void)gzclose(reader->file);
    free(reader->buffer);
    *reader = (struct line_reader){0};
}

bool line_reader_take(struct line_reader *reader, struct line_reader *from, const char *path,
                      struct error *error)
{
    if (from == NULL)
        return line_reader_open(reader, path, error);
    *reader = *from;
    reader->path = path;
    *from = (struct line_reader){.path = NULL};
    return true;
}

/* Makes room for another chunk after the unread bytes. */
static bool make_room(struct line_reader *reader, struct error *error)
{
    memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
    reader->end -= reader->begin;
    reader->begin = 0;
    if (reader->capacity - reader->end > CHUNK)
        return true;
    return array_reserve(&reader->buffer, &reader->capacity, reader->capacity + 1, 1) ||
           error_run(error, "%s: out of memory", reader->path);
}

/* Refuses what is no text, by its first bytes. */
static bool is_readable(const struct line_reader *reader, struct error *error)
{
    static const struct {
        const char *mark, *what, *by;
    } others[] = {{"BZh", "compressed by bzip2", "bzip2 -dc"},
                  {"\xFD"
                   "7zXZ",
                   "compressed by xz", "xz -dc"},
                  {"\x28\xB5\x2F\xFD", "compressed by zstd", "zstd -dc"},
                  {"PK\x03\x04", "a zip archive", "unzip -p"},
                  {"\xFF\xFE", "UTF-16", "iconv -f UTF-16 -t UTF-8"},
                  {"\xFE\xFF", "UTF-16", "iconv -f UTF-16 -t UTF-8"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (reader->end >= strlen(others[i].mark) &&
            memcmp(reader->buffer, others[i].mark, strlen(others[i].mark)) == 0)
            return error_input(error, "%s: is %s; give its text, as by <(%s FILE)", reader->path,
                               others[i].what, others[i].by);
    return true;
}

/* Leaves one byte free after the data, for the NUL of the last line. */
static bool read_chunk(struct line_reader *reader, struct error *error)
{
    if (!make_room(reader, error))
        return false;
    int count = gzread(reader->file, reader->buffer + reader->end, CHUNK);
    if (count > 0) {
        reader->end += (size_t)count;
        return true;
    }
    int status = Z_OK;
    const char *what = gzerror(reader->file, &status);
    if (status == Z_ERRNO)
        return error_input(error, "%s: cannot be read: %s", reader->path, strerror(errno));
    reader->line++;
    if (status == Z_BUF_ERROR)
        return line_fault(reader, error, "the gzip stream ends early; fetch the file again");
    if (count < 0) {
        /* zlib prefixes its message with the path, which our message already has. */
        size_t prefix = strlen(reader->path);
        if (strncmp(what, reader->path, prefix) == 0 && strncmp(what + prefix, ": ", 2) == 0)
            what += prefix + 2;
        return line_fault(reader, error, "the gzip stream is damaged (%s); fetch the file again",
                          what);
    }
    reader->line--;
    reader->ended = true;
    return true;
}

/* Length of the next line, without its end byte. *found is false if the file ends first. */
static size_t line_length(const struct line_reader *reader, size_t from, bool *found)
{
    const char *text = reader->buffer + reader->begin;
    size_t length = reader->end - reader->begin;
    *found = true;
    if (!reader->words) {
        const char *end = memchr(text + from, '\n', length - from);
        if (end != NULL)
            return (size_t)(end - text);
    } else {
        for (size_t i = from; i < length; i++)
            if (text[i] == '\n' || text[i] == ' ' || text[i] == '\t')
                return i;
    }
    *found = false;
    return length;
}

/* Reads until a whole line is in the buffer, and stores its length. */
static enum line_status gather_line(struct line_reader *reader, size_t *length, struct error *error)
{
    size_t searched = 0;
    for (;;) {
        bool found = false;
        if (reader->line == 0 && reader->begin == 0 && !is_readable(reader, error))
            return LINE_FAULT;
        *length = line_length(reader, searched, &found);
        if (*length > LINE_LENGTH_MOST) {
            reader->line++;
            (void)line_fault(reader, error, "the line is longer than 1 MiB%s",
                             reader->hint == NULL ? "" : reader->hint);
            return LINE_FAULT;
        }
        if (found)
            return LINE_READ;
        if (reader->ended)
            return *length == 0 ? LINE_END : LINE_READ;
        searched = *length;
        if (!read_chunk(reader, error))
            return LINE_FAULT;
    }
}

static char *strip_mark(const struct line_reader *reader, char *text)
{
    return reader->line == 1 && strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
}

enum line_status line_reader_next(struct line_reader *reader, char **text, struct error *error)
{
    uint64_t blank = 0;
    for (;;) {
        size_t length = 0;
        enum line_status status = gather_line(reader, &length, error);
        if (status != LINE_READ)
            return status;
        char *line = reader->buffer + reader->begin;
        bool last = reader->begin + length == reader->end;
        reader->begin += length + (last ? 0 : 1);
        if (!reader->line_goes_on)
            reader->line++;
        reader->line_goes_on = !last && line[length] != '\n';
        if (memchr(line, '\0', length) != NULL) {
            (void)line_fault(reader, error, "holds a NUL byte; a trace is text");
            return LINE_FAULT;
        }
        if (length > 0 && line[length - 1] == '\r')
            length--;
        line[length] = '\0';
        if (length == 0) {
            blank = blank == 0 ? reader->line : blank;
            continue;
        }
        if (blank != 0 && !reader->words) {
            reader->line = blank;
            (void)line_fault(reader, error, "the line is empty; remove it");
            return LINE_FAULT;
        }
        *text = strip_mark(reader, line);
        return LINE_READ;
    }
}

char *line_reader_peek(struct line_reader *reader)
{
    struct error fault = {0};
    size_t length = 0;
    const uint64_t line = reader->line;
    const enum line_status status = gather_line(reader, &length, &fault);
    reader->line = line;
    if (status != LINE_READ)
        return NULL;
    const char *text = reader->buffer + reader->begin;
    const size_t mark = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    char *copy = strndup(text + mark, length - mark);
    if (copy != NULL)
        copy[strcspn(copy, "\r")] = '\0';
    return copy;
}

static bool is_blank(char c, char separator)
{
    return c == ' ' || (c == '\t' && separator != '\t');
}

/* Takes the quotes off the field at `in`. The end of its text behind them; NULL: no closing quote.
 */
static char *unquote(char *in, char **end)
{
    char *out = in++;
    for (; *in != '"' || in[1] == '"'; in++) {
        if (*in == '\0')
            return NULL;
        in += *in == '"';
        *out++ = *in;
    }
    *end = out;
    return in + 1;
}

ptrdiff_t line_cut(char *line, char separator, char **fields, size_t most)
{
    ptrdiff_t count = 0;
    for (char *at = line; at != NULL;) {
        while (is_blank(*at, separator))
            at++;
        if (separator == ' ' && *at == '\0' && count > 0)
            break;
        char *field = at, *end = NULL;
        count++;
        if (*field == '"' && (at = unquote(field, &end)) == NULL)
            return -count;
        while (*at != '\0' && *at != separator && !(separator == ' ' && *at == '\t')) {
            if (end != NULL && !is_blank(*at, separator))
                return -count;
            at++;
        }
        if (end == NULL)
            for (end = at; end > field && is_blank(end[-1], separator);)
                end--;
        at = *at == '\0' ? NULL : at + 1;
        *end = '\0';
        if ((size_t)count <= most)
            fields[count - 1] = field;
    }
    return count;
}
