/* Azure Functions 2019: one line per function, with its counts per minute, mostly of one day. */
#include "traces/readers/listing.h"
#include "traces/readers/trace_layout.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"

/* Counts of one selected source. */
struct count_row {
    uint32_t selected;
    uint32_t label;
    uint32_t stream;
    uint32_t counts[]; /* by minute */
};

struct day {
    struct listing table;
    int app, function; /* columns */
    int *places;       /* columns of the minutes */
    size_t minutes;
    struct count_row **rows;
    size_t count;
    uint64_t minute; /* next minute to draw */
    struct drawn_bin drawn;
};

/* Finds the columns: labels in any place, and minutes that are numbered without a gap from 1 on. */
static bool place_columns(struct day *day)
{
    struct listing *table = &day->table;
    day->app = listing_column(table, "HashApp");
    day->function = listing_column(table, "HashFunction");
    day->places = arena_allocate(table->memory, table->count + 1, sizeof *day->places);
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->names[i];
        const size_t length = strspn(name, "0123456789"), minute = strtoul(name, NULL, 10);
        if (length == 0 || name[length] != '\0')
            continue;
        if (minute < 1 || minute > table->count || day->places[minute - 1] > 0)
            return false;
        day->places[minute - 1] = (int)i + 1;
        day->minutes++;
    }
    bool whole = day->minutes > 0;
    for (size_t m = 0; whole && m < day->minutes; m++)
        whole = --day->places[m] >= 0;
    return whole && day->app >= 0 && day->function >= 0;
}

static bool is_header(const char *line)
{
    struct line_reader lines = {.path = ""};
    struct day day = {.table.lines = &lines};
    struct error fault = {0};
    const bool is = strstr(line, "HashFunction") != NULL && !listing_json_begins(line) &&
                    listing_open(&day.table, (char *)(uintptr_t)line, &fault) &&
                    place_columns(&day);
    listing_close(&day.table);
    return is;
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
    struct count_row *row =
        arena_allocate(day->table.memory, 1, sizeof *row + day->minutes * sizeof row->counts[0]);
    arena_reserve(day->table.memory, &day->rows, day->count + 1, sizeof row);
    row->label = number;
    row->selected = selected;
    row->stream = *label == '\0' ? TRACE_MERGED_STREAM : file_row;
    day->rows[day->count++] = row;
    return row;
}

/* Reads the counts. Adds them to `row` if it is not NULL. */
static bool add_counts(const struct trace_reader *reader, struct count_row *row, uint64_t *total,
                       struct error *error)
{
    const struct day *day = reader->state;
    for (size_t minute = 0; minute < day->minutes; minute++) {
        uint64_t count = 0;
        if (!trace_parse_whole(reader, day->table.fields[day->places[minute]], "a count",
                               TRACE_MOST_IN_COUNT, &count, error))
            return false;
        *total += count;
        if (row != NULL && row->counts[minute] + count > TRACE_MOST_IN_BIN)
            return line_fault(&reader->lines, error, "minute %zu holds more than %d requests",
                              minute + 1, (int)TRACE_MOST_IN_BIN);
        if (row != NULL)
            row->counts[minute] += (uint32_t)count;
    }
    return true;
}

static bool add_row(struct trace_reader *reader, uint32_t file_row, struct error *error)
{
    const struct day *day = reader->state;
    const char *app = day->table.fields[day->app], *function = day->table.fields[day->function];
    if (!trace_check_label(reader, app, "HashApp", error) ||
        !trace_check_label(reader, function, "HashFunction", error))
        return false;
    uint32_t selected = trace_select(reader, function, app);
    struct count_row *row = NULL;
    uint64_t total = 0;
    if (selected != TRACE_DROPPED) {
        row = row_of_source(reader, trace_shown_label(reader, function, selected), selected,
                            file_row, error);
        if (row == NULL)
            return false;
    }
    if (!add_counts(reader, row, &total, error))
        return false;
    if (reader->view.count != NULL && row != NULL)
        reader->view.count(reader->view.context, function, total);
    return true;
}

static bool open_azure_2019(struct trace_reader *reader, char *header, struct error *error)
{
    struct day *day = arena_allocate(reader->memory, 1, sizeof *day);
    reader->state = day;
    day->table.lines = &reader->lines;
    if (!listing_open(&day->table, header, error) || !place_columns(day))
        return false;
    if (!reader->has_view)
        reader->view.others = TRACE_OTHERS_MERGE;
    for (uint32_t row = 0; row < TRACE_MERGED_STREAM; row++) {
        const enum line_status status = trace_next_row(reader, &day->table, error);
        if (status == LINE_END)
            return true;
        if (status == LINE_FAULT || !add_row(reader, row, error))
            return false;
    }
    return line_fault(&reader->lines, error, "has more rows than any day of that trace");
}

static void close_azure_2019(struct trace_reader *reader)
{
    struct day *day = reader->state;
    listing_close(&day->table);
}

static enum line_status fill(struct trace_reader *reader, struct error *error)
{
    struct day *day = reader->state;
    const sim_time_t width = reader->layout->bin;
    const struct trace_bin bin = {day->minute, (sim_time_t)day->minute * width, width};
    if (day->minute == day->minutes)
        return LINE_END;
    for (size_t i = 0; i < day->count; i++) {
        const struct count_row *row = day->rows[i];
        if (!trace_draw(reader, &day->drawn, &bin, (uint32_t)i, row->stream,
                        row->counts[day->minute], error))
            return LINE_FAULT;
    }
    day->minute++;
    return trace_drawn(reader, &day->drawn, &bin);
}

static enum line_status next_azure_2019(struct trace_reader *reader, struct raw_record *raw,
                                        struct error *error)
{
    struct day *day = reader->state;
    const struct drawn_arrival *next = NULL;
    const enum line_status status = trace_next_drawn(reader, &day->drawn, fill, &next, error);
    if (status != LINE_READ)
        return status;
    const struct count_row *row = day->rows[next->row];
    raw->time = next->time;
    raw->label = reader->sources.names[row->label];
    raw->selected = row->selected;
    return LINE_READ;
}

const struct trace_layout trace_layout_azure_2019 = {
    .header = "HashOwner,HashApp,HashFunction,Trigger,1,2,...,N",
    .recognises = is_header,
    .bin = 60 * SIM_S,
    .whole = true,
    .open = open_azure_2019,
    .next = next_azure_2019,
    .close = close_azure_2019};
