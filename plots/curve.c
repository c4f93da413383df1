/* Figures of metrics against a swept key: one per setting, panels by the other conditions. */
#include <math.h>
#include <string.h>

#include "plots/families.h"
#include "results/report/curve.h"

/* The metrics of the rows of panels below that of the curves' own metric. */
static const char *const below[] = {"cost_per_request_usd", "latency_ms_p95", NULL};
static const char *const below_of_trainings[] = {"jct_s_mean", "jct_s_p99", "queueing_s_mean",
                                                 NULL};
/* With `--metric gpu_allocated`: loads of pods that never end. */
static const char *const below_of_loads[] = {"gpu_allocated", "fragmented_gpus_mean", NULL};

static const char *const *below_of(const struct metric *metric)
{
    for (const char *const *name = below_of_loads; *name != NULL; name++)
        if (strcmp(*name, metric->name) == 0)
            return below_of_loads;
    return metric->scope == METRIC_OF_TRAININGS ? below_of_trainings : below;
}

void curve_series(const struct curve_group *group, struct kinds *series, struct arena *arena)
{
    const bool alone = source_one_policy(group->like);
    for (size_t p = 0; p < group->panel_count; p++)
        for (size_t l = 0; l < group->panels[p].line_count; l++) {
            const struct curve_line *line = &group->panels[p].lines[l];
            kinds_add(series, arena, line->like, line->like->label, line->variant, alone);
        }
}

struct curve_figure {
    const struct source *source;
    const struct curve_group *group;
    struct kinds series;
    struct sheet sheet;
};

static void panel_write(struct curve_figure *figure, size_t row, const struct metric *metric,
                        double limit, size_t column)
{
    const struct curve_panel *panel = &figure->group->panels[column];
    const char *title = names_conditions(figure->source->report->arena, panel->title);
    for (size_t l = 0; l < panel->line_count; l++) {
        const struct curve_line *line = &panel->lines[l];
        const size_t s = kinds_find(&figure->series, line->like, line->like->label, line->variant);
        const struct look *look = &figure->series.items[s].look;
        for (size_t i = 0; i < line->point_count; i++) {
            const struct curve_point *point = &line->points[i];
            const struct estimate value =
                report_column_estimate(figure->source->report, point->contender, NULL, metric);
            sheet_row(
                &figure->sheet, "%zu %s %d %g %zu " LABEL " %zu " LABEL " %s %g %g %g %g %x %d %d",
                row, metric->face.title, source_spans_decades(metric), limit, column + 1, title,
                s + 1, line->title, names_axis(figure->source->report->curves->key), point->value,
                value.mean, value.low, value.high, look->colour, look->point, look->dash);
        }
    }
}

static void panels_write(struct curve_figure *figure)
{
    const struct curves *curves = figure->source->report->curves;
    const struct metric *metric = curves->metric;
    size_t row = 1;
    for (size_t p = 0; p < figure->group->panel_count; p++)
        panel_write(figure, row, metric, curves->limit * metric->face.scale, p);
    for (const char *const *next = below_of(metric); *next != NULL; next++) {
        if (strcmp(*next, metric->name) == 0)
            continue;
        row++;
        for (size_t p = 0; p < figure->group->panel_count; p++)
            panel_write(figure, row, report_metric_find(*next), NAN, p);
    }
}

/* Returns whether the scenario has a point of the group's lines. O(points). */
static bool is_drawn(const struct curve_group *group, const struct report_scenario *scenario)
{
    const struct report_contender *end = scenario->contenders + scenario->contender_count;
    for (size_t p = 0; p < group->panel_count; p++)
        for (size_t l = 0; l < group->panels[p].line_count; l++) {
            const struct curve_line *line = &group->panels[p].lines[l];
            for (size_t i = 0; i < line->point_count; i++)
                if (line->points[i].contender >= scenario->contenders &&
                    line->points[i].contender < end)
                    return true;
        }
    return false;
}

/* The warning for the scenarios of the group, if the caption of `like` does not have it. */
static const char *group_warning(const struct report *report, const struct curve_group *group)
{
    const char *warning = source_length_warning(report, group->like, 1);
    if (warning[0] != '\0')
        return "";
    for (size_t s = 0; warning[0] == '\0' && s < report->scenario_count; s++)
        if (is_drawn(group, &report->scenarios[s]))
            warning = source_length_warning(report, &report->scenarios[s], 1);
    return warning;
}

static bool draw_group(const struct source *source, const struct figure_kind *kind,
                       const struct curve_group *group, struct figure_list *list,
                       struct error *error)
{
    const struct curves *curves = source->report->curves;
    struct curve_figure figure = {.source = source, .group = group};
    const char *warning = group_warning(source->report, group);
    char lead[192];
    if (!isnan(curves->limit))
        (void)snprintf(lead, sizeof lead, "Dotted: %g, the limit of what counts as sustained.%s",
                       curves->limit * curves->metric->face.scale, warning);
    else /* the sentence begins with a blank */
        (void)snprintf(lead, sizeof lead, "%s", warning + (warning[0] == ' '));
    curve_series(group, &figure.series, source->report->arena);
    const bool good =
        source_sheet(source, group->like, kind, group->title, lead, list, &figure.sheet, error);
    if (good && figure.sheet.out != NULL)
        panels_write(&figure);
    return sheet_end(&figure.sheet, good, error);
}

bool curve_draw(const struct source *source, const struct figure_kind *kind,
                struct figure_list *list, struct error *error)
{
    const struct curves *curves = source->report->curves;
    bool good = true;
    for (size_t g = 0; good && curves != NULL && g < curves->group_count; g++)
        good = draw_group(source, kind, &curves->groups[g], list, error);
    return good;
}
