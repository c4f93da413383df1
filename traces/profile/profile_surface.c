/* Latency between and beyond the points of a profile's grid. */
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_interp.h>
#include <gsl/gsl_spline.h>

#include "traces/profile/profile.h"

enum { AXES = 3 };

/* A grid in the order of interpolation; axes[0] is the outermost. */
struct surface {
    const struct profile_axis *axes[AXES];
    int query[AXES];
    const double *values;
};

/* Index of the last axis value <= `wanted`, which the caller has checked to be within the axis. */
static size_t axis_floor(const struct profile_axis *axis, int wanted)
{
    size_t low = 0;
    size_t high = axis->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (axis->values[middle] <= wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Interpolates between points `floor` and floor + 1 of (x, y), using the longest run of non-NAN
 * points around them: Steffen's spline for three or more points, else linearly. */
static double interpolate_run(const double *x, const double *y, size_t count, size_t floor,
                              double wanted)
{
    size_t first = floor;
    size_t last = floor + 1;
    if (isnan(y[first]) || isnan(y[last]))
        return NAN;
    while (first > 0 && !isnan(y[first - 1]))
        first--;
    while (last + 1 < count && !isnan(y[last + 1]))
        last++;
    if (last - first < 2) {
        double weight = (wanted - x[first]) / (x[last] - x[first]);
        return y[first] + weight * (y[last] - y[first]);
    }
    double result = NAN;
    gsl_interp *spline = gsl_interp_alloc(gsl_interp_steffen, last - first + 1);
    if (spline != NULL && gsl_interp_init(spline, x + first, y + first, last - first + 1) == 0)
        result = gsl_interp_eval(spline, x + first, y + first, wanted, NULL);
    gsl_interp_free(spline);
    return result;
}

static double surface_at(const struct surface *surface, size_t level, size_t offset);

static double interpolate_axis(const struct surface *surface, size_t level, size_t offset,
                               size_t floor)
{
    const struct profile_axis *axis = surface->axes[level];
    double *x = calloc(2 * axis->count, sizeof *x);
    if (x == NULL)
        return NAN;
    double *y = x + axis->count;
    for (size_t i = 0; i < axis->count; i++) {
        x[i] = axis->values[i];
        y[i] = surface_at(surface, level + 1, offset * axis->count + i);
    }
    double result = interpolate_run(x, y, axis->count, floor, surface->query[level]);
    free(x);
    return result;
}

static double surface_at(const struct surface *surface, size_t level, size_t offset)
{
    if (level == AXES)
        return surface->values[offset];
    const struct profile_axis *axis = surface->axes[level];
    size_t floor = axis_floor(axis, surface->query[level]);
    if (axis->values[floor] == surface->query[level])
        return surface_at(surface, level + 1, offset * axis->count + floor);
    return interpolate_axis(surface, level, offset, floor);
}

static bool axis_holds(const struct profile_axis *axis, int value)
{
    return value >= axis->values[0] && value <= axis->values[axis->count - 1];
}

static int clamp(const struct profile_axis *axis, int value)
{
    if (value < axis->values[0])
        return axis->values[0];
    return value > axis->values[axis->count - 1] ? axis->values[axis->count - 1] : value;
}

static double law_ms(const struct profile_law *law, int batch, int vgpu)
{
    return latency_law_ms(&law->law, batch,
                          law->parts != NULL ? law->parts[vgpu - 1] : (double)vgpu / law->unit);
}

/* The law's latency outside the grid, times the ratio of grid to law at the nearest grid point. */
static double extended_latency_ms(const struct profile_function *function, int batch, int vcpu,
                                  int vgpu)
{
    const struct profile_law *extension = function->extension;
    if (batch < extension->batch[0] || batch > extension->batch[1] || vgpu < extension->vgpu[0] ||
        vgpu > extension->vgpu[1])
        return NAN;
    int edge_batch = clamp(&function->batch, batch);
    int edge_vgpu = clamp(&function->vgpu, vgpu);
    double edge = profile_latency_ms(function, edge_batch, vcpu, edge_vgpu);
    double law = law_ms(extension, batch, vgpu);
    return isnan(edge) ? law : law * (edge / law_ms(extension, edge_batch, edge_vgpu));
}

double profile_latency_ms(const struct profile_function *function, int batch, int vcpu, int vgpu)
{
    struct surface surface = {.axes = {&function->batch, &function->vcpu, &function->vgpu},
                              .query = {batch, vcpu, vgpu},
                              .values = function->latency_ms};
    if (!axis_holds(&function->vcpu, vcpu))
        return NAN;
    if (axis_holds(&function->batch, batch) && axis_holds(&function->vgpu, vgpu))
        return surface_at(&surface, 0, 0);
    return function->extension == NULL ? NAN : extended_latency_ms(function, batch, vcpu, vgpu);
}
