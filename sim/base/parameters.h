/* Parameters of scheduling policies and of keep-alive policies: table format, parser and names of
 * values.
 *
 * A policy declares a table of `struct parameter`. A user supplies settings by name, as text or
 * number. parameters_configure checks the settings against the table and fills one double per
 * parameter.
 */
#ifndef ESGSIM_SIM_BASE_PARAMETERS_H
#define ESGSIM_SIM_BASE_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"

/* One parameter of a policy. It is a number within [low, high], or one of `choices` ("a|b|c"; the
 * value is the index). Listed by `esgsim list policies`, set by "policy": {"params": {…}}. */
struct parameter {
    const char *name;
    double fallback; /* the default */
    double low, high;
    const char *choices; /* NULL for a number */
    const char *help;    /* one line, with the evidence grade of the default if it has one */
};

/* One parameter as a user supplied it, not yet checked against a table. */
struct setting {
    char *key;
    char *text; /* NULL for a number (booleans are 0 and 1) */
    double number;
};

/* Checks the table itself: names, and defaults within their ranges. ERROR_INPUT with a message that
 * begins with `owner` ("x.so: policy "p""). */
bool parameters_check(const struct parameter *table, size_t count, const char *owner,
                      struct error *error);

/* Fills values[0..count) with the defaults, then applies the settings. ERROR_INPUT "WHERE.KEY: …"
 * states what `owner` ("policy "esg"") would accept. O(settings × parameters). */
bool parameters_configure(const struct parameter *table, size_t count,
                          const struct setting *settings, size_t setting_count, const char *where,
                          const char *owner, double *values, struct error *error);

/* The name of a choice's value: `length` characters within the table's text. NULL if the parameter
 * is a number. */
const char *parameter_word(const struct parameter *parameter, double value, size_t *length);

/* Index of a parameter in the table; `count` if the table has no such name. */
size_t parameter_index(const struct parameter *table, size_t count, const char *name);

#endif
