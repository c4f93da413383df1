#include "traces/calibrate/calibrate_surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_fit.h>
#include <gsl/gsl_interp.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

const char *const surface_kind_names[SURFACE_KINDS] = {"naive", "law", "corrected"};
const char *const surface_fold_names[SURFACE_FOLDS] = {"point", "share", "batch", "least_shares",
                                                       "largest_batches"};

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

/* Robust standard deviation of values about 0. Fills and sorts `sizes`. */
static double robust_deviation(const double *values, size_t count, double *sizes)
{
    for (size_t i = 0; i < count; i++)
        sizes[i] = fabs(values[i]);
    gsl_sort(sizes, 1, count);
    return NORMAL_SCALE * gsl_stats_median_from_sorted_data(sizes, 1, count);
}

/* Predicts the points left out by every kind from the others (NULL: all from all). `law` and
 * `model` are the fits. With `start`, a fit to all points, the model's search begins there, and the
 * law's search at the model's: the model's prior, not its start, determines what the points do not.
 */
static bool predict(const struct latency_point *points, size_t count, const bool *left_out,
                    const struct latency_prior *prior, const struct surface *start,
                    struct latency_law *law, struct latency_model *model,
                    double *const ms[SURFACE_KINDS], struct error *error)
{
    if (!latency_model_fit(points, count, left_out, prior, start == NULL ? NULL : &start->model,
                           model, error) ||
        !latency_law_fit(points, count, left_out, start == NULL ? NULL : &model->laws[0], law,
                         error) ||
        !predict_naive(points, count, left_out, ms[SURFACE_NAIVE], error))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (left_out != NULL && !left_out[i])
            continue;
        ms[SURFACE_LAW][i] = latency_law_ms(law, points[i].batch, points[i].share);
        ms[SURFACE_CORRECTED][i] =
            latency_model_ms(model, points[i].batch, points[i].share, points[i].vcpu);
    }
    return true;
}

/* ---- Inner points ---------------------------------------------------------------------------- */

static bool is_between(const struct latency_point *points, size_t count, size_t index,
                       bool along_share, bool whole_axis)
{
    const struct latency_point *at = &points[index];
    bool below = false;
    bool above = false;
    for (size_t i = 0; i < count; i++) {
        bool same = points[i].vcpu == at->vcpu &&
                    (along_share ? points[i].batch == at->batch : points[i].share == at->share);
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
    if (fold == FOLD_LEAST_SHARES || fold == FOLD_LARGEST_BATCHES)
        return false;
    if (fold == FOLD_POINT)
        return surface_is_inner(points, count, index);
    return is_between(points, count, index, fold == FOLD_SHARE, true);
}

/* ---- Folds ----------------------------------------------------------------------------------- */

enum { FOLD_NONE = -1, BATCH_LIMIT = 1 << 16 };

/* Numbers the places (by vCPUs, batch and share) or levels, in order, as level[point]. A batch at
 * another vCPU count is another level. Returns how many there are. */
static size_t number_levels(const struct latency_point *points, size_t count,
                            enum surface_fold fold, double *values, int *level)
{
    const bool by_share = fold == FOLD_SHARE || fold == FOLD_LEAST_SHARES;
    size_t levels = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = (fold == FOLD_POINT ? points[i].batch + points[i].share / 2
                     : by_share         ? points[i].share
                                        : points[i].batch) +
                    (fold == FOLD_POINT || fold == FOLD_BATCH ? BATCH_LIMIT * points[i].vcpu : 0);
    double *sorted = values + count;
    memcpy(sorted, values, count * sizeof *sorted);
    gsl_sort(sorted, 1, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || sorted[i] != sorted[levels - 1])
            sorted[levels++] = sorted[i];
    for (size_t i = 0; i < count; i++)
        level[i] = (int)gsl_interp_bsearch(sorted, values[i], 0, levels);
    return levels;
}

/* Spreads consecutive numbers over groups by multiples of the golden ratio, so that a group is not
 * one column of a regular grid. */
static int spread(int number, int groups)
{
    static const double golden = 0.61803398874989485;
    double whole;
    return (int)(modf(number * golden, &whole) * groups);
}

/* Sets group[point], the number of the fit that leaves the point out, or FOLD_NONE. Returns the
 * number of groups. */
static int group_points(const struct latency_point *points, size_t count, enum surface_fold fold,
                        double *room, int *group)
{
    const size_t levels = number_levels(points, count, fold, room, group);
    const int edge = levels < 3 ? 0 : (int)(levels + 4) / 5;
    int groups = (int)levels;
    if (levels > SURFACE_FULL_FOLDS)
        groups = SURFACE_FOLDS_MOST;
    for (size_t i = 0; i < count; i++) {
        if (fold == FOLD_LEAST_SHARES)
            group[i] = group[i] < edge ? 0 : FOLD_NONE;
        else if (fold == FOLD_LARGEST_BATCHES)
            group[i] = group[i] >= (int)levels - edge ? 0 : FOLD_NONE;
        else
            group[i] = (int)levels > groups ? spread(group[i], groups) : group[i];
    }
    return fold == FOLD_LEAST_SHARES || fold == FOLD_LARGEST_BATCHES ? edge > 0 : groups;
}

/* Mean octaves from the points of an edge fold to the nearest level that is kept. */
static double edge_octaves(const struct latency_point *points, size_t count, const int *group,
                           enum surface_fold fold)
{
    double nearest = NAN;
    double sum = 0;
    size_t left_out = 0;
    for (size_t i = 0; i < count; i++) {
        if (group[i] == FOLD_NONE && fold == FOLD_LEAST_SHARES)
            nearest = fmin(nearest, points[i].share);
        if (group[i] == FOLD_NONE && fold == FOLD_LARGEST_BATCHES)
            nearest = fmax(nearest, points[i].batch);
    }
    for (size_t i = 0; i < count; i++) {
        if (group[i] == FOLD_NONE)
            continue;
        left_out++;
        sum +=
            fabs(log2((fold == FOLD_LEAST_SHARES ? points[i].share : points[i].batch) / nearest));
    }
    return left_out > 0 ? sum / (double)left_out : NAN;
}

/* ---- Cross-validation ------------------------------------------------------------------------ */

/* Predictions by kind and fold: ms[kind][fold][i] is computed without point i. */
struct left_out {
    double *ms[SURFACE_KINDS][SURFACE_FOLDS];
    double *prediction[SURFACE_KINDS];
    double *room; /* [2 count] */
    int *group;
    bool *mask;
};

/* Returns whether enough points remain to predict those left out. */
static bool is_enough(const bool *mask, size_t count)
{
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        seen += !mask[i];
    return seen >= 2;
}

static bool leave_out(enum surface_fold fold, const struct latency_point *points, size_t count,
                      const struct latency_prior *prior, struct surface *surface,
                      struct left_out *left, struct error *error)
{
    const int groups = group_points(points, count, fold, left->room, left->group);
    for (int kind = 0; kind < SURFACE_KINDS; kind++)
        for (size_t i = 0; i < count; i++)
            left->ms[kind][fold][i] = NAN;
    for (int group = 0; group < groups; group++) {
        struct latency_law law;
        struct latency_model model = {0};
        for (size_t i = 0; i < count; i++)
            left->mask[i] = left->group[i] == group;
        if (!is_enough(left->mask, count))
            continue;
        bool fine = predict(points, count, left->mask, prior, surface, &law, &model,
                            left->prediction, error);
        latency_model_clear(&model);
        if (!fine)
            return false;
        for (int kind = 0; kind < SURFACE_KINDS; kind++)
            for (size_t i = 0; i < count; i++)
                if (left->mask[i])
                    left->ms[kind][fold][i] = left->prediction[kind][i];
    }
    if (groups > 0)
        surface->edge_octaves[fold] = edge_octaves(points, count, left->group, fold);
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

/* Selects by the errors at the points other than `without`. The corrected laws contain the law. The
 * law alone is selected only if it is better by two standard errors of the mean difference, because
 * a choice by small differences errs by chance. */
static enum surface_kind choose(const struct latency_point *points, size_t count,
                                const struct left_out *left, size_t without)
{
    static const double standard_errors = 2;
    double mean = 0;
    double squares = 0;
    double seen = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs(left->ms[SURFACE_LAW][FOLD_POINT][i] / points[i].ms - 1) -
                            fabs(left->ms[SURFACE_CORRECTED][FOLD_POINT][i] / points[i].ms - 1);
        if (i == without || isnan(difference))
            continue;
        double before = mean;
        seen++;
        mean += (difference - mean) / seen;
        squares += (difference - before) * (difference - mean);
    }
    return seen > 2 && mean < -standard_errors * sqrt(squares / (seen - 1) / seen)
               ? SURFACE_LAW
               : SURFACE_CORRECTED;
}

static void evaluate(const struct latency_point *points, size_t count, const struct left_out *left,
                     struct surface *surface)
{
    for (int kind = 0; kind < SURFACE_KINDS; kind++)
        for (int fold = 0; fold < SURFACE_FOLDS; fold++) {
            for (size_t i = 0; i < count; i++)
                errors_add(&surface->errors[kind][fold], left->ms[kind][fold][i], points[i].ms,
                           is_inner(points, count, i, (enum surface_fold)fold));
            errors_finish(&surface->errors[kind][fold]);
        }
    surface->kind = choose(points, count, left, count);
    for (size_t i = 0; i < count; i++) {
        enum surface_kind kind = choose(points, count, left, i);
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
    free(left->room);
    free(left->group);
    free(left->mask);
}

static bool left_out_alloc(struct left_out *left, size_t count)
{
    left->mask = calloc(count, sizeof *left->mask);
    left->room = calloc(2 * count, sizeof *left->room);
    left->group = calloc(count, sizeof *left->group);
    if (left->mask == NULL || left->room == NULL || left->group == NULL)
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

bool surface_calibrate(const struct latency_point *points, size_t count,
                       const struct latency_prior *prior, struct surface *surface,
                       struct error *error)
{
    const struct latency_prior weak = latency_prior_weak(1);
    struct left_out left = {0};
    *surface = (struct surface){.fitted_ms = calloc(count, sizeof(double)),
                                .left_out_ms = calloc(count, sizeof(double))};
    prior = prior == NULL ? &weak : prior;
    for (int fold = 0; fold < SURFACE_FOLDS; fold++)
        surface->edge_octaves[fold] = NAN;
    bool fine =
        surface->fitted_ms != NULL && surface->left_out_ms != NULL && left_out_alloc(&left, count);
    if (!fine)
        (void)out_of_memory(count, error);
    fine = fine && predict(points, count, NULL, prior, NULL, &surface->law, &surface->model,
                           left.prediction, error);
    for (int fold = 0; fine && fold < SURFACE_FOLDS; fold++)
        fine = leave_out((enum surface_fold)fold, points, count, prior, surface, &left, error);
    if (fine) {
        evaluate(points, count, &left, surface);
        for (size_t i = 0; i < count; i++)
            surface->fitted_ms[i] =
                surface_ms(surface, points[i].batch, points[i].share, points[i].vcpu);
        fine = residual_deviation(points, count, surface) || out_of_memory(count, error);
    }
    left_out_clear(&left);
    if (!fine)
        surface_clear(surface);
    return fine;
}

void surface_clear(struct surface *surface)
{
    latency_model_clear(&surface->model);
    free(surface->fitted_ms);
    free(surface->left_out_ms);
    *surface = (struct surface){0};
}

double surface_ms(const struct surface *surface, double batch, double share, double vcpu)
{
    if (surface->kind == SURFACE_LAW)
        return latency_law_ms(&surface->law, batch, share);
    return latency_model_ms(&surface->model, batch, share, vcpu);
}
