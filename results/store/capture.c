#include "results/store/capture.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <hdf5.h>

#include "results/store/hdf5_table.h"

/* Sizes of texts in the file, including a NUL. */
enum {
    TEXT_SIZE = 33,
    LONG_SIZE = 257,
    NAME_SIZE = 2 * TEXT_SIZE,
    ROWS_MOST = 1 << 22,
    VERSION = 2 /* the latest; version 1 has no launches */
};

static const double BYTES_PER_MB = 1024.0 * 1024.0;

struct latency_row {
    char network[TEXT_SIZE], precision[TEXT_SIZE], mechanism[TEXT_SIZE];
    int batch, sms, launches;
    double share_percent, ms;
};

struct colocation_row {
    char network[TEXT_SIZE], precision[TEXT_SIZE], mechanism[TEXT_SIZE], others[LONG_SIZE];
    int group, batch;
    double share_percent, alone_ms, ms;
};

struct cold_start_row {
    char network[TEXT_SIZE], precision[TEXT_SIZE], part[TEXT_SIZE];
    double ms;
};

struct memory_row {
    char network[TEXT_SIZE], precision[TEXT_SIZE], part[TEXT_SIZE];
    int batch;
    int64_t bytes;
};

enum field_type { FIELD_TEXT, FIELD_INT, FIELD_I64, FIELD_F64 };

struct field {
    const char *name;
    enum field_type type;
    size_t offset, size;
};

#define TEXT(row, name)                                                                            \
    {                                                                                              \
#name, FIELD_TEXT, offsetof(struct row, name), sizeof((struct row *)0)->name               \
    }
#define INT(row, name)                                                                             \
    {                                                                                              \
#name, FIELD_INT, offsetof(struct row, name), sizeof(int)                                  \
    }
#define I64(row, name)                                                                             \
    {                                                                                              \
#name, FIELD_I64, offsetof(struct row, name), sizeof(int64_t)                              \
    }
#define F64(row, name)                                                                             \
    {                                                                                              \
#name, FIELD_F64, offsetof(struct row, name), sizeof(double)                               \
    }

/* Version 1 lacks the last field. */
static const struct field latency_fields[] = {
    TEXT(latency_row, network), TEXT(latency_row, precision),    TEXT(latency_row, mechanism),
    INT(latency_row, batch),    F64(latency_row, share_percent), INT(latency_row, sms),
    F64(latency_row, ms),       INT(latency_row, launches)};
static const struct field colocation_fields[] = {TEXT(colocation_row, network),
                                                 TEXT(colocation_row, precision),
                                                 TEXT(colocation_row, mechanism),
                                                 TEXT(colocation_row, others),
                                                 INT(colocation_row, group),
                                                 INT(colocation_row, batch),
                                                 F64(colocation_row, share_percent),
                                                 F64(colocation_row, alone_ms),
                                                 F64(colocation_row, ms)};
static const struct field cold_start_fields[] = {
    TEXT(cold_start_row, network), TEXT(cold_start_row, precision), TEXT(cold_start_row, part),
    F64(cold_start_row, ms)};
static const struct field memory_fields[] = {TEXT(memory_row, network), TEXT(memory_row, precision),
                                             TEXT(memory_row, part), INT(memory_row, batch),
                                             I64(memory_row, bytes)};

struct capture {
    hid_t file;
    const char *path;
    struct sample_set *set;
    struct capture_options options;
    int version;                     /* of the file's layout */
    const char *mechanism;           /* the mechanism to read in addition to "full" */
    int sms;                         /* of the device; 0: not in the file */
    int share_sms[CAPTURE_UNIT + 1]; /* multiprocessors per share; 0: not seen yet */
};

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Reads texts in the character set of the file, because HDF5 does not convert between them. */
static hid_t field_type(const struct field *field, hid_t stored)
{
    switch (field->type) {
    case FIELD_INT:
        return H5Tcopy(H5T_NATIVE_INT);
    case FIELD_I64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case FIELD_F64:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case FIELD_TEXT:
        break;
    }
    hid_t type = H5Tcopy(H5T_C_S1);
    hid_t text = H5Tget_member_type(stored, (unsigned)H5Tget_member_index(stored, field->name));
    (void)H5Tset_size(type, field->size);
    (void)H5Tset_cset(type, H5Tget_cset(text));
    (void)H5Tclose(text);
    return type;
}

static hid_t row_type(const struct field *fields, size_t count, size_t row_bytes, hid_t stored)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, row_bytes);
    for (size_t i = 0; i < count; i++) {
        hid_t member = field_type(&fields[i], stored);
        (void)H5Tinsert(type, fields[i].name, fields[i].offset, member);
        (void)H5Tclose(member);
    }
    return type;
}

/* Checks that the stored rows have all fields, of convertible classes. */
static bool check_fields(const struct capture *capture, const char *name, hid_t stored,
                         const struct field *fields, size_t count, struct error *error)
{
    if (H5Tget_class(stored) != H5T_COMPOUND)
        return error_input(error, "%s: /%s is no table", capture->path, name);
    for (size_t i = 0; i < count; i++) {
        int index = H5Tget_member_index(stored, fields[i].name);
        H5T_class_t found = index < 0 ? H5T_NO_CLASS : H5Tget_member_class(stored, (unsigned)index);
        H5T_class_t wanted = fields[i].type == FIELD_TEXT  ? H5T_STRING
                             : fields[i].type == FIELD_F64 ? H5T_FLOAT
                                                           : H5T_INTEGER;
        if (found != wanted)
            return error_input(error, "%s: /%s has no column \"%s\" that can be read",
                               capture->path, name, fields[i].name);
    }
    return true;
}

static bool read_rows(const struct capture *capture, hid_t dataset, const char *name,
                      const struct field *fields, size_t field_count, size_t row_bytes, void **rows,
                      size_t *count, struct error *error)
{
    hid_t stored = H5Dget_type(dataset);
    hid_t space = H5Dget_space(dataset);
    hssize_t length = H5Sget_simple_extent_npoints(space);
    bool fine = check_fields(capture, name, stored, fields, field_count, error);
    if (fine && (length < 0 || length > ROWS_MOST))
        fine = error_input(error, "%s: /%s has more than %d rows", capture->path, name, ROWS_MOST);
    if (fine && !hdf5_rows_are_held(dataset, stored, length))
        fine = error_input(error, "%s: /%s should have %lld rows but holds fewer; capture it again",
                           capture->path, name, (long long)length);
    if (fine) {
        hid_t type = row_type(fields, field_count, row_bytes, stored);
        *count = (size_t)length;
        *rows = calloc(*count + 1, row_bytes);
        fine = *rows != NULL &&
               (length == 0 || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *rows) >= 0);
        (void)H5Tclose(type);
        if (!fine) {
            free(*rows);
            *rows = NULL;
            error_input(error, "%s: /%s cannot be read; is the file damaged?", capture->path, name);
        }
    }
    (void)H5Sclose(space);
    (void)H5Tclose(stored);
    return fine;
}

/* Reads a table; a missing table has no rows. */
static bool read_table(const struct capture *capture, const char *name, const struct field *fields,
                       size_t field_count, size_t row_bytes, void **rows, size_t *count,
                       struct error *error)
{
    *rows = NULL;
    *count = 0;
    if (H5Lexists(capture->file, name, H5P_DEFAULT) <= 0)
        return true;
    hid_t dataset = H5Dopen2(capture->file, name, H5P_DEFAULT);
    if (dataset < 0)
        return error_input(error, "%s: /%s is no table", capture->path, name);
    bool fine =
        read_rows(capture, dataset, name, fields, field_count, row_bytes, rows, count, error);
    (void)H5Dclose(dataset);
    return fine;
}

/* ---- Configurations -------------------------------------------------------------------------- */

static bool is_wanted(const struct capture *capture, const char *precision)
{
    return capture->options.precision == NULL || strcmp(precision, capture->options.precision) == 0;
}

static bool is_mechanism(const struct capture *capture, const char *mechanism)
{
    return strcmp(mechanism, "full") == 0 || strcmp(mechanism, capture->mechanism) == 0;
}

static bool find_function(const struct capture *capture, const char *network, const char *precision,
                          uint32_t *function, struct error *error)
{
    char name[NAME_SIZE];
    if (network[0] == '\0')
        return error_input(error, "%s: a row has no network", capture->path);
    (void)snprintf(name, sizeof name, "%s%s%s", network,
                   capture->options.precision == NULL ? "-" : "",
                   capture->options.precision == NULL ? precision : "");
    return samples_function(capture->set, name, function, error);
}

static bool read_share(const struct capture *capture, double percent, int *share,
                       struct error *error)
{
    static const double tolerance = 0.01;
    double exact = percent / 100 * CAPTURE_UNIT;
    if (!(exact >= 1 && exact <= CAPTURE_UNIT + tolerance) ||
        fabs(exact - round(exact)) > tolerance)
        return error_input(error, "%s: a share of %g %% is neither whole nor a seventh",
                           capture->path, percent);
    *share = (int)round(exact);
    return true;
}

static bool check_time(const struct capture *capture, const char *table, int batch, double ms,
                       struct error *error)
{
    return (batch >= 1 && batch <= UINT16_MAX && ms > 0 && isfinite(ms)) ||
           error_input(error, "%s: /%s has a row with batch %d and %g ms; both must be above 0",
                       capture->path, table, batch, ms);
}

/* ---- Latencies ------------------------------------------------------------------------------- */

static void choose_mechanism(struct capture *capture, const struct latency_row *rows, size_t count)
{
    capture->mechanism = capture->options.mechanism;
    for (size_t i = 0; capture->mechanism == NULL && i < count; i++)
        if (strcmp(rows[i].mechanism, "mps") == 0)
            capture->mechanism = "mps";
    if (capture->mechanism == NULL)
        capture->mechanism = "green";
}

/* Sets the sample's fraction of the multiprocessors. It is unknown under MPS, where a percentage of
 * threads does not correspond to a set of multiprocessors. */
static bool read_part(struct capture *capture, const struct latency_row *row,
                      struct latency_sample *sample, struct error *error)
{
    if (capture->sms == 0 || row->sms == 0 || strcmp(row->mechanism, "mps") == 0)
        return true;
    if (row->sms < 0 || row->sms > capture->sms)
        return error_input(error, "%s: /latency has a row on %d multiprocessors; the device has %d",
                           capture->path, row->sms, capture->sms);
    int *before = &capture->share_sms[sample->share];
    if (*before != 0 && *before != row->sms)
        return error_input(error,
                           "%s: /latency has a share of %g %% that came to %d multiprocessors and "
                           "to %d; capture both anew",
                           capture->path, row->share_percent, *before, row->sms);
    *before = row->sms;
    sample->part = (double)row->sms / capture->sms;
    return true;
}

static bool take_latencies(struct capture *capture, struct error *error)
{
    struct latency_row *rows = NULL;
    size_t count = 0;
    size_t taken = 0;
    const size_t fields =
        sizeof latency_fields / sizeof latency_fields[0] - (capture->version < VERSION);
    if (!read_table(capture, "latency", latency_fields, fields, sizeof *rows, (void **)&rows,
                    &count, error))
        return false;
    bool fine = true;
    choose_mechanism(capture, rows, count);
    for (size_t i = 0; fine && i < count; i++) {
        struct latency_sample sample = {
            .batch = rows[i].batch, .vcpu = 1, .ms = rows[i].ms, .repeats = 1, .cv = NAN};
        if (!is_wanted(capture, rows[i].precision) || !is_mechanism(capture, rows[i].mechanism))
            continue;
        taken++;
        fine =
            check_time(capture, "latency", rows[i].batch, rows[i].ms, error) &&
            read_share(capture, rows[i].share_percent, &sample.share, error) &&
            read_part(capture, &rows[i], &sample, error) &&
            find_function(capture, rows[i].network, rows[i].precision, &sample.function, error) &&
            samples_add_latency(capture->set, &sample, error);
        if (fine && rows[i].launches > 0)
            capture->set->facts[sample.function].launches = rows[i].launches;
    }
    free(rows);
    if (fine && taken == 0)
        return error_input(error, "%s: /latency has no sample that is asked for", capture->path);
    return !fine || taken == count ||
                   samples_note(capture->set, error,
                                "%s: %zu latencies left out, of another precision or mechanism",
                                capture->path, count - taken)
               ? fine
               : false;
}

/* ---- Co-locations ---------------------------------------------------------------------------- */

static int compare_victims(const struct colocation_row *a, const struct colocation_row *b)
{
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    int order = strcmp(a->network, b->network);
    order = order != 0 ? order : strcmp(a->precision, b->precision);
    order = order != 0 ? order : strcmp(a->others, b->others);
    if (order != 0 || a->batch != b->batch)
        return order != 0 ? order : a->batch < b->batch ? -1 : 1;
    return (a->share_percent > b->share_percent) - (a->share_percent < b->share_percent);
}

static int compare_colocations(const void *left, const void *right)
{
    const struct colocation_row *a = left;
    const struct colocation_row *b = right;
    int order = compare_victims(a, b);
    return order != 0 ? order : (a->ms > b->ms) - (a->ms < b->ms);
}

/* Parses one entry of "NETWORK:BATCH:SHARE+…". */
static bool take_other(struct capture *capture, const struct colocation_row *victim, char *text,
                       struct co_run *run, struct error *error)
{
    char *batch = strchr(text, ':');
    char *share = batch == NULL ? NULL : strchr(batch + 1, ':');
    if (share == NULL)
        return error_input(error, "%s: /colocation: '%.60s' is no NETWORK:BATCH:SHARE",
                           capture->path, text);
    *batch = '\0';
    run->batch = (int)strtol(batch + 1, NULL, 10);
    run->slowdown = run->cv = NAN;
    return check_time(capture, "colocation", run->batch, 1, error) &&
           read_share(capture, strtod(share + 1, NULL), &run->share, error) &&
           find_function(capture, text, victim->precision, &run->function, error) &&
           samples_add_co_run(capture->set, run, error);
}

/* Adds one victim, whose `count` samples begin at `first` and are sorted by time, and its
 * co-runners. */
static bool take_victim(struct capture *capture, const struct colocation_row *first, size_t count,
                        struct error *error)
{
    struct co_run run = {.group = capture->set->groups,
                         .location = (uint32_t)first->group,
                         .batch = first->batch,
                         .cv = NAN};
    char others[LONG_SIZE];
    char *rest = others;
    double ms =
        count % 2 == 1 ? first[count / 2].ms : (first[count / 2 - 1].ms + first[count / 2].ms) / 2;
    run.slowdown = ms / first->alone_ms;
    memcpy(others, first->others, sizeof others);
    if (!check_time(capture, "colocation", first->batch, first->alone_ms, error) ||
        !check_time(capture, "colocation", first->batch, ms, error) ||
        !read_share(capture, first->share_percent, &run.share, error) ||
        !find_function(capture, first->network, first->precision, &run.function, error) ||
        !samples_add_co_run(capture->set, &run, error))
        return false;
    for (char *other = strsep(&rest, "+"); other != NULL; other = strsep(&rest, "+"))
        if (!take_other(capture, first, other, &run, error))
            return false;
    return true;
}

static bool take_colocations(struct capture *capture, struct error *error)
{
    struct colocation_row *rows = NULL;
    size_t count = 0;
    if (!read_table(capture, "colocation", colocation_fields,
                    sizeof colocation_fields / sizeof colocation_fields[0], sizeof *rows,
                    (void **)&rows, &count, error))
        return false;
    bool fine = true;
    if (count > 0)
        qsort(rows, count, sizeof *rows, compare_colocations);
    for (size_t i = 0; fine && i < count;) {
        size_t end = i + 1;
        while (end < count && compare_victims(&rows[i], &rows[end]) == 0)
            end++;
        if (rows[i].group < 0 || rows[i].group > ROWS_MOST)
            fine = error_input(error, "%s: /colocation has group %d", capture->path, rows[i].group);
        else if (rows[i].others[0] != '\0' && is_wanted(capture, rows[i].precision) &&
                 is_mechanism(capture, rows[i].mechanism))
            fine = take_victim(capture, &rows[i], end - i, error);
        i = end;
    }
    free(rows);
    return fine;
}

/* ---- Cold starts and memory ------------------------------------------------------------------ */

/* Computes the mean and coefficient of variation of each function's "total". */
static bool take_cold_starts(struct capture *capture, struct error *error)
{
    struct cold_start_row *rows = NULL;
    size_t count = 0;
    if (!read_table(capture, "cold_start", cold_start_fields,
                    sizeof cold_start_fields / sizeof cold_start_fields[0], sizeof *rows,
                    (void **)&rows, &count, error))
        return false;
    double *values = calloc(count + 1, sizeof *values);
    bool fine = values != NULL || error_run(error, "out of memory for cold starts");
    for (size_t i = 0; fine && i < count; i++) {
        uint32_t function = 0;
        size_t found = 0;
        if (strcmp(rows[i].part, "total") != 0 || !is_wanted(capture, rows[i].precision))
            continue;
        fine = find_function(capture, rows[i].network, rows[i].precision, &function, error);
        if (!fine || !isnan(capture->set->facts[function].cold_start_ms))
            continue;
        for (size_t j = i; j < count; j++)
            if (strcmp(rows[j].part, "total") == 0 &&
                strcmp(rows[j].network, rows[i].network) == 0 &&
                strcmp(rows[j].precision, rows[i].precision) == 0)
                values[found++] = rows[j].ms;
        struct function_facts *facts = &capture->set->facts[function];
        facts->cold_start_ms = gsl_stats_mean(values, 1, found);
        if (found > 1)
            facts->cold_start_cv = gsl_stats_sd(values, 1, found) / facts->cold_start_ms;
    }
    free(values);
    free(rows);
    return fine;
}

/* Adds the context of an idle process without a network, because every container has one. */
static void add_idle_context(const struct capture *capture, const struct memory_row *rows,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].part, "context") != 0 || rows[i].network[0] != '\0')
            continue;
        for (size_t f = 0; f < capture->set->functions.count; f++)
            capture->set->facts[f].weights_mb += (double)rows[i].bytes / BYTES_PER_MB;
        return;
    }
}

/* Resident memory is the sum over its parts. Activations are taken from the largest batch. */
static bool take_memory(struct capture *capture, struct error *error)
{
    struct memory_row *rows = NULL;
    size_t count = 0;
    if (!read_table(capture, "memory", memory_fields,
                    sizeof memory_fields / sizeof memory_fields[0], sizeof *rows, (void **)&rows,
                    &count, error))
        return false;
    static const char *const resident[] = {"context", "module", "weights"};
    bool fine = true;
    for (size_t part = 0; fine && part < 3; part++)
        for (size_t i = 0; fine && i < count; i++) {
            uint32_t function = 0;
            bool seen = false;
            if (strcmp(rows[i].part, resident[part]) != 0 ||
                !is_wanted(capture, rows[i].precision) || rows[i].network[0] == '\0')
                continue;
            for (size_t j = 0; !seen && j < i; j++)
                seen = strcmp(rows[j].part, rows[i].part) == 0 &&
                       strcmp(rows[j].network, rows[i].network) == 0 &&
                       strcmp(rows[j].precision, rows[i].precision) == 0;
            fine = find_function(capture, rows[i].network, rows[i].precision, &function, error);
            if (!fine || seen)
                continue;
            struct function_facts *facts = &capture->set->facts[function];
            facts->weights_mb = (isnan(facts->weights_mb) ? 0 : facts->weights_mb) +
                                (double)rows[i].bytes / BYTES_PER_MB;
        }
    add_idle_context(capture, rows, count);
    for (size_t i = 0; fine && i < count; i++) {
        uint32_t function = 0;
        int most = 0;
        if (strcmp(rows[i].part, "activations") != 0 || !is_wanted(capture, rows[i].precision) ||
            rows[i].batch < 1)
            continue;
        for (size_t j = 0; j < count; j++)
            if (strcmp(rows[j].part, "activations") == 0 && rows[j].batch > most &&
                strcmp(rows[j].network, rows[i].network) == 0 &&
                strcmp(rows[j].precision, rows[i].precision) == 0)
                most = rows[j].batch;
        fine = find_function(capture, rows[i].network, rows[i].precision, &function, error);
        if (fine && rows[i].batch == most)
            capture->set->facts[function].per_item_mb = (double)rows[i].bytes / BYTES_PER_MB / most;
    }
    free(rows);
    return fine;
}

/* ---- The file -------------------------------------------------------------------------------- */

static bool read_integer(hid_t file, const char *name, int *value)
{
    uint64_t number = 0;
    if (!hdf5_get_u64(file, name, &number) || number > INT_MAX)
        return false;
    *value = (int)number;
    return true;
}

static bool check_format(struct capture *capture, struct error *error)
{
    char *format = hdf5_get_text(capture->file, "format");
    bool known = format != NULL && strcmp(format, "esgsim-capture") == 0;
    int rehearsal = 0;
    free(format);
    if (!known)
        return error_input(error, "%s: is no capture file; give one that the capture tool wrote",
                           capture->path);
    if (!read_integer(capture->file, "version", &capture->version) || capture->version < 1 ||
        capture->version > VERSION)
        return error_input(error, "%s: has layout version %d, this program reads 1 to %d",
                           capture->path, capture->version, VERSION);
    (void)read_integer(capture->file, "rehearsal", &rehearsal);
    if (rehearsal != 0 && !capture->options.rehearsal)
        return error_input(error,
                           "%s: is a rehearsal, drawn from a formula and not measured; give "
                           "--rehearsal to try it all the same",
                           capture->path);
    if (rehearsal == 0)
        return true;
    return samples_set_text(&capture->set->evidence,
                            "rehearsal: drawn from a formula, not measured", error);
}

static bool take_origin(const struct capture *capture, struct error *error)
{
    char *device = hdf5_get_text(capture->file, "device");
    char *date = hdf5_get_text(capture->file, "date");
    char *text = NULL;
    bool fine =
        asprintf(&text, "%s, shares by %s", device == NULL ? "unknown device" : device,
                 capture->mechanism) >= 0 &&
        (capture->set->device != NULL || samples_set_text(&capture->set->device, text, error));
    free(text);
    text = NULL;
    fine = fine &&
           asprintf(&text, "captured by esgsim%s%s", date == NULL ? "" : " on ",
                    date == NULL ? "" : date) >= 0 &&
           (capture->set->source != NULL || samples_set_text(&capture->set->source, text, error));
    free(text);
    free(device);
    free(date);
    return fine;
}

bool capture_is_hdf5(const char *path)
{
    hdf5_silence();
    return H5Fis_hdf5(path) > 0;
}

bool capture_read(struct sample_set *set, const char *path, const struct capture_options *options,
                  struct error *error)
{
    struct capture capture = {.path = path, .set = set, .options = *options};
    hdf5_silence();
    capture.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (capture.file < 0)
        return error_input(error, "%s: cannot be opened as HDF5", path);
    (void)read_integer(capture.file, "sms", &capture.sms);
    bool fine = check_format(&capture, error) && samples_set_unit(set, CAPTURE_UNIT, path, error) &&
                take_latencies(&capture, error) && take_colocations(&capture, error) &&
                take_cold_starts(&capture, error) && take_memory(&capture, error) &&
                take_origin(&capture, error);
    (void)H5Fclose(capture.file);
    return fine;
}
