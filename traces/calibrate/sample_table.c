/* Text tables of measurements, recognised by their first line.
 *
 *   a header with                          is
 *   model1 … slowdown2                     co-located pairs (as iGniter measured them)
 *   "Mig instance", "Batch size", …        a ParvaGPU file as published, named after its model
 *   model (function, network), batch,      latencies alone; optional columns: a share (else the
 *   latency_ms                             whole GPU), cpu_cores or vcpu, mps_procs, saturated,
 *                                          dram_util_pct, std_ms (std), gpu_memory_mb (memory_mb),
 *                                          turnaround_ms
 *   model (…), cold_start_ms               samples of cold starts, one a row; optional column: run
 *   members, slowdown, latency_ms,         co-locations of any size, one a row: members are
 *   std_ms                                 MODEL:BATCH:SHARE, members and numbers are separated by
 *
 *   without a header                       in a file called      or with --format
 *   4 numbers: Dilu, named after its model bs_sm_*               dilu
 *   7 numbers: SGPRS, ResNet-18 over 68 SMs speedup.*            sgprs
 *   name and 4 numbers, blanks: INFless    *-profile-results.*   infless
 *
 * Share columns: share (K/N, as asked; beside it sms and sm_count, what was got), mps_pct, gpu_pct,
 * share_pct (of 100), mig_gpcs (of 7), slice (3g.20gb), sms (of the column sm_count, or of the
 * set's `sms`). Any other column of a table with a header must be named by a rule of the set.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/atomic_file.h"
#include "traces/calibrate/table_reader.h"

enum { PERCENT = 100, GPCS = 7, WHOLE = 1 };

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
    ALONE_RATE,
    ALONE_STD,
    ALONE_MEMORY,
    ALONE_TURNAROUND,
    ALONE_SMS, /* multiprocessors of the GPU */
    ALONE_GOT, /* multiprocessors of a named share */
    ALONE_P95,
    ALONE_SAMPLES, /* behind the row */
    ALONE_FIELDS
};

/* A form of such rows without a header. */
struct bare_table {
    const char *format, *pattern; /* of the name of its file */
    const char *function;         /* of all rows; NULL: a cell, or the name of the file */
    int unit, least;              /* of shares; 0: as the name says */
    double latency_ms, per_ms;    /* unit of times, multiplied by the one, divided by the other */
    double saturated_ms;          /* stands for the time of a saturated system */
    const char *const *names;     /* that a header would have, and NULL */
};

/* Returns whether the row is the latency of a batch that ran alone. It is not if the system was
 * saturated (queueing) or out of memory, or if several processes ran in one slice. What did not run
 * alone is kept as such. */
static bool is_time_alone(struct table_reader *reader, const struct latency_sample *sample,
                          const double extra[ALONE_FIELDS], bool *alone, struct error *error)
{
    const bool ran = !(extra[ALONE_SATURATED] > 0) && sample->ms > 0 &&
                     !(reader->bare != NULL && sample->ms >= reader->bare->saturated_ms);
    const bool single = isnan(extra[ALONE_PROCESSES]) || extra[ALONE_PROCESSES] == 1;
    *alone = ran && single;
    if (!ran)
        reader->saturated++;
    else if (!single)
        reader->packed++;
    return ran || !single || sample->batch < 1 || samples_add_refused(reader->set, sample, error);
}

/* ms of the unit of times. */
static double unit_of(const struct table_reader *reader)
{
    return reader->bare != NULL          ? reader->bare->latency_ms
           : reader->set->latency_ms > 0 ? reader->set->latency_ms
                                         : 1;
}

/* A latency in another unit than it is taken for does not fit the throughput of its batches. That
 * of tokens may be a hundred times that of batches. */
static bool check_rate(const struct table_reader *reader, double ms, double rate, int batch,
                       struct error *error)
{
    const double ratio = ms / 1000 * rate / batch;
    return !(rate > 0) || (ratio < 10 && ratio > 0.01) ||
           line_fault(&reader->lines, error,
                      "latency x throughput / batch is %.3g, not 1: the latency, read as %g ms, or "
                      "the throughput, read as %g/s, has another unit",
                      ratio, ms, rate);
}

/* 0: did not run. */
static bool read_time(struct table_reader *reader, int batch, double *ms, struct error *error)
{
    const int *column = reader->column;
    double rate = 0;
    if (column[ALONE_MS] >= 0) {
        const char *text = reader->table.fields[column[ALONE_MS]];
        *ms = 0;
        if (reader->bare == NULL && (text[0] == '\0' || strcasecmp(text, "oom") == 0))
            return true;
        if (!cell_number(reader, column[ALONE_MS], 0, TABLE_MS_LIMIT, ms, error))
            return false;
        *ms = *ms * unit_of(reader) / (reader->bare != NULL ? reader->bare->per_ms : 1);
        return (*ms > 0 || line_fault(&reader->lines, error,
                                      "the time must be above 0, or empty if it did not run"));
    }
    if (!cell_number(reader, column[ALONE_RATE], 0, TABLE_MS_LIMIT, &rate, error))
        return false;
    *ms = rate > 0 ? 1000 * batch / rate : 0; /* 0: out of memory */
    return true;
}

/* The numbers that a table may have beside a name, a batch, a share and a time. */
static const struct {
    double low, high; /* 0: no such number */
    bool filled;      /* no cell is empty */
} extras[ALONE_FIELDS] = {[ALONE_PROCESSES] = {1, 1000, true},
                          [ALONE_SATURATED] = {0, 1, true},
                          [ALONE_DEMAND] = {0, PERCENT, false},
                          [ALONE_RATE] = {0, TABLE_MS_LIMIT, false},
                          [ALONE_STD] = {0, TABLE_MS_LIMIT, false},
                          [ALONE_MEMORY] = {0, TABLE_MS_LIMIT, false},
                          [ALONE_TURNAROUND] = {0, TABLE_MS_LIMIT, false},
                          [ALONE_P95] = {0, TABLE_MS_LIMIT, false},
                          [ALONE_SAMPLES] = {1, 1e9, false}};

/* NAN: not measured. */
static bool read_extras(const struct table_reader *reader, double values[ALONE_FIELDS],
                        struct error *error)
{
    for (size_t i = 0; i < ALONE_FIELDS; i++) {
        const int column = i == ALONE_RATE && !reader->named ? -1 : reader->column[i];
        values[i] = NAN;
        if (extras[i].high > 0 && column >= 0 &&
            (extras[i].filled || reader->bare != NULL || reader->table.fields[column][0] != '\0') &&
            !cell_number(reader, column, extras[i].low, extras[i].high, &values[i], error))
            return false;
    }
    return true;
}

/* Takes the unit from the row: a table is of one GPU. */
static bool read_sms(struct table_reader *reader, struct error *error)
{
    int sms = 0;
    if (reader->column[ALONE_SMS] < 0 || reader->column[ALONE_GOT] >= 0)
        return true;
    if (!cell_integer(reader, reader->column[ALONE_SMS], 1, SMS_MOST, &sms, error))
        return false;
    if (reader->unit != 0 && reader->unit != sms)
        return line_fault(&reader->lines, error,
                          "sm_count is %d, and %d before it; calibrate one device at a time", sms,
                          reader->unit);
    reader->unit = sms;
    return samples_set_unit(reader->set, sms, reader->path, error);
}

/* Sets the fraction of the multiprocessors that a named share got. The cells are empty where it is
 * not known, as under MPS. */
static bool read_part(struct table_reader *reader, struct latency_sample *sample,
                      struct error *error)
{
    const struct sample_set *set = reader->set;
    const int got = reader->column[ALONE_GOT], all = reader->column[ALONE_SMS];
    int sms = 0, count = 0;
    if (got < 0 || all < 0 || reader->table.fields[got][0] == '\0')
        return true;
    if (!cell_integer(reader, all, 1, SMS_MOST, &count, error) ||
        !cell_integer(reader, got, 1, count, &sms, error))
        return false;
    sample->part = (double)sms / count;
    for (size_t i = 0; i < set->latency_count; i++)
        if (set->latencies[i].share == sample->share && set->latencies[i].part != sample->part)
            return line_fault(&reader->lines, error,
                              "a share that had other multiprocessors before; measure both anew");
    return true;
}

static bool read_alone(struct table_reader *reader, struct error *error)
{
    const int *column = reader->column;
    struct latency_sample sample = {.batch = 1, .vcpu = 1, .share = WHOLE, .repeats = 1, .cv = NAN};
    const int least = reader->bare != NULL;
    double extra[ALONE_FIELDS];
    bool alone = false;
    if (!read_sms(reader, error) ||
        !cell_function(reader, column[ALONE_NAME], &sample.function, error) ||
        (column[ALONE_SHARE] >= 0 &&
         !cell_share(reader, column[ALONE_SHARE], least > 0 ? reader->bare->least : 0,
                     &sample.share, error)) ||
        !read_part(reader, &sample, error) ||
        (column[ALONE_BATCH] >= 0 &&
         !cell_integer(reader, column[ALONE_BATCH], least, UINT16_MAX, &sample.batch, error)) ||
        (column[ALONE_VCPU] >= 0 &&
         !cell_integer(reader, column[ALONE_VCPU], 1, UINT16_MAX, &sample.vcpu, error)) ||
        !read_time(reader, sample.batch, &sample.ms, error) || !read_extras(reader, extra, error) ||
        !is_time_alone(reader, &sample, extra, &alone, error))
        return false;
    if (!alone)
        return true;
    if (sample.batch < 1)
        return line_fault(&reader->lines, error, "the batch must be above 0");
    /* The 95th percentile of a lognormal time whose median is the latency. */
    sample.cv = isnan(extra[ALONE_P95])
                    ? extra[ALONE_STD] * unit_of(reader) / sample.ms
                    : fmax(0, log(extra[ALONE_P95] * unit_of(reader) / sample.ms) / 1.645);
    sample.repeats = isnan(extra[ALONE_SAMPLES]) ? 1 : (size_t)extra[ALONE_SAMPLES];
    if (!check_rate(reader, sample.ms, extra[ALONE_RATE], sample.batch, error))
        return false;
    samples_add_demand(reader->set, sample.function, sample.share, extra[ALONE_DEMAND] / PERCENT);
    samples_add_memory(reader->set, sample.function, sample.batch, extra[ALONE_MEMORY]);
    samples_add_turnaround(reader->set, sample.function, sample.batch, sample.ms,
                           extra[ALONE_TURNAROUND]);
    reader->taken++;
    return samples_add_latency(reader->set, &sample, error);
}

/* ---- Cold starts ----------------------------------------------------------------------------- */

enum { COLD_NAME, COLD_MS, COLD_RUN, COLD_FIELDS };

static bool read_cold(struct table_reader *reader, struct error *error)
{
    uint32_t function = 0;
    double ms = 0;
    if (!cell_function(reader, reader->column[COLD_NAME], &function, error) ||
        !cell_number(reader, reader->column[COLD_MS], 0, TABLE_MS_LIMIT, &ms, error))
        return false;
    reader->taken++;
    return samples_add_cold_start(reader->set, function, ms, error);
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

/* The fields of a latency, its deviation and its slowdown. */
static bool read_slowdown(const struct table_reader *reader, const int field[3], struct co_run *run,
                          struct error *error)
{
    const int *column = reader->column;
    double ms = 0, deviation = NAN;
    if (!cell_number(reader, column[field[0]], 1e-6, TABLE_MS_LIMIT, &ms, error) ||
        !cell_optional(reader, column[field[1]], 0, TABLE_MS_LIMIT, &deviation, error) ||
        !cell_number(reader, column[field[2]], 0.1, 1000, &run->slowdown, error))
        return false;
    run->cv = deviation / ms;
    return true;
}

static bool read_side(struct table_reader *reader, int side, struct co_run *run,
                      struct error *error)
{
    const int *column = reader->column;
    const int fields[] = {PAIR_MS + side, PAIR_STD + side, PAIR_SLOWDOWN + side};
    return cell_function(reader, column[PAIR_NAME + side], &run->function, error) &&
           cell_integer(reader, column[PAIR_BATCH + side], 1, UINT16_MAX, &run->batch, error) &&
           cell_share(reader, column[PAIR_SHARE + side], 1, &run->share, error) &&
           read_slowdown(reader, fields, run, error);
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

/* ---- Groups ---------------------------------------------------------------------------------- */

enum { GROUP_MEMBERS, GROUP_MS, GROUP_STD, GROUP_SLOWDOWN, GROUP_ALONE, GROUP_FIELDS };
enum { GROUP_MOST = 64 };

/* Adds a member. The cells hold one entry each of the row's lists. Its time alone is a repeat of a
 * cell of a folder; other tables with groups have it from the table of cells itself. */
static bool read_member(struct table_reader *reader, struct co_run *run, struct error *error)
{
    const int *column = reader->column;
    char *name = reader->table.fields[column[GROUP_MEMBERS]];
    char *share = strrchr(name, ':');
    static const int fields[] = {GROUP_MS, GROUP_STD, GROUP_SLOWDOWN};
    double alone_ms = 0;
    if (share != NULL)
        *share++ = '\0';
    char *batch = strrchr(name, ':');
    if (share == NULL || batch == NULL)
        return line_fault(&reader->lines, error, "'%.60s' is no MODEL:BATCH:SHARE", name);
    *batch++ = '\0';
    if (!cell_function(reader, column[GROUP_MEMBERS], &run->function, error))
        return false;
    reader->table.fields[column[GROUP_MEMBERS]] = share;
    if (!cell_share(reader, column[GROUP_MEMBERS], 1, &run->share, error))
        return false;
    reader->table.fields[column[GROUP_MEMBERS]] = batch;
    return cell_integer(reader, column[GROUP_MEMBERS], 1, UINT16_MAX, &run->batch, error) &&
           cell_number(reader, column[GROUP_ALONE], 1e-6, TABLE_MS_LIMIT, &alone_ms, error) &&
           read_slowdown(reader, fields, run, error) &&
           samples_add_co_run(reader->set, run, error) &&
           (!reader->set->kernels || samples_add_repeat(reader->set, run, alone_ms, error));
}

static bool read_group(struct table_reader *reader, struct error *error)
{
    const uint32_t group = reader->set->groups;
    char *rest[GROUP_FIELDS];
    size_t members = 0;
    for (size_t i = 0; i < GROUP_FIELDS; i++)
        rest[i] = reader->table.fields[reader->column[i]];
    if (strcmp(rest[GROUP_SLOWDOWN], "oom") == 0) {
        reader->saturated++;
        return true;
    }
    for (bool more = true; more; members++) {
        struct co_run run = {.group = group, .location = group};
        for (size_t i = 0; i < GROUP_FIELDS; i++) {
            reader->table.fields[reader->column[i]] = strsep(&rest[i], "+");
            more = rest[GROUP_MEMBERS] != NULL;
            if ((rest[i] != NULL) != more || members == GROUP_MOST)
                return line_fault(&reader->lines, error,
                                  "members, slowdown, latency_ms, alone_ms and std_ms are lists of "
                                  "2 to %d, all of one length",
                                  GROUP_MOST);
        }
        if (!read_member(reader, &run, error))
            return false;
    }
    reader->taken++;
    return members > 1 || line_fault(&reader->lines, error, "has one member, which is alone");
}

/* ---- Formats --------------------------------------------------------------------------------- */

enum { NAMES = 4 };

/* The names of the columns of each form, best first, and NULL. */
static const char *const pair_names[PAIR_FIELDS][NAMES] = {
    {"model1"},  {"model2"},  {"batch1"},  {"batch2"},  {"mps1_pct"},  {"mps2_pct"},
    {"lat1_ms"}, {"lat2_ms"}, {"std1_ms"}, {"std2_ms"}, {"slowdown1"}, {"slowdown2"}};
static const char *const group_names[GROUP_FIELDS][NAMES] = {
    {"members"}, {"latency_ms"}, {"std_ms"}, {"slowdown"}, {"alone_ms"}};
static const char *const cold_names[COLD_FIELDS][NAMES] = {
    {"model", "function", "network"}, {"cold_start_ms"}, {"run"}};
static const char *const alone_names[ALONE_FIELDS][NAMES] = {
    [ALONE_NAME] = {"model", "function", "network"},
    [ALONE_BATCH] = {"batch", "Batch size"},
    [ALONE_MS] = {"latency_ms"},
    [ALONE_VCPU] = {"cpu_cores", "vcpu"},
    [ALONE_PROCESSES] = {"mps_procs", "Workload Number"},
    [ALONE_SATURATED] = {"saturated"},
    [ALONE_DEMAND] = {"dram_util_pct"},
    [ALONE_RATE] = {"Throughput"},
    [ALONE_STD] = {"std_ms", "std"},
    [ALONE_MEMORY] = {"gpu_memory_mb", "memory_mb"},
    [ALONE_TURNAROUND] = {"turnaround_ms"},
    [ALONE_P95] = {"p95"},
    [ALONE_SAMPLES] = {"samples"}};

/* Finds the columns of a form. Returns whether the table has the first `needed`. */
static bool place_columns(struct table_reader *reader, const char *const (*names)[NAMES],
                          size_t fields, size_t needed)
{
    size_t found = 0;
    for (size_t i = 0; i < fields; i++) {
        reader->column[i] = listing_column_any(&reader->table, names[i]);
        found += i < needed && reader->column[i] >= 0;
    }
    reader->fields = fields;
    return found == needed;
}

/* Returns whether the share is a number of multiprocessors. */
static bool counts_sms(struct table_reader *reader)
{
    return reader->column[ALONE_SHARE] >= 0 &&
           reader->column[ALONE_SHARE] == listing_column(&reader->table, "sms");
}

static bool is_alone(struct table_reader *reader)
{
    const struct {
        const char *name;
        int unit;
    } shares[] = {{"share", 0},           {"mps_pct", PERCENT},     {"gpu_pct", PERCENT},
                  {"share_pct", PERCENT}, {"mig_gpcs", GPCS},       {"Mig instance", GPCS},
                  {"slice", GPCS},        {"sms", reader->set->sms}};
    int *column = reader->column;
    (void)place_columns(reader, alone_names, ALONE_FIELDS, 0);
    reader->unit = WHOLE;
    for (size_t i = 0; column[ALONE_SHARE] < 0 && i < sizeof shares / sizeof shares[0]; i++) {
        column[ALONE_SHARE] = listing_column(&reader->table, shares[i].name);
        reader->unit = column[ALONE_SHARE] >= 0 ? shares[i].unit : WHOLE;
    }
    const bool named = listing_column(&reader->table, "share") >= 0;
    column[ALONE_GOT] = named ? listing_column(&reader->table, "sms") : -1;
    column[ALONE_SMS] =
        named || counts_sms(reader) ? listing_column(&reader->table, "sm_count") : -1;
    /* ParvaGPU's table without a name column is named after its model, and so is any with roles. */
    const bool rated = column[ALONE_RATE] >= 0 &&
                       (reader->named || listing_column(&reader->table, "Mig instance") >= 0);
    return column[ALONE_BATCH] >= 0 &&
           (column[ALONE_MS] >= 0 ? column[ALONE_NAME] >= 0 || reader->named : rated);
}

/* Returns whether every cell from `first` on is a number. */
static bool all_numbers(const struct table_reader *reader, size_t first)
{
    for (size_t i = first; i < reader->table.count; i++) {
        char *end = NULL;
        (void)strtod(reader->table.names[i], &end);
        if (end == reader->table.names[i] || *end != '\0')
            return false;
    }
    return true;
}

/* ---- Whole files ----------------------------------------------------------------------------- */

/* Takes the name bert_base from "…/bs_sm_bert_base.csv". */
static void name_after_file(struct table_reader *reader)
{
    static const char prefix[] = "bs_sm_";
    const bool named = reader->bare != NULL && reader->bare->function != NULL;
    const char *name = named ? reader->bare->function : file_name(reader->path);
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
        name += sizeof prefix - 1;
    (void)snprintf(reader->name, sizeof reader->name, "%.*s", (int)strcspn(name, "."), name);
}

static const char *const dilu_names[] = {"batch", "share_pct", "latency_ms", "Throughput", NULL};
/* Five operators before ResNet-18 at batch 1. */
static const char *const sgprs_names[] = {"sms", "", "", "", "", "", "latency_ms", NULL};
static const char *const infless_names[] = {"model", "vcpu",       "share_pct",
                                            "batch", "latency_ms", NULL};
static const struct bare_table bare_tables[] = {
    {"dilu", "bs_sm_*", NULL, 0, 1, 1e3, 1, NAN, dilu_names},
    {"sgprs", "speedup.*", "resnet18", 68, 1, 1, 1e3, NAN, sgprs_names},
    {"infless", "*-profile-results.*", NULL, 0, 0, 1, 1, 2000, infless_names}};

/* In a file of its published name or by its own, and all cells but those of names are numbers. */
static bool is_bare_as(const struct table_reader *reader, const struct bare_table *bare)
{
    const char *asked = reader->set->format;
    size_t count = 0;
    while (bare->names[count] != NULL)
        count++;
    return count > 0 && reader->table.count == count &&
           all_numbers(reader, strcmp(bare->names[0], alone_names[ALONE_NAME][0]) == 0) &&
           (asked != NULL ? strcmp(asked, bare->format) == 0
                          : fnmatch(bare->pattern, file_name(reader->path), 0) == 0);
}

static bool is_bare(struct table_reader *reader)
{
    for (size_t b = 0; b < sizeof bare_tables / sizeof bare_tables[0]; b++)
        if (is_bare_as(reader, &bare_tables[b]))
            reader->bare = &bare_tables[b];
    if (reader->bare == NULL)
        return false;
    for (size_t i = 0; i < reader->table.count; i++)
        reader->table.names[i] = (char *)(uintptr_t)reader->bare->names[i];
    reader->named = true;
    (void)is_alone(reader);
    reader->unit = reader->bare->unit > 0 ? reader->bare->unit : reader->unit;
    reader->fields = 0;
    return true;
}

/* In the order in which they are tried. */
static const struct format {
    bool (*read)(struct table_reader *reader, struct error *error); /* a row */
    bool (*is)(struct table_reader *reader); /* recognises the first line, sets fields and unit */
    const char *const (*names)[NAMES];       /* or else needed columns */
    size_t fields, needed;
    int unit;
} formats[] = {{read_pair, NULL, pair_names, PAIR_FIELDS, PAIR_FIELDS, PERCENT},
               {read_alone, is_alone, NULL, 0, 0, 0},
               {read_cold, NULL, cold_names, COLD_FIELDS, COLD_RUN, 0},
               {read_group, NULL, group_names, GROUP_FIELDS, GROUP_FIELDS, 0},
               {read_alone, is_bare, NULL, 0, 0, 0}};

static const struct format *format_find(struct table_reader *reader)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct format *format = &formats[i];
        reader->unit = format->unit;
        if (format->is != NULL
                ? format->is(reader)
                : place_columns(reader, format->names, format->fields, format->needed))
            return format;
    }
    return NULL;
}

static bool read_rows(struct table_reader *reader, const struct format *format, struct error *error)
{
    enum line_status status = LINE_READ;
    while ((status = listing_next(&reader->table, error)) == LINE_READ)
        if (!format->read(reader, error))
            return false;
    return status == LINE_END;
}

static void note_left_out(const struct table_reader *reader)
{
    const struct {
        size_t rows;
        const char *why;
    } notes[] = {{reader->saturated, "saturated or out of memory"},
                 {reader->packed, "of several processes in one slice"},
                 {reader->table.unselected, "not selected by --where"}};
    if (reader->unit == PERCENT && reader->most_share > 0 && reader->most_share <= 1)
        samples_note(reader->set,
                     "%s: no share is above 1 %%; if they are fractions, multiply them by 100",
                     reader->path);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].rows > 0)
            samples_note(reader->set, "%s: %zu rows left out, %s", reader->path, notes[i].rows,
                         notes[i].why);
}

static bool unknown_table(const struct table_reader *reader, const char *line, struct error *error)
{
    char advice[640];
    const bool bare = reader->table.json == NULL && all_numbers(reader, reader->table.count > 1);
    if (bare)
        return error_input(error,
                           "%s: has no header; name its columns by --header NAME,NAME,… and "
                           "--columns, or a published form by --format dilu, infless or sgprs",
                           reader->path);
    return error_input(
        error,
        "%s: unknown table of measurements, which needs model, batch and latency_ms; "
        "%s",
        reader->path, listing_advice(reader->path, line, 'm', advice, sizeof advice));
}

/* Recognises the format from the first line. */
static bool read_table(struct table_reader *reader, struct error *error)
{
    char *line = NULL;
    enum line_status status = line_reader_next(&reader->lines, &line, error);
    if (status == LINE_FAULT)
        return false;
    if (status == LINE_END)
        return error_input(error, "%s: is empty; give a table of measurements", reader->path);
    if (strcmp(line, "\211HDF") == 0)
        return error_input(error,
                           "%s: is an HDF5 file, which no longer holds measurements; measure with "
                           "traces/capture/measure.py and give its folder",
                           reader->path);
    if (!listing_open(&reader->table, line, error) || !table_name_columns(reader, error))
        return false;
    const struct format *format = format_find(reader);
    if (format == NULL)
        return unknown_table(reader, line, error);
    if (format->read == read_alone && reader->unit == 0 && counts_sms(reader) &&
        reader->column[ALONE_SMS] < 0)
        return error_input(error,
                           "%s: column 'sms' counts multiprocessors, and nothing says how many the "
                           "GPU has; add a column sm_count, or `esgsim calibrate --sms N`",
                           reader->path);
    if (reader->fields == 0)
        reader->table.pending = line;
    name_after_file(reader);
    if ((reader->unit != 0 && !samples_set_unit(reader->set, reader->unit, reader->path, error)) ||
        (reader->fields != 0 && !table_check_columns(reader, error)) ||
        !read_rows(reader, format, error))
        return false;
    note_left_out(reader);
    return reader->taken > 0 ||
           error_input(error, "%s: has no usable sample%s", reader->path,
                       reader->table.unselected > 0 ? "; --where selects no row" : "");
}

bool sample_table_is(const char *path, const char *line)
{
    struct sample_set set = {.unit = 0};
    struct table_reader reader = {.set = &set, .path = path, .lines.path = path};
    struct error fault = {0};
    reader.table = (struct listing){.lines = &reader.lines, .blanks = true};
    const bool is = !listing_json_begins(line) &&
                    listing_open(&reader.table, (char *)(uintptr_t)line, &fault) &&
                    format_find(&reader) != NULL;
    listing_close(&reader.table);
    return is;
}

bool sample_table_read(struct sample_set *set, const char *path, struct error *error)
{
    struct table_reader reader = {.set = set, .path = path};
    if (!line_reader_take(&reader.lines, set->lines, path, error))
        return false;
    reader.table = (struct listing){.lines = &reader.lines, .options = &set->table, .blanks = true};
    bool fine = read_table(&reader, error);
    listing_close(&reader.table);
    line_reader_close(&reader.lines);
    return fine;
}
