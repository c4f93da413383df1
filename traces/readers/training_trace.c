#include "traces/readers/training_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/readers/listing.h"
#include "traces/readers/trace_layout.h"
#include "traces/readers/training_parts.h"

#define MOST_ITERATIONS ((uint64_t)1 << 53)
#define MOST_MEMORY_GB 1e6

/* The formats. To add one, define columns_NAME, and recognise it in training_recognise.c. */
#define FORMATS(FORMAT)                                                                            \
    FORMAT(esgsim)                                                                                 \
    FORMAT(synergy) FORMAT(muri) FORMAT(gavel) FORMAT(philly) FORMAT(dilu) FORMAT(openb)

#define NAME(format) #format,
const char *const training_formats[] = {FORMATS(NAME) NULL};
const char *const instance_type_names[] = {"training", "inference", "llm-inference", NULL};
static const char *const training_roles[] = {"arrival",   "gpus",      "model", "iterations",
                                             "duration",  "iteration", "id",    "cluster",
                                             "gpu_types", "start",     "end",   NULL};

static const struct training_columns columns_esgsim = {
    .names = {"arrival_s", "gpus", "model", "iterations", "duration_s", "iteration_s", "id",
              "cluster", "gpu_types"},
    .optional = ~(1U << TRAINING_ROLE_ARRIVAL | 1U << TRAINING_ROLE_GPUS),
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
    .header = "job type,command,option,data flag,steps,arrival,GPUs",
    .names = {"arrival", "GPUs", "job type", "steps"},
    .unit = "s"};
/* The forms of later Gavel and of Shockwave have the same columns among others. */
static const struct training_columns columns_gavel_10 = {
    .header = "job type,command,folder,option,data flag,steps,GPUs,weight,SLO,arrival",
    .names = {"arrival", "GPUs", "job type", "steps"},
    .unit = "s"};
static const struct training_columns columns_gavel_12 = {
    .header =
        "job type,command,folder,option,data flag,steps,GPUs,mode,weight,SLO,duration,arrival",
    .names = {"arrival", "GPUs", "job type", "steps"},
    .unit = "s"};
static const struct training_columns columns_philly = {
    .names =
        {"timestamp",
         "num_gpus", [TRAINING_ROLE_DURATION] = "duration", [TRAINING_ROLE_CLUSTER] = "cluster"},
    .unit = "date",
    .sort = true};
static const struct training_columns columns_dilu = {.unit = "date"};
/* Some of its lists have no time, because the pods arrive as a load, or no types of GPU. */
static const struct training_columns columns_openb = {
    .optional = 1U << TRAINING_ROLE_ARRIVAL | 1U << TRAINING_ROLE_GPU_TYPES,
    .names = {"creation_time",
              "num_gpu", [TRAINING_ROLE_VCPUS] = "cpu_milli", [TRAINING_ROLE_HOST] = "memory_mib",
              [TRAINING_ROLE_SHARE] = "gpu_milli", [TRAINING_ROLE_GPU_TYPES] = "gpu_spec"},
    .unit = "s",
    .sort = true};
#define COLUMNS(format) &columns_##format,
const struct training_columns *const training_layouts[] = {FORMATS(COLUMNS)};

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

enum { FACTORS = 4 };

struct reader {
    struct trace_reader base; /* its lines, for the parsers of fields */
    const struct training_columns *columns;
    const struct training_source *view;
    struct training_trace *trace;
    struct listing table;
    struct listing_options options;
    int places[TRAINING_ROLES]; /* -1: no such column */
    struct {
        int place;
        double part;    /* 0.01 of a percentage */
    } factors[FACTORS]; /* of the GPUs */
    size_t factor_count;
    int step_place;               /* column of Slurm's ids; -1: none */
    char *fields[TRAINING_ROLES]; /* of a row; NULL: no such column */
    sim_time_t unit, span_unit;   /* 0: dates */
    sim_time_t from, until;
    sim_time_t least[TRAINING_ROLES], most[TRAINING_ROLES]; /* of arrivals, starts and ends */
    bool named;                                             /* ids are no numbers */
    size_t left_out, steps, bad;
    struct error first_bad;
    /* Of the layout dilu: the times of the first and of the last line, the place in that second,
     * and the running instances as lists: the latest of a service, and the one before each. */
    bool begun;
    sim_time_t first, second;
    uint32_t place;
    uint32_t *latest, *before; /* by service, by row; rows from 1, 0: none */
};

/* ---- Fields ---------------------------------------------------------------------------------- */

static bool parse_name(struct reader *reader, const char *text, const char *what,
                       struct string_index *names, int32_t *number, struct error *error)
{
    if (!trace_check_label(&reader->base, text, what, error))
        return false;
    *number = string_index_add(names, text);
    return *number != STRING_INDEX_NONE || error_run(error, "%s: out of memory", reader->base.path);
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
    arena_reserve(trace->memory, &trace->rows, trace->count + 1, sizeof *trace->rows);
    struct training_row *row = &trace->rows[trace->count];
    *row = (struct training_row){.id = trace->count, .gpu_types = TRAINING_NO_MODEL};
    return row;
}

/* ---- Named columns --------------------------------------------------------------------------- */

/* Places the factors of "a*b%". */
static bool place_factors(struct reader *reader, struct error *error)
{
    const char *wanted = reader->columns->names[TRAINING_ROLE_GPUS];
    char text[256], *names[FACTORS];
    if (listing_column(&reader->table, wanted) >= 0 || strpbrk(wanted, "*%") == NULL) {
        reader->factors[reader->factor_count++].part = 1;
        return listing_place(&reader->table, wanted, &reader->factors[0].place, error);
    }
    (void)snprintf(text, sizeof text, "%s", wanted);
    const ptrdiff_t count = line_cut(text, '*', names, FACTORS);
    if (count < 1 || count > FACTORS)
        return error_input(error, "--columns: gpus=%.60s has not 1 to %d factors", wanted, FACTORS);
    for (ptrdiff_t i = 0; i < count; i++) {
        char *end = names[i] + strlen(names[i]);
        const bool percent = end > names[i] && end[-1] == '%';
        end[percent ? -1 : 0] = '\0';
        reader->factors[i].part = percent ? 0.01 : 1;
        if (!listing_place(&reader->table, names[i], &reader->factors[i].place, error))
            return false;
        reader->factor_count++;
    }
    return true;
}

/* In our own layout an unknown column is a fault. */
static bool check_own(const struct reader *reader, struct error *error)
{
    for (size_t i = 0; i < reader->table.count; i++) {
        bool known = !reader->columns->own;
        for (size_t role = 0; role < TRAINING_ROLES; role++)
            known = known || reader->places[role] == (int)i;
        if (!known)
            return line_fault(&reader->base.lines, error,
                              "the column \"%.60s\" is unknown; trace convert --as trainings reads "
                              "any column by --columns",
                              reader->table.names[i]);
    }
    return true;
}

static bool read_header(struct reader *reader, char *line, struct error *error)
{
    const struct training_columns *columns = reader->columns;
    static const char *const slurm[] = {"JobID", "JobIDRaw", NULL};
    if (!listing_open(&reader->table, line, error) ||
        !listing_check_rules(&reader->options, error) || !place_factors(reader, error))
        return false;
    for (size_t role = 0; role < TRAINING_ROLES; role++) {
        const char *name = columns->names[role];
        reader->places[role] = role == TRAINING_ROLE_GPUS ? reader->factors[0].place : -1;
        const bool optional = columns->optional >> role & 1;
        if (name == NULL || role == TRAINING_ROLE_GPUS ||
            (optional && listing_column(&reader->table, name) < 0))
            continue;
        if (!listing_place(&reader->table, name, &reader->places[role], error))
            return false;
    }
    reader->step_place = columns->foreign ? listing_column_any(&reader->table, slurm) : -1;
    if (reader->step_place < 0 && columns->foreign)
        reader->step_place = reader->places[TRAINING_ROLE_ID];
    return check_own(reader, error);
}

static bool has(const struct reader *reader, enum training_role role)
{
    return reader->fields[role] != NULL && *reader->fields[role] != '\0';
}

static bool parse_time(struct reader *reader, enum training_role role, sim_time_t *time,
                       struct error *error)
{
    if (reader->fields[role] == NULL) /* of pods that arrive as a load */
        return true;
    if (!trace_parse_instant(&reader->base, reader->fields[role], reader->columns->names[role],
                             reader->unit, time, error))
        return false;
    reader->least[role] = *time < reader->least[role] ? *time : reader->least[role];
    reader->most[role] = *time > reader->most[role] ? *time : reader->most[role];
    return true;
}

static bool parse_span(const struct reader *reader, enum training_role role, sim_time_t *time,
                       struct error *error)
{
    const char *name = reader->columns->names[role], *text = reader->fields[role];
    if (!has(reader, role))
        return true;
    const bool clock = reader->columns->foreign && strchr(text, ':') != NULL;
    if (clock ? !parse_clock(text, time)
              : !trace_parse_time(&reader->base, text, name, reader->span_unit, time, error))
        return !clock ? false
                      : line_fault(&reader->base.lines, error, "%.60s '%.40s' is not D-H:M:S", name,
                                   text);
    return *time > 0 || reader->columns->foreign ||
           line_fault(&reader->base.lines, error, "%.60s is 0; give a positive time", name);
}

/* The time from the start, or else the arrival, to the end. */
static bool parse_end(struct reader *reader, sim_time_t arrival, sim_time_t *duration,
                      struct error *error)
{
    sim_time_t start = arrival, end = 0;
    if (!has(reader, TRAINING_ROLE_END))
        return true;
    if ((has(reader, TRAINING_ROLE_START) &&
         !parse_time(reader, TRAINING_ROLE_START, &start, error)) ||
        !parse_time(reader, TRAINING_ROLE_END, &end, error))
        return false;
    *duration = end - start;
    return end >= start ||
           line_fault(&reader->base.lines, error, "%.60s is %.9g s before it starts",
                      reader->columns->names[TRAINING_ROLE_END], sim_to_s(start - end));
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

/* Names are not kept: the rows are numbered instead. */
static bool parse_id(struct reader *reader, uint64_t *id, struct error *error)
{
    const char *text = reader->fields[TRAINING_ROLE_ID];
    if (reader->columns->foreign && has(reader, TRAINING_ROLE_ID) &&
        (text[strspn(text, "0123456789")] != '\0' || strlen(text) > 15)) {
        reader->named = true;
        return true;
    }
    return parse_count(reader, TRAINING_ROLE_ID, id, error);
}

/* The product of the factors, in a foreign file numbers of any form, or what Slurm writes, which
 * may have no GPU. A product that is no whole number is a number of GPUs and a share of each. */
static bool parse_gang(struct reader *reader, struct training_row *row, struct error *error)
{
    double whole = 1, share = 1;
    const char *name = reader->columns->names[TRAINING_ROLE_GPUS];
    if (!reader->columns->foreign)
        return parse_gpus(reader, reader->fields[TRAINING_ROLE_GPUS], name, row, error);
    for (size_t i = 0; i < reader->factor_count; i++) {
        const char *text = reader->table.fields[reader->factors[i].place];
        uint64_t gpus = 0;
        char *end = NULL;
        double value = strtod(text, &end) * reader->factors[i].part;
        if (slurm_gpus(text, &gpus))
            value = (double)gpus;
        else if (*text == '\0' || *text == '(' || strchr(text, '=') != NULL)
            value = 0;
        else if (*end != '\0' || !(value >= 0 && value <= TRAINING_MOST_GPUS))
            return line_fault(&reader->base.lines, error,
                              "%.60s '%.40s' is not a number of GPUs from 0 to %d", name, text,
                              TRAINING_MOST_GPUS);
        *(value < 1 && value > 0 ? &share : &whole) *= value;
    }
    const double gpus = whole * share;
    const bool shared = fabs(gpus - round(gpus)) > 1e-9;
    if (gpus > TRAINING_MOST_GPUS || (shared && fabs(whole - round(whole)) > 1e-9))
        return line_fault(&reader->base.lines, error,
                          "%.60s is %g: no whole number of GPUs, and no share of a whole number",
                          name, gpus);
    row->gpus = (uint32_t)lround(shared ? whole : gpus);
    row->request = row->limit = shared ? share : 0;
    return true;
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
    if (!parse_id(reader, &row->id, error) ||
        !parse_label(reader, TRAINING_ROLE_MODEL, &trace->models, &row->model, error) ||
        !parse_label(reader, TRAINING_ROLE_CLUSTER, &trace->clusters, &row->cluster, error) ||
        !parse_label(reader, TRAINING_ROLE_GPU_TYPES, &trace->gpu_types, &row->gpu_types, error) ||
        !parse_time(reader, TRAINING_ROLE_ARRIVAL, &row->arrival, error) ||
        !parse_gang(reader, row, error) ||
        !parse_count(reader, TRAINING_ROLE_ITERATIONS, &row->iterations, error) ||
        !parse_span(reader, TRAINING_ROLE_ITERATION, &iteration, error) ||
        !parse_span(reader, TRAINING_ROLE_DURATION, &duration, error) ||
        !parse_end(reader, row->arrival, &duration, error))
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

/* Counts a bad line of a foreign file; else, or if the fault is not of the line alone, fails. */
static bool keep_fault(struct reader *reader, const struct error *fault, bool alone,
                       struct error *error)
{
    if (reader->columns->foreign && alone && fault->kind == ERROR_INPUT) {
        if (reader->bad++ == 0)
            reader->first_bad = *fault;
        return true;
    }
    if (error != NULL)
        *error = *fault;
    return false;
}

static bool read_row(struct reader *reader, struct error *error)
{
    struct error fault = {0};
    char *const *fields = reader->table.fields;
    struct training_row *row = new_row(reader, error);
    if (row == NULL)
        return false;
    for (size_t role = 0; role < TRAINING_ROLES; role++)
        reader->fields[role] = reader->places[role] < 0 ? NULL : fields[reader->places[role]];
    if (reader->step_place >= 0 &&
        slurm_is_step(reader->table.names[reader->step_place], fields[reader->step_place])) {
        reader->steps++;
        return true;
    }
    if (!parse_row(reader, row, &fault))
        return keep_fault(reader, &fault, true, error);
    if (row->arrival < reader->from || row->arrival >= reader->until)
        return true;
    if (reader->columns->foreign &&
        (row->gpus == 0 || (row->iterations == 0 && !(row->duration_s > 0)))) {
        reader->left_out++;
        return true;
    }
    if (!check_row(reader, row, &fault))
        return keep_fault(reader, &fault, true, error);
    reader->trace->count++;
    return true;
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

/* Makes room for the list of a service. */
static uint32_t *latest_of(struct reader *reader, int32_t service)
{
    arena_reserve(reader->base.memory, &reader->latest, (size_t)service + 1,
                  sizeof *reader->latest);
    return &reader->latest[service];
}

static bool start_instance(struct reader *reader, char **fields, sim_time_t time,
                           struct error *error)
{
    struct training_row *row = new_row(reader, error);
    if (row == NULL || !parse_instance(reader, fields, row, error))
        return false;
    uint32_t *latest = latest_of(reader, row->model);
    row->arrival = time;
    row->duration_s = INFINITY;
    arena_reserve(reader->base.memory, &reader->before, row->id + 1, sizeof *reader->before);
    reader->before[row->id] = *latest;
    *latest = (uint32_t)++reader->trace->count;
    return true;
}

static bool delete_instances(struct reader *reader, char **fields, sim_time_t time,
                             struct error *error)
{
    struct training_row end = {.id = 0};
    if (!parse_instance(reader, fields, &end, error))
        return false;
    uint32_t *latest = latest_of(reader, end.model);
    if (*latest == 0)
        return line_fault(&reader->base.lines, error,
                          "deletes \"%s\", of which no instance runs; start it first",
                          fields[DILU_SERVICE]);
    struct training_row *rows = reader->trace->rows, *start = &rows[*latest - 1];
    if (end.type != start->type || end.gpus != start->gpus)
        return line_fault(&reader->base.lines, error,
                          "type or gpu_num of \"%s\" differ from those of its start",
                          fields[DILU_SERVICE]);
    for (; *latest > 0; *latest = reader->before[*latest - 1])
        rows[*latest - 1].duration_s = sim_to_s(time - rows[*latest - 1].arrival);
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

/* Columns of one clock overlap, or follow one another within years. */
static bool check_clocks(const struct reader *reader, struct error *error)
{
    static const enum training_role roles[] = {TRAINING_ROLE_START, TRAINING_ROLE_END};
    static const sim_time_t apart = 100000000 * SIM_S;
    const sim_time_t first = reader->least[TRAINING_ROLE_ARRIVAL];
    const sim_time_t last = reader->most[TRAINING_ROLE_ARRIVAL];
    for (size_t i = 0; i < 2; i++) {
        const sim_time_t least = reader->least[roles[i]], most = reader->most[roles[i]];
        if (least <= most && first <= last && (least > last + apart || most < first))
            return error_input(error,
                               "%s: %.60s is from %.12g to %.12g s, %.60s from %.12g to %.12g s: "
                               "two clocks; bring them to one",
                               reader->base.path, reader->columns->names[TRAINING_ROLE_ARRIVAL],
                               sim_to_s(first), sim_to_s(last), reader->columns->names[roles[i]],
                               sim_to_s(least), sim_to_s(most));
    }
    return true;
}

/* Judges and notes what was left out. */
static bool conclude(struct reader *reader, struct error *error)
{
    const size_t rows = reader->table.rows, unselected = reader->table.unselected;
    const size_t path = strlen(reader->base.path) + 1;
    const char *why = reader->first_bad.message + (reader->bad > 0 ? path : 0);
    const struct {
        size_t count;
        const char *what;
    } notes[] = {{reader->left_out, "without a GPU or without a duration"},
                 {reader->steps, "of steps of jobs"},
                 {unselected, "not selected by --where"}};
    if (!check_clocks(reader, error))
        return false;
    if (reader->bad > 0 && reader->bad == rows - unselected)
        return keep_fault(reader, &reader->first_bad, false, error);
    if (reader->bad * 100 > rows - unselected)
        return error_input(error,
                           "%s: %zu of %zu lines cannot be read, above 1 %%; the first is line %s",
                           reader->base.path, reader->bad, rows - unselected, why);
    if (reader->trace->count == 0)
        return error_input(error, "%s: holds no training%s; give a trace with one",
                           reader->base.path,
                           unselected > 0 ? " that --where selects"
                           : reader->view->from != NULL || reader->view->until != NULL
                               ? " from --from until --until"
                           : reader->left_out > 0 ? " with a GPU and a duration"
                                                  : "");
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count > 0)
            trace_note(&reader->base, "%zu row%s %s left out", notes[i].count,
                       notes[i].count == 1 ? "" : "s", notes[i].what);
    if (reader->bad > 0)
        trace_note(&reader->base,
                   "%zu of %zu lines cannot be read and are left out; the first is line %s",
                   reader->bad, rows - unselected, why);
    return true;
}

/* The times between which trainings are kept. */
static bool take_window(struct reader *reader, struct error *error)
{
    const char *const texts[] = {reader->view->from, reader->view->until};
    static const char *const names[] = {"--from", "--until"};
    sim_time_t *const times[] = {&reader->from, &reader->until};
    reader->until = SIM_FOREVER;
    for (size_t i = 0; i < 2; i++) {
        char text[64];
        if (texts[i] == NULL)
            continue;
        const bool day = reader->unit == 0 && strlen(texts[i]) == strlen("2023-11-16");
        (void)snprintf(text, sizeof text, "%s%s", texts[i], day ? " 00:00:00" : "");
        if (!trace_parse_instant(&reader->base, text, names[i], reader->unit, times[i], error))
            return false;
    }
    return true;
}

/* The form of Gavel that has so many fields. */
static const struct training_columns *gavel_of(const char *line)
{
    size_t tabs = 0;
    for (; *line != '\0'; line++)
        tabs += *line == '\t';
    return tabs == 11 ? &columns_gavel_12 : tabs == 9 ? &columns_gavel_10 : &columns_gavel;
}

static bool begin_table(struct reader *reader, char *line, struct error *error)
{
    if (reader->columns == &columns_gavel)
        reader->columns = gavel_of(line);
    if (reader->view->table != NULL)
        reader->options = *reader->view->table;
    if (reader->columns->header != NULL)
        reader->options.header = reader->columns->header;
    reader->table.lines = &reader->base.lines;
    reader->table.options = &reader->options;
    for (size_t role = 0; role < TRAINING_ROLES; role++)
        reader->least[role] = SIM_FOREVER;
    return read_header(reader, line, error) && take_window(reader, error);
}

static bool read_table(struct reader *reader, struct error *error)
{
    for (;;) {
        struct error fault = {0};
        const enum line_status status = listing_next(&reader->table, &fault);
        if (status == LINE_END)
            return conclude(reader, error);
        if (status == LINE_READ ? !read_row(reader, error)
                                : !keep_fault(reader, &fault, reader->table.bad, error))
            return false;
    }
}

static bool read_lines(struct reader *reader, struct error *error)
{
    char *line = NULL;
    const bool events = reader->columns == &columns_dilu;
    enum line_status status = line_reader_next(&reader->base.lines, &line, error);
    if (status == LINE_READ && !events)
        return begin_table(reader, line, error) && read_table(reader, error);
    for (; status == LINE_READ; status = line_reader_next(&reader->base.lines, &line, error))
        if (!event_dilu(reader, line, error))
            return false;
    return status == LINE_END &&
           (reader->trace->count > 0 ||
            error_input(error, "%s: holds no training; give a trace with one", reader->base.path));
}

bool training_columns_parse(char *list, struct training_columns *columns, struct error *error)
{
    return listing_take_roles(list, training_roles, 2, columns->names,
                              "arrival=COLUMN, gpus=, duration=, end= or iterations=, and if the "
                              "file has them start=, model=, iteration=, id=, cluster= and "
                              "gpu_types=",
                              error) &&
           (columns->names[TRAINING_ROLE_DURATION] != NULL ||
            columns->names[TRAINING_ROLE_END] != NULL ||
            columns->names[TRAINING_ROLE_ITERATIONS] != NULL ||
            error_input(error, "--columns lacks duration=COLUMN, end= or iterations="));
}

static const struct training_columns *layout_named(const char *path, const char *format,
                                                   struct error *error)
{
    for (size_t f = 0; training_formats[f] != NULL; f++)
        if (strcmp(format, training_formats[f]) == 0)
            return training_layouts[f];
    (void)error_input(error,
                      "%s: unknown format \"%s\"; esgsim, synergy, muri, gavel, philly, dilu or "
                      "openb",
                      path, format);
    return NULL;
}

struct training_trace *training_trace_read_view(const char *path, const char *format,
                                                const struct training_columns *columns,
                                                const struct training_source *view,
                                                struct error *error)
{
    static const struct training_source none = {.lines = NULL};
    struct reader reader = {.base.path = (char *)path, .view = view != NULL ? view : &none};
    reader.columns = columns != NULL ? columns : layout_named(path, format, error);
    if (reader.columns == NULL)
        return NULL;
    reader.unit = trace_unit(reader.columns->unit);
    reader.span_unit = reader.columns->duration_unit != NULL
                           ? trace_unit(reader.columns->duration_unit)
                       : reader.unit > 0 ? reader.unit
                                         : SIM_S;
    reader.base.memory = arena_create();
    reader.trace = arena_allocate(reader.base.memory, 1, sizeof *reader.trace);
    reader.trace->memory = reader.base.memory;
    const bool good = line_reader_take(&reader.base.lines, reader.view->lines, path, error) &&
                      read_lines(&reader, error);
    line_reader_close(&reader.base.lines);
    listing_close(&reader.table);
    if (!good) {
        training_trace_free(reader.trace);
        return NULL;
    }
    reader.trace->notes = reader.base.notes;
    const bool cut = reader.view->from != NULL || reader.view->until != NULL;
    if (reader.columns->sort || reader.columns->foreign || cut)
        training_rows_sort(reader.trace,
                           reader.named || reader.columns->names[TRAINING_ROLE_ID] == NULL);
    return reader.trace;
}

struct training_trace *training_trace_read(const char *path, const char *format,
                                           struct error *error)
{
    return training_trace_read_view(path, format, NULL, NULL, error);
}

void training_trace_free(struct training_trace *trace)
{
    if (trace == NULL)
        return;
    string_index_clear(&trace->models);
    string_index_clear(&trace->clusters);
    string_index_clear(&trace->gpu_types);
    arena_destroy(trace->memory);
}
