#include "results/report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array.h"

#define PLUS_MINUS " \xC2\xB1 "
#define SPLIT "\t" /* in a cell, between a mean and what follows it */

struct line {
    char *group;  /* NULL: a row of cells */
    char **cells; /* NULL entries are empty */
};

struct text_table {
    size_t columns;
    struct line *lines; /* the first has the headers */
    size_t count, capacity;
    char *notes; /* lines; NULL: none */
    bool short_of_memory;
};

/* Width of a column: of whole cells, and of the mean and what follows it. */
struct width {
    size_t left, right, whole;
    bool brackets; /* a cell has "[low, high]" */
};

static size_t text_width(const char *text, size_t bytes)
{
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += ((unsigned char)text[i] & 0xC0U) != 0x80U;
    return width;
}

static struct line *line_add(struct text_table *table)
{
    if (table == NULL || table->short_of_memory)
        return NULL;
    if (!array_reserve(&table->lines, &table->capacity, table->count + 1, sizeof *table->lines)) {
        table->short_of_memory = true;
        return NULL;
    }
    struct line *line = &table->lines[table->count++];
    *line = (struct line){0};
    return line;
}

struct text_table *text_table_create(const char *const *headers, size_t columns)
{
    struct text_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->columns = columns;
    text_table_row(table);
    for (size_t c = 0; c < columns; c++)
        text_table_cell(table, c, "%s", headers[c]);
    return table;
}

void text_table_group(struct text_table *table, const char *text)
{
    struct line *line = line_add(table);
    if (line != NULL && (line->group = strdup(text)) == NULL)
        table->short_of_memory = true;
}

void text_table_row(struct text_table *table)
{
    struct line *line = line_add(table);
    if (line != NULL && (line->cells = calloc(table->columns, sizeof *line->cells)) == NULL)
        table->short_of_memory = true;
}

void text_table_cell(struct text_table *table, size_t column, const char *format, ...)
{
    if (table == NULL || table->short_of_memory)
        return;
    char **cell = &table->lines[table->count - 1].cells[column];
    va_list args;
    va_start(args, format);
    free(*cell);
    if (vasprintf(cell, format, args) < 0) {
        *cell = NULL;
        table->short_of_memory = true;
    }
    va_end(args);
}

void interval_text(const struct estimate *estimate, int decimals, char text[INTERVAL_TEXT])
{
    text[0] = '\0';
    if (isnan(estimate->half_width))
        return;
    if (statistics_is_symmetric(estimate, decimals))
        (void)snprintf(text, INTERVAL_TEXT, PLUS_MINUS "%.*f", decimals, estimate->half_width);
    else
        (void)snprintf(text, INTERVAL_TEXT, " [%.*f, %.*f]", decimals, estimate->low, decimals,
                       estimate->high);
}

void text_table_estimate(struct text_table *table, size_t column, struct estimate estimate,
                         int decimals)
{
    char of[64] = "", interval[INTERVAL_TEXT];
    interval_text(&estimate, decimals, interval);
    if (estimate.without > 0)
        (void)snprintf(of, sizeof of, " (%zu of %zu seeds)", estimate.n,
                       estimate.n + estimate.without);
    if (isnan(estimate.mean))
        text_table_cell(table, column, "-");
    else
        text_table_cell(table, column, "%.*f%s%s%s", decimals, estimate.mean,
                        interval[0] == '\0' ? "" : SPLIT, interval, of);
}

void text_table_note(struct text_table *table, const char *format, ...)
{
    if (table == NULL || table->short_of_memory)
        return;
    char *note = NULL, *notes = NULL;
    va_list args;
    va_start(args, format);
    const bool good =
        vasprintf(&note, format, args) >= 0 &&
        asprintf(&notes, "%s%s\n", table->notes == NULL ? "" : table->notes, note) >= 0;
    va_end(args);
    free(note);
    free(table->notes);
    table->notes = good ? notes : NULL;
    table->short_of_memory = !good;
}

static struct width *table_measure(const struct text_table *table)
{
    struct width *widths = calloc(table->columns + 1, sizeof *widths);
    for (size_t l = 0; widths != NULL && l < table->count; l++) {
        for (size_t c = 0; table->lines[l].cells != NULL && c < table->columns; c++) {
            const char *cell = table->lines[l].cells[c] == NULL ? "" : table->lines[l].cells[c];
            const size_t mean = strcspn(cell, SPLIT);
            const size_t left = text_width(cell, mean);
            const size_t right = text_width(cell + mean, strlen(cell + mean)) - (cell[mean] != 0);
            struct width *width = &widths[c];
            if (l == 0) { /* a header spans both parts */
                width->whole = left;
                continue;
            }
            width->left = left > width->left ? left : width->left;
            width->right = right > width->right ? right : width->right;
            width->brackets = width->brackets || strstr(cell, SPLIT " [") != NULL;
        }
    }
    for (size_t c = 0; widths != NULL && c < table->columns; c++)
        if (widths[c].left + widths[c].right > widths[c].whole)
            widths[c].whole = widths[c].left + widths[c].right;
    return widths;
}

static void cell_print(const char *cell, const struct width *width, bool header, bool first,
                       bool last, FILE *out)
{
    const size_t mean = strcspn(cell, SPLIT);
    const size_t used = text_width(cell, strlen(cell));
    if (first) {
        (void)fprintf(out, "%s%*s", cell, last ? 0 : (int)(width->whole - used), "");
        return;
    }
    if (cell[mean] != '\0') {
        const char *rest = cell + mean + strlen(SPLIT);
        const int before = (int)(width->whole - width->right - text_width(cell, mean));
        const int pad = (int)(width->right - text_width(rest, strlen(rest)));
        const int between = width->brackets ? 0 : pad;
        (void)fprintf(out, "  %*s%.*s%.*s%*s%s%*s", before, "", (int)mean, cell,
                      (int)strlen(PLUS_MINUS), rest, between, "", rest + strlen(PLUS_MINUS),
                      last ? 0 : pad - between, "");
        return;
    }
    size_t after = header ? 0 : width->right;
    (void)fprintf(out, "  %*s%s%*s", (int)(width->whole - after - used), "", cell,
                  last ? 0 : (int)after, "");
}

/* A row ends with its last filled cell, without trailing blanks. */
static void row_print(const struct text_table *table, const struct line *line,
                      const struct width *widths, FILE *out)
{
    size_t filled = table->columns;
    while (filled > 1 && line->cells[filled - 1] == NULL)
        filled--;
    for (size_t c = 0; c < filled; c++)
        cell_print(line->cells[c] == NULL ? "" : line->cells[c], &widths[c], line == table->lines,
                   c == 0, c + 1 == filled, out);
}

bool text_table_print(const struct text_table *table, int indent, FILE *out)
{
    struct width *widths = table == NULL || table->short_of_memory ? NULL : table_measure(table);
    if (widths == NULL)
        return false;
    size_t total = 2 * (table->columns - 1);
    for (size_t c = 0; c < table->columns; c++)
        total += widths[c].whole;
    for (size_t l = 0; l < table->count; l++) {
        const struct line *line = &table->lines[l];
        (void)fprintf(out, "%*s", indent, "");
        if (line->group != NULL)
            (void)fputs(line->group, out);
        else
            row_print(table, line, widths, out);
        (void)fputc('\n', out);
        if (l == 0) {
            (void)fprintf(out, "%*s", indent, "");
            for (size_t i = 0; i < total; i++)
                (void)fputc('-', out);
            (void)fputc('\n', out);
        }
    }
    if (table->notes != NULL)
        (void)fprintf(out, "\n%s", table->notes);
    free(widths);
    return true;
}

void text_table_free(struct text_table *table)
{
    if (table == NULL)
        return;
    for (size_t l = 0; l < table->count; l++) {
        for (size_t c = 0; table->lines[l].cells != NULL && c < table->columns; c++)
            free(table->lines[l].cells[c]);
        free(table->lines[l].cells);
        free(table->lines[l].group);
    }
    free(table->lines);
    free(table->notes);
    free(table);
}

void text_print_filled(FILE *out, const char *head, const char *text)
{
    size_t used = strlen(head);
    bool first = true;
    (void)fputs(head, out);
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (!first && used + 1 + word > TEXT_LINE_WIDTH) {
            (void)fputs("\n ", out);
            used = 1;
        }
        used += (size_t)fprintf(out, "%s%.*s", first ? "" : " ", (int)word, text);
        first = false;
        text += word;
        text += strspn(text, " ");
    }
    (void)fputc('\n', out);
}

int text_table_decimals(double largest, int digits)
{
    if (!(fabs(largest) > 0) || isinf(largest))
        return 1;
    int decimals = digits - 1 - (int)floor(log10(fabs(largest)));
    return decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
}

void text_range_widen(struct text_range *range, uint64_t value)
{
    range->low = value < range->low ? value : range->low;
    range->high = value > range->high ? value : range->high;
}

const char *text_range(const struct text_range *range, bool grouped, char text[RANGE_TEXT])
{
    char plain[RANGE_TEXT];
    char *to = text;
    const int used = snprintf(plain, sizeof plain, "%" PRIu64, range->low);
    if (range->low != range->high)
        (void)snprintf(plain + used, sizeof plain - (size_t)used, " to %" PRIu64, range->high);
    for (const char *at = plain; *at != '\0'; *to++ = *at++) {
        const size_t digits = strspn(at, "0123456789");
        if (grouped && at > plain && at[-1] != ' ' && digits > 0 && digits % 3 == 0)
            *to++ = ',';
    }
    *to = '\0';
    return text;
}
