/* Reads the lines of a text file, gzip or plain, one at a time in bounded memory.
 *
 * A byte order mark, CR before LF, and blank lines at the end are accepted. NUL bytes, a line
 * longer than 1 MiB, a damaged or truncated gzip stream, another compression, and a blank line
 * between others are errors.
 */
#ifndef ESGSIM_TRACES_READERS_LINE_READER_H
#define ESGSIM_TRACES_READERS_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

#include "sim/base/error.h"

enum { LINE_LENGTH_MOST = 1 << 20 };

enum line_status { LINE_READ, LINE_END, LINE_FAULT };

struct line_reader {
    const char *path; /* outlives the reader */
    gzFile file;
    char *buffer;
    size_t capacity, begin, end; /* unread bytes: buffer[begin..end) */
    uint64_t line;               /* number of the last line read, from 1 */
    bool words;                  /* white space also ends a "line": for lists of integers */
    bool line_goes_on;           /* the previous word ended at a space */
    const char *hint;            /* ends the message on a line that is too long; may be NULL */
    bool ended;
};

/* Opens a file. The caller zeroes the structure first. ERROR_INPUT if the file cannot be opened. */
bool line_reader_open(struct line_reader *reader, const char *path, struct error *error);
void line_reader_close(struct line_reader *reader);

/* Takes over `from`, opened, of which nothing has been read but by line_reader_peek, and leaves it
 * empty; opens the path if `from` is NULL. */
bool line_reader_take(struct line_reader *reader, struct line_reader *from, const char *path,
                      struct error *error);

/* Reads the next line without its end, NUL-terminated. The caller may modify it until the next
 * call. */
enum line_status line_reader_next(struct line_reader *reader, char **text, struct error *error);

/* A copy of the first line, as line_reader_next will give it; NULL: there is none, or it cannot be
 * read, as the next call will say. Nothing may have been read before. The caller frees. */
char *line_reader_peek(struct line_reader *reader);

/* Cuts a line in place at `separator`, where ' ' stands for any run of blanks, and takes blanks
 * around a field and its quotes away. Returns the number of fields, of which it stores the first
 * `most`; -N if the quote of field N is not closed, or is followed by other text. O(length). */
ptrdiff_t line_cut(char *line, char separator, char **fields, size_t most);

/* Sets ERROR_INPUT "FILE:LINE: message" for the last line read. Returns false. */
bool line_fault(const struct line_reader *reader, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
