/* The predictor of latency: laws, times a smooth correction that follows the measured points.
 *
 *     log t(b, s) = mean over three fits of log law(b, s) + c(b, s)
 *
 * - The fits differ in how strongly they are pulled to the prior: as if relative errors of
 *   measurements were 1, 3 or 10 %. Their mean is a model average (Hoeting, Madigan, Raftery and
 *   Volinsky, Statistical Science 1999). It is steadier than each fit where points are few.
 * - c is simple kriging of the laws' log residuals (Rasmussen and Williams, Gaussian Processes for
 *   Machine Learning, 2006, section 2.2) at the MODEL_NEAR nearest points. The correlation is
 *   exp(−|Δ log2 b| / 4 − |Δ log2 s| / 2 − |Δ log2 v| / 2) for v vCPUs, and the nugget a tenth. On
 * public tables this one kernel errs as little as a mean over thirty. Residuals are clipped at five
 * robust standard deviations.
 *
 * Outside the convex hulls of the points over batch and share or vCPUs, in logarithms, t is kept in
 * the range that each of them allows (latency_range_narrow). Inside the hull, noise would make that
 * range too narrow.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_LATENCY_MODEL_H
#define ESGSIM_TRACES_CALIBRATE_LATENCY_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "traces/profile/calibrate_law.h"

enum { MODEL_LAWS = 3, MODEL_NEAR = 32 };

struct latency_model {
    struct arena *arena;                 /* of the arrays; exhausted memory ends the process */
    struct latency_law laws[MODEL_LAWS]; /* by rising pull */
    size_t count;                        /* points seen */
    struct latency_point *points;
    double *places;    /* [3 count]: log2 of batch, share and vCPUs */
    double *residuals; /* [count]: log(measured / laws), clipped */
};

struct latency_value {
    double ms;
    double deviation; /* of log(measured / ms), relative to that of the laws' residuals: kriging's
                         standard deviation; outside the hull a tenth more for each octave to the
                         nearest batch, share and vCPUs that were seen */
    bool between;     /* within the hull: an interpolation */
};

/* Fits at least two points, as latency_law_fit does. `prior` has unit errors: the fits scale its
 * pull. With `start`, a model of about the same points, the searches begin at its laws. Free with
 * latency_model_clear, also after a failure. */
bool latency_model_fit(const struct latency_point *points, size_t count, const bool *left_out,
                       const struct latency_prior *prior, const struct latency_model *start,
                       struct latency_model *model, struct error *error);
void latency_model_clear(struct latency_model *model);

/* At the point's batch > 0, share > 0 and vCPUs; its time is not read. O(points seen × log). */
struct latency_value latency_model_at(const struct latency_model *model,
                                      const struct latency_point *point);

/* The law in the middle, without the correction. */
const struct latency_law *latency_model_law(const struct latency_model *model);

#endif
