#include "results/report/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/array.h"
#include "results/report/training_table.h"
#include "results/store/run_label.h"
#include "workloads/sweep_keys.h"

static const char parameter[] = "policy.params.";

/* The key as it is written in a contender's variant. */
static const char *short_key(const char *key)
{
    const size_t length = strlen(parameter);
    return strncmp(key, parameter, length) == 0 ? key + length : key;
}

/* ---- Grouping ------------------------------------------------------------------------------- */

static struct curve_group *group_of(struct curves *curves, const struct report_scenario *scenario,
                                    bool named)
{
    for (size_t g = 0; g < curves->group_count; g++) {
        const struct report_scenario *like = curves->groups[g].like;
        if (curves->groups[g].named == named && strcmp(like->name, scenario->name) == 0 &&
            (named || (strcmp(like->setting, scenario->setting) == 0 &&
                       strcmp(like->label, scenario->label) == 0)) &&
            strcmp(like->evidence, scenario->evidence) == 0)
            return &curves->groups[g];
    }
    if (!array_extend(&curves->groups, curves->group_count, sizeof *curves->groups))
        return NULL;
    struct curve_group *group = &curves->groups[curves->group_count++];
    *group = (struct curve_group){.like = scenario, .named = named};
    return group;
}

/* Takes `conditions`, which is NULL when out of memory. */
static struct curve_panel *panel_of(struct curve_group *group, char *conditions)
{
    for (size_t p = 0; conditions != NULL && p < group->panel_count; p++)
        if (strcmp(group->panels[p].conditions, conditions) == 0) {
            free(conditions);
            return &group->panels[p];
        }
    if (conditions == NULL ||
        !array_extend(&group->panels, group->panel_count, sizeof *group->panels)) {
        free(conditions);
        return NULL;
    }
    struct curve_panel *panel = &group->panels[group->panel_count++];
    *panel = (struct curve_panel){.conditions = conditions};
    return panel;
}

static bool same_line(const struct curve_line *line, const struct report_contender *contender,
                      const char *variant)
{
    return strcmp(line->like->policy, contender->policy) == 0 &&
           strcmp(line->like->label, contender->label) == 0 && strcmp(line->variant, variant) == 0;
}

static struct curve_line *line_of(struct curve_panel *panel, const char *key,
                                  const struct report_contender *contender)
{
    char *variant = run_label_drop(contender->variant, short_key(key));
    for (size_t l = 0; variant != NULL && l < panel->line_count; l++)
        if (same_line(&panel->lines[l], contender, variant)) {
            free(variant);
            return &panel->lines[l];
        }
    if (variant == NULL || !array_extend(&panel->lines, panel->line_count, sizeof *panel->lines)) {
        free(variant);
        return NULL;
    }
    struct curve_line *line = &panel->lines[panel->line_count++];
    *line = (struct curve_line){.like = contender, .variant = variant, .sustained = NAN};
    line->title = run_label_drop(contender->title, short_key(key));
    return line->title == NULL ? NULL : line;
}

static bool point_add(struct curve_line *line, double value,
                      const struct report_contender *contender)
{
    if (!array_extend(&line->points, line->point_count, sizeof *line->points))
        return false;
    struct curve_point *points = line->points;
    size_t at = line->point_count++;
    for (; at > 0 && points[at - 1].value > value; at--)
        points[at] = points[at - 1];
    points[at] = (struct curve_point){value, contender};
    return true;
}

static bool value_add(struct curve_panel *panel, double value)
{
    for (size_t v = 0; v < panel->value_count; v++)
        if (panel->values[v] == value)
            return true;
    if (!array_extend(&panel->values, panel->value_count, sizeof value))
        return false;
    double *values = panel->values;
    size_t at = panel->value_count++;
    for (; at > 0 && values[at - 1] > value; at--)
        values[at] = values[at - 1];
    values[at] = value;
    return true;
}

/* The conditions without the names of settings, but with what these set except the key. The caller
 * frees them; NULL: memory exhausted. */
static char *named_conditions(const struct results *results, size_t run, const char *key,
                              const char *conditions)
{
    char *all = strdup(conditions);
    for (size_t k = 0; all != NULL && k < results_key_count(results); k++) {
        char number[SWEPT_NUMBER];
        const char *name = results->swept->columns[k].name;
        const char *text = swept_text(results->swept, results_values(results, run), k, number);
        char *next = NULL;
        if (sweep_key_is_list(name))
            next = run_label_drop(all, name);
        else if (strcmp(name, key) == 0 || text[0] == '\0' ||
                 run_label_has(results->runs[run].label, name))
            continue;
        else if (asprintf(&next, "%s%s%s=%s", all, all[0] == '\0' ? "" : " ", name, text) < 0)
            next = NULL;
        free(all);
        all = next;
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
static bool contenders_sort(const struct report *report, bool named, struct curves *curves)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++) {
            const struct report_contender *contender = &scenario->contenders[c];
            double value = 0;
            bool in_setting = false;
            if (!value_of(report->results, contender->runs[0], curves->key, &value, &in_setting) ||
                (in_setting && !named))
                continue;
            struct curve_group *group = group_of(curves, scenario, in_setting);
            struct curve_panel *panel =
                group == NULL ? NULL
                : in_setting ? panel_of(group, named_conditions(report->results, contender->runs[0],
                                                                curves->key, scenario->conditions))
                             : panel_of(group, run_label_drop(scenario->conditions, curves->key));
            struct curve_line *line = panel == NULL ? NULL : line_of(panel, curves->key, contender);
            if (line == NULL || !value_add(panel, value) || !point_add(line, value, contender))
                return false;
        }
    }
    return true;
}

/* ---- Titles --------------------------------------------------------------------------------- */

static const char *group_head(const struct curve_group *group)
{
    const struct report_scenario *scenario = group->like;
    return group->named                   ? scenario->name
           : scenario->label[0] != '\0'   ? scenario->label
           : scenario->setting[0] != '\0' ? scenario->setting
                                          : scenario->name;
}

/* The setting; with experiment and profile where another group has that setting. */
static bool group_name(const struct curves *curves, struct curve_group *group)
{
    const struct report_scenario *like = group->like;
    bool several = false;
    for (size_t g = 0; g < curves->group_count; g++)
        several = several || (&curves->groups[g] != group &&
                              strcmp(group_head(&curves->groups[g]), group_head(group)) == 0);
    const int length = several ? asprintf(&group->title, "%s, %s, profile %s", like->name,
                                          group_head(group), like->evidence)
                               : asprintf(&group->title, "%s", group_head(group));
    if (length < 0)
        group->title = NULL;
    return group->title != NULL;
}

static bool panels_name(struct curve_group *group)
{
    char *common = strdup(group->panels[0].conditions);
    for (size_t p = 1; common != NULL && p < group->panel_count; p++)
        run_label_keep_common(common, group->panels[p].conditions);
    bool good = common != NULL;
    for (size_t p = 0; good && p < group->panel_count; p++) {
        group->panels[p].title = run_label_without(group->panels[p].conditions, common);
        good = group->panels[p].title != NULL;
    }
    free(common);
    return good;
}

/* ---- Limits --------------------------------------------------------------------------------- */

static bool satisfies(const struct report *report, const struct curves *curves,
                      const struct report_contender *contender)
{
    const struct estimate estimate = report_estimate(report, contender, NULL, curves->metric);
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
}

static bool finish(const struct report *report, struct curves *curves)
{
    for (size_t g = 0; g < curves->group_count; g++) {
        struct curve_group *group = &curves->groups[g];
        if (!group_name(curves, group) || !panels_name(group))
            return false;
        for (size_t p = 0; p < group->panel_count; p++)
            for (size_t l = 0; l < group->panels[p].line_count; l++)
                line_end(report, curves, &group->panels[p], &group->panels[p].lines[l]);
    }
    return true;
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
    char *keys = results->run_count == 0 ? NULL : run_label_keys(results->runs[0].label);
    if (results_key_count(results) > 0) {
        free(keys);
        keys = swept_keys_names(results->swept);
        for (char *c = keys; c != NULL && *c != '\0'; c++)
            *c = *c == '\n' ? ' ' : *c;
    }
    (void)error_input(
        error, "%s: no sweep in it sets \"%s\" to two or more numbers%s%s", results->path, key,
        keys == NULL || keys[0] == '\0' ? "" : "; keys that it sets: ", keys == NULL ? "" : keys);
    free(keys);
    return false;
}

static void curves_ask(struct curves *curves, const struct curve_request *request, bool serves,
                       const struct metric *metric)
{
    curves->key = strdup(request->key != NULL ? request->key
                         : serves             ? CURVE_KEY
                                              : CURVE_TRAINING_KEY);
    curves->metric = malloc(sizeof *curves->metric);
    if (curves->metric != NULL)
        *curves->metric = *metric;
    curves->at_most = request->at_most;
    curves->limit = isnan(request->limit) && strcmp(metric->name, CURVE_METRIC) == 0
                        ? CURVE_AT_LEAST
                        : request->limit;
}

bool curves_find(const struct report *report, const struct curve_request *request,
                 struct curves **found, struct error *error)
{
    *found = NULL;
    const char *name = request->metric != NULL ? request->metric
                       : report_serves(report) ? CURVE_METRIC
                                               : CURVE_TRAINING_METRIC;
    const struct metric *metric = report_metric_find(name);
    if (metric == NULL)
        return error_input(error, "there is no metric \"%s\"; results/README.md lists them", name);
    char fault[METRIC_FAULT];
    if (!metric_allows(metric, request->limit, fault))
        return error_input(error, "--at-%s %g: %s", request->at_most ? "most" : "least",
                           request->limit, fault);
    struct curves *curves = calloc(1, sizeof *curves);
    if (curves != NULL)
        curves_ask(curves, request, report_serves(report), metric);
    if (curves == NULL || curves->key == NULL || curves->metric == NULL ||
        !contenders_sort(report, request->key != NULL, curves) || !finish(report, curves)) {
        curves_free(curves);
        return error_run(error, "out of memory for the report's curves");
    }
    const size_t wanted = request->key == NULL ? CURVE_VALUES : 2;
    if (most_values(curves) >= wanted) {
        *found = curves;
        return true;
    }
    curves_free(curves);
    return request->key == NULL || fault_not_swept(report, request->key, error);
}

bool report_follow(struct report *report, const struct curve_request *request, struct error *error)
{
    struct curves *curves = NULL;
    if (!curves_find(report, request, &curves, error))
        return false;
    curves_free(report->curves);
    report->curves = curves;
    return true;
}

static void panel_clear(struct curve_panel *panel)
{
    for (size_t l = 0; l < panel->line_count; l++) {
        free(panel->lines[l].variant);
        free(panel->lines[l].title);
        free(panel->lines[l].points);
    }
    free(panel->lines);
    free(panel->values);
    free(panel->conditions);
    free(panel->title);
}

void curves_free(struct curves *curves)
{
    if (curves == NULL)
        return;
    for (size_t g = 0; g < curves->group_count; g++) {
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            panel_clear(&curves->groups[g].panels[p]);
        free(curves->groups[g].panels);
        free(curves->groups[g].title);
    }
    free(curves->groups);
    free(curves->metric);
    free(curves->key);
    free(curves);
}

const char *curve_group_setting(const struct curve_group *group)
{
    return group->named ? "" : group->like->setting;
}

const char *curve_metric_title(const struct metric *metric)
{
    return metric->column.header != NULL ? metric->column.header : metric->name;
}

const struct curve_line *curve_line_find(const struct curve_panel *panel,
                                         const struct curve_line *line)
{
    for (size_t l = 0; l < panel->line_count; l++)
        if (same_line(&panel->lines[l], line->like, line->variant))
            return &panel->lines[l];
    return NULL;
}

void curve_sustained_text(const struct curve_panel *panel, const struct curve_line *line,
                          char text[64])
{
    const bool none = isnan(line->sustained);
    if (none && line->beyond)
        (void)snprintf(text, 64, "cannot be said");
    else
        (void)snprintf(text, 64, "%s%.6g",
                       none           ? "< "
                       : line->beyond ? "≥ "
                                      : "",
                       none ? panel->values[0] : line->sustained);
}
