#include "sched/aquatope/gp.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_blas.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multimin.h>
#include <gsl/gsl_randist.h>

/* Added to the diagonal of a kernel matrix without noise, relative to the signal, so that it can be
 * factored. */
#define JITTER 1e-6
#define ROUNDING 64.0

struct gp {
    struct arena *arena;
    size_t dimensions, count;
    struct gp_hyper hyper;
    double *x, *y;
    double *root;    /* capacity² doubles each, count × count in use: Cholesky factor … */
    double *inverse; /* … and inverse of kernel matrix + noise */
    double *weights; /* inverse × y */
    double *scratch; /* 2 × capacity */
    double *distance, *decay; /* capacity² each: √5 × scaled distance of a pair, exp(−distance) */
};

static gsl_matrix_view square(double *data, size_t count)
{
    return gsl_matrix_view_array(data, count, count);
}

struct gp *gp_create(struct arena *arena, size_t capacity, size_t dimensions)
{
    struct gp *gp = arena_allocate(arena, 1, sizeof *gp);
    gp->arena = arena;
    gp->dimensions = dimensions;
    gp->x = arena_allocate(arena, capacity * dimensions, sizeof *gp->x);
    gp->y = arena_allocate(arena, capacity, sizeof *gp->y);
    gp->root = arena_allocate(arena, capacity * capacity, sizeof *gp->root);
    gp->inverse = arena_allocate(arena, capacity * capacity, sizeof *gp->inverse);
    gp->weights = arena_allocate(arena, capacity, sizeof *gp->weights);
    gp->scratch = arena_allocate(arena, 2 * capacity, sizeof *gp->scratch);
    gp->distance = arena_allocate(arena, capacity * capacity, sizeof *gp->distance);
    gp->decay = arena_allocate(arena, capacity * capacity, sizeof *gp->decay);
    return gp;
}

struct gp_hyper gp_hyper_default(size_t dimensions)
{
    struct gp_hyper hyper = {.signal = 1, .noise = 0.05};
    for (size_t d = 0; d < GP_MAX_DIMENSIONS; d++)
        hyper.length[d] = 0.5 * sqrt((double)dimensions);
    return hyper;
}

/* √5 × the distance between two points in units of the lengths. */
static double scaled_distance(const struct gp_hyper *hyper, size_t dimensions, const double *a,
                              const double *b)
{
    double sum = 0;
    for (size_t d = 0; d < dimensions; d++) {
        const double step = (a[d] - b[d]) / hyper->length[d];
        sum += step * step;
    }
    return sqrt(5 * sum);
}

double gp_kernel(const struct gp_hyper *hyper, size_t dimensions, const double *a, const double *b)
{
    const double r = scaled_distance(hyper, dimensions, a, b);
    return hyper->signal * (1 + r + r * r / 3) * exp(-r);
}

/* Lower triangle and its mirror image of the kernel matrix, `diagonal` added on the diagonal. */
static void kernel_matrix(const struct gp *gp, double diagonal, double *out)
{
    const size_t n = gp->count;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            out[i * n + j] = out[j * n + i] = gp_kernel(
                &gp->hyper, gp->dimensions, &gp->x[i * gp->dimensions], &gp->x[j * gp->dimensions]);
        out[i * n + i] = gp->hyper.signal + diagonal;
    }
}

/* Fills the kernel matrix for the hyper-parameters. Stores each pair's intermediate values for the
 * gradients. */
static void gp_pairs(struct gp *gp)
{
    const size_t n = gp->count;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            const double r = scaled_distance(&gp->hyper, gp->dimensions, &gp->x[i * gp->dimensions],
                                             &gp->x[j * gp->dimensions]);
            const double decay = exp(-r);
            gp->distance[i * n + j] = r;
            gp->decay[i * n + j] = decay;
            gp->root[i * n + j] = gp->root[j * n + i] =
                gp->hyper.signal * (1 + r + r * r / 3) * decay;
        }
        gp->root[i * n + i] = gp->hyper.signal + gp->hyper.noise;
    }
}

/* Computes factor and weights for the observations, as the value of the evidence needs them. */
static void gp_factor(struct gp *gp)
{
    const size_t n = gp->count;
    gsl_matrix_view root = square(gp->root, n);
    gp_pairs(gp);
    gsl_linalg_cholesky_decomp1(&root.matrix);
    const gsl_vector_const_view y = gsl_vector_const_view_array(gp->y, n);
    gsl_vector_view weights = gsl_vector_view_array(gp->weights, n);
    gsl_linalg_cholesky_solve(&root.matrix, &y.vector, &weights.vector);
}

/* Computes the inverse from the factor, as the gradient of the evidence needs it. */
static void gp_invert(struct gp *gp)
{
    gsl_matrix_view root = square(gp->root, gp->count);
    gsl_matrix_view inverse = square(gp->inverse, gp->count);
    gsl_matrix_memcpy(&inverse.matrix, &root.matrix);
    gsl_linalg_cholesky_invert(&inverse.matrix);
}

static void gp_hold(struct gp *gp, const double *x, const double *y, size_t count,
                    const struct gp_hyper *hyper)
{
    gp->count = count;
    gp->hyper = *hyper;
    memcpy(gp->x, x, count * gp->dimensions * sizeof *x);
    memcpy(gp->y, y, count * sizeof *y);
}

void gp_observe(struct gp *gp, const double *x, const double *y, size_t count,
                const struct gp_hyper *hyper)
{
    gp_hold(gp, x, y, count, hyper);
    gp_factor(gp);
    gp_invert(gp);
}

/* Covariances of x with the observed points. */
static void covariances(const struct gp *gp, const double *x, double *out)
{
    for (size_t i = 0; i < gp->count; i++)
        out[i] = gp_kernel(&gp->hyper, gp->dimensions, x, &gp->x[i * gp->dimensions]);
}

/* out := root⁻¹ out, where root is a lower triangle of n rows. Returns the squared norm of the
 * result. */
static double solve_lower(const double *root, size_t n, double *out)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double value = out[i];
        for (size_t j = 0; j < i; j++)
            value -= root[i * n + j] * out[j];
        out[i] = value / root[i * n + i];
        sum += out[i] * out[i];
    }
    return sum;
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

void gp_predict(const struct gp *gp, const double *x, double *mean, double *variance)
{
    double *near = gp->scratch;
    covariances(gp, x, near);
    *mean = dot(near, gp->weights, gp->count);
    const double left = gp->hyper.signal - solve_lower(gp->root, gp->count, near);
    *variance = left > 0 ? left : 0;
}

double gp_leave_one_out(const struct gp *gp, size_t i, double *mean, double *variance)
{
    const double precision = gp->inverse[i * gp->count + i];
    *mean = gp->y[i] - gp->weights[i] / precision;
    *variance = 1 / precision;
    return gp->weights[i] / precision;
}

/* Adds the contribution of the pair (i, j) to the derivatives with respect to lengths and signal.
 */
static void gradient_pair(const struct gp *gp, size_t i, size_t j, double *gradient)
{
    const size_t dimensions = gp->dimensions;
    const double *a = &gp->x[i * dimensions];
    const double *b = &gp->x[j * dimensions];
    const double r = gp->distance[i * gp->count + j];
    const double decay = gp->hyper.signal * gp->decay[i * gp->count + j];
    const double pull = gp->weights[i] * gp->weights[j] - gp->inverse[i * gp->count + j];
    /* A pair off the diagonal counts twice, which cancels the factor 1/2 of equation 5.9. */
    for (size_t d = 0; d < dimensions; d++) {
        const double step = (a[d] - b[d]) / gp->hyper.length[d];
        gradient[d] += pull * decay * (1 + r) * step * step * 5 / 3;
    }
    gradient[dimensions] += pull * decay * (1 + r + r * r / 3);
}

double gp_evidence(const struct gp *gp, double *gradient)
{
    const size_t n = gp->count;
    double value = -0.5 * dot(gp->y, gp->weights, n) - 0.5 * (double)n * log(2 * M_PI);
    for (size_t i = 0; i < n; i++)
        value -= log(gp->root[i * n + i]);
    if (gradient == NULL)
        return value;
    memset(gradient, 0, (gp->dimensions + 2) * sizeof *gradient);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            gradient_pair(gp, i, j, gradient);
        const double pull = gp->weights[i] * gp->weights[i] - gp->inverse[i * n + i];
        gradient[gp->dimensions] += 0.5 * pull * gp->hyper.signal;
        gradient[gp->dimensions + 1] += 0.5 * pull * gp->hyper.noise;
    }
    return value;
}

/* ---- Fitting --------------------------------------------------------------------------------- */

struct prior {
    double shape, rate;
    double low, high; /* values beyond these are replaced by the bound */
};

static struct prior prior_of(size_t dimensions, size_t index)
{
    if (index < dimensions)
        return (struct prior){3, 6 / sqrt((double)dimensions), 0.02, 100};
    if (index == dimensions)
        return (struct prior){2, 0.15, 0.02, 100};
    return (struct prior){1.1, 0.05, 1e-4, 10};
}

static double *hyper_value(struct gp_hyper *hyper, size_t dimensions, size_t index)
{
    if (index < dimensions)
        return &hyper->length[index];
    return index == dimensions ? &hyper->signal : &hyper->noise;
}

/* A minimiser first requests the value at a point and then perhaps the gradient there. The last
 * point's results are therefore cached. */
struct fit {
    struct gp *gp;
    double at[GP_MAX_DIMENSIONS + 2]; /* logarithms of the hyper-parameters; initially NAN */
    double prior_slope[GP_MAX_DIMENSIONS + 2];
    bool inside[GP_MAX_DIMENSIONS + 2];
    double prior;
};

/* Makes the process use the hyper-parameters with these logarithms. */
static void fit_move(struct fit *fit, const gsl_vector *logs)
{
    bool there = true;
    for (size_t i = 0; i < logs->size; i++)
        there = there && gsl_vector_get(logs, i) == fit->at[i];
    if (there)
        return;
    fit->prior = 0;
    for (size_t i = 0; i < logs->size; i++) {
        const struct prior prior = prior_of(fit->gp->dimensions, i);
        double *here = hyper_value(&fit->gp->hyper, fit->gp->dimensions, i);
        const double log_value = gsl_vector_get(logs, i);
        fit->at[i] = log_value;
        fit->inside[i] = log_value > log(prior.low) && log_value < log(prior.high);
        *here = fit->inside[i] ? exp(log_value) : (log_value > 0 ? prior.high : prior.low);
        fit->prior += (prior.shape - 1) * log(*here) - prior.rate * *here;
        fit->prior_slope[i] = (prior.shape - 1) - prior.rate * *here;
    }
    gp_factor(fit->gp);
}

/* −(evidence + log prior) at logarithms of hyper-parameters, and its gradient. */
static double fit_value(const gsl_vector *logs, void *context)
{
    struct fit *fit = context;
    fit_move(fit, logs);
    return -(gp_evidence(fit->gp, NULL) + fit->prior);
}

static void fit_both(const gsl_vector *logs, void *context, double *value, gsl_vector *gradient)
{
    struct fit *fit = context;
    double slope[GP_MAX_DIMENSIONS + 2];
    fit_move(fit, logs);
    gp_invert(fit->gp);
    *value = -(gp_evidence(fit->gp, slope) + fit->prior);
    for (size_t i = 0; i < logs->size; i++)
        gsl_vector_set(gradient, i, fit->inside[i] ? -(slope[i] + fit->prior_slope[i]) : 0);
}

static void fit_gradient(const gsl_vector *logs, void *context, gsl_vector *gradient)
{
    double value;
    fit_both(logs, context, &value, gradient);
}

static void fit_minimise(struct gp *gp, struct gp_hyper *hyper, size_t iterations)
{
    const size_t count = gp->dimensions + 2;
    double logs[GP_MAX_DIMENSIONS + 2];
    struct fit fit = {.gp = gp};
    for (size_t i = 0; i < count; i++) {
        logs[i] = log(*hyper_value(hyper, gp->dimensions, i));
        fit.at[i] = NAN;
    }
    const gsl_vector_view start = gsl_vector_view_array(logs, count);
    gsl_multimin_function_fdf function = {fit_value, fit_gradient, fit_both, count, &fit};
    gsl_multimin_fdfminimizer *minimiser =
        gsl_multimin_fdfminimizer_alloc(gsl_multimin_fdfminimizer_vector_bfgs2, count);
    if (minimiser == NULL)
        arena_exhaust(gp->arena, 1, sizeof *minimiser);
    gsl_multimin_fdfminimizer_set(minimiser, &function, &start.vector, 0.3, 0.1);
    for (size_t i = 0; i < iterations; i++)
        if (gsl_multimin_fdfminimizer_iterate(minimiser) != GSL_SUCCESS ||
            gsl_multimin_test_gradient(minimiser->gradient, 0.05) == GSL_SUCCESS)
            break;
    for (size_t i = 0; i < count; i++) {
        const struct prior prior = prior_of(gp->dimensions, i);
        const double rounded = round(gsl_vector_get(minimiser->x, i) * ROUNDING) / ROUNDING;
        *hyper_value(hyper, gp->dimensions, i) = fmin(fmax(exp(rounded), prior.low), prior.high);
    }
    gsl_multimin_fdfminimizer_free(minimiser);
}

void gp_fit(struct gp *gp, const double *x, const double *y, size_t count, struct gp_hyper *hyper,
            size_t iterations)
{
    gp_hold(gp, x, y, count, hyper);
    fit_minimise(gp, hyper, iterations);
    gp_observe(gp, x, y, count, hyper);
}

/* ---- Draws from the posterior ---------------------------------------------------------------- */

struct gp_paths {
    const struct gp *gp;
    size_t count;
    double *root;    /* Cholesky factor of the kernel matrix without noise */
    double *values;  /* count × observations */
    double *weights; /* count × observations: kernel matrix⁻¹ × values */
};

/* Factor of the posterior covariance noise (1 − noise × inverse) at the observed points. */
static void posterior_root(const struct gp *gp, double *out)
{
    const size_t n = gp->count;
    const double noise = gp->hyper.noise;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            out[i * n + j] =
                (i == j ? noise * (1 + JITTER) + 1e-9 : 0) - noise * noise * gp->inverse[i * n + j];
    gsl_matrix_view view = square(out, n);
    gsl_linalg_cholesky_decomp1(&view.matrix);
}

static void draw_values(struct gp_paths *paths, const double *spread, struct random_stream *stream)
{
    const struct gp *gp = paths->gp;
    const size_t n = gp->count;
    for (size_t p = 0; p < paths->count; p += 2) {
        double *up = &paths->values[p * n];
        double *down = up + n;
        for (size_t i = 0; i < n; i++)
            down[i] = gsl_ran_gaussian_ziggurat(&stream->rng, 1);
        for (size_t i = n; i-- > 0;) {
            const double mean = gp->y[i] - gp->hyper.noise * gp->weights[i];
            const double step = dot(&spread[i * n], down, i + 1);
            up[i] = mean + step;
            down[i] = mean - step;
        }
    }
}

struct gp_paths *gp_paths_create(const struct gp *gp, size_t count, struct random_stream *stream)
{
    const size_t n = gp->count;
    struct gp_paths *paths = arena_allocate(gp->arena, 1, sizeof *paths);
    *paths = (struct gp_paths){.gp = gp, .count = count};
    paths->root = arena_allocate(gp->arena, n * n, sizeof *paths->root);
    paths->values = arena_allocate(gp->arena, count * n, sizeof *paths->values);
    paths->weights = arena_allocate(gp->arena, count * n, sizeof *paths->weights);
    posterior_root(gp, paths->root);
    draw_values(paths, paths->root, stream);
    kernel_matrix(gp, JITTER * gp->hyper.signal, paths->root);
    gsl_matrix_view root = square(paths->root, n);
    gsl_linalg_cholesky_decomp1(&root.matrix);
    for (size_t p = 0; p < count; p++) {
        const gsl_vector_const_view from = gsl_vector_const_view_array(&paths->values[p * n], n);
        gsl_vector_view to = gsl_vector_view_array(&paths->weights[p * n], n);
        gsl_linalg_cholesky_solve(&root.matrix, &from.vector, &to.vector);
    }
    return paths;
}

double gp_paths_at(const struct gp_paths *paths, size_t path, size_t i)
{
    return paths->values[path * paths->gp->count + i];
}

double gp_paths_predict(const struct gp_paths *paths, const double *x, double *means,
                        double *solved)
{
    const size_t n = paths->gp->count;
    covariances(paths->gp, x, solved);
    for (size_t p = 0; p < paths->count; p++)
        means[p] = dot(solved, &paths->weights[p * n], n);
    const double left = paths->gp->hyper.signal - solve_lower(paths->root, n, solved);
    return left > 0 ? left : 0;
}
