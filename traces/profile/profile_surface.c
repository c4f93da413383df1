/* Latency between and beyond the points of a profile's grid. */
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_interp.h>
#include <gsl/gsl_spline.h>

#include "traces/profile/profile.h"

enum { AXES = 3, VGPU = 2 };

/* A grid in the order of interpolation; axes[0] is the outermost. */
struct surface {
    const struct profile_axis *axes[AXES];
    int query[AXES];
    const double *values;
    const struct profile_law *law; /* NULL: interpolates latencies; else log(latency / law) */
};

static double share_of(const struct profile_law *law, int vgpu)
{
    return law->parts != NULL ? law->parts[vgpu - 1] : (double)vgpu / law->unit;
}

static double law_ms(const struct profile_law *law, int batch, int vgpu)
{
    return latency_law_ms(&law->law, batch, share_of(law, vgpu));
}

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

/* The value that is interpolated, at one cell. */
static double value_at(const struct surface *surface, size_t offset)
{
    const struct profile_axis *vgpu = surface->axes[2];
    const struct profile_axis *batch = surface->axes[0];
    if (surface->law == NULL)
        return surface->values[offset];
    return log(surface->values[offset] /
               law_ms(surface->law, batch->values[offset / vgpu->count / surface->axes[1]->count],
                      vgpu->values[offset % vgpu->count]));
}

static double interpolate_axis(const struct surface *surface, size_t level, size_t offset,
                               size_t floor)
{
    const struct profile_axis *axis = surface->axes[level];
    const bool logarithmic = surface->law != NULL || level == VGPU;
    double *x = calloc(2 * axis->count, sizeof *x);
    if (x == NULL)
        return NAN;
    double *y = x + axis->count;
    for (size_t i = 0; i < axis->count; i++) {
        const bool no_gpu = level == VGPU && axis->values[i] == 0;
        x[i] = logarithmic ? log(axis->values[i]) : axis->values[i];
        y[i] = no_gpu ? NAN : surface_at(surface, level + 1, offset * axis->count + i);
        y[i] = logarithmic && surface->law == NULL ? log(y[i]) : y[i];
    }
    const double wanted = surface->query[level];
    double result = interpolate_run(x, y, axis->count, floor, logarithmic ? log(wanted) : wanted);
    free(x);
    return logarithmic && surface->law == NULL ? exp(result) : result;
}

static double surface_at(const struct surface *surface, size_t level, size_t offset)
{
    if (level == AXES)
        return value_at(surface, offset);
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

/* The law at a vCPU count of the grid; NULL: none. */
static const struct profile_law *law_at(const struct profile_function *function, int vcpu)
{
    const size_t c = axis_floor(&function->vcpu, vcpu);
    if (function->extension == NULL || function->vcpu.values[c] != vcpu)
        return NULL;
    return &function->extension[function->extension_count > 1 ? c : 0];
}

static bool is_on(const struct profile_axis *axis, int value)
{
    return axis->values[axis_floor(axis, value)] == value;
}

/* Within the grid. Without a GPU there is no law. */
static double inside_ms(const struct profile_function *function, int batch, int vcpu, int vgpu)
{
    struct surface surface = {.axes = {&function->batch, &function->vcpu, &function->vgpu},
                              .query = {batch, vcpu, vgpu},
                              .values = function->latency_ms};
    const struct profile_law *law = law_at(function, vcpu);
    if (law == NULL || vgpu == 0 ||
        (is_on(&function->batch, batch) && is_on(&function->vgpu, vgpu)))
        return surface_at(&surface, 0, 0);
    surface.law = law;
    return exp(surface_at(&surface, 0, 0)) * law_ms(law, batch, vgpu);
}

/* The law's latency outside the grid, times the ratio of grid to law at the nearest grid point, in
 * the range that this point allows. */
static double extended_latency_ms(const struct profile_function *function,
                                  const struct profile_law *extension, int batch, int vcpu,
                                  int vgpu)
{
    if (batch < extension->batch[0] || batch > extension->batch[1] || vgpu < extension->vgpu[0] ||
        vgpu > extension->vgpu[1])
        return NAN;
    int edge_batch = clamp(&function->batch, batch);
    int edge_vgpu = clamp(&function->vgpu, vgpu);
    double edge = inside_ms(function, edge_batch, vcpu, edge_vgpu);
    double law = law_ms(extension, batch, vgpu);
    if (isnan(edge))
        return law;
    const struct latency_point known = {edge_batch, share_of(extension, edge_vgpu), edge, 0};
    struct latency_range range = {0, INFINITY};
    latency_range_narrow(&range, &known, batch, share_of(extension, vgpu));
    return latency_range_clamp(&range, law * (edge / law_ms(extension, edge_batch, edge_vgpu)));
}

static bool is_inside(const struct profile_function *function, int batch, int vcpu, int vgpu)
{
    return axis_holds(&function->vcpu, vcpu) && axis_holds(&function->batch, batch) &&
           axis_holds(&function->vgpu, vgpu);
}

double profile_latency_ms(const struct profile_function *function, int batch, int vcpu, int vgpu)
{
    if (!axis_holds(&function->vcpu, vcpu))
        return NAN;
    if (is_inside(function, batch, vcpu, vgpu))
        return inside_ms(function, batch, vcpu, vgpu);
    const struct profile_law *law = law_at(function, vcpu);
    return law == NULL ? NAN : extended_latency_ms(function, law, batch, vcpu, vgpu);
}

/* The origin of one cell. */
static struct profile_origin cell_origin(const struct profile_function *function, size_t cell)
{
    double *const *errors = function->expected_errors;
    return (struct profile_origin){
        function->sources == NULL ? PROFILE_MEASURED : (enum profile_source)function->sources[cell],
        errors[PROFILE_ERROR_50] == NULL ? NAN : errors[PROFILE_ERROR_50][cell],
        errors[PROFILE_ERROR_90] == NULL ? NAN : errors[PROFILE_ERROR_90][cell]};
}

struct profile_origin profile_origin_at(const struct profile_function *function, int batch,
                                        int vcpu, int vgpu)
{
    const struct profile_axis *const axes[AXES] = {&function->batch, &function->vcpu,
                                                   &function->vgpu};
    const int query[AXES] = {batch, vcpu, vgpu};
    const struct profile_law *law =
        axis_holds(&function->vcpu, vcpu) ? law_at(function, vcpu) : NULL;
    struct profile_origin origin = {PROFILE_INTERPOLATED,
                                    law == NULL ? NAN : law->expected_errors[PROFILE_ERROR_50],
                                    law == NULL ? NAN : law->expected_errors[PROFILE_ERROR_90]};
    size_t floors[AXES];
    bool between[AXES];
    bool exact = true;
    if (!is_inside(function, batch, vcpu, vgpu))
        return (struct profile_origin){PROFILE_EXTRAPOLATED, NAN, NAN};
    for (size_t i = 0; i < AXES; i++) {
        floors[i] = axis_floor(axes[i], query[i]);
        between[i] = axes[i]->values[floors[i]] != query[i];
        exact = exact && !between[i];
    }
    for (size_t corner = 0; corner < 1 << AXES; corner++) {
        size_t cell = 0;
        bool beside = false; /* the axis is not interpolated: only its lower corner counts */
        for (size_t i = 0; i < AXES; i++) {
            beside = beside || ((corner >> i & 1) != 0 && !between[i]);
            cell = cell * axes[i]->count + floors[i] + (corner >> i & 1);
        }
        if (beside)
            continue;
        struct profile_origin at = cell_origin(function, cell);
        if (exact)
            return at;
        if (at.source == PROFILE_EXTRAPOLATED)
            origin.source = at.source;
        origin.expected_error_50 = fmax(origin.expected_error_50, at.expected_error_50);
        origin.expected_error_90 = fmax(origin.expected_error_90, at.expected_error_90);
    }
    return origin;
}
