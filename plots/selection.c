#include "plots/selection.h"

#include <string.h>

#include "plots/figure.h"
#include "results/report/curve.h"
#include "sim/base/string_index.h"

static bool contender_is(const struct report *report, const struct report_contender *contender,
                         const char *name, bool variants)
{
    return report_is_called(report, contender, name) ||
           (variants && report_has_name(contender, name));
}

static bool run_is(const struct compare_run *run, const char *name)
{
    return strcmp(run->real->policy, name) == 0 || strcmp(run->real->label, name) == 0;
}

/* Adds a name to those to choose from. */
static void name_add(struct string_index *valid, const char *name)
{
    if (name[0] != '\0')
        (void)string_index_add(valid, name);
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
                             struct string_index *valid)
{
    bool found = false;
    for (size_t s = 0; s < report->scenario_count; s++)
        for (size_t c = 0; c < report->scenarios[s].contender_count; c++) {
            const struct report_contender *contender = &report->scenarios[s].contenders[c];
            found = found || contender_is(report, contender, name, variants);
            if (variants || contender->variant[0] == '\0')
                name_add(valid, contender->policy);
            name_add(valid, contender->label);
            name_add(valid, contender->title);
        }
    return found;
}

static bool report_names(const struct report *report, const char *const *names, size_t count,
                         bool variants, struct error *error)
{
    struct string_index valid = {0};
    bool good = true;
    for (size_t n = 0; good && n < count; n++)
        good = report_name_find(report, names[n], variants, &valid) ||
               name_refuse(report->results->path, names[n], &valid, error);
    string_index_clear(&valid);
    return good;
}

/* Copies the wanted contenders. */
static void scenario_copy(const struct report *report, const struct report_scenario *from,
                          const char *const *names, size_t count, bool variants,
                          struct report_scenario *to)
{
    *to = *from;
    to->contender_count = 0;
    to->reference = REPORT_NONE;
    to->contenders = arena_allocate(report->arena, from->contender_count, sizeof *to->contenders);
    for (size_t c = 0; c < from->contender_count; c++) {
        bool wanted = false;
        for (size_t n = 0; n < count; n++)
            wanted = wanted || contender_is(report, &from->contenders[c], names[n], variants);
        if (wanted && c == from->reference)
            to->reference = to->contender_count;
        if (wanted)
            to->contenders[to->contender_count++] = from->contenders[c];
    }
}

bool selection_report(const struct report *report, const char *const *names, size_t count,
                      bool variants, struct report *view, struct error *error)
{
    if (!report_names(report, names, count, variants, error))
        return false;
    *view = *report;
    view->curves = NULL;
    view->scenario_count = 0;
    view->scenarios =
        arena_allocate(report->arena, report->scenario_count, sizeof *view->scenarios);
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *copy = &view->scenarios[view->scenario_count];
        scenario_copy(report, &report->scenarios[s], names, count, variants, copy);
        view->scenario_count += copy->contender_count > 0;
    }
    return true;
}

bool selection_comparison(const struct comparison *against, const char *const *names, size_t count,
                          struct arena *arena, struct comparison *view, struct error *error)
{
    struct string_index valid = {0};
    *view = *against;
    view->run_count = 0;
    view->runs = arena_allocate(arena, against->run_count, sizeof *view->runs);
    bool good = true;
    for (size_t i = 0; i < against->run_count; i++) {
        bool wanted = false;
        for (size_t n = 0; n < count; n++)
            wanted = wanted || run_is(&against->runs[i], names[n]);
        if (wanted)
            view->runs[view->run_count++] = against->runs[i];
        name_add(&valid, against->runs[i].real->policy);
        name_add(&valid, against->runs[i].real->label);
    }
    for (size_t n = 0; good && n < count; n++) {
        bool found = false;
        for (size_t i = 0; i < view->run_count; i++)
            found = found || run_is(&view->runs[i], names[n]);
        good = found || name_refuse(against->real->path, names[n], &valid, error);
    }
    string_index_clear(&valid);
    return good;
}
