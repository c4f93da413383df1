/* Logging the device's clocks, power and temperature while something is measured on it.
 *
 * A thread asks NVML, which comes with the driver and is opened when the program runs. Where there
 * is none, nothing is logged, and the text says why.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_CLOCKS_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/capture/measure/layout.h"

enum { CLOCKS_EVERY_MS = 50, CLOCKS_TEXT = 128 };

struct clocks;

/* Begins to log the device at the PCI address `bus`, as the CUDA driver writes it. `text` says what
 * logs ("NVML, driver 580.1"), or why nothing does, in which case the result is NULL. */
struct clocks *clocks_start(const char *bus, char text[static CLOCKS_TEXT]);
/* Ends the thread. NULL is allowed. */
void clocks_stop(struct clocks *clocks);

/* Least and highest SM clock, MHz, of the rows that were not taken yet, from a time on (seconds
 * since 1970); 0 where there is none. O(rows). */
void clocks_range(struct clocks *clocks, double from_s, int *least, int *most);

/* Hands over the rows logged since the last call; the caller frees them. NULL: none. */
struct layout_clocks *clocks_take(struct clocks *clocks, size_t *count);

#endif
