/* Is what the device computes what the processor computes: small networks that together use every
 * kind of layer, in both precisions, eager and as CUDA graphs, on the whole device and on parts of
 * it. And does the driver do what captures depend on: see probe.h.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_SELF_TEST_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_SELF_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

/* Prints a line for each comparison and each question. ERROR_RUN where a comparison is off by more
 * than rounding, and where probe_run fails. */
bool self_test_run(struct error *error);

/* The networks, as JSON texts; NULL past the last. */
const char *self_test_network(size_t index);

#endif
