/* Reads the lines of a text file, gzip or plain, one at a time in bounded memory.
 *
 * A byte order mark, CR before LF, and blank lines at the end are accepted. NUL bytes, a line
 * longer than 1 MiB, a damaged or truncated gzip stream, and a blank line between others are
 * errors.
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

/* Reads the next line without its end, NUL-terminated. The caller may modify it until the next
 * call. */
enum line_status line_reader_next(struct line_reader *reader, char **text, struct error *error);

/* Cuts a line in place at each of the characters of `separators`; runs of blanks count as one
 * separator if it begins with a blank. Returns the number of fields, of which it stores the first
 * `most`. O(length). */
size_t line_cut(char *line, const char *separators, char **fields, size_t most);

/* Cuts the first field off *rest, in place, without its quotes. *rest is NULL after the last field.
 * NULL if a quote is not closed, or is followed by other text. O(length). */
char *line_cut_field(char **rest, char separator);

/* Sets ERROR_INPUT "FILE:LINE: message" for the last line read. Returns false. */
bool line_fault(const struct line_reader *reader, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
