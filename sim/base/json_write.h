/* Writing JSON with cJSON: several members in one call, and the whole as text. */
#ifndef ESGSIM_SIM_BASE_JSON_WRITE_H
#define ESGSIM_SIM_BASE_JSON_WRITE_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/base/error.h"

struct arena;

/* Adds members to an object. `members` has a key and a conversion of printf for each, all separated
 * by blanks, so that the compiler checks the types: "name %s share %g". %s adds a string, nothing
 * for NULL; %g a number, null if it is not finite; %d, %u and %zu a whole number; %hhd true or
 * false; PRIu64 a whole number with all its digits. Does nothing if `object`
 * is NULL. */
void json_put(cJSON *object, const char *members, ...) __attribute__((format(printf, 2, 3)));

/* Adds `text`, such as a file name, to an object. Bytes that are not valid UTF-8 become U+FFFD. */
void utf8_add_json(cJSON *object, const char *key, const char *text);

/* The value as one line, in the arena. */
char *json_print(struct arena *arena, const cJSON *root);

/* Appends an empty object to an array and returns it. */
cJSON *json_append(cJSON *array);

/* Writes the value and a line end, and deletes it. ERROR_RUN if the stream has failed; `what` names
 * the output in the message. */
bool json_write(cJSON *root, FILE *out, const char *what, struct error *error);

#endif
