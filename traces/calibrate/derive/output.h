/* Output of profiles: rounded numbers, formatted notes, one file per profile. */
#ifndef ESGSIM_TRACES_CALIBRATE_DERIVE_OUTPUT_H
#define ESGSIM_TRACES_CALIBRATE_DERIVE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sim/error.h"

/* Rounds to 6 significant decimal digits, as for every number in a profile. */
double output_round(double value);

/* Adds a rounded number, a formatted string or a list of whole numbers under `key`. */
void output_number(cJSON *object, const char *key, double value);
void output_note(cJSON *object, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds "grid" and "latency_ms" to a function. latency[batch][vcpu][vgpu] is in ms, row-major; NAN
 * becomes null. The file gets one line per batch size. */
struct output_grid {
    const int *batch, *vcpu, *vgpu;
    size_t batches, vcpus, vgpus;
    const double *latency_ms;
};
bool output_latency(cJSON *function, const struct output_grid *grid, struct error *error);

/* Writes the profile to FOLDER/NAME atomically (traces/json/atomic_file.h). */
bool output_write(const cJSON *profile, const char *folder, const char *name, struct error *error);

#endif
