/* Reads a capture file (HDF5), what the capture tool writes of a GPU, into samples; of layout version
 * 1 or 2.
 *
 * Taken: /latency (every raw sample), /colocation (median of each victim's samples over its time
 * alone), /cold_start (part "total"), /memory (context, module and weights together are what a
 * container keeps; activations by item at the largest batch). Shares are named in 700ths of the
 * GPU, in which sevenths and whole percents are both whole; where the file has the multiprocessors
 * that a share came to and those of the device, a latency also knows what part that is.
 */
#ifndef ESGSIM_RESULTS_CAPTURE_H
#define ESGSIM_RESULTS_CAPTURE_H

#include <stdbool.h>

#include "sim/error.h"
#include "traces/samples.h"

enum { CAPTURE_UNIT = 700 };

struct capture_options {
    const char *precision; /* NULL: all; then a function is NETWORK-PRECISION, else NETWORK */
    const char *mechanism; /* "mps" or "green", beside "full"; NULL: mps where there is any */
    bool rehearsal;        /* take samples that were drawn from a formula */
};

/* Whether the file is HDF5. */
bool capture_is_hdf5(const char *path);

/* ERROR_INPUT names file, table and fault; a rehearsal is refused unless asked for. */
bool capture_read(struct sample_set *set, const char *path, const struct capture_options *options,
                  struct error *error);

#endif
