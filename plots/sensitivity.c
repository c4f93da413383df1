/* Figures of the effect of a policy's parameters. */
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "plots/families.h"

/* A contender with all parameters of its policy. */
struct variant {
    const struct report_scenario *scenario;
    const struct report_contender *contender;
    cJSON *parameters;
};

enum { LEAST_VALUES = 3 };

static double parameter_of(const struct variant *variant, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(variant->parameters, name);
    return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

/* Returns whether the two differ at most in that parameter. */
static bool same_but(const struct variant *a, const struct variant *b, const char *name)
{
    if (a->scenario != b->scenario || strcmp(a->contender->policy, b->contender->policy) != 0)
        return false;
    for (const cJSON *value = a->parameters == NULL ? NULL : a->parameters->child; value != NULL;
         value = value->next)
        if (strcmp(value->string, name) != 0 &&
            !cJSON_Compare(value, cJSON_GetObjectItemCaseSensitive(b->parameters, value->string),
                           true))
            return false;
    return true;
}

/* If the variant is the first of its series, returns the number of distinct values in the series;
 * else 0. */
static size_t series_values(const struct variant *variants, size_t count, size_t at,
                            const char *name)
{
    size_t distinct = 0;
    if (isnan(parameter_of(&variants[at], name)))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (!same_but(&variants[at], &variants[i], name))
            continue;
        if (i < at)
            return 0;
        bool again = false;
        for (size_t j = at; j < i; j++)
            again = again || (same_but(&variants[at], &variants[j], name) &&
                              parameter_of(&variants[j], name) == parameter_of(&variants[i], name));
        distinct += !again;
    }
    return distinct;
}

/* Title of a series: "strict-light, esg method=frontier". It lists the parameters that are constant
 * along the series and differ from the policy's defaults. */
static const char *series_title(const struct variant *variant, const char *name,
                                struct arena *arena)
{
    const char *head = variant->scenario->title;
    char *title =
        arena_text(arena, "%s%s%s", head, head[0] != '\0' ? ", " : "", variant->contender->policy);
    const char *at = variant->contender->distinction;
    while (*at != '\0') {
        const size_t word = strcspn(at, " ");
        if (strncmp(at, name, strlen(name)) != 0 || at[strlen(name)] != '=')
            arena_append(arena, &title, " %.*s", (int)word, at);
        at += word;
        at += strspn(at, " ");
    }
    return title;
}

struct series {
    const struct source *source;
    const struct figure_kind *kind;
    const struct variant *variants;
    size_t count;
    const char *parameter;
};

static void series_rows(const struct series *series, size_t first, size_t number,
                        struct sheet *sheet)
{
    const struct look look = palette_series(number - 1);
    const char *title =
        series_title(&series->variants[first], series->parameter, series->source->report->arena);
    for (size_t p = 0; series->kind->metrics[p] != NULL; p++)
        for (size_t i = first; i < series->count; i++) {
            const struct variant *variant = &series->variants[i];
            if (!same_but(&series->variants[first], variant, series->parameter))
                continue;
            const struct metric *metric = report_metric_find(series->kind->metrics[p]);
            const struct estimate value =
                report_column_estimate(series->source->report, variant->contender, NULL, metric);
            sheet_row(sheet, "%zu %s %zu %s %s %g %g %g %g %x %d %d", p + 1, metric->face.title,
                      number, title, series->parameter, parameter_of(variant, series->parameter),
                      value.mean, value.low, value.high, look.colour, look.point, look.dash);
        }
}

static bool draw_parameter(const struct series *series, struct figure_list *list,
                           struct error *error)
{
    struct sheet sheet;
    size_t first = 0;
    while (first < series->count &&
           series_values(series->variants, series->count, first, series->parameter) < LEAST_VALUES)
        first++;
    if (first == series->count)
        return true;
    bool good = source_sheet(series->source, series->variants[first].scenario, series->kind,
                             series->parameter, series->kind->lead, list, &sheet, error);
    size_t number = 0;
    for (; good && first < series->count; first++)
        if (series_values(series->variants, series->count, first, series->parameter) >=
            LEAST_VALUES)
            series_rows(series, first, ++number, &sheet);
    return sheet_end(&sheet, good, error);
}

/* Draws a figure per numeric parameter of any policy, in order of appearance. */
static bool draw_parameters(const struct source *source, const struct figure_kind *kind,
                            const struct variant *variants, size_t count, struct figure_list *list,
                            struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        for (const cJSON *value = variants[i].parameters == NULL ? NULL
                                                                 : variants[i].parameters->child;
             value != NULL; value = value->next) {
            size_t earlier = 0;
            while (earlier < i && isnan(parameter_of(&variants[earlier], value->string)))
                earlier++;
            if (earlier < i || !cJSON_IsNumber(value))
                continue;
            const struct series series = {source, kind, variants, count, value->string};
            if (!draw_parameter(&series, list, error))
                return false;
        }
    }
    return true;
}

bool sensitivity_draw(const struct source *source, const struct figure_kind *kind,
                      struct figure_list *list, struct error *error)
{
    const struct report *report = source->report;
    size_t count = 0;
    struct variant *variants =
        arena_allocate(report->arena, report->results->run_count, sizeof *variants);
    for (size_t s = 0; s < report->scenario_count; s++)
        for (size_t c = 0; c < report->scenarios[s].contender_count; c++) {
            const struct report_contender *contender = &report->scenarios[s].contenders[c];
            const char *text =
                run_details_text(source->details, report->results->runs[contender->runs[0]].hash,
                                 "policy_parameters");
            variants[count++] = (struct variant){&report->scenarios[s], contender,
                                                 text == NULL ? NULL : cJSON_Parse(text)};
        }
    bool good = draw_parameters(source, kind, variants, count, list, error);
    for (size_t i = 0; i < count; i++)
        cJSON_Delete(variants[i].parameters);
    return good;
}
