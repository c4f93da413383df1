#include "results/report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "results/report/html.h"
#include "sim/base/arena.h"
#include "sim/base/text.h"

#define PLUS_MINUS " \xC2\xB1 "
#define SPLIT "\t" /* in a cell, between a mean and what follows it */

enum { INDENT = 2 }; /* of rows below a group */

struct cell {
    char *text; /* as text prints it; NULL: empty */
    enum text_cell kind;
    double value; /* of a number: the column sorts by it, */
    int digits;   /* written with so many */
    int decimals; /* of an estimate */
    struct estimate estimate;
    const char *seeds; /* NULL: none */
};

struct line {
    const char *group; /* NULL: a row of cells */
    struct cell *cells;
};

struct text_table {
    struct arena *arena;
    size_t columns;
    struct line *lines; /* first those of the headers, one until they are folded */
    size_t headers;
    size_t count;
    size_t foot;              /* the first line of the foot; 0: none */
    const char *const *helps; /* NULL: none */
    bool indents;
    bool dense;               /* may have one blank between columns, not two */
    int gap;                  /* blanks between columns */
    const char *group_header; /* NULL: none */
    char *notes;              /* lines; NULL: none */
};

/* Width of a column: of whole cells, and of the mean and what follows it. */
struct width {
    size_t left, right, whole;
    bool brackets; /* a cell has "[low, high]" */
};

static struct line *line_add(struct text_table *table)
{
    return ARENA_NEXT(table->arena, table->lines, table->count);
}

struct text_table *text_table_create(const char *const *headers, size_t columns)
{
    struct text_table *table = arena_home(sizeof *table);
    table->columns = columns;
    table->gap = 2;
    table->headers = 1;
    text_table_row(table);
    for (size_t c = 0; c < columns; c++)
        text_table_cell(table, c, "%s", headers[c]);
    return table;
}

void text_table_group(struct text_table *table, const char *text)
{
    line_add(table)->group = arena_text(table->arena, "%s", text);
}

void text_table_indent(struct text_table *table, const char *group_header)
{
    table->indents = true;
    table->group_header = group_header;
}

void text_table_dense(struct text_table *table)
{
    table->dense = true;
}

void text_table_helps(struct text_table *table, const char *const *helps)
{
    table->helps = helps;
}

void text_table_foot(struct text_table *table)
{
    table->foot = table->count;
}

void text_table_row(struct text_table *table)
{
    line_add(table)->cells =
        arena_allocate(table->arena, table->columns, sizeof *table->lines->cells);
}

static struct cell *cell_at(struct text_table *table, size_t column)
{
    return &table->lines[table->count - 1].cells[column];
}

/* Replaces the text of a cell of the last row. */
__attribute__((format(printf, 4, 0))) static struct cell *
cell_fill(struct text_table *table, size_t column, enum text_cell kind, const char *format,
          va_list args)
{
    struct cell *cell = cell_at(table, column);
    cell->kind = kind;
    cell->text = NULL;
    arena_append_of(table->arena, &cell->text, format, args);
    return cell;
}

void text_table_put(struct text_table *table, size_t column, enum text_cell kind,
                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cell_fill(table, column, kind, format, args);
    va_end(args);
}

void text_table_number(struct text_table *table, size_t column, double value, int digits,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct cell *cell = cell_fill(table, column, CELL_NUMBER, format, args);
    va_end(args);
    cell->value = value;
    cell->digits = digits;
}

void text_table_add(struct text_table *table, const char *format, ...)
{
    char *rest = NULL, *cell;
    va_list args;
    va_start(args, format);
    arena_append_of(table->arena, &rest, format, args);
    va_end(args);
    text_table_row(table);
    for (size_t c = 0; c < table->columns && (cell = strsep(&rest, "\t")) != NULL; c++) {
        const bool none = strcmp(cell + strspn(cell, "+-"), "nan") == 0;
        text_table_cell(table, c, "%s", none ? "-" : cell);
    }
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

/* " (3 of 5 seeds)" if some have no value, else "". */
static const char *seeds_of(const struct estimate *estimate, char text[64])
{
    text[0] = '\0';
    if (estimate->without > 0)
        (void)snprintf(text, 64, " (%zu of %zu seeds)", estimate->n,
                       estimate->n + estimate->without);
    return text;
}

void text_table_estimate(struct text_table *table, size_t column, struct estimate estimate,
                         int decimals)
{
    char of[64], interval[INTERVAL_TEXT];
    interval_text(&estimate, decimals, interval);
    if (isnan(estimate.mean)) {
        text_table_cell(table, column, "-");
        return;
    }
    text_table_cell(table, column, "%.*f%s%s%s", decimals, estimate.mean,
                    interval[0] == '\0' ? "" : SPLIT, interval, seeds_of(&estimate, of));
    struct cell *cell = cell_at(table, column);
    cell->kind = CELL_ESTIMATE;
    cell->estimate = estimate;
    cell->decimals = decimals;
}

void text_table_seeds(struct text_table *table, size_t column, const char *seeds)
{
    cell_at(table, column)->seeds = arena_text(table->arena, "%s", seeds);
}

void text_table_note(struct text_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    arena_append_of(table->arena, &table->notes, format, args);
    va_end(args);
    arena_append(table->arena, &table->notes, "\n");
}

static const char *cell_text(const struct cell *cell)
{
    return cell->text == NULL ? "" : cell->text;
}

static struct width *table_measure(const struct text_table *table)
{
    struct width *widths = arena_allocate(table->arena, table->columns, sizeof *widths);
    for (size_t l = 0; l < table->count; l++) {
        for (size_t c = 0; table->lines[l].cells != NULL && c < table->columns; c++) {
            const char *cell = cell_text(&table->lines[l].cells[c]);
            const size_t mean = strcspn(cell, SPLIT);
            const size_t left = text_width(cell, mean) +
                                (l >= table->headers && c == 0 && table->indents ? INDENT : 0);
            const size_t right = text_width(cell + mean, strlen(cell + mean)) - (cell[mean] != 0);
            struct width *width = &widths[c];
            if (l < table->headers) { /* a header spans both parts */
                width->whole = left > width->whole ? left : width->whole;
                continue;
            }
            width->left = left > width->left ? left : width->left;
            width->right = right > width->right ? right : width->right;
            width->brackets = width->brackets || strstr(cell, SPLIT " [") != NULL;
        }
    }
    for (size_t c = 0; c < table->columns; c++)
        if (widths[c].left + widths[c].right > widths[c].whole)
            widths[c].whole = widths[c].left + widths[c].right;
    return widths;
}

static void cell_print(const char *cell, const struct width *width, int gap, bool header, bool last,
                       FILE *out)
{
    const size_t mean = strcspn(cell, SPLIT);
    const size_t used = text_width(cell, strlen(cell));
    if (cell[mean] != '\0') {
        const char *rest = cell + mean + strlen(SPLIT);
        const int before = (int)(width->whole - width->right - text_width(cell, mean));
        const int pad = (int)(width->right - text_width(rest, strlen(rest)));
        const int between = width->brackets ? 0 : pad;
        (void)fprintf(out, "%*s%.*s%.*s%*s%s%*s", gap + before, "", (int)mean, cell,
                      (int)strlen(PLUS_MINUS), rest, between, "", rest + strlen(PLUS_MINUS),
                      last ? 0 : pad - between, "");
        return;
    }
    size_t after = header ? 0 : width->right;
    (void)fprintf(out, "%*s%s%*s", gap + (int)(width->whole - after - used), "", cell,
                  last ? 0 : (int)after, "");
}

/* Columns that are printed together: the first one and those from `from` to before `end`. */
struct block {
    size_t from, end;
    size_t lead;  /* width of the first column; longer names have a line of their own */
    size_t total; /* width of all */
};

/* A row ends with its last filled cell, without trailing blanks. */
static void row_print(const struct text_table *table, size_t index, const struct width *widths,
                      const struct block *block, int indent, FILE *out)
{
    const struct cell *cells = table->lines[index].cells;
    const bool header = index < table->headers;
    const size_t step = !header && table->indents ? INDENT : 0;
    const char *first = cell_text(&cells[0]);
    const size_t used = step + text_width(first, strlen(first));
    size_t filled = block->end;
    while (filled > block->from && cell_text(&cells[filled - 1])[0] == '\0')
        filled--;
    (void)fprintf(out, "%*s%s", indent + (int)step, "", first);
    if (used > block->lead)
        (void)fprintf(out, "\n%*s", indent + (int)block->lead, "");
    else if (filled > block->from)
        (void)fprintf(out, "%*s", (int)(block->lead - used), "");
    for (size_t c = block->from; c < filled; c++)
        cell_print(cell_text(&cells[c]), &widths[c], table->gap, header, c + 1 == filled, out);
    (void)fputc('\n', out);
}

static void block_print(const struct text_table *table, const struct width *widths,
                        const struct block *block, int indent, FILE *out)
{
    for (size_t l = 0; l < table->count; l++) {
        if (table->lines[l].group != NULL)
            (void)fprintf(out, "%*s%s\n", indent, "", table->lines[l].group);
        else
            row_print(table, l, widths, block, indent, out);
        if (l + 1 != table->headers)
            continue;
        (void)fprintf(out, "%*s", indent, "");
        for (size_t i = 0; i < block->total; i++)
            (void)fputc('-', out);
        (void)fputc('\n', out);
    }
}

/* The start of the word that ends there. */
static const char *word_before(const char *text, const char *end)
{
    while (end > text && end[-1] != ' ')
        end--;
    return end;
}

/* Folds the headers behind the first at blanks, to the width of the cells or of a word. */
static struct width *headers_fold(struct text_table *table, const struct width *widths)
{
    enum { MOST = 4 };
    struct line *lines = arena_allocate(table->arena, MOST + table->count, sizeof *lines);
    size_t top = MOST - 1;
    for (size_t l = 0; l < MOST; l++)
        lines[l].cells = arena_allocate(table->arena, table->columns, sizeof *lines->cells);
    lines[MOST - 1].cells[0] = table->lines[0].cells[0];
    for (size_t c = 1; c < table->columns; c++) {
        const char *header = cell_text(&table->lines[0].cells[c]), *end = header + strlen(header);
        const size_t body = widths[c].left + widths[c].right;
        for (size_t l = MOST; l-- > 0 && end > header;) {
            const char *start = word_before(header, end), *word;
            while (start > header && (word = word_before(header, start - 1),
                                      l == 0 || text_width(word, (size_t)(end - word)) <= body))
                start = word;
            lines[l].cells[c].text = arena_text(table->arena, "%.*s", (int)(end - start), start);
            end = start - (start > header);
            top = l < top ? l : top;
        }
    }
    memcpy(lines + MOST, table->lines + 1, (table->count - 1) * sizeof *lines);
    table->lines = lines + top;
    table->headers = MOST - top;
    table->count += table->headers - 1;
    return table_measure(table);
}

/* As many columns from `from` on as `room` has place for, one at least. */
static struct block block_fit(const struct text_table *table, const struct width *widths,
                              size_t from, size_t lead, size_t room)
{
    struct block block = {from, from, lead, lead};
    const size_t gap = (size_t)table->gap;
    while (block.end < table->columns &&
           (block.end == from || block.total + gap + widths[block.end].whole <= room))
        block.total += gap + widths[block.end++].whole;
    return block;
}

/* Number of blocks with such a first column. */
static size_t blocks_count(const struct text_table *table, const struct width *widths, size_t lead,
                           size_t room)
{
    size_t count = 0;
    for (size_t from = 1; from < table->columns || count == 0; count++) {
        const struct block block = block_fit(table, widths, from, lead, room);
        count += block.total > room ? table->columns : 0; /* too wide */
        from = block.end;
    }
    return count;
}

void text_table_print(struct text_table *table, int indent, FILE *out)
{
    struct width *widths = table_measure(table);
    const size_t room = text_line_width() - (size_t)indent, whole = widths[0].whole;
    const size_t narrow = whole < room * 3 / 10 ? whole : room * 3 / 10;
    if (blocks_count(table, widths, whole, room) > 1)
        widths = headers_fold(table, widths);
    if (table->dense && blocks_count(table, widths, whole, room) > 1)
        table->gap = 1;
    const size_t lead =
        blocks_count(table, widths, whole, room) <= blocks_count(table, widths, narrow, room)
            ? whole
            : narrow;
    size_t from = 1;
    do {
        (void)fputs(from > 1 ? "\n" : "", out);
        const struct block block = block_fit(table, widths, from, lead, room);
        block_print(table, widths, &block, indent, out);
        from = block.end;
    } while (from < table->columns);
    if (table->notes != NULL)
        (void)fprintf(out, "\n%s", table->notes);
    arena_destroy(table->arena);
}

/* ---- HTML ------------------------------------------------------------------------------------ */

static void header_html(const char *header, const char *help, bool text, FILE *out)
{
    (void)fputs(text ? "<th class=\"t\" scope=\"col\"" : "<th scope=\"col\"", out);
    if (help != NULL) {
        (void)fputs(" title=\"", out);
        html_text(out, help);
        (void)fputc('"', out);
    }
    (void)fputc('>', out);
    html_text(out, header);
    (void)fputs("</th>", out);
}

/* The mean, by which the column sorts, its interval, and the values of the seeds. */
static void estimate_html(const struct cell *cell, FILE *out)
{
    char interval[INTERVAL_TEXT], of[64];
    interval_text(&cell->estimate, cell->decimals, interval);
    (void)fprintf(out, "<td data-v=\"%.6g\">%.*f", cell->estimate.mean, cell->decimals,
                  cell->estimate.mean);
    if (interval[0] != '\0')
        (void)fprintf(out, "<small>%s</small>", interval);
    if (cell->estimate.without > 0)
        (void)fprintf(out, "<small>%s</small>", seeds_of(&cell->estimate, of));
    if (cell->seeds != NULL)
        (void)fprintf(out, "<br/><small>seeds %s</small>", cell->seeds);
    (void)fputs("</td>", out);
}

static void cell_html(const struct cell *cell, FILE *out)
{
    switch (cell->kind) {
    case CELL_ESTIMATE:
        estimate_html(cell, out);
        return;
    case CELL_NAME:
        html_element(out, "td class=\"t\"", cell_text(cell));
        return;
    case CELL_WORDS:
        (void)fputs("<td class=\"w\">", out);
        html_marked(out, cell_text(cell));
        (void)fputs("</td>", out);
        return;
    case CELL_NUMBER:
        (void)fprintf(out, "<td data-v=\"%.*g\" style=\"--v:%.4g\">", cell->digits, cell->value,
                      cell->value);
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
    size_t first = 0;
    (void)fputs("<tr>", out);
    if (table->group_header != NULL)
        html_element(out, "td class=\"t\"", group);
    else if (group != NULL) {
        const char *text = cell_text(&line->cells[first++]);
        html_element(out, "td",
                     arena_text(table->arena, "%s: %s", group, text + strspn(text, " ")));
    }
    for (size_t c = first; c < table->columns; c++)
        cell_html(&line->cells[c], out);
    (void)fputs("</tr>\n", out);
}

/* The first column, and those with names or words. */
static bool is_text(const struct text_table *table, size_t column)
{
    bool text = column == 0;
    for (size_t l = 1; l < table->count; l++) {
        const struct cell *cells = table->lines[l].cells;
        text = text || (cells != NULL &&
                        (cells[column].kind == CELL_NAME || cells[column].kind == CELL_WORDS));
    }
    return text;
}

static void table_html(const struct text_table *table, FILE *out)
{
    const char *group = NULL;
    (void)fputs("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>", out);
    if (table->group_header != NULL)
        header_html(table->group_header, NULL, true, out);
    for (size_t c = 0; c < table->columns; c++)
        header_html(cell_text(&table->lines[0].cells[c]),
                    table->helps == NULL ? NULL : table->helps[c], is_text(table, c), out);
    (void)fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t l = 1; l <= table->count; l++) {
        if (l == table->foot)
            (void)fputs("</tbody>\n<tfoot>\n", out);
        if (l < table->count && table->lines[l].group != NULL)
            group = table->lines[l].group;
        else if (l < table->count)
            row_html(table, &table->lines[l], group, out);
    }
    (void)fprintf(out, "</%s></table></div>\n", table->foot > 0 ? "tfoot" : "tbody");
}

void text_table_end(struct text_table *table, bool html, FILE *out)
{
    if (!html) {
        text_table_print(table, 0, out);
        return;
    }
    table_html(table, out);
    arena_destroy(table->arena);
}

void text_print_heading(FILE *out, const char *text)
{
    (void)fprintf(out, "\n== %s ", text);
    for (size_t i = text_width(text, strlen(text)) + 4; i < text_line_width(); i++)
        (void)fputc('=', out);
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
