/* Text tables of measurements, recognised by their first line.
 *
 *   a header with                          is
 *   model1 … slowdown2                     co-located pairs (as iGniter measured them)
 *   "Mig instance", "Batch size", …        a ParvaGPU file as published, named after its model
 *   model (function, network), batch,      latencies alone; optional columns: cpu_cores or vcpu,
 *   a share column, latency_ms             mps_procs, saturated, dram_util_pct
 *   no header, 4 numbers                   a Dilu file as published, named after its model
 *   no header, 7 numbers                   SGPRS's speed-up table: ResNet-18 over its 68 SMs
 *   no header, name and 4 numbers, blanks  an INFless file as published
 *
 * Share columns: mps_pct, gpu_pct, share_pct (of 100), mig_gpcs (of 7), sms (of 68).
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/utf8.h"
#include "traces/readers/line_reader.h"
#include "traces/calibrate/samples.h"

enum { CELLS = 32, PERCENT = 100, GPCS = 7, SMS = 68, INFLESS_SENTINEL_MS = 2000 };

static const double MS_LIMIT = 1e9;

struct table_reader {
    struct sample_set *set;
    struct line_reader lines;
    const char *path;
    char *cells[CELLS];
    size_t cell_count;
    int column[CELLS]; /* column of each field of the format; -1: absent */
    int unit;
    char name[128]; /* the function's name, if it is taken from the file name */
    size_t taken, zero_share, saturated, packed;
};

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Splits a line in place. Cells beyond CELLS are counted but not stored. */
static size_t cut(char *line, const char *separators, char **cells)
{
    size_t count = 0;
    char *rest = line;
    for (char *cell = strsep(&rest, separators); cell != NULL; cell = strsep(&rest, separators)) {
        if (separators[0] == ' ' && cell[0] == '\0')
            continue;
        if (count < CELLS)
            cells[count] = cell;
        count++;
    }
    return count;
}

static bool cell_number(const struct table_reader *reader, int column, double low, double high,
                        double *value, struct error *error)
{
    const char *text = reader->cells[column];
    char *end = NULL;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*value))
        return line_fault(&reader->lines, error, "column %d: '%.40s' is not a number", column + 1,
                          text);
    if (*value < low || *value > high)
        return line_fault(&reader->lines, error, "column %d: %.40s is not from %g to %g",
                          column + 1, text, low, high);
    return true;
}

static bool cell_integer(const struct table_reader *reader, int column, int low, int high,
                         int *value, struct error *error)
{
    double number = 0;
    if (!cell_number(reader, column, low, high, &number, error))
        return false;
    *value = (int)number;
    return *value == number ||
           line_fault(&reader->lines, error, "column %d: %.40s is not a whole number", column + 1,
                      reader->cells[column]);
}

static bool cell_function(const struct table_reader *reader, int column, uint32_t *function,
                          struct error *error)
{
    const char *name = column < 0 ? reader->name : reader->cells[column];
    if (name[0] == '\0' || strlen(name) >= sizeof reader->name)
        return line_fault(&reader->lines, error, "the function's name is empty or above %zu bytes",
                          sizeof reader->name - 1);
    if (!utf8_is_name(name))
        return line_fault(&reader->lines, error,
                          "the function's name '%s' holds control characters or is not UTF-8; mend "
                          "it",
                          name);
    return samples_function(reader->set, name, function, error);
}

/* An empty cell means that the value was not measured. */
static bool cell_optional(const struct table_reader *reader, int column, double low, double high,
                          double *value, struct error *error)
{
    *value = NAN;
    return column < 0 || reader->cells[column][0] == '\0' ||
           cell_number(reader, column, low, high, value, error);
}

/* ---- Latencies alone ------------------------------------------------------------------------- */

enum {
    ALONE_NAME,
    ALONE_BATCH,
    ALONE_SHARE,
    ALONE_MS,
    ALONE_VCPU,
    ALONE_PROCESSES,
    ALONE_SATURATED,
    ALONE_DEMAND,
    ALONE_RATE
};

/* Returns whether the row is the latency of a batch that ran alone. It is not if the row has no GPU
 * share (CPU only), if the system was saturated (queueing), or if several processes ran in one
 * slice. */
static bool is_time_alone(struct table_reader *reader, int share, double ms, double saturated,
                          double processes)
{
    if (share == 0)
        reader->zero_share++;
    else if (saturated != 0 || (reader->column[ALONE_MS] < 0 && ms <= 0))
        reader->saturated++;
    else if (processes != 1)
        reader->packed++;
    else
        return true;
    return false;
}

static bool read_time(struct table_reader *reader, int batch, double *ms, struct error *error)
{
    const int *column = reader->column;
    double rate = 0;
    if (column[ALONE_MS] >= 0)
        return cell_number(reader, column[ALONE_MS], 0, MS_LIMIT, ms, error);
    if (!cell_number(reader, column[ALONE_RATE], 0, MS_LIMIT, &rate, error))
        return false;
    *ms = rate > 0 ? 1000 * batch / rate : 0; /* 0: out of memory */
    return true;
}

static bool read_alone(struct table_reader *reader, struct error *error)
{
    const int *column = reader->column;
    struct latency_sample sample = {.vcpu = 1, .repeats = 1, .cv = NAN};
    double saturated = 0;
    double processes = 1;
    double demand = NAN;
    if (!cell_function(reader, column[ALONE_NAME], &sample.function, error) ||
        !cell_integer(reader, column[ALONE_SHARE], 0, reader->unit, &sample.share, error) ||
        !cell_integer(reader, column[ALONE_BATCH], 0, UINT16_MAX, &sample.batch, error) ||
        !read_time(reader, sample.batch, &sample.ms, error) ||
        !cell_optional(reader, column[ALONE_DEMAND], 0, PERCENT, &demand, error))
        return false;
    if (column[ALONE_VCPU] >= 0 &&
        !cell_integer(reader, column[ALONE_VCPU], 1, UINT16_MAX, &sample.vcpu, error))
        return false;
    if (column[ALONE_SATURATED] >= 0 &&
        !cell_number(reader, column[ALONE_SATURATED], 0, 1, &saturated, error))
        return false;
    if (column[ALONE_PROCESSES] >= 0 &&
        !cell_number(reader, column[ALONE_PROCESSES], 1, 1000, &processes, error))
        return false;
    if (!is_time_alone(reader, sample.share, sample.ms, saturated, processes))
        return true;
    if (!(sample.ms > 0) || sample.batch < 1)
        return line_fault(&reader->lines, error, "batch and time must be above 0");
    samples_add_demand(reader->set, sample.function, sample.share, demand / PERCENT);
    reader->taken++;
    return samples_add_latency(reader->set, &sample, error);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

/* Two sides: name, batch, share, mean, standard deviation, slowdown of each. */
enum {
    PAIR_NAME,
    PAIR_BATCH = 2,
    PAIR_SHARE = 4,
    PAIR_MS = 6,
    PAIR_STD = 8,
    PAIR_SLOWDOWN = 10,
    PAIR_FIELDS = 12
};

static bool read_side(struct table_reader *reader, int side, struct co_run *run,
                      struct error *error)
{
    const int *column = reader->column;
    double ms = 0;
    double deviation = NAN;
    if (!cell_function(reader, column[PAIR_NAME + side], &run->function, error) ||
        !cell_integer(reader, column[PAIR_BATCH + side], 1, UINT16_MAX, &run->batch, error) ||
        !cell_integer(reader, column[PAIR_SHARE + side], 1, reader->unit, &run->share, error) ||
        !cell_number(reader, column[PAIR_MS + side], 1e-6, MS_LIMIT, &ms, error) ||
        !cell_optional(reader, column[PAIR_STD + side], 0, MS_LIMIT, &deviation, error) ||
        !cell_number(reader, column[PAIR_SLOWDOWN + side], 0.1, 1000, &run->slowdown, error))
        return false;
    run->cv = deviation / ms;
    return true;
}

static bool read_pair(struct table_reader *reader, struct error *error)
{
    uint32_t group = reader->set->groups;
    struct co_run sides[2] = {{.group = group, .location = group},
                              {.group = group, .location = group}};
    for (int side = 0; side < 2; side++)
        if (!read_side(reader, side, &sides[side], error))
            return false;
    reader->taken++;
    return samples_add_co_run(reader->set, &sides[0], error) &&
           samples_add_co_run(reader->set, &sides[1], error);
}

/* ---- Formats --------------------------------------------------------------------------------- */

static int find_column(const struct table_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->cell_count; i++)
        if (strcmp(reader->cells[i], name) == 0)
            return (int)i;
    return -1;
}

static int find_any(const struct table_reader *reader, const char *const *names)
{
    int found = -1;
    for (size_t i = 0; found < 0 && names[i] != NULL; i++)
        found = find_column(reader, names[i]);
    return found;
}

static bool is_pairs(struct table_reader *reader)
{
    static const char *const names[PAIR_FIELDS] = {
        "model1",  "model2",  "batch1",  "batch2",  "mps1_pct",  "mps2_pct",
        "lat1_ms", "lat2_ms", "std1_ms", "std2_ms", "slowdown1", "slowdown2"};
    for (size_t i = 0; i < PAIR_FIELDS; i++) {
        reader->column[i] = find_column(reader, names[i]);
        if (reader->column[i] < 0)
            return false;
    }
    reader->unit = PERCENT;
    return true;
}

static bool is_alone(struct table_reader *reader)
{
    static const char *const names[] = {"model", "function", "network", NULL};
    static const char *const batches[] = {"batch", "Batch size", NULL};
    static const char *const vcpus[] = {"cpu_cores", "vcpu", NULL};
    static const char *const processes[] = {"mps_procs", "Workload Number", NULL};
    static const struct {
        const char *name;
        int unit;
    } shares[] = {{"mps_pct", PERCENT}, {"gpu_pct", PERCENT},   {"share_pct", PERCENT},
                  {"mig_gpcs", GPCS},   {"Mig instance", GPCS}, {"sms", SMS}};
    int *column = reader->column;
    column[ALONE_SHARE] = -1;
    for (size_t i = 0; column[ALONE_SHARE] < 0 && i < sizeof shares / sizeof shares[0]; i++) {
        column[ALONE_SHARE] = find_column(reader, shares[i].name);
        reader->unit = shares[i].unit;
    }
    column[ALONE_NAME] = find_any(reader, names);
    column[ALONE_BATCH] = find_any(reader, batches);
    column[ALONE_MS] = find_column(reader, "latency_ms");
    column[ALONE_VCPU] = find_any(reader, vcpus);
    column[ALONE_PROCESSES] = find_any(reader, processes);
    column[ALONE_SATURATED] = find_column(reader, "saturated");
    column[ALONE_DEMAND] = find_column(reader, "dram_util_pct");
    column[ALONE_RATE] = find_column(reader, "Throughput");
    /* A table without a name column is named after its model. */
    return column[ALONE_SHARE] >= 0 && column[ALONE_BATCH] >= 0 &&
           (column[ALONE_NAME] >= 0 ? column[ALONE_MS] >= 0 : column[ALONE_RATE] >= 0);
}

/* Returns whether every cell from `first` on is a number. */
static bool all_numbers(const struct table_reader *reader, size_t first)
{
    for (size_t i = first; i < reader->cell_count; i++) {
        char *end = NULL;
        (void)strtod(reader->cells[i], &end);
        if (end == reader->cells[i] || *end != '\0')
            return false;
    }
    return true;
}

enum format {
    FORMAT_UNKNOWN,
    FORMAT_ALONE,
    FORMAT_PAIRS,
    FORMAT_DILU,
    FORMAT_SGPRS,
    FORMAT_INFLESS
};

static enum format table_format(struct table_reader *reader)
{
    if (is_pairs(reader))
        return FORMAT_PAIRS;
    if (is_alone(reader))
        return FORMAT_ALONE;
    if (reader->cell_count == 4 && all_numbers(reader, 0))
        return FORMAT_DILU;
    if (reader->cell_count == 7 && all_numbers(reader, 0))
        return FORMAT_SGPRS;
    return FORMAT_UNKNOWN;
}

/* Latencies in seconds of a batch at a share in percent. */
static bool read_dilu(struct table_reader *reader, struct error *error)
{
    struct latency_sample sample = {.vcpu = 1, .repeats = 1, .cv = NAN};
    if (!cell_function(reader, -1, &sample.function, error) ||
        !cell_integer(reader, 0, 1, UINT16_MAX, &sample.batch, error) ||
        !cell_integer(reader, 1, 1, PERCENT, &sample.share, error) ||
        !cell_number(reader, 2, 1e-9, MS_LIMIT, &sample.ms, error))
        return false;
    sample.ms *= 1000;
    reader->taken++;
    return samples_add_latency(reader->set, &sample, error);
}

/* SMs, then microseconds of five operators and of ResNet-18 at batch 1. */
static bool read_sgprs(struct table_reader *reader, struct error *error)
{
    struct latency_sample sample = {.batch = 1, .vcpu = 1, .repeats = 1, .cv = NAN};
    if (!samples_function(reader->set, "resnet18", &sample.function, error) ||
        !cell_integer(reader, 0, 1, SMS, &sample.share, error) ||
        !cell_number(reader, 6, 1e-3, MS_LIMIT, &sample.ms, error))
        return false;
    sample.ms /= 1000;
    reader->taken++;
    return samples_add_latency(reader->set, &sample, error);
}

/* Model, cores, GPU share in percent, batch, milliseconds. */
static bool read_infless(struct table_reader *reader, struct error *error)
{
    struct latency_sample sample = {.repeats = 1, .cv = NAN};
    if (!cell_function(reader, 0, &sample.function, error) ||
        !cell_integer(reader, 1, 1, UINT16_MAX, &sample.vcpu, error) ||
        !cell_integer(reader, 2, 0, PERCENT, &sample.share, error) ||
        !cell_integer(reader, 3, 1, UINT16_MAX, &sample.batch, error) ||
        !cell_number(reader, 4, 1e-9, MS_LIMIT, &sample.ms, error))
        return false;
    if (!is_time_alone(reader, sample.share, sample.ms, sample.ms >= INFLESS_SENTINEL_MS, 1))
        return true;
    reader->taken++;
    return samples_add_latency(reader->set, &sample, error);
}

/* ---- Whole files ----------------------------------------------------------------------------- */

/* Takes the name bert_base from "…/bs_sm_bert_base.csv". */
static void name_after_file(struct table_reader *reader)
{
    static const char prefix[] = "bs_sm_";
    const char *slash = strrchr(reader->path, '/');
    const char *name = slash == NULL ? reader->path : slash + 1;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
        name += sizeof prefix - 1;
    (void)snprintf(reader->name, sizeof reader->name, "%.*s", (int)strcspn(name, "."), name);
}

typedef bool read_row(struct table_reader *reader, struct error *error);

static bool read_rows(struct table_reader *reader, enum format format, bool header,
                      struct error *error)
{
    static read_row *const readers[] = {NULL,      read_alone, read_pair,
                                        read_dilu, read_sgprs, read_infless};
    const char *separators = format == FORMAT_INFLESS ? " \t" : ",";
    size_t columns = reader->cell_count;
    char *line = NULL;
    enum line_status status = LINE_READ;
    if (!header && !readers[format](reader, error))
        return false;
    while ((status = line_reader_next(&reader->lines, &line, error)) == LINE_READ) {
        reader->cell_count = cut(line, separators, reader->cells);
        if (reader->cell_count != columns)
            return line_fault(&reader->lines, error, "has %zu columns, the first line %zu",
                              reader->cell_count, columns);
        if (!readers[format](reader, error))
            return false;
    }
    return status == LINE_END;
}

static bool note_left_out(const struct table_reader *reader, struct error *error)
{
    const struct {
        size_t rows;
        const char *why;
    } notes[] = {{reader->zero_share, "without a share of the GPU"},
                 {reader->saturated, "saturated or out of memory"},
                 {reader->packed, "of several processes in one slice"}};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].rows > 0 && !samples_note(reader->set, error, "%s: %zu rows left out, %s",
                                               reader->path, notes[i].rows, notes[i].why))
            return false;
    return true;
}

/* Recognises the format from the first line. The line is split at commas, or at blanks if it has no
 * comma. */
static bool read_table(struct table_reader *reader, struct error *error)
{
    char *line = NULL;
    enum line_status status = line_reader_next(&reader->lines, &line, error);
    if (status == LINE_FAULT)
        return false;
    if (status == LINE_END)
        return error_input(error, "%s: is empty; give a table of measurements", reader->path);
    bool blanks = strchr(line, ',') == NULL;
    reader->cell_count = cut(line, blanks ? " \t" : ",", reader->cells);
    enum format format = FORMAT_UNKNOWN;
    if (blanks && reader->cell_count == 5 && all_numbers(reader, 1))
        format = FORMAT_INFLESS;
    else if (!blanks && reader->cell_count <= CELLS)
        format = table_format(reader);
    if (format == FORMAT_UNKNOWN)
        return error_input(error,
                           "%s: unknown table of measurements; it needs a header "
                           "with model, batch, mps_pct (or gpu_pct, share_pct, mig_gpcs, sms) and "
                           "latency_ms",
                           reader->path);
    if (format == FORMAT_DILU || format == FORMAT_INFLESS)
        reader->unit = PERCENT;
    if (format == FORMAT_SGPRS)
        reader->unit = SMS;
    name_after_file(reader);
    return samples_set_unit(reader->set, reader->unit, reader->path, error) &&
           read_rows(reader, format, format == FORMAT_ALONE || format == FORMAT_PAIRS, error) &&
           (reader->taken > 0 || error_input(error, "%s: has no usable sample", reader->path)) &&
           note_left_out(reader, error);
}

bool sample_table_read(struct sample_set *set, const char *path, struct error *error)
{
    struct table_reader reader = {.set = set, .path = path};
    if (!line_reader_open(&reader.lines, path, error))
        return false;
    bool fine = read_table(&reader, error);
    line_reader_close(&reader.lines);
    return fine;
}
