#include "traces/calibrate/derive/derive.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>

enum { ITERATIONS = 500, PARAMETERS = 5 };

struct problem {
    struct latency_point *points;
    size_t count;
};

double share_law_ms(const struct share_law *law, double batch, double share)
{
    const double *k = law->k;
    return (k[0] * batch * batch + k[1] * batch + k[2]) / (share + k[3]) + k[4];
}

/* The search variables are square roots of the law's parameters, which keeps these non-negative. */
static struct share_law law_of(const double *x)
{
    struct share_law law = {.mape = 0};
    for (size_t i = 0; i < PARAMETERS; i++)
        law.k[i] = x[i] * x[i];
    return law;
}

static double residual_of(const struct share_law *law, const struct latency_point *point)
{
    return share_law_ms(law, point->batch, point->share) / point->ms - 1;
}

static int residuals_of(const gsl_vector *x, void *data, gsl_vector *residuals)
{
    const struct problem *problem = data;
    struct share_law law = law_of(x->data);
    for (size_t i = 0; i < problem->count; i++)
        gsl_vector_set(residuals, i, residual_of(&law, &problem->points[i]));
    return GSL_SUCCESS;
}

/* Minimises Σ residual² from the roots, which are replaced by those of the minimum. */
static bool descend(struct problem *problem, double *roots, struct error *error)
{
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf system = {
        .f = residuals_of, .n = problem->count, .p = PARAMETERS, .params = problem};
    gsl_vector_view x = gsl_vector_view_array(roots, PARAMETERS);
    int why = 0;
    parameters.fdtype = GSL_MULTIFIT_NLINEAR_CTRDIFF;
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &parameters, problem->count, PARAMETERS);
    if (work == NULL)
        return error_run(error, "out of memory for a fit of %zu samples", problem->count);
    int status = gsl_multifit_nlinear_init(&x.vector, &system, work);
    if (status == GSL_SUCCESS)
        status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-10, 1e-10, 0, NULL, NULL, &why, work);
    gsl_vector_memcpy(&x.vector, gsl_multifit_nlinear_position(work));
    gsl_multifit_nlinear_free(work);
    /* ENOPROG means that no step improves the fit, which at these tolerances is the minimum. If the
     * very first step finds that, GSL returns EMAXITER instead. */
    return status == GSL_SUCCESS || status == GSL_ENOPROG || status == GSL_EMAXITER ||
           error_run(error, "a fit of %zu samples failed: %s", problem->count,
                     gsl_strerror(status));
}

static bool fit(struct problem *problem, struct share_law *law, struct error *error)
{
    double least = INFINITY;
    if (problem->count <= PARAMETERS)
        return error_input(error, "a share law needs more than %d samples, has %zu", PARAMETERS,
                           problem->count);
    for (size_t i = 0; i < problem->count; i++)
        least = fmin(least, problem->points[i].ms);
    double x[PARAMETERS] = {sqrt(1e-3 * least), sqrt(0.3 * least), sqrt(0.05 * least), 0.1,
                            sqrt(0.3 * least)};
    /* A root that tends to 0 converges slowly and delays the others. Once it is close to 0 it is
     * set to 0, where its gradient is 0, so it stays there while the others converge. */
    for (int search = 0; search < 2; search++) {
        if (!descend(problem, x, error))
            return false;
        for (size_t i = 0; i < PARAMETERS; i++)
            x[i] = x[i] * x[i] < 1e-6 ? 0 : x[i];
    }
    *law = law_of(x);
    /* Four significant digits: the precision of the measurements, and the same on every machine. */
    for (size_t i = 0; i < PARAMETERS; i++)
        law->k[i] = profile_round(law->k[i], 4);
    for (size_t i = 0; i < problem->count; i++)
        law->mape += fabs(residual_of(law, &problem->points[i])) / (double)problem->count;
    return true;
}

bool share_law_fit(const struct sample_set *set, const char *model, struct share_law *law,
                   struct error *error)
{
    struct problem problem = {calloc(set->latency_count, sizeof *problem.points), 0};
    if (problem.points == NULL)
        return error_run(error, "out of memory for a fit of %zu samples", set->latency_count);
    for (size_t i = 0; i < set->latency_count; i++) {
        const struct latency_sample *sample = &set->latencies[i];
        if ((int32_t)sample->function == string_index_find(&set->functions, model))
            problem.points[problem.count++] = (struct latency_point){
                .batch = sample->batch, .share = samples_share(set, sample), .ms = sample->ms};
    }
    bool fine = fit(&problem, law, error);
    free(problem.points);
    return fine;
}
