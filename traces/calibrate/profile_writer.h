/* Parts of a profile in JSON (traces/README.md), for calibration. */
#ifndef ESGSIM_TRACES_CALIBRATE_PROFILE_WRITER_H
#define ESGSIM_TRACES_CALIBRATE_PROFILE_WRITER_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/base/error.h"
#include "traces/profile/profile.h"

/* Rounds to `digits` (1..17) significant decimal digits. */
double profile_round(double value, int digits);

/* A number with 6 significant digits, null if it is not finite. */
cJSON *profile_number(double value);

/* Add a member to an object: a number, a number if it is finite, or a formatted string. */
void profile_put_number(cJSON *object, const char *key, double value);
void profile_put_known(cJSON *object, const char *key, double value);
void profile_put_text(cJSON *object, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds "grid", from the axes of a function. */
void profile_put_axes(cJSON *function, const struct profile_axis *batch,
                      const struct profile_axis *vcpu, const struct profile_axis *vgpu);

/* Adds what `properties` knows of noise, cold start, memory, bandwidth and input; NAN: not known.
 */
void profile_put_properties(cJSON *function, const struct profile_function *properties);

/* Adds "interference" with the law's numbers, and returns it. A table of pairs gets the functions
 * that the profile has, because it cannot name others. O(pair_count^2). */
cJSON *profile_put_interference(cJSON *profile, const struct interference *law);

/* Prints the profile. ERROR_RUN if memory is exhausted. The caller checks the stream. */
bool profile_print(const cJSON *profile, FILE *out, struct error *error);

#endif
