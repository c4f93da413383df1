/* Azure Functions 2021: one line per invocation, sorted by end. A reorder window sorts the starts.
 */
#include "traces/readers/trace_layout.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/array.h"

enum { FIELDS = 4, WINDOW_ROWS = 1 << 20 };

static const sim_time_t window_time = 24 * SIM_HOUR;

/* A row in the reorder window. */
struct waiting_row {
    sim_time_t time;
    uint32_t order; /* position in the file, for rows with equal time */
    uint32_t label;
    uint32_t selected;
};

struct waiting {
    struct waiting_row *heap;
    size_t count, capacity;
    uint32_t order;
    sim_time_t newest_end;
    bool ended;
    /* A func is unique within its app only: the app that had it first. */
    struct string_index apps, functions;
    int32_t *owners; /* by function */
    size_t owned;
};

static bool open_azure_2021(struct trace_reader *reader, char *header, struct error *error)
{
    (void)header;
    reader->state = calloc(1, sizeof(struct waiting));
    return reader->state != NULL || trace_no_memory(reader, error);
}

static void close_azure_2021(struct trace_reader *reader)
{
    struct waiting *waiting = reader->state;
    if (waiting != NULL) {
        string_index_clear(&waiting->apps);
        string_index_clear(&waiting->functions);
        free(waiting->owners);
        free(waiting->heap);
    }
    free(waiting);
}

static bool row_before(const struct waiting_row *a, const struct waiting_row *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static bool heap_push(const struct trace_reader *reader, struct waiting_row row,
                      struct error *error)
{
    struct waiting *waiting = reader->state;
    if (!array_reserve(&waiting->heap, &waiting->capacity, waiting->count + 1, sizeof row))
        return trace_no_memory(reader, error);
    size_t at = waiting->count++;
    for (; at > 0 && row_before(&row, &waiting->heap[(at - 1) / 2]); at = (at - 1) / 2)
        waiting->heap[at] = waiting->heap[(at - 1) / 2];
    waiting->heap[at] = row;
    return true;
}

static struct waiting_row heap_pop(struct waiting *waiting)
{
    struct waiting_row *heap = waiting->heap;
    struct waiting_row top = heap[0];
    struct waiting_row moved = heap[--waiting->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= waiting->count)
            break;
        if (child + 1 < waiting->count && row_before(&heap[child + 1], &heap[child]))
            child++;
        if (!row_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return top;
}

/* The source of a row: its func, or "app/func" where another app had that func before. */
static bool find_source(struct trace_reader *reader, const char *app, const char *func,
                        struct waiting_row *row, struct error *error)
{
    struct waiting *waiting = reader->state;
    char both[2 * 256 + 2];
    const int32_t a = string_index_add(&waiting->apps, app);
    const int32_t f = string_index_add(&waiting->functions, func);
    if (a < 0 || f < 0)
        return line_fault(&reader->lines, error, "more than %d functions; split the trace",
                          (int)STRING_INDEX_MOST);
    if ((size_t)f == waiting->owned) {
        if (!array_extend(&waiting->owners, waiting->owned, sizeof *waiting->owners))
            return trace_no_memory(reader, error);
        waiting->owners[waiting->owned++] = a;
    }
    (void)snprintf(both, sizeof both, "%s/%s", app, func);
    const bool first = waiting->owners[f] == a;
    const bool named = string_index_find(&reader->wanted, both) >= 0;
    if (!first && !named && string_index_find(&reader->wanted, func) >= 0)
        return line_fault(&reader->lines, error,
                          "func '%.60s' is of several apps; name the one wanted '%.130s'", func,
                          both);
    row->selected = trace_select(reader, named ? both : func, app);
    return trace_keep_label(reader, first ? func : both, &row->label, error);
}

static bool push_line(struct trace_reader *reader, char *line, struct error *error)
{
    struct waiting *waiting = reader->state;
    char *fields[FIELDS];
    sim_time_t end = 0, duration = 0;
    struct waiting_row row = {.order = waiting->order++};
    if (!trace_split(reader, line, fields, error) ||
        !trace_check_label(reader, fields[0], "app", error) ||
        !trace_check_label(reader, fields[1], "func", error) ||
        !trace_parse_time(reader, fields[2], "end_timestamp", SIM_S, &end, error) ||
        !trace_parse_time(reader, fields[3], "duration", SIM_S, &duration, error) ||
        !find_source(reader, fields[0], fields[1], &row, error))
        return false;
    row.time = end - duration;
    if (reader->has_origin && row.time < reader->last)
        return line_fault(&reader->lines, error,
                          "starts %.9g s before a row already read, outside the reorder "
                          "window (24 h or %d rows); sort the file by end_timestamp - duration",
                          sim_to_s(reader->last - row.time), (int)WINDOW_ROWS);
    if (end > waiting->newest_end)
        waiting->newest_end = end;
    return heap_push(reader, row, error);
}

static enum raw_status next_azure_2021(struct trace_reader *reader, struct raw_record *raw,
                                       struct error *error)
{
    struct waiting *waiting = reader->state;
    while (!waiting->ended && waiting->count < WINDOW_ROWS &&
           (waiting->count == 0 || waiting->heap[0].time > waiting->newest_end - window_time)) {
        char *line = NULL;
        enum raw_status status = trace_next_line(reader, &line, error);
        if (status == RAW_FAULT)
            return RAW_FAULT;
        if (status == RAW_END)
            waiting->ended = true;
        else if (!push_line(reader, line, error))
            return RAW_FAULT;
    }
    if (waiting->count == 0)
        return RAW_END;
    struct waiting_row row = heap_pop(waiting);
    raw->label = reader->sources.names[row.label];
    raw->selected = row.selected;
    return trace_order(reader, row.time, &raw->time, error) ? RAW_READ : RAW_FAULT;
}

const struct trace_layout trace_layout_azure_2021 = {.header = "app,func,end_timestamp,duration",
                                                     .fields = FIELDS,
                                                     .open = open_azure_2021,
                                                     .next = next_azure_2021,
                                                     .close = close_azure_2021};
