/* Shared state and helpers of the arrival trace formats. Private to the readers
 * (traces/readers/arrival_trace.c, traces/trace_*.c).
 *
 * A layout describes one format: its header line, and the functions that convert the following
 * lines to records. All layouts stream. Memory is bounded by one bin or by the reorder window, not
 * by the size of the file.
 */
#ifndef ESGSIM_TRACES_READERS_TRACE_LAYOUT_H
#define ESGSIM_TRACES_READERS_TRACE_LAYOUT_H

#include "traces/readers/arrival_trace.h"
#include "sim/base/arena.h"
#include "sim/base/string_index.h"
#include "traces/readers/line_reader.h"

/* Largest duration, about 31 years. Scaled or summed durations stay far below the clock's maximum.
 */
#define TRACE_MOST_SECONDS 1e9
/* Largest stamp of a record, about 285 years, so that seconds since 1970 are read. */
#define TRACE_MOST_STAMP 9e9

/* A source is mapped to an index into the view's labels, to TRACE_UNSELECTED, or to this. */
#define TRACE_DROPPED (UINT32_MAX - 1)

/* A record before the view's window and scale are applied. */
struct raw_record {
    sim_time_t time;
    const char *label; /* of its own source, for the count */
    uint32_t selected;
    sim_time_t slo;
};

struct listing;

struct trace_layout {
    const char *header;         /* as shown in messages */
    const char *const *headers; /* accepted header lines, NULL-terminated; NULL: only `header` */
    const struct trace_columns *columns;  /* of a layout that is a table of such columns; or NULL */
    bool (*recognises)(const char *line); /* recognises a header; NULL: compare with `headers` */
    sim_time_t bin;                       /* width of its bins; 0: none */
    bool bare;                            /* also accepts integers without a header */
    bool whole; /* read completely when opened, which is when it reports to the count */
    /* Called after the header line. Sets the reader's `state`; may be NULL. */
    bool (*open)(struct trace_reader *reader, char *header, struct error *error);
    /* The next record; finds `raw` with the label "", without an SLO. */
    enum line_status (*next)(struct trace_reader *reader, struct raw_record *raw,
                             struct error *error);
    void (*close)(struct trace_reader *reader); /* what is not in `memory`; may be NULL */
};

/* Of a layout that is a table of `columns`, which its header has all but slo_ms. */
bool trace_columns_open(struct trace_reader *reader, char *header, struct error *error);
enum line_status trace_columns_next(struct trace_reader *reader, struct raw_record *raw,
                                    struct error *error);
void trace_columns_close(struct trace_reader *reader);
#define TRACE_BY_COLUMNS                                                                           \
    .open = trace_columns_open, .next = trace_columns_next, .close = trace_columns_close

/* The formats. To add one, write a file that defines its layout, trace_layout_NAME, and add a line
 * with its name as users know it. */
#define TRACE_FORMATS(FORMAT)                                                                      \
    FORMAT("esgsim", esgsim)                                                                       \
    FORMAT("azure-llm", azure_llm)                                                                 \
    FORMAT("azure-2019", azure_2019)                                                               \
    FORMAT("azure-2021", azure_2021)                                                               \
    FORMAT("counts-per-second", per_second)                                                        \
    FORMAT("counts-per-minute", per_minute)

#define DECLARE_LAYOUT(name, layout) extern const struct trace_layout trace_layout_##layout;
TRACE_FORMATS(DECLARE_LAYOUT)
#undef DECLARE_LAYOUT
extern const struct trace_layout trace_layout_columns; /* of view.columns */

struct trace_reader {
    struct arena *memory; /* until it is closed */
    char *path;
    const struct trace_layout *layout;
    const char *format; /* its name */
    bool dated;         /* the stamps are dates */
    void *state;        /* private to the layout */
    uint64_t seed;
    struct trace_view view;
    bool has_view;              /* a view was given */
    struct string_index wanted; /* the view's labels */
    struct string_index
        sources; /* all labels read, for layouts that keep records longer than a line */
    struct line_reader lines;
    sim_time_t start, end; /* of the view */
    double scale;
    char *pending; /* the first line, if it was not a header */
    uint64_t record_lines;
    sim_time_t origin, last; /* stamps of the first and of the last record */
    bool has_origin;
    sim_time_t length;  /* from the first record or bin to the last record or the last bin's end */
    uint64_t first_bin; /* of the file, for counts */
    char *notes;        /* what a user should know, a line each; NULL: nothing */
};

/* Opens the view's files as parts of one trace (trace_files.c). */
bool trace_open_parts(struct trace_reader *reader, const char *format, struct error *error);

/* Adds a line to the notes. */
void trace_note(struct trace_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- Lines and fields: false with ERROR_INPUT "FILE:LINE: …" ---- */

enum line_status trace_next_line(struct trace_reader *reader, char **line, struct error *error);
/* Reads the next row of a table, and notes at its end how many --where left out. */
enum line_status trace_next_row(struct trace_reader *reader, struct listing *table,
                                struct error *error);
/* Parses a duration in 0 .. 10^9 s, given in units of `unit` ns. Faults name the field `what`. */
bool trace_parse_time(const struct trace_reader *reader, const char *text, const char *what,
                      sim_time_t unit, sim_time_t *time, struct error *error);

/* The same for a stamp in 0 .. TRACE_MOST_STAMP s. */
bool trace_parse_stamp(const struct trace_reader *reader, const char *text, const char *what,
                       sim_time_t unit, sim_time_t *time, struct error *error);

/* Parses "2023-11-16 18:17:03.9799600" to nanoseconds since 1970. It is in UTC, or as an offset
 * behind it says: Z, UTC, +08:00, -0700, +08. */
bool trace_parse_date(const char *text, sim_time_t *time);

/* Parses a stamp in units of `unit` ns; 0: a date. */
bool trace_parse_instant(const struct trace_reader *reader, const char *text, const char *what,
                         sim_time_t unit, sim_time_t *time, struct error *error);

/* ns of a unit of trace_units; 0 of "date". */
sim_time_t trace_unit(const char *name);

bool trace_parse_count(const struct trace_reader *reader, const char *text, const char *what,
                       uint64_t most, uint64_t *count, struct error *error);

/* The same for a number that may end in ".0". */
bool trace_parse_whole(const struct trace_reader *reader, char *text, const char *what,
                       uint64_t most, uint64_t *count, struct error *error);

bool trace_check_label(const struct trace_reader *reader, const char *label, const char *what,
                       struct error *error);

/* Converts a stamp to time since the first stamp. A stamp earlier than the previous one is a fault.
 */
bool trace_order(struct trace_reader *reader, sim_time_t stamp, sim_time_t *time,
                 struct error *error);

/* Faults a stamp that is `by` earlier than the one before it. Returns false. */
bool trace_goes_back(const struct trace_reader *reader, sim_time_t by, struct error *error);

/* ---- Sources ---- */

/* Maps a row to its source. The row has the label `name` and, if not NULL, the wider label `group`.
 */
uint32_t trace_select(const struct trace_reader *reader, const char *name, const char *group);

/* The label under which the view reports a record of that source. */
const char *trace_shown_label(const struct trace_reader *reader, const char *own,
                              uint32_t selected);

/* Sets `number` to the label's number in `sources`, adding the label if new. */
bool trace_keep_label(struct trace_reader *reader, const char *name, uint32_t *number,
                      struct error *error);

/* ---- Bins: arrivals at uniform random times within the bin that counts them ---- */

enum { TRACE_MOST_IN_COUNT = 1000000, /* per count in the file */ TRACE_MOST_IN_BIN = 10000000 };

/* A span of time whose requests are counted. */
struct trace_bin {
    uint64_t number;         /* from 0 at the first */
    sim_time_t begin, width; /* since the first */
};

/* An arrival drawn within the current bin. */
struct drawn_arrival {
    sim_time_t time;
    uint32_t row; /* index of its source, defined by the layout */
};

/* The arrivals of one bin, in order once the bin is complete. Zeroed: empty. */
struct drawn_bin {
    struct drawn_arrival *arrivals;
    size_t count, next;
};

/* Adds `count` arrivals of a row to a bin, drawn from stream `stream`. Skips a bin that ends before
 * the view begins. */
bool trace_draw(const struct trace_reader *reader, struct drawn_bin *drawn,
                const struct trace_bin *bin, uint32_t row, uint32_t stream, uint64_t count,
                struct error *error);

/* Sorts a completed bin. LINE_END if the bin is beyond the view. */
enum line_status trace_drawn(struct trace_reader *reader, struct drawn_bin *drawn,
                             const struct trace_bin *bin);

/* Sets `*next` to the next arrival. `fill` draws the next bin, which may be empty. */
enum line_status trace_next_drawn(struct trace_reader *reader, struct drawn_bin *drawn,
                                  enum line_status (*fill)(struct trace_reader *reader,
                                                           struct error *error),
                                  const struct drawn_arrival **next, struct error *error);

#endif
