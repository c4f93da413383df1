/* Any CSV with a header, read by the names of its columns. */
#include "traces/readers/trace_layout.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/array.h"

const char *const trace_units[] = {"s", "ms", "us", "ns", "min", "date", NULL};
static const sim_time_t units[] = {SIM_S, SIM_MS, SIM_US, 1, 60 * SIM_S, 0};

sim_time_t trace_unit(const char *name)
{
    size_t i = 0;
    while (strcmp(trace_units[i], name) != 0)
        i++;
    return units[i];
}

/* What a column is for. */
enum role { ROLE_TIME, ROLE_APPLICATION, ROLE_SLO, ROLES };

struct sorted_row {
    sim_time_t time;
    sim_time_t slo;
    uint32_t order; /* position in the file, for rows with equal time */
    uint32_t label, selected;
};

struct columns {
    sim_time_t unit; /* ns; 0: dates */
    const char *names[ROLES];
    size_t places[ROLES]; /* index of the column in the header */
    char *header;
    struct sorted_row *rows; /* with `sort`: all records of the file */
    size_t count, next;
    size_t capacity;
    bool sorted;
};

/* ---- Fields ---------------------------------------------------------------------------------- */

/* Sets the fields that have a role. Counts all fields. */
static bool cut_line(const struct trace_reader *reader, char *line, char *fields[ROLES],
                     struct error *error)
{
    const struct columns *columns = reader->state;
    size_t count = 0;
    for (char *rest = line; rest != NULL; count++) {
        char *field = line_cut_field(&rest, ',');
        if (field == NULL)
            return line_fault(&reader->lines, error,
                              "field %zu begins with a quote and does not end with one; close the "
                              "quote in this line, and double quotes inside",
                              count + 1);
        for (size_t role = 0; role < ROLES; role++)
            if (columns->names[role] != NULL && columns->places[role] == count)
                fields[role] = field;
    }
    return count == reader->fields ||
           line_fault(&reader->lines, error, "has %zu field%s, the header has %zu", count,
                      count == 1 ? "" : "s", reader->fields);
}

/* ---- The header ------------------------------------------------------------------------------ */

static bool unknown_column(const struct trace_reader *reader, const char *name,
                           const char *const *names, struct error *error)
{
    char list[256];
    const char *nearest = error_nearest_name(name, names, (int)reader->fields);
    error_list_names(names, (int)reader->fields, list, sizeof list);
    return line_fault(&reader->lines, error, "has no column \"%.60s\"; %s%s%s%s", name,
                      nearest == NULL ? "" : "did you mean \"", nearest == NULL ? "" : nearest,
                      nearest == NULL ? "its columns are " : "\"?", nearest == NULL ? list : "");
}

/* Finds the column of each role among the header's names. */
static bool place_columns(const struct trace_reader *reader, const char *const *names,
                          struct error *error)
{
    struct columns *columns = reader->state;
    for (size_t role = 0; role < ROLES; role++) {
        size_t found = 0;
        for (size_t i = 0; columns->names[role] != NULL && i < reader->fields; i++)
            if (strcmp(names[i], columns->names[role]) == 0 && found++ == 0)
                columns->places[role] = i;
        if (columns->names[role] != NULL && found == 0)
            return unknown_column(reader, columns->names[role], names, error);
        if (found > 1)
            return line_fault(&reader->lines, error,
                              "has %zu columns \"%.60s\"; rename all but one", found,
                              columns->names[role]);
    }
    return true;
}

static bool read_columns(struct trace_reader *reader, const char *header, struct error *error)
{
    struct columns *columns = reader->state;
    columns->header = strdup(header);
    if (columns->header == NULL)
        return trace_no_memory(reader, error);
    const char **names = calloc(strlen(header) + 1, sizeof *names);
    if (names == NULL)
        return trace_no_memory(reader, error);
    bool good = true;
    for (char *rest = columns->header; good && rest != NULL;) {
        names[reader->fields] = line_cut_field(&rest, ',');
        good =
            names[reader->fields++] != NULL ||
            line_fault(&reader->lines, error, "a quoted name of a column does not end; close it");
    }
    good = good && place_columns(reader, names, error);
    free(names);
    return good;
}

static bool open_columns(struct trace_reader *reader, const char *header, struct error *error)
{
    const struct trace_columns *asked = reader->view.columns;
    struct columns *columns = calloc(1, sizeof *columns);
    reader->state = columns;
    if (columns == NULL)
        return trace_no_memory(reader, error);
    columns->names[ROLE_TIME] = asked->time;
    columns->names[ROLE_APPLICATION] = asked->application;
    columns->names[ROLE_SLO] = asked->slo_ms;
    columns->unit = trace_unit(asked->unit);
    reader->dated = columns->unit == 0;
    return read_columns(reader, header, error);
}

static void close_columns(struct trace_reader *reader)
{
    struct columns *columns = reader->state;
    if (columns == NULL)
        return;
    free(columns->header);
    free(columns->rows);
    free(columns);
}

/* ---- Records --------------------------------------------------------------------------------- */

static bool parse_time_field(const struct trace_reader *reader, const char *text, sim_time_t *time,
                             struct error *error)
{
    const struct columns *columns = reader->state;
    const char *name = columns->names[ROLE_TIME];
    if (columns->unit > 0)
        return trace_parse_stamp(reader, text, name, columns->unit, time, error);
    return trace_parse_date(text, time) ||
           line_fault(&reader->lines, error,
                      "%.60s '%.40s' is not of the form 2023-11-16 18:17:03.97; give the unit of "
                      "numbers by --unit",
                      name, text);
}

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

static bool parse_record(struct trace_reader *reader, char *line, struct raw_record *raw,
                         struct error *error)
{
    const struct columns *columns = reader->state;
    char *fields[ROLES] = {NULL, NULL, NULL};
    if (!cut_line(reader, line, fields, error) ||
        !parse_time_field(reader, fields[ROLE_TIME], &raw->time, error))
        return false;
    if (fields[ROLE_APPLICATION] != NULL) {
        raw->label = fields[ROLE_APPLICATION];
        if (!check_application(reader, raw->label, error))
            return false;
    }
    const char *slo = fields[ROLE_SLO];
    if (slo != NULL && *slo != '\0' &&
        !trace_parse_time(reader, slo, columns->names[ROLE_SLO], SIM_MS, &raw->slo, error))
        return false;
    if (slo != NULL && *slo != '\0' && raw->slo == 0)
        return line_fault(&reader->lines, error,
                          "%.60s is 0; give a positive time or leave the field empty",
                          columns->names[ROLE_SLO]);
    raw->selected = trace_select(reader, raw->label, NULL);
    return true;
}

/* Reads the next line; its time is the stamp of the file. */
static enum raw_status read_record(struct trace_reader *reader, struct raw_record *raw,
                                   struct error *error)
{
    return trace_parse_next(reader, parse_record, raw, error);
}

/* ---- Sorting --------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct sorted_row *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

static bool keep_row(struct trace_reader *reader, const struct raw_record *raw, struct error *error)
{
    struct columns *columns = reader->state;
    if (columns->count == TRACE_MOST_SORTED)
        return line_fault(&reader->lines, error,
                          "is one more record than are sorted in memory, %d; sort the file",
                          (int)TRACE_MOST_SORTED);
    if (!array_reserve(&columns->rows, &columns->capacity, columns->count + 1,
                       sizeof *columns->rows))
        return trace_no_memory(reader, error);
    struct sorted_row *row = &columns->rows[columns->count];
    *row = (struct sorted_row){.time = raw->time,
                               .slo = raw->slo,
                               .order = (uint32_t)columns->count++,
                               .selected = raw->selected};
    return trace_keep_label(reader, raw->label, &row->label, error);
}

static bool sort_all(struct trace_reader *reader, struct error *error)
{
    struct columns *columns = reader->state;
    struct raw_record raw = {0};
    enum raw_status status = RAW_READ;
    while ((status = read_record(reader, &raw, error)) == RAW_READ)
        if (!keep_row(reader, &raw, error))
            return false;
    if (columns->count > 1)
        qsort(columns->rows, columns->count, sizeof *columns->rows, compare_rows);
    columns->sorted = true;
    return status == RAW_END;
}

static enum raw_status next_columns(struct trace_reader *reader, struct raw_record *raw,
                                    struct error *error)
{
    struct columns *columns = reader->state;
    if (!reader->view.columns->sort) {
        enum raw_status status = read_record(reader, raw, error);
        if (status != RAW_READ)
            return status;
    } else {
        if (!columns->sorted && !sort_all(reader, error))
            return RAW_FAULT;
        if (columns->next == columns->count)
            return RAW_END;
        const struct sorted_row *row = &columns->rows[columns->next++];
        raw->time = row->time;
        raw->slo = row->slo;
        raw->label = reader->sources.names[row->label];
        raw->selected = row->selected;
    }
    return trace_order(reader, raw->time, &raw->time, error) ? RAW_READ : RAW_FAULT;
}

const struct trace_layout trace_layout_columns = {
    .header = "a row of names", .open = open_columns, .next = next_columns, .close = close_columns};

bool trace_parse_columns(char *list, const char *const *roles, size_t count, size_t needed,
                         const char **columns, const char *form, struct error *error)
{
    for (char *rest = list, *part; (part = strsep(&rest, ",")) != NULL;) {
        char *equals = strchr(part, '=');
        size_t r = 0;
        if (equals != NULL)
            *equals = '\0';
        while (r < count && strcmp(part, roles[r]) != 0)
            r++;
        if (equals == NULL || equals[1] == '\0' || r == count || columns[r] != NULL)
            return error_input(error,
                               "--columns takes %s, each once and separated by commas, not '%s'",
                               form, part);
        columns[r] = equals + 1;
    }
    for (size_t r = 0; r < needed; r++)
        if (columns[r] == NULL)
            return error_input(error, "--columns lacks %s=COLUMN; it takes %s", roles[r], form);
    return true;
}

bool trace_columns_parse(char *list, struct trace_columns *columns, struct error *error)
{
    static const char *const roles[ROLES] = {"time", "application", "slo_ms"};
    const char *names[ROLES] = {NULL};
    const bool good = trace_parse_columns(
        list, roles, ROLES, 1, names,
        "time=COLUMN and, if the file has them, application=COLUMN and slo_ms=COLUMN", error);
    columns->time = names[ROLE_TIME];
    columns->application = names[ROLE_APPLICATION];
    columns->slo_ms = names[ROLE_SLO];
    return good;
}
