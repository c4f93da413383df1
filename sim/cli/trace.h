/* Options of esgsim trace, and what it does with trainings. */
#ifndef ESGSIM_SIM_CLI_TRACE_H
#define ESGSIM_SIM_CLI_TRACE_H

#include "sim/cli/cli.h"
#include "traces/readers/arrival_trace.h"

struct trace_options {
    struct listing_options table;
    struct line_reader lines; /* of the first file, opened; its first line is only looked at */
    const char *file, *format, *out, *application, *from, *until, *duration_unit;
    bool end_to_end;
    struct trace_view view;
    uint64_t seed;
    bool json;
    const char *as, *models, *cluster, *list; /* list: of --columns */
    uint64_t gpus;
    struct trace_columns columns; /* without a time: not given */
};

/* Whether FILE holds trainings: as the options or its first line say. */
bool trace_has_trainings(const struct trace_options *options, const char *line);

/* Converts the requests of FILE, or prints what they look like. */
bool trace_requests(const struct trace_options *options, bool convert, bool quiet,
                    struct error *error);

/* Prints notes, a line each, of FILE; NULL: none. */
void trace_print_notes(const struct trace_options *options, const char *notes);

/* Converts the trainings of FILE, or prints load, durations and gangs. ERROR_INPUT if a training
 * has no time, or its model is not in the file of models. O(rows log rows). */
bool trace_trainings(struct trace_options *options, const char *line, bool convert, bool quiet,
                     struct error *error);

#endif
