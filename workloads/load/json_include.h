/* A JSON document whose parts may be in other files.
 *
 * Where an input format expects an object, a string names a file that contains it. The document
 * loads that file when the value is first accessed, and replaces the string by the file's root. It
 * records the source file of every part, so that an error message names the file that the user has
 * to correct. A path is relative to the file that contains it, then to the working folder, then to
 * the data folder.
 */
#ifndef ESGSIM_WORKLOADS_LOAD_JSON_INCLUDE_H
#define ESGSIM_WORKLOADS_LOAD_JSON_INCLUDE_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sim/base/error.h"
#include "sim/base/json.h"

struct json_include_source {
    const cJSON *node;     /* root of the part; NULL once replaced */
    const char *path;      /* json_value.file of the part's values points to this */
    const char *directory; /* of that file */
};

struct inputs; /* workloads/load/inputs.h */

struct json_include {
    struct arena *arena;   /* of the document, and of what is loaded from it */
    struct inputs *inputs; /* cache of input files */
    cJSON *root;
    struct json_include_source *sources; /* [0]: the document's own file */
    size_t source_count;
};

/* Open a file (searched in the working folder, then in the data folder), or parse text as if it
 * were a file `name` in `directory`. The document lives as long as the arena. `inputs` may be
 * NULL: then the document has a cache of its own. */
bool json_include_open(struct json_include *document, struct arena *arena, struct inputs *inputs,
                       const char *path, struct error *error);
bool json_include_parse(struct json_include *document, struct arena *arena, struct inputs *inputs,
                        const char *text, const char *name, const char *directory,
                        struct error *error);

struct json_value json_include_root(const struct json_include *document);

/* Sets the value at a dotted key. Array entries are given by number; missing objects are created. A
 * file named on the way is loaded first. The value is parsed as JSON; if that fails, it is taken as
 * a string. */
bool json_include_override(struct json_include *document, const char *key, const char *value,
                           struct error *error);

/* Get the member of an object, or the entry of an array. A string that names a file is replaced by
 * the file's content, and the path of `child` is then relative to that file's root. For a missing
 * member the result is true with child->node NULL. */
bool json_include_member(struct json_include *document, const struct json_value *object,
                         const char *key, struct json_value *child, struct error *error);
bool json_include_entry(struct json_include *document, const struct json_value *array, size_t index,
                        struct json_value *child, struct error *error);

/* The path of the file that the string `value` names. NULL with an error that lists the folders
 * searched and the nearest existing name. */
char *json_include_find_file(const struct json_include *document, const struct json_value *value,
                             struct error *error);

/* The directory of the file that contains the value. */
const char *json_include_directory(const struct json_include *document,
                                   const struct json_value *value);

/* $ESGSIM_DATA, or the compiled-in folder. */
const char *json_include_data_directory(void);

/* The path of a file named on the command line: `path` itself if it exists, else the path under the
 * data folder. NULL if neither exists. */
char *json_include_find_operand(struct arena *arena, const char *path);

/* The same; `path` itself if neither exists. */
const char *json_include_operand(struct arena *arena, const char *path);

/* As json_include_find_operand, or the path of the shipped experiment or sweep of that name. */
char *json_include_find_document(struct arena *arena, const char *path);

/* "directory/name"; `name` alone if it is absolute or `directory` is ".". */
char *json_include_join(struct arena *arena, const char *directory, const char *name);

#endif
