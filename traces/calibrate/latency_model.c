#include "traces/calibrate/latency_model.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_linalg.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

enum { BATCH, SHARE, VCPU, AXES }; /* of a place, in octaves */

/* Relative errors of measurements that the three fits assume. */
static const double error_levels[MODEL_LAWS] = {0.01, 0.03, 0.1};

/* The correlation of residuals, and a point's own noise relative to their variance. */
static const double BATCH_OCTAVES = 4, SHARE_OCTAVES = 3, VCPU_OCTAVES = 2, NUGGET = 0.1;

/* Outside the hull a deviation grows by this part for each octave. */
static const double GROWTH = 0.1;

static const double CLIP = 5;
static const double NORMAL_SCALE = 1.4826; /* standard deviation / median absolute deviation */

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
        fine = latency_law_fit(points, count, left_out, from, &scaled, &model->laws[level], error);
        from = &model->laws[level];
    }
    return fine;
}

/* ---- Correction ------------------------------------------------------------------------------ */

static void place(const struct latency_point *point, double at[AXES])
{
    at[BATCH] = log2(point->batch);
    at[SHARE] = log2(point->share);
    at[VCPU] = point->vcpu > 0 ? log2(point->vcpu) : 0;
}

static double correlation(const double a[AXES], const double b[AXES])
{
    return exp(-fabs(a[BATCH] - b[BATCH]) / BATCH_OCTAVES -
               fabs(a[SHARE] - b[SHARE]) / SHARE_OCTAVES - fabs(a[VCPU] - b[VCPU]) / VCPU_OCTAVES);
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

static void fit_correction(const struct latency_point *points, size_t count, const bool *left_out,
                           struct latency_model *model)
{
    model->arena = arena_create();
    double *room = arena_allocate(model->arena, model->count, sizeof *room);
    size_t seen = 0;
    model->points = arena_allocate(model->arena, model->count, sizeof *model->points);
    model->places = arena_allocate(model->arena, AXES * model->count, sizeof *model->places);
    model->residuals = arena_allocate(model->arena, model->count, sizeof *model->residuals);
    for (size_t i = 0; i < count; i++) {
        if (left_out != NULL && left_out[i])
            continue;
        model->points[seen] = points[i];
        place(&points[i], &model->places[AXES * seen]);
        model->residuals[seen++] =
            log(points[i].ms) - laws_log_ms(model, points[i].batch, points[i].share);
    }
    clip_residuals(model->residuals, model->count, room);
    arena_release(model->arena, room);
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
    if (!fit_laws(points, count, left_out, prior, start, model, error))
        return false;
    fit_correction(points, count, left_out, model);
    return true;
}

void latency_model_clear(struct latency_model *model)
{
    arena_destroy(model->arena);
    *model = (struct latency_model){0};
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Sets the indices of the points that are most correlated with `at`, nearest first, and these
 * correlations. Returns how many there are. */
static size_t find_near(const struct latency_model *model, const double at[AXES], size_t *near,
                        double *closeness)
{
    size_t found = 0;
    for (size_t i = 0; i < model->count; i++) {
        double value = correlation(at, &model->places[AXES * i]);
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
    return found;
}

/* Sets the weights of the residuals of the points `near`. The nugget makes the matrix positive
 * definite. */
static void solve(const struct latency_model *model, const size_t *near, const double *closeness,
                  size_t count, double *weights)
{
    double room[MODEL_NEAR * MODEL_NEAR];
    gsl_matrix_view matrix = gsl_matrix_view_array(room, count, count);
    gsl_vector_view solution = gsl_vector_view_array(weights, count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            room[i * count + j] =
                correlation(&model->places[AXES * near[i]], &model->places[AXES * near[j]]) +
                (i == j ? NUGGET : 0);
    memcpy(weights, closeness, count * sizeof *weights);
    (void)gsl_linalg_cholesky_decomp1(&matrix.matrix);
    (void)gsl_linalg_cholesky_svx(&matrix.matrix, &solution.vector);
}

static double correction(const struct latency_model *model, const double at[AXES],
                         double *deviation)
{
    size_t near[MODEL_NEAR] = {0};
    double closeness[MODEL_NEAR] = {0};
    double weights[MODEL_NEAR] = {0};
    double sum = 0;
    double explained = 0;
    const size_t count = find_near(model, at, near, closeness);
    solve(model, near, closeness, count, weights);
    for (size_t i = 0; i < count; i++) {
        sum += weights[i] * model->residuals[near[i]];
        explained += weights[i] * closeness[i];
    }
    *deviation = sqrt(fmax(0, 1 + NUGGET - explained));
    return sum;
}

/* A place is within the hull over batch and `axis` if the directions to the points leave no gap
 * above half a turn. On an edge of the hull the gap is half a turn. */
static bool is_between(const struct latency_model *model, const double at[AXES], size_t axis)
{
    static const double rounding = 1e-9;
    double *angles = arena_allocate(model->arena, model->count, sizeof *angles);
    double gap = 0;
    bool here = false;
    for (size_t i = 0; i < model->count; i++) {
        const double *place = &model->places[AXES * i];
        here = here || (place[BATCH] == at[BATCH] && place[axis] == at[axis]);
        angles[i] = atan2(place[axis] - at[axis], place[BATCH] - at[BATCH]);
    }
    gsl_sort(angles, 1, model->count);
    for (size_t i = 1; i < model->count; i++)
        gap = fmax(gap, angles[i] - angles[i - 1]);
    gap = fmax(gap, angles[0] + 2 * M_PI - angles[model->count - 1]);
    arena_release(model->arena, angles);
    return here || gap <= M_PI + rounding;
}

/* From the nearest batch, share and vCPU count that were measured. */
static double octaves_beyond(const struct latency_model *model, const double at[AXES])
{
    double sum = 0;
    for (size_t axis = 0; axis < AXES; axis++) {
        double nearest = INFINITY;
        for (size_t i = 0; i < model->count; i++)
            nearest = fmin(nearest, fabs(model->places[AXES * i + axis] - at[axis]));
        sum += nearest;
    }
    return sum;
}

struct latency_value latency_model_at(const struct latency_model *model,
                                      const struct latency_point *point)
{
    double at[AXES];
    place(point, at);
    struct latency_range range = {0, INFINITY};
    struct latency_value value = {.between =
                                      is_between(model, at, SHARE) && is_between(model, at, VCPU)};
    value.ms = exp(laws_log_ms(model, point->batch, point->share) +
                   correction(model, at, &value.deviation));
    if (value.between)
        return value;
    for (size_t i = 0; i < model->count; i++)
        latency_range_narrow(&range, &model->points[i], point->batch, point->share);
    value.ms = latency_range_clamp(&range, value.ms);
    value.deviation *= 1 + GROWTH * octaves_beyond(model, at);
    return value;
}

const struct latency_law *latency_model_law(const struct latency_model *model)
{
    return &model->laws[MODEL_LAWS / 2];
}
