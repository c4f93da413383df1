/* A capture session. It measures the points of a plan within a budget, writes their samples to a
 * file, and continues a file that already has some of them. */
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

/* Runs the session and prints its progress on standard output. Returns false with ERROR_RUN if the
 * device is missing or lost, or if the file cannot be written. Samples taken before the failure are
 * in the file. */
bool session_run(const struct session_options *options, struct plan *plan, struct error *error);

#endif
