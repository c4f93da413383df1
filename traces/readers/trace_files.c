/* Several files as one trace. */
#include <string.h>

#include "traces/readers/trace_layout.h"

struct part {
    struct trace_reader *reader;
    struct trace_record head; /* its next record */
    bool has;
};

struct files {
    struct part *parts, *last; /* last: that of the record given last */
    size_t count, at;          /* at: the part that is read, of those end to end */
    sim_time_t offset;         /* where that part begins */
};

/* Reads the next record of a part. */
static bool advance(struct trace_reader *reader, struct part *part, struct error *error)
{
    struct error fault = {0};
    part->has = trace_next(part->reader, &part->head, &fault);
    if (fault.kind != ERROR_NONE && error != NULL)
        *error = fault;
    const char *notes = part->has ? NULL : trace_notes(part->reader);
    if (notes != NULL)
        trace_note(reader, "%s: %.*s", part->reader->path, (int)strlen(notes) - 1, notes);
    return fault.kind == ERROR_NONE;
}

static sim_time_t time_of(const struct trace_reader *reader, const struct part *part)
{
    const struct files *files = reader->state;
    return part->head.time + (reader->view.end_to_end ? files->offset : trace_zero(part->reader));
}

/* The part whose record is next; NULL: none. */
static struct part *choose(struct trace_reader *reader)
{
    struct files *files = reader->state;
    struct part *first = NULL;
    for (; reader->view.end_to_end && files->at < files->count; files->at++) {
        if (files->parts[files->at].has)
            return &files->parts[files->at];
        files->offset += files->parts[files->at].reader->length;
    }
    for (size_t i = 0; i < files->count && !reader->view.end_to_end; i++)
        if (files->parts[i].has &&
            (first == NULL || time_of(reader, &files->parts[i]) < time_of(reader, first)))
            first = &files->parts[i];
    return first;
}

static enum line_status next_of_files(struct trace_reader *reader, struct raw_record *raw,
                                      struct error *error)
{
    struct files *files = reader->state;
    if (files->last != NULL && !advance(reader, files->last, error))
        return LINE_FAULT;
    files->last = choose(reader);
    if (files->last == NULL)
        return LINE_END;
    *raw = (struct raw_record){.label = files->last->head.source,
                               .selected = files->last->head.selected,
                               .slo = files->last->head.slo};
    return trace_order(reader, time_of(reader, files->last), &raw->time, error) ? LINE_READ
                                                                                : LINE_FAULT;
}

static void close_files(struct trace_reader *reader)
{
    struct files *files = reader->state;
    for (size_t i = 0; i < files->count; i++)
        trace_close(files->parts[i].reader);
}

/* The parts count their sources. */
static const struct trace_layout layout_files = {
    .header = "", .whole = true, .next = next_of_files, .close = close_files};

bool trace_open_parts(struct trace_reader *reader, const char *format, struct error *error)
{
    struct files *files = arena_allocate(reader->memory, 1, sizeof *files);
    reader->layout = &layout_files;
    reader->state = files;
    files->parts =
        arena_allocate(reader->memory, reader->view.path_count + 1, sizeof *files->parts);
    struct trace_view view = reader->view;
    view.start_s = view.duration_s = view.scale_rate = 0;
    view.path_count = 0;
    for (size_t i = 0; i <= reader->view.path_count; i++, view.lines = NULL) {
        struct part *part = &files->parts[files->count];
        part->reader = trace_open_view(i == 0 ? reader->path : reader->view.paths[i - 1], format,
                                       reader->seed + i, &view, error);
        if (part->reader == NULL)
            return false;
        files->count++;
        if (!advance(reader, part, error))
            return false;
    }
    reader->format = files->parts[0].reader->format;
    reader->dated = files->parts[0].reader->dated;
    return true;
}
