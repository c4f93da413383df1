/* Arrival traces in their original formats, streamed, gzip or plain.
 *
 * | format            | layout                                                                  |
 * |-------------------|-------------------------------------------------------------------------|
 * | esgsim            | CSV `time_ms,application[,slo_ms]`, one line a request                   |
 * | azure-llm         | CSV `TIMESTAMP,ContextTokens,GeneratedTokens`, 100 ns stamps             |
 * | azure-2019        | CSV `HashOwner,HashApp,HashFunction,Trigger,1..1440`: counts per minute  |
 * | azure-2021        | CSV `app,func,end_timestamp,duration` [s], a line an invocation          |
 * | counts-per-second | CSV `second,requests`, or bare integers                                  |
 * | counts-per-minute | CSV `minute,requests`, or bare integers                                  |
 *
 * Counts become arrivals by drawing each one uniformly within its bin from the stream
 * (seed, RANDOM_TRACE_BIN, bin, source), sorted. Memory is bounded by one bin, by the reorder window
 * of azure-2021, or — for azure-2019, whose rows are functions — by sources asked for × 1,440.
 */
#ifndef ESGSIM_TRACES_ARRIVAL_TRACE_H
#define ESGSIM_TRACES_ARRIVAL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"

struct trace_reader;

struct trace_record {
    sim_time_t time;     /* since the trace's first record (stamps) or first bin (counts) */
    const char *source;  /* label of application or function; "" where the format has none; valid
                            until the next call */
    sim_time_t slo;      /* 0: none given */
};

/* Opens `path`; `format` is a name of the table above or NULL: told from the header line (bare
 * integers need a name). `seed` places counts within bins. */
struct trace_reader *trace_open(const char *path, const char *format, uint64_t seed,
                                struct error *error);

/* The format in use, a name of the table. */
const char *trace_format(const struct trace_reader *reader);

/* The next record in order of time; false at the end (error untouched) or on a malformed line
 * (error filled: file, line, fault, remedy). */
bool trace_next(struct trace_reader *reader, struct trace_record *record, struct error *error);

void trace_close(struct trace_reader *reader);

#endif
