/* Calibration: measured samples in, a profile with its own cross-validated errors out.
 *
 * Every function and vCPU count has a surface over batch and share (traces/calibrate_surface.h);
 * the device has one interference law (traces/calibrate_interference.h). A profile's grid is what
 * was measured, with the chosen predictor's values; a configuration that was not measured is null.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_H
#define ESGSIM_TRACES_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sim/error.h"
#include "traces/calibrate_interference.h"
#include "traces/calibrate_surface.h"
#include "traces/calibrate_unmet.h"
#include "traces/profile.h"
#include "traces/samples.h"

struct calibrated_surface {
    uint32_t function;
    int vcpu;
    const struct latency_sample *samples; /* of the set */
    struct latency_point *points;
    size_t count;
    struct surface surface;
};

struct calibration {
    const struct sample_set *set;
    struct calibrated_surface *surfaces; /* by function, then vCPU */
    size_t surface_count;
    struct interference_fit interference;
    struct unmet_pairs unmet; /* what the pairs say of functions that never met */
    bool has_interference;
};

/* Told before each surface and the interference; may be NULL. */
typedef void calibration_progress(void *context, const char *what, size_t done, size_t total);

/* Calibrates a reduced set, which outlives the calibration. ERROR_INPUT where it has no samples.
 * Free with calibration_clear. */
bool calibration_run(const struct sample_set *set, calibration_progress *progress, void *context,
                     struct calibration *calibration, struct error *error);
void calibration_clear(struct calibration *calibration);

/* Errors of all surfaces together, weighted by their points. */
struct mean_error calibration_error(const struct calibration *calibration, enum surface_kind kind,
                                    enum surface_fold fold, bool inner);
/* The same with the kind that each point's neighbours chose. */
struct mean_error calibration_chosen_error(const struct calibration *calibration, bool inner);

struct profile_options {
    int unit; /* of the profile; 0: the set's. Shares that are not whole in it are left out */
    int extend_batch; /* above 0: the law may be asked up to this batch and over all shares */
    const struct profile *base; /* what the samples do not tell is taken from here; NULL: nowhere */
};

/* Writes the profile (traces/README.md). False: ERROR_INPUT without latencies or with a base that
 * does not fit, ERROR_RUN without memory. The caller checks the stream. */
bool calibration_write_profile(const struct calibration *calibration,
                               const struct profile_options *options, FILE *out,
                               struct error *error);

/* Measured points, fit, left-out prediction and residuals as CSV, one line per point. The caller
 * checks the stream. */
void calibration_write_points(const struct calibration *calibration, FILE *out);

/* Noise of a function: median over configurations of the repeats' deviation, else over
 * co-locations; NAN where nothing was repeated. */
double calibration_noise(const struct calibration *calibration, uint32_t function);

#endif
