#include "traces/calibrate/calibrate_grid.h"

#include <math.h>

#include <gsl/gsl_sort_int.h>

enum { GRID_SHARES = 100 }; /* of a full grid, beside the measured ones */

struct filler {
    const struct calibration *calibration;
    const struct calibrated_surface *surfaces; /* of the function */
    size_t surface_count;
    const struct profile_options *options;
    int unit;
};

bool calibrated_has_parts(const struct sample_set *set)
{
    for (size_t i = 0; i < set->latency_count; i++)
        if (samples_share(set, &set->latencies[i]) != (double)set->latencies[i].share / set->unit)
            return true;
    return false;
}

static int share_in_unit(const struct filler *filler, int share)
{
    return samples_in_unit(filler->calibration->set, share, filler->unit);
}

/* ---- Axes ------------------------------------------------------------------------------------ */

static size_t distinct(int *values, size_t count)
{
    size_t kept = 0;
    gsl_sort_int(values, 1, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}

static bool axis_holds(const int *values, size_t count, int value)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || values[i] == value;
    return found;
}

/* Appends the powers of two up to the largest batch, measured or asked for, and the shares in equal
 * steps up to the whole GPU. */
static void add_full_axes(const struct filler *filler, struct calibrated_grid *grid,
                          size_t *batches, size_t *vgpus)
{
    int most = filler->options->extend_batch;
    const int step = (filler->unit + GRID_SHARES - 1) / GRID_SHARES;
    for (size_t i = 0; i < *batches; i++)
        most = grid->batch[i] > most ? grid->batch[i] : most;
    for (int batch = 1; batch <= most; batch *= 2)
        grid->batch[(*batches)++] = batch;
    for (int vgpu = step; vgpu <= filler->unit; vgpu += step)
        grid->vgpu[(*vgpus)++] = vgpu;
}

static void fill_axes(const struct filler *filler, struct calibrated_grid *grid)
{
    const size_t more = GRID_SHARES + 32;
    size_t count = 0;
    for (size_t s = 0; s < filler->surface_count; s++)
        count += filler->surfaces[s].count;
    struct arena *arena = filler->calibration->arena;
    grid->batch = arena_allocate(arena, count + more, sizeof(int));
    grid->vcpu = arena_allocate(arena, count, sizeof(int));
    grid->vgpu = arena_allocate(arena, count + more, sizeof(int));
    size_t n = 0;
    for (size_t s = 0; s < filler->surface_count; s++)
        for (size_t i = 0; i < filler->surfaces[s].count; i++) {
            int vgpu = share_in_unit(filler, filler->surfaces[s].samples[i].share);
            if (vgpu < 0)
                continue;
            grid->batch[n] = filler->surfaces[s].samples[i].batch;
            grid->vcpu[n] = filler->surfaces[s].samples[i].vcpu;
            grid->vgpu[n++] = vgpu;
        }
    size_t batches = n;
    size_t vgpus = n;
    if (n > 0 && filler->options->full_grid)
        add_full_axes(filler, grid, &batches, &vgpus);
    if (axis_holds(grid->vgpu, n, filler->unit) && filler->unit > 1 && n > 1 &&
        calibrated_has_parts(filler->calibration->set))
        grid->vgpu[vgpus++] = filler->unit - 1;
    grid->batches = distinct(grid->batch, batches);
    grid->vcpus = distinct(grid->vcpu, n);
    grid->vgpus = distinct(grid->vgpu, vgpus);
}

/* Computes the fraction of the GPU for 0..unit vGPUs from the samples. It is linear between
 * measured shares, with 0 for no share and 1 for all. */
static void fill_parts(const struct filler *filler, struct calibrated_grid *grid)
{
    const struct sample_set *set = filler->calibration->set;
    double *parts =
        arena_allocate(filler->calibration->arena, (size_t)filler->unit + 1, sizeof *parts);
    int before = 0;
    grid->parts = parts;
    parts[filler->unit] = 1;
    for (size_t i = 0; i < set->latency_count; i++) {
        const struct latency_sample *sample = &set->latencies[i];
        const int vgpu = share_in_unit(filler, sample->share);
        if (vgpu > 0)
            parts[vgpu] = samples_share(set, sample);
    }
    for (int vgpu = 1; vgpu <= filler->unit; vgpu++) {
        if (parts[vgpu] == 0)
            continue;
        for (int between = before + 1; between < vgpu; between++)
            parts[between] = parts[before] +
                             (parts[vgpu] - parts[before]) * (between - before) / (vgpu - before);
        before = vgpu;
    }
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static const struct latency_sample *sample_at(const struct filler *filler,
                                              const struct calibrated_surface *surface, int batch,
                                              int vcpu, int vgpu)
{
    for (size_t i = 0; i < surface->count; i++)
        if (surface->samples[i].batch == batch && surface->samples[i].vcpu == vcpu &&
            share_in_unit(filler, surface->samples[i].share) == vgpu)
            return &surface->samples[i];
    return NULL;
}

/* Returns whether this configuration, or one that needs no more and has no less, did not run. */
static bool did_not_run(const struct filler *filler, int batch, int vcpu, int vgpu)
{
    const struct sample_set *set = filler->calibration->set;
    for (size_t i = 0; i < set->refused_count; i++) {
        const struct latency_sample *refused = &set->refused[i];
        if (refused->function == filler->surfaces[0].function && batch >= refused->batch &&
            vcpu <= refused->vcpu && (vgpu == 0) == (refused->share == 0) &&
            (double)vgpu / filler->unit <= (double)refused->share / set->unit)
            return true;
    }
    return false;
}

static bool is_guard(const struct filler *filler, const struct calibrated_grid *grid, int vgpu)
{
    return vgpu == filler->unit - 1 && axis_holds(grid->vgpu, grid->vgpus, filler->unit) &&
           calibrated_has_parts(filler->calibration->set);
}

/* A measured time errs as the cell's repeats, minutes apart, do. Where there are none, by its own
 * noise, which repeats average: quantiles of a normal error. */
static struct grid_cell measured_cell(const struct filler *filler,
                                      const struct latency_sample *sample)
{
    const struct calibration *all = filler->calibration;
    const double half = repeat_error(all, sample->function, PROFILE_ERROR_50);
    double cv = isnan(sample->cv) ? calibration_noise(all, sample->function) : sample->cv;
    cv /= sqrt((double)sample->repeats);
    if (isnan(half))
        return (struct grid_cell){sample->ms, PROFILE_MEASURED, {0.6745 * cv, 1.6449 * cv}};
    return (struct grid_cell){sample->ms,
                              PROFILE_MEASURED,
                              {half, repeat_error(all, sample->function, PROFILE_ERROR_90)}};
}

static struct grid_cell cell_at(const struct filler *filler, const struct calibrated_grid *grid,
                                const struct calibrated_surface *surface, int batch, int vcpu,
                                int vgpu)
{
    const struct latency_sample *sample =
        surface == NULL ? NULL : sample_at(filler, surface, batch, vcpu, vgpu);
    if (sample != NULL)
        return measured_cell(filler, sample);
    if (surface == NULL || did_not_run(filler, batch, vcpu, vgpu) || is_guard(filler, grid, vgpu))
        return (struct grid_cell){NAN, PROFILE_NONE, {NAN, NAN}};
    const struct latency_point at = calibrated_place(surface, batch, vcpu, grid->parts[vgpu]);
    const struct latency_value value = latency_model_at(&surface->surface.model, &at);
    struct grid_cell cell = {.ms = value.ms * calibrated_factor(surface, vcpu),
                             .source = value.between ? PROFILE_INTERPOLATED : PROFILE_EXTRAPOLATED};
    for (int i = 0; i < PROFILE_QUANTILES; i++)
        cell.expected_errors[i] =
            expected_error(filler->calibration, surface, &value, (enum profile_quantile)i);
    return cell;
}

/* The surface with a GPU, or without; NULL: none. */
static const struct calibrated_surface *surface_at(const struct filler *filler, int vgpu)
{
    for (size_t s = 0; s < filler->surface_count; s++)
        if (filler->surfaces[s].on_gpu == (vgpu > 0))
            return &filler->surfaces[s];
    return NULL;
}

static void fill_cells(const struct filler *filler, struct calibrated_grid *grid)
{
    size_t cell = 0;
    grid->cells = arena_allocate(filler->calibration->arena,
                                 grid->batches * grid->vcpus * grid->vgpus, sizeof *grid->cells);
    for (size_t b = 0; b < grid->batches; b++)
        for (size_t c = 0; c < grid->vcpus; c++)
            for (size_t g = 0; g < grid->vgpus; g++)
                grid->cells[cell++] = cell_at(filler, grid, surface_at(filler, grid->vgpu[g]),
                                              grid->batch[b], grid->vcpu[c], grid->vgpu[g]);
}

void calibrated_grid_fill(const struct calibration *calibration, size_t first, size_t end,
                          const struct profile_options *options, int unit,
                          struct calibrated_grid *grid)
{
    const struct filler filler = {calibration, &calibration->surfaces[first], end - first, options,
                                  unit};
    *grid = (struct calibrated_grid){0};
    fill_axes(&filler, grid);
    fill_parts(&filler, grid);
    fill_cells(&filler, grid);
}
