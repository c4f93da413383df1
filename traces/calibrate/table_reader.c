#include "traces/calibrate/table_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/utf8.h"

/* ---- Cells ----------------------------------------------------------------------------------- */

bool cell_number(const struct table_reader *reader, int column, double low, double high,
                 double *value, struct error *error)
{
    const char *text = reader->table.fields[column];
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

bool cell_integer(const struct table_reader *reader, int column, int low, int high, int *value,
                  struct error *error)
{
    double number = 0;
    if (!cell_number(reader, column, low, high, &number, error))
        return false;
    *value = (int)number;
    return *value == number ||
           line_fault(&reader->lines, error, "column %d: %.40s is not a whole number", column + 1,
                      reader->table.fields[column]);
}

enum { FINEST = 1000 };

/* A share by its name K/N. All names of a set have one N, from which it takes its unit. */
static bool cell_named_share(struct table_reader *reader, const char *text, int *share,
                             struct error *error)
{
    char *end = NULL;
    const long part = strtol(text, &end, 10);
    const long unit = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    if (*end != '\0' || part < 1 || part > unit || unit > FINEST)
        return line_fault(&reader->lines, error, "'%.40s' is no share K/N of at most %d parts",
                          text, FINEST);
    if (!samples_set_unit(reader->set, (int)unit, reader->path, error))
        return false;
    *share = (int)part * (reader->set->unit / (int)unit);
    return true;
}

bool cell_share(struct table_reader *reader, int column, int low, int *share, struct error *error)
{
    static const double rounding = 1e-6;
    struct sample_set *set = reader->set;
    double value = 0;
    char *slice = reader->table.fields[column];
    slice += strspn(slice, "0123456789");
    if (*slice == 'g' && slice > reader->table.fields[column])
        *slice = '\0'; /* a slice of MIG: 3g.20gb */
    if (reader->unit == 0)
        return cell_named_share(reader, reader->table.fields[column], share, error);
    if (!cell_number(reader, column, low, reader->unit, &value, error))
        return false;
    reader->most_share = fmax(reader->most_share, value);
    for (int unit = set->unit; unit <= FINEST || unit == set->unit; unit += set->unit) {
        const double scaled = value * unit / reader->unit;
        if (fabs(scaled - round(scaled)) > rounding)
            continue;
        samples_refine_unit(set, unit);
        *share = (int)round(scaled);
        return true;
    }
    return line_fault(&reader->lines, error,
                      "column %d: a share of %.40s of %d is no whole number of thousandths of the "
                      "GPU; round it",
                      column + 1, reader->table.fields[column], reader->unit);
}

bool cell_function(const struct table_reader *reader, int column, uint32_t *function,
                   struct error *error)
{
    const char *name = column < 0 ? reader->name : reader->table.fields[column];
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
bool cell_optional(const struct table_reader *reader, int column, double low, double high,
                   double *value, struct error *error)
{
    *value = NAN;
    return column < 0 || reader->table.fields[column][0] == '\0' ||
           cell_number(reader, column, low, high, value, error);
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* In the order of sample_roles: the names that the format alone has for them. */
static const char *const role_columns[SAMPLE_ROLES] = {
    "model", "batch",      "latency_ms", "share",  "share_pct", "sms",     "sm_count",
    "slice", "Throughput", "vcpu",       "std_ms", "p95",       "samples", "cold_start_ms"};
const char *const sample_roles[] = {
    "function", "batch",      "latency",    "share",      "share_pct",  "sms",
    "sm_count", "slice",      "throughput", "vcpus",      "std",        "p95",
    "samples",  "cold_start", "latency_s",  "latency_ms", "latency_us", NULL};

bool table_name_columns(struct table_reader *reader, struct error *error)
{
    struct listing *table = &reader->table;
    int places[SAMPLE_ROLES];
    for (size_t r = 0; r < SAMPLE_ROLES; r++)
        if (reader->set->columns[r] != NULL &&
            !listing_place(table, reader->set->columns[r], &places[r], error))
            return false;
    for (size_t r = 0; r < SAMPLE_ROLES; r++) {
        if (reader->set->columns[r] == NULL)
            continue;
        const int old = listing_column(table, role_columns[r]);
        if (old >= 0)
            table->names[old] = (char *)"";
        reader->named = true;
    }
    for (size_t r = 0; r < SAMPLE_ROLES; r++)
        if (reader->set->columns[r] != NULL)
            table->names[places[r]] = (char *)(uintptr_t)role_columns[r];
    return true;
}

/* What published tables have beside configurations and times. None of them tells configurations
 * apart. */
static bool is_known(const char *name)
{
    static const char *const names[] = {
        "throughput_qps",     "throughput_per_s", "throughput_per_proc_s",
        "latency_ms_rounded", "Latency",          "Throughput",
        "l2_util_pct",        "solo1_ms",         "solo2_ms"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_used(const struct table_reader *reader, int column)
{
    for (size_t i = 0; i < reader->fields; i++)
        if (reader->column[i] == column)
            return true;
    for (size_t i = 0; i < reader->set->table.rule_count; i++)
        if (reader->table.places[i] == column)
            return true;
    return is_known(reader->table.names[column]);
}

bool table_check_columns(struct table_reader *reader, struct error *error)
{
    char list[512] = "";
    for (size_t i = 0; i < reader->table.count; i++) {
        const char *name = reader->table.names[i];
        const size_t length = strlen(list);
        if (is_used(reader, (int)i))
            continue;
        if (!reader->named)
            return error_input(error,
                               "%s: column '%.60s' is not known, and rows that differ in it would "
                               "be taken for repeats; select rows by --where '%.60s=VALUE', drop "
                               "it by --ignore '%.60s', or name those that count by --columns",
                               reader->path, name, name, name);
        utf8_mark_cut(list + length, sizeof list - length,
                      snprintf(list + length, sizeof list - length, "%s'%.60s'",
                               length > 0 ? ", " : "", name));
        if (length > sizeof list - 100)
            break;
    }
    if (list[0] != '\0')
        samples_note(reader->set,
                     "%s: columns that --columns does not name are left out: %s; rows that "
                     "differ in them alone are repeats",
                     reader->path, list);
    return true;
}
