/* Parameters of scheduling policies and of keep-alive policies: their checks and their values.
 *
 * A policy declares a structure, and a table with one line for each field:
 *
 *     static const struct key edf_parameters[] = {
 *         PARAMETER_NUMBER(edf, reserve, 0, 0.9, 0.1, "part of the SLO that is kept"), KEY_END};
 *
 * A user supplies settings by name, as text or number. parameters_configure checks the settings
 * against the table and fills one double per parameter: a number, or the index of a word.
 * parameters_fill sets the fields of the structure.
 */
#ifndef ESGSIM_SIM_BASE_PARAMETERS_H
#define ESGSIM_SIM_BASE_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"
#include "sim/base/keys.h"

/* Lines of a policy's table, ended by KEY_END. `field` is the parameter's name and the field of
 * struct POLICY_parameters that has its value; `text` is its help, with the evidence grade of the
 * default if it has one. A double; a whole number; a sim_time_t given in seconds or milliseconds;
 * an enumeration or a bool given by one of WORDS; a bool that is "off" or "on". */
#define PARAMETER_NUMBER(policy, field, least, most, value, text)                                  \
    KEY_NUMBER(#field, policy##_parameters, field, least, most, value, .help = (text))
#define PARAMETER_WHOLE(policy, field, least, most, value, text)                                   \
    KEY_WHOLE(#field, policy##_parameters, field, least, most, value, .help = (text))
#define PARAMETER_SECONDS(policy, field, least, most, value, text)                                 \
    KEY_SECONDS(#field, policy##_parameters, field, least, most, value, .help = (text))
#define PARAMETER_MS(policy, field, least, most, value, text)                                      \
    KEY_MILLISECONDS(#field, policy##_parameters, field, least, most, value, .help = (text))
#define PARAMETER_WORD(policy, field, words, value, text)                                          \
    KEY_WORD(#field, policy##_parameters, field, words, value, .help = (text))
#define PARAMETER_SWITCH(policy, field, value, text)                                               \
    PARAMETER_WORD(policy, field, WORDS("off", "on"), value, text)

/* Room for the words of a parameter as text. */
enum { PARAMETER_WORDS = 512 };

/* One parameter as a user supplied it, not yet checked against a table. */
struct setting {
    const char *key;
    const char *text; /* NULL for a number (booleans are 0 and 1) */
    double number;
};

/* Checks the table itself: kinds, names, fields within a structure of `bytes`, and defaults within
 * their ranges. ERROR_INPUT with a message that begins with `owner` ("x.so: policy "p""). */
bool parameters_check(const struct key *table, size_t bytes, const char *owner,
                      struct error *error);

/* Fills values[0..keys_count) with the defaults, then applies the settings. ERROR_INPUT
 * "WHERE.KEY: …" states what `owner` ("policy "esg"") would accept. O(settings × parameters). */
bool parameters_configure(const struct key *table, const struct setting *settings,
                          size_t setting_count, const char *where, const char *owner,
                          double *values, struct error *error);

/* Sets the fields of `out` to the values. ERROR_INPUT "WHERE.KEY is …" for a fraction where a whole
 * number is needed. */
bool parameters_fill(const struct key *table, const double *values, const char *where, void *out,
                     struct error *error);

/* The name of a word's value; NULL if the parameter is a number. */
const char *parameter_word(const struct key *parameter, double value);

/* Writes the words as "a|b|c", and returns `text`. */
const char *parameter_words(const struct key *parameter, char text[PARAMETER_WORDS]);

/* Index of a parameter in the table; keys_count if the table has no such name. */
size_t parameter_index(const struct key *table, const char *name);

#endif
