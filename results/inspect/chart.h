/* A chart of spans: rows against an axis, with lines across. Printed with characters here, drawn by
 * gnuplot with chart_sheet (plots/plot.h). */
#ifndef ESGSIM_RESULTS_INSPECT_CHART_H
#define ESGSIM_RESULTS_INSPECT_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/arena.h"

enum { CHART_COLUMNS = 55 }; /* of the printed axis */

/* A link is an arrow from row `other` at `from` to this row at `until`, in pictures only. A plan is
 * a thin bar below the others of its row; a line crosses all rows at `from`. */
enum chart_shape { CHART_BAR, CHART_PLAN, CHART_LINK, CHART_LINE };

/* What a span shows: an entry of the legend. */
struct chart_kind {
    const char *words;
    char mark; /* that it is printed with */
    uint32_t colour;
};

struct chart {
    struct arena *arena;                           /* set by the caller */
    const char *script, *subject, *caption, *axis; /* borrowed; of the figure (plots/figure.h) */
    bool logarithmic;
    char **rows; /* names */
    size_t row_count;
    struct chart_span {
        enum chart_shape shape;
        size_t row, other;
        double from, until;
        struct chart_kind kind;
        const char *text; /* beside it in pictures */
    } * spans;            /* a later one covers an earlier one */
    size_t span_count;
};

/* Begins a row below the others. */
void chart_row(struct chart *chart, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a span to the newest row. A link has no kind. The caller may set `text` and `other`. */
struct chart_span *chart_add(struct chart *chart, enum chart_shape shape,
                             const struct chart_kind *kind, double from, double until);

/* Prints an empty line and the chart, in ASCII but for the names, in lines of 80 columns. */
void chart_print(const struct chart *chart, FILE *out);

#endif
