#include "traces/readers/training_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/array.h"
#include "traces/readers/trace_layout.h"
#include "traces/readers/training_parts.h"

#define MOST_ITERATIONS ((uint64_t)1 << 53)
#define MOST_MEMORY_GB 1e6
#define NO_ROW UINT32_MAX

/* The formats. To add one, define columns_NAME, and recognise it in training_recognise.c. */
#define FORMATS(FORMAT)                                                                            \
    FORMAT(esgsim)                                                                                 \
    FORMAT(synergy) FORMAT(muri) FORMAT(gavel) FORMAT(philly) FORMAT(dilu) FORMAT(openb)

#define NAME(format) #format,
const char *const training_formats[] = {FORMATS(NAME) NULL};
const char *const instance_type_names[] = {"training", "inference", "llm-inference", NULL};
const char *const training_roles[] = {"arrival",   "gpus", "model",   "iterations", "duration",
                                      "iteration", "id",   "cluster", "gpu_types",  NULL};

static const struct training_columns columns_esgsim = {
    .names = {"arrival_s", "gpus", "model", "iterations", "duration_s", "iteration_s", "id",
              "cluster", "gpu_types"},
    .unit = "s",
    .own = true};
static const struct training_columns columns_synergy = {
    .header = "id,model,arrival,iterations,GPUs",
    .names = {"arrival", "GPUs", "model", "iterations", [TRAINING_ROLE_ID] = "id"},
    .unit = "s"};
static const struct training_columns columns_muri = {.names = {"submit_time", "num_gpu",
                                                               "model_name", "iterations", NULL,
                                                               "iteration_time", "job_id"},
                                                     .unit = "ms"};
static const struct training_columns columns_gavel = {
    .header = "job type\tcommand\toption\tdata flag\tsteps\tarrival\tGPUs",
    .names = {"arrival", "GPUs", "job type", "steps"},
    .unit = "s"};
static const struct training_columns columns_philly = {
    .names =
        {"timestamp",
         "num_gpus", [TRAINING_ROLE_DURATION] = "duration", [TRAINING_ROLE_CLUSTER] = "cluster"},
    .unit = "date",
    .sort = true};
static const struct training_columns columns_dilu = {.unit = "date"};
static const struct training_columns columns_openb = {
    .names = {"creation_time",
              "num_gpu", [TRAINING_ROLE_VCPUS] = "cpu_milli", [TRAINING_ROLE_HOST] = "memory_mib",
              [TRAINING_ROLE_SHARE] = "gpu_milli", [TRAINING_ROLE_GPU_TYPES] = "gpu_spec"},
    .unit = "s",
    .sort = true};
#define COLUMNS(format) &columns_##format,
static const struct training_columns *const layouts[] = {FORMATS(COLUMNS)};

/* The text around the fields of a line of the layout dilu. */
enum {
    DILU_TIME,
    DILU_ACTION,
    DILU_SERVICE,
    DILU_TYPE,
    DILU_GPUS,
    DILU_REQUEST,
    DILU_LIMIT,
    DILU_MEMORY,
    DILU_FIELDS
};
static const char *const dilu_marks[DILU_FIELDS + 1] = {
    "{'Time': '",      "', 'Action': '", "', 'Instance': {'service_name': '",
    "', 'type': '",    "', 'gpu_num': ", ", 'sm_requests': ",
    ", 'sm_limits': ", ", 'memory': [",  "]}}"};

struct reader {
    struct trace_reader base; /* its lines, for the parsers of fields */
    const struct training_columns *columns;
    struct training_trace *trace;
    size_t capacity;
    size_t left_out;
    char *fields[TRAINING_ROLES];  /* of a line; NULL: no such column */
    size_t places[TRAINING_ROLES]; /* SIZE_MAX: no such column */
    char separator;
    sim_time_t unit; /* 0: dates */
    /* Of the layout dilu: the times of the first and of the last line, the place in that second,
     * and the running instances as lists: the latest of a service, and the one before each. */
    bool begun;
    sim_time_t first, second;
    uint32_t place;
    uint32_t *latest, *before;      /* by service, by row; NO_ROW: none */
    size_t services, places_before; /* that they have room for */
};

/* ---- Fields ---------------------------------------------------------------------------------- */

static bool parse_name(struct reader *reader, const char *text, const char *what,
                       struct string_index *names, int32_t *number, struct error *error)
{
    if (!trace_check_label(&reader->base, text, what, error))
        return false;
    *number = string_index_add(names, text);
    return *number != STRING_INDEX_NONE || trace_no_memory(&reader->base, error);
}

static bool parse_gpus(struct reader *reader, const char *text, const char *what,
                       struct training_row *row, struct error *error)
{
    uint64_t gpus = 0;
    if (!trace_parse_count(&reader->base, text, what, TRAINING_MOST_GPUS, &gpus, error))
        return false;
    row->gpus = (uint32_t)gpus;
    return gpus > 0 || reader->columns->foreign || reader->columns == &columns_openb ||
           line_fault(&reader->base.lines, error, "%.60s is 0; give at least 1", what);
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
    *row = (struct training_row){.id = trace->count, .gpu_types = TRAINING_NO_MODEL};
    return row;
}

/* ---- Named columns --------------------------------------------------------------------------- */

/* Places the roles that have the name of a column of the header. */
static bool place_column(struct reader *reader, const char *name, struct error *error)
{
    bool known = !reader->columns->own;
    for (size_t role = 0; role < TRAINING_ROLES; role++) {
        const char *wanted = reader->columns->names[role];
        if (wanted == NULL || strcmp(wanted, name) != 0)
            continue;
        if (reader->places[role] != SIZE_MAX)
            return line_fault(&reader->base.lines, error,
                              "has two columns \"%.60s\"; rename all but one", name);
        reader->places[role] = reader->base.fields;
        known = true;
    }
    reader->base.fields++;
    return known ||
           line_fault(&reader->base.lines, error,
                      "the column \"%.60s\" is unknown; trace convert --as trainings reads any "
                      "column by --columns",
                      name);
}

static bool read_header(struct reader *reader, char *line, struct error *error)
{
    const struct training_columns *columns = reader->columns;
    const char *separator = strpbrk(line, ",\t|;");
    reader->separator = separator == NULL ? ',' : *separator;
    for (size_t role = 0; role < TRAINING_ROLES; role++)
        reader->places[role] = SIZE_MAX;
    for (char *rest = line; rest != NULL;) {
        const char *name = line_cut_field(&rest, reader->separator);
        if (name == NULL)
            return line_fault(&reader->base.lines, error, "a quote does not end; close it");
        if (!place_column(reader, name, error))
            return false;
    }
    for (size_t role = 0; role < TRAINING_ROLES; role++)
        if (columns->names[role] != NULL && reader->places[role] == SIZE_MAX &&
            (!columns->own || role <= TRAINING_ROLE_GPUS) &&
            (columns != &columns_openb ||
             (role != TRAINING_ROLE_ARRIVAL && role != TRAINING_ROLE_GPU_TYPES)))
            return line_fault(&reader->base.lines, error, "the header lacks the column \"%.60s\"",
                              columns->names[role]);
    return true;
}

static bool cut_row(struct reader *reader, char *line, struct error *error)
{
    size_t count = 0;
    for (char *rest = line; rest != NULL; count++) {
        char *field = line_cut_field(&rest, reader->separator);
        if (field == NULL)
            return line_fault(&reader->base.lines, error, "a quote does not end; close it");
        for (size_t role = 0; role < TRAINING_ROLES; role++)
            if (reader->places[role] == count)
                reader->fields[role] = field;
    }
    return count == reader->base.fields ||
           line_fault(&reader->base.lines, error, "has %zu field%s, not %zu (%s)", count,
                      count == 1 ? "" : "s", reader->base.fields,
                      reader->columns->header != NULL ? reader->columns->header
                                                      : "as many as its header");
}

static bool has(const struct reader *reader, enum training_role role)
{
    return reader->fields[role] != NULL && *reader->fields[role] != '\0';
}

static bool parse_arrival(const struct reader *reader, sim_time_t *time, struct error *error)
{
    const char *text = reader->fields[TRAINING_ROLE_ARRIVAL];
    const char *name = reader->columns->names[TRAINING_ROLE_ARRIVAL];
    if (text == NULL) /* of pods that arrive as a load */
        return true;
    if (reader->unit > 0)
        return trace_parse_stamp(&reader->base, text, name, reader->unit, time, error);
    return trace_parse_date(text, time) ||
           line_fault(&reader->base.lines, error,
                      "%.60s '%.40s' is not of the form 2023-11-16 18:17:03", name, text);
}

static bool parse_span(const struct reader *reader, enum training_role role, sim_time_t *time,
                       struct error *error)
{
    const char *name = reader->columns->names[role];
    const sim_time_t unit = reader->unit > 0 ? reader->unit : SIM_S; /* beside dates: s */
    return !has(reader, role) ||
           (trace_parse_time(&reader->base, reader->fields[role], name, unit, time, error) &&
            (*time > 0 || reader->columns->foreign ||
             line_fault(&reader->base.lines, error, "%.60s is 0; give a positive time", name)));
}

static bool parse_count(const struct reader *reader, enum training_role role, uint64_t *count,
                        struct error *error)
{
    const char *name = reader->columns->names[role];
    return !has(reader, role) ||
           (trace_parse_count(&reader->base, reader->fields[role], name, MOST_ITERATIONS, count,
                              error) &&
            (*count > 0 || role == TRAINING_ROLE_ID || reader->columns->foreign ||
             line_fault(&reader->base.lines, error, "%.60s is 0; give at least 1", name)));
}

/* In a foreign file "4.0", or Slurm's "cpu=8,gres/gpu=4,node=1", which may have no GPU, too. */
static bool parse_gang(struct reader *reader, struct training_row *row, struct error *error)
{
    char *text = reader->fields[TRAINING_ROLE_GPUS];
    const char *name = reader->columns->names[TRAINING_ROLE_GPUS];
    if (reader->columns->foreign) {
        char *list = strstr(text, "gres/gpu=");
        if (list == NULL && (*text == '\0' || strchr(text, '=') != NULL))
            return true;
        text = list != NULL ? list + strlen("gres/gpu=") : text;
        char *end = text + strspn(text, "0123456789");
        if (list != NULL || strcmp(end, ".0") == 0)
            *end = '\0';
    }
    return parse_gpus(reader, text, name, row, error);
}

static bool parse_label(struct reader *reader, enum training_role role, struct string_index *names,
                        int32_t *number, struct error *error)
{
    *number = TRAINING_NO_MODEL;
    return !has(reader, role) || parse_name(reader, reader->fields[role],
                                            reader->columns->names[role], names, number, error);
}

static bool parse_row(struct reader *reader, struct training_row *row, struct error *error)
{
    struct training_trace *trace = reader->trace;
    sim_time_t iteration = 0, duration = 0;
    if (!parse_count(reader, TRAINING_ROLE_ID, &row->id, error) ||
        !parse_label(reader, TRAINING_ROLE_MODEL, &trace->models, &row->model, error) ||
        !parse_label(reader, TRAINING_ROLE_CLUSTER, &trace->clusters, &row->cluster, error) ||
        !parse_label(reader, TRAINING_ROLE_GPU_TYPES, &trace->gpu_types, &row->gpu_types, error) ||
        !parse_arrival(reader, &row->arrival, error) || !parse_gang(reader, row, error) ||
        !parse_count(reader, TRAINING_ROLE_ITERATIONS, &row->iterations, error) ||
        !parse_span(reader, TRAINING_ROLE_ITERATION, &iteration, error) ||
        !parse_span(reader, TRAINING_ROLE_DURATION, &duration, error))
        return false;
    row->iteration_ms = (double)iteration / SIM_MS;
    row->duration_s = sim_to_s(duration);
    return reader->columns != &columns_openb ||
           openb_fill(&reader->base, reader->fields, row, error);
}

static bool check_row(const struct reader *reader, const struct training_row *row,
                      struct error *error)
{
    const struct line_reader *lines = &reader->base.lines;
    if ((row->iterations > 0) == (row->duration_s > 0))
        return line_fault(lines, error, "has %s; give either iterations or a duration",
                          row->iterations > 0 ? "iterations and a duration" : "no work");
    if (row->iterations > 0 && row->model == TRAINING_NO_MODEL)
        return line_fault(lines, error, "model is missing; iterations need one");
    return reader->columns->sort || reader->columns->foreign || row == reader->trace->rows ||
           row->arrival >= row[-1].arrival ||
           line_fault(lines, error,
                      "arrival %.9g s is before the previous one, %.9g s; sort the trace",
                      sim_to_s(row->arrival), sim_to_s(row[-1].arrival));
}

static bool read_row(struct reader *reader, char *line, struct error *error)
{
    struct training_row *row = new_row(reader, error);
    if (row == NULL || !cut_row(reader, line, error) || !parse_row(reader, row, error))
        return false;
    if (reader->columns->foreign &&
        (row->gpus == 0 || (row->iterations == 0 && !(row->duration_s > 0)))) {
        reader->left_out++;
        return true;
    }
    reader->trace->count++;
    return check_row(reader, row, error);
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

/* "2017-10-09 07:01:55" as seconds since 1970, UTC. */
static bool parse_stamp(struct reader *reader, const char *text, sim_time_t *time,
                        struct error *error)
{
    return (strlen(text) == strlen("2017-10-09 07:01:55") && trace_parse_date(text, time)) ||
           line_fault(&reader->base.lines, error,
                      "timestamp '%.40s' is not YYYY-MM-DD HH:MM:SS from 1970 on", text);
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
    if (!parse_name(reader, fields[DILU_SERVICE], "service_name", &reader->trace->models,
                    &row->model, error) ||
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
        !array_reserve(&reader->before, &reader->places_before, reader->capacity,
                       sizeof *reader->before))
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

static bool event_dilu(struct reader *reader, char *line, struct error *error)
{
    static const char *const actions[] = {"start", "delete", NULL};
    char *fields[DILU_FIELDS] = {line, line, line, line, line, line, line, line};
    int action = 0;
    sim_time_t time = 0;
    return cut_instance(reader, line, fields, error) &&
           parse_instant(reader, fields[DILU_TIME], &time, error) &&
           parse_choice(reader, fields[DILU_ACTION], "Action", actions, &action, error) &&
           (action == 0 ? start_instance : delete_instances)(reader, fields, time, error);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool take_header(struct reader *reader, struct error *error)
{
    char *line = NULL;
    if (reader->columns->header == NULL) {
        const enum line_status status = line_reader_next(&reader->base.lines, &line, error);
        return status == LINE_END || (status == LINE_READ && read_header(reader, line, error));
    }
    char *own = strdup(reader->columns->header);
    const bool good =
        own != NULL ? read_header(reader, own, error) : trace_no_memory(&reader->base, error);
    free(own);
    return good;
}

static bool read_lines(struct reader *reader, struct error *error)
{
    char *line = NULL;
    const bool events = reader->columns == &columns_dilu;
    if (!line_reader_open(&reader->base.lines, reader->base.path, error) ||
        (!events && !take_header(reader, error)))
        return false;
    for (;;) {
        const enum line_status status = line_reader_next(&reader->base.lines, &line, error);
        if (status == LINE_END)
            return reader->trace->count > 0 ||
                   error_input(error, "%s: holds no training; give a trace with one",
                               reader->base.path);
        if (status == LINE_FAULT || !(events ? event_dilu : read_row)(reader, line, error))
            return false;
    }
}

bool training_columns_parse(char *list, struct training_columns *columns, struct error *error)
{
    return trace_parse_columns(
               list, training_roles, TRAINING_NAMED_ROLES, 2, columns->names,
               "arrival=COLUMN, gpus=, duration= or iterations=, and if the file has them "
               "model=, iteration=, id=, cluster= and gpu_types=",
               error) &&
           (columns->names[TRAINING_ROLE_DURATION] != NULL ||
            columns->names[TRAINING_ROLE_ITERATIONS] != NULL ||
            error_input(error, "--columns lacks duration=COLUMN or iterations=COLUMN"));
}

struct training_trace *training_trace_read_columns(const char *path,
                                                   const struct training_columns *columns,
                                                   size_t *left_out, struct error *error)
{
    struct reader reader = {.base.path = (char *)path,
                            .columns = columns,
                            .unit = trace_unit(columns->unit),
                            .trace = calloc(1, sizeof *reader.trace)};
    const bool good =
        reader.trace != NULL ? read_lines(&reader, error) : trace_no_memory(&reader.base, error);
    line_reader_close(&reader.base.lines);
    free(reader.latest);
    free(reader.before);
    *left_out = reader.left_out;
    if (!good) {
        training_trace_free(reader.trace);
        return NULL;
    }
    if (columns->sort || columns->foreign)
        training_rows_sort(reader.trace, columns->names[TRAINING_ROLE_ID] == NULL);
    return reader.trace;
}

struct training_trace *training_trace_read(const char *path, const char *format,
                                           struct error *error)
{
    size_t left_out = 0;
    for (size_t f = 0; training_formats[f] != NULL; f++)
        if (strcmp(format, training_formats[f]) == 0)
            return training_trace_read_columns(path, layouts[f], &left_out, error);
    (void)error_input(error,
                      "%s: unknown format \"%s\"; esgsim, synergy, muri, gavel, philly, dilu or "
                      "openb",
                      path, format);
    return NULL;
}

void training_trace_free(struct training_trace *trace)
{
    if (trace == NULL)
        return;
    string_index_clear(&trace->models);
    string_index_clear(&trace->clusters);
    string_index_clear(&trace->gpu_types);
    free(trace->rows);
    free(trace);
}
