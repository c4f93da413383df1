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
 * The file is written as the run goes. Whenever the program ends, by whatever signal, it is a whole
 * JSON object of what happened up to the last block: each block is written together with the
 * closing brackets, which the next one overwrites. Memory: what is in flight, the lanes, and one
 * bit for each container ever made.
 */
#ifndef ESGSIM_RESULTS_TIMELINE_H
#define ESGSIM_RESULTS_TIMELINE_H

#include <stdbool.h>

#include "sim/error.h"
#include "sim/simulation.h"
#include "workloads/experiment.h"

struct timeline;

/* Begins `path`, whatever was there before. The experiment must outlive the timeline. NULL:
 * ERROR_INPUT where it cannot be written or is no regular file, ERROR_RUN where memory is short. */
struct timeline *timeline_create(const char *path, const struct experiment *experiment,
                                 struct error *error);
/* Takes every kind of row; valid until timeline_close. */
struct recorder timeline_recorder(struct timeline *timeline);
/* Writes what is left and frees. NULL is allowed. False: ERROR_RUN, the disk. */
bool timeline_close(struct timeline *timeline, struct error *error);

#endif
