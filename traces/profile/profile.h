/* Latency profiles of functions on a GPU, measured or derived from measurements.
 *
 * A profile is a JSON file; traces/README.md documents every key. For each function it gives:
 * - the latency in milliseconds on a full grid of batch × vCPU × vGPU,
 * - the noise, the cold start, and the demand for memory and memory bandwidth.
 *
 * One interference model describes the device. A grid entry may be null, which means that the
 * configuration did not run (out of memory).
 *
 * A function has no latency outside its grid unless the file gives a fitted `law`
 * (traces/profile/calibrate_law.h), or an array of laws, one for each vCPU count. A law consists
 * of the coefficients and of the ranges of batch and vGPU, as [least, most], for which it may be
 * evaluated. Its optional expected errors are those of a latency between cells. Its optional
 * `parts` lists the fraction of the GPU that 1, 2, … vGPUs provide, if that is not vGPUs / unit.
 * Outside the grid the latency is the law's, scaled to agree with the grid at the grid's edge.
 *
 * Between grid points the latency is interpolated along one axis at a time: first vGPU, then vCPU,
 * then batch. An axis whose values include the wanted one is not interpolated. Interpolation along
 * an axis uses the longest run of non-null points around the wanted value. With three points or
 * more it is GSL's Steffen spline, which is monotone between points and never overshoots them. With
 * two points it is linear. Along vGPU it runs over logarithms of both, which errs less at left-out
 * points of the measured profiles (traces/README.md). With a law, and a vCPU count of the grid,
 * what is interpolated is the logarithm of latency / law over the logarithms of batch and vGPU.
 *
 * Cells of vGPU 0 ran without a GPU. They take no part in an interpolation along vGPU, because no
 * GPU is not a small one: below the least share there is no latency.
 *
 * `source` marks each cell: an array over batch of arrays over vCPU of strings over vGPU, with the
 * letters of enum profile_source. `expected_error_50` and `expected_error_90` are nested as
 * `latency_ms`: half and nine tenths of such cells are off by at most that fraction of the true
 * latency. An `expected_error`, of older profiles, is read as `expected_error_50`.
 *
 * `calibration`, of a function or of the interference, records cross-validation errors. It is
 * documentation and is not checked.
 *
 * Required keys are `unit` and `functions`, and `grid` and `latency_ms` of each function.
 * `evidence`, `derivation`, `source`, `device` and `licence` are a string or an object of strings.
 * In `interference`, `model` selects the law, and the law determines the other keys:
 * - `constant`; or
 * - `functions`, `excess` (one row per victim, null: not measured) and optionally `constant`; or
 * - `coefficient`, `victim_exponent`, `share_exponent`.
 */
#ifndef ESGSIM_TRACES_PROFILE_PROFILE_H
#define ESGSIM_TRACES_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"
#include "traces/profile/calibrate_law.h"
#include "traces/profile/interference.h"

struct profile_axis {
    int *values; /* strictly ascending */
    size_t count;
};

/* Where a cell's latency comes from, as the file writes it in `source`. */
enum profile_source {
    PROFILE_MEASURED = 'm',
    PROFILE_INTERPOLATED = 'i',
    PROFILE_EXTRAPOLATED = 'x',
    PROFILE_NONE = '-' /* null */
};

/* Quantiles of the error |predicted / true - 1| that a profile states. */
enum profile_quantile { PROFILE_ERROR_50, PROFILE_ERROR_90, PROFILE_QUANTILES };

/* The latency law that covers configurations outside the grid. */
struct profile_law {
    struct latency_law law;
    int batch[2], vgpu[2]; /* least, most */
    int unit;              /* unit of the profile */
    double *parts;         /* parts[v - 1] is the fraction of the GPU in v vGPUs; NULL: v / unit */
    double expected_errors[PROFILE_QUANTILES]; /* between cells, fractions; NAN: not given */
};

struct profile_function {
    char *name;
    char *model; /* defaults to the function's name */
    struct profile_axis batch, vcpu, vgpu;
    double *latency_ms; /* [batch][vcpu][vgpu], row-major; NAN where null */
    double input_bytes; /* NAN if the file gives none; likewise below */
    double noise_cv;
    double cold_start_mean_ms; /* this and the next: of the samples, if the file gives samples */
    double cold_start_cv;
    double *cold_start_samples_ms; /* NULL: lognormal with mean and cv */
    size_t cold_start_sample_count;
    double gpu_weights_mb;
    double gpu_per_item_mb;
    double host_memory_mb;
    double bandwidth_share;
    double turnaround_ms, turnaround_per_item_ms; /* of a batch: the first + batch × the second */
    struct profile_law *extension;                /* NULL if the file gives no law */
    size_t extension_count; /* of laws: one for all vCPU counts, or one for each */
    char *sources;          /* [cells], an enum profile_source each; NULL: not given */
    double *expected_errors[PROFILE_QUANTILES]; /* [cells], fractions, NAN where null; NULL: not
                                                   given */
};

/* What a profile's latencies are the times of ("latency_of"). */
enum profile_latency {
    PROFILE_LATENCY_KERNEL,  /* from the first kernel of a batch to the end of the last */
    PROFILE_LATENCY_SERVICE, /* as a server took them, from batch to batch */
    PROFILE_LATENCY_UNSTATED
};

struct profile {
    struct arena *arena; /* of all that it has */
    const char *path;
    const char *device; /* this and the next three: "" if the file gives none */
    const char *evidence;
    const char *source;
    const char *licence;
    int unit; /* slicing unit: a whole GPU is `unit` vGPUs */
    enum profile_latency latency_of;
    struct profile_function *functions;
    size_t function_count;
    struct interference *interference; /* NULL if the file gives none */
    bool states_no_interference;       /* the file says "interference": {"model": "none"} */
};

/* Loads and checks a profile. Returns NULL with ERROR_INPUT, which names the file, the JSON path,
 * the fault and the remedy. */
struct profile *profile_load(const char *path, struct error *error);
/* Like profile_load, from JSON text; messages use `name` as the file name. */
struct profile *profile_parse(const char *text, const char *name, struct error *error);
void profile_free(struct profile *profile); /* NULL is allowed */

/* Returns NULL if the profile has no function of that name. */
const struct profile_function *profile_find(const struct profile *profile, const char *name);

/* Latency in ms at (batch, vcpu, vgpu). At a grid point it is the grid's value, between grid points
 * it is interpolated. It is NAN outside the grid or next to a null, unless the function has a law,
 * its ranges include batch and vgpu, and vcpu is one of the grid's. */
double profile_latency_ms(const struct profile_function *function, int batch, int vcpu, int vgpu);

/* How a latency that profile_latency_ms gives came about. */
struct profile_origin {
    enum profile_source source;
    double expected_error_50, expected_error_90; /* fractions; NAN: not known */
};

/* Without `source` in the file, a cell counts as measured. Between cells it is an interpolation,
 * or an extrapolation if one of the cells around is; each expected error is the largest of theirs
 * and the law's.
 * Outside the grid it is an extrapolation of unknown error. */
struct profile_origin profile_origin_at(const struct profile_function *function, int batch,
                                        int vcpu, int vgpu);

/* A latency and where it comes from, in words: "measured", "interpolated" or "extrapolated". */
struct profile_prediction {
    int vcpu;
    double ms;
    struct profile_origin origin;
    const char *source;
};

/* Predicts the function of that name at a configuration; `vcpu` 0: the fewest of its grid. False:
 * ERROR_INPUT, by the names of `esgsim predict`'s options, if the profile does not cover it. */
bool profile_predict(const struct profile *profile, const char *name, int batch, int vcpu, int vgpu,
                     struct profile_prediction *prediction, struct error *error);

#endif
