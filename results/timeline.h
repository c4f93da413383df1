/* A run as a trace to look at: Chrome's trace-event JSON, which Perfetto (ui.perfetto.dev) and
 * chrome://tracing open.
 *
 *   process    threads (tracks)
 *   cluster    counters sampled as the experiment says; an instant a dispatch; an instant a drop
 *   requests   lanes of each application: a slice a request, from arrival to finish
 *   queues     a track an AFW queue: a job's waiting, from ready to launched (asynchronous events)
 *   invoker i  lanes of each GPU (and of the vCPUs alone): a slice a batch, from dispatch to
 * finish, and within it decision, transfer, cold start, execution; a track a container
 *
 * Slices of one lane never overlap, and every GPU has as many lanes as batches it held at once at
 * most: batches come in order of their finish, and each takes the lane that was left last before it
 * began. A flow leads from each request's arrival through the executions of its stages to its
 * finish. Times are microseconds with three decimals, so no nanosecond is lost.
 *
 * The file is written as the run goes and takes its name at the end (traces/atomic_file.h). Memory:
 * what is in flight, the lanes, and one bit for each container ever made.
 */
#ifndef ESGSIM_RESULTS_TIMELINE_H
#define ESGSIM_RESULTS_TIMELINE_H

#include <stdbool.h>

#include "sim/error.h"
#include "sim/simulation.h"
#include "workloads/experiment.h"

struct timeline;

/* Begins and locks `path`. The experiment must outlive the timeline. NULL: ERROR_INPUT where it
 * cannot be written, ERROR_RUN where another process writes there or memory
 * is short. */
struct timeline *timeline_create(const char *path, const struct experiment *experiment,
                                 struct error *error);
/* Takes every kind of row; valid until timeline_close. */
struct recorder timeline_recorder(struct timeline *timeline);
/* If the run is `good`, writes what is left and gives the file its name; else removes it. Frees the
 * timeline, which may be NULL. Returns `good`, or false with ERROR_RUN where it could not be
 * written. */
bool timeline_close(struct timeline *timeline, bool good, struct error *error);

#endif
