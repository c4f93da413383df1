/* What a trace of arrivals looks like: how many requests, how fast, how bursty, of which sources.
 */
#ifndef ESGSIM_TRACES_READERS_ARRIVAL_STATISTICS_H
#define ESGSIM_TRACES_READERS_ARRIVAL_STATISTICS_H

#include "sim/base/string_index.h"
#include "traces/readers/arrival_trace.h"

/* Counts are made in consecutive windows of so many seconds: for the dispersion from the first
 * arrival on, for peaks from multiples of these on the file's clock, wherever its part begins. */
enum { ARRIVAL_WINDOWS = 3, ARRIVAL_TOP = 5 };
extern const int arrival_window_s[ARRIVAL_WINDOWS]; /* 1, 10, 60 */

struct arena;

struct arrival_statistics {
    struct arena *memory; /* of notes and counts */
    const char *format;   /* of the file */
    double file_first_s;  /* stamp of the file's first request or bin, which is time 0 */
    bool cut;             /* the last line has no end */
    uint64_t requests;
    double span_s, longest_gap_s;
    double mean_rate_per_s;             /* (requests - 1) / span; NAN: no span */
    double interval_cv;                 /* coefficient of variation; NAN: fewer than two */
    uint64_t peak[ARRIVAL_WINDOWS];     /* most requests of a window */
    double dispersion[ARRIVAL_WINDOWS]; /* variance / mean of the counts in whole windows, 1 for
                                         * a Poisson process; NAN: fewer than two */
    struct string_index labels;         /* of the sources; requests[i] is of labels.names[i] */
    uint64_t *label_requests;
    char *notes;                        /* as trace_notes gives them; NULL: nothing */
    size_t sources;                     /* that have a label */
    size_t top[ARRIVAL_TOP], top_count; /* the most frequent of these; ties: the first */
};

/* Reads a trace, or the view's part of it; the view's `count` and `others` are replaced. False:
 * ERROR_INPUT as for trace_open_view and trace_next, or if there is no request. Clear the
 * statistics in either case. O(requests). */
bool arrival_statistics_read(const char *path, const char *format, uint64_t seed,
                             const struct trace_view *view, struct arrival_statistics *statistics,
                             struct error *error);
void arrival_statistics_clear(struct arrival_statistics *statistics);

#endif
