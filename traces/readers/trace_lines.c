#include "traces/readers/listing.h"
#include "traces/readers/trace_layout.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/utf8.h"

void trace_note(struct trace_reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    arena_append_of(reader->memory, &reader->notes, format, args);
    va_end(args);
    arena_append(reader->memory, &reader->notes, "\n");
}

/* ---- Fields ---------------------------------------------------------------------------------- */

/* Parses digits with at most one decimal point exactly, rounded to the nanosecond. `unit`: ns per
 * unit. */
static bool parse_plain_time(const char *text, sim_time_t unit, double most_s, sim_time_t *time)
{
    const sim_time_t most = (sim_time_t)most_s * SIM_S;
    sim_time_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++) {
        if (value > (most / unit - (*c - '0')) / 10)
            return false;
        value = value * 10 + (*c - '0');
    }
    value *= unit;
    if (c == text || (*c != '.' && *c != '\0'))
        return false;
    if (*c == '.')
        c++;
    for (sim_time_t place = unit / 10; *c >= '0' && *c <= '9'; c++, place /= 10) {
        value += (*c - '0') * place;
        if (place == 0) {
            value += *c >= '5' ? 1 : 0;
            c += strspn(c, "0123456789");
            break;
        }
    }
    *time = value;
    return *c == '\0';
}

static bool parse_time(const struct trace_reader *reader, const char *text, const char *what,
                       sim_time_t unit, double most_s, sim_time_t *time, struct error *error)
{
    if (parse_plain_time(text, unit, most_s, time))
        return true;
    const double most = most_s * ((double)SIM_S / (double)unit);
    char *end = NULL;
    double value = strtod(text, &end);
    if (*text == '\0')
        return line_fault(&reader->lines, error, "%s is missing", what);
    if (strspn(text, "0123456789.eE+-") != strlen(text) || *end != '\0' || end == text)
        return line_fault(&reader->lines, error, "%s '%.40s' is not a finite decimal number", what,
                          text);
    if (!(value >= 0) || value > most)
        return line_fault(&reader->lines, error, "%s %.40s is outside 0..%g", what, text, most);
    *time = (sim_time_t)llround(value * (double)unit);
    return true;
}

bool trace_parse_time(const struct trace_reader *reader, const char *text, const char *what,
                      sim_time_t unit, sim_time_t *time, struct error *error)
{
    return parse_time(reader, text, what, unit, TRACE_MOST_SECONDS, time, error);
}

bool trace_parse_stamp(const struct trace_reader *reader, const char *text, const char *what,
                       sim_time_t unit, sim_time_t *time, struct error *error)
{
    return parse_time(reader, text, what, unit, TRACE_MOST_STAMP, time, error);
}

bool trace_parse_count(const struct trace_reader *reader, const char *text, const char *what,
                       uint64_t most, uint64_t *count, struct error *error)
{
    uint64_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > most)
            return line_fault(&reader->lines, error, "%s %.40s is above %llu", what, text,
                              (unsigned long long)most);
    }
    if (c == text || *c != '\0')
        return line_fault(&reader->lines, error, "%s '%.40s' is not a whole number from 0 on", what,
                          text);
    *count = value;
    return true;
}

bool trace_parse_whole(const struct trace_reader *reader, char *text, const char *what,
                       uint64_t most, uint64_t *count, struct error *error)
{
    char *end = text + strspn(text, "0123456789");
    if (end > text && *end == '.' && end[1 + strspn(end + 1, "0")] == '\0')
        *end = '\0';
    return trace_parse_count(reader, text, what, most, count, error);
}

bool trace_check_label(const struct trace_reader *reader, const char *label, const char *what,
                       struct error *error)
{
    if (*label == '\0')
        return line_fault(&reader->lines, error, "%s is missing", what);
    if (strlen(label) > 256)
        return line_fault(&reader->lines, error, "%s is longer than 256 bytes", what);
    if (strchr(label, '"') != NULL)
        return line_fault(&reader->lines, error, "%s is quoted; write it without quotes", what);
    if (!utf8_is_name(label))
        return line_fault(&reader->lines, error,
                          "%s '%.60s' holds control characters or is not UTF-8; mend it", what,
                          label);
    return true;
}

/* ---- Sources --------------------------------------------------------------------------------- */

uint32_t trace_select(const struct trace_reader *reader, const char *name, const char *group)
{
    int32_t found = string_index_find(&reader->wanted, name);
    if (found == STRING_INDEX_NONE && group != NULL)
        found = string_index_find(&reader->wanted, group);
    if (found != STRING_INDEX_NONE)
        return (uint32_t)found;
    return reader->view.others == TRACE_OTHERS_DROP ? TRACE_DROPPED : TRACE_UNSELECTED;
}

const char *trace_shown_label(const struct trace_reader *reader, const char *own, uint32_t selected)
{
    if (selected < reader->wanted.count)
        return reader->wanted.names[selected];
    return reader->view.others == TRACE_OTHERS_MERGE ? "" : own;
}

bool trace_keep_label(struct trace_reader *reader, const char *name, uint32_t *number,
                      struct error *error)
{
    int32_t added = string_index_add(&reader->sources, name);
    if (added == STRING_INDEX_NONE)
        return line_fault(&reader->lines, error, "more than %d different sources; split the trace",
                          (int)STRING_INDEX_MOST);
    *number = (uint32_t)added;
    return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Faults the end of a trace without records. */
static enum line_status end_of_trace(const struct trace_reader *reader, bool empty,
                                     struct error *error)
{
    if (empty)
        (void)line_fault(&reader->lines, error, "nothing follows the header; the trace is empty");
    return empty ? LINE_FAULT : LINE_END;
}

enum line_status trace_next_line(struct trace_reader *reader, char **line, struct error *error)
{
    enum line_status status = LINE_READ;
    if (reader->pending == NULL)
        status = line_reader_next(&reader->lines, line, error);
    else
        *line = reader->pending;
    reader->pending = NULL;
    reader->record_lines += status == LINE_READ;
    return status == LINE_END ? end_of_trace(reader, reader->record_lines == 0, error) : status;
}

enum line_status trace_next_row(struct trace_reader *reader, struct listing *table,
                                struct error *error)
{
    const enum line_status status = listing_next(table, error);
    if (status != LINE_END || table->rows == 0)
        return status != LINE_END ? status : end_of_trace(reader, true, error);
    if (table->rows == table->unselected) {
        (void)line_fault(&reader->lines, error, "--where selects no row");
        return LINE_FAULT;
    }
    if (table->unselected > 0)
        trace_note(reader, "%zu of %zu rows left out by --where", table->unselected, table->rows);
    return LINE_END;
}

bool trace_goes_back(const struct trace_reader *reader, sim_time_t by, struct error *error)
{
    return line_fault(&reader->lines, error, "time goes back by %.9g s; sort the file by time%s",
                      sim_to_s(by), reader->view.columns != NULL ? ", or give --sort" : "");
}

bool trace_order(struct trace_reader *reader, sim_time_t stamp, sim_time_t *time,
                 struct error *error)
{
    if (!reader->has_origin) {
        reader->origin = stamp;
        reader->last = stamp;
        reader->has_origin = true;
    }
    if (stamp < reader->last)
        return trace_goes_back(reader, reader->last - stamp, error);
    reader->last = stamp;
    *time = reader->length = stamp - reader->origin;
    return sim_to_s(*time) <= TRACE_MOST_SECONDS ||
           line_fault(&reader->lines, error,
                      "is %.9g s after the first record, more than %g; is the unit right?",
                      sim_to_s(*time), TRACE_MOST_SECONDS);
}
