/* The greatest load that each policy sustains, in every setting. */
#include <math.h>

#include "plots/families.h"
#include "plots/names.h"
#include "plots/plot.h"
#include "results/report/curve.h"

enum { PANELS_MOST = 6 }; /* of a figure; more settings have further figures */

void sustained_row(struct sheet *sheet, const struct sustained *is)
{
    sheet_row(sheet, "%zu %s %s %zu " LABEL " %zu %s %g %g %g %d %x %d %d", is->panel,
              is->panel_title, names_axis(is->key), is->row, is->contender, is->mark,
              is->mark_title, is->value, is->low, is->high, is->ends, is->look.colour,
              is->look.point, palette_series(is->mark - 1).point);
}

/* The lines of all settings, as one list of looks, and its order: the mean of what a line sustains
 * decides, the greatest first. */
struct order {
    struct kinds lines;
    double *sums;
    size_t *places; /* from 1 */
};

static void order_add(struct order *order, const struct curve_panel *panel)
{
    for (size_t l = 0; l < panel->line_count; l++) {
        const struct curve_line *line = &panel->lines[l];
        const size_t k = kinds_find(&order->lines, line->like, line->like->label, line->variant);
        order->sums[k] += isnan(line->sustained) ? 0 : line->sustained;
    }
}

static struct order order_make(const struct report *report)
{
    const struct curves *curves = report->curves;
    struct order order = {0};
    for (size_t g = 0; g < curves->group_count; g++)
        curve_series(&curves->groups[g], &order.lines, report->arena);
    order.sums = arena_allocate(report->arena, order.lines.count, sizeof *order.sums);
    order.places = arena_allocate(report->arena, order.lines.count, sizeof *order.places);
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            order_add(&order, &curves->groups[g].panels[p]);
    for (size_t k = 0; k < order.lines.count; k++) {
        order.places[k] = 1;
        for (size_t other = 0; other < order.lines.count; other++)
            order.places[k] += order.sums[other] > order.sums[k] ||
                               (order.sums[other] == order.sums[k] && other < k);
    }
    return order;
}

/* The first value of the panel above that which the line sustains; NAN: the sweep has none. */
static double value_above(const struct curve_panel *panel, double sustained)
{
    size_t v = 0;
    while (v < panel->value_count && panel->values[v] <= sustained)
        v++;
    return v < panel->value_count ? panel->values[v] : NAN;
}

static void panel_rows(const struct report *report, const struct order *order,
                       const struct curve_panel *panel, struct sustained at, struct sheet *sheet)
{
    for (size_t l = 0; l < panel->line_count; l++) {
        const struct curve_line *line = &panel->lines[l];
        const size_t k = kinds_find(&order->lines, line->like, line->like->label, line->variant);
        const bool none = isnan(line->sustained);
        if (none && line->beyond) /* cannot be said */
            continue;
        at.mark_title = names_conditions(report->arena, panel->title);
        at.row = order->places[k];
        at.contender = line->title;
        at.look = order->lines.items[k].look;
        at.value = none ? panel->values[0] : line->sustained;
        at.low = at.value;
        at.high = none || line->beyond ? NAN : value_above(panel, line->sustained);
        at.ends = none ? -1 : line->beyond;
        sustained_row(sheet, &at);
    }
}

bool sustained_draw(const struct source *source, const struct figure_kind *kind,
                    struct figure_list *list, struct error *error)
{
    const struct report *report = source->report;
    const struct curves *curves = report->curves;
    if (curves == NULL || isnan(curves->limit) || curves->at_most)
        return true;
    const struct order order = order_make(report);
    const char *lead = arena_text(
        report->arena,
        "Dot: the greatest value of the sweep at which %s is at least %g, there and at all smaller "
        "ones (the lower end of the 95 %% interval over several seeds); line: up to the next "
        "value, "
        "which fails. Arrow right: none fails. Hollow, arrow left: the least fails.",
        curve_metric_title(curves->metric), curves->limit * curves->metric->column.scale);
    bool good = true;
    for (size_t first = 0; good && first < curves->group_count; first += PANELS_MOST) {
        struct sheet sheet = {0};
        good = source_sheet(source, NULL, kind, "", lead, list, &sheet, error);
        for (size_t g = first; good && g < curves->group_count && g < first + PANELS_MOST; g++)
            for (size_t p = 0; p < curves->groups[g].panel_count; p++)
                panel_rows(report, &order, &curves->groups[g].panels[p],
                           (struct sustained){.panel = g - first + 1,
                                              .panel_title = curves->groups[g].title,
                                              .key = curves->key,
                                              .mark = p + 1},
                           &sheet);
        good = sheet_end(&sheet, good, error);
    }
    return good;
}
