/* A JSON document whose parts may lie in other files.
 *
 * Where an input format expects an object, a string names a file that holds it. A document loads
 * such a file in place of the string when the place is first entered, and remembers for every
 * loaded part which file it came from, so that a fault is told with the file the user has to mend.
 * A path is relative to the file that names it, then to the working folder, then to the data
 * folder.
 */
#ifndef ESGSIM_WORKLOADS_DOCUMENT_H
#define ESGSIM_WORKLOADS_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sim/error.h"
#include "traces/json.h"
#include "workloads/experiment.h"

struct document_source {
    const cJSON *node; /* root of the part; NULL once replaced */
    char *path;        /* what json_value.file of the part's values points to */
    char *directory;   /* of that file */
};

struct inputs; /* workloads/inputs.h */

struct document {
    struct inputs *inputs; /* that files are read through; NULL: each time anew */
    cJSON *root;
    struct document_source *sources; /* [0]: the document's own file */
    size_t source_count;
};

/* Opens a file (looked for in the working folder, then in the data folder), or takes text that
 * stands for a file `name` in `directory`. `inputs` may be NULL. On failure nothing is left to
 * close. */
bool document_open_with(struct document *document, struct inputs *inputs, const char *path,
                        struct error *error);
bool document_open(struct document *document, const char *path, struct error *error);
bool document_parse(struct document *document, const char *text, const char *name,
                    const char *directory, struct error *error);
void document_close(struct document *document);

struct json_value document_root(const struct document *document);

/* Sets the value at a dotted key, array entries by number, objects created on the way. A file named
 * on the way is loaded first. The value is JSON text, or taken for a string where it is none. */
bool document_override(struct document *document, const char *key, const char *value,
                       struct error *error);

/* Member of an object, or entry of an array, loaded from its file where it is a string. `child`
 * then counts its path from that file's root. A member that is not there: true with child->node
 * NULL. */
bool document_member(struct document *document, const struct json_value *object, const char *key,
                     struct json_value *child, struct error *error);
bool document_entry(struct document *document, const struct json_value *array, size_t index,
                    struct json_value *child, struct error *error);

/* Path (caller frees) of the file that `value`, a string, names; NULL with a fault that lists where
 * it was looked for and the nearest name there. */
char *document_find_file(const struct document *document, const struct json_value *value,
                         struct error *error);

/* The directory of the file a value came from. */
const char *document_directory(const struct document *document, const struct json_value *value);

/* $ESGSIM_DATA, or the folder compiled in. */
const char *document_data_directory(void);

/* Path (caller frees) of a file that the command line names: `path` itself where that exists, else
 * under the data folder; NULL where neither does. */
char *document_find_operand(const char *path);

/* "directory/name", or a copy of `name` where it is absolute or `directory` is "."; caller frees.
 */
char *document_join(const char *directory, const char *name);

#endif
