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
    GROUPS_MOST = 1 << 22,
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

#define COLUMN(row, type, member, length, later)                                                   \
    {                                                                                              \
#member, "", "", type, offsetof(struct row, member), length, later                         \
    }
#define TEXT(row, member)                                                                          \
    COLUMN(row, COLUMN_TEXT, member, sizeof(((struct row *)0)->member) - 1, false)
#define WHOLE(row, member) COLUMN(row, COLUMN_I32, member, 1, false)
#define REAL(row, member) COLUMN(row, COLUMN_F64, member, 1, false)

static const struct column latency_columns[] = {
    TEXT(latency_row, network),
    TEXT(latency_row, precision),
    TEXT(latency_row, mechanism),
    WHOLE(latency_row, batch),
    REAL(latency_row, share_percent),
    WHOLE(latency_row, sms),
    REAL(latency_row, ms),
    COLUMN(latency_row, COLUMN_I32, launches, 1, true) /* absent from version 1 */
};
static const struct column colocation_columns[] = {TEXT(colocation_row, network),
                                                   TEXT(colocation_row, precision),
                                                   TEXT(colocation_row, mechanism),
                                                   TEXT(colocation_row, others),
                                                   WHOLE(colocation_row, group),
                                                   WHOLE(colocation_row, batch),
                                                   REAL(colocation_row, share_percent),
                                                   REAL(colocation_row, alone_ms),
                                                   REAL(colocation_row, ms)};
static const struct column cold_start_columns[] = {
    TEXT(cold_start_row, network), TEXT(cold_start_row, precision), TEXT(cold_start_row, part),
    REAL(cold_start_row, ms)};
static const struct column memory_columns[] = {
    TEXT(memory_row, network), TEXT(memory_row, precision), TEXT(memory_row, part),
    WHOLE(memory_row, batch), COLUMN(memory_row, COLUMN_I64, bytes, 1, false)};

#define LAYOUT(row, columns)                                                                       \
    {                                                                                              \
        "", columns, sizeof columns / sizeof columns[0], sizeof(struct row), "the capture tool"    \
    }
static const struct layout latency_layout = LAYOUT(latency_row, latency_columns);
static const struct layout colocation_layout = LAYOUT(colocation_row, colocation_columns);
static const struct layout cold_start_layout = LAYOUT(cold_start_row, cold_start_columns);
static const struct layout memory_layout = LAYOUT(memory_row, memory_columns);

struct capture {
    hid_t file;
    const char *path;
    struct sample_set *set;
    struct capture_options options;
    const char *mechanism;           /* the mechanism to read in addition to "full" */
    int sms;                         /* of the device; 0: not in the file */
    int share_sms[CAPTURE_UNIT + 1]; /* multiprocessors per share; 0: not seen yet */
};

/* Reads a table; a missing table has no rows. */
static bool read_table(const struct capture *capture, const char *name, const struct layout *layout,
                       void **rows, size_t *count, struct error *error)
{
    *rows = NULL;
    *count = 0;
    return H5Lexists(capture->file, name, H5P_DEFAULT) <= 0 ||
           table_read(capture->file, capture->path, name, layout, rows, count, error);
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
    if (!read_table(capture, "latency", &latency_layout, (void **)&rows, &count, error))
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
    if (!read_table(capture, "colocation", &colocation_layout, (void **)&rows, &count, error))
        return false;
    bool fine = true;
    if (count > 0)
        qsort(rows, count, sizeof *rows, compare_colocations);
    for (size_t i = 0; fine && i < count;) {
        size_t end = i + 1;
        while (end < count && compare_victims(&rows[i], &rows[end]) == 0)
            end++;
        if (rows[i].group < 0 || rows[i].group > GROUPS_MOST)
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
    if (!read_table(capture, "cold_start", &cold_start_layout, (void **)&rows, &count, error))
        return false;
    double *values = calloc(count + 1, sizeof *values);
    bool fine = values != NULL || error_run(error, "out of memory for cold starts");
    for (size_t i = 0; values != NULL && fine && i < count; i++) {
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
    if (!read_table(capture, "memory", &memory_layout, (void **)&rows, &count, error))
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
    int version = 0, rehearsal = 0;
    free(format);
    if (!known)
        return error_input(error, "%s: is no capture file; give one that the capture tool wrote",
                           capture->path);
    if (!read_integer(capture->file, "version", &version) || version < 1 || version > VERSION)
        return error_input(error, "%s: has layout version %d, this program reads 1 to %d",
                           capture->path, version, VERSION);
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
