/* The bounds of a run, for runs that ask for them (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_BOUNDS_H
#define ESGSIM_SIM_PLATFORM_BOUNDS_H

#include "sim/platform/simulation.h"

struct platform;
struct request_row;

/* Prepares `platform->bound`. It remains NULL without requests, and for a run on a backend, of
 * whose times the bound by capacity knows nothing. False with ERROR_RUN when out of memory. */
bool bounds_open(struct platform *platform);

/* Adds a finished request to `platform->bound`. A failure ends the run. O(1) amortised. */
void bounds_add(struct platform *platform, const struct request_row *row);

/* Sets the bounds of `result` but bound_slo_hit_rate. False with ERROR_RUN when out of memory.
 * O(n log n) for n measured requests. */
bool bounds_close(struct platform *platform, struct simulation_result *result);

#endif
