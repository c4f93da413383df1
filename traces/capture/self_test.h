/* Is what the device computes what the processor computes: small networks that together use every
 * kind of layer, in both precisions, on the whole device and on a part of it.
 */
#ifndef ESGSIM_TRACES_CAPTURE_SELF_TEST_H
#define ESGSIM_TRACES_CAPTURE_SELF_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"

/* Prints a line for each comparison; false with ERROR_RUN where one is off by more than rounding.
 */
bool self_test_run(struct error *error);

/* The networks, as JSON texts; NULL past the last. */
const char *self_test_network(size_t index);

#endif
