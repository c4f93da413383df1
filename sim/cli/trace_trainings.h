/* Trainings in esgsim trace: statistics, and our own layout. */
#ifndef ESGSIM_SIM_CLI_TRACE_TRAININGS_H
#define ESGSIM_SIM_CLI_TRACE_TRAININGS_H

#include <zlib.h>

#include "traces/readers/training_trace.h"

/* Writes a trace in the layout esgsim. ERROR_RUN, naming `path`, if it cannot be written. O(rows).
 */
bool trace_trainings_write(const struct training_trace *trace, gzFile out, const char *path,
                           struct error *error);

/* Prints load, durations and gangs on standard output. `models` is a file that gives iterations
 * their time, NULL: the trace gives it. `gpus`: of the cluster; 0: not given. ERROR_INPUT if a
 * training has no time, or its model is not in the file. O(rows log rows). */
bool trace_trainings_stats(const struct training_trace *trace, const char *file, const char *models,
                           uint64_t gpus, bool json, struct error *error);

#endif
