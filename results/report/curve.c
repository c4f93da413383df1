#include "results/report/curve.h"

#include <math.h>
#include <string.h>

#include "results/store/run_label.h"
#include "workloads/sweep/sweep_keys.h"

static const char parameter[] = "policy.params.";

/* The key as it is written in a contender's variant. */
static const char *short_key(const char *key)
{
    const size_t length = strlen(parameter);
    return strncmp(key, parameter, length) == 0 ? key + length : key;
}

/* ---- Grouping ------------------------------------------------------------------------------- */

static struct curve_group *group_of(const struct report *report, struct curves *curves,
                                    const struct report_scenario *scenario, bool named)
{
    for (size_t g = 0; g < curves->group_count; g++) {
        const struct report_scenario *like = curves->groups[g].like;
        if (curves->groups[g].named == named && strcmp(like->name, scenario->name) == 0 &&
            (named || (strcmp(like->setting, scenario->setting) == 0 &&
                       strcmp(like->label, scenario->label) == 0)) &&
            strcmp(like->evidence, scenario->evidence) == 0)
            return &curves->groups[g];
    }
    struct curve_group *group = ARENA_NEXT(report->arena, curves->groups, curves->group_count);
    *group = (struct curve_group){.like = scenario, .named = named};
    return group;
}

static struct curve_panel *panel_of(const struct report *report, struct curve_group *group,
                                    const char *conditions)
{
    for (size_t p = 0; p < group->panel_count; p++)
        if (strcmp(group->panels[p].conditions, conditions) == 0)
            return &group->panels[p];
    struct curve_panel *panel = ARENA_NEXT(report->arena, group->panels, group->panel_count);
    *panel = (struct curve_panel){.conditions = conditions};
    return panel;
}

const struct curve_line *curve_line_find(const struct curve_panel *panel,
                                         const struct curve_line *line)
{
    for (size_t l = 0; l < panel->line_count; l++)
        if (strcmp(panel->lines[l].like->policy, line->like->policy) == 0 &&
            strcmp(panel->lines[l].like->label, line->like->label) == 0 &&
            strcmp(panel->lines[l].variant, line->variant) == 0)
            return &panel->lines[l];
    return NULL;
}

static struct curve_line *line_of(const struct report *report, struct curve_panel *panel,
                                  const char *key, const struct report_contender *contender)
{
    const char *short_name = short_key(key);
    const struct curve_line wanted = {
        .like = contender,
        .variant = run_label_drop(report->arena, contender->variant, short_name),
        .title = run_label_drop(report->arena, contender->title, short_name),
        .sustained = NAN};
    const struct curve_line *found = curve_line_find(panel, &wanted);
    if (found != NULL)
        return &panel->lines[found - panel->lines];
    arena_reserve(report->arena, &panel->lines, panel->line_count + 1, sizeof *panel->lines);
    panel->lines[panel->line_count] = wanted;
    return &panel->lines[panel->line_count++];
}

static void point_add(const struct report *report, struct curve_line *line, double value,
                      const struct report_contender *contender)
{
    arena_reserve(report->arena, &line->points, line->point_count + 1, sizeof *line->points);
    struct curve_point *points = line->points;
    size_t at = line->point_count++;
    for (; at > 0 && points[at - 1].value > value; at--)
        points[at] = points[at - 1];
    points[at] = (struct curve_point){value, contender};
}

static void value_add(const struct report *report, struct curve_panel *panel, double value)
{
    for (size_t v = 0; v < panel->value_count; v++)
        if (panel->values[v] == value)
            return;
    arena_reserve(report->arena, &panel->values, panel->value_count + 1, sizeof value);
    double *values = panel->values;
    size_t at = panel->value_count++;
    for (; at > 0 && values[at - 1] > value; at--)
        values[at] = values[at - 1];
    values[at] = value;
}

/* The conditions without the names of settings, but with what these set except the key. */
static const char *named_conditions(const struct report *report, size_t run, const char *key,
                                    const char *all)
{
    const struct results *results = report->results;
    for (size_t k = 0; k < results_key_count(results); k++) {
        char number[SWEPT_NUMBER];
        const char *name = results->swept->columns[k].name;
        const char *text = swept_text(results->swept, results_values(results, run), k, number);
        if (sweep_key_is_list(name))
            all = run_label_drop(report->arena, all, name);
        else if (strcmp(name, key) != 0 && text[0] != '\0' &&
                 !run_label_has(results->runs[run].label, name))
            all =
                arena_text(report->arena, "%s%s%s=%s", all, all[0] == '\0' ? "" : " ", name, text);
    }
    return all;
}

/* Stores the value of the key in a run. Sets `*named` if a named setting sets it. */
static bool value_of(const struct results *results, size_t run, const char *key, double *value,
                     bool *named)
{
    const size_t k = results_key_find(results, key);
    *named = !run_label_has(results->runs[run].label, key);
    if (!*named)
        return run_label_number(results->runs[run].label, key, value);
    if (k == results_key_count(results))
        return false;
    *value = swept_number(results->swept, results_values(results, run), k);
    return isfinite(*value);
}

/* `named`: also follow the key where named settings set it. */
static void contenders_sort(const struct report *report, bool named, struct curves *curves)
{
    const char *key = curves->key;
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++) {
            const struct report_contender *contender = &scenario->contenders[c];
            const size_t run = contender->runs[0];
            double value = 0;
            bool in_setting = false;
            if (!value_of(report->results, run, key, &value, &in_setting) || (in_setting && !named))
                continue;
            struct curve_panel *panel =
                panel_of(report, group_of(report, curves, scenario, in_setting),
                         in_setting ? named_conditions(report, run, key, scenario->conditions)
                                    : run_label_drop(report->arena, scenario->conditions, key));
            value_add(report, panel, value);
            point_add(report, line_of(report, panel, key, contender), value, contender);
        }
    }
}

/* ---- Titles --------------------------------------------------------------------------------- */

static const char *group_head(const struct curve_group *group)
{
    return group->named ? group->like->name : report_setting_title(group->like);
}

/* The setting; with experiment and profile where another group has that setting. */
static void group_name(const struct report *report, const struct curves *curves,
                       struct curve_group *group)
{
    const struct report_scenario *like = group->like;
    bool several = false;
    for (size_t g = 0; g < curves->group_count; g++)
        several = several || (&curves->groups[g] != group &&
                              strcmp(group_head(&curves->groups[g]), group_head(group)) == 0);
    group->title = several ? arena_text(report->arena, "%s, %s, profile %s", like->name,
                                        group_head(group), like->evidence)
                           : group_head(group);
}

static void panels_name(const struct report *report, struct curve_group *group)
{
    char *common = arena_text(report->arena, "%s", group->panels[0].conditions);
    for (size_t p = 1; p < group->panel_count; p++)
        run_label_keep_common(common, group->panels[p].conditions);
    for (size_t p = 0; p < group->panel_count; p++)
        group->panels[p].title =
            run_label_without(report->arena, group->panels[p].conditions, common);
}

/* ---- Limits --------------------------------------------------------------------------------- */

static bool satisfies(const struct report *report, const struct curves *curves,
                      const struct report_contender *contender)
{
    const struct estimate estimate = report_estimate(report, contender, NULL, curves->metric);
    if (!metric_can_hold(curves->metric,
                         report_estimate(report, contender, NULL, metric_find("drop_rate")).mean))
        return false;
    const bool alone = isnan(estimate.half_width);
    return curves->at_most ? (alone ? estimate.mean : estimate.high) <= curves->limit
                           : (alone ? estimate.mean : estimate.low) >= curves->limit;
}

static void line_end(const struct report *report, const struct curves *curves,
                     const struct curve_panel *panel, struct curve_line *line)
{
    size_t v = 0;
    while (v < line->point_count && line->points[v].value == panel->values[v] &&
           line->points[v].contender->missing == 0 &&
           satisfies(report, curves, line->points[v].contender))
        line->sustained = line->points[v++].value;
    const bool there = v < line->point_count && line->points[v].value == panel->values[v];
    line->beyond = v == panel->value_count || (there ? line->points[v].contender->missing > 0
                                                     : report_lacks(report, line->like->policy));
    const bool none = isnan(line->sustained);
    const char *mark = none ? "< " : line->beyond ? "≥ " : "";
    line->words = none && line->beyond ? "cannot be said"
                                       : arena_text(report->arena, "%s%.6g", mark,
                                                    none ? panel->values[0] : line->sustained);
}

static void finish(const struct report *report, struct curves *curves)
{
    for (size_t g = 0; g < curves->group_count; g++) {
        struct curve_group *group = &curves->groups[g];
        group_name(report, curves, group);
        panels_name(report, group);
        for (size_t p = 0; p < group->panel_count; p++)
            for (size_t l = 0; l < group->panels[p].line_count; l++)
                line_end(report, curves, &group->panels[p], &group->panels[p].lines[l]);
    }
}

/* ---- Whole ---------------------------------------------------------------------------------- */

static size_t most_values(const struct curves *curves)
{
    size_t most = 0;
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            if (curves->groups[g].panels[p].value_count > most)
                most = curves->groups[g].panels[p].value_count;
    return most;
}

static bool fault_not_swept(const struct report *report, const char *key, struct error *error)
{
    const struct results *results = report->results;
    const size_t swept = results_key_find(results, key);
    if (swept < results_key_count(results) && results->swept->columns[swept].type != COLUMN_TEXT)
        return error_input(error,
                           "%s: runs that differ in \"%s\" differ in other keys, too, or it has "
                           "one value; sweep it alone, or set it alone in named settings",
                           results->path, key);
    const char *keys =
        results->run_count == 0 ? "" : run_label_keys(report->arena, results->runs[0].label);
    char *names = results_key_count(results) == 0 ? NULL : swept_keys_names(results->swept);
    for (char *c = names; c != NULL && *c != '\0'; c++)
        *c = *c == '\n' ? ' ' : *c;
    keys = names != NULL ? names : keys;
    (void)error_input(error, "%s: no sweep in it sets \"%s\" to two or more numbers%s%s",
                      results->path, key, keys[0] == '\0' ? "" : "; keys that it sets: ", keys);
    return false;
}

bool report_follow(struct report *report, const struct curve_request *request, struct error *error)
{
    const bool serves = report_serves(report);
    const char *name = request->metric != NULL ? request->metric
                       : serves                ? CURVE_METRIC
                                               : CURVE_TRAINING_METRIC;
    const struct metric *metric = report_metric_find(name);
    if (metric == NULL)
        return error_input(error, "there is no metric \"%s\"; results/COLUMNS.md lists them", name);
    char fault[METRIC_FAULT];
    if (!metric_allows(metric, request->limit, fault))
        return error_input(error, "--at-%s %g: %s", request->at_most ? "most" : "least",
                           request->limit, fault);
    struct curves *curves = arena_allocate(report->arena, 1, sizeof *curves);
    *curves = (struct curves){
        .key = request->key != NULL ? request->key
               : serves             ? CURVE_KEY
                                    : CURVE_TRAINING_KEY,
        .metric = metric,
        .at_most = request->at_most,
        .limit = isnan(request->limit) && strcmp(metric->name, CURVE_METRIC) == 0 ? CURVE_AT_LEAST
                                                                                  : request->limit};
    contenders_sort(report, request->key != NULL, curves);
    finish(report, curves);
    const bool enough = most_values(curves) >= (request->key == NULL ? CURVE_VALUES : 2);
    if (!enough && request->key != NULL)
        return fault_not_swept(report, request->key, error);
    report->curves = enough ? curves : NULL;
    return true;
}

bool report_show_curves(struct report *report, const struct curve_request *request,
                        struct error *error)
{
    if (!report_follow(report, request, error))
        return false;
    if (report->curves == NULL && (request->metric != NULL || !isnan(request->limit)))
        return error_input(error,
                           "%s: has no sweep over three or more values of " CURVE_KEY
                           " or " CURVE_TRAINING_KEY
                           ", which --metric, --at-least and --at-most refer to; give --over KEY",
                           report->results->path);
    report->curves_in_full = request->key != NULL || report->details ||
                             (report->curves != NULL && isnan(report->curves->limit));
    return true;
}

const char *curve_group_setting(const struct curve_group *group)
{
    return group->named ? "" : group->like->setting;
}
