/* Latency of a function over batch and share: selects the predictor that describes the measured
 * points best, by cross-validation.
 *
 * Predictors:
 * - naive: a + c·b/s by ordinary least squares. It is a baseline for comparison.
 * - law: the latency law (traces/calibrate/calibrate_law.h).
 * - table: monotone interpolation (Steffen 1990) of the logarithms of neighbouring points over log
 *   batch and log share. It is the mean of both axes if both have neighbours on both sides.
 * - corrected: the law times a smooth correction, which is simple kriging of the law's log
 *   residuals. Residuals are clipped at three robust standard deviations. The correlation is
 *   exp(−|Δ log2 b|/2 − |Δ log2 s|/2) with a nugget of 0.3. These constants are fixed, not fitted.
 *
 * Predictions of `table` and `corrected` are made monotone over the measured points (increasing
 * with batch, decreasing with share). The result is the geometric mean of the running maximum and
 * the running minimum, which is the nearest monotone surface in the maximum norm of logarithms.
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

enum surface_kind { SURFACE_NAIVE, SURFACE_LAW, SURFACE_TABLE, SURFACE_CORRECTED, SURFACE_KINDS };

extern const char *const surface_kind_names[SURFACE_KINDS];

/* Which points are left out together. An edge point or level has no measurement beyond it. Its
 * prediction is an extrapolation, and `inner` errors exclude it. */
enum surface_fold {
    FOLD_POINT, /* one point and its duplicates (same batch and share) */
    FOLD_SHARE, /* all points of a share */
    FOLD_BATCH, /* all points of a batch size */
    SURFACE_FOLDS
};

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
    enum surface_kind kind; /* selected */
    double *fitted_ms;      /* [count], predictions of the selected kind fitted to all points */
    double *left_out_ms;    /* [count], the same with the point itself left out */
    struct surface_errors errors[SURFACE_KINDS][SURFACE_FOLDS];
    /* Leave-one-out errors if the kind, too, is selected without the point. Includes the cost of
     * selection. */
    struct surface_errors chosen;
    double residual_cv; /* robust standard deviation of log(measured / fitted) */
};

/* Fits all kinds, cross-validates them and selects law, table or corrected; never naive. If errors
 * are equal to 0.01 %, the simpler kind is selected. The table is a candidate only if it predicts
 * every inner point. O(count) fits. Free with surface_clear. */
bool surface_calibrate(const struct latency_point *points, size_t count, struct surface *surface,
                       struct error *error);
void surface_clear(struct surface *surface);

/* Returns whether the point has neighbours on both sides at its batch and at its share. */
bool surface_is_inner(const struct latency_point *points, size_t count, size_t index);

#endif
