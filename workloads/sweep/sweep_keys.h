/* The keys that a sweep sets, and their values in each run: one column each in the results file.
 *
 * The matrix gives every run a value per key. An object sets one key per member
 * ("arrivals.low_ms"). An object that usually is a file (a cluster, a profile) is one value, its
 * JSON text. A file is its name as the sweep has it. A list of named settings is a key, too: its
 * value is the name.
 */
#ifndef ESGSIM_WORKLOADS_SWEEP_SWEEP_KEYS_H
#define ESGSIM_WORKLOADS_SWEEP_SWEEP_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sim/base/error.h"

enum { SWEEP_KEYS_LIMIT = 256 };

struct arena;
struct sweep_plan;

struct sweep_key {
    const char *name; /* dotted: "slo.factor" */
    bool number;      /* all its values are numbers */
    size_t length;    /* bytes of its longest text */
    size_t dimension; /* of the plan, which sets it: no other does */
};

struct sweep_keys {
    struct sweep_key *keys; /* in order of appearance in the matrix */
    size_t count;
    struct sweep_choice *choices; /* the values of all dimensions, one after the other */
    size_t choice_count;
    size_t *dimensions; /* per dimension: its number of values */
    size_t dimension_count;
};

/* Finds the keys of the matrix. NULL: ERROR_INPUT if there are more than SWEEP_KEYS_LIMIT, if a
 * value holds a control character, or if one value replaces another: two dimensions, or two keys of
 * one row, set the same key. O(values × keys). */
struct sweep_keys *sweep_keys_find(struct arena *arena, const struct sweep_plan *plan,
                                   struct error *error);

/* Stores the text of each key's value in that combination of the matrix, NULL where it sets none.
 * The texts belong to `keys`. O(keys × values that the combination sets). */
void sweep_keys_values(const struct sweep_keys *keys, size_t combination, const char **values);

/* Calls `each` with the dotted name and the text of a value, or of each member at every depth of an
 * object, unless `is_leaf` takes the object as one value. A string's text is itself, another
 * value's its JSON. False if `each` fails. */
bool sweep_each_leaf(struct arena *arena, const char *name, const cJSON *value,
                     bool (*is_leaf)(const char *name),
                     bool (*each)(void *context, const char *name, const char *text,
                                  const cJSON *value),
                     void *context);

/* Returns whether the key is that of a list of named settings, which is no key of an experiment. */
bool sweep_key_is_list(const char *key);

/* Returns whether a value set at `key` replaces an earlier one at `earlier`: the same key, or a
 * parent of it. */
bool sweep_key_replaces(const char *key, const char *earlier);

#endif
