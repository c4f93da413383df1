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
 * (seed, RANDOM_TRACE_BIN, bin, source), sorted; bin 0 is the file's first. The source of
 * azure-2019 is the row of the label's first appearance (so that a function's arrivals do not
 * depend on which others are asked for), TRACE_MERGED_STREAM for merged rows; elsewhere 0. A bin
 * left out of `second,requests` holds no requests. Bare integers may be separated by any blanks.
 *
 * An arrival of azure-2021 is end − duration, while rows are sorted by end. Rows are put in order
 * within a window of 24 hours behind the latest end, or of 1,048,576 rows where that is less; a row
 * that comes later than that is a fault. All other stamps must ascend.
 *
 * Memory is bounded by one bin, by the reorder window of azure-2021, or — for azure-2019, whose
 * rows are functions — by sources kept × 1,440 bins.
 */
#ifndef ESGSIM_TRACES_ARRIVAL_TRACE_H
#define ESGSIM_TRACES_ARRIVAL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"

enum {
    TRACE_MERGED_STREAM = (1 << 24) - 1, /* source number of merged azure-2019 rows */
    TRACE_MOST_ROWS = 4096               /* azure-2019 sources that can be kept apart */
};

/* `selected` of a record whose source is not one of the view's labels. */
#define TRACE_UNSELECTED UINT32_MAX

struct trace_reader;

struct trace_record {
    sim_time_t time;    /* since the trace's first record (stamps) or first bin (counts); with a
                           view, since its start and divided by its scale */
    const char *source; /* label of application or function; "" where the format has none or sources
                           were merged; valid until the next call */
    uint32_t selected;  /* index into the view's labels, or TRACE_UNSELECTED */
    sim_time_t slo;     /* 0: none given */
};

/* What becomes of sources that the view does not name. */
enum trace_others {
    TRACE_OTHERS_KEEP,  /* each under its own label; azure-2019: TRACE_MOST_ROWS at most */
    TRACE_OTHERS_MERGE, /* all under "" */
    TRACE_OTHERS_DROP
};

/* A part of a trace. Zeroed: all of it, as it is. */
struct trace_view {
    const char *const *labels; /* sources wanted by name: `application` of esgsim; HashFunction or
                                  HashApp; func or app (the function's name goes first) */
    size_t label_count;
    enum trace_others others;
    double start_s;    /* skip this much of the trace's beginning */
    double duration_s; /* of the trace; 0: to its end */
    double scale_rate; /* > 1: time compressed by this factor; 0 stands for 1 */
    /* Where set, told of every source (under its own label, even when merged) with a number of its
     * requests: a record's 1 as records come, but for azure-2019 the whole day's while the file is
     * opened. Sources that are dropped are not told. */
    void (*tally)(void *context, const char *label, uint64_t requests);
    void *context;
};

/* Names of the formats, NULL-terminated. */
extern const char *const trace_formats[];

/* Opens `path`; `format` is a name of the table above or NULL: told from the header line (bare
 * integers need a name). `seed` places counts within bins. All of the trace, as it is, but the
 * functions of azure-2019 come merged. NULL with ERROR_INPUT on a fault. */
struct trace_reader *trace_open(const char *path, const char *format, uint64_t seed,
                                struct error *error);

/* The same for a part of the trace. `path` is copied; `view`, its labels and its context must
 * outlive the reader. */
struct trace_reader *trace_open_view(const char *path, const char *format, uint64_t seed,
                                     const struct trace_view *view, struct error *error);

/* The format in use, a name of the table. */
const char *trace_format(const struct trace_reader *reader);

/* Whether every seed gets the same times: the file's own, not drawn within bins. */
bool trace_has_times(const struct trace_reader *reader);

/* The next record in order of time; false at the end (error untouched) or on a malformed line
 * (error filled: file, line, fault, remedy). */
bool trace_next(struct trace_reader *reader, struct trace_record *record, struct error *error);

void trace_close(struct trace_reader *reader);

#endif
