/* UTF-8 and control characters in text that comes from files. */
#ifndef ESGSIM_SIM_UTF8_H
#define ESGSIM_SIM_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that `text` begins with, 1 to 4; 0 where it begins with none: a stray or
 * missing continuation byte, a form longer than need be, a surrogate, or past U+10FFFF (RFC 3629).
 * At the end of the text: 1. */
size_t utf8_sequence(const char *text);

/* Whether `text` may be a name: UTF-8 without control characters (C0, DEL and C1). A name appears
 * in tables, on terminals and as one line of a list. O(length). */
bool utf8_is_name(const char *text);

/* Copies `from` to `to` of `capacity` bytes > 0, cut at a whole character. Control characters
 * become \n, \r, \t or \xNN, and so does each byte that is not UTF-8. O(length). */
void utf8_escape(const char *from, char *to, size_t capacity);

#endif
