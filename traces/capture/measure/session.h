/* A capture: takes the points of a plan within a budget and writes their samples to a file, going
 * on with what the file holds.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_SESSION_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_SESSION_H

#include <stdbool.h>

#include "traces/capture/measure/plan.h"

struct session_options {
    const char *out;
    double budget_s;
    bool rehearse;    /* samples from a formula */
    bool cuda_graphs; /* each inference is one CUDA graph */
};

/* Says on standard output what it does. False with ERROR_RUN where the device is missing or lost,
 * or the file cannot be written; what was taken before is in the file. */
bool session_run(const struct session_options *options, struct plan *plan, struct error *error);

#endif
