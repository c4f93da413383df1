/* JSON output of texts from files, which may contain arbitrary bytes. */
#ifndef ESGSIM_RESULTS_STORE_HDF5_UTF8_H
#define ESGSIM_RESULTS_STORE_HDF5_UTF8_H

#include <cjson/cJSON.h>

#include "sim/base/utf8.h"

/* Adds `text`, such as a file name, to a JSON object. Bytes that are not valid UTF-8 become U+FFFD.
 * False if memory is exhausted. */
bool utf8_add_json(cJSON *object, const char *key, const char *text);

#endif
