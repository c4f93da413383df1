/* Checks text for faults that cJSON accepts or reports imprecisely, before cJSON parses it. Private
 * to sim/base/json.c. */
#ifndef ESGSIM_SIM_BASE_JSON_SCAN_H
#define ESGSIM_SIM_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"

/* cJSON stores numbers as doubles, which represent whole numbers exactly only up to 2^53. */
#define JSON_EXACT_LIMIT 9007199254740992.0

/* A rounded number found by the scan. Only the parsed document can give its JSON path. */
struct json_numbers {
    size_t count;   /* numbers scanned so far */
    size_t rounded; /* position, counted from 1, of the first that a double rounds to another whole
                       number of at most 2^53; 0: none */
    const char *text; /* start of that number in the text */
};

/* False with "FILE:LINE:COLUMN: ..." on control characters, NUL or invalid UTF-8 inside a string, a
 * number outside JSON's grammar or beyond the range of a double, or nesting deeper than 64. The
 * caller zeroes `numbers` first. O(length). */
bool json_scan(const char *file, const char *text, struct json_numbers *numbers,
               struct error *error);

/* Sets ERROR_INPUT "FILE:LINE:COLUMN: what" for the position `where` in `text`. Returns false.
 * O(length). */
bool json_fault_at(const char *file, const char *text, const char *where, const char *what,
                   struct error *error);

#endif
