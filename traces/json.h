/* Reading JSON strictly: every loader's front door.
 *
 * Parsing is cJSON's; what this adds is that a fault is told in one line a user can act on: the
 * file, the JSON path of the value (line and column for a syntax error), what is wrong, what would
 * be right and, for an unknown key or name, the nearest valid one.
 *
 * A `json_value` is a place in a document: the cJSON node and its path. Absent optional keys leave
 * the caller's default untouched, so loaders read as tables of "key, range, default".
 */
#ifndef ESGSIM_TRACES_JSON_H
#define ESGSIM_TRACES_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sim/error.h"

enum { JSON_PATH_LENGTH = 256 };

struct json_value {
    const char *file; /* as named in messages; outlives the value */
    const cJSON *node;
    char path[JSON_PATH_LENGTH]; /* "policy.params.k", "stages[2].after"; "" for the root */
};

/* The whole file as text (NUL-terminated, caller frees), at most 256 MiB; gzip is not read here.
 * NUL bytes and files that are not regular are refused. `size` may be NULL. */
char *json_read_text(const char *path, size_t *size, struct error *error);

/* Parse text; NULL with "FILE:LINE:COLUMN: …" on a syntax error (trailing text included), on
 * nesting deeper than 64, on numbers beyond a double, on text that is not UTF-8; and with the JSON
 * path on a key given twice in any object, and on a number that a double would turn into another
 * whole number of at most 2^53. The caller frees with cJSON_Delete. */
cJSON *json_parse(const char *text, const char *file, struct error *error);
cJSON *json_parse_file(const char *path, struct error *error);

struct json_value json_root(const char *file, const cJSON *root);

/* ERROR_INPUT "FILE: PATH: message". Returns false. */
bool json_fault(const struct json_value *value, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The value is an object, has only keys of `keys` (NULL-terminated; NULL: any) and none twice. */
bool json_is_object(const struct json_value *value, const char *const *keys, struct error *error);
/* The value is an array with low..high entries. */
bool json_is_array(const struct json_value *value, size_t low, size_t high, struct error *error);
size_t json_size(const struct json_value *value);

/* Child by key: true and `child` filled where it is there. */
bool json_child(const struct json_value *value, const char *key, struct json_value *child);
/* Child that must be there. */
bool json_require(const struct json_value *value, const char *key, struct json_value *child,
                  struct error *error);
/* Entry `index` < json_size(array). O(index): walk long arrays with json_first and json_after. */
struct json_value json_entry(const struct json_value *array, size_t index);

/* Members of an object or entries of an array in order, O(1) a step; `node` is NULL past the last.
 * `index` is the position of the one asked for, and names it in an array:
 *   size_t i = 0;
 *   for (v = json_first(&p); v.node != NULL; v = json_after(&p, &v, ++i)) … */
struct json_value json_first(const struct json_value *parent);
struct json_value json_after(const struct json_value *parent, const struct json_value *child,
                             size_t index);

/* A fault in a number told as a range says "at least" where `high` is infinite. Whole numbers are
 * exact up to 2^53, more is refused.
 *
 * Optional members: absent leaves *out untouched and succeeds; wrong type or range is a fault.
 * Numbers must be finite. Strings are those of json_as_string, strdup'd (an earlier *out is freed).
 */
bool json_number(const struct json_value *object, const char *key, double low, double high,
                 double *out, struct error *error);
bool json_integer(const struct json_value *object, const char *key, int64_t low, int64_t high,
                  int64_t *out, struct error *error);
bool json_bool(const struct json_value *object, const char *key, bool *out, struct error *error);
bool json_string(const struct json_value *object, const char *key, char **out, struct error *error);
/* Index into NULL-terminated `choices`. */
bool json_choice(const struct json_value *object, const char *key, const char *const *choices,
                 int *out, struct error *error);

/* The value itself as a finite number in range / integer / string (not copied). */
bool json_as_number(const struct json_value *value, double low, double high, double *out,
                    struct error *error);
bool json_as_integer(const struct json_value *value, int64_t low, int64_t high, int64_t *out,
                     struct error *error);
/* Without control characters: names and paths are strings of that kind. */
const char *json_as_string(const struct json_value *value, struct error *error);
/* Any string, such as a note of several lines. */
const char *json_as_text(const struct json_value *value, struct error *error);

/* Whether `name`, the value's own string or its key, is without control characters. */
bool json_is_name(const struct json_value *value, const char *name, struct error *error);

/* ---- Writing ---- */

/* A whole number with all its digits, where cJSON_CreateNumber keeps 15. NULL without memory. */
cJSON *json_whole(uint64_t number);

#endif
