#include "results/report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array.h"

#define PLUS_MINUS " \xC2\xB1 "

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
        text_table_cell(table, column, "%.*f%s%s", decimals, estimate.mean, interval, of);
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

/* What follows the mean in a cell of the form "mean ± half-width" or "mean [low, high]", with or
 * without "(n of m seeds)"; else NULL. */
static const char *sign_of(const char *cell)
{
    const char *sign = strstr(cell, PLUS_MINUS);
    const bool bracket = sign == NULL && (sign = strstr(cell, " [")) != NULL;
    if (sign == NULL)
        return NULL;
    const char *rest = bracket ? sign + strcspn(sign, "]") : sign + strlen(PLUS_MINUS);
    rest += bracket ? *rest == ']' : (long)strcspn(rest, " ");
    return rest[0] == '\0' || rest[1] == '(' ? sign : NULL;
}

static struct width *table_measure(const struct text_table *table)
{
    struct width *widths = calloc(table->columns + 1, sizeof *widths);
    for (size_t l = 0; widths != NULL && l < table->count; l++) {
        for (size_t c = 0; table->lines[l].cells != NULL && c < table->columns; c++) {
            const char *cell = table->lines[l].cells[c] == NULL ? "" : table->lines[l].cells[c];
            const char *sign = sign_of(cell);
            size_t left = text_width(cell, sign == NULL ? strlen(cell) : (size_t)(sign - cell));
            size_t right = sign == NULL ? 0 : text_width(sign, strlen(sign));
            struct width *width = &widths[c];
            if (l == 0) { /* a header spans both parts */
                width->whole = left;
                continue;
            }
            width->left = left > width->left ? left : width->left;
            width->right = right > width->right ? right : width->right;
            width->brackets = width->brackets || (sign != NULL && sign[1] == '[');
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
    const char *sign = header ? NULL : sign_of(cell);
    size_t used = text_width(cell, strlen(cell));
    if (first) {
        (void)fprintf(out, "%s%*s", cell, last ? 0 : (int)(width->whole - used), "");
        return;
    }
    if (sign != NULL) {
        size_t left = text_width(cell, (size_t)(sign - cell));
        const int before = (int)(width->whole - width->right - left);
        const int pad = (int)(width->right - text_width(sign, strlen(sign)));
        const int between = width->brackets ? 0 : pad;
        (void)fprintf(out, "  %*s%.*s", before, "", (int)(sign - cell), cell);
        (void)fprintf(out, "%s%*s%s", sign[1] == '[' ? " [" : PLUS_MINUS, between, "",
                      sign + strlen(sign[1] == '[' ? " [" : PLUS_MINUS));
        (void)fprintf(out, "%*s", last ? 0 : pad - between, "");
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

const char *text_grouped(uint64_t number, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *to = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

void text_range_widen(uint64_t range[2], uint64_t value)
{
    range[0] = value < range[0] ? value : range[0];
    range[1] = value > range[1] ? value : range[1];
}

void text_range_print(FILE *out, const uint64_t range[2])
{
    char text[32];
    (void)fputs(text_grouped(range[0], text), out);
    if (range[0] != range[1])
        (void)fprintf(out, " to %s", text_grouped(range[1], text));
}
