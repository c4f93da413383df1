/* UTF-8 from files that may hold anything. */
#ifndef ESGSIM_RESULTS_UTF8_H
#define ESGSIM_RESULTS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

/* Bytes of the character that `text` begins with, 1 to 4; 0 where it begins with none: a stray or
 * missing continuation byte, a form longer than need be, a surrogate, or past U+10FFFF (RFC 3629).
 * At the end of the text: 1. */
size_t utf8_sequence(const char *text);

/* Adds `text`, such as a file's name, to a JSON object, which is UTF-8 whatever the text is: each
 * byte that begins no character becomes U+FFFD. False where memory is out. */
bool utf8_add_json(cJSON *object, const char *key, const char *text);

#endif
