/* Traces written in the layout esgsim, which every command reads: of requests
 * `time_ms,application[,slo_ms]`, of trainings `arrival_s,gpus` and what else the trace has.
 *
 * The file is gzip if its name ends in .gz. It is replaced when it is complete (atomic_file.h).
 * False: ERROR_RUN if it cannot be written. */
#ifndef ESGSIM_TRACES_READERS_OWN_LAYOUT_H
#define ESGSIM_TRACES_READERS_OWN_LAYOUT_H

#include "traces/readers/arrival_trace.h"
#include "traces/readers/training_trace.h"

/* Writes the records that the reader has left. `application`: of every request; NULL: that of its
 * source. ERROR_INPUT if there is no record, or one without a source. */
bool trace_write(struct trace_reader *reader, const char *application, const char *path,
                 struct error *error);

/* Shares of a GPU and vCPUs are left out. O(rows). */
bool training_trace_write(const struct training_trace *trace, const char *path,
                          struct error *error);

#endif
