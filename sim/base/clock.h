/* The machine's own time, which never goes back: for measurements and time limits, not for what is
 * simulated. */
#ifndef ESGSIM_SIM_BASE_CLOCK_H
#define ESGSIM_SIM_BASE_CLOCK_H

#include <stdint.h>

/* Time since some moment before the process began. May be called by a signal handler. */
int64_t clock_ns(void);
double clock_s(void);
/* Processor time of this thread. A call of the system, ten times as long as the others. */
double clock_processor_s(void);

#endif
