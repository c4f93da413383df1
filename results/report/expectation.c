#include "results/report/expectation.h"

#include <math.h>
#include <string.h>

#include "results/report/report.h"
#include "sim/base/json.h"

static const char *const grades[] = {"published", "readme",  "secondary",
                                     "recalled",  "assumed", NULL};

static const struct esg_comparison esg_comparisons[] = {
    {REPORT_HIT_POINTS, "slo_hit_rate", PAIRED_DIFFERENCE, false, "ESG's SLO hit rate is",
     " points", "does not exist in"},
    {REPORT_HIT_RELATIVE, "slo_hit_rate", PAIRED_GAIN, false, "ESG's SLO hit rate is", " %",
     "is undefined, the baseline's hit rate being 0 in a seed, in"},
    {REPORT_SAVING, "cost_per_request_usd", PAIRED_GAIN, true,
     "the baseline's cost, relative to ESG's, is", " %",
     "is undefined, ESG's cost being 0 in a seed, in"},
};
enum { ESG_COMPARISONS = sizeof esg_comparisons / sizeof esg_comparisons[0] };

bool expectation_is_comparison(const struct expectation *expectation)
{
    return expectation->comparison != PAIRED_VALUE;
}

bool expectation_is_free(const struct expectation *expectation)
{
    return expectation->esg == NULL && expectation_is_comparison(expectation);
}

bool expectation_resolve(struct expectation *expectation)
{
    const struct esg_comparison *esg = NULL;
    for (size_t i = 0; i < ESG_COMPARISONS; i++)
        if (strcmp(expectation->metric, esg_comparisons[i].name) == 0)
            esg = &esg_comparisons[i];
    expectation->esg = esg;
    if (esg != NULL)
        expectation->comparison = esg->formula;
    expectation->scale = esg != NULL || expectation->comparison == PAIRED_GAIN ? 100 : 1;
    expectation->measured = report_metric_find(esg != NULL ? esg->metric : expectation->metric);
    return expectation->measured != NULL;
}

/* ---- Loading: both forms --------------------------------------------------------------------- */

/* Where a key's text goes. */
struct text_key {
    const char *key;
    size_t place;
    bool needed;
};
#define TEXT(key, field, needed)                                                                   \
    {                                                                                              \
        key, offsetof(struct expectation, field), needed                                           \
    }

/* An absent text stays as it is, unless it is needed. */
static bool text_read(const struct json_value *object, const char *key, bool needed,
                      const char **text, struct error *error)
{
    struct json_value value;
    return (!needed || json_require(object, key, &value, error)) &&
           json_text(object, key, text, error);
}

/* `keys` is ended by a key of NULL. */
static bool texts_read(const struct json_value *value, const struct text_key *keys,
                       struct expectation *expectation, struct error *error)
{
    bool good = true;
    for (; good && keys->key != NULL; keys++)
        good = text_read(value, keys->key, keys->needed,
                         (void *)((char *)expectation + keys->place), error);
    return good;
}

/* `comparisons`: those of ESG are metrics, too. */
static bool metric_fault(const struct json_value *value, bool comparisons, struct error *error)
{
    const char *names[256];
    int count = 0;
    struct json_value metric;
    (void)json_child(value, "metric", &metric);
    for (size_t i = 0; comparisons && i < ESG_COMPARISONS; i++)
        names[count++] = esg_comparisons[i].name;
    names[count++] = report_late_rate.name;
    names[count++] = report_gpu_use.name;
    for (size_t i = 0; i < metric_count + training_metric_count && count < 256; i++)
        names[count++] = metrics[i].name;
    const char *name = metric.node->valuestring;
    const char *nearest = error_nearest_name(name, names, count);
    return json_fault(&metric, error, "unknown metric '%s'; %s%s", name,
                      nearest != NULL ? "did you mean "
                                      : "see the columns of /summary and /training",
                      nearest != NULL ? nearest : "");
}

static bool choice_need(const struct json_value *value, const char *key, const char *const *names,
                        int *choice, struct error *error)
{
    struct json_value needed;
    return json_require(value, key, &needed, error) &&
           json_choice(value, key, names, choice, error);
}

static bool range_read(const struct json_value *value, struct expectation *expectation,
                       struct error *error)
{
    int grade = 0;
    expectation->low = expectation->high = NAN;
    if (!choice_need(value, "evidence", grades, &grade, error) ||
        !json_number(value, "low", -1e15, 1e15, &expectation->low, error) ||
        !json_number(value, "high", -1e15, 1e15, &expectation->high, error))
        return false;
    expectation->evidence = grades[grade];
    return true;
}

/* `claim`: a share is in the units of `scale`. */
static bool range_check(const struct json_value *value, const struct expectation *expectation,
                        bool claim, struct error *error)
{
    const double low = expectation->low;
    const double high = expectation->high;
    const double scale = expectation->scale;
    const char *unit = expectation->unit[0] == '\0' ? "1" : expectation->unit;
    char fault[METRIC_FAULT];
    if (isnan(low) && isnan(high))
        return json_fault(value, error, "has no %s; give \"low\", \"high\" or both%s%s",
                          claim ? "expectation" : "figure", claim ? ", in " : "",
                          claim ? unit : "");
    if (!expectation_is_comparison(expectation) &&
        (!metric_allows(expectation->measured, low / scale, fault) ||
         !metric_allows(expectation->measured, high / scale, fault)))
        return claim ? json_fault(value, error, "%s is a share; \"low\" and \"high\" are 0 to %g",
                                  expectation->metric, scale)
                     : json_fault(value, error, "%s", fault);
    return !(low > high) ||
           json_fault(value, error, "low %g is above high %g; exchange them", low, high);
}

/* ---- Published figures ----------------------------------------------------------------------- */

/* Optional array of names. */
static bool names_read(struct arena *arena, const struct json_value *object, const char *key,
                       const char ***names, size_t *count, struct error *error)
{
    struct json_value array;
    if (!json_child(object, key, &array))
        return true;
    if (!json_is_array(&array, 1, 100, error))
        return false;
    const size_t size = json_size(&array);
    *names = arena_allocate(arena, size, sizeof **names);
    for (; *count < size; ++*count) {
        const struct json_value entry = json_entry(&array, *count);
        if (((*names)[*count] = json_as_string(&entry, error)) == NULL)
            return false;
    }
    return true;
}

/* `compared`: the file gives a comparison. */
static bool figure_check(const struct json_value *value, const struct expectation *figure,
                         bool compared, struct error *error)
{
    if (!range_check(value, figure, false, error))
        return false;
    if (expectation_is_comparison(figure) && figure->compare_count == 0)
        return json_fault(value, error,
                          "'%s' compares two policies; name the other ones in "
                          "\"against\"",
                          figure->metric);
    if (figure->esg != NULL && compared)
        return json_fault(value, error, "'%s' is a comparison already; leave out \"comparison\"",
                          figure->metric);
    return figure->esg == NULL || strcmp(figure->policy, REPORT_REFERENCE_POLICY) == 0 ||
           json_fault(value, error,
                      "'%s' compares " REPORT_REFERENCE_POLICY " with others; leave out \"policy\"",
                      figure->metric);
}

static bool figure_read(struct arena *arena, const struct json_value *value,
                        struct expectation *figure, struct error *error)
{
    static const char *const keys[] = {
        "metric", "policy", "against",  "settings", "application", "low",           "high",
        "unit",   "note",   "evidence", "formula",  "comparison",  "deterministic", NULL};
    static const struct text_key texts[] = {
        TEXT("metric", metric, true),
        TEXT("policy", policy, false),
        TEXT("unit", unit, false),
        TEXT("application", application, false),
        TEXT("formula", formula, false),
        TEXT("note", note, false),
        {.key = NULL},
    };
    static const char *const formulas[] = {"none", "difference", "ratio", "gain", NULL};
    int formula = PAIRED_VALUE;
    figure->policy = REPORT_REFERENCE_POLICY;
    figure->unit = "";
    if (!json_is_object(value, keys, error) || !texts_read(value, texts, figure, error) ||
        !names_read(arena, value, "against", &figure->against, &figure->compare_count, error) ||
        !names_read(arena, value, "settings", &figure->settings, &figure->setting_count, error) ||
        !json_choice(value, "comparison", formulas, &formula, error) ||
        !json_bool(value, "deterministic", &figure->deterministic, error) ||
        !range_read(value, figure, error))
        return false;
    figure->comparison = (enum paired_formula)formula;
    return expectation_resolve(figure) ? figure_check(value, figure, formula != PAIRED_VALUE, error)
                                       : metric_fault(value, true, error);
}

/* ---- Claims ---------------------------------------------------------------------------------- */

/* An optional object that names a contender. */
static bool side_read(const struct json_value *value, const char *key, const char **policy,
                      const char **setting, struct error *error)
{
    static const char *const keys[] = {"policy", "setting", NULL};
    struct json_value object;
    return !json_child(value, key, &object) ||
           (json_is_object(&object, keys, error) &&
            text_read(&object, "policy", true, policy, error) &&
            text_read(&object, "setting", false, setting, error));
}

static bool sides_read(struct arena *arena, const struct json_value *value,
                       struct expectation *claim, struct error *error)
{
    struct json_value needed;
    claim->settings = arena_allocate(arena, 1, sizeof *claim->settings);
    claim->against = arena_allocate(arena, 1, sizeof *claim->against);
    const bool good =
        json_require(value, "of", &needed, error) &&
        side_read(value, "of", &claim->policy, &claim->settings[0], error) &&
        side_read(value, "against", &claim->against[0], &claim->against_setting, error);
    claim->setting_count = claim->settings[0] != NULL;
    claim->compare_count = claim->against[0] != NULL;
    return good;
}

static bool formula_read(const struct json_value *value, struct expectation *claim,
                         struct error *error)
{
    static const char *const names[] = {"value", "difference", "ratio", NULL};
    const bool alone = claim->compare_count == 0;
    int formula = alone ? PAIRED_VALUE : PAIRED_RATIO;
    if (!json_choice(value, "formula", names, &formula, error))
        return false;
    claim->comparison = (enum paired_formula)formula;
    if (alone && formula != PAIRED_VALUE)
        return json_fault(value, error, "a %s needs \"against\", the other policy", names[formula]);
    return alone || formula != PAIRED_VALUE ||
           json_fault(value, error, "a value is of one policy; leave out \"against\"");
}

/* A claim is in the unit in which reports show its metric. */
static void unit_set(struct expectation *claim)
{
    const bool percent =
        claim->measured->scope != METRIC_OF_TRAININGS && claim->measured->column.scale == 100;
    const enum paired_formula formula = claim->comparison;
    claim->scale = percent && formula != PAIRED_RATIO ? 100 : 1;
    claim->unit = formula == PAIRED_RATIO                   ? "x"
                  : percent && formula == PAIRED_DIFFERENCE ? "points"
                  : percent                                 ? "%"
                  : strcmp(claim->measured->unit, "1") == 0 ? ""
                                                            : claim->measured->unit;
}

static bool claim_read(struct arena *arena, const struct json_value *value,
                       struct expectation *claim, struct error *error)
{
    static const char *const keys[] = {"system",  "kind",        "claim",  "published", "evidence",
                                       "source",  "sweep",       "metric", "formula",   "of",
                                       "against", "application", "low",    "high",      "expected",
                                       "note",    NULL};
    static const struct text_key texts[] = {
        TEXT("system", system, true),       TEXT("claim", text, true),
        TEXT("published", published, true), TEXT("source", source, true),
        TEXT("sweep", sweep, true),         TEXT("application", application, false),
        TEXT("expected", expected, false),  TEXT("note", note, false),
        TEXT("metric", metric, true),       {.key = NULL},
    };
    static const char *const kinds[] = {"exact", "paired", "open", NULL};
    int kind = 0;
    claim->file = arena_text(arena, "%s: %s", value->file, value->path);
    if (!json_is_object(value, keys, error) || !texts_read(value, texts, claim, error) ||
        !choice_need(value, "kind", kinds, &kind, error) || !range_read(value, claim, error))
        return false;
    claim->kind = (enum expectation_kind)kind;
    claim->measured = report_metric_find(claim->metric);
    if ((claim->measured == NULL && !metric_fault(value, false, error)) ||
        !sides_read(arena, value, claim, error) || !formula_read(value, claim, error))
        return false;
    unit_set(claim);
    return range_check(value, claim, true, error);
}

/* Moves claims of a lower kind to the front, and keeps the order of equals. */
static void claims_sort(struct expectations *claims)
{
    for (size_t i = 1; i < claims->count; i++) {
        const struct expectation claim = claims->list[i];
        size_t at = i;
        for (; at > 0 && claims->list[at - 1].kind > claim.kind; at--)
            claims->list[at] = claims->list[at - 1];
        claims->list[at] = claim;
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool file_read(const struct json_value *root, enum expectation_form form,
                      struct expectations *expectations, struct error *error)
{
    static const char *const keys[][6] = {{"title", "source", "licence", "note", "figures", NULL},
                                          {"title", "note", "claims", NULL}};
    const bool claims = form == EXPECTATION_CLAIMS;
    struct json_value list;
    if (!json_is_object(root, keys[form], error) ||
        !text_read(root, "title", true, &expectations->title, error) ||
        (!claims && !text_read(root, "source", true, &expectations->source, error)) ||
        !json_require(root, claims ? "claims" : "figures", &list, error) ||
        !json_is_array(&list, 1, 1000, error))
        return false;
    const size_t count = json_size(&list);
    expectations->list = arena_allocate(expectations->arena, count, sizeof *expectations->list);
    for (size_t i = 0; i < count; i++) {
        const struct json_value value = json_entry(&list, i);
        struct expectation *read = &expectations->list[expectations->count++];
        if (!(claims ? claim_read : figure_read)(expectations->arena, &value, read, error))
            return false;
    }
    claims_sort(expectations);
    return true;
}

struct expectations *expectations_load(const char *path, enum expectation_form form,
                                       struct error *error)
{
    cJSON *document = json_parse_file(path, error);
    if (document == NULL)
        return NULL;
    const struct json_value root = json_root(path, document);
    struct arena *arena = arena_create();
    struct expectations *expectations = arena_allocate(arena, 1, sizeof *expectations);
    expectations->arena = arena;
    expectations->document = document;
    if (file_read(&root, form, expectations, error))
        return expectations;
    expectations_free(expectations);
    return NULL;
}

void expectations_free(struct expectations *expectations)
{
    if (expectations == NULL)
        return;
    cJSON_Delete(expectations->document);
    arena_destroy(expectations->arena);
}
