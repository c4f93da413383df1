/* Calibration: computes a profile, with its cross-validation errors, from measured samples.
 *
 * Each function gets a surface over batch and share (traces/calibrate/calibrate_surface.h). Several
 * vCPU counts share it: latency = factor(vCPU) × surface, and the surface's correction also runs
 * over vCPUs. The factor between two neighbouring counts is the mean ratio at the batches and
 * shares that both have. Times without a GPU get a surface of their own, over batch and the part of
 * the most vCPUs, because work divided by vCPUs has the shape of work divided by a share. The
 * device gets one interference law (traces/calibrate/calibrate_interference.h). The profile's grid
 * consists of the measured batches, vCPU counts and shares (traces/calibrate/calibrate_grid.h).
 * What was measured keeps its value, the predictor gives the others.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_CALIBRATE_H
#define ESGSIM_TRACES_CALIBRATE_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "traces/calibrate/calibrate_interference.h"
#include "traces/calibrate/calibrate_surface.h"
#include "traces/calibrate/calibrate_unseen_pairs.h"
#include "traces/profile/profile.h"
#include "traces/calibrate/samples.h"

struct calibrated_surface {
    uint32_t function;
    bool on_gpu;
    int vcpu[2];                          /* least, most */
    const struct latency_sample *samples; /* part of the set's; all with a GPU, or all without */
    struct latency_point *points;         /* ms: without the factor of the vCPUs */
    size_t count;
    struct surface surface;
    double error_scale; /* mean of left-out |error| / deviation, drawn to that of all surfaces */
};

struct calibration {
    struct arena *arena; /* of the arrays; exhausted memory ends the process */
    const struct sample_set *set;
    struct calibrated_surface *surfaces; /* sorted by function; the one without a GPU last */
    size_t surface_count;
    double error_quantiles[2][PROFILE_QUANTILES]; /* of left-out |error| / deviation / error_scale,
                                                     extrapolated and interpolated */
    struct interference_fit interference;
    struct unseen_pairs
        unseen; /* what the pairs predict about pairs of functions not measured together */
    bool has_interference;
};

/* Called before each surface and before the interference fit; may be NULL. */
typedef void calibration_progress(void *context, const char *what, size_t done, size_t total);

/* Calibrates a reduced set, which must outlive the calibration. ERROR_INPUT if it has no samples.
 * Free with calibration_clear. */
bool calibration_run(const struct sample_set *set, calibration_progress *progress, void *context,
                     struct calibration *calibration, struct error *error);
void calibration_clear(struct calibration *calibration);

/* The place of a batch at `vcpu` on `share` of the GPU; without the time. Whatever the share, a
 * surface without a GPU is over vCPUs. */
struct latency_point calibrated_place(const struct calibrated_surface *surface, int batch, int vcpu,
                                      double share);
/* Factor of so many vCPUs: 1 for the least measured, and by logarithms between two that were
 * measured. O(count). */
double calibrated_factor(const struct calibrated_surface *surface, int vcpu);

/* Mean error over all surfaces, weighted by their numbers of points; and of the naive fit at
 * points.
 */
struct mean_error calibration_error(const struct calibration *calibration, enum surface_fold fold,
                                    bool inner);
struct mean_error calibration_naive_error(const struct calibration *calibration, bool inner);

/* Learns `error_scale` of each surface and `error_quantiles`. */
void expected_errors_learn(struct calibration *calibration);
/* The error |predicted / true - 1| that a predicted value does not exceed in half or nine tenths of
 * the cases, as left-out points tell (conformal prediction, Vovk, Gammerman and Shafer,
 * Algorithmic Learning in a Random World, 2005; normalised by the deviation, and apart for
 * interpolated and extrapolated values). NAN: no point could be left out. */
double expected_error(const struct calibration *calibration,
                      const struct calibrated_surface *surface, const struct latency_value *value,
                      enum profile_quantile quantile);
/* The same for a latency between cells of the surface. */
double expected_error_between(const struct calibration *calibration,
                              const struct calibrated_surface *surface,
                              enum profile_quantile quantile);

enum { REPEATS_LEAST = 10 }; /* of a function, to tell its errors and its noise by */
/* Of a measured cell of the function, by the repeats of its cells; NAN: they are too few. */
double repeat_error(const struct calibration *calibration, uint32_t function,
                    enum profile_quantile quantile);

struct profile_options {
    int unit; /* of the profile; 0: the set's. Drops shares that are not whole multiples of it */
    int extend_batch;           /* above 0: the law is valid up to this batch and for all shares */
    bool full_grid;             /* cells also at powers of two of the batch, up to the largest and
                                   extend_batch, and at shares in up to 100 equal steps */
    const struct profile *base; /* source of values that the samples lack; NULL: none */
};

/* Writes the profile (traces/README.md). False: ERROR_INPUT if there are no latencies or `base`
 * does not match, ERROR_RUN if memory is exhausted. The caller checks the stream. */
bool calibration_write_profile(const struct calibration *calibration,
                               const struct profile_options *options, FILE *out,
                               struct error *error);

/* Writes measured points, fit, leave-one-out prediction and residuals as CSV, one line per point.
 * The caller checks the stream. */
void calibration_write_points(const struct calibration *calibration, FILE *out);

/* Noise of a function: the deviation among times of one cell, minutes apart; with few of these the
 * median, over configurations, of the deviation among repeats. If nothing was repeated alone, the
 * median over co-locations; NAN if nothing was repeated at all. */
double calibration_noise(const struct calibration *calibration, uint32_t function);

#endif
