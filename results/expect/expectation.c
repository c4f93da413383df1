#include "results/expect/expectation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/report.h"
#include "sim/base/atomic_file.h"
#include "sim/base/json.h"
#include "sim/base/keys.h"
#include "workloads/load/json_include.h"

static const char *const grades[] = {"published", "readme",  "secondary",
                                     "recalled",  "assumed", NULL};

bool expectation_is_comparison(const struct expectation *expectation)
{
    return expectation->comparison != PAIRED_VALUE;
}

bool expectation_depends_on_drops(const struct expectation *expectation)
{
    const char *name = expectation->measured->name;
    return metric_is_of_served(expectation->measured) || strcmp(name, "cost_per_arrival_usd") == 0;
}

bool expectation_is_free(const struct expectation *expectation)
{
    return expectation->esg == NULL && expectation_is_comparison(expectation);
}

bool expectation_resolve(struct expectation *expectation)
{
    const struct paired_gain *esg = NULL;
    for (size_t g = 0; g < GAINS; g++)
        if (strcmp(expectation->metric, paired_gains[g].name) == 0)
            esg = &paired_gains[g];
    expectation->esg = esg;
    if (esg != NULL)
        expectation->comparison = esg->formula;
    expectation->scale = esg != NULL || expectation->comparison == PAIRED_GAIN ? 100 : 1;
    expectation->measured = report_metric_find(esg != NULL ? esg->metric : expectation->metric);
    return expectation->measured != NULL;
}

/* ---- Loading: both forms --------------------------------------------------------------------- */

#define OF expectation
#define APPLICATION KEY_TEXT("application", OF, application, OPTIONAL)
#define EVIDENCE KEY_WORD("evidence", OF, grade, grades, 0, REQUIRED)
#define NOTE KEY_TEXT("note", OF, note, OPTIONAL)
#define DETERMINISTIC KEY_BOOL("deterministic", OF, deterministic, false, OPTIONAL)
#define BOUND(name, field) KEY_NUMBER(name, OF, field, -1e15, 1e15, NAN, OPTIONAL)

static const char *const comparisons[] = {"none", "difference", "ratio", "gain", NULL};
static const struct key figure_keys[] = {
    KEY_TEXT("metric", OF, metric, REQUIRED),
    KEY_TEXT("policy", OF, policy, OPTIONAL),
    KEY_OWN("against"),
    KEY_OWN("settings"),
    APPLICATION,
    BOUND("low", low),
    BOUND("high", high),
    KEY_TEXT("unit", OF, unit, OPTIONAL),
    NOTE,
    EVIDENCE,
    KEY_TEXT("formula", OF, formula, OPTIONAL),
    KEY_WORD("comparison", OF, comparison, comparisons, PAIRED_VALUE, OPTIONAL),
    DETERMINISTIC,
    KEY_END};

const char *const claim_groups[] = {"self-check", "real", "size", "sign", NULL};
const char *const expectation_formulas[] = {"value", "difference", "ratio", "gain", NULL};
static const struct key of_keys[] = {KEY_TEXT("policy", OF, policy, REQUIRED),
                                     KEY_TEXT("setting", OF, setting, OPTIONAL), KEY_END};
static const struct key against_keys[] = {KEY_TEXT("policy", OF, other, REQUIRED),
                                          KEY_TEXT("setting", OF, against_setting, OPTIONAL),
                                          KEY_END};
static const struct key claim_keys[] = {
    KEY_TEXT("system", OF, system, REQUIRED),
    KEY_WORD("group", OF, group, claim_groups, CLAIM_SELF_CHECK, REQUIRED),
    KEY_TEXT("claim", OF, text, REQUIRED),
    KEY_TEXT("published", OF, published, REQUIRED),
    EVIDENCE,
    KEY_TEXT("source", OF, source, REQUIRED),
    KEY_TEXT("sweep", OF, sweep, REQUIRED),
    KEY_TEXT("metric", OF, metric, REQUIRED),
    KEY_WORD("formula", OF, comparison, expectation_formulas, PAIRED_VALUE, OPTIONAL),
    KEY_OBJECT("of", of_keys, REQUIRED),
    KEY_OBJECT("against", against_keys, OPTIONAL),
    KEY_TEXT("mechanism", OF, mechanism, OPTIONAL),
    KEY_TEXT("differs", OF, differs, OPTIONAL),
    KEY_TEXT("measured", OF, real_set, OPTIONAL),
    DETERMINISTIC,
    APPLICATION,
    BOUND("low", low),
    BOUND("high", high),
    KEY_TEXT("expected", OF, expected, OPTIONAL),
    NOTE,
    KEY_END};
#undef OF

/* Sets what the keys say. */
static bool expectation_load(const struct key *keys, const struct json_value *value,
                             struct expectation *expectation, struct error *error)
{
    keys_default(keys, expectation);
    if (!keys_load(keys, value, expectation, error))
        return false;
    expectation->evidence = grades[expectation->grade];
    return true;
}

/* `comparisons`: those of ESG are metrics, too. */
static bool metric_fault(const struct json_value *value, bool comparisons, struct error *error)
{
    const char *names[256];
    int count = 0;
    struct json_value metric;
    (void)json_child(value, "metric", &metric);
    for (size_t g = 0; comparisons && g < GAINS; g++)
        names[count++] = paired_gains[g].name;
    names[count++] = report_late_rate.name;
    names[count++] = report_miss_rate.name;
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
    return figure->esg == NULL || report_is_policy(REPORT_REFERENCE_POLICY, figure->policy) ||
           json_fault(value, error,
                      "'%s' compares " REPORT_REFERENCE_POLICY " with others; leave out \"policy\"",
                      figure->metric);
}

static bool figure_read(struct arena *arena, const struct json_value *value,
                        struct expectation *figure, struct error *error)
{
    figure->policy = REPORT_REFERENCE_POLICY;
    figure->unit = "";
    if (!expectation_load(figure_keys, value, figure, error) ||
        !names_read(arena, value, "against", &figure->against, &figure->compare_count, error) ||
        !names_read(arena, value, "settings", &figure->settings, &figure->setting_count, error))
        return false;
    const bool compared = figure->comparison != PAIRED_VALUE;
    if (!expectation_resolve(figure))
        return metric_fault(value, true, error);
    figure->title = figure->esg != NULL && strchr(figure->policy, ' ') != NULL
                        ? arena_text(arena, "%s of %s", figure->metric, figure->policy)
                        : figure->metric;
    return figure_check(value, figure, compared, error);
}

/* ---- Claims ---------------------------------------------------------------------------------- */

static bool formula_check(const struct json_value *value, struct expectation *claim,
                          struct error *error)
{
    struct json_value given;
    const bool alone = claim->other == NULL;
    if ((claim->group == CLAIM_REAL) != (claim->real_set != NULL) ||
        (claim->real_set != NULL && !alone))
        return json_fault(
            value, error,
            "a claim of the group real, and no other, has \"measured\" in place of \"against\"");
    if (!alone && !json_child(value, "formula", &given))
        claim->comparison = PAIRED_RATIO;
    if (alone != (claim->mechanism == NULL) || alone != (claim->differs == NULL))
        return json_fault(value, error,
                          "\"mechanism\" and \"differs\" say what differs from \"against\"; "
                          "give all three or none");
    if (alone && (claim->group == CLAIM_SIGN || expectation_is_comparison(claim)))
        return json_fault(value, error, "a %s needs \"against\", the other policy",
                          claim->group == CLAIM_SIGN ? "sign"
                                                     : expectation_formulas[claim->comparison]);
    return alone || expectation_is_comparison(claim) ||
           json_fault(value, error, "a value is of one policy; leave out \"against\"");
}

/* Reads what was measured in the setting, which is the last name of `of`, and adds it to the range.
 * Latencies count as their mean. */
static bool real_read(const struct json_value *value, struct expectation *claim,
                      struct error *error)
{
    static const char file[] = "results/reality/runs.json";
    const char *setting = claim->setting == NULL ? NULL : file_name(claim->setting);
    const cJSON *root =
        json_load(value->arena, json_include_operand(value->arena, file), error).node;
    const cJSON *set = NULL, *found = NULL, *one = NULL;
    if (root == NULL)
        return false;
    cJSON_ArrayForEach(set, cJSON_GetObjectItem(root, "sets"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(set, "name"));
        if (name != NULL && strcmp(name, claim->real_set) == 0)
            found = cJSON_GetObjectItem(cJSON_GetObjectItem(set, "measured"), setting);
    }
    const bool good =
        found != NULL &&
        strcmp(claim->metric, cJSON_IsArray(found) ? "latency_ms_mean" : "slo_hit_rate") == 0;
    claim->real = good ? claim->scale * found->valuedouble : 0; /* of a list it is 0 */
    cJSON_ArrayForEach(one, found)
    {
        claim->real += one->valuedouble / cJSON_GetArraySize(found);
    }
    const double step = cJSON_IsArray(found) ? claim->real / 100 : 1;
    claim->low = fmax(0, claim->real + step * claim->low);
    claim->high =
        fmin(cJSON_IsArray(found) ? INFINITY : claim->scale, claim->real + step * claim->high);
    return good || json_fault(value, error, "%s has no %s of \"%s\" in setting \"%s\"", file,
                              claim->metric, claim->real_set, setting != NULL ? setting : "");
}

/* A claim is in the unit in which reports show its metric. */
static void unit_set(struct expectation *claim)
{
    const bool percent =
        claim->measured->scope != METRIC_OF_TRAININGS && claim->measured->face.scale == 100;
    const enum paired_formula formula = claim->comparison;
    claim->scale = formula == PAIRED_GAIN || (percent && formula != PAIRED_RATIO) ? 100 : 1;
    claim->unit = formula == PAIRED_RATIO                   ? "x"
                  : formula == PAIRED_GAIN                  ? "%"
                  : percent && formula == PAIRED_DIFFERENCE ? "points"
                  : percent                                 ? "%"
                  : strcmp(claim->measured->unit, "1") == 0 ? ""
                                                            : claim->measured->unit;
}

static bool claim_read(struct arena *arena, const struct json_value *value,
                       struct expectation *claim, struct error *error)
{
    claim->file = arena_text(arena, "%s: %s", value->file, value->path);
    if (!expectation_load(claim_keys, value, claim, error))
        return false;
    claim->measured = report_metric_find(claim->metric);
    if (claim->measured == NULL)
        return metric_fault(value, false, error);
    if (!formula_check(value, claim, error))
        return false;
    unit_set(claim);
    return (claim->group != CLAIM_REAL || real_read(value, claim, error)) &&
           range_check(value, claim, true, error);
}

/* ---- Files ----------------------------------------------------------------------------------- */

#define OF expectations
static const struct key file_keys[][7] = {
    {KEY_TEXT("title", OF, title, REQUIRED), KEY_TEXT("source", OF, source, REQUIRED),
     KEY_OWN("licence"), KEY_OWN("note"), KEY_NEEDED("figures"), KEY_END},
    {KEY_TEXT("title", OF, title, REQUIRED), KEY_OWN("note"), KEY_NEEDED("claims"), KEY_END}};
#undef OF

static bool file_read(const struct json_value *root, enum expectation_form form,
                      struct expectations *expectations, struct error *error)
{
    const bool claims = form == EXPECTATION_CLAIMS;
    struct json_value list;
    if (!keys_load(file_keys[form], root, expectations, error) ||
        !json_child(root, claims ? "claims" : "figures", &list) ||
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
    return true;
}

struct expectations *expectations_load(const char *path, enum expectation_form form,
                                       struct error *error)
{
    struct expectations *expectations = arena_home(sizeof *expectations);
    struct json_value root =
        json_load(expectations->arena, json_include_operand(expectations->arena, path), error);
    root.file = path;
    if (root.node != NULL && file_read(&root, form, expectations, error))
        return expectations;
    arena_destroy(expectations->arena);
    return NULL;
}
