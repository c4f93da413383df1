/* A function's latency over batch and share: which predictor describes the measured points best, by
 * leaving points out.
 *
 * Predictors:
 *   naive      a + c·b/s by ordinary least squares: what one would write down first, to compare
 * with law        the kinked law (traces/calibrate_law.h) table      monotone interpolation of the
 * neighbours' logarithms over log batch and log share (Steffen 1990), mean of the two axes where
 * both have neighbours on both sides corrected  the law times a smooth correction: simple kriging
 * of its log residuals, clipped at three robust standard deviations, with correlation exp(−|Δ log2
 * b|/2 − |Δ log2 s|/2) and a nugget of 0.3. These constants are fixed, not fitted.
 *
 * What `table` and `corrected` predict is made monotone (rising in batch, falling in share) over
 * the measured points by the geometric mean of its running maximum and running minimum, which is
 * the nearest monotone surface in the maximum norm of logarithms.
 *
 * Errors are mean |predicted / measured − 1| over points that the fit has not seen: everything,
 * from the search for coefficients to the correction, is done again without them.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_SURFACE_H
#define ESGSIM_TRACES_CALIBRATE_SURFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/calibrate_law.h"

enum surface_kind { SURFACE_NAIVE, SURFACE_LAW, SURFACE_TABLE, SURFACE_CORRECTED, SURFACE_KINDS };

extern const char *const surface_kind_names[SURFACE_KINDS];

/* What is left out together. An edge point or level has nothing measured beyond it; a prediction
 * there is an extrapolation, and those are counted apart. */
enum surface_fold {
    FOLD_POINT, /* one point, and what else was measured at its batch and share */
    FOLD_SHARE, /* all points of a share */
    FOLD_BATCH, /* all points of a batch size */
    SURFACE_FOLDS
};

extern const char *const surface_fold_names[SURFACE_FOLDS];

/* Mean absolute percentage error / 100 over `count` points; NAN where there is none. */
struct mean_error {
    double mape;
    double worst;
    size_t count;
};

struct surface_errors {
    struct mean_error all;
    struct mean_error inner; /* points between others on both axes; levels between others */
};

struct surface {
    struct latency_law law;
    enum surface_kind kind; /* the one chosen */
    double *fitted_ms;      /* prediction of the kind chosen, fitted to all points; [count] */
    double *left_out_ms;    /* the same with the point itself left out */
    struct surface_errors errors[SURFACE_KINDS][SURFACE_FOLDS];
    /* Leaving out one point with the kind itself chosen by the other points' errors: what the
     * choice costs. */
    struct surface_errors chosen;
    double residual_cv; /* robust standard deviation of log(measured / fitted) */
};

/* Predicts all points by every kind from those not left out (NULL: all are seen), ms[kind][point];
 * NAN where the kind says nothing. `start` as for latency_law_fit. */
bool surface_predict(const struct latency_point *points, size_t count, const bool *left_out,
                     const struct latency_law *start, double *const ms[SURFACE_KINDS],
                     struct error *error);

/* Fits all kinds, leaves out, chooses; law, table or corrected, never naive. Of equal predictors,
 * to a hundredth of a percent, the simpler one. The table takes part where it predicts every point
 * that is inner. O(count) fits. Free with surface_clear. */
bool surface_calibrate(const struct latency_point *points, size_t count, struct surface *surface,
                       struct error *error);
void surface_clear(struct surface *surface);

/* Point lies between others of its batch and between others of its share. */
bool surface_is_inner(const struct latency_point *points, size_t count, size_t index);

#endif
