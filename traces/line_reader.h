/* Lines of a text file, gzip or plain, one at a time in bounded memory.
 *
 * A byte order mark, CR before LF and blank lines at the end are accepted. NUL bytes, a line above
 * 1 MiB, a damaged or cut gzip stream and a blank line between others are faults.
 */
#ifndef ESGSIM_TRACES_LINE_READER_H
#define ESGSIM_TRACES_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

#include "sim/error.h"

enum { LINE_LENGTH_MOST = 1 << 20 };

enum line_status { LINE_READ, LINE_END, LINE_FAULT };

struct line_reader {
    const char *path; /* outlives the reader */
    gzFile file;
    char *buffer;
    size_t capacity, begin, end; /* unread bytes are buffer[begin..end) */
    uint64_t line;               /* number of the line last read, from 1 */
    bool words;                  /* spaces end a "line" too: integers separated by any blanks */
    bool line_goes_on;           /* the word before ended at a space */
    bool ended;
};

/* A reader at the file's beginning; ERROR_INPUT where it cannot be opened. Zero the structure
 * first. */
bool line_reader_open(struct line_reader *reader, const char *path, struct error *error);
void line_reader_close(struct line_reader *reader);

/* The next line without its end, NUL-terminated, the caller's to change until the next call. */
enum line_status line_reader_next(struct line_reader *reader, char **text, struct error *error);

/* ERROR_INPUT "FILE:LINE: message" about the line last read. Returns false. */
bool line_fault(const struct line_reader *reader, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
