/* The parts of `esgsim calibrate`. */
#ifndef ESGSIM_SIM_CLI_CALIBRATE_H
#define ESGSIM_SIM_CLI_CALIBRATE_H

#include <stdbool.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "traces/calibrate/calibrate.h"
#include "traces/calibrate/samples.h"

struct calibrate_request {
    struct listing_options table;
    const char *columns[SAMPLE_ROLES];
    double latency_ms; /* unit of the role latency; 0: not given */
    const char *format;
    const char *const *files;
    size_t file_count;
    const char *out, *points, *base;
    const char *device, *evidence, *source, *licence;
    uint64_t unit, extend_batch, sms; /* 0: not given */
    bool json, check, full_grid, rehearsal, quiet;
};

/* Reads the files as the options say, and fits models to them. `cells`: notes the points that are
 * no cells of the profile. Clear set and calibration in either case. */
bool calibrate_files(const struct calibrate_request *request, const char *const *files,
                     size_t count, bool cells, struct sample_set *set,
                     struct calibration *calibration, struct error *error);

/* Calibrates the shipped public data sets, prints the errors and compares them with their targets.
 * ERROR_RUN if one is missed. */
bool calibrate_check(const struct calibrate_request *request, struct error *error);

/* Prints errors by function, beside those of the naive fit: tables in percent, under the heading
 * `name`. */
void calibrate_report_text(FILE *out, const char *name, const struct calibration *calibration);

/* The same figures, in percent, as a JSON object; NULL if memory is exhausted. */
cJSON *calibrate_report_json(const char *name, const struct calibration *calibration);

#endif
