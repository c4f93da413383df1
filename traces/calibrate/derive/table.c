#include "traces/calibrate/derive/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/json/json.h"

static size_t count_of(const char *text, char wanted)
{
    size_t count = 0;
    for (const char *c = text; *c != '\0'; c++)
        count += *c == wanted;
    return count;
}

/* Splits one line at its commas into cells[0..]. Returns the number of cells, at most `limit`. */
static size_t cut_line(char *line, char **cells, size_t limit)
{
    size_t count = 0;
    char *rest = line;
    for (char *cell = strsep(&rest, ","); cell != NULL; cell = strsep(&rest, ",")) {
        if (count < limit)
            cells[count] = cell;
        count++;
    }
    return count;
}

static bool cut_table(struct table *table, struct error *error)
{
    size_t lines = count_of(table->text, '\n') + 1;
    char *rest = table->text;
    char *line = strsep(&rest, "\n");
    table->columns = count_of(line, ',') + 1;
    table->names = calloc(table->columns, sizeof *table->names);
    table->cells = calloc(lines * table->columns, sizeof *table->cells);
    if (table->names == NULL || table->cells == NULL)
        return error_run(error, "%s: out of memory", table->path);
    (void)cut_line(line, table->names, table->columns);
    for (line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (line[0] == '\0')
            continue;
        size_t found = cut_line(line, table->cells + table->rows * table->columns, table->columns);
        if (found != table->columns)
            return error_input(error, "%s: row %zu has %zu cells, the header has %zu", table->path,
                               table->rows + 1, found, table->columns);
        table->rows++;
    }
    return true;
}

static size_t column_of(const struct table *table, const char *name)
{
    size_t i = 0;
    while (i < table->columns && strcmp(table->names[i], name) != 0)
        i++;
    return i;
}

static bool has_columns(const struct table *table, const char *const *needed, struct error *error)
{
    for (size_t i = 0; needed[i] != NULL; i++)
        if (column_of(table, needed[i]) == table->columns)
            return error_input(error, "%s: column \"%s\" is missing", table->path, needed[i]);
    return true;
}

struct table *table_load(const char *folder, const char *name, const char *const *needed,
                         struct error *error)
{
    struct table *table = calloc(1, sizeof *table);
    if (table == NULL || asprintf(&table->path, "%s/%s", folder, name) < 0) {
        error_run(error, "%s/%s: out of memory", folder, name);
        free(table);
        return NULL;
    }
    table->text = json_read_text(table->path, NULL, error);
    if (table->text == NULL || !cut_table(table, error) || !has_columns(table, needed, error)) {
        table_free(table);
        return NULL;
    }
    return table;
}

void table_free(struct table *table)
{
    if (table == NULL)
        return;
    free(table->path);
    free(table->text);
    free(table->names);
    free(table->cells);
    free(table);
}

const char *table_text(const struct table *table, size_t row, const char *column)
{
    return table->cells[row * table->columns + column_of(table, column)];
}

double table_number(const struct table *table, size_t row, const char *column)
{
    const char *text = table_text(table, row, column);
    char *end = NULL;
    double value = strtod(text, &end);
    return end == text || *end != '\0' ? NAN : value;
}

size_t table_find(const struct table *table, const char *column, const char *wanted)
{
    size_t row = 0;
    while (row < table->rows && strcmp(table_text(table, row, column), wanted) != 0)
        row++;
    return row;
}
