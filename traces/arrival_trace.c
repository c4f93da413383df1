#include "traces/arrival_trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/random.h"
#include "traces/labels.h"
#include "traces/line_reader.h"

enum {
    MINUTES_A_DAY = 1440,
    MOST_IN_COUNT = 1000000, /* one count of the file */
    MOST_IN_BIN = 10000000,  /* all sources together */
    WINDOW_ROWS = 1 << 20
};

static const sim_time_t window_time = 24 * SIM_HOUR;
/* Largest stamp, some 31 years: scaled or summed, it stays clear of the clock's end. */
static const double most_seconds = 1e9;

enum trace_kind {
    KIND_ESGSIM,
    KIND_AZURE_LLM,
    KIND_AZURE_2019,
    KIND_AZURE_2021,
    KIND_PER_SECOND,
    KIND_PER_MINUTE
};

const char *const trace_formats[] = {"esgsim",     "azure-llm",         "azure-2019",
                                     "azure-2021", "counts-per-second", "counts-per-minute",
                                     NULL};

enum { FORMAT_COUNT = 6 };

static const char *const headers[FORMAT_COUNT] = {
    "time_ms,application[,slo_ms]",
    "TIMESTAMP,ContextTokens,GeneratedTokens",
    "HashOwner,HashApp,HashFunction,Trigger,1,...,1440",
    "app,func,end_timestamp,duration",
    "second,requests",
    "minute,requests",
};

/* Where a source goes: an index into the view's labels, or one of these. */
static const uint32_t drop_source = UINT32_MAX - 1;

/* A row of azure-2021 waiting for its turn. */
struct waiting_row {
    sim_time_t time;
    uint32_t order; /* of rows with one time: as in the file */
    uint32_t label;
    uint32_t selected;
};

/* An arrival drawn within the current bin. */
struct drawn_arrival {
    sim_time_t time;
    uint32_t row;
};

/* Counts per minute of one kept source of azure-2019. */
struct count_row {
    uint32_t selected;
    uint32_t label;
    uint32_t stream;
    uint32_t counts[MINUTES_A_DAY];
};

struct trace_reader {
    char *path;
    enum trace_kind kind;
    uint64_t seed;
    struct trace_view view;
    struct labels wanted;  /* the view's labels */
    struct labels sources; /* labels met, where records outlive their line */
    struct line_reader lines;
    sim_time_t start, end; /* of the view */
    double scale;
    char *pending; /* a first line that was no header */
    uint64_t record_lines;
    bool has_slo;
    sim_time_t origin, last;
    bool has_origin;
    bool ended;

    struct waiting_row *heap;
    size_t heap_count, heap_capacity;
    uint32_t heap_order;
    sim_time_t newest_end;

    struct drawn_arrival *drawn;
    size_t drawn_count, drawn_capacity, drawn_next;
    uint64_t bin, first_bin;
    struct count_row **rows;
    size_t row_count;
};

/* A record before the view's window and scale. */
struct raw_record {
    sim_time_t time;
    const char *label; /* its own, for the tally */
    uint32_t selected;
    sim_time_t slo;
};

enum raw_status { RAW_READ, RAW_END, RAW_FAULT };

const char *trace_format(const struct trace_reader *reader)
{
    return trace_formats[reader->kind];
}

static bool out_of_memory(const struct trace_reader *reader, struct error *error)
{
    return error_run(error, "%s: out of memory", reader->path);
}

/* ---- fields ---- */

/* Cuts at commas, in place; a number above `most` where there are more fields. */
static size_t split_fields(char *line, char **fields, size_t most)
{
    size_t count = 0;
    for (char *field = line; field != NULL; count++) {
        char *comma = strchr(field, ',');
        if (comma != NULL)
            *comma = '\0';
        if (count == most)
            return most + 1;
        fields[count] = field;
        field = comma == NULL ? NULL : comma + 1;
    }
    return count;
}

static bool split_exactly(struct trace_reader *reader, char *line, char **fields, size_t wanted,
                          struct error *error)
{
    size_t count = split_fields(line, fields, wanted);
    if (count == wanted)
        return true;
    return line_fault(&reader->lines, error, "has %s%zu field%s, not %zu (%s)",
                      count > wanted ? "at least " : "", count, count == 1 ? "" : "s", wanted,
                      headers[reader->kind]);
}

/* Digits with at most one point, exactly, rounded to the nanosecond. `unit`: ns in 1. */
static bool parse_plain_time(const char *text, sim_time_t unit, sim_time_t *time)
{
    const sim_time_t most = (sim_time_t)most_seconds * SIM_S;
    sim_time_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (*c - '0');
        if (value > most / unit)
            return false;
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

/* A number 0 .. 10^9 s, in units of `unit` ns; `what` names the field in the fault. */
static bool parse_time(const struct trace_reader *reader, const char *text, const char *what,
                       sim_time_t unit, sim_time_t *time, struct error *error)
{
    if (parse_plain_time(text, unit, time))
        return true;
    const double most = most_seconds * ((double)SIM_S / (double)unit);
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

static bool parse_count(const struct trace_reader *reader, const char *text, const char *what,
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

static bool check_label(const struct trace_reader *reader, const char *label, const char *what,
                        struct error *error)
{
    if (*label == '\0')
        return line_fault(&reader->lines, error, "%s is missing", what);
    if (strlen(label) > 256)
        return line_fault(&reader->lines, error, "%s is longer than 256 bytes", what);
    if (strchr(label, '"') != NULL)
        return line_fault(&reader->lines, error, "%s is quoted; write it without quotes", what);
    return true;
}

/* Exactly `count` digits at *text, which moves on, then one of `ends` (its NUL included). */
static bool parse_digits(const char **text, int count, const char *ends, int *value)
{
    *value = 0;
    for (int i = 0; i < count; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        *value = *value * 10 + (**text - '0');
    }
    if (strchr(ends, **text) == NULL)
        return false;
    if (**text != '\0')
        (*text)++;
    return true;
}

/* Nanoseconds of "03.9799600", "03", either followed by nothing, Z or +00:00. */
static bool parse_seconds(const char *text, sim_time_t *time)
{
    int seconds = 0;
    if (!parse_digits(&text, 2, ".Z+", &seconds) || seconds > 59)
        return false;
    *time = seconds * SIM_S;
    if (text[-1] == '.') {
        sim_time_t place = SIM_S;
        if (*text < '0' || *text > '9')
            return false;
        for (; *text >= '0' && *text <= '9'; text++) {
            if (place == 1)
                return false;
            place /= 10;
            *time += (*text - '0') * place;
        }
    } else if (text[-1] == 'Z' || text[-1] == '+') {
        text--;
    }
    return *text == '\0' || strcmp(text, "Z") == 0 || strcmp(text, "+00:00") == 0;
}

/* "2023-11-16 18:17:03.9799600" in UTC to nanoseconds since 1970. */
static bool parse_stamp(const char *text, sim_time_t *time)
{
    int year = 0, month = 0, day = 0, hour = 0, minute = 0;
    sim_time_t seconds = 0;
    if (!parse_digits(&text, 4, "-", &year) || !parse_digits(&text, 2, "-", &month) ||
        !parse_digits(&text, 2, " T", &day) || !parse_digits(&text, 2, ":", &hour) ||
        !parse_digits(&text, 2, ":", &minute) || !parse_seconds(text, &seconds))
        return false;
    if (year < 1970 || year > 2099 || hour > 23 || minute > 59)
        return false;
    struct tm calendar = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    time_t midnight = timegm(&calendar);
    /* timegm moves 31 February into March instead of refusing it. */
    if (calendar.tm_mday != day || calendar.tm_mon != month - 1)
        return false;
    *time = ((sim_time_t)midnight + hour * 3600 + minute * 60) * SIM_S + seconds;
    return true;
}

/* ---- sources ---- */

/* Where a row goes that carries `name` and, where not NULL, the wider label `group`. */
static uint32_t select_source(const struct trace_reader *reader, const char *name,
                              const char *group)
{
    int32_t found = labels_find(&reader->wanted, name);
    if (found == LABELS_NONE && group != NULL)
        found = labels_find(&reader->wanted, group);
    if (found != LABELS_NONE)
        return (uint32_t)found;
    return reader->view.others == TRACE_OTHERS_DROP ? drop_source : TRACE_UNSELECTED;
}

static const char *shown_label(const struct trace_reader *reader, const char *own,
                               uint32_t selected)
{
    if (selected < reader->wanted.count)
        return reader->wanted.names[selected];
    return reader->view.others == TRACE_OTHERS_MERGE ? "" : own;
}

static bool keep_label(struct trace_reader *reader, const char *name, uint32_t *number,
                       struct error *error)
{
    int32_t added = labels_add(&reader->sources, name);
    if (added == LABELS_NONE)
        return line_fault(&reader->lines, error, "more than %d different sources; split the trace",
                          (int)LABELS_MOST);
    *number = (uint32_t)added;
    return true;
}

/* ---- lines ---- */

static enum raw_status next_line(struct trace_reader *reader, char **line, struct error *error)
{
    if (reader->pending != NULL) {
        *line = reader->pending;
        reader->pending = NULL;
        reader->record_lines++;
        return RAW_READ;
    }
    switch (line_reader_next(&reader->lines, line, error)) {
    case LINE_READ:
        reader->record_lines++;
        return RAW_READ;
    case LINE_END:
        if (reader->record_lines > 0)
            return RAW_END;
        (void)line_fault(&reader->lines, error, "nothing follows the header; the trace is empty");
        return RAW_FAULT;
    case LINE_FAULT:
        break;
    }
    return RAW_FAULT;
}

/* Makes a stamp relative to the first, and refuses one that lies before the last. */
static bool order_stamp(struct trace_reader *reader, sim_time_t stamp, sim_time_t *time,
                        struct error *error)
{
    if (!reader->has_origin) {
        reader->origin = stamp;
        reader->last = stamp;
        reader->has_origin = true;
    }
    if (stamp < reader->last)
        return line_fault(&reader->lines, error, "time goes back by %.9g s; sort the file by time",
                          sim_to_s(reader->last - stamp));
    reader->last = stamp;
    *time = stamp - reader->origin;
    return true;
}

static bool parse_esgsim(struct trace_reader *reader, char *line, struct raw_record *raw,
                         struct error *error)
{
    char *fields[3];
    sim_time_t stamp = 0;
    if (!split_exactly(reader, line, fields, reader->has_slo ? 3 : 2, error) ||
        !parse_time(reader, fields[0], "time_ms", SIM_MS, &stamp, error) ||
        !check_label(reader, fields[1], "application", error))
        return false;
    raw->slo = 0;
    if (reader->has_slo && *fields[2] != '\0') {
        if (!parse_time(reader, fields[2], "slo_ms", SIM_MS, &raw->slo, error))
            return false;
        if (raw->slo == 0)
            return line_fault(&reader->lines, error,
                              "slo_ms is 0; give a positive time or leave the field empty");
    }
    raw->label = fields[1];
    raw->selected = select_source(reader, fields[1], NULL);
    return order_stamp(reader, stamp, &raw->time, error);
}

static bool parse_azure_llm(struct trace_reader *reader, char *line, struct raw_record *raw,
                            struct error *error)
{
    char *fields[3];
    sim_time_t stamp = 0;
    uint64_t tokens = 0;
    if (!split_exactly(reader, line, fields, 3, error))
        return false;
    if (!parse_stamp(fields[0], &stamp))
        return line_fault(&reader->lines, error,
                          "TIMESTAMP '%.40s' is not of the form 2023-11-16 18:17:03.9799600",
                          fields[0]);
    if (!parse_count(reader, fields[1], "ContextTokens", UINT32_MAX, &tokens, error) ||
        !parse_count(reader, fields[2], "GeneratedTokens", UINT32_MAX, &tokens, error))
        return false;
    raw->label = "";
    raw->selected = select_source(reader, "", NULL);
    raw->slo = 0;
    return order_stamp(reader, stamp, &raw->time, error);
}

static enum raw_status next_stamp(struct trace_reader *reader, struct raw_record *raw,
                                  struct error *error)
{
    char *line = NULL;
    enum raw_status status = next_line(reader, &line, error);
    if (status != RAW_READ)
        return status;
    bool good = reader->kind == KIND_ESGSIM ? parse_esgsim(reader, line, raw, error)
                                            : parse_azure_llm(reader, line, raw, error);
    return good ? RAW_READ : RAW_FAULT;
}

/* ---- azure-2021: a reorder window ---- */

static bool row_before(const struct waiting_row *a, const struct waiting_row *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static bool heap_push(struct trace_reader *reader, struct waiting_row row, struct error *error)
{
    if (reader->heap_count == reader->heap_capacity) {
        size_t capacity = reader->heap_capacity == 0 ? 1024 : 2 * reader->heap_capacity;
        struct waiting_row *heap = realloc(reader->heap, capacity * sizeof *heap);
        if (heap == NULL)
            return out_of_memory(reader, error);
        reader->heap = heap;
        reader->heap_capacity = capacity;
    }
    size_t at = reader->heap_count++;
    for (; at > 0 && row_before(&row, &reader->heap[(at - 1) / 2]); at = (at - 1) / 2)
        reader->heap[at] = reader->heap[(at - 1) / 2];
    reader->heap[at] = row;
    return true;
}

static struct waiting_row heap_pop(struct trace_reader *reader)
{
    struct waiting_row *heap = reader->heap;
    struct waiting_row top = heap[0];
    struct waiting_row moved = heap[--reader->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= reader->heap_count)
            break;
        if (child + 1 < reader->heap_count && row_before(&heap[child + 1], &heap[child]))
            child++;
        if (!row_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return top;
}

static bool push_azure_2021(struct trace_reader *reader, char *line, struct error *error)
{
    char *fields[4];
    sim_time_t end = 0, duration = 0;
    struct waiting_row row = {.order = reader->heap_order++};
    if (!split_exactly(reader, line, fields, 4, error) ||
        !check_label(reader, fields[0], "app", error) ||
        !check_label(reader, fields[1], "func", error) ||
        !parse_time(reader, fields[2], "end_timestamp", SIM_S, &end, error) ||
        !parse_time(reader, fields[3], "duration", SIM_S, &duration, error) ||
        !keep_label(reader, fields[1], &row.label, error))
        return false;
    row.time = end - duration;
    row.selected = select_source(reader, fields[1], fields[0]);
    if (reader->has_origin && row.time < reader->last)
        return line_fault(&reader->lines, error,
                          "starts %.9g s before a row already passed on, outside the reorder "
                          "window (24 h or %d rows); sort the file by end_timestamp - duration",
                          sim_to_s(reader->last - row.time), (int)WINDOW_ROWS);
    if (end > reader->newest_end)
        reader->newest_end = end;
    return heap_push(reader, row, error);
}

static enum raw_status next_azure_2021(struct trace_reader *reader, struct raw_record *raw,
                                       struct error *error)
{
    while (!reader->ended && reader->heap_count < WINDOW_ROWS &&
           (reader->heap_count == 0 || reader->heap[0].time > reader->newest_end - window_time)) {
        char *line = NULL;
        enum raw_status status = next_line(reader, &line, error);
        if (status == RAW_FAULT)
            return RAW_FAULT;
        if (status == RAW_END)
            reader->ended = true;
        else if (!push_azure_2021(reader, line, error))
            return RAW_FAULT;
    }
    if (reader->heap_count == 0)
        return RAW_END;
    struct waiting_row row = heap_pop(reader);
    raw->label = reader->sources.names[row.label];
    raw->selected = row.selected;
    raw->slo = 0;
    return order_stamp(reader, row.time, &raw->time, error) ? RAW_READ : RAW_FAULT;
}

/* ---- counts: bins ---- */

static sim_time_t bin_width(const struct trace_reader *reader)
{
    return reader->kind == KIND_PER_SECOND ? SIM_S : 60 * SIM_S;
}

static int compare_drawn(const void *a, const void *b)
{
    const struct drawn_arrival *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

/* Adds `count` arrivals of a source to the bin being drawn. */
static bool draw_bin(struct trace_reader *reader, uint64_t bin, uint32_t row, uint32_t stream,
                     uint64_t count, struct error *error)
{
    if (reader->drawn_count + count > MOST_IN_BIN)
        return error_input(error, "%s: bin %llu holds more than %d requests; use a finer trace",
                           reader->path, (unsigned long long)bin, (int)MOST_IN_BIN);
    if (reader->drawn_count + count > reader->drawn_capacity) {
        size_t capacity = 2 * (reader->drawn_count + (size_t)count);
        struct drawn_arrival *drawn = realloc(reader->drawn, capacity * sizeof *drawn);
        if (drawn == NULL)
            return out_of_memory(reader, error);
        reader->drawn = drawn;
        reader->drawn_capacity = capacity;
    }
    struct random_stream random;
    const sim_time_t width = bin_width(reader);
    random_stream_open(&random, reader->seed, RANDOM_TRACE_BIN, bin, stream);
    for (uint64_t i = 0; i < count; i++) {
        double place = gsl_rng_uniform(&random.rng) * (double)width;
        reader->drawn[reader->drawn_count++] =
            (struct drawn_arrival){.time = (sim_time_t)bin * width + (sim_time_t)place, .row = row};
    }
    return true;
}

/* A bin that ends before the view begins is not worth drawing. */
static bool bin_is_seen(const struct trace_reader *reader, uint64_t bin)
{
    return (sim_time_t)(bin + 1) * bin_width(reader) > reader->start;
}

/* Reads the bin's number and count of one line; bare integers count on from the last. */
static bool parse_bin(struct trace_reader *reader, char *line, uint64_t *count, struct error *error)
{
    const uint64_t most = (uint64_t)most_seconds / (uint64_t)(bin_width(reader) / SIM_S);
    const char *what = reader->kind == KIND_PER_SECOND ? "second" : "minute";
    char *fields[2];
    bool bare = reader->lines.words;
    uint64_t number = reader->has_origin ? reader->first_bin + reader->bin + 1 : 0;
    if (!split_exactly(reader, line, fields, bare ? 1 : 2, error) ||
        (!bare && !parse_count(reader, fields[0], what, UINT64_MAX / 16, &number, error)) ||
        !parse_count(reader, fields[bare ? 0 : 1], "requests", MOST_IN_COUNT, count, error))
        return false;
    if (!reader->has_origin) {
        reader->first_bin = number;
        reader->has_origin = true;
    } else if (number <= reader->first_bin + reader->bin) {
        return line_fault(&reader->lines, error, "%s %llu does not come after %llu; sort the file",
                          what, (unsigned long long)number,
                          (unsigned long long)reader->first_bin + reader->bin);
    }
    reader->bin = number - reader->first_bin;
    if (reader->bin > most)
        return line_fault(&reader->lines, error, "%s %llu is more than %llu after the first", what,
                          (unsigned long long)number, (unsigned long long)most);
    return true;
}

static enum raw_status fill_from_line(struct trace_reader *reader, struct error *error)
{
    char *line = NULL;
    uint64_t count = 0;
    enum raw_status status = next_line(reader, &line, error);
    if (status != RAW_READ)
        return status;
    if (!parse_bin(reader, line, &count, error))
        return RAW_FAULT;
    if (bin_is_seen(reader, reader->bin) && !draw_bin(reader, reader->bin, 0, 0, count, error))
        return RAW_FAULT;
    return RAW_READ;
}

static enum raw_status fill_from_rows(struct trace_reader *reader, struct error *error)
{
    if (reader->bin == MINUTES_A_DAY)
        return RAW_END;
    for (size_t i = 0; i < reader->row_count && bin_is_seen(reader, reader->bin); i++) {
        const struct count_row *row = reader->rows[i];
        if (!draw_bin(reader, reader->bin, (uint32_t)i, row->stream, row->counts[reader->bin],
                      error))
            return RAW_FAULT;
    }
    reader->bin++;
    return RAW_READ;
}

static enum raw_status next_count(struct trace_reader *reader, struct raw_record *raw,
                                  struct error *error)
{
    while (reader->drawn_next == reader->drawn_count) {
        reader->drawn_next = 0;
        reader->drawn_count = 0;
        enum raw_status status = reader->kind == KIND_AZURE_2019 ? fill_from_rows(reader, error)
                                                                 : fill_from_line(reader, error);
        if (status != RAW_READ)
            return status;
        if (reader->drawn_count > 1)
            qsort(reader->drawn, reader->drawn_count, sizeof *reader->drawn, compare_drawn);
        if (reader->end != SIM_FOREVER &&
            (sim_time_t)reader->bin * bin_width(reader) > reader->end + bin_width(reader))
            return RAW_END;
    }
    const struct drawn_arrival *next = &reader->drawn[reader->drawn_next++];
    raw->time = next->time;
    raw->slo = 0;
    raw->label = "";
    raw->selected = TRACE_UNSELECTED;
    if (reader->kind == KIND_AZURE_2019) {
        const struct count_row *row = reader->rows[next->row];
        raw->selected = row->selected;
        raw->label = reader->sources.names[row->label];
    } else {
        raw->selected = select_source(reader, "", NULL);
    }
    return RAW_READ;
}

/* The row that collects the counts of a label; made where it is new. */
static struct count_row *row_of_source(struct trace_reader *reader, const char *label,
                                       uint32_t selected, uint32_t file_row, struct error *error)
{
    uint32_t number = 0;
    if (!keep_label(reader, label, &number, error))
        return NULL;
    if (number < reader->row_count)
        return reader->rows[number];
    if (reader->row_count == TRACE_MOST_ROWS) {
        (void)line_fault(&reader->lines, error,
                         "more than %d functions to keep apart; name the ones wanted or merge them",
                         (int)TRACE_MOST_ROWS);
        return NULL;
    }
    struct count_row **rows = realloc(reader->rows, (reader->row_count + 1) * sizeof(void *));
    struct count_row *row = calloc(1, sizeof *row);
    if (rows != NULL)
        reader->rows = rows;
    if (rows == NULL || row == NULL) {
        free(row);
        (void)out_of_memory(reader, error);
        return NULL;
    }
    row->label = number;
    row->selected = selected;
    row->stream = *label == '\0' ? TRACE_MERGED_STREAM : file_row;
    rows[reader->row_count++] = row;
    return row;
}

/* The 1,440 counts behind the four labels, added up where the row is kept. */
static bool add_counts(struct trace_reader *reader, char *text, struct count_row *row,
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
        if (!parse_count(reader, field, "a count", MOST_IN_COUNT, &count, error))
            return false;
        *total += count;
        if (row != NULL && row->counts[minute] + count > MOST_IN_BIN)
            return line_fault(&reader->lines, error, "minute %d holds more than %d requests",
                              minute + 1, (int)MOST_IN_BIN);
        if (row != NULL)
            row->counts[minute] += (uint32_t)count;
        field = comma == NULL ? NULL : comma + 1;
    }
    return true;
}

static bool add_azure_2019(struct trace_reader *reader, char *line, uint32_t file_row,
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
        if (!check_label(reader, labels[i], "a label", error))
            return false;
    }
    uint32_t selected = select_source(reader, labels[2], labels[1]);
    struct count_row *row = NULL;
    uint64_t total = 0;
    if (selected != drop_source) {
        row = row_of_source(reader, shown_label(reader, labels[2], selected), selected, file_row,
                            error);
        if (row == NULL)
            return false;
    }
    if (!add_counts(reader, rest, row, &total, error))
        return false;
    if (reader->view.tally != NULL && row != NULL)
        reader->view.tally(reader->view.context, labels[2], total);
    return true;
}

static bool load_azure_2019(struct trace_reader *reader, struct error *error)
{
    for (uint32_t row = 0; row < TRACE_MERGED_STREAM; row++) {
        char *line = NULL;
        enum raw_status status = next_line(reader, &line, error);
        if (status == RAW_END)
            return true;
        if (status == RAW_FAULT || !add_azure_2019(reader, line, row, error))
            return false;
    }
    return line_fault(&reader->lines, error, "has more rows than any day of that trace");
}

/* ---- opening ---- */

static bool is_azure_2019_header(const char *line)
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

/* FORMAT_COUNT where the line is no known header. */
static int format_of_header(const char *line)
{
    if (strcmp(line, "time_ms,application") == 0 || strcmp(line, "time_ms,application,slo_ms") == 0)
        return KIND_ESGSIM;
    if (is_azure_2019_header(line))
        return KIND_AZURE_2019;
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(line, headers[i]) == 0)
            return i;
    return FORMAT_COUNT;
}

static bool find_format(const struct trace_reader *reader, const char *name, int *format,
                        struct error *error)
{
    *format = FORMAT_COUNT;
    if (name == NULL)
        return true;
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(name, trace_formats[i]) == 0)
            *format = i;
    if (*format < FORMAT_COUNT)
        return true;
    const char *nearest = error_nearest_name(name, trace_formats, FORMAT_COUNT);
    return error_input(error,
                       "%s: trace format '%.40s' is unknown%s%s%s; formats: esgsim, azure-llm, "
                       "azure-2019, azure-2021, counts-per-second, counts-per-minute",
                       reader->path, name, nearest == NULL ? "" : " (did you mean ",
                       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?)");
}

static bool is_bare_count(const char *line)
{
    return *line != '\0' && strspn(line, "0123456789") == strlen(line);
}

static bool read_header(struct trace_reader *reader, const char *name, struct error *error)
{
    int format = FORMAT_COUNT;
    char *line = NULL;
    if (!find_format(reader, name, &format, error))
        return false;
    reader->lines.words = format == KIND_PER_SECOND || format == KIND_PER_MINUTE;
    enum line_status status = line_reader_next(&reader->lines, &line, error);
    if (status == LINE_FAULT)
        return false;
    if (status == LINE_END)
        return error_input(error, "%s:1: the file is empty; a trace begins with a header line",
                           reader->path);
    int found = format_of_header(line);
    if (reader->lines.words && is_bare_count(line)) {
        reader->kind = (enum trace_kind)format;
        reader->pending = line;
        return true;
    }
    reader->lines.words = false;
    if (found == FORMAT_COUNT && is_bare_count(line))
        return line_fault(&reader->lines, error,
                          "has no header; name the format: counts-per-second or counts-per-minute");
    if (found == FORMAT_COUNT && format == FORMAT_COUNT)
        return line_fault(&reader->lines, error,
                          "header '%.60s' is of no known trace format; one is '%s'", line,
                          headers[KIND_ESGSIM]);
    if (format != FORMAT_COUNT && found != format)
        return line_fault(&reader->lines, error, "header '%.60s' is not that of %s: '%s'", line,
                          trace_formats[format], headers[format]);
    reader->kind = (enum trace_kind)found;
    reader->has_slo = strcmp(line, "time_ms,application,slo_ms") == 0;
    return true;
}

static bool is_time(double value)
{
    return isfinite(value) && value >= 0 && value <= most_seconds;
}

static bool take_view(struct trace_reader *reader, const struct trace_view *view,
                      struct error *error)
{
    reader->scale = 1;
    reader->end = SIM_FOREVER;
    if (view == NULL)
        return true;
    reader->view = *view;
    if (!is_time(view->start_s) || !is_time(view->duration_s))
        return error_input(error, "%s: start and duration of a trace lie in 0..1e9 s",
                           reader->path);
    if (view->scale_rate != 0 && !(view->scale_rate >= 1e-6 && view->scale_rate <= 1e6))
        return error_input(error, "%s: the rate's scale %g is outside 1e-6..1e6", reader->path,
                           view->scale_rate);
    reader->start = sim_from_s(view->start_s);
    if (view->duration_s > 0)
        reader->end = reader->start + sim_from_s(view->duration_s);
    if (view->scale_rate != 0)
        reader->scale = view->scale_rate;
    for (size_t i = 0; i < view->label_count; i++)
        if (labels_add(&reader->wanted, view->labels[i]) != (int32_t)i)
            return error_input(error, "%s: source '%.60s' is asked for twice", reader->path,
                               view->labels[i]);
    return true;
}

struct trace_reader *trace_open_view(const char *path, const char *format, uint64_t seed,
                                     const struct trace_view *view, struct error *error)
{
    struct trace_reader *reader = calloc(1, sizeof *reader);
    if (reader != NULL)
        reader->path = strdup(path);
    if (reader == NULL || reader->path == NULL) {
        free(reader);
        (void)error_run(error, "%s: out of memory", path);
        return NULL;
    }
    reader->seed = seed;
    bool good = take_view(reader, view, error) &&
                line_reader_open(&reader->lines, reader->path, error) &&
                read_header(reader, format, error);
    if (good && reader->kind == KIND_AZURE_2019) {
        if (view == NULL)
            reader->view.others = TRACE_OTHERS_MERGE;
        good = load_azure_2019(reader, error);
    }
    if (!good) {
        trace_close(reader);
        return NULL;
    }
    return reader;
}

struct trace_reader *trace_open(const char *path, const char *format, uint64_t seed,
                                struct error *error)
{
    return trace_open_view(path, format, seed, NULL, error);
}

void trace_close(struct trace_reader *reader)
{
    if (reader == NULL)
        return;
    line_reader_close(&reader->lines);
    labels_clear(&reader->wanted);
    labels_clear(&reader->sources);
    for (size_t i = 0; i < reader->row_count; i++)
        free(reader->rows[i]);
    free(reader->rows);
    free(reader->heap);
    free(reader->drawn);
    free(reader->path);
    free(reader);
}

static enum raw_status next_raw(struct trace_reader *reader, struct raw_record *raw,
                                struct error *error)
{
    switch (reader->kind) {
    case KIND_ESGSIM:
    case KIND_AZURE_LLM:
        return next_stamp(reader, raw, error);
    case KIND_AZURE_2021:
        return next_azure_2021(reader, raw, error);
    case KIND_AZURE_2019:
    case KIND_PER_SECOND:
    case KIND_PER_MINUTE:
        break;
    }
    return next_count(reader, raw, error);
}

bool trace_next(struct trace_reader *reader, struct trace_record *record, struct error *error)
{
    struct raw_record raw = {0};
    do {
        if (next_raw(reader, &raw, error) != RAW_READ || raw.time >= reader->end)
            return false;
    } while (raw.time < reader->start || raw.selected == drop_source);
    if (reader->view.tally != NULL && reader->kind != KIND_AZURE_2019)
        reader->view.tally(reader->view.context, raw.label, 1);
    sim_time_t time = raw.time - reader->start;
    if (reader->scale != 1)
        time = (sim_time_t)llround((double)time / reader->scale);
    if (time > SIM_FOREVER)
        return error_input(error,
                           "%s: time runs out of the clock's range; scale_rate %g is too low",
                           reader->path, reader->scale);
    record->time = time;
    record->selected = raw.selected;
    record->source = shown_label(reader, raw.label, raw.selected);
    record->slo = raw.slo;
    return true;
}
