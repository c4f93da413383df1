/* What calibration adds to a function of a profile: laws, the source of each cell and its expected
 * error. */
#ifndef ESGSIM_TRACES_PROFILE_PROFILE_FIT_H
#define ESGSIM_TRACES_PROFILE_PROFILE_FIT_H

#include <stdbool.h>

#include "sim/base/json.h"
#include "traces/profile/profile.h"

/* Reads `law`, `source` and the expected errors of a function whose grid has been read. ERROR_INPUT
 * names the place. */
bool profile_fit_read(const struct json_value *value, int unit, struct profile_function *function,
                      struct error *error);

#endif
