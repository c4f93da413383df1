#include "results/inspect/chart.h"

#include <math.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/base/utf8.h"

enum { WIDTH = 80, NAME = WIDTH - CHART_COLUMNS - 3, EVERY = CHART_COLUMNS / 5 };

void chart_row(struct chart *chart, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    arena_append_of(chart->arena, ARENA_NEXT(chart->arena, chart->rows, chart->row_count), format,
                    args);
    va_end(args);
}

struct chart_span *chart_add(struct chart *chart, enum chart_shape shape,
                             const struct chart_kind *kind, double from, double until)
{
    static const struct chart_kind none = {"", ' ', 0};
    struct chart_span *span = ARENA_NEXT(chart->arena, chart->spans, chart->span_count);
    *span = (struct chart_span){shape, chart->row_count - 1,        0, from,
                                until, kind != NULL ? *kind : none, ""};
    return span;
}

/* The values at the ends of the axis, or their logarithms. */
struct ends {
    double from, until;
};

static size_t column_of(const struct chart *chart, const struct ends *ends, double value)
{
    value = chart->logarithmic ? log(value) : value;
    const double part = (value - ends->from) / (ends->until - ends->from);
    return part > 0 ? (size_t)lround(fmin(part, 1) * CHART_COLUMNS) : 0;
}

static void axis_print(const struct chart *chart, const struct ends *ends, FILE *out)
{
    (void)fprintf(out, "\n%*s  ", NAME, chart->axis);
    for (int i = 0; i < 5; i++) {
        const double at = ends->from + (ends->until - ends->from) * (i < 4 ? i / 5.0 : 1);
        const double value = chart->logarithmic ? exp(at) : at;
        (void)fprintf(out, "%*.*f", i < 4 ? -EVERY : EVERY, value < 10 ? 2 : 0, value);
    }
    (void)fputc('\n', out);
}

/* Prints the spans of that shape in a row; a row without plans has no line for them. */
static void row_print(const struct chart *chart, const struct ends *ends, size_t row,
                      enum chart_shape shape, FILE *out)
{
    char cells[CHART_COLUMNS + 2] = "", name[NAME + 1];
    bool any = shape == CHART_BAR;
    (void)memset(cells, ' ', CHART_COLUMNS + 1);
    for (size_t i = 0; i < chart->span_count; i++) {
        const struct chart_span *span = &chart->spans[i];
        const bool here = span->shape == shape && span->row == row;
        const size_t from = column_of(chart, ends, span->from);
        const size_t until = here ? column_of(chart, ends, span->until) : from;
        any = any || here;
        if ((here || span->shape == CHART_LINE) && cells[from] == ' ')
            cells[from] = span->kind.mark;
        (void)memset(cells + from, span->kind.mark, until - from);
    }
    for (size_t end = CHART_COLUMNS + 1; end > 0 && cells[end - 1] == ' ';)
        cells[--end] = '\0';
    utf8_escape(shape == CHART_BAR ? chart->rows[row] : "planned", name, sizeof name);
    if (any)
        (void)fprintf(out, "%*s%s |%s\n", NAME - (int)text_width(name, strlen(name)), "", name,
                      cells);
}

static void legend_print(const struct chart *chart, FILE *out)
{
    size_t column = 0;
    for (size_t i = 0; i < chart->span_count; i++) {
        const struct chart_kind *kind = &chart->spans[i].kind;
        const size_t length = strlen(kind->words) + 4;
        size_t first = 0;
        while (strcmp(chart->spans[first].kind.words, kind->words) != 0)
            first++;
        if (first < i || chart->spans[i].shape == CHART_LINK)
            continue;
        const bool fits = column + length <= WIDTH;
        const char *before = column == 0 ? "" : fits ? "  " : "\n";
        (void)fprintf(out, "%s%c %s", before, kind->mark, kind->words);
        column = fits ? column + length : length;
    }
    (void)fputc('\n', out);
}

void chart_print(const struct chart *chart, FILE *out)
{
    struct ends ends = {INFINITY, -INFINITY};
    for (size_t i = 0; i < chart->span_count; i++) {
        const struct chart_span *span = &chart->spans[i];
        ends.from = fmin(ends.from, chart->logarithmic ? log(span->from) : span->from);
        ends.until = fmax(ends.until, chart->logarithmic ? log(span->until) : span->until);
    }
    if (!(ends.until > ends.from))
        return;
    axis_print(chart, &ends, out);
    for (size_t row = 0; row < chart->row_count; row++)
        for (enum chart_shape shape = CHART_BAR; shape <= CHART_PLAN; shape++)
            row_print(chart, &ends, row, shape, out);
    legend_print(chart, out);
}
