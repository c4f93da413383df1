/* A file of events in Chrome's trace event format.
 *
 * The file appears when it is closed as good and not before (sim/base/atomic_file.h). Memory does
 * not grow with the number of events.
 */
#ifndef ESGSIM_RESULTS_INSPECT_TRACE_EVENTS_H
#define ESGSIM_RESULTS_INSPECT_TRACE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/base/units.h"

struct trace_events {
    struct atomic_file file;
    const char *before; /* the next event */
    int fault;          /* errno of the first write that failed; 0: none */
};

/* A time on a track. */
struct trace_point {
    sim_time_t time;
    uint32_t pid, tid;
};

/* Opens the file and writes what precedes the list of events; `about` is an object, which is
 * deleted. Close with trace_events_end in every case. False: as for atomic_file_open. */
bool trace_events_begin(struct trace_events *events, const char *path, cJSON *about,
                        struct error *error);

/* An event without arguments, which the caller may add; `until` is the end of a slice, phase X.
 * Times become microseconds with three decimals, exact to the nanosecond. */
cJSON *trace_event(char phase, const char *category, const char *name, struct trace_point at,
                   sim_time_t until);
/* Writes the event and deletes it. A fault is told by trace_events_good. */
void trace_events_write(struct trace_events *events, cJSON *event);

/* Names the process or thread ("process", "thread") of `at`, which is shown at `order`. */
void trace_events_name(struct trace_events *events, const char *kind, struct trace_point at,
                       uint32_t order, const char *name);

/* False: ERROR_RUN, the file could not be written. */
bool trace_events_good(const struct trace_events *events, struct error *error);

/* `good`: ends the list and publishes the file; else nothing remains of it. Returns false where
 * `good` is false or the file could not be written. */
bool trace_events_end(struct trace_events *events, bool good, struct error *error);

#endif
