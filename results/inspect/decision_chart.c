#include "results/inspect/decision_chart.h"

#include <inttypes.h>
#include <math.h>

/* The part of a logarithmic axis in which a value lies, of `parts`; and where a part begins. */
static size_t part_of(double value, double low, double high, size_t parts)
{
    const double part = high > low ? log(value / low) / log(high / low) * (double)parts : 0;
    return part < (double)parts ? (size_t)part : parts - 1;
}
static double part_begin(size_t part, double low, double high, size_t parts)
{
    return low * pow(high / low, (double)part / (double)parts);
}

struct chart decision_chart(const struct decision *decision, const struct cloud *cloud, size_t rows,
                            size_t columns)
{
    const struct decision_question *question = decision->question;
    const struct search_result *result = &decision->result;
    const bool astar = decision->method == DECISION_ASTAR;
    const struct cloud_point low = cloud->low, high = cloud->high;
    const struct chart_kind kinds[] = {
        {astar && question->time_blade ? "cut by the time blade" : "over the budget", 't',
         0xE69F00},
        {astar && question->cost_blade ? "cut by the cost blade" : "dearer than the K found", 'c',
         0x56B4E9},
        {"neither", 'o', 0x009E73},
        {"found", '*', 0x000000},
        {"budget", '|', 0x222222}};
    struct chart chart = {
        .script = "search",
        .subject = decision->application->name,
        .caption = arena_text(
            decision->arena,
            "Both axes are logarithmic. %d paths drawn at random, the faster ones more often. The "
            "search built %" PRIu64 " paths and parts of paths; the time blade cut %" PRIu64
            " extensions by a stage, the cost blade %" PRIu64 ".",
            CLOUD_PATHS, result->expansions, result->pruned_time, result->pruned_cost),
        .axis = "$ per 1,000 jobs / ms",
        .logarithmic = true,
        .arena = decision->arena};
    if (!(low.cost > 0 && high.cost > low.cost))
        return chart;
    int *cells = arena_allocate(decision->arena, rows * columns, sizeof *cells);
    for (size_t i = 0; i < cloud->count; i++) { /* the last of the kinds in each cell */
        const struct cloud_point *at = &cloud->points[i];
        int *cell = &cells[part_of(at->cost, low.cost, high.cost, rows) * columns +
                           part_of(at->time_ms, low.time_ms, high.time_ms, columns)];
        *cell = (int)at->kind >= *cell ? (int)at->kind + 1 : *cell;
    }
    for (size_t row = rows; row-- > 0;) {
        chart_row(&chart, "%.4g", part_begin(row, low.cost, high.cost, rows));
        for (size_t c = 0; c < columns; c++)
            if (cells[row * columns + c] > 0)
                chart_add(&chart, CHART_BAR, &kinds[cells[row * columns + c] - 1],
                          part_begin(c, low.time_ms, high.time_ms, columns),
                          part_begin(c + 1, low.time_ms, high.time_ms, columns));
    }
    if (question->budget_ms > 0)
        chart_add(&chart, CHART_LINE, &kinds[4], question->budget_ms, question->budget_ms);
    return chart;
}
