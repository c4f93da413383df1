/* Azure Functions 2019: one line per function, with its counts per minute of one day. */
#include "traces/readers/trace_layout.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/array.h"

enum { MINUTES_A_DAY = 1440 };

/* Counts of one selected source. */
struct count_row {
    uint32_t selected;
    uint32_t label;
    uint32_t stream;
    uint32_t counts[MINUTES_A_DAY];
};

struct day {
    struct count_row **rows;
    size_t count;
    uint64_t minute; /* next minute to draw */
    struct drawn_bin drawn;
};

static bool is_header(const char *line)
{
    static const char labels[] = "HashOwner,HashApp,HashFunction,Trigger";
    if (strncmp(line, labels, sizeof labels - 1) != 0)
        return false;
    const char *c = line + sizeof labels - 1;
    for (long minute = 1; minute <= MINUTES_A_DAY; minute++) {
        char *end = NULL;
        if (*c != ',' || c[1] < '1' || c[1] > '9' || strtol(c + 1, &end, 10) != minute)
            return false;
        c = end;
    }
    return *c == '\0';
}

/* Returns the row that collects the counts of a label, adding it if new. */
static struct count_row *row_of_source(struct trace_reader *reader, const char *label,
                                       uint32_t selected, uint32_t file_row, struct error *error)
{
    struct day *day = reader->state;
    uint32_t number = 0;
    if (!trace_keep_label(reader, label, &number, error))
        return NULL;
    if (number < day->count)
        return day->rows[number];
    if (day->count == TRACE_MOST_ROWS) {
        (void)line_fault(&reader->lines, error,
                         "more than %d functions to keep apart; name the ones wanted or merge them",
                         (int)TRACE_MOST_ROWS);
        return NULL;
    }
    struct count_row *row = calloc(1, sizeof *row);
    if (row == NULL || !array_extend(&day->rows, day->count, sizeof row)) {
        free(row);
        (void)trace_no_memory(reader, error);
        return NULL;
    }
    row->label = number;
    row->selected = selected;
    row->stream = *label == '\0' ? TRACE_MERGED_STREAM : file_row;
    day->rows[day->count++] = row;
    return row;
}

/* Reads the 1,440 counts after the four labels. Adds them to `row` if it is not NULL. */
static bool add_counts(const struct trace_reader *reader, char *text, struct count_row *row,
                       uint64_t *total, struct error *error)
{
    char *field = text;
    for (int minute = 0; minute < MINUTES_A_DAY; minute++) {
        uint64_t count = 0;
        char *comma = field == NULL ? NULL : strchr(field, ',');
        if (field == NULL || (minute == MINUTES_A_DAY - 1 && comma != NULL))
            return line_fault(&reader->lines, error, "has %s than 1,440 counts",
                              field == NULL ? "fewer" : "more");
        if (comma != NULL)
            *comma = '\0';
        if (!trace_parse_count(reader, field, "a count", TRACE_MOST_IN_COUNT, &count, error))
            return false;
        *total += count;
        if (row != NULL && row->counts[minute] + count > TRACE_MOST_IN_BIN)
            return line_fault(&reader->lines, error, "minute %d holds more than %d requests",
                              minute + 1, (int)TRACE_MOST_IN_BIN);
        if (row != NULL)
            row->counts[minute] += (uint32_t)count;
        field = comma == NULL ? NULL : comma + 1;
    }
    return true;
}

static bool add_line(struct trace_reader *reader, char *line, uint32_t file_row,
                     struct error *error)
{
    char *labels[4];
    char *rest = line;
    for (int i = 0; i < 4; i++) {
        labels[i] = rest;
        rest = strchr(rest, ',');
        if (rest == NULL)
            return line_fault(&reader->lines, error, "has fewer than 1,444 fields");
        *rest++ = '\0';
        if (!trace_check_label(reader, labels[i], "a label", error))
            return false;
    }
    uint32_t selected = trace_select(reader, labels[2], labels[1]);
    struct count_row *row = NULL;
    uint64_t total = 0;
    if (selected != TRACE_DROPPED) {
        row = row_of_source(reader, trace_shown_label(reader, labels[2], selected), selected,
                            file_row, error);
        if (row == NULL)
            return false;
    }
    if (!add_counts(reader, rest, row, &total, error))
        return false;
    if (reader->view.count != NULL && row != NULL)
        reader->view.count(reader->view.context, labels[2], total);
    return true;
}

static bool open_azure_2019(struct trace_reader *reader, const char *header, struct error *error)
{
    (void)header;
    reader->state = calloc(1, sizeof(struct day));
    if (reader->state == NULL)
        return trace_no_memory(reader, error);
    if (!reader->has_view)
        reader->view.others = TRACE_OTHERS_MERGE;
    for (uint32_t row = 0; row < TRACE_MERGED_STREAM; row++) {
        char *line = NULL;
        enum raw_status status = trace_next_line(reader, &line, error);
        if (status == RAW_END)
            return true;
        if (status == RAW_FAULT || !add_line(reader, line, row, error))
            return false;
    }
    return line_fault(&reader->lines, error, "has more rows than any day of that trace");
}

static void close_azure_2019(struct trace_reader *reader)
{
    struct day *day = reader->state;
    for (size_t i = 0; day != NULL && i < day->count; i++)
        free(day->rows[i]);
    if (day != NULL) {
        free(day->rows);
        free(day->drawn.arrivals);
    }
    free(day);
}

static enum raw_status fill(struct trace_reader *reader, struct error *error)
{
    struct day *day = reader->state;
    if (day->minute == MINUTES_A_DAY)
        return RAW_END;
    for (size_t i = 0; i < day->count; i++) {
        const struct count_row *row = day->rows[i];
        if (!trace_draw(reader, &day->drawn, day->minute, (uint32_t)i, row->stream,
                        row->counts[day->minute], error))
            return RAW_FAULT;
    }
    day->minute++;
    return trace_drawn(reader, &day->drawn, day->minute);
}

static enum raw_status next_azure_2019(struct trace_reader *reader, struct raw_record *raw,
                                       struct error *error)
{
    struct day *day = reader->state;
    const struct drawn_arrival *next = NULL;
    const enum raw_status status = trace_next_drawn(reader, &day->drawn, fill, &next, error);
    if (status != RAW_READ)
        return status;
    const struct count_row *row = day->rows[next->row];
    raw->time = next->time;
    raw->label = reader->sources.names[row->label];
    raw->selected = row->selected;
    return RAW_READ;
}

const struct trace_layout trace_layout_azure_2019 = {
    .header = "HashOwner,HashApp,HashFunction,Trigger,1,...,1440",
    .recognises = is_header,
    .bin = 60 * SIM_S,
    .whole = true,
    .open = open_azure_2019,
    .next = next_azure_2019,
    .close = close_azure_2019};
