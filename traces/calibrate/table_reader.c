#include "traces/calibrate/table_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/utf8.h"

/* ---- Cells ----------------------------------------------------------------------------------- */

bool cell_number(const struct table_reader *reader, int column, double low, double high,
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

bool cell_integer(const struct table_reader *reader, int column, int low, int high, int *value,
                  struct error *error)
{
    double number = 0;
    if (!cell_number(reader, column, low, high, &number, error))
        return false;
    *value = (int)number;
    return *value == number ||
           line_fault(&reader->lines, error, "column %d: %.40s is not a whole number", column + 1,
                      reader->cells[column]);
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
    if (reader->unit == 0)
        return cell_named_share(reader, reader->cells[column], share, error);
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
                      column + 1, reader->cells[column], reader->unit);
}

bool cell_function(const struct table_reader *reader, int column, uint32_t *function,
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
bool cell_optional(const struct table_reader *reader, int column, double low, double high,
                   double *value, struct error *error)
{
    *value = NAN;
    return column < 0 || reader->cells[column][0] == '\0' ||
           cell_number(reader, column, low, high, value, error);
}

/* ---- Columns --------------------------------------------------------------------------------- */

int table_column(const struct table_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->cell_count; i++)
        if (strcmp(reader->cells[i], name) == 0)
            return (int)i;
    return -1;
}

int table_column_any(const struct table_reader *reader, const char *const *names)
{
    int found = -1;
    for (size_t i = 0; found < 0 && names[i] != NULL; i++)
        found = table_column(reader, names[i]);
    return found;
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
    for (size_t i = 0; i < reader->set->filter_count; i++)
        if (reader->filter[i] == column)
            return true;
    return is_known(reader->cells[column]);
}

bool table_check_columns(struct table_reader *reader, struct error *error)
{
    struct sample_set *set = reader->set;
    for (size_t i = 0; i < set->filter_count; i++) {
        reader->filter[i] = table_column(reader, set->filters[i].column);
        set->filters[i].found = set->filters[i].found || reader->filter[i] >= 0;
    }
    for (size_t i = 0; i < reader->cell_count; i++)
        if (!is_used(reader, (int)i))
            return error_input(error,
                               "%s: column '%.60s' is not known, and rows that differ in it would "
                               "be taken for repeats; select rows by --where %.60s=VALUE, or drop "
                               "it by --ignore %.60s",
                               reader->path, reader->cells[i], reader->cells[i], reader->cells[i]);
    return true;
}

/* Equal as text or as numbers. */
static bool is_equal(const char *cell, const char *wanted)
{
    char *ends[2] = {NULL, NULL};
    const double numbers[2] = {strtod(cell, &ends[0]), strtod(wanted, &ends[1])};
    return strcmp(cell, wanted) == 0 || (ends[0] != cell && *ends[0] == '\0' && ends[1] != wanted &&
                                         *ends[1] == '\0' && numbers[0] == numbers[1]);
}

bool table_is_selected(const struct table_reader *reader)
{
    for (size_t i = 0; i < reader->set->filter_count; i++) {
        const struct sample_filter *filter = &reader->set->filters[i];
        if (filter->value != NULL && reader->filter[i] >= 0 &&
            !is_equal(reader->cells[reader->filter[i]], filter->value))
            return false;
    }
    return true;
}
