#include "traces/calibrate/calibrate_surface.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_fit.h>
#include <gsl/gsl_interp.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

const char *const surface_fold_names[SURFACE_FOLDS] = {"point", "share", "batch", "least_shares",
                                                       "largest_batches"};

static const double NORMAL_SCALE = 1.4826; /* standard deviation / median absolute deviation */

/* ---- Predictions ----------------------------------------------------------------------------- */

static void predict_naive(const struct latency_point *points, size_t count, const bool *left_out,
                          double *room, double *ms)
{
    size_t seen = 0;
    double a = 0, c = 0, c00 = 0, c01 = 0, c11 = 0, squares = 0;
    double *x = room;
    double *y = x + count;
    double *weight = y + count;
    for (size_t i = 0; i < count; i++) {
        if (left_out[i])
            continue;
        x[seen] = points[i].batch / points[i].share;
        weight[seen] = 1 / (points[i].ms * points[i].ms);
        y[seen++] = points[i].ms;
    }
    (void)gsl_fit_wlinear(x, 1, weight, 1, y, 1, seen, &a, &c, &c00, &c01, &c11, &squares);
    for (size_t i = 0; i < count; i++)
        ms[i] = a + c * points[i].batch / points[i].share;
}

/* Robust standard deviation of values about 0. Fills and sorts `sizes`. */
static double robust_deviation(const double *values, size_t count, double *sizes)
{
    for (size_t i = 0; i < count; i++)
        sizes[i] = fabs(values[i]);
    gsl_sort(sizes, 1, count);
    return NORMAL_SCALE * gsl_stats_median_from_sorted_data(sizes, 1, count);
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

/* ---- Cross-validation ------------------------------------------------------------------------ */

void mean_error_add(struct mean_error *sum, double size)
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
    mean_error_add(&errors->all, size);
    if (inner)
        mean_error_add(&errors->inner, size);
}

static void errors_finish(struct surface_errors *errors)
{
    if (errors->all.count == 0)
        errors->all.mape = errors->all.worst = NAN;
    if (errors->inner.count == 0)
        errors->inner.mape = errors->inner.worst = NAN;
}

struct left_out {
    double *room;     /* [3 count] */
    double *naive_ms; /* behind it */
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

/* Compares the points left out with their prediction by `model`, which was fitted to the others. */
static void compare(enum surface_fold fold, const struct latency_point *points, size_t count,
                    const struct latency_model *model, const struct left_out *left,
                    struct surface *surface)
{
    for (size_t i = 0; i < count; i++) {
        const bool inner = is_inner(points, count, i, fold);
        if (!left->mask[i])
            continue;
        struct latency_value value = latency_model_at(model, &points[i]);
        errors_add(&surface->errors[fold], value.ms, points[i].ms, inner);
        if (fold == FOLD_POINT) {
            surface->left_out_ms[i] = value.ms;
            errors_add(&surface->naive, left->naive_ms[i], points[i].ms, inner);
        }
        if (fold != FOLD_SHARE && fold != FOLD_BATCH)
            surface->scores[surface->score_count++] = (struct surface_score){
                fabs(value.ms / points[i].ms - 1), value.deviation, value.between};
    }
}

/* The search begins at the fit to all points: the prior, not the start, determines what the points
 * do not. */
static bool leave_out(enum surface_fold fold, const struct latency_point *points, size_t count,
                      const struct latency_prior *prior, struct surface *surface,
                      struct left_out *left, struct error *error)
{
    const int groups = group_points(points, count, fold, left->room, left->group);
    bool fine = true;
    for (int group = 0; fine && group < groups; group++) {
        struct latency_model model = {0};
        for (size_t i = 0; i < count; i++)
            left->mask[i] = left->group[i] == group;
        if (!is_enough(left->mask, count))
            continue;
        if (fold == FOLD_POINT)
            predict_naive(points, count, left->mask, left->room, left->naive_ms);
        fine = latency_model_fit(points, count, left->mask, prior, &surface->model, &model, error);
        if (fine)
            compare(fold, points, count, &model, left, surface);
        latency_model_clear(&model);
    }
    errors_finish(&surface->errors[fold]);
    return fine;
}

static void left_out_make(struct left_out *left, struct arena *arena, size_t count)
{
    left->mask = arena_allocate(arena, count, sizeof *left->mask);
    left->group = arena_allocate(arena, count, sizeof *left->group);
    left->room = arena_allocate(arena, 4 * count, sizeof *left->room);
    left->naive_ms = left->room + 3 * count;
}

static void residual_deviation(const struct latency_point *points, size_t count,
                               struct surface *surface)
{
    double *residuals = arena_allocate(surface->arena, 2 * count, sizeof *residuals);
    for (size_t i = 0; i < count; i++)
        residuals[i] = log(points[i].ms / surface->fitted_ms[i]);
    surface->residual_cv = robust_deviation(residuals, count, residuals + count);
    arena_release(surface->arena, residuals);
}

bool surface_calibrate(const struct latency_point *points, size_t count,
                       const struct latency_prior *prior, struct surface *surface,
                       struct error *error)
{
    const struct latency_prior weak = latency_prior_weak(1);
    struct arena *arena = arena_create();
    const struct arena_block *mark = NULL;
    struct left_out left;
    *surface =
        (struct surface){.arena = arena,
                         .fitted_ms = arena_allocate(arena, count, sizeof(double)),
                         .left_out_ms = arena_allocate(arena, count, sizeof(double)),
                         .scores = arena_allocate(arena, 3 * count, sizeof *surface->scores)};
    prior = prior == NULL ? &weak : prior;
    mark = arena->blocks;
    left_out_make(&left, arena, count);
    for (size_t i = 0; i < count; i++)
        surface->left_out_ms[i] = NAN;
    bool fine = latency_model_fit(points, count, NULL, prior, NULL, &surface->model, error);
    for (int fold = 0; fine && fold < SURFACE_FOLDS; fold++)
        fine = leave_out((enum surface_fold)fold, points, count, prior, surface, &left, error);
    if (fine) {
        errors_finish(&surface->naive);
        for (size_t i = 0; i < count; i++)
            surface->fitted_ms[i] = latency_model_at(&surface->model, &points[i]).ms;
        residual_deviation(points, count, surface);
    }
    arena_rewind(arena, mark);
    if (!fine)
        surface_clear(surface);
    return fine;
}

void surface_clear(struct surface *surface)
{
    latency_model_clear(&surface->model);
    arena_destroy(surface->arena);
    *surface = (struct surface){0};
}
