#include "plots/selection.h"

#include <string.h>

#include "plots/families.h"
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

/* Which contenders a view has. */
struct choice {
    const char *const *names; /* those that are called so; none: those of the first policies */
    size_t count;
    bool variants; /* a policy's name stands for all its variants */
    bool others;   /* of each other policy the first contender is there, pale */
    bool several;  /* instead: those whose policy has several, beside other policies */
};

enum role { SHOWN, PALE, LEFT_OUT };

/* Whether no contender before it has its policy. */
static bool is_first(const struct report_scenario *scenario, size_t c)
{
    size_t first = 0;
    while (strcmp(scenario->contenders[first].policy, scenario->contenders[c].policy) != 0)
        first++;
    return first == c;
}

static enum role role_of(const struct report *report, const struct report_scenario *scenario,
                         size_t c, const struct choice *choice)
{
    const struct report_contender *all = scenario->contenders;
    const bool one_policy = source_one_policy(scenario);
    const bool first = is_first(scenario, c);
    size_t before = 0, same = 0;
    for (size_t o = 0; o < scenario->contender_count; o++) {
        before += o < c && is_first(scenario, o);
        same += strcmp(all[o].policy, all[c].policy) == 0;
    }
    if (choice->several)
        return same > 1 && !one_policy ? SHOWN : LEFT_OUT;
    bool shown = choice->count == 0 && (one_policy || scenario->contender_count <= SHOWN_MOST ||
                                        (first && before < SHOWN_MOST));
    for (size_t n = 0; n < choice->count; n++)
        shown = shown || contender_is(report, &all[c], choice->names[n], choice->variants);
    return shown ? SHOWN : choice->others && (first || one_policy) ? PALE : LEFT_OUT;
}

/* Copies the wanted contenders, the pale ones last. Returns whether all are there, in colour. */
static bool scenario_copy(const struct report *report, const struct report_scenario *from,
                          const struct choice *choice, struct report_scenario *to)
{
    size_t shown = 0;
    *to = *from;
    to->contender_count = 0;
    to->reference = REPORT_NONE;
    to->contenders = arena_allocate(report->arena, from->contender_count, sizeof *to->contenders);
    for (enum role role = SHOWN; role <= PALE; role++)
        for (size_t c = 0; c < from->contender_count; c++) {
            if (role_of(report, from, c, choice) != role)
                continue;
            if (c == from->reference)
                to->reference = to->contender_count;
            to->contenders[to->contender_count] = from->contenders[c];
            to->contenders[to->contender_count++].pale = role == PALE ? shown + 1 : 0;
            shown += role == SHOWN;
        }
    return shown == from->contender_count;
}

static bool view_make(const struct report *report, const struct choice *choice, struct report *view)
{
    bool all = true;
    *view = *report;
    view->curves = NULL;
    view->scenario_count = 0;
    view->scenarios =
        arena_allocate(report->arena, report->scenario_count, sizeof *view->scenarios);
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *copy = &view->scenarios[view->scenario_count];
        all = scenario_copy(report, &report->scenarios[s], choice, copy) && all;
        view->scenario_count += copy->contender_count > 0;
    }
    return all;
}

bool selection_views(const struct report *report, struct figure_list *list, struct report views[2],
                     struct error *error)
{
    struct choice first = {list->policies, list->policy_count, list->variants, false, false};
    struct string_index valid = {0};
    const char **names = NULL, *show = report->results->show;
    char *rest = show == NULL ? NULL : arena_text(report->arena, "%s", show);
    views[0] = *report;
    views[1].scenario_count = 0;
    if (list->policy_count > 0) {
        const bool good = report_names(report, first.names, first.count, first.variants, error);
        if (good)
            (void)view_make(report, &first, &views[0]);
        return good;
    }
    first.others = true;
    for (char *name; (name = strsep(&rest, ",")) != NULL;)
        if (report_name_find(report, name, false, &valid))
            report_name_add(report, &names, &first.count, name);
        else
            figure_list_note(list, "show: no run of '%.60s'", name);
    string_index_clear(&valid);
    first.names = names;
    if (list->all || view_make(report, &first, &views[0]))
        return true;
    view_make(report, &(struct choice){.several = true}, &views[1]);
    figure_list_note(list, "some contenders are grey or only in figures of variants; --all names "
                           "each, --policies those that you want");
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
