#include "results/report/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/report.h"
#include "traces/json/json.h"

const char *const reference_grades[] = {"published", "readme",  "secondary",
                                        "recalled",  "assumed", NULL};

static const char *const comparisons[] = {REPORT_HIT_POINTS, REPORT_HIT_RELATIVE, REPORT_SAVING};
enum { COMPARISON_COUNT = sizeof comparisons / sizeof comparisons[0] };

/* Whether `metric` is itself a comparison of ESG with another policy. */
static bool is_of_esg(const struct reference_figure *figure)
{
    for (size_t i = 0; i < COMPARISON_COUNT; i++)
        if (strcmp(figure->metric, comparisons[i]) == 0)
            return true;
    return false;
}

bool reference_is_comparison(const struct reference_figure *figure)
{
    return figure->comparison != PAIRED_VALUE || is_of_esg(figure);
}

static bool metric_check(const struct json_value *value, const struct reference_figure *figure,
                         struct error *error)
{
    const char *names[256];
    int count = 0;
    if (is_of_esg(figure) || report_metric_find(figure->metric) != NULL)
        return true;
    for (size_t i = 0; i < COMPARISON_COUNT; i++)
        names[count++] = comparisons[i];
    names[count++] = report_late_rate.name;
    names[count++] = report_gpu_use.name;
    for (size_t i = 0; i < metric_count && count < 256; i++)
        names[count++] = metrics[i].name;
    for (size_t i = 0; i < training_metric_count && count < 256; i++)
        names[count++] = training_metrics[i].name;
    const char *nearest = error_nearest_name(figure->metric, names, count);
    return json_fault(value, error, "unknown metric '%s'; %s%s", figure->metric,
                      nearest != NULL ? "did you mean "
                                      : "see the columns of /summary and /training",
                      nearest != NULL ? nearest : "");
}

/* Optional array of names. */
static bool names_read(const struct json_value *object, const char *key, char ***names,
                       size_t *count, struct error *error)
{
    struct json_value array;
    if (!json_child(object, key, &array))
        return true;
    if (!json_is_array(&array, 1, 100, error))
        return false;
    size_t size = json_size(&array);
    *names = calloc(size, sizeof **names);
    for (size_t i = 0; *names != NULL && i < size; i++) {
        struct json_value entry = json_entry(&array, i);
        const char *text = json_as_string(&entry, error);
        if (text == NULL)
            return false;
        (*names)[i] = strdup(text);
        if ((*names)[i] == NULL)
            return error_run(error, "%s: out of memory", object->file);
        *count = i + 1;
    }
    return *names != NULL || error_run(error, "%s: out of memory", object->file);
}

static bool figure_texts(const struct json_value *value, struct reference_figure *figure,
                         struct error *error)
{
    struct json_value needed;
    int grade = 0;
    if (!json_require(value, "metric", &needed, error) ||
        !json_string(value, "metric", &figure->metric, error) ||
        !metric_check(&needed, figure, error) || !json_require(value, "evidence", &needed, error) ||
        !json_choice(value, "evidence", reference_grades, &grade, error))
        return false;
    figure->evidence = strdup(reference_grades[grade]);
    figure->policy = strdup(REPORT_REFERENCE_POLICY);
    figure->unit = strdup("");
    if (figure->evidence == NULL || figure->policy == NULL || figure->unit == NULL)
        return error_run(error, "%s: out of memory", value->file);
    return json_string(value, "policy", &figure->policy, error) &&
           json_string(value, "unit", &figure->unit, error) &&
           json_string(value, "application", &figure->application, error) &&
           json_string(value, "formula", &figure->formula, error) &&
           json_string(value, "note", &figure->note, error);
}

static bool figure_check(const struct json_value *value, const struct reference_figure *figure,
                         struct error *error)
{
    if (isnan(figure->low) && isnan(figure->high))
        return json_fault(value, error, "has no figure; give \"low\", \"high\" or both");
    const struct metric *metric = report_metric_find(figure->metric);
    char fault[METRIC_FAULT];
    if (metric != NULL && !reference_is_comparison(figure) &&
        (!metric_allows(metric, figure->low, fault) || !metric_allows(metric, figure->high, fault)))
        return json_fault(value, error, "%s", fault);
    if (figure->low > figure->high)
        return json_fault(value, error, "low %g is above high %g; exchange them", figure->low,
                          figure->high);
    if (reference_is_comparison(figure) && figure->compare_count == 0)
        return json_fault(value, error,
                          "'%s' compares two policies; name the other ones in "
                          "\"against\"",
                          figure->metric);
    if (is_of_esg(figure) && figure->comparison != PAIRED_VALUE)
        return json_fault(value, error, "'%s' is a comparison already; leave out \"comparison\"",
                          figure->metric);
    if (is_of_esg(figure) && strcmp(figure->policy, REPORT_REFERENCE_POLICY) != 0)
        return json_fault(value, error,
                          "'%s' compares " REPORT_REFERENCE_POLICY
                          " with others; leave out \"policy\"",
                          figure->metric);
    return true;
}

static bool figure_read(const struct json_value *value, struct reference_figure *figure,
                        struct error *error)
{
    static const char *const keys[] = {
        "metric", "policy", "against",  "settings", "application", "low",           "high",
        "unit",   "note",   "evidence", "formula",  "comparison",  "deterministic", NULL};
    static const char *const formulas[] = {"none", "difference", "ratio", "gain", NULL};
    int formula = PAIRED_VALUE;
    figure->low = NAN;
    figure->high = NAN;
    if (!json_is_object(value, keys, error) || !figure_texts(value, figure, error) ||
        !names_read(value, "against", &figure->against, &figure->compare_count, error) ||
        !names_read(value, "settings", &figure->settings, &figure->setting_count, error) ||
        !json_choice(value, "comparison", formulas, &formula, error) ||
        !json_bool(value, "deterministic", &figure->deterministic, error) ||
        !json_number(value, "low", -1e15, 1e15, &figure->low, error) ||
        !json_number(value, "high", -1e15, 1e15, &figure->high, error))
        return false;
    figure->comparison = (enum paired_formula)formula;
    return figure_check(value, figure, error);
}

static bool reference_read(const struct json_value *root, struct reference *reference,
                           struct error *error)
{
    static const char *const keys[] = {"title", "source", "licence", "note", "figures", NULL};
    struct json_value needed;
    struct json_value figures;
    if (!json_is_object(root, keys, error) || !json_require(root, "title", &needed, error) ||
        !json_string(root, "title", &reference->title, error) ||
        !json_require(root, "source", &needed, error) ||
        !json_string(root, "source", &reference->source, error) ||
        !json_require(root, "figures", &figures, error) || !json_is_array(&figures, 1, 1000, error))
        return false;
    size_t count = json_size(&figures);
    reference->figures = calloc(count, sizeof *reference->figures);
    if (reference->figures == NULL)
        return error_run(error, "%s: out of memory", root->file);
    reference->figure_count = count;
    for (size_t i = 0; i < count; i++) {
        struct json_value value = json_entry(&figures, i);
        if (!figure_read(&value, &reference->figures[i], error))
            return false;
    }
    return true;
}

struct reference *reference_load(const char *path, struct error *error)
{
    cJSON *document = json_parse_file(path, error);
    if (document == NULL)
        return NULL;
    struct json_value root = json_root(path, document);
    struct reference *reference = calloc(1, sizeof *reference);
    bool good = reference != NULL ? reference_read(&root, reference, error)
                                  : error_run(error, "%s: out of memory", path);
    cJSON_Delete(document);
    if (good)
        return reference;
    reference_free(reference);
    return NULL;
}

static void figure_clear(struct reference_figure *figure)
{
    for (size_t i = 0; i < figure->compare_count; i++)
        free(figure->against[i]);
    for (size_t i = 0; i < figure->setting_count; i++)
        free(figure->settings[i]);
    free(figure->against);
    free(figure->settings);
    free(figure->metric);
    free(figure->policy);
    free(figure->application);
    free(figure->unit);
    free(figure->evidence);
    free(figure->formula);
    free(figure->note);
}

void reference_free(struct reference *reference)
{
    if (reference == NULL)
        return;
    for (size_t i = 0; i < reference->figure_count; i++)
        figure_clear(&reference->figures[i]);
    free(reference->figures);
    free(reference->title);
    free(reference->source);
    free(reference);
}
