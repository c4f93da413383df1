#include "traces/calibrate/calibrate_surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_fit.h>
#include <gsl/gsl_interp.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

const char *const surface_kind_names[SURFACE_KINDS] = {"naive", "law", "table", "corrected"};
const char *const surface_fold_names[SURFACE_FOLDS] = {"point", "share", "batch"};

static const double OCTAVES_BATCH = 2;
static const double OCTAVES_SHARE = 2;
static const double NUGGET = 0.3;
static const double CLIP = 3;
static const double NORMAL_SCALE = 1.4826; /* standard deviation / median absolute deviation */

static bool out_of_memory(size_t count, struct error *error)
{
    return error_run(error, "out of memory for a surface of %zu points", count);
}

static bool is_seen(const bool *left_out, size_t index)
{
    return left_out == NULL || !left_out[index];
}

/* ---- Naive ----------------------------------------------------------------------------------- */

static bool predict_naive(const struct latency_point *points, size_t count, const bool *left_out,
                          double *ms, struct error *error)
{
    double *x = calloc(3 * count, sizeof *x);
    size_t seen = 0;
    double a = 0, c = 0, c00 = 0, c01 = 0, c11 = 0, squares = 0;
    if (x == NULL)
        return out_of_memory(count, error);
    double *y = x + count;
    double *weight = y + count;
    for (size_t i = 0; i < count; i++) {
        if (!is_seen(left_out, i))
            continue;
        x[seen] = points[i].batch / points[i].share;
        weight[seen] = 1 / (points[i].ms * points[i].ms);
        y[seen++] = points[i].ms;
    }
    (void)gsl_fit_wlinear(x, 1, weight, 1, y, 1, seen, &a, &c, &c00, &c01, &c11, &squares);
    for (size_t i = 0; i < count; i++)
        ms[i] = a + c * points[i].batch / points[i].share;
    free(x);
    return true;
}

/* ---- Table ----------------------------------------------------------------------------------- */

struct axis_point {
    double x, y;
};

static int compare_axis(const void *left, const void *right)
{
    const struct axis_point *a = left;
    const struct axis_point *b = right;
    return (a->x > b->x) - (a->x < b->x);
}

/* Merges points with equal x into their mean, since two shares may have the same multiprocessors.
 * The points are sorted by x. Returns the number that remain. */
static size_t join_places(struct axis_point *axis, size_t count)
{
    size_t places = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i;
        double sum = 0;
        while (end < count && axis[end].x == axis[i].x)
            sum += axis[end++].y;
        axis[places++] = (struct axis_point){axis[i].x, sum / (double)(end - i)};
        i = end;
    }
    return places;
}

/* Interpolates between points sorted by x; NAN outside their range. */
static double interpolate(const struct axis_point *axis, size_t count, double x, double *room)
{
    if (count < 2 || x < axis[0].x || x > axis[count - 1].x)
        return NAN;
    double *xs = room;
    double *ys = room + count;
    double result = NAN;
    for (size_t i = 0; i < count; i++) {
        xs[i] = axis[i].x;
        ys[i] = axis[i].y;
    }
    const gsl_interp_type *type = count < 3 ? gsl_interp_linear : gsl_interp_steffen;
    gsl_interp *spline = gsl_interp_alloc(type, count);
    if (spline != NULL && gsl_interp_init(spline, xs, ys, count) == 0)
        result = gsl_interp_eval(spline, xs, ys, x, NULL);
    gsl_interp_free(spline);
    return result;
}

struct table_room {
    struct axis_point *axis;
    double *values;
};

/* Interpolates log ms at point `index` from other points of its batch (along share) or of its
 * share. */
static double along_axis(const struct latency_point *points, size_t count, const bool *left_out,
                         size_t index, bool along_share, const struct table_room *room)
{
    const struct latency_point *at = &points[index];
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool same = along_share ? points[i].batch == at->batch : points[i].share == at->share;
        if (same && i != index && is_seen(left_out, i))
            room->axis[found++] = (struct axis_point){
                log(along_share ? points[i].share : points[i].batch), log(points[i].ms)};
    }
    qsort(room->axis, found, sizeof *room->axis, compare_axis);
    found = join_places(room->axis, found);
    return interpolate(room->axis, found, log(along_share ? at->share : at->batch), room->values);
}

static bool predict_table(const struct latency_point *points, size_t count, const bool *left_out,
                          double *ms, struct error *error)
{
    struct table_room room = {calloc(count, sizeof *room.axis),
                              calloc(2 * count, sizeof *room.values)};
    bool fine = room.axis != NULL && room.values != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        if (is_seen(left_out, i)) {
            ms[i] = points[i].ms;
            continue;
        }
        double by_share = along_axis(points, count, left_out, i, true, &room);
        double by_batch = along_axis(points, count, left_out, i, false, &room);
        if (isnan(by_share))
            ms[i] = exp(by_batch);
        else if (isnan(by_batch))
            ms[i] = exp(by_share);
        else
            ms[i] = exp((by_share + by_batch) / 2);
    }
    free(room.axis);
    free(room.values);
    return fine || out_of_memory(count, error);
}

/* ---- Law with a correction ------------------------------------------------------------------- */

static double correlation(const struct latency_point *a, const struct latency_point *b)
{
    return exp(-fabs(log2(a->batch / b->batch)) / OCTAVES_BATCH -
               fabs(log2(a->share / b->share)) / OCTAVES_SHARE);
}

/* Robust standard deviation of values about 0. Fills and sorts `sizes`. */
static double robust_deviation(const double *values, size_t count, double *sizes)
{
    for (size_t i = 0; i < count; i++)
        sizes[i] = fabs(values[i]);
    gsl_sort(sizes, 1, count);
    return NORMAL_SCALE * gsl_stats_median_from_sorted_data(sizes, 1, count);
}

/* Multiplies the law's ms by the exponential of the kriging estimate of its log residual. The seen
 * points are the data. */
static bool correct(const struct latency_point *points, size_t count, const size_t *seen,
                    size_t seen_count, double *ms)
{
    gsl_matrix *covariance = gsl_matrix_alloc(seen_count, seen_count);
    gsl_vector *weights = gsl_vector_alloc(seen_count);
    double *sizes = calloc(seen_count, sizeof *sizes);
    bool fine = covariance != NULL && weights != NULL && sizes != NULL;
    if (fine) {
        for (size_t i = 0; i < seen_count; i++)
            gsl_vector_set(weights, i, log(points[seen[i]].ms / ms[seen[i]]));
        double clip = CLIP * robust_deviation(weights->data, seen_count, sizes);
        for (size_t i = 0; i < seen_count; i++) {
            double residual = gsl_vector_get(weights, i);
            gsl_vector_set(weights, i, fmax(-clip, fmin(clip, residual)));
            for (size_t j = 0; j < seen_count; j++)
                gsl_matrix_set(covariance, i, j,
                               correlation(&points[seen[i]], &points[seen[j]]) +
                                   (i == j ? NUGGET : 0));
        }
        fine = gsl_linalg_cholesky_decomp1(covariance) == 0 &&
               gsl_linalg_cholesky_svx(covariance, weights) == 0;
    }
    for (size_t i = 0; fine && i < count; i++) {
        double correction = 0;
        for (size_t j = 0; j < seen_count; j++)
            correction += gsl_vector_get(weights, j) * correlation(&points[i], &points[seen[j]]);
        ms[i] *= exp(correction);
    }
    gsl_matrix_free(covariance);
    gsl_vector_free(weights);
    free(sizes);
    return fine;
}

static bool predict_corrected(const struct latency_point *points, size_t count,
                              const bool *left_out, const double *law_ms, double *ms,
                              struct error *error)
{
    size_t *seen = calloc(count, sizeof *seen);
    size_t seen_count = 0;
    if (seen == NULL)
        return out_of_memory(count, error);
    for (size_t i = 0; i < count; i++)
        if (is_seen(left_out, i))
            seen[seen_count++] = i;
    memcpy(ms, law_ms, count * sizeof *ms);
    bool fine = correct(points, count, seen, seen_count, ms);
    free(seen);
    return fine || error_run(error, "no correction for a surface of %zu points", count);
}

/* ---- Monotone -------------------------------------------------------------------------------- */

static bool is_below(const struct latency_point *a, const struct latency_point *b)
{
    return a->batch <= b->batch && a->share >= b->share;
}

static bool make_monotone(const struct latency_point *points, size_t count, double *ms,
                          struct error *error)
{
    double *raw = calloc(count, sizeof *raw);
    if (raw == NULL)
        return out_of_memory(count, error);
    memcpy(raw, ms, count * sizeof *raw);
    for (size_t i = 0; i < count; i++) {
        double most = raw[i];
        double least = raw[i];
        if (isnan(raw[i]))
            continue;
        for (size_t j = 0; j < count; j++) {
            if (raw[j] > most && is_below(&points[j], &points[i]))
                most = raw[j];
            if (raw[j] < least && is_below(&points[i], &points[j]))
                least = raw[j];
        }
        ms[i] = sqrt(most * least);
    }
    free(raw);
    return true;
}

/* Predicts all points by every kind from the points not left out (NULL: from all); ms[kind][point]
 * is NAN if the kind has no prediction. `start`: see latency_law_fit. */
static bool predict(const struct latency_point *points, size_t count, const bool *left_out,
                    const struct latency_law *start, double *const ms[SURFACE_KINDS],
                    struct error *error)
{
    struct latency_law law;
    if (!latency_law_fit(points, count, left_out, start, &law, error))
        return false;
    for (size_t i = 0; i < count; i++)
        ms[SURFACE_LAW][i] = latency_law_ms(&law, points[i].batch, points[i].share);
    return predict_naive(points, count, left_out, ms[SURFACE_NAIVE], error) &&
           predict_table(points, count, left_out, ms[SURFACE_TABLE], error) &&
           make_monotone(points, count, ms[SURFACE_TABLE], error) &&
           predict_corrected(points, count, left_out, ms[SURFACE_LAW], ms[SURFACE_CORRECTED],
                             error) &&
           make_monotone(points, count, ms[SURFACE_CORRECTED], error);
}

/* ---- Cross-validation ------------------------------------------------------------------------ */

static bool is_between(const struct latency_point *points, size_t count, size_t index,
                       bool along_share, bool whole_axis)
{
    const struct latency_point *at = &points[index];
    bool below = false;
    bool above = false;
    for (size_t i = 0; i < count; i++) {
        bool same = along_share ? points[i].batch == at->batch : points[i].share == at->share;
        double difference = along_share ? points[i].share - at->share : points[i].batch - at->batch;
        below = below || ((same || whole_axis) && difference < 0);
        above = above || ((same || whole_axis) && difference > 0);
    }
    return below && above;
}

bool surface_is_inner(const struct latency_point *points, size_t count, size_t index)
{
    return is_between(points, count, index, true, false) &&
           is_between(points, count, index, false, false);
}

static bool is_inner(const struct latency_point *points, size_t count, size_t index,
                     enum surface_fold fold)
{
    if (fold == FOLD_POINT)
        return surface_is_inner(points, count, index);
    return is_between(points, count, index, fold == FOLD_SHARE, true);
}

/* Predictions by kind and fold: ms[kind][fold][i] is computed without point i. */
struct left_out {
    double *ms[SURFACE_KINDS][SURFACE_FOLDS];
    double *prediction[SURFACE_KINDS];
    bool *mask;
};

static bool in_fold(const struct latency_point *points, size_t index, size_t of,
                    enum surface_fold fold)
{
    switch (fold) {
    case FOLD_POINT: /* and its duplicates, from shares with the same multiprocessors */
        return points[index].batch == points[of].batch && points[index].share == points[of].share;
    case FOLD_SHARE:
        return points[index].share == points[of].share;
    default:
        return points[index].batch == points[of].batch;
    }
}

/* A search that starts from the fit to all points is short. But it could keep coefficients which
 * the remaining points do not determine. Therefore it requires many points, batches and shares. */
static bool is_settled(const struct latency_point *points, size_t count, const bool *mask)
{
    enum { LEVELS = 4 };
    double batches[LEVELS] = {0};
    double shares[LEVELS] = {0};
    size_t batch_count = 0;
    size_t share_count = 0;
    size_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        bool new_batch = !mask[i];
        bool new_share = !mask[i];
        seen += !mask[i];
        for (size_t j = 0; j < LEVELS; j++) {
            new_batch = new_batch && points[i].batch != batches[j];
            new_share = new_share && points[i].share != shares[j];
        }
        if (new_batch && batch_count < LEVELS)
            batches[batch_count++] = points[i].batch;
        if (new_share && share_count < LEVELS)
            shares[share_count++] = points[i].share;
    }
    return seen >= 3 * (size_t)LAW_COEFFICIENTS && batch_count == LEVELS && share_count == LEVELS;
}

/* Returns whether enough points remain to predict those left out. */
static bool is_enough(const bool *mask, size_t count)
{
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        seen += !mask[i];
    return seen >= 2;
}

static bool leave_out(enum surface_fold fold, const struct latency_point *points, size_t count,
                      const struct latency_law *law, struct left_out *left, struct error *error)
{
    static const double pending = -1;
    for (int kind = 0; kind < SURFACE_KINDS; kind++)
        for (size_t i = 0; i < count; i++)
            left->ms[kind][fold][i] = pending;
    for (size_t i = 0; i < count; i++) {
        if (left->ms[SURFACE_LAW][fold][i] != pending)
            continue;
        for (size_t j = 0; j < count; j++)
            left->mask[j] = in_fold(points, j, i, fold);
        bool enough = is_enough(left->mask, count);
        const struct latency_law *start = is_settled(points, count, left->mask) ? law : NULL;
        if (enough && !predict(points, count, left->mask, start, left->prediction, error))
            return false;
        for (int kind = 0; kind < SURFACE_KINDS; kind++)
            for (size_t j = 0; j < count; j++)
                if (left->mask[j])
                    left->ms[kind][fold][j] = enough ? left->prediction[kind][j] : NAN;
    }
    return true;
}

static void error_add(struct mean_error *sum, double size)
{
    sum->count++;
    sum->mape += (size - sum->mape) / (double)sum->count;
    sum->worst = fmax(sum->worst, size);
}

static void errors_add(struct surface_errors *errors, double predicted, double measured, bool inner)
{
    double size = fabs(predicted / measured - 1);
    if (isnan(size))
        return;
    error_add(&errors->all, size);
    if (inner)
        error_add(&errors->inner, size);
}

static void errors_finish(struct surface_errors *errors)
{
    if (errors->all.count == 0)
        errors->all.mape = errors->all.worst = NAN;
    if (errors->inner.count == 0)
        errors->inner.mape = errors->inner.worst = NAN;
}

/* Selects the kind with the least error over the points other than `without`. With the table as a
 * candidate, only points that it predicts are compared. */
static enum surface_kind choose(const struct latency_point *points, size_t count,
                                const struct left_out *left, bool with_table, size_t without)
{
    static const enum surface_kind order[] = {SURFACE_LAW, SURFACE_TABLE, SURFACE_CORRECTED};
    static const double noticed = 1e-4;
    enum surface_kind best = SURFACE_LAW;
    double least = INFINITY;
    for (size_t k = 0; k < 3; k++) {
        struct mean_error sum = {0};
        if (order[k] == SURFACE_TABLE && !with_table)
            continue;
        for (size_t i = 0; i < count; i++) {
            bool shared = !with_table || !isnan(left->ms[SURFACE_TABLE][FOLD_POINT][i]);
            double size = fabs(left->ms[order[k]][FOLD_POINT][i] / points[i].ms - 1);
            if (i != without && shared && !isnan(size))
                error_add(&sum, size);
        }
        if (sum.count > 0 && sum.mape < least - noticed) {
            least = sum.mape;
            best = order[k];
        }
    }
    return best;
}

/* The table is a candidate only if it predicts every inner point, and two thirds of all points. */
static bool table_takes_part(const struct latency_point *points, size_t count,
                             const struct left_out *left)
{
    size_t predicted = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = !isnan(left->ms[SURFACE_TABLE][FOLD_POINT][i]);
        predicted += known;
        if (!known && surface_is_inner(points, count, i))
            return false;
    }
    return 3 * predicted >= 2 * count;
}

static void evaluate(const struct latency_point *points, size_t count, const struct left_out *left,
                     struct surface *surface)
{
    bool with_table = table_takes_part(points, count, left);
    for (int kind = 0; kind < SURFACE_KINDS; kind++)
        for (int fold = 0; fold < SURFACE_FOLDS; fold++) {
            for (size_t i = 0; i < count; i++)
                errors_add(&surface->errors[kind][fold], left->ms[kind][fold][i], points[i].ms,
                           is_inner(points, count, i, (enum surface_fold)fold));
            errors_finish(&surface->errors[kind][fold]);
        }
    surface->kind = choose(points, count, left, with_table, count);
    for (size_t i = 0; i < count; i++) {
        enum surface_kind kind = choose(points, count, left, with_table, i);
        errors_add(&surface->chosen, left->ms[kind][FOLD_POINT][i], points[i].ms,
                   surface_is_inner(points, count, i));
        surface->left_out_ms[i] = left->ms[surface->kind][FOLD_POINT][i];
    }
    errors_finish(&surface->chosen);
}

static void left_out_clear(struct left_out *left)
{
    for (int kind = 0; kind < SURFACE_KINDS; kind++)
        for (int fold = 0; fold < SURFACE_FOLDS; fold++)
            free(left->ms[kind][fold]);
    for (int kind = 0; kind < SURFACE_KINDS; kind++)
        free(left->prediction[kind]);
    free(left->mask);
}

static bool left_out_alloc(struct left_out *left, size_t count)
{
    left->mask = calloc(count, sizeof *left->mask);
    if (left->mask == NULL)
        return false;
    for (int kind = 0; kind < SURFACE_KINDS; kind++) {
        left->prediction[kind] = calloc(count, sizeof(double));
        if (left->prediction[kind] == NULL)
            return false;
        for (int fold = 0; fold < SURFACE_FOLDS; fold++) {
            left->ms[kind][fold] = calloc(count, sizeof(double));
            if (left->ms[kind][fold] == NULL)
                return false;
        }
    }
    return true;
}

static bool residual_deviation(const struct latency_point *points, size_t count,
                               struct surface *surface)
{
    double *residuals = calloc(2 * count, sizeof *residuals);
    if (residuals == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        residuals[i] = log(points[i].ms / surface->fitted_ms[i]);
    surface->residual_cv = robust_deviation(residuals, count, residuals + count);
    free(residuals);
    return true;
}

bool surface_calibrate(const struct latency_point *points, size_t count, struct surface *surface,
                       struct error *error)
{
    struct left_out left = {0};
    *surface = (struct surface){.fitted_ms = calloc(count, sizeof(double)),
                                .left_out_ms = calloc(count, sizeof(double))};
    bool fine =
        surface->fitted_ms != NULL && surface->left_out_ms != NULL && left_out_alloc(&left, count);
    if (!fine)
        (void)out_of_memory(count, error);
    fine = fine && latency_law_fit(points, count, NULL, NULL, &surface->law, error);
    for (int fold = 0; fine && fold < SURFACE_FOLDS; fold++)
        fine = leave_out((enum surface_fold)fold, points, count, &surface->law, &left, error);
    fine = fine && predict(points, count, NULL, NULL, left.prediction, error);
    if (fine) {
        evaluate(points, count, &left, surface);
        memcpy(surface->fitted_ms, left.prediction[surface->kind], count * sizeof(double));
        fine = residual_deviation(points, count, surface) || out_of_memory(count, error);
    }
    left_out_clear(&left);
    if (!fine)
        surface_clear(surface);
    return fine;
}

void surface_clear(struct surface *surface)
{
    free(surface->fitted_ms);
    free(surface->left_out_ms);
    *surface = (struct surface){0};
}
