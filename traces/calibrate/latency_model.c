#include "traces/calibrate/latency_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_linalg.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

/* Relative errors of measurements that the three fits assume. */
static const double error_levels[MODEL_LAWS] = {0.01, 0.03, 0.1};

static const double batch_octaves[] = {1.5, 4};
static const double share_octaves[] = {0.3, 1, 3};
static const double nuggets[] = {0.03, 0.1, 0.3, 1, 3};
enum { BATCHES = 2, SHARES = 3, NUGGETS = 5 };
_Static_assert(BATCHES *SHARES *NUGGETS == MODEL_KERNELS, "one kernel for each combination");

static const double VCPU_OCTAVES = 2;
static const double CLIP = 5;
static const double NORMAL_SCALE = 1.4826; /* standard deviation / median absolute deviation */
static const double LEAST_WEIGHT = 0.02;   /* relative to the likeliest kernel */
static const double LEAST_VARIANCE = 1e-12;

static bool out_of_memory(size_t count, struct error *error)
{
    return error_run(error, "out of memory for a model of %zu points", count);
}

/* ---- Laws ------------------------------------------------------------------------------------ */

static double laws_log_ms(const struct latency_model *model, double batch, double share)
{
    double sum = 0;
    for (size_t i = 0; i < MODEL_LAWS; i++)
        sum += log(latency_law_ms(&model->laws[i], batch, share));
    return sum / MODEL_LAWS;
}

/* The most strongly pulled law comes first, because its search is the easiest. Each law is where
 * the search of the next begins. The prior, not the start, determines what the points do not. */
static bool fit_laws(const struct latency_point *points, size_t count, const bool *left_out,
                     const struct latency_prior *prior, const struct latency_model *start,
                     struct latency_model *model, struct error *error)
{
    const struct latency_law *from = start == NULL ? NULL : &start->laws[MODEL_LAWS - 1];
    bool fine = true;
    for (size_t level = MODEL_LAWS; fine && level-- > 0;) {
        struct latency_prior scaled = *prior;
        for (size_t j = 0; j < LAW_COEFFICIENTS; j++)
            scaled.pull[j] *= error_levels[level];
        fine = latency_law_fit_near(points, count, left_out, from, &scaled, &model->laws[level],
                                    error);
        from = &model->laws[level];
    }
    return fine;
}

/* ---- Correction ------------------------------------------------------------------------------ */

static void place(double batch, double share, double vcpu, double at[MODEL_AXES])
{
    at[0] = log2(batch);
    at[1] = log2(share);
    at[2] = vcpu > 0 ? log2(vcpu) : 0;
}

static double correlation(const struct latency_kernel *kernel, const double a[MODEL_AXES],
                          const double b[MODEL_AXES])
{
    return exp(-fabs(a[0] - b[0]) / kernel->batch_octaves -
               fabs(a[1] - b[1]) / kernel->share_octaves - fabs(a[2] - b[2]) / VCPU_OCTAVES);
}

static void clip_residuals(double *residuals, size_t count, double *room)
{
    for (size_t i = 0; i < count; i++)
        room[i] = fabs(residuals[i]);
    gsl_sort(room, 1, count);
    double most = CLIP * NORMAL_SCALE * gsl_stats_median_from_sorted_data(room, 1, count);
    for (size_t i = 0; i < count; i++)
        residuals[i] = fmax(-most, fmin(most, residuals[i]));
}

static void correlate(const struct latency_kernel *kernel, const double *places, size_t count,
                      gsl_matrix *matrix)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++) {
            double value = correlation(kernel, &places[MODEL_AXES * i], &places[MODEL_AXES * j]);
            gsl_matrix_set(matrix, i, j, value);
            gsl_matrix_set(matrix, j, i, value);
        }
}

/* Solves (matrix + nugget) coefficients = residuals. `matrix` becomes its Cholesky factor. Returns
 * the logarithm of the marginal likelihood at the likeliest amplitude; -INFINITY if the matrix is
 * not positive definite. */
static double solve(gsl_matrix *matrix, double nugget, const double *residuals, size_t count,
                    double *coefficients)
{
    gsl_vector_view solution = gsl_vector_view_array(coefficients, count);
    gsl_vector_view diagonal = gsl_matrix_diagonal(matrix);
    double squares = 0;
    double log_determinant = 0;
    gsl_vector_add_constant(&diagonal.vector, nugget);
    memcpy(coefficients, residuals, count * sizeof *coefficients);
    if (gsl_linalg_cholesky_decomp1(matrix) != 0 ||
        gsl_linalg_cholesky_svx(matrix, &solution.vector) != 0)
        return -INFINITY;
    for (size_t i = 0; i < count; i++) {
        log_determinant += 2 * log(gsl_matrix_get(matrix, i, i));
        squares += residuals[i] * coefficients[i];
    }
    return -(log_determinant + (double)count * log(squares / (double)count + LEAST_VARIANCE)) / 2;
}

/* Scores all kernels for the given points; solutions[kernel][count]. */
static bool score_kernels(const double *places, const double *residuals, size_t count,
                          struct latency_kernel *kernels, double *scores, double *solutions)
{
    gsl_matrix *base = gsl_matrix_alloc(count, count);
    gsl_matrix *matrix = gsl_matrix_alloc(count, count);
    bool fine = base != NULL && matrix != NULL;
    for (size_t k = 0; fine && k < MODEL_KERNELS; k++) {
        size_t nugget = k % NUGGETS;
        kernels[k] =
            (struct latency_kernel){batch_octaves[k / NUGGETS / SHARES],
                                    share_octaves[k / NUGGETS % SHARES], nuggets[nugget], 0};
        if (nugget == 0)
            correlate(&kernels[k], places, count, base);
        gsl_matrix_memcpy(matrix, base);
        scores[k] = solve(matrix, nuggets[nugget], residuals, count, solutions + k * count);
    }
    gsl_matrix_free(base);
    gsl_matrix_free(matrix);
    return fine;
}

/* Keeps the kernels that matter, with their solutions. A model of many points keeps the likeliest
 * and no solution. */
static void keep_kernels(struct latency_model *model, const double *scores, double *solutions)
{
    double best = -INFINITY;
    double sum = 0;
    size_t kept = 0;
    bool one = model->count > MODEL_DIRECT;
    for (size_t k = 0; k < MODEL_KERNELS; k++)
        best = fmax(best, scores[k]);
    for (size_t k = 0; k < MODEL_KERNELS; k++) {
        double weight = exp(scores[k] - best);
        if (!(weight >= (one ? 1 : LEAST_WEIGHT)) || (one && kept > 0))
            continue;
        model->kernels[kept] = model->kernels[k];
        model->kernels[kept].weight = weight;
        if (!one)
            memmove(solutions + kept * model->count, solutions + k * model->count,
                    model->count * sizeof *solutions);
        kept++;
        sum += weight;
    }
    for (size_t k = 0; k < kept; k++)
        model->kernels[k].weight /= sum;
    model->kernel_count = kept;
}

static bool fit_kernels(struct latency_model *model)
{
    double scores[MODEL_KERNELS];
    size_t used = 0;
    double *places = calloc(MODEL_AXES * model->count, sizeof *places);
    double *residuals = calloc(model->count, sizeof *residuals);
    for (size_t i = 0; places != NULL && residuals != NULL && i < model->count; i++)
        if (latency_in_part(i, model->count, MODEL_DIRECT)) {
            memcpy(&places[MODEL_AXES * used], &model->places[MODEL_AXES * i],
                   MODEL_AXES * sizeof *places);
            residuals[used++] = model->residuals[i];
        }
    double *solutions = calloc(MODEL_KERNELS * (used + 1), sizeof *solutions);
    bool fine = used > 0 && solutions != NULL &&
                score_kernels(places, residuals, used, model->kernels, scores, solutions);
    if (fine)
        keep_kernels(model, scores, solutions);
    free(places);
    free(residuals);
    if (fine && model->count <= MODEL_DIRECT)
        model->coefficients = solutions;
    else
        free(solutions);
    return fine;
}

static bool fit_correction(const struct latency_point *points, size_t count, const bool *left_out,
                           struct latency_model *model)
{
    double *room = calloc(model->count, sizeof *room);
    size_t seen = 0;
    model->places = calloc(MODEL_AXES * model->count, sizeof *model->places);
    model->residuals = calloc(model->count, sizeof *model->residuals);
    bool fine = room != NULL && model->places != NULL && model->residuals != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        if (left_out != NULL && left_out[i])
            continue;
        place(points[i].batch, points[i].share, points[i].vcpu, &model->places[MODEL_AXES * seen]);
        model->residuals[seen++] =
            log(points[i].ms) - laws_log_ms(model, points[i].batch, points[i].share);
    }
    if (fine)
        clip_residuals(model->residuals, model->count, room);
    free(room);
    return fine && fit_kernels(model);
}

bool latency_model_fit(const struct latency_point *points, size_t count, const bool *left_out,
                       const struct latency_prior *prior, const struct latency_model *start,
                       struct latency_model *model, struct error *error)
{
    *model = (struct latency_model){0};
    for (size_t i = 0; i < count; i++)
        model->count += left_out == NULL || !left_out[i];
    if (model->count < 2)
        return error_input(error, "a model of latency needs at least 2 points");
    return fit_laws(points, count, left_out, prior, start, model, error) &&
           (fit_correction(points, count, left_out, model) || out_of_memory(count, error));
}

void latency_model_clear(struct latency_model *model)
{
    free(model->places);
    free(model->residuals);
    free(model->coefficients);
    *model = (struct latency_model){0};
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Indices of the MODEL_NEAR points that are most correlated with `at`, nearest first. */
static void find_near(const struct latency_model *model, const double at[MODEL_AXES],
                      size_t near[MODEL_NEAR])
{
    double closeness[MODEL_NEAR];
    size_t found = 0;
    for (size_t i = 0; i < model->count; i++) {
        double value = correlation(&model->kernels[0], at, &model->places[MODEL_AXES * i]);
        if (found == MODEL_NEAR && value <= closeness[found - 1])
            continue;
        size_t place = found < MODEL_NEAR ? found++ : found - 1;
        for (; place > 0 && closeness[place - 1] < value; place--) {
            closeness[place] = closeness[place - 1];
            near[place] = near[place - 1];
        }
        closeness[place] = value;
        near[place] = i;
    }
}

static double near_correction(const struct latency_model *model, const double at[MODEL_AXES])
{
    const struct latency_kernel *kernel = &model->kernels[0];
    double places[MODEL_AXES * MODEL_NEAR], residuals[MODEL_NEAR], coefficients[MODEL_NEAR] = {0};
    size_t near[MODEL_NEAR] = {0};
    double sum = 0;
    gsl_matrix *matrix = gsl_matrix_alloc(MODEL_NEAR, MODEL_NEAR);
    if (matrix == NULL)
        return NAN;
    find_near(model, at, near);
    for (size_t i = 0; i < MODEL_NEAR; i++) {
        memcpy(&places[MODEL_AXES * i], &model->places[MODEL_AXES * near[i]],
               MODEL_AXES * sizeof *places);
        residuals[i] = model->residuals[near[i]];
    }
    correlate(kernel, places, MODEL_NEAR, matrix);
    (void)solve(matrix, kernel->nugget, residuals, MODEL_NEAR, coefficients);
    for (size_t i = 0; i < MODEL_NEAR; i++)
        sum += coefficients[i] * correlation(kernel, at, &places[MODEL_AXES * i]);
    gsl_matrix_free(matrix);
    return sum;
}

static double correction(const struct latency_model *model, const double at[MODEL_AXES])
{
    double sum = 0;
    if (model->coefficients == NULL)
        return near_correction(model, at);
    for (size_t k = 0; k < model->kernel_count; k++) {
        const double *coefficients = model->coefficients + k * model->count;
        double value = 0;
        for (size_t i = 0; i < model->count; i++)
            value += coefficients[i] *
                     correlation(&model->kernels[k], at, &model->places[MODEL_AXES * i]);
        sum += model->kernels[k].weight * value;
    }
    return sum;
}

double latency_model_ms(const struct latency_model *model, double batch, double share, double vcpu)
{
    double at[MODEL_AXES];
    place(batch, share, vcpu, at);
    return exp(laws_log_ms(model, batch, share) + correction(model, at));
}

const struct latency_law *latency_model_law(const struct latency_model *model)
{
    return &model->laws[MODEL_LAWS / 2];
}
