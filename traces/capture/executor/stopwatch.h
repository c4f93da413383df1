/* How long an inference takes by the device: from before its first launch to the end of its last
 * kernel, between two events.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_STOPWATCH_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_STOPWATCH_H

#include "traces/capture/executor/executor.h"

struct stopwatch {
    struct device *device;
    CUevent start, end;
};

/* For inferences on `lane`, which is entered: events belong to the context that is current when
 * they are made. Destroyed, whether or not it was made, before the lane. */
bool stopwatch_create(const struct partition_stream *lane, struct stopwatch *watch,
                      struct error *error);
void stopwatch_destroy(struct stopwatch *watch);

/* Runs one inference and waits for it; partition_stream_leave is up to the caller. */
bool stopwatch_run(const struct stopwatch *watch, const struct executor *executor,
                   const struct partition_stream *lane, double *ms, struct error *error);
/* The same for an inference that was recorded on the lane. */
bool stopwatch_run_graph(const struct stopwatch *watch, const struct executor_graph *graph,
                         const struct partition_stream *lane, double *ms, struct error *error);

#endif
