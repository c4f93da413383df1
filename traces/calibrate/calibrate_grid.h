/* The cells of a function's profile: measured where it was measured, else from the predictor,
 * with the error to expect. */
#ifndef ESGSIM_TRACES_CALIBRATE_CALIBRATE_GRID_H
#define ESGSIM_TRACES_CALIBRATE_CALIBRATE_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/calibrate/calibrate.h"

struct grid_cell {
    double ms; /* NAN: did not run */
    enum profile_source source;
    double expected_errors[PROFILE_QUANTILES]; /* fractions; NAN: not known */
};

struct calibrated_grid {
    int *batch, *vcpu, *vgpu; /* ascending */
    size_t batches, vcpus, vgpus;
    struct grid_cell *cells; /* [batch][vcpu][vgpu] */
    double *parts;           /* [unit + 1]: fraction of the GPU of so many vGPUs */
};

/* Fills the grid of the surfaces from `first` up to `end`, which are those of one function.
 *
 * A cell is null where a sample says that its configuration, or one with a smaller batch, at least
 * the share and at least the vCPUs, did not run. Where the whole GPU has more multiprocessors than
 * its vGPUs say, the cell next to the whole is null unless measured, so that a profile does not
 * answer between the last share and the whole. `batches` is 0 if no share is a whole number of
 * units. The grid's arrays live as long as the calibration. */
void calibrated_grid_fill(const struct calibration *calibration, size_t first, size_t end,
                          const struct profile_options *options, int unit,
                          struct calibrated_grid *grid);

/* Returns whether some share differs from its nominal fraction. */
bool calibrated_has_parts(const struct sample_set *set);

#endif
