/* Requests that the platform drops by platform.admission (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_ADMISSION_H
#define ESGSIM_SIM_PLATFORM_ADMISSION_H

#include "sim/platform/state.h"

/* Computes the fastest way through the rest of an application from each of its stages, by planning
 * times and without waiting, transfers or cold starts. Does nothing without an admission, or if the
 * policy admits requests itself. */
void admission_init(struct platform *platform);
/* Drops the oldest requests of each queue that even their fastest way cannot save. O(queues +
 * drops). */
void admission_drop_lost(struct platform *platform);

#endif
