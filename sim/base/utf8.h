/* UTF-8 and control characters in text that comes from files. */
#ifndef ESGSIM_SIM_BASE_UTF8_H
#define ESGSIM_SIM_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length in bytes of the first character of `text`, 1 to 4. 0 if it is invalid: a stray or missing
 * continuation byte, an overlong form, a surrogate, or beyond U+10FFFF (RFC 3629). 1 at the end of
 * the text. */
size_t utf8_sequence(const char *text);

/* Returns whether `text` may be a name: UTF-8 without control characters (C0, DEL and C1), because
 * names appear in tables, on terminals and in lists with one name per line. O(length). */
bool utf8_is_name(const char *text);

/* Shows that snprintf cut a text of `length` bytes to `capacity`, at least 4: its end becomes "…".
 * No effect on a text that is whole. */
void utf8_mark_cut(char *text, size_t capacity, int length);

/* Copies `from` to `to` of `capacity` >= 4 bytes; the end is "…" if not all fits. Control
 * characters become \n, \r, \t or \xNN, and so does each byte that is not UTF-8. O(length). */
void utf8_escape(const char *from, char *to, size_t capacity);

#endif
