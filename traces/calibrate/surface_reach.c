/* Where a surface interpolates and where it extrapolates, and the error to expect there. */
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_math.h>
#include <gsl/gsl_sort.h>

#include "traces/calibrate/calibrate_surface.h"

/* A place is within the hull if the directions to the points leave no gap above half a turn. On an
 * edge of the hull the gap is half a turn. */
bool surface_is_between(const struct latency_point *points, size_t count, double batch,
                        double share)
{
    static const double rounding = 1e-9;
    double *angles = calloc(count, sizeof *angles);
    double gap = 0;
    bool here = false;
    if (angles == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        here = here || (points[i].batch == batch && points[i].share == share);
        angles[i] = atan2(log(points[i].share / share), log(points[i].batch / batch));
    }
    gsl_sort(angles, 1, count);
    for (size_t i = 0; i < count; i++)
        gap =
            fmax(gap, i + 1 < count ? angles[i + 1] - angles[i] : angles[0] + 2 * M_PI - angles[i]);
    free(angles);
    return here || gap <= M_PI + rounding;
}

/* Error per octave beyond an edge, above the error between points; NAN if the edge could not be
 * left out. */
static double slope_beyond(const struct surface *surface, enum surface_fold fold, double between)
{
    double error = surface->errors[surface->kind][fold].all.mape;
    return fmax(0, error - between) / surface->edge_octaves[fold];
}

double surface_expected_error(const struct surface *surface, const struct latency_point *points,
                              size_t count, double batch, double share)
{
    const struct mean_error *inner = &surface->chosen.inner;
    double between = inner->count > 0 ? inner->mape : surface->chosen.all.mape;
    double batches[2] = {INFINITY, 0};
    double shares[2] = {INFINITY, 0};
    if (surface_is_between(points, count, batch, share))
        return between;
    for (size_t i = 0; i < count; i++) {
        batches[0] = fmin(batches[0], points[i].batch);
        batches[1] = fmax(batches[1], points[i].batch);
        shares[0] = fmin(shares[0], points[i].share);
        shares[1] = fmax(shares[1], points[i].share);
    }
    double batch_octaves = fmax(0, fmax(log2(batches[0] / batch), log2(batch / batches[1])));
    double share_octaves = fmax(0, fmax(log2(shares[0] / share), log2(share / shares[1])));
    double error = fmax(between, surface->chosen.all.mape);
    if (batch_octaves > 0)
        error += batch_octaves * slope_beyond(surface, FOLD_LARGEST_BATCHES, between);
    if (share_octaves > 0)
        error += share_octaves * slope_beyond(surface, FOLD_LEAST_SHARES, between);
    return error;
}
