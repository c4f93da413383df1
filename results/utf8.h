/* Text from files that may hold anything, as JSON. */
#ifndef ESGSIM_RESULTS_UTF8_H
#define ESGSIM_RESULTS_UTF8_H

#include <cjson/cJSON.h>

#include "sim/utf8.h"

/* Adds `text`, such as a file's name, to a JSON object, which is UTF-8 whatever the text is: each
 * byte that begins no character becomes U+FFFD. False where memory is out. */
bool utf8_add_json(cJSON *object, const char *key, const char *text);

#endif
