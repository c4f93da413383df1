/* Writes runs as Chrome's trace-event JSON, to be viewed in Perfetto (ui.perfetto.dev) or
 * chrome://tracing.
 *
 * - process cluster: counters, sampled as the experiment specifies; an instant event per dispatch
 *   and per drop.
 * - process requests: lanes per application; a slice per request, from arrival to finish.
 * - process queues: a track per AFW queue; the wait of each job from ready to launch, with its
 *   reasons (asynchronous events).
 * - process invoker i: lanes per GPU, and for batches without a GPU; a slice per batch, from
 *   dispatch to finish, that contains decision, transfer, cold start and execution; lanes per GPU
 *   for leases of trainings, a slice per lease that contains its restart and save; a track per
 * container. A batch that was lost in an outage is a slice until then; the outages have a track.
 * - process trainings: a track per training, with its arrival and leases.
 *
 * A process without events is not there; a counter begins with its first value above zero. The
 * processes of several runs, "esg: requests", lie below each other on one clock.
 *
 * Slices of one lane never overlap, and a GPU has as many lanes as its maximum number of concurrent
 * batches. Batches are assigned in order of their finish. Each takes, of the lanes that were free
 * before it began, the one that became free last. A flow connects each request's arrival, the
 * executions of its stages and its finish. Times are microseconds with three decimals, which is
 * exact to the nanosecond.
 *
 * The file is written during the run and renamed at the end (sim/base/atomic_file.h). Memory is
 * bounded by requests in flight, lanes and leases, plus a pointer per request and a bit per
 * container.
 */
#ifndef ESGSIM_RESULTS_INSPECT_TIMELINE_H
#define ESGSIM_RESULTS_INSPECT_TIMELINE_H

#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/platform/simulation.h"
#include "workloads/spec/experiment.h"

struct timeline;

/* Locks and begins the file `path` of one run per experiment: the same one but for its policy. They
 * must outlive the timeline. NULL: ERROR_INPUT if the file cannot be written; ERROR_RUN if another
 * process writes it or memory is exhausted. */
struct timeline *timeline_create(const char *path, const struct experiment *const *experiments,
                                 size_t count, struct error *error);
/* Begins the run of that experiment and ends the one before. `recorder` takes all kinds of rows,
 * until the next call. False: ERROR_RUN, the file cannot be written. */
bool timeline_run(struct timeline *timeline, size_t run, struct recorder *recorder,
                  struct error *error);
/* If `good`, writes the remaining events and renames the file; else removes it. Frees the timeline,
 * which may be NULL. Returns `good`, or false with ERROR_RUN if writing failed. */
bool timeline_close(struct timeline *timeline, bool good, struct error *error);

#endif
