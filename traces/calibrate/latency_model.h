/* The predictor of latency: laws, times a smooth correction that follows the measured points.
 *
 *     log t(b, s) = mean over three fits of log law(b, s) + c(b, s)
 *
 * - The fits differ in how strongly they are pulled to the prior: as if relative errors of
 *   measurements were 1, 3 or 10 %. Their mean is a model average (Hoeting, Madigan, Raftery and
 *   Volinsky, Statistical Science 1999). It is steadier than each fit where points are few.
 * - c is simple kriging of the laws' log residuals (Rasmussen and Williams, Gaussian Processes for
 *   Machine Learning, 2006, section 2.2). The correlation is exp(−|Δ log2 b| / B − |Δ log2 s| / S)
 *   with a nugget N. Points of several vCPU counts v have the factor exp(−|Δ log2 v| / 2) more. B,
 * S and N are not fixed: c is the mean over a grid of them, weighted by their marginal likelihoods
 * (section 5.2). Residuals are clipped at five robust standard deviations.
 *
 * With more than MODEL_DIRECT points, B, S and N are the likeliest for a part of the points, and
 * each value follows from the MODEL_NEAR nearest points only. The cost of a fit is therefore
 * bounded, and that of a value linear in the number of points.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_LATENCY_MODEL_H
#define ESGSIM_TRACES_CALIBRATE_LATENCY_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/calibrate/calibrate_law.h"

enum { MODEL_AXES = 3, MODEL_LAWS = 3, MODEL_KERNELS = 30, MODEL_DIRECT = 128, MODEL_NEAR = 32 };

struct latency_kernel {
    double batch_octaves, share_octaves, nugget;
    double weight; /* in the mean; the weights add up to 1 */
};

struct latency_model {
    struct latency_law laws[MODEL_LAWS]; /* by rising pull */
    struct latency_kernel kernels[MODEL_KERNELS];
    size_t kernel_count;
    size_t count;         /* points seen */
    double *places;       /* [MODEL_AXES count]: log2 of batch, share and vCPUs */
    double *residuals;    /* [count]: log(measured / laws), clipped */
    double *coefficients; /* [kernel_count][count]; NULL: more than MODEL_DIRECT points */
};

/* Fits at least two points, as latency_law_fit does. `prior` has unit errors: the fits scale its
 * pull. With `start`, a model of about the same points, the searches begin at its laws. Free with
 * latency_model_clear, also after a failure. */
bool latency_model_fit(const struct latency_point *points, size_t count, const bool *left_out,
                       const struct latency_prior *prior, const struct latency_model *start,
                       struct latency_model *model, struct error *error);
void latency_model_clear(struct latency_model *model);

/* Latency in milliseconds; batch > 0, share > 0, vcpu as in the points. NAN if memory is exhausted.
 * O(points seen). */
double latency_model_ms(const struct latency_model *model, double batch, double share, double vcpu);

/* The law in the middle, without the correction. */
const struct latency_law *latency_model_law(const struct latency_model *model);

#endif
