/* What `esgsim calibrate` prints of a calibration: errors by function beside the naive fit's. */
#ifndef ESGSIM_SIM_CLI_CALIBRATE_REPORT_H
#define ESGSIM_SIM_CLI_CALIBRATE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/error.h"
#include "traces/calibrate.h"

/* Tables in percent; `name` heads them. */
bool calibrate_report_text(FILE *out, const char *name, const struct calibration *calibration,
                           struct error *error);

/* The same figures, in percent, as one object; NULL where memory is short. */
cJSON *calibrate_report_json(const char *name, const struct calibration *calibration);

#endif
