/* The greatest load that each policy sustains, in every setting. */
#include <math.h>

#include "plots/families.h"
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

static void panel_rows(const struct kinds *kinds, const struct curve_panel *panel,
                       struct sustained at, struct sheet *sheet)
{
    for (size_t l = 0; l < panel->line_count; l++) {
        const struct curve_line *line = &panel->lines[l];
        const size_t k = kinds_find(kinds, line->like, line->like->label, line->variant);
        const bool none = isnan(line->sustained);
        size_t v = 0;
        while (v < panel->value_count && panel->values[v] <= line->sustained)
            v++;
        at.row = k + 1;
        at.contender = line->title;
        at.look = kinds->items[k].look;
        at.value = at.low = none ? panel->values[0] : line->sustained;
        at.high = none || line->beyond || v == panel->value_count ? NAN : panel->values[v];
        at.ends = none ? -1 : line->beyond;
        if (!none || !line->beyond) /* else it cannot be said */
            sustained_row(sheet, &at);
    }
}

bool sustained_draw(const struct source *source, const struct figure_kind *kind,
                    struct figure_list *list, struct error *error)
{
    struct arena *arena = source->report->arena;
    const struct curves *curves = source->report->curves;
    struct kinds kinds = {0};
    bool good = true;
    if (curves == NULL || isnan(curves->limit) || curves->at_most)
        return true;
    for (size_t g = 0; g < curves->group_count; g++)
        curve_series(&curves->groups[g], &kinds, arena);
    const char *lead = arena_text(
        arena,
        "Dot: the greatest value of the sweep at which %s is at least %g, there and at all smaller "
        "ones (the lower end of the 95 %% interval over several seeds); line: up to the next "
        "value, "
        "which fails. Arrow right: none fails. Hollow, arrow left: the least fails.",
        curves->metric->face.header, curves->limit * curves->metric->face.scale);
    for (size_t first = 0; good && first < curves->group_count; first += PANELS_MOST) {
        struct sheet sheet = {0};
        good = source_sheet(source, NULL, kind, "", lead, list, &sheet, error);
        for (size_t g = first; good && g < curves->group_count && g < first + PANELS_MOST; g++)
            for (size_t p = 0; p < curves->groups[g].panel_count; p++)
                panel_rows(&kinds, &curves->groups[g].panels[p],
                           (struct sustained){.panel = g - first + 1,
                                              .panel_title = curves->groups[g].title,
                                              .key = curves->key,
                                              .mark = p + 1,
                                              .mark_title = names_conditions(
                                                  arena, curves->groups[g].panels[p].title)},
                           &sheet);
        good = sheet_end(&sheet, good, error);
    }
    return good;
}
