#include "traces/readers/training_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/base/array.h"
#include "traces/readers/trace_layout.h"
#include "traces/readers/training_openb.h"

enum { FIELDS_MOST = 32, SYNERGY_FIELDS = 5, GAVEL_FIELDS = 7, PHILLY_FIELDS = 5, DILU_FIELDS = 8 };

#define MOST_ITERATIONS ((uint64_t)1 << 53)
#define MOST_MEMORY_GB 1e6
#define NO_ROW UINT32_MAX

/* The formats. To add one, define its layout_NAME below. */
#define FORMATS(FORMAT)                                                                            \
    FORMAT(synergy) FORMAT(muri) FORMAT(gavel) FORMAT(philly) FORMAT(dilu) FORMAT(openb)

#define NAME(format) #format,
const char *const training_formats[] = {FORMATS(NAME) NULL};
const char *const instance_type_names[] = {"training", "inference", "llm-inference", NULL};

/* Columns of Muri's layout that are read, and those of Philly's, as the header must have them. */
enum { MURI_ID, MURI_GPUS, MURI_SUBMIT, MURI_ITERATIONS, MURI_MODEL, MURI_TIME, MURI_COLUMNS };
static const char *const muri_columns[] = {"job_id",     "num_gpu",    "submit_time",
                                           "iterations", "model_name", "iteration_time"};
static const char philly_header[] = "timestamp,duration,num_gpus,gpu_time,cluster";

/* The text around the fields of a line of the layout dilu. */
enum {
    DILU_TIME,
    DILU_ACTION,
    DILU_SERVICE,
    DILU_TYPE,
    DILU_GPUS,
    DILU_REQUEST,
    DILU_LIMIT,
    DILU_MEMORY
};
static const char *const dilu_marks[DILU_FIELDS + 1] = {
    "{'Time': '",      "', 'Action': '", "', 'Instance': {'service_name': '",
    "', 'type': '",    "', 'gpu_num': ", ", 'sm_requests': ",
    ", 'sm_limits': ", ", 'memory': [",  "]}}"};

struct reader {
    struct trace_reader base; /* its lines, for the parsers of fields */
    const char *shown;        /* of the layout */
    struct training_trace *trace;
    size_t capacity;
    size_t fields;                /* of every line */
    size_t columns[MURI_COLUMNS]; /* positions in Muri's layout */
    /* Of the layout dilu: the times of the first and of the last line, the place in that second,
     * and the running instances as lists: the latest of a service, and the one before each. */
    bool begun;
    sim_time_t first, second;
    uint32_t place;
    uint32_t *latest, *before; /* by service, by row; NO_ROW: none */
    size_t services, places;   /* that they have room for */
};

struct layout {
    bool (*recognises)(const char *line); /* its first line; NULL: that is `shown` */
    const char *separator;
    const char *shown; /* in messages */
    size_t fields;     /* of every line; 0: the header says */
    bool (*header)(struct reader *reader, char *line, struct error *error); /* NULL: has none */
    bool (*row)(struct reader *reader, char **fields, struct training_row *row,
                struct error *error);
    bool sorts;
    /* NULL: every line is a row. Otherwise it reads the fields of one, which may be none. */
    bool (*event)(struct reader *reader, char **fields, struct error *error);
};

/* ---- Fields ---------------------------------------------------------------------------------- */

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

/* ---- Layouts --------------------------------------------------------------------------------- */

static bool row_synergy(struct reader *reader, char **fields, struct training_row *row,
                        struct error *error)
{
    return trace_parse_count(&reader->base, fields[0], "id", MOST_ITERATIONS, &row->id, error) &&
           parse_model(reader, fields[1], "model", row, error) &&
           trace_parse_time(&reader->base, fields[2], "arrival", SIM_S, &row->arrival, error) &&
           parse_positive(reader, fields[3], "iterations", MOST_ITERATIONS, &row->iterations,
                          error) &&
           parse_gpus(reader, fields[4], "GPUs", row, error);
}

static bool header_fixed(struct reader *reader, char *line, struct error *error)
{
    return strcmp(line, reader->shown) == 0 ||
           line_fault(&reader->base.lines, error, "the header is not \"%s\"", reader->shown);
}

static bool header_muri(struct reader *reader, char *line, struct error *error)
{
    char *fields[FIELDS_MOST];
    reader->fields = line_cut(line, ",", fields, FIELDS_MOST);
    reader->fields = reader->fields > FIELDS_MOST ? FIELDS_MOST + 1 : reader->fields;
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
        !parse_positive(reader, fields[at[MURI_ITERATIONS]], "iterations", MOST_ITERATIONS,
                        &row->iterations, error) ||
        !parse_model(reader, fields[at[MURI_MODEL]], "model_name", row, error) ||
        !parse_positive(reader, fields[at[MURI_TIME]], "iteration_time", 1000000000, &time_ms,
                        error))
        return false;
    row->iteration_ms = (double)time_ms;
    return true;
}

static bool row_gavel(struct reader *reader, char **fields, struct training_row *row,
                      struct error *error)
{
    return parse_model(reader, fields[0], "job type", row, error) &&
           parse_positive(reader, fields[4], "steps", MOST_ITERATIONS, &row->iterations, error) &&
           trace_parse_time(&reader->base, fields[5], "arrival", SIM_S, &row->arrival, error) &&
           parse_gpus(reader, fields[6], "GPUs", row, error);
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

static struct training_row *new_row(struct reader *reader, struct error *error)
{
    struct training_trace *trace = reader->trace;
    if (trace->count == TRAINING_MOST_ROWS) {
        (void)line_fault(&reader->base.lines, error, "more than %d trainings", TRAINING_MOST_ROWS);
        return NULL;
    }
    if (!array_reserve(&trace->rows, &reader->capacity, trace->count + 1, sizeof *trace->rows)) {
        (void)trace_no_memory(&reader->base, error);
        return NULL;
    }
    struct training_row *row = &trace->rows[trace->count];
    *row = (struct training_row){.id = trace->count};
    return row;
}

/* ---- Instances of the layout dilu ------------------------------------------------------------ */

/* Cuts a line in place. */
static bool cut_instance(const struct reader *reader, char *line, char **fields,
                         struct error *error)
{
    char *at = line;
    for (size_t f = 0; f <= DILU_FIELDS; f++) {
        char *mark = f == 0 ? line : strstr(at, dilu_marks[f]);
        if (mark == NULL || strncmp(mark, dilu_marks[f], strlen(dilu_marks[f])) != 0)
            return line_fault(&reader->base.lines, error,
                              "lacks \"%s\" from column %zu on, which the format dilu needs",
                              dilu_marks[f], (size_t)(at - line) + 1);
        *mark = '\0';
        at = mark + strlen(dilu_marks[f]);
        if (f < DILU_FIELDS)
            fields[f] = at;
    }
    return *at == '\0' ||
           line_fault(&reader->base.lines, error, "has text after \"]}}\", the end of an instance");
}

/* Time since the first line. */
static bool parse_instant(struct reader *reader, const char *text, sim_time_t *time,
                          struct error *error)
{
    sim_time_t stamp = 0;
    if (!parse_stamp(reader, text, &stamp, error))
        return false;
    if (!reader->begun)
        reader->first = reader->second = stamp;
    else if (stamp < reader->second)
        return line_fault(&reader->base.lines, error,
                          "Time %.40s is before that of the previous line; sort the trace", text);
    reader->place = reader->begun && stamp == reader->second ? reader->place + 1 : 0;
    reader->begun = true;
    reader->second = stamp;
    *time = stamp - reader->first + reader->place * SIM_US;
    return reader->place < SIM_S / SIM_US ||
           line_fault(&reader->base.lines, error, "more than 1000000 lines in one second");
}

static bool parse_choice(const struct reader *reader, const char *text, const char *what,
                         const char *const *choices, int *choice, struct error *error)
{
    int count = 0;
    for (; choices[count] != NULL; count++)
        if (strcmp(text, choices[count]) == 0) {
            *choice = count;
            return true;
        }
    const char *near = error_nearest_name(text, choices, count);
    return line_fault(&reader->base.lines, error, "%s '%.40s' is unknown; did you mean %s?", what,
                      text, near != NULL ? near : choices[0]);
}

/* A number above 0. */
static bool parse_amount(const struct reader *reader, const char *text, const char *what,
                         double most, double *value, struct error *error)
{
    char *end = NULL;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
        return line_fault(&reader->base.lines, error, "%s '%.40s' is not a decimal number", what,
                          text);
    return (*value > 0 && *value <= most) ||
           line_fault(&reader->base.lines, error, "%s %.40s is not above 0 and at most %g", what,
                      text, most);
}

/* "30, 30": the same amount on every GPU. */
static bool parse_memories(const struct reader *reader, char *list, struct training_row *row,
                           struct error *error)
{
    uint32_t count = 0;
    for (char *entry; (entry = strsep(&list, ",")) != NULL; count++) {
        double memory = 0;
        if (!parse_amount(reader, entry + (count > 0 && *entry == ' '), "memory", MOST_MEMORY_GB,
                          &memory, error))
            return false;
        if (count > 0 && (memory < row->memory_gb || memory > row->memory_gb))
            return line_fault(&reader->base.lines, error,
                              "memory differs from GPU to GPU; give all the same");
        row->memory_gb = memory;
    }
    return count == row->gpus ||
           line_fault(&reader->base.lines, error,
                      "memory has %u number%s, not one per GPU of gpu_num (%u)", count,
                      count == 1 ? "" : "s", row->gpus);
}

static bool parse_instance(struct reader *reader, char **fields, struct training_row *row,
                           struct error *error)
{
    int type = 0;
    if (!parse_model(reader, fields[DILU_SERVICE], "service_name", row, error) ||
        !parse_choice(reader, fields[DILU_TYPE], "type", instance_type_names, &type, error) ||
        !parse_gpus(reader, fields[DILU_GPUS], "gpu_num", row, error) ||
        !parse_amount(reader, fields[DILU_REQUEST], "sm_requests", 1, &row->request, error) ||
        !parse_amount(reader, fields[DILU_LIMIT], "sm_limits", 1, &row->limit, error) ||
        !parse_memories(reader, fields[DILU_MEMORY], row, error))
        return false;
    row->type = (enum instance_type)type;
    if (row->limit < row->request)
        return line_fault(&reader->base.lines, error, "sm_limits %g is below sm_requests, %g",
                          row->limit, row->request);
    return row->gpus == 1 || row->type == INSTANCE_TRAINING ||
           line_fault(&reader->base.lines, error, "gpu_num is %u; only a training has several",
                      row->gpus);
}

/* Makes room for the lists of running instances. */
static bool running_grow(struct reader *reader, struct error *error)
{
    const size_t old = reader->services;
    if (!array_reserve(&reader->latest, &reader->services, reader->trace->models.count,
                       sizeof *reader->latest) ||
        !array_reserve(&reader->before, &reader->places, reader->capacity, sizeof *reader->before))
        return trace_no_memory(&reader->base, error);
    for (size_t i = old; i < reader->services; i++)
        reader->latest[i] = NO_ROW;
    return true;
}

static bool start_instance(struct reader *reader, char **fields, sim_time_t time,
                           struct error *error)
{
    struct training_row *row = new_row(reader, error);
    if (row == NULL || !parse_instance(reader, fields, row, error) || !running_grow(reader, error))
        return false;
    row->arrival = time;
    row->duration_s = INFINITY;
    reader->before[row->id] = reader->latest[row->model];
    reader->latest[row->model] = (uint32_t)row->id;
    reader->trace->count++;
    return true;
}

static bool delete_instances(struct reader *reader, char **fields, sim_time_t time,
                             struct error *error)
{
    struct training_row end = {.id = 0};
    if (!parse_instance(reader, fields, &end, error))
        return false;
    uint32_t id = (size_t)end.model < reader->services ? reader->latest[end.model] : NO_ROW;
    if (id == NO_ROW)
        return line_fault(&reader->base.lines, error,
                          "deletes \"%s\", of which no instance runs; start it first",
                          fields[DILU_SERVICE]);
    const struct training_row *start = &reader->trace->rows[id];
    if (end.type != start->type || end.gpus != start->gpus)
        return line_fault(&reader->base.lines, error,
                          "type or gpu_num of \"%s\" differ from those of its start",
                          fields[DILU_SERVICE]);
    for (; id != NO_ROW; id = reader->before[id])
        reader->trace->rows[id].duration_s = sim_to_s(time - reader->trace->rows[id].arrival);
    reader->latest[end.model] = NO_ROW;
    return true;
}

static bool event_dilu(struct reader *reader, char **fields, struct error *error)
{
    static const char *const actions[] = {"start", "delete", NULL};
    int action = 0;
    sim_time_t time = 0;
    return parse_instant(reader, fields[DILU_TIME], &time, error) &&
           parse_choice(reader, fields[DILU_ACTION], "Action", actions, &action, error) &&
           (action == 0 ? start_instance : delete_instances)(reader, fields, time, error);
}

/* ---- The table ------------------------------------------------------------------------------- */

static size_t count(const char *line, char character)
{
    size_t found = 0;
    for (; *line != '\0'; line++)
        found += *line == character;
    return found;
}

static bool is_synergy(const char *line)
{
    const size_t digits = strspn(line, "0123456789");
    return digits > 0 && line[digits] == ',' && count(line, ',') == SYNERGY_FIELDS - 1 &&
           count(line, '\t') == 0;
}

static bool is_muri(const char *line)
{
    return strncmp(line, "job_id,", 7) == 0 && strstr(line, "num_gpu") != NULL;
}

static bool is_gavel(const char *line)
{
    return count(line, '\t') == GAVEL_FIELDS - 1;
}

static bool is_dilu(const char *line)
{
    return strncmp(line, dilu_marks[0], strlen(dilu_marks[0])) == 0;
}

static const struct layout layout_synergy = {.recognises = is_synergy,
                                             .separator = ",",
                                             .shown = "id,model,arrival,iterations,GPUs",
                                             .fields = SYNERGY_FIELDS,
                                             .row = row_synergy};
static const struct layout layout_muri = {.recognises = is_muri,
                                          .separator = ",",
                                          .shown = "as many as its header",
                                          .header = header_muri,
                                          .row = row_muri};
static const struct layout layout_gavel = {
    .recognises = is_gavel,
    .separator = "\t",
    .shown = "type, command, option, data flag, steps, arrival, GPUs; by tabs",
    .fields = GAVEL_FIELDS,
    .row = row_gavel};
#define TABLE(text, count, reads)                                                                  \
    {                                                                                              \
        .separator = ",", .shown = (text), .fields = (count), .header = header_fixed,              \
        .row = (reads), .sorts = true                                                              \
    }
static const struct layout layout_philly = TABLE(philly_header, PHILLY_FIELDS, row_philly);
static const struct layout layout_openb = TABLE(openb_header, OPENB_FIELDS, openb_row);
static const struct layout layout_dilu = {.recognises = is_dilu, .event = event_dilu};
#define LAYOUT(format) &layout_##format,
static const struct layout *const layouts[] = {FORMATS(LAYOUT)};

/* ---- Files ----------------------------------------------------------------------------------- */

static bool read_row(struct reader *reader, const struct layout *layout, char *line,
                     struct error *error)
{
    char *fields[FIELDS_MOST];
    const size_t count = line_cut(line, layout->separator, fields, FIELDS_MOST);
    const bool more = count > FIELDS_MOST;
    if ((more ? FIELDS_MOST + 1 : count) != reader->fields)
        return line_fault(&reader->base.lines, error, "has %s%zu field%s, not %zu (%s)",
                          more ? "at least " : "", more ? (size_t)FIELDS_MOST + 1 : count,
                          count == 1 ? "" : "s", reader->fields, layout->shown);
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
        char *fields[DILU_FIELDS];
        const bool good = header                  ? layout->header(reader, line, error)
                          : layout->event == NULL ? read_row(reader, layout, line, error)
                                                  : cut_instance(reader, line, fields, error) &&
                                                        layout->event(reader, fields, error);
        if (!good)
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

struct training_trace *training_trace_read(const char *path, const char *format,
                                           struct error *error)
{
    struct reader reader = {.base.path = (char *)path};
    size_t f = 0;
    while (training_formats[f] != NULL && strcmp(format, training_formats[f]) != 0)
        f++;
    if (training_formats[f] == NULL) {
        (void)error_input(error,
                          "%s: unknown format \"%s\"; synergy, muri, gavel, philly, dilu or openb",
                          path, format);
        return NULL;
    }
    const struct layout *layout = layouts[f];
    reader.fields = layout->fields;
    reader.shown = layout->shown;
    reader.trace = calloc(1, sizeof *reader.trace);
    if (reader.trace == NULL) {
        (void)trace_no_memory(&reader.base, error);
        return NULL;
    }
    const bool good =
        line_reader_open(&reader.base.lines, path, error) && read_lines(&reader, layout, error);
    line_reader_close(&reader.base.lines);
    free(reader.latest);
    free(reader.before);
    if (!good) {
        training_trace_free(reader.trace);
        return NULL;
    }
    if (layout->sorts)
        sort_rows(reader.trace);
    return reader.trace;
}

static bool recognises(const struct layout *layout, const char *line)
{
    return layout->recognises != NULL ? layout->recognises(line) : strcmp(line, layout->shown) == 0;
}

const char *training_trace_recognise(const char *path)
{
    struct line_reader lines = {0};
    struct error fault = {0};
    char *line = NULL;
    const char *format = NULL;
    if (line_reader_open(&lines, path, &fault) &&
        line_reader_next(&lines, &line, &fault) == LINE_READ)
        for (size_t i = 0; format == NULL && training_formats[i] != NULL; i++)
            format = recognises(layouts[i], line) ? training_formats[i] : NULL;
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
