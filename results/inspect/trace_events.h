/* A file of events in Chrome's trace event format, written in blocks.
 *
 * The file appears when it is closed as good and not before (sim/base/atomic_file.h). Memory is
 * one block, whatever the number of events.
 */
#ifndef ESGSIM_RESULTS_INSPECT_TRACE_EVENTS_H
#define ESGSIM_RESULTS_INSPECT_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/base/units.h"

struct trace_events {
    struct arena *arena; /* of path and block */
    const char *path;
    struct atomic_file file;
    char *block;
    size_t used; /* bytes of the block */
    bool any;    /* at least one event has been written */
};

/* Opens the file and writes what precedes the list of events: `about` is a JSON object. Close
 * with trace_events_end in every case. */
bool trace_events_begin(struct trace_events *events, struct arena *arena, const char *path,
                        const char *about, struct error *error);

/* A time on a track. */
struct trace_point {
    sim_time_t time;
    uint32_t pid, tid;
};

struct trace_event {
    char phase;                  /* as the format's letters */
    const char *category, *name; /* of trace_escape, or without characters that JSON escapes */
    struct trace_point at;
    sim_time_t until; /* of phase X */
};

/* Writes one event. `format`: further members, each after a comma. ERROR_RUN where the file cannot
 * be written or the event is longer than 8 KiB. */
bool trace_events_write(struct trace_events *events, const struct trace_event *event,
                        struct error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns the text as in a JSON string, in a block of the arena. */
char *trace_escape(struct arena *arena, const char *text);

/* Names a process; processes are shown in the order of their ids. */
bool trace_events_name_process(struct trace_events *events, uint32_t pid, const char *name,
                               struct error *error);
/* Names a thread and gives its position `order` in its process. */
bool trace_events_name_thread(struct trace_events *events, uint32_t pid, uint32_t tid,
                              uint32_t order, const char *name, struct error *error);

/* `good`: ends the list and publishes the file; else nothing remains of it. Returns false where
 * `good` is false or the file cannot be written. */
bool trace_events_end(struct trace_events *events, bool good, struct error *error);

/* Numbers as JSON. */
struct trace_number {
    char text[32];
};
/* Microseconds with three decimals, exact to the nanosecond. */
struct trace_number trace_micros(sim_time_t time);
/* Nine digits; null where the value is not finite. */
struct trace_number trace_number(double value);

#endif
