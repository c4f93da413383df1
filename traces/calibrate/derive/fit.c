#include "traces/calibrate/derive/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>

enum { ITERATIONS = 500, PARAMETERS_LIMIT = 5 };

/* The search variables are square roots of the laws' parameters, which keeps these non-negative. */
static double square(double root)
{
    return root * root;
}

/* Residuals of a law and their derivatives (NULL: central differences). */
struct law {
    int (*residuals)(const gsl_vector *x, void *data, gsl_vector *residuals);
    int (*jacobian)(const gsl_vector *x, void *data, gsl_matrix *jacobian);
    size_t parameters;
};

/* Minimises Σ residual² from x, which is replaced by the minimum. `rough`: accept the result at the
 * iteration limit. */
static bool descend(const struct law *law, void *data, size_t samples, double *x, bool rough,
                    struct error *error)
{
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf problem = {.f = law->residuals,
                                        .df = law->jacobian,
                                        .n = samples,
                                        .p = law->parameters,
                                        .params = data};
    gsl_vector_view from = gsl_vector_view_array(x, law->parameters);
    int why = 0;
    parameters.fdtype = GSL_MULTIFIT_NLINEAR_CTRDIFF;
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &parameters, samples, law->parameters);
    if (work == NULL)
        return error_run(error, "out of memory for a fit of %zu samples", samples);
    int status = gsl_multifit_nlinear_init(&from.vector, &problem, work);
    if (status == GSL_SUCCESS)
        status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-10, 1e-10, 0, NULL, NULL, &why, work);
    gsl_vector_memcpy(&from.vector, gsl_multifit_nlinear_position(work));
    gsl_multifit_nlinear_free(work);
    /* ENOPROG means that no step improves the fit, which at these tolerances is the minimum. If the
     * very first step finds that, GSL returns EMAXITER instead. */
    bool settled = status == GSL_SUCCESS || status == GSL_ENOPROG || why == GSL_ENOPROG;
    if (!settled && !(rough && status == GSL_EMAXITER))
        return error_run(error, "a fit of %zu samples failed: %s", samples, gsl_strerror(status));
    return true;
}

/* A root that tends to 0 converges slowly and delays the others. Once it is close to 0 it is set to
 * 0, where its gradient is 0, so it stays there while the others converge. */
static bool minimise(const struct law *law, void *data, size_t samples, double *x,
                     struct error *error)
{
    if (!descend(law, data, samples, x, true, error))
        return false;
    for (size_t i = 0; i < law->parameters; i++)
        if (square(x[i]) < 1e-6)
            x[i] = 0;
    return descend(law, data, samples, x, false, error);
}

/* ---- Latency over batch and share ------------------------------------------------------------ */

struct share_problem {
    const struct share_sample *samples;
    size_t count;
};

double share_law_ms(const struct share_law *law, double batch, double share)
{
    const double *k = law->k;
    return (k[0] * batch * batch + k[1] * batch + k[2]) / (share + k[3]) + k[4];
}

/* Four significant digits: the precision of the measurements, and the same on every machine. */
static double rounded(double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.4g", value);
    return strtod(text, NULL);
}

static struct share_law share_law_of(const gsl_vector *x)
{
    struct share_law law = {.mape = 0};
    for (size_t i = 0; i < 5; i++)
        law.k[i] = square(gsl_vector_get(x, i));
    return law;
}

static int share_residuals(const gsl_vector *x, void *data, gsl_vector *residuals)
{
    const struct share_problem *problem = data;
    struct share_law law = share_law_of(x);
    for (size_t i = 0; i < problem->count; i++) {
        const struct share_sample *sample = &problem->samples[i];
        double predicted = share_law_ms(&law, sample->batch, sample->share);
        gsl_vector_set(residuals, i, predicted / sample->ms - 1);
    }
    return GSL_SUCCESS;
}

static int share_jacobian(const gsl_vector *x, void *data, gsl_matrix *jacobian)
{
    const struct share_problem *problem = data;
    struct share_law law = share_law_of(x);
    for (size_t i = 0; i < problem->count; i++) {
        const struct share_sample *sample = &problem->samples[i];
        double b = sample->batch;
        double over = sample->share + law.k[3];
        double work = law.k[0] * b * b + law.k[1] * b + law.k[2];
        const double by_k[5] = {b * b / over, b / over, 1 / over, -work / (over * over), 1};
        for (size_t j = 0; j < 5; j++)
            gsl_matrix_set(jacobian, i, j, by_k[j] * 2 * gsl_vector_get(x, j) / sample->ms);
    }
    return GSL_SUCCESS;
}

bool fit_share_law(const struct share_sample *samples, size_t count, struct share_law *law,
                   struct error *error)
{
    struct share_problem problem = {samples, count};
    double least = INFINITY;
    for (size_t i = 0; i < count; i++)
        least = fmin(least, samples[i].ms);
    double x[PARAMETERS_LIMIT] = {sqrt(1e-3 * least), sqrt(0.3 * least), sqrt(0.05 * least), 0.1,
                                  sqrt(0.3 * least)};
    if (count <= PARAMETERS_LIMIT)
        return error_input(error, "a share law needs more than %d samples, has %zu",
                           PARAMETERS_LIMIT, count);
    const struct law fitted = {share_residuals, share_jacobian, 5};
    if (!minimise(&fitted, &problem, count, x, error))
        return false;
    gsl_vector_const_view end = gsl_vector_const_view_array(x, 5);
    *law = share_law_of(&end.vector);
    for (size_t i = 0; i < 5; i++)
        law->k[i] = rounded(law->k[i]);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += fabs(share_law_ms(law, samples[i].batch, samples[i].share) / samples[i].ms - 1);
    law->mape = sum / (double)count;
    return true;
}

/* ---- Excess slowdown ------------------------------------------------------------------------ */

struct bandwidth_problem {
    const struct excess_sample *samples;
    size_t count;
    size_t left_out;
    double share_exponent; /* NAN: fitted as the third parameter */
};

double bandwidth_law_slowdown(const struct bandwidth_law *law, const struct excess_sample *sample)
{
    return 1 + law->coefficient * pow(sample->victim, law->victim_exponent) * sample->other *
                   pow(sample->share, law->share_exponent);
}

static struct bandwidth_law bandwidth_law_of(const gsl_vector *x, double share_exponent)
{
    struct bandwidth_law law = {.coefficient = square(gsl_vector_get(x, 0)),
                                .victim_exponent = square(gsl_vector_get(x, 1)),
                                .share_exponent = share_exponent};
    if (isnan(share_exponent))
        law.share_exponent = square(gsl_vector_get(x, 2));
    return law;
}

static int bandwidth_residuals(const gsl_vector *x, void *data, gsl_vector *residuals)
{
    const struct bandwidth_problem *problem = data;
    struct bandwidth_law law = bandwidth_law_of(x, problem->share_exponent);
    for (size_t i = 0; i < problem->count; i++) {
        const struct excess_sample *sample = &problem->samples[i];
        double predicted = bandwidth_law_slowdown(&law, sample);
        bool used = sample->fold != problem->left_out;
        gsl_vector_set(residuals, i, used ? predicted / sample->slowdown - 1 : 0);
    }
    return GSL_SUCCESS;
}

bool fit_bandwidth_law(const struct excess_sample *samples, size_t count, size_t left_out,
                       double share_exponent, struct bandwidth_law *law, struct error *error)
{
    struct bandwidth_problem problem = {samples, count, left_out, share_exponent};
    double x[PARAMETERS_LIMIT] = {0.5, 0.5, 0.5};
    const struct law fitted = {bandwidth_residuals, NULL, isnan(share_exponent) ? 3 : 2};
    if (count <= 3)
        return error_input(error, "a bandwidth law needs more than 3 samples, has %zu", count);
    if (!minimise(&fitted, &problem, count, x, error))
        return false;
    gsl_vector_const_view end = gsl_vector_const_view_array(x, 3);
    *law = bandwidth_law_of(&end.vector, share_exponent);
    law->coefficient = rounded(law->coefficient);
    law->victim_exponent = rounded(law->victim_exponent);
    law->share_exponent = rounded(law->share_exponent);
    return true;
}
