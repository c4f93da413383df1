/* Log of the device's clocks, power and temperature during a measurement.
 *
 * A thread queries NVML, the management library of the driver, which is loaded at run time. Without
 * NVML nothing is logged, and a text gives the reason.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_CLOCKS_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/capture/measure/layout.h"

enum { CLOCKS_EVERY_MS = 50, CLOCKS_TEXT = 128 };

struct clocks;

/* Starts to log the device at the PCI address `bus`, written as the CUDA driver writes it. `text`
 * receives the source of the log ("NVML, driver 580.1"). If nothing can be logged, `text` receives
 * the reason and the result is NULL. */
struct clocks *clocks_start(const char *bus, char text[static CLOCKS_TEXT]);
/* Stops the thread. NULL is allowed. */
void clocks_stop(struct clocks *clocks);

/* Lowest and highest SM clock, MHz, among the rows that clocks_take has not returned yet and that
 * were logged from `from_s` (seconds since 1970) on. 0 if there is no such row. O(rows). */
void clocks_range(struct clocks *clocks, double from_s, int *least, int *most);

/* Returns the rows logged since the last call. The caller frees them. NULL: no rows. */
struct layout_clocks *clocks_take(struct clocks *clocks, size_t *count);

#endif
