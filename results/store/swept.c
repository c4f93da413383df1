#include "results/store/swept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/store/record.h"
#include "sim/base/arena.h"

/* The unit of a key is the last word of its name: "slo.ms", "arrivals.rate_per_s". */
static const char *unit_of(const char *name)
{
    static const struct {
        const char *ending, *unit;
    } units[] = {{"per_s", "1/s"}, {"ns", "ns"}, {"us", "us"},           {"ms", "ms"},
                 {"s", "s"},       {"mb", "MB"}, {"gbps", "10^9 bit/s"}, {"usd", "$"}};
    const size_t length = strlen(name);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        const size_t tail = strlen(units[u].ending);
        if (length > tail && strcmp(name + length - tail, units[u].ending) == 0 &&
            strchr("._", name[length - tail - 1]) != NULL)
            return units[u].unit;
    }
    return "1";
}

static const struct column *shared_column(const char *name)
{
    for (size_t c = 0; c < layout_summary.count; c++)
        if (strcmp(layout_summary.columns[c].name, name) == 0)
            return &layout_summary.columns[c];
    return NULL;
}

bool swept_is_shared(const char *name)
{
    return shared_column(name) != NULL;
}

struct swept_keys *swept_keys_create(void)
{
    return arena_home(sizeof(struct swept_keys));
}

bool swept_keys_add(struct swept_keys *keys, const char *name, bool number, size_t length)
{
    const struct column *shared = shared_column(name);
    if (keys->count == SWEPT_MOST)
        return false;
    struct column column = {.unit = number ? unit_of(name) : "",
                            .help = "set by the sweep; none where it does not",
                            .type = number ? COLUMN_F64 : COLUMN_TEXT,
                            .length = length < 1            ? 1
                                      : length > TEXT_LABEL ? TEXT_LABEL
                                                            : length};
    if (number)
        column.length = 1;
    if (shared != NULL)
        column = *shared;
    column.offset = keys->row_bytes;
    column.name = arena_text(keys->arena, "%s", name);
    *ARENA_NEXT(keys->arena, keys->columns, keys->count) = column;
    keys->row_bytes += column.type == COLUMN_TEXT ? (column.length + 8) / 8 * 8 : 8;
    return true;
}

bool swept_keys_equal(const struct swept_keys *keys, const struct swept_keys *others)
{
    const size_t count = keys == NULL ? 0 : keys->count;
    bool equal = count == (others == NULL ? 0 : others->count);
    for (size_t k = 0; equal && k < count; k++)
        equal = strcmp(keys->columns[k].name, others->columns[k].name) == 0 &&
                keys->columns[k].type == others->columns[k].type &&
                keys->columns[k].length == others->columns[k].length;
    return equal;
}

char *swept_keys_names(const struct swept_keys *keys)
{
    return lines_join(keys->arena, keys->columns, keys->count, sizeof *keys->columns);
}

void swept_row_fill(const struct swept_keys *keys, const char *const *values, void *row)
{
    memset(row, 0, keys->row_bytes);
    for (size_t k = 0; k < keys->count; k++) {
        const struct column *column = &keys->columns[k];
        char *at = (char *)row + column->offset;
        const double number = values[k] == NULL ? NAN : strtod(values[k], NULL);
        if (column->type == COLUMN_TEXT)
            column_copy_text(at, column->length + 1, values[k] == NULL ? "" : values[k]);
        else if (column->type == COLUMN_F64)
            memcpy(at, &number, sizeof number);
    }
}

struct layout *swept_layout(const struct swept_keys *keys)
{
    const size_t most = layout_summary.count + keys->count;
    struct layout *layout = arena_allocate(keys->arena, 1, sizeof *layout);
    struct column *columns = arena_allocate(keys->arena, most, sizeof *columns);
    *layout = layout_summary;
    layout->columns = columns;
    layout->row_bytes = sizeof(struct summary_row) + keys->row_bytes;
    memcpy(columns, layout_summary.columns, layout_summary.count * sizeof *columns);
    for (size_t k = 0; k < keys->count; k++) {
        if (swept_is_shared(keys->columns[k].name))
            continue;
        columns[layout->count] = keys->columns[k];
        columns[layout->count++].offset += sizeof(struct summary_row);
    }
    return layout;
}

void number_text(double value, char text[SWEPT_NUMBER])
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, SWEPT_NUMBER, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

double swept_number(const struct swept_keys *keys, const void *row, size_t index)
{
    const struct column *column = &keys->columns[index];
    const char *at = (const char *)row + column->offset;
    uint64_t count = 0;
    double number = NAN;
    if (column->type == COLUMN_F64)
        memcpy(&number, at, sizeof number);
    if (column->type != COLUMN_U64)
        return number;
    memcpy(&count, at, sizeof count);
    return (double)count;
}

const char *swept_text(const struct swept_keys *keys, const void *row, size_t index,
                       char number[SWEPT_NUMBER])
{
    const struct column *column = &keys->columns[index];
    if (column->type == COLUMN_TEXT)
        return (const char *)row + column->offset;
    const double value = swept_number(keys, row, index);
    number[0] = '\0';
    if (isnan(value))
        return number;
    number_text(value, number);
    return number;
}
