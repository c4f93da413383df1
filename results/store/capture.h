/* Reads a capture file into samples. A capture file is HDF5, written by the capture tool on a GPU,
 * of layout version 1 or 2.
 *
 * It reads the following tables:
 * - /latency: every raw sample.
 * - /colocation: the median of each victim's samples, divided by its latency without co-runners.
 * - /cold_start: the part "total".
 * - /memory: context, module and weights, which a container keeps; activations per item, at the
 *   largest batch.
 *
 * Shares are in units of 1/700 of the GPU, so that sevenths and whole percentages are whole
 * numbers. If the file gives the multiprocessors of a share and of the device, a latency sample
 * also gets its fraction of the multiprocessors.
 */
#ifndef ESGSIM_RESULTS_STORE_CAPTURE_H
#define ESGSIM_RESULTS_STORE_CAPTURE_H

#include <stdbool.h>

#include "sim/error.h"
#include "traces/calibrate/samples.h"

enum { CAPTURE_UNIT = 700 };

struct capture_options {
    const char *precision; /* NULL: all, and a function's name is NETWORK-PRECISION, else NETWORK */
    const char
        *mechanism; /* "mps" or "green", in addition to "full"; NULL: mps if the file has it */
    bool rehearsal; /* accept samples computed from a formula */
};

/* Returns whether the file is HDF5. */
bool capture_is_hdf5(const char *path);

/* Adds the file's samples to the set. ERROR_INPUT names the file, the table and the fault. A
 * rehearsal is refused unless options->rehearsal is set. */
bool capture_read(struct sample_set *set, const char *path, const struct capture_options *options,
                  struct error *error);

#endif
