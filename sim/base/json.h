/* Strict reading of JSON, used by all loaders.
 *
 * cJSON parses. A tree is whole: where memory is exhausted the process ends, as with arena_create
 * (sim/base/arena.h), so cJSON's functions do not fail for want of memory. This module adds error
 * messages on one line that a user can act on. A message gives the file, the JSON path of the value
 * (line and column for a syntax error), the fault, the valid values and, for an unknown key or
 * name, the nearest valid one.
 *
 * A `json_value` is a cJSON node with its path. An absent optional key leaves the caller's default
 * unchanged, so a loader reads like a table of "key, range, default".
 */
#ifndef ESGSIM_SIM_BASE_JSON_H
#define ESGSIM_SIM_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sim/base/error.h"

struct arena;

enum { JSON_PATH_LENGTH = 256 };

struct json_value {
    const char *file; /* the name for messages; outlives the value */
    const cJSON *node;
    struct arena *arena;         /* of what is loaded from it; NULL: nothing is */
    size_t index;                /* among the members or entries, as json_next counts them */
    char path[JSON_PATH_LENGTH]; /* "policy.params.k", "stages[2].after"; "" for the root */
};

/* Reads a whole file of at most 256 MiB as NUL-terminated text, which the caller frees. Refuses NUL
 * bytes and files that are not regular; does not read gzip. `size` may be NULL. */
char *json_read_text(const char *path, size_t *size, struct error *error);

/* Parses text. The caller frees the result with cJSON_Delete. Returns NULL with "FILE:LINE:COLUMN:
 * …" on a syntax error, trailing text, nesting deeper than 64, a number beyond the range of a
 * double, or text that is not UTF-8. Returns NULL with the JSON path on a duplicate key in any
 * object, and on a whole number that a double would round to a different whole number of at most
 * 2^53. */
cJSON *json_parse(const char *text, const char *file, struct error *error);
cJSON *json_parse_file(const char *path, struct error *error);

/* The same into an arena, which deletes the result. */
cJSON *json_parse_into(struct arena *arena, const char *text, const char *file,
                       struct error *error);

struct json_value json_root(const char *file, const cJSON *root);
/* The root of a file, which lives as long as the arena, as does what is loaded from it. `path`
 * outlives it. Its node is NULL after an error. */
struct json_value json_load(struct arena *arena, const char *path, struct error *error);

/* ERROR_INPUT "FILE: PATH: message". Returns false. */
bool json_fault(const struct json_value *value, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Checks that the value is an object with keys only from `keys` (NULL-terminated; NULL: any). */
bool json_is_object(const struct json_value *value, const char *const *keys, struct error *error);
/* Checks that the value is an array with low..high entries. */
bool json_is_array(const struct json_value *value, size_t low, size_t high, struct error *error);
size_t json_size(const struct json_value *value);

/* Returns whether the object has the key, and if so sets `child`. */
bool json_child(const struct json_value *value, const char *key, struct json_value *child);
/* Like json_child, but an absent key is a fault. */
bool json_require(const struct json_value *value, const char *key, struct json_value *child,
                  struct error *error);
/* Entry `index` < json_size(array). O(index): for long arrays use json_next. */
struct json_value json_entry(const struct json_value *array, size_t index);

/* The next member of an object or entry of an array, after `child`; the first if it has no node.
 * False past the last. O(1).
 *   for (struct json_value v = {0}; json_next(&parent, &v);) … v.index …
 */
bool json_next(const struct json_value *parent, struct json_value *child);

/* Optional members. An absent key leaves *out unchanged and succeeds. A wrong type or range is a
 * fault; its message says "at least" if `high` is infinite.
 *
 * Numbers must be finite. Integers are exact up to 2^53, and larger ones are refused. Strings
 * follow the rules of json_as_string and are copied by strdup; an earlier *out is freed.
 */
bool json_number(const struct json_value *object, const char *key, double low, double high,
                 double *out, struct error *error);
bool json_integer(const struct json_value *object, const char *key, int64_t low, int64_t high,
                  int64_t *out, struct error *error);
bool json_bool(const struct json_value *object, const char *key, bool *out, struct error *error);
bool json_string(const struct json_value *object, const char *key, char **out, struct error *error);
/* As json_string, without a copy: *out lives as long as the document. */
bool json_text(const struct json_value *object, const char *key, const char **out,
               struct error *error);
/* Stores the index into NULL-terminated `choices`. */
bool json_choice(const struct json_value *object, const char *key, const char *const *choices,
                 int *out, struct error *error);

/* Measured samples, which stand for a distribution that gives each equal probability. */
struct json_samples {
    double *values; /* NULL: none */
    size_t count;
    double mean;
    double cv; /* standard deviation over the samples / mean; 0 if the mean is 0 */
};

/* Loads the object's "samples_ms", an array of 1..10^6 numbers in 0..high. A "mean", "mean_ms" or
 * "cv" beside it is a fault. */
bool json_samples(const struct json_value *object, double high, struct json_samples *samples,
                  struct error *error);

/* The value itself as a finite number or an integer within the range. */
bool json_as_number(const struct json_value *value, double low, double high, double *out,
                    struct error *error);
bool json_as_integer(const struct json_value *value, int64_t low, int64_t high, int64_t *out,
                     struct error *error);
/* The value as a string without control characters, for names and paths. Not copied. NULL: a fault.
 */
const char *json_as_string(const struct json_value *value, struct error *error);
/* The value as any string, such as a note of several lines. Not copied. NULL: a fault. */
const char *json_as_text(const struct json_value *value, struct error *error);

/* Reports "FAULT; did you mean …?" or, if no name is near, "FAULT; known are …". Returns false. */
bool json_fault_unknown(const struct json_value *value, const char *fault, const char *name,
                        const char *const *names, int count, struct error *error);

/* Checks that `name`, the value's own string or its key, has no control characters. */
bool json_is_name(const struct json_value *value, const char *name, struct error *error);

/* ---- Recording ----
 * Loaders tell a recorder what they ask of a document, from which the schemas of workloads/schemas/
 * are generated. */

/* A question about a member `key` of the value, which may be absent; NULL: about the value itself:
 * "object" with keys only from `words` (NULL-terminated; NULL: any), "array" with low..high
 * entries, "number" or "integer" within low..high, "boolean", "string", "choice" of one of `words`,
 * "file": a string may name a file that has the value, "key": an object that has the key. */
typedef void json_recorder(void *context, const char *ask, const struct json_value *value,
                           const char *key, double low, double high, const char *const *words);

/* Sets the recorder; NULL: none, as at the start. It is global, and meant for one thread. */
void json_record(json_recorder *recorder, void *context);

/* Tells the recorder, if there is one. */
void json_asked(const char *ask, const struct json_value *value, const char *key, double low,
                double high, const char *const *words);

/* ---- Writing ---- */

/* A whole number with all its digits; cJSON_CreateNumber keeps only 15. */
cJSON *json_whole(uint64_t number);

#endif
