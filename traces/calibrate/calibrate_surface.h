/* Latency of a function over batch and share: the predictor (traces/calibrate/latency_model.h),
 * with errors by cross-validation.
 *
 * Errors are mean |predicted / measured − 1| over points excluded from the fit. Every step, from
 * the initial search to the correction, is repeated without them. For comparison there are those of
 * a naive fit: a + c·b/s by least squares of relative errors.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_CALIBRATE_SURFACE_H
#define ESGSIM_TRACES_CALIBRATE_CALIBRATE_SURFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"
#include "traces/calibrate/latency_model.h"
#include "traces/profile/calibrate_law.h"

/* Which points are left out together. An edge point or level has no measurement beyond it. Its
 * prediction is an extrapolation, and `inner` errors exclude it.
 *
 * The first three leave out each point once. Up to SURFACE_FULL_FOLDS places or levels, each is
 * left out alone; of more, every SURFACE_FOLDS_MOST-th, so that the number of fits is bounded. The
 * last two leave out one edge: a fifth of the levels, at least one. */
enum surface_fold {
    FOLD_POINT, /* points and their duplicates (same batch, share and vCPUs) */
    FOLD_SHARE, /* all points of a share */
    FOLD_BATCH, /* all points of a batch size at one vCPU count */
    FOLD_LEAST_SHARES,
    FOLD_LARGEST_BATCHES,
    SURFACE_FOLDS
};
enum { SURFACE_FULL_FOLDS = 20, SURFACE_FOLDS_MOST = 10 };

extern const char *const surface_fold_names[SURFACE_FOLDS];

/* Mean absolute relative error over `count` points; NAN for no points. */
struct mean_error {
    double mape;
    double worst;
    size_t count;
};

/* Adds the error of one point, to which NAN does not apply. */
void mean_error_add(struct mean_error *sum, double size);

struct surface_errors {
    struct mean_error all;
    struct mean_error inner; /* only points with neighbours on both sides of both axes, or levels
                                between other levels */
};

/* How far a point was off that was left out alone or with an edge. */
struct surface_score {
    double error;     /* |predicted / measured - 1| */
    double deviation; /* of struct latency_value, as its place in it */
    bool between;
};

struct surface {
    struct arena *arena; /* of the arrays; exhausted memory ends the process */
    struct latency_model model;
    double *fitted_ms;   /* [count], fitted to all points */
    double *left_out_ms; /* [count], with the point itself left out */
    struct surface_errors errors[SURFACE_FOLDS];
    struct surface_errors naive; /* of FOLD_POINT */
    struct surface_score *scores;
    size_t score_count;
    double residual_cv; /* robust standard deviation of log(measured / fitted) */
};

/* Fits the predictor and cross-validates it. `prior` has unit errors
 * (traces/calibrate/latency_model.h); NULL: the weak one. A bounded number of fits, each linear in
 * `count`. Free with surface_clear. */
bool surface_calibrate(const struct latency_point *points, size_t count,
                       const struct latency_prior *prior, struct surface *surface,
                       struct error *error);
void surface_clear(struct surface *surface);

/* Returns whether the point has neighbours on both sides at its batch and at its share. */
bool surface_is_inner(const struct latency_point *points, size_t count, size_t index);

#endif
