/* Output of `esgsim calibrate`: errors by function, beside those of the naive fit. */
#ifndef ESGSIM_SIM_CLI_CALIBRATE_REPORT_H
#define ESGSIM_SIM_CLI_CALIBRATE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "traces/calibrate/calibrate.h"

/* Prints tables in percent, under the heading `name`. */
void calibrate_report_text(FILE *out, const char *name, const struct calibration *calibration);

/* The same figures, in percent, as a JSON object; NULL if memory is exhausted. */
cJSON *calibrate_report_json(const char *name, const struct calibration *calibration);

#endif
