#include "plots/selection.h"

#include <stdlib.h>
#include <string.h>

#include "plots/figure.h"
#include "results/report/curve.h"
#include "sim/base/string_index.h"

static bool contender_is(const struct report_contender *contender, const char *name, bool variants)
{
    return strcmp(contender->label, name) == 0 || strcmp(contender->title, name) == 0 ||
           report_is_contender(contender, name) || (variants && report_has_name(contender, name));
}

static bool run_is(const struct compare_run *run, const char *name)
{
    return strcmp(run->real->policy, name) == 0 || strcmp(run->real->label, name) == 0;
}

/* Adds a name to those to choose from. False: memory exhausted. */
static bool name_add(struct string_index *valid, const char *name, struct error *error)
{
    return name[0] == '\0' || string_index_add(valid, name) != STRING_INDEX_NONE ||
           figure_no_memory(error);
}

static bool name_refuse(const char *path, const char *name, const struct string_index *valid,
                        struct error *error)
{
    char list[600];
    error_list_names((const char *const *)valid->names, (int)valid->count, list, sizeof list);
    return error_input(error,
                       "--policies: %s has no run of '%.60s'; it has %s; --variants draws all "
                       "variants of a policy",
                       path, name, list);
}

/* Returns whether a contender of the report has that name. Adds all names to `valid`. */
static bool report_name_find(const struct report *report, const char *name, bool variants,
                             struct string_index *valid, bool *found, struct error *error)
{
    bool good = true;
    *found = false;
    for (size_t s = 0; s < report->scenario_count; s++)
        for (size_t c = 0; good && c < report->scenarios[s].contender_count; c++) {
            const struct report_contender *contender = &report->scenarios[s].contenders[c];
            *found = *found || contender_is(contender, name, variants);
            if (variants || contender->variant[0] == '\0')
                good = name_add(valid, contender->policy, error);
            good = good && name_add(valid, contender->label, error) &&
                   name_add(valid, contender->title, error);
        }
    return good;
}

static bool report_names(const struct report *report, const char *const *names, size_t count,
                         bool variants, struct error *error)
{
    struct string_index valid = {0};
    bool good = true;
    for (size_t n = 0; good && n < count; n++) {
        bool found = false;
        good = report_name_find(report, names[n], variants, &valid, &found, error) &&
               (found || name_refuse(report->results->path, names[n], &valid, error));
    }
    string_index_clear(&valid);
    return good;
}

/* Copies the wanted contenders. False: memory exhausted. */
static bool scenario_copy(const struct report_scenario *from, const char *const *names,
                          size_t count, bool variants, struct report_scenario *to)
{
    *to = *from;
    to->contender_count = 0;
    to->reference = REPORT_NONE;
    to->contenders = calloc(from->contender_count + 1, sizeof *to->contenders);
    for (size_t c = 0; to->contenders != NULL && c < from->contender_count; c++) {
        bool wanted = false;
        for (size_t n = 0; n < count; n++)
            wanted = wanted || contender_is(&from->contenders[c], names[n], variants);
        if (wanted && c == from->reference)
            to->reference = to->contender_count;
        if (wanted)
            to->contenders[to->contender_count++] = from->contenders[c];
    }
    return to->contenders != NULL;
}

bool selection_report(const struct report *report, const char *const *names, size_t count,
                      bool variants, struct report *view, struct error *error)
{
    if (!report_names(report, names, count, variants, error))
        return false;
    *view = *report;
    view->curves = NULL;
    view->scenario_count = 0;
    view->scenarios = calloc(report->scenario_count + 1, sizeof *view->scenarios);
    bool good = view->scenarios != NULL;
    for (size_t s = 0; good && s < report->scenario_count; s++) {
        struct report_scenario *copy = &view->scenarios[view->scenario_count];
        good = scenario_copy(&report->scenarios[s], names, count, variants, copy);
        if (good && copy->contender_count > 0)
            view->scenario_count++;
        else
            free(copy->contenders);
    }
    if (!good)
        selection_report_clear(view);
    return good || figure_no_memory(error);
}

void selection_report_clear(struct report *view)
{
    for (size_t s = 0; s < view->scenario_count; s++)
        free(view->scenarios[s].contenders);
    free(view->scenarios);
}

bool selection_comparison(const struct comparison *against, const char *const *names, size_t count,
                          struct comparison *view, struct error *error)
{
    struct string_index valid = {0};
    *view = *against;
    view->run_count = 0;
    view->runs = calloc(against->run_count + 1, sizeof *view->runs);
    if (view->runs == NULL)
        return figure_no_memory(error);
    bool good = true;
    for (size_t i = 0; good && i < against->run_count; i++) {
        bool wanted = false;
        for (size_t n = 0; n < count; n++)
            wanted = wanted || run_is(&against->runs[i], names[n]);
        if (wanted)
            view->runs[view->run_count++] = against->runs[i];
        good = name_add(&valid, against->runs[i].real->policy, error) &&
               name_add(&valid, against->runs[i].real->label, error);
    }
    for (size_t n = 0; good && n < count; n++) {
        bool found = false;
        for (size_t i = 0; i < view->run_count; i++)
            found = found || run_is(&view->runs[i], names[n]);
        good = found || name_refuse(against->real->path, names[n], &valid, error);
    }
    string_index_clear(&valid);
    if (!good)
        free(view->runs);
    return good;
}
