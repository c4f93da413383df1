/* Arrivals at uniform random times within bins, and the layouts with one line per bin. */
#include "traces/readers/trace_layout.h"

#include <stdlib.h>

#include "sim/engine/random.h"

/* ---- Drawing --------------------------------------------------------------------------------- */

static int compare_drawn(const void *a, const void *b)
{
    const struct drawn_arrival *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

bool trace_draw(const struct trace_reader *reader, struct drawn_bin *drawn,
                const struct trace_bin *bin, uint32_t row, uint32_t stream, uint64_t count,
                struct error *error)
{
    if (bin->begin + bin->width <= reader->start)
        return true;
    if (drawn->count + count > TRACE_MOST_IN_BIN)
        return error_input(error, "%s: bin %llu holds more than %d requests; use a finer trace",
                           reader->path, (unsigned long long)bin->number, (int)TRACE_MOST_IN_BIN);
    arena_reserve(reader->memory, &drawn->arrivals, drawn->count + (size_t)count,
                  sizeof *drawn->arrivals);
    struct random_stream random;
    random_stream_open(&random, reader->seed, RANDOM_TRACE_BIN, bin->number, stream);
    for (uint64_t i = 0; i < count; i++) {
        const double place = gsl_rng_uniform(&random.rng) * (double)bin->width;
        drawn->arrivals[drawn->count++] =
            (struct drawn_arrival){.time = bin->begin + (sim_time_t)place, .row = row};
    }
    return true;
}

enum line_status trace_drawn(struct trace_reader *reader, struct drawn_bin *drawn,
                             const struct trace_bin *bin)
{
    reader->length = bin->begin + bin->width;
    if (drawn->count > 1)
        qsort(drawn->arrivals, drawn->count, sizeof *drawn->arrivals, compare_drawn);
    return reader->end != SIM_FOREVER && bin->begin > reader->end + bin->width ? LINE_END
                                                                               : LINE_READ;
}

enum line_status trace_next_drawn(struct trace_reader *reader, struct drawn_bin *drawn,
                                  enum line_status (*fill)(struct trace_reader *reader,
                                                           struct error *error),
                                  const struct drawn_arrival **next, struct error *error)
{
    while (drawn->next == drawn->count) {
        drawn->next = drawn->count = 0;
        const enum line_status status = fill(reader, error);
        if (status != LINE_READ)
            return status;
    }
    *next = &drawn->arrivals[drawn->next++];
    return LINE_READ;
}

/* ---- second,requests and minute,requests ----------------------------------------------------- */

enum { FIELDS = 2 };

struct counts {
    struct drawn_bin drawn;
    uint64_t bin;
    bool begun;
};

static bool open_counts(struct trace_reader *reader,
                        char *header, // NOLINT(readability-non-const-parameter): of a layout
                        struct error *error)
{
    reader->state = arena_allocate(reader->memory, 1, sizeof(struct counts));
    return true;
}

/* Reads the bin number and count of one line. Bare integers are numbered consecutively. */
static bool parse_bin(struct trace_reader *reader, char *line, uint64_t *count, struct error *error)
{
    struct counts *counts = reader->state;
    const uint64_t most = (uint64_t)TRACE_MOST_SECONDS / (uint64_t)(reader->layout->bin / SIM_S);
    const char *what = reader->layout->bin == SIM_S ? "second" : "minute";
    char *fields[FIELDS];
    const bool bare = reader->lines.words;
    uint64_t number = counts->begun ? reader->first_bin + counts->bin + 1 : 0;
    const ptrdiff_t cut = line_cut(line, ',', fields, FIELDS);
    if (cut != (bare ? 1 : FIELDS))
        return line_fault(&reader->lines, error, "is not of the form %s", reader->layout->header);
    if ((!bare && !trace_parse_count(reader, fields[0], what, UINT64_MAX / 16, &number, error)) ||
        !trace_parse_count(reader, fields[bare ? 0 : 1], "requests", TRACE_MOST_IN_COUNT, count,
                           error))
        return false;
    if (!counts->begun) {
        reader->first_bin = number;
        counts->begun = true;
    } else if (number <= reader->first_bin + counts->bin) {
        return line_fault(&reader->lines, error, "%s %llu does not come after %llu; sort the file",
                          what, (unsigned long long)number,
                          (unsigned long long)reader->first_bin + counts->bin);
    }
    counts->bin = number - reader->first_bin;
    if (counts->bin > most)
        return line_fault(&reader->lines, error, "%s %llu is more than %llu after the first", what,
                          (unsigned long long)number, (unsigned long long)most);
    return true;
}

static enum line_status fill(struct trace_reader *reader, struct error *error)
{
    struct counts *counts = reader->state;
    char *line = NULL;
    uint64_t count = 0;
    enum line_status status = trace_next_line(reader, &line, error);
    if (status != LINE_READ)
        return status;
    if (!parse_bin(reader, line, &count, error))
        return LINE_FAULT;
    const sim_time_t width = reader->layout->bin;
    const struct trace_bin bin = {counts->bin, (sim_time_t)counts->bin * width, width};
    return trace_draw(reader, &counts->drawn, &bin, 0, 0, count, error)
               ? trace_drawn(reader, &counts->drawn, &bin)
               : LINE_FAULT;
}

static enum line_status next_counts(struct trace_reader *reader, struct raw_record *raw,
                                    struct error *error)
{
    struct counts *counts = reader->state;
    const struct drawn_arrival *next = NULL;
    const enum line_status status = trace_next_drawn(reader, &counts->drawn, fill, &next, error);
    if (status != LINE_READ)
        return status;
    raw->time = next->time;
    raw->selected = trace_select(reader, "", NULL);
    return LINE_READ;
}

#define COUNTS(form, width)                                                                        \
    {                                                                                              \
        .header = form, .bin = width, .bare = true, .open = open_counts, .next = next_counts       \
    }
const struct trace_layout trace_layout_per_second = COUNTS("second,requests", SIM_S);
const struct trace_layout trace_layout_per_minute = COUNTS("minute,requests", 60 * SIM_S);
