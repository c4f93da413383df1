/* Parameters of policies and of keep-alive policies: one table form, one parser, one way back.
 *
 * A policy declares a table of `struct parameter`. A user gives settings, texts and numbers by
 * name. parameters_configure checks settings against a table and fills one double for each
 * parameter.
 */
#ifndef ESGSIM_SCHED_PARAMETERS_H
#define ESGSIM_SCHED_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

/* One parameter of a policy: a number within [low, high], or one of `choices` ("a|b|c", the value
 * is the index). Shown by `esgsim list policies`; set by "policy": {"params": {…}}. */
struct parameter {
    const char *name;
    double fallback; /* the default */
    double low, high;
    const char *choices; /* NULL for a number */
    const char *help;    /* one line, with the evidence grade of the default where it has one */
};

/* One parameter as a user gave it; the table says whether it is valid. */
struct setting {
    char *key;
    char *text; /* NULL where a number (booleans are 0 and 1) */
    double number;
};

/* The table itself is right: names, defaults within their ranges. `owner` ("x.so: policy "p"")
 * opens the message of ERROR_INPUT. */
bool parameters_check(const struct parameter *table, size_t count, const char *owner,
                      struct error *error);

/* Fills values[0..count) with defaults, then with the settings. ERROR_INPUT "WHERE.KEY: …" that
 * says what `owner` ("policy "esg"") would accept. O(settings × parameters). */
bool parameters_configure(const struct parameter *table, size_t count,
                          const struct setting *settings, size_t setting_count, const char *where,
                          const char *owner, double *values, struct error *error);

/* The word of a choice's value, `length` characters of the table's text; NULL where the parameter
 * is a number. */
const char *parameter_word(const struct parameter *parameter, double value, size_t *length);

/* The place of a parameter in the table; `count` where none has the name. */
size_t parameter_index(const struct parameter *table, size_t count, const char *name);

#endif
