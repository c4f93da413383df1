/* Any table, read by the names of its columns. */
#include "traces/readers/listing.h"
#include "traces/readers/trace_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/array.h"

const char *const trace_units[] = {"s", "ms", "us", "ns", "min", "h", "date", NULL};
static const sim_time_t units[] = {SIM_S, SIM_MS, SIM_US, 1, 60 * SIM_S, SIM_HOUR, 0};

sim_time_t trace_unit(const char *name)
{
    size_t i = 0;
    while (strcmp(trace_units[i], name) != 0)
        i++;
    return units[i];
}

/* What a column is for. */
enum role {
    ROLE_TIME,
    ROLE_APPLICATION,
    ROLE_SLO,
    ROLE_COUNT,
    ROLE_DURATION, /* before the time */
    ROLE_APP,      /* within which the application's name is unique */
    ROLES
};

struct sorted_row {
    sim_time_t time;
    sim_time_t slo;
    uint32_t order; /* position in the file, for rows with equal time */
    uint32_t label, selected;
    uint32_t requests;
};

struct columns {
    struct listing table;
    sim_time_t unit; /* ns; 0: dates */
    const char *names[ROLES];
    int places[ROLES];       /* -1: no such column */
    struct sorted_row *rows; /* with `sort` or counts: all records of the file; not in an arena,
                              * which sets what is not used yet to 0, and so takes its memory */
    size_t count, next, room;
    bool sort, sorted;
    sim_time_t bin; /* of counts */
    struct drawn_bin drawn;
    sim_time_t gap; /* of all records so far; 0: none yet; -1: they differ */
    /* The app that had a function first. */
    struct string_index apps, functions;
    int32_t *owners; /* by function */
    size_t owned;
    char label[2 * 256 + 2];
};

static bool has(const struct columns *columns, enum role role)
{
    return columns->places[role] >= 0 && *columns->table.fields[columns->places[role]] != '\0';
}

/* ---- The header ------------------------------------------------------------------------------ */

/* Whether a name is that word, or ends with it. */
static bool is_called(const char *name, const char *word)
{
    const size_t length = strlen(name), end = strlen(word);
    return length >= end && strcasecmp(name + length - end, word) == 0 &&
           (length == end || strchr("_ .", name[length - end - 1]) != NULL);
}

/* A line of such a column may stand for many requests. */
static void note_counts(struct trace_reader *reader)
{
    static const char *const words[] = {"count", "requests", "value", "total", NULL};
    struct columns *columns = reader->state;
    for (size_t i = 0; i < columns->table.count && columns->places[ROLE_COUNT] < 0; i++)
        for (size_t w = 0; words[w] != NULL; w++)
            if (is_called(columns->table.names[i], words[w])) {
                columns->gap = -1;
                trace_note(reader,
                           "each line is read as one request; if the column \"%s\" counts "
                           "requests, add count=%s to --columns",
                           columns->table.names[i], columns->table.names[i]);
                return;
            }
}

bool trace_columns_open(struct trace_reader *reader, char *header, struct error *error)
{
    const bool own = reader->layout->columns != NULL;
    const struct trace_columns *asked = own ? reader->layout->columns : reader->view.columns;
    struct columns *columns = arena_allocate(reader->memory, 1, sizeof *columns);
    reader->state = columns;
    *columns = (struct columns){.table = {.lines = &reader->lines, .options = asked->table},
                                .unit = trace_unit(asked->unit),
                                .names = {asked->time, asked->application, asked->slo_ms,
                                          asked->count, asked->duration, asked->app},
                                .sort = asked->sort || asked->count != NULL,
                                .bin = sim_from_s(asked->bin_s)};
    reader->dated = columns->unit == 0;
    if (!listing_open(&columns->table, header, error) ||
        (asked->table != NULL && !listing_check_rules(asked->table, error)))
        return false;
    for (size_t role = 0; role < ROLES; role++) {
        columns->places[role] = -1;
        if (columns->names[role] != NULL &&
            !(own && role == ROLE_SLO && listing_column(&columns->table, asked->slo_ms) < 0) &&
            !listing_place(&columns->table, columns->names[role], &columns->places[role], error))
            return false;
    }
    if (!own)
        note_counts(reader);
    return true;
}

void trace_columns_close(struct trace_reader *reader)
{
    struct columns *columns = reader->state;
    listing_close(&columns->table);
    string_index_clear(&columns->apps);
    string_index_clear(&columns->functions);
    free(columns->rows);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* A label is a field of the esgsim format, which has no quotes. */
static bool check_application(const struct trace_reader *reader, const char *label,
                              struct error *error)
{
    const struct columns *columns = reader->state;
    const char *name = columns->names[ROLE_APPLICATION];
    if (strpbrk(label, ",\"") != NULL)
        return line_fault(&reader->lines, error,
                          "%.60s '%.60s' contains a comma or a quote; rename it", name, label);
    return trace_check_label(reader, label, name, error);
}

/* The source of a function of an app: its name, or "app/name" where another app had it before. */
static bool find_source(struct trace_reader *reader, const char *app, struct raw_record *raw,
                        struct error *error)
{
    struct columns *columns = reader->state;
    const char *func = raw->label;
    if (!trace_check_label(reader, app, columns->names[ROLE_APP], error))
        return false;
    const int32_t a = string_index_add(&columns->apps, app);
    const int32_t f = string_index_add(&columns->functions, func);
    if (a < 0 || f < 0)
        return line_fault(&reader->lines, error, "more than %d functions; split the trace",
                          (int)STRING_INDEX_MOST);
    if ((size_t)f == columns->owned) {
        arena_reserve(reader->memory, &columns->owners, columns->owned + 1,
                      sizeof *columns->owners);
        columns->owners[columns->owned++] = a;
    }
    (void)snprintf(columns->label, sizeof columns->label, "%s/%s", app, func);
    const bool first = columns->owners[f] == a;
    const bool named = string_index_find(&reader->wanted, columns->label) >= 0;
    if (!first && !named && string_index_find(&reader->wanted, func) >= 0)
        return line_fault(&reader->lines, error,
                          "'%.60s' is of several apps; name the one wanted '%.130s'", func,
                          columns->label);
    raw->selected = trace_select(reader, named ? columns->label : func, app);
    raw->label = first ? func : columns->label;
    return true;
}

static bool parse_record(struct trace_reader *reader, struct raw_record *raw, uint64_t *count,
                         struct error *error)
{
    const struct columns *columns = reader->state;
    char *const *fields = columns->table.fields;
    const int *places = columns->places;
    if (!trace_parse_instant(reader, fields[places[ROLE_TIME]], columns->names[ROLE_TIME],
                             columns->unit, &raw->time, error))
        return false;
    if (places[ROLE_APPLICATION] >= 0) {
        raw->label = fields[places[ROLE_APPLICATION]];
        if (!check_application(reader, raw->label, error))
            return false;
    }
    if (has(columns, ROLE_SLO)) {
        if (!trace_parse_time(reader, fields[places[ROLE_SLO]], columns->names[ROLE_SLO], SIM_MS,
                              &raw->slo, error))
            return false;
        if (raw->slo == 0)
            return line_fault(&reader->lines, error,
                              "%.60s is 0; give a positive time or leave the field empty",
                              columns->names[ROLE_SLO]);
    }
    if (has(columns, ROLE_DURATION)) {
        sim_time_t before = 0;
        if (!trace_parse_time(reader, fields[places[ROLE_DURATION]], columns->names[ROLE_DURATION],
                              columns->unit, &before, error))
            return false;
        raw->time -= before;
    }
    raw->selected = trace_select(reader, raw->label, NULL);
    if (places[ROLE_APP] >= 0 && !find_source(reader, fields[places[ROLE_APP]], raw, error))
        return false;
    *count = places[ROLE_COUNT] < 0;
    return !has(columns, ROLE_COUNT) ||
           trace_parse_whole(reader, fields[places[ROLE_COUNT]], columns->names[ROLE_COUNT],
                             TRACE_MOST_IN_COUNT, count, error);
}

/* Reads the next line; its time is the stamp of the file. */
static enum line_status read_record(struct trace_reader *reader, struct raw_record *raw,
                                    uint64_t *count, struct error *error)
{
    struct columns *columns = reader->state;
    const enum line_status status = trace_next_row(reader, &columns->table, error);
    *raw = (struct raw_record){.label = ""};
    return status != LINE_READ || parse_record(reader, raw, count, error) ? status : LINE_FAULT;
}

/* ---- Sorting --------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct sorted_row *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

static bool keep_row(struct trace_reader *reader, const struct raw_record *raw, uint64_t count,
                     struct error *error)
{
    struct columns *columns = reader->state;
    if (columns->count == TRACE_MOST_SORTED)
        return line_fault(&reader->lines, error,
                          "is one more record than are sorted in memory, %d; sort the file",
                          (int)TRACE_MOST_SORTED);
    if (!array_reserve(&columns->rows, &columns->room, columns->count + 1, sizeof *columns->rows))
        return error_run(error, "%s: out of memory", reader->path);
    struct sorted_row *row = &columns->rows[columns->count];
    *row = (struct sorted_row){.time = raw->time,
                               .slo = raw->slo,
                               .order = (uint32_t)columns->count++,
                               .requests = (uint32_t)count,
                               .selected = raw->selected};
    return trace_keep_label(reader, raw->label, &row->label, error);
}

static int compare_times(const void *a, const void *b)
{
    const sim_time_t left = *(const sim_time_t *)a, right = *(const sim_time_t *)b;
    return (left > right) - (left < right);
}

/* The width of the bins: the median difference of the rows' times. */
static bool find_bin(struct trace_reader *reader, struct error *error)
{
    struct columns *columns = reader->state;
    size_t count = 0;
    sim_time_t *gaps = arena_allocate(reader->memory, columns->count, sizeof *gaps);
    for (size_t i = 1; i < columns->count; i++)
        if (columns->rows[i].time > columns->rows[i - 1].time)
            gaps[count++] = columns->rows[i].time - columns->rows[i - 1].time;
    if (count > 0) {
        qsort(gaps, count, sizeof *gaps, compare_times);
        columns->bin = gaps[count / 2];
    }
    arena_release(reader->memory, gaps);
    if (count == 0)
        return error_input(error, "%s: has one time only; give the width of its bin by --bin",
                           reader->path);
    trace_note(reader,
               "bins of %.9g s, the median difference of \"%s\"; arrivals are at uniform random "
               "times within them",
               sim_to_s(columns->bin), columns->names[ROLE_TIME]);
    return true;
}

static bool read_all(struct trace_reader *reader, struct error *error)
{
    struct columns *columns = reader->state;
    struct raw_record raw = {0};
    enum line_status status = LINE_READ;
    uint64_t count = 0;
    while ((status = read_record(reader, &raw, &count, error)) == LINE_READ) {
        const sim_time_t last = columns->count > 0 ? columns->rows[columns->count - 1].time : 0;
        if (raw.time < last && columns->places[ROLE_COUNT] >= 0 && !reader->view.columns->sort)
            return trace_goes_back(reader, last - raw.time, error);
        if (!keep_row(reader, &raw, count, error))
            return false;
    }
    if (columns->count > 1)
        qsort(columns->rows, columns->count, sizeof *columns->rows, compare_rows);
    columns->sorted = true;
    return status == LINE_END &&
           (columns->places[ROLE_COUNT] < 0 || columns->bin > 0 || find_bin(reader, error));
}

/* ---- Counts ---------------------------------------------------------------------------------- */

/* Draws the arrivals of all rows of the next time. */
static enum line_status fill_bin(struct trace_reader *reader, struct error *error)
{
    struct columns *columns = reader->state;
    const struct sorted_row *rows = columns->rows;
    const size_t first = columns->next;
    size_t end = first;
    if (first == columns->count)
        return LINE_END;
    while (end < columns->count && rows[end].time == rows[first].time)
        end++;
    const struct trace_bin bin = {
        .number = (uint64_t)((rows[first].time - rows[0].time) / columns->bin),
        .begin = rows[first].time - rows[0].time,
        .width = end < columns->count && rows[end].time - rows[first].time < columns->bin
                     ? rows[end].time - rows[first].time
                     : columns->bin};
    reader->origin = rows[0].time;
    for (; columns->next < end; columns->next++)
        if (!trace_draw(reader, &columns->drawn, &bin, (uint32_t)columns->next,
                        rows[columns->next].label, rows[columns->next].requests, error))
            return LINE_FAULT;
    return trace_drawn(reader, &columns->drawn, &bin);
}

static void take_row(const struct trace_reader *reader, const struct sorted_row *row,
                     struct raw_record *raw)
{
    *raw = (struct raw_record){.time = row->time,
                               .slo = row->slo,
                               .label = reader->sources.names[row->label],
                               .selected = row->selected};
}

/* Notes at the end that all records are equally far apart, as samples are. */
static void note_samples(struct trace_reader *reader)
{
    const struct columns *columns = reader->state;
    if (columns->gap > 0 && reader->layout->columns == NULL && columns->table.rows >= 3)
        trace_note(reader,
                   "all lines are %.9g s apart, as samples or counts are, and each is read as one "
                   "request; count=COLUMN reads counts",
                   sim_to_s(columns->gap));
}

enum line_status trace_columns_next(struct trace_reader *reader, struct raw_record *raw,
                                    struct error *error)
{
    struct columns *columns = reader->state;
    const bool counts = columns->places[ROLE_COUNT] >= 0;
    enum line_status status = LINE_READ;
    uint64_t count = 0;
    if (columns->sort && !columns->sorted && !read_all(reader, error))
        return LINE_FAULT;
    if (counts) {
        const struct drawn_arrival *next = NULL;
        status = trace_next_drawn(reader, &columns->drawn, fill_bin, &next, error);
        if (status == LINE_READ) {
            take_row(reader, &columns->rows[next->row], raw);
            raw->time = next->time;
        }
        return status;
    }
    if (!columns->sort)
        status = read_record(reader, raw, &count, error);
    else if (columns->next == columns->count)
        status = LINE_END;
    else
        take_row(reader, &columns->rows[columns->next++], raw);
    if (status == LINE_END)
        note_samples(reader);
    if (status != LINE_READ)
        return status;
    const sim_time_t gap = raw->time - reader->last;
    if (reader->has_origin)
        columns->gap = columns->gap == 0 || columns->gap == gap ? gap : -1;
    return trace_order(reader, raw->time, &raw->time, error) ? LINE_READ : LINE_FAULT;
}

const struct trace_layout trace_layout_columns = {.header = "a row of names", TRACE_BY_COLUMNS};

static const struct trace_columns columns_esgsim = {
    .time = "time_ms", .application = "application", .slo_ms = "slo_ms", .unit = "ms"};
static const char *const headers_esgsim[] = {"time_ms,application", "time_ms,application,slo_ms",
                                             NULL};
const struct trace_layout trace_layout_esgsim = {.header = "time_ms,application[,slo_ms]",
                                                 .headers = headers_esgsim,
                                                 .columns = &columns_esgsim,
                                                 TRACE_BY_COLUMNS};

static const struct trace_columns columns_azure_llm = {.time = "TIMESTAMP", .unit = "date"};
const struct trace_layout trace_layout_azure_llm = {.header =
                                                        "TIMESTAMP,ContextTokens,GeneratedTokens",
                                                    .columns = &columns_azure_llm,
                                                    TRACE_BY_COLUMNS};

/* One line per invocation, sorted by end: it arrived at its end less its duration. */
static const struct trace_columns columns_azure_2021 = {.time = "end_timestamp",
                                                        .application = "func",
                                                        .app = "app",
                                                        .duration = "duration",
                                                        .unit = "s",
                                                        .sort = true};
const struct trace_layout trace_layout_azure_2021 = {
    .header = "app,func,end_timestamp,duration", .columns = &columns_azure_2021, TRACE_BY_COLUMNS};

bool trace_columns_parse(char *list, struct trace_columns *columns, struct error *error)
{
    static const char *const roles[] = {"time", "application", "slo_ms", "count", NULL};
    const char *names[ROLES] = {NULL};
    const bool good = listing_take_roles(
        list, roles, 1, names,
        "time=COLUMN and, if the file has them, application=, slo_ms= and count=COLUMN", error);
    columns->time = names[ROLE_TIME];
    columns->application = names[ROLE_APPLICATION];
    columns->slo_ms = names[ROLE_SLO];
    columns->count = names[ROLE_COUNT];
    return good;
}
