/* Duration of an inference on the device, measured by two CUDA events: one before its first launch,
 * one after its last kernel. */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_STOPWATCH_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_STOPWATCH_H

#include "traces/capture/executor/executor.h"

struct stopwatch {
    struct device *device;
    CUevent start, end;
};

/* Creates the events for inferences on `lane`, which must have been entered: events belong to the
 * context that is current when they are created. Destroy the stopwatch before the lane, even after
 * a failure. */
bool stopwatch_create(const struct partition_stream *lane, struct stopwatch *watch,
                      struct error *error);
void stopwatch_destroy(struct stopwatch *watch);

/* Runs one inference and waits for it. The caller calls partition_stream_leave. */
bool stopwatch_run(const struct stopwatch *watch, const struct executor *executor,
                   const struct partition_stream *lane, double *ms, struct error *error);
/* The same for an inference that was recorded on the lane. */
bool stopwatch_run_graph(const struct stopwatch *watch, const struct executor_graph *graph,
                         const struct partition_stream *lane, double *ms, struct error *error);

#endif
