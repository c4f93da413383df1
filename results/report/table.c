#include "results/report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/html.h"
#include "sim/base/array.h"

#define PLUS_MINUS " \xC2\xB1 "
#define SPLIT "\t" /* in a cell, between a mean and what follows it */

enum { INDENT = 2 }; /* of rows below a group */

enum cell_kind { CELL_PLAIN, CELL_NAME, CELL_WORDS, CELL_NUMBER, CELL_ESTIMATE };

struct cell {
    char *text; /* as text prints it; NULL: empty */
    enum cell_kind kind;
    double value; /* of a number: the column sorts by it, */
    int digits;   /* written with so many */
    int decimals; /* of an estimate */
    struct estimate estimate;
    char *seeds; /* NULL: none */
};

struct line {
    char *group; /* NULL: a row of cells */
    struct cell *cells;
};

struct text_table {
    size_t columns;
    struct line *lines; /* the first has the headers */
    size_t count, capacity;
    size_t foot;              /* the first line of the foot; 0: none */
    const char *const *helps; /* NULL: none */
    bool indents;
    const char *group_header; /* NULL: none */
    char *notes;              /* lines; NULL: none */
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

void text_table_indent(struct text_table *table, const char *group_header)
{
    if (table == NULL)
        return;
    table->indents = true;
    table->group_header = group_header;
}

void text_table_helps(struct text_table *table, const char *const *helps)
{
    if (table != NULL)
        table->helps = helps;
}

void text_table_foot(struct text_table *table)
{
    if (table != NULL)
        table->foot = table->count;
}

void text_table_row(struct text_table *table)
{
    struct line *line = line_add(table);
    if (line != NULL && (line->cells = calloc(table->columns, sizeof *line->cells)) == NULL)
        table->short_of_memory = true;
}

/* Replaces the text of a cell of the last row. NULL: memory exhausted. */
__attribute__((format(printf, 4, 0))) static struct cell *
cell_fill(struct text_table *table, size_t column, enum cell_kind kind, const char *format,
          va_list args)
{
    if (table == NULL || table->short_of_memory)
        return NULL;
    struct cell *cell = &table->lines[table->count - 1].cells[column];
    free(cell->text);
    cell->kind = kind;
    if (vasprintf(&cell->text, format, args) < 0) {
        cell->text = NULL;
        table->short_of_memory = true;
        return NULL;
    }
    return cell;
}

void text_table_cell(struct text_table *table, size_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)cell_fill(table, column, CELL_PLAIN, format, args);
    va_end(args);
}

void text_table_name(struct text_table *table, size_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)cell_fill(table, column, CELL_NAME, format, args);
    va_end(args);
}

void text_table_words(struct text_table *table, size_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)cell_fill(table, column, CELL_WORDS, format, args);
    va_end(args);
}

void text_table_number(struct text_table *table, size_t column, double value, int digits,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct cell *cell = cell_fill(table, column, CELL_NUMBER, format, args);
    va_end(args);
    if (cell == NULL)
        return;
    cell->value = value;
    cell->digits = digits;
}

void text_table_add(struct text_table *table, const char *format, ...)
{
    char *text = NULL, *rest, *cell;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    text_table_row(table);
    if (length < 0) {
        if (table != NULL)
            table->short_of_memory = true;
        return;
    }
    rest = text;
    for (size_t c = 0; table != NULL && c < table->columns && (cell = strsep(&rest, "\t")) != NULL;
         c++) {
        const bool none = strcmp(cell, "nan") == 0 || strcmp(cell, "-nan") == 0;
        text_table_cell(table, c, "%s", none ? "-" : cell);
    }
    free(text);
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
    if (isnan(estimate.mean)) {
        text_table_cell(table, column, "-");
        return;
    }
    text_table_cell(table, column, "%.*f%s%s%s", decimals, estimate.mean,
                    interval[0] == '\0' ? "" : SPLIT, interval, of);
    if (table == NULL || table->short_of_memory)
        return;
    struct cell *cell = &table->lines[table->count - 1].cells[column];
    cell->kind = CELL_ESTIMATE;
    cell->estimate = estimate;
    cell->decimals = decimals;
}

void text_table_seeds(struct text_table *table, size_t column, const char *seeds)
{
    if (table == NULL || table->short_of_memory)
        return;
    struct cell *cell = &table->lines[table->count - 1].cells[column];
    free(cell->seeds);
    cell->seeds = strdup(seeds);
    table->short_of_memory = cell->seeds == NULL;
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

static const char *cell_text(const struct cell *cell)
{
    return cell->text == NULL ? "" : cell->text;
}

static struct width *table_measure(const struct text_table *table)
{
    struct width *widths = calloc(table->columns + 1, sizeof *widths);
    for (size_t l = 0; widths != NULL && l < table->count; l++) {
        for (size_t c = 0; table->lines[l].cells != NULL && c < table->columns; c++) {
            const char *cell = cell_text(&table->lines[l].cells[c]);
            const size_t mean = strcspn(cell, SPLIT);
            const size_t left =
                text_width(cell, mean) + (l > 0 && c == 0 && table->indents ? INDENT : 0);
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

static void cell_print(const char *cell, const struct width *width, bool header, bool last,
                       FILE *out)
{
    const size_t mean = strcspn(cell, SPLIT);
    const size_t used = text_width(cell, strlen(cell));
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
    const bool header = line == table->lines;
    const size_t indent = !header && table->indents ? INDENT : 0;
    const char *first = cell_text(&line->cells[0]);
    size_t filled = table->columns;
    while (filled > 1 && cell_text(&line->cells[filled - 1])[0] == '\0')
        filled--;
    const size_t used = indent + text_width(first, strlen(first));
    (void)fprintf(out, "%*s%s%*s", (int)indent, "", first,
                  filled == 1 ? 0 : (int)(widths[0].whole - used), "");
    for (size_t c = 1; c < filled; c++)
        cell_print(cell_text(&line->cells[c]), &widths[c], header, c + 1 == filled, out);
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

/* ---- HTML ------------------------------------------------------------------------------------ */

static void cell_html(const struct cell *cell, FILE *out)
{
    switch (cell->kind) {
    case CELL_ESTIMATE:
        html_cell_estimate(out, cell->estimate, cell->decimals,
                           cell->seeds == NULL ? "" : cell->seeds);
        return;
    case CELL_NAME:
        html_cell_text(out, cell_text(cell));
        return;
    case CELL_WORDS:
        html_cell_words(out, cell_text(cell));
        return;
    case CELL_NUMBER:
        (void)fprintf(out, "<td data-v=\"%.*g\">", cell->digits, cell->value);
        break;
    case CELL_PLAIN:
        (void)fputs("<td>", out);
        break;
    }
    html_text(out, cell_text(cell));
    (void)fputs("</td>", out);
}

/* `group`: the row's; NULL: none. */
static void row_html(const struct text_table *table, const struct line *line, const char *group,
                     FILE *out)
{
    html_row_begin(out);
    if (table->group_header != NULL)
        html_cell_text(out, group);
    if (table->group_header == NULL && group != NULL) {
        const char *first = cell_text(&line->cells[0]);
        (void)fputs("<td>", out);
        html_text(out, group);
        (void)fputs(": ", out);
        html_text(out, first + strspn(first, " "));
        (void)fputs("</td>", out);
    }
    for (size_t c = table->group_header == NULL && group != NULL; c < table->columns; c++)
        cell_html(&line->cells[c], out);
    html_row_end(out);
}

/* Bit c is set if column c has names or words. */
static unsigned text_columns(const struct text_table *table)
{
    unsigned texts = 1U;
    for (size_t l = 1; l < table->count; l++)
        for (size_t c = 0; table->lines[l].cells != NULL && c < table->columns; c++) {
            const enum cell_kind kind = table->lines[l].cells[c].kind;
            if (c < 31 && (kind == CELL_NAME || kind == CELL_WORDS))
                texts |= 1U << c;
        }
    return table->group_header == NULL ? texts : texts << 1U | 1U;
}

static bool table_html(const struct text_table *table, FILE *out)
{
    const size_t led = table->group_header != NULL;
    const char **headers = calloc(2 * (table->columns + led), sizeof *headers);
    const char *group = NULL;
    if (headers == NULL)
        return false;
    const char **helps = headers + table->columns + led;
    headers[0] = table->group_header;
    for (size_t c = 0; c < table->columns; c++) {
        headers[led + c] = cell_text(&table->lines[0].cells[c]);
        helps[led + c] = table->helps == NULL ? NULL : table->helps[c];
    }
    html_table_begin(out, headers, helps, table->columns + led, text_columns(table));
    for (size_t l = 1; l <= table->count; l++) {
        if (l == table->foot)
            html_table_foot(out);
        if (l < table->count && table->lines[l].group != NULL)
            group = table->lines[l].group;
        else if (l < table->count)
            row_html(table, &table->lines[l], group, out);
    }
    html_table_end(out, table->foot > 0);
    free(headers);
    return true;
}

bool text_table_end(struct text_table *table, bool html, FILE *out)
{
    const bool good = table != NULL && !table->short_of_memory &&
                      (html ? table_html(table, out) : text_table_print(table, 0, out));
    text_table_free(table);
    return good;
}

void text_table_free(struct text_table *table)
{
    if (table == NULL)
        return;
    for (size_t l = 0; l < table->count; l++) {
        for (size_t c = 0; table->lines[l].cells != NULL && c < table->columns; c++) {
            free(table->lines[l].cells[c].text);
            free(table->lines[l].cells[c].seeds);
        }
        free(table->lines[l].cells);
        free(table->lines[l].group);
    }
    free(table->lines);
    free(table->notes);
    free(table);
}

void text_print_heading(FILE *out, const char *text)
{
    (void)fprintf(out, "\n== %s ", text);
    for (size_t i = strlen(text) + 4; i < TEXT_LINE_WIDTH; i++)
        (void)fputc('=', out);
    (void)fputc('\n', out);
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
