/* Latency profiles: what was measured of each function on a GPU, or derived from measurements.
 *
 * A profile file (JSON, every key: traces/README.md) holds, for each function, latency in
 * milliseconds over a full grid batch × vCPU × vGPU, its noise, cold start, memory and bandwidth
 * demand, and one interference model for the device. A grid entry may be null: that configuration
 * did not run (out of memory). Outside the grid there is no value, unless the function carries a
 * fitted `law` (traces/calibrate_law.h: its coefficients, and the batches and shares up to which it
 * may be asked, as [least, most]; optionally `parts`, what part of the GPU 1, 2, … vGPUs are where
 * that is not vGPUs / unit); then the value is the law's, scaled to meet the grid at its edge.
 *
 * Between grid points values are interpolated axis by axis, on the axis's integers: first along
 * vGPU, then vCPU, then batch, each only where the wanted value is not the axis's own. Along an
 * axis the longest run of non-null points around the wanted value counts: GSL's Steffen spline,
 * which is monotone between points and never overshoots them, where it has three points or more,
 * else a line.
 *
 * `calibration`, of a function or of the interference, holds cross-validated errors; it is for
 * readers and is not checked.
 *
 * Required: `unit`, `functions`, and of each function `grid` and `latency_ms`. `evidence`,
 * `derivation`, `source`, `device` and `licence` are a string or an object of strings. Of
 * `interference`, `model` selects the law and with it the keys: `constant`; or `functions`,
 * `excess` (rows victims, null: not measured) and optionally `constant`; or `coefficient`,
 * `victim_exponent`, `share_exponent`.
 */
#ifndef ESGSIM_TRACES_PROFILE_H
#define ESGSIM_TRACES_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "traces/calibrate_law.h"
#include "traces/interference.h"

struct profile_axis {
    int *values; /* strictly ascending */
    size_t count;
};

/* What speaks for configurations outside the grid. */
struct profile_law {
    struct latency_law law;
    int batch[2], vgpu[2]; /* least, most */
    int unit;              /* the profile's */
    double *parts;         /* of the GPU that 1..unit vGPUs are; NULL: vGPUs / unit */
};

struct profile_function {
    char *name;
    char *model; /* the name where the file gives none */
    struct profile_axis batch, vcpu, vgpu;
    double *latency_ms; /* [batch][vcpu][vgpu], row-major; NAN where null */
    double input_bytes; /* NAN where the file gives none; likewise below */
    double noise_cv;
    double cold_start_mean_ms;
    double cold_start_cv;
    double gpu_weights_mb;
    double gpu_per_item_mb;
    double host_memory_mb;
    double bandwidth_share;
    struct profile_law *extension; /* NULL where the file gives no law */
};

struct profile {
    char *path;
    char *device; /* this and the next three: "" where the file gives none */
    char *evidence;
    char *source;
    char *licence;
    int unit; /* slicing unit: a whole GPU is `unit` vGPUs */
    struct profile_function *functions;
    size_t function_count;
    struct interference *interference; /* NULL where the file gives none */
    bool states_no_interference;       /* "interference": {"model": "none"}: on purpose */
};

/* Loads and checks a profile. NULL with ERROR_INPUT naming file, JSON path, fault and remedy. */
struct profile *profile_load(const char *path, struct error *error);
/* The same from JSON text; `name` stands for the file in messages. */
struct profile *profile_parse(const char *text, const char *name, struct error *error);
void profile_free(struct profile *profile);

/* NULL where the profile has no function of that name. */
const struct profile_function *profile_find(const struct profile *profile, const char *name);

/* Latency in ms at (batch, vcpu, vgpu): the grid's value where it is a grid point, interpolated
 * between, NAN outside the grid or next to a null. With a law, configurations outside the grid at a
 * vCPU count of the grid have a value too. */
double profile_latency_ms(const struct profile_function *function, int batch, int vcpu, int vgpu);

#endif
