/* What cJSON is lenient or imprecise about, checked in a text before cJSON sees it; not for other
 * modules than traces/json.c. */
#ifndef ESGSIM_TRACES_JSON_SCAN_H
#define ESGSIM_TRACES_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

/* Whole numbers beyond 2^53 do not survive the double that cJSON keeps them in. */
#define JSON_EXACT_LIMIT 9007199254740992.0

/* What the scan finds that only the parsed document can tell the place of. */
struct json_numbers {
    size_t count;     /* met so far */
    size_t rounded;   /* the first that a double would turn into another whole number of at most
                         2^53, counted from 1; 0: none */
    const char *text; /* where that one begins */
};

/* False with "FILE:LINE:COLUMN: ..." on control characters, NUL and broken UTF-8 inside a string,
 * on a number that is none of JSON's grammar or beyond a double, on nesting deeper than 64. Zero
 * `numbers` first. O(length). */
bool json_scan(const char *file, const char *text, struct json_numbers *numbers,
               struct error *error);

/* ERROR_INPUT "FILE:LINE:COLUMN: what" about the place `where` in `text`. Returns false. O(length).
 */
bool json_fault_at(const char *file, const char *text, const char *where, const char *what,
                   struct error *error);

#endif
