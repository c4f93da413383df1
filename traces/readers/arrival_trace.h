/* Arrival traces in their original formats, read as a stream, gzip or plain.
 *
 * | format            | layout                                                                  |
 * |-------------------|-------------------------------------------------------------------------|
 * | esgsim            | CSV `time_ms,application[,slo_ms]`, one line per request                |
 * | azure-llm         | CSV `TIMESTAMP,ContextTokens,GeneratedTokens`, 100 ns stamps            |
 * | azure-2019        | CSV `HashOwner,HashApp,HashFunction,Trigger,1..N`: counts per minute    |
 * | azure-2021        | CSV `app,func,end_timestamp,duration` [s], one line per invocation      |
 * | counts-per-second | CSV `second,requests`, or bare integers                                 |
 * | counts-per-minute | CSV `minute,requests`, or bare integers                                 |
 *
 * Any other table is read by naming its columns (struct trace_columns).
 *
 * Counts become arrivals at uniform random times within their bin, sorted. They are drawn from the
 * stream (seed, RANDOM_TRACE_BIN, bin, source); bin 0 is the first of the file. For azure-2019 the
 * source is the row in which the label first appears, so a function's arrivals do not depend on
 * which other functions are selected. Merged rows use TRACE_MERGED_STREAM, and all other formats
 * use 0. A bin that `second,requests` does not list has no requests. Bare integers may be separated
 * by any white space.
 *
 * An arrival of azure-2021 is end − duration, but the file is sorted by end: it is sorted. In all
 * other formats the stamps must ascend.
 *
 * The first record is at time 0, whatever its stamp; trace_first_s gives the stamp.
 *
 * Memory is bounded by one bin. For azure-2019, whose rows are functions, it is bounded by their
 * minutes per source kept. Only a table that is sorted, or has a column of counts, is held whole,
 * 40 bytes per row.
 */
#ifndef ESGSIM_TRACES_READERS_ARRIVAL_TRACE_H
#define ESGSIM_TRACES_READERS_ARRIVAL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

enum {
    TRACE_MERGED_STREAM = (1 << 24) - 1, /* source number of merged azure-2019 rows */
    TRACE_MOST_ROWS = 4096               /* most azure-2019 sources kept apart */
};

/* `selected` of a record whose source is not one of the view's labels. */
#define TRACE_UNSELECTED UINT32_MAX

struct line_reader;
struct listing_options;
struct trace_reader;

struct trace_record {
    sim_time_t time; /* since the trace's first record (stamps) or first bin (counts); with a view,
                        since its start and divided by its scale */
    const char *source; /* label of the application or function; "" if the format has none or
                           sources were merged; valid until the next call */
    uint32_t selected;  /* index into the view's labels, or TRACE_UNSELECTED */
    sim_time_t slo;     /* 0: not given */
};

/* How to treat sources that the view does not name. */
enum trace_others {
    TRACE_OTHERS_KEEP,  /* each under its own label; azure-2019: at most TRACE_MOST_ROWS */
    TRACE_OTHERS_MERGE, /* all under "" */
    TRACE_OTHERS_DROP
};

/* The columns of a table that is in none of the formats (traces/readers/listing.h); others are
 * ignored. With a column of counts a row stands for so many requests, at uniform random times in
 * the bin that begins at its time, or in the part of it before the next row's. Such a table is held
 * whole. */
struct trace_columns {
    const char *time;        /* required */
    const char *application; /* NULL: the trace has no sources */
    const char *slo_ms;      /* NULL: no SLOs; an empty field has none */
    const char *count;       /* NULL: each row is one request; an empty field counts none */
    const char *unit;        /* of time: one of trace_units, required */
    const char *app;         /* names within which those of `application` are unique; NULL: none */
    const char *duration;    /* subtracted from the time, in its unit; NULL: none */
    double bin_s;            /* width of the bins; 0: the median difference of the times */
    struct listing_options *table; /* NULL: none */
    bool sort; /* read the trace whole and sort it by time; records of equal time keep
                * their order. At most TRACE_MOST_SORTED records */
};

enum { TRACE_MOST_SORTED = 1 << 26 };

/* Sets the names of the columns from the list that --columns takes,
 * "time=timestamp,application=app,slo_ms=deadline,count=n", which is cut in place. The columns
 * point into it. ERROR_INPUT if it has another form or lacks a time. */
bool trace_columns_parse(char *list, struct trace_columns *columns, struct error *error);

/* Units of a time column, NULL-terminated. "date" is 2023-11-16 18:17:03.97, also with T, in UTC or
 * with an offset behind it. */
extern const char *const trace_units[];

/* A selection from a trace. A zeroed structure selects all of it, unscaled. */
struct trace_view {
    const char *const *labels; /* names of sources to select: `application` of esgsim; HashFunction
                                  or HashApp; func or app (func is matched first) */
    size_t label_count;
    enum trace_others others;
    double start_s;                      /* seconds of the trace to skip */
    double duration_s;                   /* seconds of the trace to read; 0: to its end */
    double scale_rate;                   /* > 1: time is compressed by this factor; 0 means 1 */
    const struct trace_columns *columns; /* NULL: the trace is in one of the formats */
    /* Called for every source that is not dropped, under its own label even if merged, with a
     * number of requests. That is 1 per record, except for azure-2019: one call per source at
     * opening, with the count of the whole day. May be NULL. */
    void (*count)(void *context, const char *label, uint64_t requests);
    void *context;
    /* The file, opened, of which nothing has been read but by line_reader_peek: the reader takes it
     * over. NULL: it opens the path. */
    struct line_reader *lines;
    /* Further files of the same trace: merged in order of time, or each beginning where the one
     * before it ends, at its last request or the end of its last bin. */
    const char *const *paths;
    size_t path_count;
    bool end_to_end;
};

/* Names of the formats, NULL-terminated. */
extern const char *const trace_formats[];

/* Opens a whole trace, unscaled; the functions of azure-2019 are merged. `format` is a name of the
 * table above. NULL recognises the format by its header line; bare integers need a name. `seed`
 * places counts within bins. Returns NULL with ERROR_INPUT on failure. */
struct trace_reader *trace_open(const char *path, const char *format, uint64_t seed,
                                struct error *error);

/* Like trace_open, for a selection from the trace. `path` is copied. `view`, its labels and its
 * context must outlive the reader. */
struct trace_reader *trace_open_view(const char *path, const char *format, uint64_t seed,
                                     const struct trace_view *view, struct error *error);

/* The format in use, a name of the table above, or "columns". */
const char *trace_format(const struct trace_reader *reader);

/* True if the arrival times are in the file, false if they are drawn within bins and depend on the
 * seed. */
bool trace_has_times(const struct trace_reader *reader);

/* The stamp of the first record read, or of the first bin, in s, which is time 0 of the records.
 * It is 0 before the first record, and for dates, whose zero means nothing. */
double trace_first_s(const struct trace_reader *reader);

/* Time 0 of the view's records on the file's own clock, dates too, divided by the view's scale.
 * Known from the first record on. */
sim_time_t trace_zero(const struct trace_reader *reader);

/* What a user should know of the records read so far, a line each; NULL: nothing. */
const char *trace_notes(const struct trace_reader *reader);

/* True if the file is plain text whose last line has no end, so that it may have been cut. False
 * also for gzip, which has a checksum, and for what is no regular file. O(1). */
bool trace_file_is_cut(const char *path);

/* Returns the next record in order of time. False at the end (error unchanged) or on a malformed
 * line (error set: file, line, fault, remedy). */
bool trace_next(struct trace_reader *reader, struct trace_record *record, struct error *error);

/* Writes the records that are left in the layout esgsim, gzip if the path ends in .gz, and replaces
 * the file when it is complete. `application`: of every request; NULL: that of its source. False:
 * ERROR_INPUT if there is no record, or one without a source; ERROR_RUN if it cannot be written. */
bool trace_write(struct trace_reader *reader, const char *application, const char *path,
                 struct error *error);

void trace_close(struct trace_reader *reader);

#endif
