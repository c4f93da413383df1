/* Tools of the loaders, which convert a `json_value` into a part of an experiment. All return false
 * with an error. Memory is of the value's arena. */
#ifndef ESGSIM_WORKLOADS_LOAD_LOADER_INTERNAL_H
#define ESGSIM_WORKLOADS_LOAD_LOADER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include <nettle/sha2.h>

#include "sim/base/error.h"
#include "sim/base/json.h"
#include "sim/base/keys.h"
#include "sim/base/parameters.h"

enum { NAME_LIMIT = KEYS_NAME_MOST };

bool path_ends_in(const char *path, const char *ending);

/* Limits of durations in files. Milliseconds: at most four months, so that sums and small multiples
 * of several durations are far below the clock's range. Seconds: at most 30 years; these are not
 * summed. */
#define LIMIT_MS 1e10
#define LIMIT_S 1e9
/* Megabytes: at most 1 PiB. */
#define LIMIT_MB 1e9

/* Allocates a zeroed entry for each of an array, which has low..high. NULL with an error if not. */
void *load_entries(const struct json_value *array, size_t low, size_t high, size_t size,
                   struct error *error);

/* Reports "KEY must be …; did you mean …?" for a name that is not among `names`. Returns false. */
bool load_unknown_name(const struct json_value *value, const char *what, const char *name,
                       const char *const *names, int count, struct error *error);

/* Finds the structure of this name among `count` of them: `first` is the first one's name, the
 * others' are `size` bytes apart. Reports an unknown name at `value`. O(count). */
bool load_index(const struct json_value *value, const char *what, const char *name,
                const char *const *first, size_t count, size_t size, size_t *index,
                struct error *error);

/* Whether the structure behind `count` others has a name of its own; a fault at `value` if not. */
bool load_is_new(const struct json_value *value, const char *what, const char *const *first,
                 size_t count, size_t size, struct error *error);

/* Loads a "params" object as settings, sorted by key, whose texts are the document's. */
bool settings_load(const struct json_value *params, struct setting **settings, size_t *count,
                   struct error *error);

/* Prints one line of JSON with the members of every object sorted by key, which reorders `root`. */
char *json_print_sorted(struct arena *arena, cJSON *root);

/* SHA-256 in hexadecimal. */
void hash_bytes(const char *bytes, size_t size, char hex[65]);
void hash_finish(struct sha256_ctx *context, char hex[65]);

#endif
