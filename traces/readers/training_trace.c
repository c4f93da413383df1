#include "traces/readers/training_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "traces/readers/trace_layout.h"

enum { FIELDS_MOST = 32, SYNERGY_FIELDS = 5, GAVEL_FIELDS = 7, PHILLY_FIELDS = 5 };

#define MOST_ITERATIONS ((uint64_t)1 << 53)

/* Cost of the framework in Muri's simulator, simulator/jobs.py:188 and 203. */
#define MURI_FACTOR 1.015

const char *const training_formats[] = {"synergy", "muri", "gavel", "philly", NULL};

/* Columns of Muri's layout that are read, and those of Philly's, as the header must have them. */
enum { MURI_ID, MURI_GPUS, MURI_SUBMIT, MURI_ITERATIONS, MURI_MODEL, MURI_TIME, MURI_COLUMNS };
static const char *const muri_columns[] = {"job_id",     "num_gpu",    "submit_time",
                                           "iterations", "model_name", "iteration_time"};
static const char philly_header[] = "timestamp,duration,num_gpus,gpu_time,cluster";

struct reader {
    struct trace_reader base; /* its lines, for the parsers of fields */
    struct training_trace *trace;
    size_t capacity;
    size_t fields;                /* of every line */
    size_t columns[MURI_COLUMNS]; /* positions in Muri's layout */
};

struct layout {
    char separator;
    const char *shown;
    bool (*header)(struct reader *reader, char *line, struct error *error); /* NULL: has none */
    bool (*row)(struct reader *reader, char **fields, struct training_row *row,
                struct error *error);
    bool sorts;
};

/* ---- Fields ---------------------------------------------------------------------------------- */

/* Cuts a line in place. Returns the number of fields, FIELDS_MOST + 1 if there are more. */
static size_t cut(char *line, char separator, char **fields)
{
    size_t count = 0;
    for (char *field = line; field != NULL; count++) {
        char *end = strchr(field, separator);
        if (count == FIELDS_MOST)
            return FIELDS_MOST + 1;
        if (end != NULL)
            *end = '\0';
        fields[count] = field;
        field = end == NULL ? NULL : end + 1;
    }
    return count;
}

static bool parse_model(struct reader *reader, const char *text, const char *what,
                        struct training_row *row, struct error *error)
{
    if (!trace_check_label(&reader->base, text, what, error))
        return false;
    row->model = string_index_add(&reader->trace->models, text);
    return row->model != STRING_INDEX_NONE || trace_no_memory(&reader->base, error);
}

/* A whole number from 1 on. */
static bool parse_positive(struct reader *reader, const char *text, const char *what, uint64_t most,
                           uint64_t *value, struct error *error)
{
    return trace_parse_count(&reader->base, text, what, most, value, error) &&
           (*value > 0 || line_fault(&reader->base.lines, error, "%s is 0; give at least 1", what));
}

static bool parse_gpus(struct reader *reader, const char *text, const char *what,
                       struct training_row *row, struct error *error)
{
    uint64_t gpus = 0;
    if (!parse_positive(reader, text, what, TRAINING_MOST_GPUS, &gpus, error))
        return false;
    row->gpus = (uint32_t)gpus;
    return true;
}

static bool parse_iterations(struct reader *reader, const char *text, const char *what,
                             struct training_row *row, struct error *error)
{
    return parse_positive(reader, text, what, MOST_ITERATIONS, &row->iterations, error);
}

/* ---- Layouts --------------------------------------------------------------------------------- */

static bool row_synergy(struct reader *reader, char **fields, struct training_row *row,
                        struct error *error)
{
    return trace_parse_count(&reader->base, fields[0], "id", MOST_ITERATIONS, &row->id, error) &&
           parse_model(reader, fields[1], "model", row, error) &&
           trace_parse_time(&reader->base, fields[2], "arrival", SIM_S, &row->arrival, error) &&
           parse_iterations(reader, fields[3], "iterations", row, error) &&
           parse_gpus(reader, fields[4], "GPUs", row, error);
}

static bool header_muri(struct reader *reader, char *line, struct error *error)
{
    char *fields[FIELDS_MOST];
    reader->fields = cut(line, ',', fields);
    for (size_t c = 0; c < MURI_COLUMNS; c++) {
        size_t f = 0;
        while (f < reader->fields && f < FIELDS_MOST && strcmp(fields[f], muri_columns[c]) != 0)
            f++;
        if (f == reader->fields || f == FIELDS_MOST)
            return line_fault(&reader->base.lines, error,
                              "the header lacks the column \"%s\", which the format muri needs",
                              muri_columns[c]);
        reader->columns[c] = f;
    }
    return true;
}

static bool row_muri(struct reader *reader, char **fields, struct training_row *row,
                     struct error *error)
{
    const size_t *at = reader->columns;
    uint64_t time_ms = 0;
    if (!trace_parse_count(&reader->base, fields[at[MURI_ID]], "job_id", MOST_ITERATIONS, &row->id,
                           error) ||
        !parse_gpus(reader, fields[at[MURI_GPUS]], "num_gpu", row, error) ||
        !trace_parse_time(&reader->base, fields[at[MURI_SUBMIT]], "submit_time", SIM_MS,
                          &row->arrival, error) ||
        !parse_iterations(reader, fields[at[MURI_ITERATIONS]], "iterations", row, error) ||
        !parse_model(reader, fields[at[MURI_MODEL]], "model_name", row, error) ||
        !parse_positive(reader, fields[at[MURI_TIME]], "iteration_time", 1000000000, &time_ms,
                        error))
        return false;
    row->iteration_s = (double)time_ms * MURI_FACTOR / 1000;
    return true;
}

static bool row_gavel(struct reader *reader, char **fields, struct training_row *row,
                      struct error *error)
{
    return parse_model(reader, fields[0], "job type", row, error) &&
           parse_iterations(reader, fields[4], "steps", row, error) &&
           trace_parse_time(&reader->base, fields[5], "arrival", SIM_S, &row->arrival, error) &&
           parse_gpus(reader, fields[6], "GPUs", row, error);
}

static bool header_philly(struct reader *reader, char *line, struct error *error)
{
    return strcmp(line, philly_header) == 0 ||
           line_fault(&reader->base.lines, error, "the header is not \"%s\"", philly_header);
}

/* "2017-10-09 07:01:55" as seconds since 1970, UTC. */
static bool parse_stamp(struct reader *reader, const char *text, sim_time_t *time,
                        struct error *error)
{
    struct tm date = {0};
    const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &date);
    if (strlen(text) != 19 || end == NULL || *end != '\0' || date.tm_year < 70 ||
        date.tm_year > 199)
        return line_fault(&reader->base.lines, error,
                          "timestamp '%.40s' is not YYYY-MM-DD HH:MM:SS from 1970 on", text);
    *time = (sim_time_t)timegm(&date) * SIM_S;
    return true;
}

static bool row_philly(struct reader *reader, char **fields, struct training_row *row,
                       struct error *error)
{
    sim_time_t duration = 0;
    if (!trace_check_label(&reader->base, fields[4], "cluster", error) ||
        !parse_stamp(reader, fields[0], &row->arrival, error) ||
        !trace_parse_time(&reader->base, fields[1], "duration", SIM_S, &duration, error) ||
        !parse_gpus(reader, fields[2], "num_gpus", row, error))
        return false;
    if (duration == 0)
        return line_fault(&reader->base.lines, error, "duration is 0; give a positive time");
    row->duration_s = sim_to_s(duration);
    row->model = TRAINING_NO_MODEL;
    row->cluster = string_index_add(&reader->trace->clusters, fields[4]);
    return row->cluster != STRING_INDEX_NONE || trace_no_memory(&reader->base, error);
}

static const struct layout layouts[] = {
    {',', "id,model,arrival,iterations,GPUs", NULL, row_synergy, false},
    {',', "as many as its header", header_muri, row_muri, false},
    {'\t', "type, command, option, data flag, steps, arrival, GPUs; by tabs", NULL, row_gavel,
     false},
    {',', philly_header, header_philly, row_philly, true},
};
static const size_t layout_fields[] = {SYNERGY_FIELDS, 0, GAVEL_FIELDS, PHILLY_FIELDS};

/* ---- Files ----------------------------------------------------------------------------------- */

static struct training_row *new_row(struct reader *reader, struct error *error)
{
    struct training_trace *trace = reader->trace;
    if (trace->count == TRAINING_MOST_ROWS) {
        (void)line_fault(&reader->base.lines, error, "more than %d trainings", TRAINING_MOST_ROWS);
        return NULL;
    }
    if (trace->count == reader->capacity) {
        const size_t capacity = reader->capacity == 0 ? 256 : 2 * reader->capacity;
        struct training_row *rows = realloc(trace->rows, capacity * sizeof *rows);
        if (rows == NULL) {
            (void)trace_no_memory(&reader->base, error);
            return NULL;
        }
        trace->rows = rows;
        reader->capacity = capacity;
    }
    struct training_row *row = &trace->rows[trace->count];
    *row = (struct training_row){.id = trace->count};
    return row;
}

static bool read_row(struct reader *reader, const struct layout *layout, char *line,
                     struct error *error)
{
    char *fields[FIELDS_MOST];
    const size_t count = cut(line, layout->separator, fields);
    if (count != reader->fields)
        return line_fault(&reader->base.lines, error, "has %s%zu field%s, not %zu (%s)",
                          count > FIELDS_MOST ? "at least " : "", count, count == 1 ? "" : "s",
                          reader->fields, layout->shown);
    struct training_row *row = new_row(reader, error);
    if (row == NULL || !layout->row(reader, fields, row, error))
        return false;
    if (reader->trace->count > 0 && !layout->sorts && row->arrival < row[-1].arrival)
        return line_fault(&reader->base.lines, error,
                          "arrival %.9g s is before the previous one, %.9g s; sort the trace",
                          sim_to_s(row->arrival), sim_to_s(row[-1].arrival));
    reader->trace->count++;
    return true;
}

static bool read_lines(struct reader *reader, const struct layout *layout, struct error *error)
{
    char *line = NULL;
    bool header = layout->header != NULL;
    for (;;) {
        const enum line_status status = line_reader_next(&reader->base.lines, &line, error);
        if (status == LINE_FAULT)
            return false;
        if (status == LINE_END)
            return reader->trace->count > 0 ||
                   error_input(error, "%s: holds no training; give a trace with one",
                               reader->base.path);
        if (header ? !layout->header(reader, line, error) : !read_row(reader, layout, line, error))
            return false;
        header = false;
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct training_row *left = a, *right = b;
    if (left->arrival != right->arrival)
        return left->arrival < right->arrival ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

/* Numbers the rows in their order, and makes the first arrival time 0. */
static void number_rows(struct training_trace *trace)
{
    const sim_time_t first = trace->rows[0].arrival;
    for (size_t i = 0; i < trace->count; i++) {
        trace->rows[i].id = i;
        trace->rows[i].arrival -= first;
    }
}

/* Sorts by arrival, ties in the order of the file. */
static void sort_rows(struct training_trace *trace)
{
    qsort(trace->rows, trace->count, sizeof *trace->rows, compare_rows);
    number_rows(trace);
}

bool training_trace_keep(struct training_trace *trace, const char *path, const char *cluster,
                         struct error *error)
{
    size_t kept = 0;
    const char *const *names = (const char *const *)trace->clusters.names;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->clusters.count > 0 && strcmp(names[trace->rows[i].cluster], cluster) == 0)
            trace->rows[kept++] = trace->rows[i];
    if (kept == 0) {
        const char *near = error_nearest_name(cluster, names, (int)trace->clusters.count);
        return error_input(error, "%s: has no training of the cluster \"%s\"%s%s%s", path, cluster,
                           near == NULL ? "" : "; did you mean \"", near == NULL ? "" : near,
                           near == NULL ? "" : "\"?");
    }
    trace->count = kept;
    number_rows(trace);
    return true;
}

static const struct layout *find_layout(const char *format, size_t *fields)
{
    for (size_t i = 0; training_formats[i] != NULL; i++)
        if (strcmp(format, training_formats[i]) == 0) {
            *fields = layout_fields[i];
            return &layouts[i];
        }
    return NULL;
}

struct training_trace *training_trace_read(const char *path, const char *format,
                                           struct error *error)
{
    struct reader reader = {.base.path = (char *)path};
    const struct layout *layout = find_layout(format, &reader.fields);
    if (layout == NULL) {
        (void)error_input(error, "%s: unknown format \"%s\"; synergy, muri, gavel or philly", path,
                          format);
        return NULL;
    }
    reader.trace = calloc(1, sizeof *reader.trace);
    if (reader.trace == NULL) {
        (void)trace_no_memory(&reader.base, error);
        return NULL;
    }
    const bool good =
        line_reader_open(&reader.base.lines, path, error) && read_lines(&reader, layout, error);
    line_reader_close(&reader.base.lines);
    if (!good) {
        training_trace_free(reader.trace);
        return NULL;
    }
    if (layout->sorts)
        sort_rows(reader.trace);
    return reader.trace;
}

/* By the first line: a header, tabs, or five fields that begin with a number. */
static const char *recognise_line(char *line)
{
    char *fields[FIELDS_MOST];
    if (strcmp(line, philly_header) == 0)
        return training_formats[3];
    if (strncmp(line, "job_id,", 7) == 0 && strstr(line, "num_gpu") != NULL)
        return training_formats[1];
    if (strchr(line, '\t') != NULL)
        return cut(line, '\t', fields) == GAVEL_FIELDS ? training_formats[2] : NULL;
    if (cut(line, ',', fields) != SYNERGY_FIELDS || *fields[0] == '\0')
        return NULL;
    return strspn(fields[0], "0123456789") == strlen(fields[0]) ? training_formats[0] : NULL;
}

const char *training_trace_recognise(const char *path)
{
    struct line_reader lines = {0};
    struct error fault = {0};
    char *line = NULL;
    const char *format = NULL;
    if (line_reader_open(&lines, path, &fault) &&
        line_reader_next(&lines, &line, &fault) == LINE_READ)
        format = recognise_line(line);
    line_reader_close(&lines);
    return format;
}

void training_trace_free(struct training_trace *trace)
{
    if (trace == NULL)
        return;
    string_index_clear(&trace->models);
    string_index_clear(&trace->clusters);
    free(trace->rows);
    free(trace);
}
