/* Self-test of the device against the processor. It runs small networks that together use every
 * kind of layer. It runs them in both precisions, eagerly and as CUDA graphs, on the whole device
 * and on partitions. It then runs the driver probes of probe.h. */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_SELF_TEST_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_SELF_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

/* Prints one line per comparison and per probe. Returns false with ERROR_RUN if a difference
 * exceeds rounding or if probe_run fails. */
bool self_test_run(struct error *error);

/* The test networks, as JSON texts. NULL past the last one. */
const char *self_test_network(size_t index);

#endif
