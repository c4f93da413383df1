/* Latency of a function over batch and share: selects the predictor that describes the measured
 * points best, by cross-validation.
 *
 * Predictors:
 * - naive: a + c·b/s by least squares of relative errors. It is a baseline for comparison.
 * - law: the latency law (traces/calibrate/calibrate_law.h).
 * - corrected: laws times a smooth correction (traces/calibrate/latency_model.h).
 *
 * Errors are mean |predicted / measured − 1| over points excluded from the fit. Every step, from
 * the initial search to the correction, is repeated without them.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_CALIBRATE_SURFACE_H
#define ESGSIM_TRACES_CALIBRATE_CALIBRATE_SURFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/calibrate/calibrate_law.h"
#include "traces/calibrate/latency_model.h"

enum surface_kind { SURFACE_NAIVE, SURFACE_LAW, SURFACE_CORRECTED, SURFACE_KINDS };

extern const char *const surface_kind_names[SURFACE_KINDS];

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

struct surface_errors {
    struct mean_error all;
    struct mean_error inner; /* only points with neighbours on both sides of both axes, or levels
                                between other levels */
};

struct surface {
    struct latency_law law;
    struct latency_model model;
    enum surface_kind kind; /* selected */
    double *fitted_ms;      /* [count], predictions of the selected kind fitted to all points */
    double *left_out_ms;    /* [count], the same with the point itself left out */
    struct surface_errors errors[SURFACE_KINDS][SURFACE_FOLDS];
    /* Left-out errors if the kind, too, is selected without the point. Includes the cost of
     * selection. */
    struct surface_errors chosen;
    /* Octaves from the points that an edge fold leaves out to the nearest level that it keeps, on
     * average; NAN where an edge cannot be left out. */
    double edge_octaves[SURFACE_FOLDS];
    double residual_cv; /* robust standard deviation of log(measured / fitted) */
};

/* Fits all kinds, cross-validates them and selects law or corrected; never naive. The law is
 * selected if its error is less by two standard errors. `prior` has unit errors
 * (traces/calibrate/latency_model.h); NULL: the weak one. A bounded number of fits, each linear in
 * `count`. Free with surface_clear. */
bool surface_calibrate(const struct latency_point *points, size_t count,
                       const struct latency_prior *prior, struct surface *surface,
                       struct error *error);
void surface_clear(struct surface *surface);

/* Latency in ms by the selected kind, fitted to all points; batch and share above 0, vcpu as in the
 * points. */
double surface_ms(const struct surface *surface, double batch, double share, double vcpu);

/* Returns whether the point has neighbours on both sides at its batch and at its share. */
bool surface_is_inner(const struct latency_point *points, size_t count, size_t index);

/* Returns whether (batch, share) is within the convex hull of the points, in logarithms. There a
 * prediction is an interpolation. O(count log count). */
bool surface_is_between(const struct latency_point *points, size_t count, double batch,
                        double share);

/* Expected |predicted / measured − 1| of a prediction. Between the points it is the left-out error
 * of inner points. Beyond an edge it grows with the octaves to the nearest measured level, as the
 * error did where that edge was left out. NAN if the folds cannot tell. */
double surface_expected_error(const struct surface *surface, const struct latency_point *points,
                              size_t count, double batch, double share);

#endif
