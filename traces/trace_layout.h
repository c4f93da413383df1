/* What the layouts of arrival traces share: the reader's state, lines, fields and sources. Private
 * to the readers (traces/arrival_trace.c, traces/trace_*.c).
 *
 * A layout is a header line and what makes records of the lines below it. Each streams: what it
 * holds at a time is bounded by its reorder window or by one bin, not by the file.
 */
#ifndef ESGSIM_TRACES_TRACE_LAYOUT_H
#define ESGSIM_TRACES_TRACE_LAYOUT_H

#include "traces/arrival_trace.h"
#include "traces/labels.h"
#include "traces/line_reader.h"

/* Largest stamp, some 31 years: scaled or summed, it stays clear of the clock's end. */
#define TRACE_MOST_SECONDS 1e9

/* Where a source goes: an index into the view's labels, TRACE_UNSELECTED, or nowhere. */
#define TRACE_DROPPED (UINT32_MAX - 1)

/* A record before the view's window and scale. */
struct raw_record {
    sim_time_t time;
    const char *label; /* its own, for the tally */
    uint32_t selected;
    sim_time_t slo;
};

enum raw_status { RAW_READ, RAW_END, RAW_FAULT };

struct trace_layout {
    const char *name;
    const char *header;         /* as messages show it */
    const char *const *headers; /* the lines that are one, up to a NULL; NULL: `header` alone */
    bool (*recognises)(const char *line); /* where no list of lines tells; NULL: `headers` do */
    sim_time_t bin;                       /* the width of its bins; 0 where it has none */
    bool bare;                            /* takes integers without a header too */
    bool whole;                           /* read when opened: tells the tally of its counts then */
    /* After the header line: sets `fields` and, where it has one, `state`. */
    bool (*open)(struct trace_reader *reader, const char *header, struct error *error);
    enum raw_status (*next)(struct trace_reader *reader, struct raw_record *raw,
                            struct error *error);
    void (*close)(struct trace_reader *reader); /* frees `state`; may be NULL */
};

extern const struct trace_layout trace_layout_esgsim, trace_layout_azure_llm,
    trace_layout_azure_2019, trace_layout_azure_2021, trace_layout_per_second,
    trace_layout_per_minute;

struct trace_reader {
    char *path;
    const struct trace_layout *layout;
    void *state;   /* the layout's own */
    size_t fields; /* in a line */
    uint64_t seed;
    struct trace_view view;
    bool has_view;         /* one was asked for */
    struct labels wanted;  /* the view's labels */
    struct labels sources; /* labels met, where records outlive their line */
    struct line_reader lines;
    sim_time_t start, end; /* of the view */
    double scale;
    char *pending; /* a first line that was no header */
    uint64_t record_lines;
    sim_time_t origin, last; /* stamps of the first and of the last record */
    bool has_origin;
};

/* ---- Lines and fields: false with ERROR_INPUT "FILE:LINE: …" ---- */

enum raw_status trace_next_line(struct trace_reader *reader, char **line, struct error *error);

/* Cuts the line at its commas, in place, into reader->fields fields. */
bool trace_split(const struct trace_reader *reader, char *line, char **fields, struct error *error);

/* A number 0 .. 10^9 s, in units of `unit` ns; `what` names the field in the fault. */
bool trace_parse_time(const struct trace_reader *reader, const char *text, const char *what,
                      sim_time_t unit, sim_time_t *time, struct error *error);

bool trace_parse_count(const struct trace_reader *reader, const char *text, const char *what,
                       uint64_t most, uint64_t *count, struct error *error);

bool trace_check_label(const struct trace_reader *reader, const char *label, const char *what,
                       struct error *error);

/* Makes a stamp relative to the first, and refuses one that lies before the last. */
bool trace_order(struct trace_reader *reader, sim_time_t stamp, sim_time_t *time,
                 struct error *error);

/* ERROR_RUN that names the file. */
bool trace_no_memory(const struct trace_reader *reader, struct error *error);

/* ---- Sources ---- */

/* Where a row goes that carries `name` and, where not NULL, the wider label `group`. */
uint32_t trace_select(const struct trace_reader *reader, const char *name, const char *group);

/* What a record of that source is called, as the view has it. */
const char *trace_shown_label(const struct trace_reader *reader, const char *own,
                              uint32_t selected);

/* The label's number among the sources. */
bool trace_keep_label(struct trace_reader *reader, const char *name, uint32_t *number,
                      struct error *error);

/* ---- Bins: arrivals at uniform instants of the bin that counts them ---- */

enum { TRACE_MOST_IN_COUNT = 1000000, /* one count of the file */ TRACE_MOST_IN_BIN = 10000000 };

/* An arrival drawn within the current bin. */
struct drawn_arrival {
    sim_time_t time;
    uint32_t row; /* the layout's, for its source */
};

/* Zeroed: none. */
struct drawn_bin {
    struct drawn_arrival *arrivals;
    size_t count, capacity, next;
};

/* Adds `count` arrivals of a row, drawn by stream `stream`, to a bin, unless the bin is over before
 * the view begins. */
bool trace_draw(const struct trace_reader *reader, struct drawn_bin *drawn, uint64_t bin,
                uint32_t row, uint32_t stream, uint64_t count, struct error *error);

/* Puts a bin that is complete in order; RAW_END where it lies beyond the view. */
enum raw_status trace_drawn(const struct trace_reader *reader, struct drawn_bin *drawn,
                            uint64_t bin);

#endif
