#include "traces/profile/calibrate_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/arena.h"

enum { REWEIGHTINGS = 8, STARTS = 4 };

/* When a search ends. One that begins at a fit to about the same points ends sooner. */
struct effort {
    size_t iterations;
    double step, gradient;
};
static const struct effort first_effort = {60, 1e-6, 1e-6};
static const struct effort effort_after = {12, 1e-4, 1e-6};

const char *const latency_coefficient_names[LAW_COEFFICIENTS] = {
    "floor_ms", "floor_per_item_ms", "work_square_ms", "work_per_item_ms",
    "work_ms",  "share_offset",      "kink",           "share_exponent"};

static const double HUBER = 1.345;

/* Losses of different searches are compared at one scale, a typical relative error of measurements.
 */
static const double COMPARED_SCALE = 0.02;

/* A root below this is 0 but for rounding, and stays there. */
static const double ZERO_ROOT = 1e-9;

/* The search variable is x: non-negative coefficients are x², the kink is 1 + x² and the share's
 * exponent is sin²x. */
static struct latency_law law_of(const gsl_vector *x)
{
    struct latency_law law;
    for (size_t i = 0; i < LAW_COEFFICIENTS; i++)
        law.k[i] = gsl_pow_2(gsl_vector_get(x, i));
    law.k[LAW_KINK] += 1;
    law.k[LAW_SHARE_EXPONENT] = gsl_pow_2(sin(gsl_vector_get(x, LAW_SHARE_EXPONENT)));
    return law;
}

static void search_place(const struct latency_law *law, double *x)
{
    for (size_t i = 0; i < LAW_COEFFICIENTS; i++)
        x[i] = sqrt(law->k[i]);
    x[LAW_KINK] = sqrt(fmax(law->k[LAW_KINK] - 1, 0));
    x[LAW_SHARE_EXPONENT] = asin(sqrt(fmin(law->k[LAW_SHARE_EXPONENT], 1)));
}

/* Lower bound that keeps log(f) and log(w) finite; at this value the term does not matter. */
static const double LEAST_MS = 1e-12;

struct parts {
    double floor, work, log_floor, log_work;
    double floor_weight; /* f^p / (f^p + w^p) */
    double log_ms;
};

static struct parts law_parts(const struct latency_law *law, double batch, double share)
{
    const double *k = law->k;
    struct parts parts;
    double work = (k[LAW_WORK_SQUARE] * batch + k[LAW_WORK_PER_ITEM]) * batch + k[LAW_WORK];
    parts.floor = fmax(k[LAW_FLOOR] + k[LAW_FLOOR_PER_ITEM] * batch, LEAST_MS);
    parts.work = fmax(work / pow(share + k[LAW_SHARE_OFFSET], k[LAW_SHARE_EXPONENT]), LEAST_MS);
    parts.log_floor = log(parts.floor);
    parts.log_work = log(parts.work);
    double p = k[LAW_KINK];
    double most = fmax(parts.log_floor, parts.log_work);
    double floor = exp(p * (parts.log_floor - most));
    double work_power = exp(p * (parts.log_work - most));
    parts.floor_weight = floor / (floor + work_power);
    parts.log_ms = most + log(floor + work_power) / p;
    return parts;
}

double latency_law_ms(const struct latency_law *law, double batch, double share)
{
    return exp(law_parts(law, batch, share).log_ms);
}

void latency_range_narrow(struct latency_range *range, const struct latency_point *known,
                          double batch, double share)
{
    const double longer = fmax(1, batch / known->batch) * fmax(1, known->share / share);
    const double shorter = fmax(1, known->batch / batch) * fmax(1, share / known->share);
    range->least = fmax(range->least, known->ms / shorter);
    range->most = fmin(range->most, known->ms * longer);
}

double latency_range_clamp(const struct latency_range *range, double ms)
{
    return fmin(range->most, fmax(range->least, ms));
}

/* The points that are not left out, divided by their geometric mean `scale`. One more row per
 * coefficient pulls it towards the prior's value. That determines coefficients which the points do
 * not, for instance if there is only one batch size. */
struct problem {
    struct latency_point *points;
    size_t count;
    double scale;
    struct latency_prior prior;
    double *weights; /* of points and of the additional rows */
    double *sizes;   /* |residuals|, for computing their median */
};

static int residuals_of(const gsl_vector *x, void *data, gsl_vector *residuals)
{
    const struct problem *problem = data;
    struct latency_law law = law_of(x);
    for (size_t i = 0; i < problem->count; i++) {
        const struct latency_point *point = &problem->points[i];
        gsl_vector_set(residuals, i,
                       law_parts(&law, point->batch, point->share).log_ms - log(point->ms));
    }
    for (size_t j = 0; j < LAW_COEFFICIENTS; j++)
        gsl_vector_set(residuals, problem->count + j,
                       problem->prior.pull[j] * (gsl_vector_get(x, j) - problem->prior.place[j]));
    return GSL_SUCCESS;
}

/* Gradient of the law: d log t / d k. */
static void law_gradient(const struct latency_law *law, const struct latency_point *point,
                         double gradient[LAW_COEFFICIENTS])
{
    const double *k = law->k;
    struct parts parts = law_parts(law, point->batch, point->share);
    double by_floor = parts.floor_weight / parts.floor;
    double work_weight = 1 - parts.floor_weight;
    double base = point->share + k[LAW_SHARE_OFFSET];
    double by_work = work_weight / parts.work / pow(base, k[LAW_SHARE_EXPONENT]);
    double p = k[LAW_KINK];
    gradient[LAW_FLOOR] = by_floor;
    gradient[LAW_FLOOR_PER_ITEM] = by_floor * point->batch;
    gradient[LAW_WORK_SQUARE] = by_work * point->batch * point->batch;
    gradient[LAW_WORK_PER_ITEM] = by_work * point->batch;
    gradient[LAW_WORK] = by_work;
    gradient[LAW_SHARE_OFFSET] = -work_weight * k[LAW_SHARE_EXPONENT] / base;
    gradient[LAW_KINK] =
        (parts.floor_weight * parts.log_floor + work_weight * parts.log_work - parts.log_ms) / p;
    gradient[LAW_SHARE_EXPONENT] = -work_weight * log(base);
}

static int jacobian_of(const gsl_vector *x, void *data, gsl_matrix *jacobian)
{
    const struct problem *problem = data;
    struct latency_law law = law_of(x);
    for (size_t i = 0; i < problem->count; i++) {
        double gradient[LAW_COEFFICIENTS];
        law_gradient(&law, &problem->points[i], gradient);
        for (size_t j = 0; j < LAW_COEFFICIENTS; j++) {
            double root = gsl_vector_get(x, j);
            double inner = j == LAW_SHARE_EXPONENT  ? sin(2 * root)
                           : fabs(root) < ZERO_ROOT ? 0
                                                    : 2 * root;
            gsl_matrix_set(jacobian, i, j, gradient[j] * inner);
        }
    }
    for (size_t j = 0; j < LAW_COEFFICIENTS; j++)
        for (size_t i = 0; i < LAW_COEFFICIENTS; i++)
            gsl_matrix_set(jacobian, problem->count + i, j, i == j ? problem->prior.pull[j] : 0);
    return GSL_SUCCESS;
}

/* One weighted least-squares search from x, which is replaced by the result. */
static bool descend(struct problem *problem, double *x, const struct effort *effort,
                    gsl_multifit_nlinear_workspace *work, struct error *error)
{
    size_t rows = problem->count + LAW_COEFFICIENTS;
    gsl_multifit_nlinear_fdf system = {
        .f = residuals_of, .df = jacobian_of, .n = rows, .p = LAW_COEFFICIENTS, .params = problem};
    gsl_vector_view from = gsl_vector_view_array(x, LAW_COEFFICIENTS);
    gsl_vector_const_view weights = gsl_vector_const_view_array(problem->weights, rows);
    int why = 0;
    int status = gsl_multifit_nlinear_winit(&from.vector, &weights.vector, &system, work);
    if (status == GSL_SUCCESS)
        status = gsl_multifit_nlinear_driver(effort->iterations, effort->step, effort->gradient, 0,
                                             NULL, NULL, &why, work);
    /* A search that ends with EMAXITER or ENOPROG has reached sufficient precision. */
    if (status != GSL_SUCCESS && status != GSL_EMAXITER && status != GSL_ENOPROG)
        return error_run(error, "a fit of %zu points failed: %s", problem->count,
                         gsl_strerror(status));
    gsl_vector_memcpy(&from.vector, gsl_multifit_nlinear_position(work));
    return true;
}

/* Sets Huber's weights from the residuals at x. Returns Huber's loss in units of `scale`. */
static double reweight(struct problem *problem, const double *x, double scale)
{
    gsl_vector_const_view place = gsl_vector_const_view_array(x, LAW_COEFFICIENTS);
    struct latency_law law = law_of(&place.vector);
    double loss = 0;
    for (size_t i = 0; i < problem->count; i++) {
        const struct latency_point *point = &problem->points[i];
        double residual = fabs(law_parts(&law, point->batch, point->share).log_ms - log(point->ms));
        double bound = HUBER * scale;
        problem->sizes[i] = residual;
        problem->weights[i] = residual <= bound ? 1 : bound / residual;
        loss += residual <= bound ? residual * residual / 2 : bound * (residual - bound / 2);
    }
    return loss;
}

/* Standard deviation of normal errors, from the median absolute residual. It has a lower bound, the
 * resolution of measurements. */
static double residual_scale(struct problem *problem)
{
    static const double normal = 1.4826;
    static const double least = 1e-6;
    gsl_sort(problem->sizes, 1, problem->count);
    return fmax(normal * gsl_stats_median_from_sorted_data(problem->sizes, 1, problem->count),
                least);
}

/* Starting points for points with geometric mean 1: work only; floor plus work; a sharp kink; a
 * floor that grows with the batch. A square of the batch would stay at 0: on public tables it
 * raises left-out errors. The exponent begins below 1, where its gradient is 0. */
static const struct latency_law starts[STARTS] = {
    {{0.02, 0.001, 0, 0.05, 0.05, 0.02, 1.05, 0.9}},
    {{0.2, 0.01, 0, 0.03, 0.05, 0.05, 1.5, 0.9}},
    {{0.3, 0.005, 0, 0.03, 0.05, 0.02, 6, 0.9}},
    {{0.1, 0.1, 0, 0.02, 0.02, 0.02, 6, 0.9}},
};

static bool search(struct problem *problem, const struct latency_law *start, bool near, double x[],
                   double *loss, gsl_multifit_nlinear_workspace *work, struct error *error)
{
    static const double infinite_scale = 1e6;
    const double settled = near ? 1e-2 : 1e-3;
    double before = 0;
    search_place(start, x);
    (void)reweight(problem, x, infinite_scale);
    *loss = 0;
    for (int round = 0; round < REWEIGHTINGS; round++) {
        if (!descend(problem, x, near && round > 0 ? &effort_after : &first_effort, work, error))
            return false;
        (void)reweight(problem, x, infinite_scale);
        double scale = residual_scale(problem);
        (void)reweight(problem, x, scale);
        if (fabs(scale - before) <= settled * scale)
            break;
        before = scale;
    }
    *loss = reweight(problem, x, COMPARED_SCALE);
    for (size_t j = 0; j < LAW_COEFFICIENTS; j++)
        *loss += gsl_pow_2(problem->prior.pull[j] * (x[j] - problem->prior.place[j])) / 2;
    return true;
}

static void law_scale(struct latency_law *law, double by)
{
    for (size_t i = LAW_FLOOR; i <= LAW_WORK; i++)
        law->k[i] *= by;
}

/* Returns whether point `index` of `count` belongs to a part of about `wanted` points, which is
 * spread over them by multiples of the golden ratio. */
static bool in_part(size_t index, size_t count, size_t wanted)
{
    static const double golden = 0.61803398874989485;
    double whole;
    return count <= wanted || modf((double)index * golden, &whole) * (double)count < (double)wanted;
}

static bool problem_fill(struct arena *arena, struct problem *problem,
                         const struct latency_point *points, size_t count, const bool *left_out,
                         struct error *error)
{
    double sum = 0;
    problem->points = arena_allocate(arena, count, sizeof *problem->points);
    problem->weights = arena_allocate(arena, count + LAW_COEFFICIENTS, sizeof *problem->weights);
    problem->sizes = arena_allocate(arena, count, sizeof *problem->sizes);
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        seen += left_out == NULL || !left_out[i];
    for (size_t i = 0, at = 0; i < count; i++)
        if ((left_out == NULL || !left_out[i]) && in_part(at++, seen, LATENCY_LAW_POINTS))
            problem->points[problem->count++] = points[i];
    if (problem->count < 2)
        return error_input(error, "a latency law needs at least 2 points");
    for (size_t i = 0; i < problem->count; i++)
        sum += log(problem->points[i].ms);
    problem->scale = exp(sum / (double)problem->count);
    for (size_t i = 0; i < problem->count; i++)
        problem->points[i].ms /= problem->scale;
    for (size_t i = 0; i < LAW_COEFFICIENTS; i++)
        problem->weights[problem->count + i] = 1;
    return true;
}

static bool search_all(struct problem *problem, const struct latency_law *start,
                       struct latency_law *law, gsl_multifit_nlinear_workspace *work,
                       struct error *error)
{
    double best = INFINITY;
    for (size_t i = 0; i < (start == NULL ? STARTS : 1); i++) {
        double x[LAW_COEFFICIENTS];
        double loss = INFINITY;
        struct latency_law from = start == NULL ? starts[i] : *start;
        if (start != NULL)
            law_scale(&from, 1 / problem->scale);
        if (!search(problem, &from, start != NULL, x, &loss, work, error))
            return false;
        if (!(loss < best))
            continue;
        best = loss;
        gsl_vector_const_view end = gsl_vector_const_view_array(x, LAW_COEFFICIENTS);
        *law = law_of(&end.vector);
    }
    law_scale(law, problem->scale);
    return isfinite(best) || error_run(error, "no fit of %zu points converged", problem->count);
}

struct latency_prior latency_prior_weak(double pull)
{
    struct latency_prior prior;
    search_place(&starts[0], prior.place);
    prior.place[LAW_SHARE_EXPONENT] = M_PI_2; /* an exponent of 1 */
    for (size_t j = 0; j < LAW_COEFFICIENTS; j++)
        prior.pull[j] = pull;
    return prior;
}

void latency_prior_place(struct latency_prior *prior, const struct latency_law *law,
                         const struct latency_point *points, size_t count)
{
    struct latency_law scaled = *law;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += log(points[i].ms) / (double)count;
    law_scale(&scaled, exp(-sum));
    search_place(&scaled, prior->place);
}

bool latency_law_fit(const struct latency_point *points, size_t count, const bool *left_out,
                     const struct latency_law *start, const struct latency_prior *prior,
                     struct latency_law *law, struct error *error)
{
    struct problem problem = {.prior = *prior};
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *work = NULL;
    struct arena *arena = arena_create();
    bool fine = problem_fill(arena, &problem, points, count, left_out, error);
    if (fine) {
        work = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters,
                                          problem.count + LAW_COEFFICIENTS, LAW_COEFFICIENTS);
        fine = work != NULL || error_run(error, "out of memory for a fit of %zu points", count);
    }
    fine = fine && search_all(&problem, start, law, work, error);
    gsl_multifit_nlinear_free(work);
    arena_destroy(arena);
    return fine;
}
