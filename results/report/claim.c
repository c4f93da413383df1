#include "results/report/claim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/json/json.h"

static const char *const kind_names[] = {"exact", "paired", "open", NULL};
static const char *const formula_names[] = {"value", "difference", "ratio", NULL};

const char *claim_kind_name(enum claim_kind kind)
{
    return kind_names[kind];
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* A string that must be given. */
static bool text_read(const struct json_value *object, const char *key, char **text,
                      struct error *error)
{
    struct json_value needed;
    return json_require(object, key, &needed, error) && json_string(object, key, text, error);
}

/* An optional object that names a contender. */
static bool side_read(const struct json_value *value, const char *key, struct claim_side *side,
                      struct error *error)
{
    static const char *const keys[] = {"policy", "setting", NULL};
    struct json_value object;
    return !json_child(value, key, &object) ||
           (json_is_object(&object, keys, error) &&
            text_read(&object, "policy", &side->policy, error) &&
            json_string(&object, "setting", &side->setting, error));
}

static bool metric_read(const struct json_value *value, struct claim *claim, struct error *error)
{
    const char *names[256];
    int count = 0;
    struct json_value metric;
    if (!json_require(value, "metric", &metric, error))
        return false;
    const char *name = json_as_string(&metric, error);
    if (name == NULL)
        return false;
    claim->metric = report_metric_find(name);
    if (claim->metric != NULL)
        return true;
    names[count++] = report_late_rate.name;
    names[count++] = report_gpu_use.name;
    for (size_t i = 0; i < metric_count && count < 256; i++)
        names[count++] = metrics[i].name;
    for (size_t i = 0; i < training_metric_count && count < 256; i++)
        names[count++] = training_metrics[i].name;
    const char *nearest = error_nearest_name(name, names, count);
    return json_fault(&metric, error, "unknown metric '%s'; %s%s", name,
                      nearest != NULL ? "did you mean "
                                      : "see the columns of /summary and /training",
                      nearest != NULL ? nearest : "");
}

static bool formula_read(const struct json_value *value, struct claim *claim, struct error *error)
{
    static const enum paired_formula formulas[] = {PAIRED_VALUE, PAIRED_DIFFERENCE, PAIRED_RATIO};
    const bool alone = claim->against.policy == NULL;
    int formula = alone ? 0 : 2;
    if (!json_choice(value, "formula", formula_names, &formula, error))
        return false;
    claim->formula = formulas[formula];
    if (alone && claim->formula != PAIRED_VALUE)
        return json_fault(value, error, "a %s needs \"against\", the other policy",
                          formula_names[formula]);
    return alone || claim->formula != PAIRED_VALUE ||
           json_fault(value, error, "a value is of one policy; leave out \"against\"");
}

static bool range_read(const struct json_value *value, struct claim *claim, struct error *error)
{
    if (!json_number(value, "low", -1e15, 1e15, &claim->low, error) ||
        !json_number(value, "high", -1e15, 1e15, &claim->high, error))
        return false;
    if (isnan(claim->low) && isnan(claim->high))
        return json_fault(value, error, "has no expectation; give \"low\", \"high\" or both, in %s",
                          claim_unit(claim)[0] == '\0' ? "1" : claim_unit(claim));
    char fault[METRIC_FAULT];
    const double unit = claim_unit(claim)[0] == '%' ? 100 : 1;
    if (claim->formula == PAIRED_VALUE &&
        (!metric_allows(claim->metric, claim->low / unit, fault) ||
         !metric_allows(claim->metric, claim->high / unit, fault)))
        return json_fault(value, error, "%s is a share; \"low\" and \"high\" are 0 to %g",
                          claim->metric->name, unit);
    return !(claim->low > claim->high) ||
           json_fault(value, error, "low %g is above high %g; exchange them", claim->low,
                      claim->high);
}

static bool claim_read(const struct json_value *value, struct claim *claim, struct error *error)
{
    static const char *const keys[] = {"system",  "kind",        "claim",  "published", "evidence",
                                       "source",  "sweep",       "metric", "formula",   "of",
                                       "against", "application", "low",    "high",      "expected",
                                       "note",    NULL};
    struct json_value needed;
    int kind = 0;
    int grade = 0;
    claim->low = NAN;
    claim->high = NAN;
    if (asprintf(&claim->file, "%s: %s", value->file, value->path) < 0) {
        claim->file = NULL;
        return error_run(error, "%s: out of memory", value->file);
    }
    if (!json_is_object(value, keys, error) || !text_read(value, "system", &claim->system, error) ||
        !text_read(value, "claim", &claim->text, error) ||
        !json_require(value, "kind", &needed, error) ||
        !json_choice(value, "kind", kind_names, &kind, error) ||
        !text_read(value, "published", &claim->published, error) ||
        !json_require(value, "evidence", &needed, error) ||
        !json_choice(value, "evidence", reference_grades, &grade, error) ||
        !text_read(value, "source", &claim->source, error) ||
        !text_read(value, "sweep", &claim->sweep, error) ||
        !json_string(value, "application", &claim->application, error) ||
        !json_string(value, "expected", &claim->expected, error) ||
        !json_string(value, "note", &claim->note, error) || !metric_read(value, claim, error) ||
        !json_require(value, "of", &needed, error) || !side_read(value, "of", &claim->of, error) ||
        !side_read(value, "against", &claim->against, error) ||
        !formula_read(value, claim, error) || !range_read(value, claim, error))
        return false;
    claim->kind = (enum claim_kind)kind;
    claim->evidence = reference_grades[grade];
    return true;
}

/* Moves claims of a lower kind to the front, and keeps the order of equals. */
static void claims_sort(struct claims *claims)
{
    for (size_t i = 1; i < claims->count; i++) {
        const struct claim claim = claims->claims[i];
        size_t at = i;
        for (; at > 0 && claims->claims[at - 1].kind > claim.kind; at--)
            claims->claims[at] = claims->claims[at - 1];
        claims->claims[at] = claim;
    }
}

static bool claims_read(const struct json_value *root, struct claims *claims, struct error *error)
{
    static const char *const keys[] = {"title", "note", "claims", NULL};
    struct json_value list;
    if (!json_is_object(root, keys, error) || !text_read(root, "title", &claims->title, error) ||
        !json_require(root, "claims", &list, error) || !json_is_array(&list, 1, 1000, error))
        return false;
    const size_t count = json_size(&list);
    claims->claims = calloc(count, sizeof *claims->claims);
    if (claims->claims == NULL)
        return error_run(error, "%s: out of memory", root->file);
    for (size_t i = 0; i < count; i++) {
        const struct json_value value = json_entry(&list, i);
        claims->count = i + 1;
        if (!claim_read(&value, &claims->claims[i], error))
            return false;
    }
    claims_sort(claims);
    return true;
}

struct claims *claims_load(const char *path, struct error *error)
{
    cJSON *document = json_parse_file(path, error);
    if (document == NULL)
        return NULL;
    const struct json_value root = json_root(path, document);
    struct claims *claims = calloc(1, sizeof *claims);
    const bool good = claims != NULL ? claims_read(&root, claims, error)
                                     : error_run(error, "%s: out of memory", path);
    cJSON_Delete(document);
    if (good)
        return claims;
    claims_free(claims);
    return NULL;
}

void claim_clear(struct claim *claim)
{
    char *const texts[] = {claim->system,     claim->text,           claim->published,
                           claim->source,     claim->sweep,          claim->application,
                           claim->expected,   claim->note,           claim->of.policy,
                           claim->of.setting, claim->against.policy, claim->against.setting,
                           claim->file};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        free(texts[t]);
    *claim = (struct claim){0};
}

void claims_free(struct claims *claims)
{
    if (claims == NULL)
        return;
    for (size_t i = 0; i < claims->count; i++)
        claim_clear(&claims->claims[i]);
    free(claims->claims);
    free(claims->title);
    free(claims);
}

/* ---- Our estimate ---------------------------------------------------------------------------- */

static bool is_side(const struct report *report, const struct report_scenario *scenario,
                    const struct report_contender *contender, const struct claim_side *side)
{
    return (side->setting == NULL || report_is_setting(report, scenario, side->setting)) &&
           report_is_contender(contender, side->policy);
}

/* `application` NULL: all together. */
static bool has_application(const struct report_scenario *scenario, const char *application)
{
    bool has = application == NULL;
    for (size_t a = 0; a < scenario->application_count; a++)
        has = has || strcmp(scenario->applications[a], application) == 0;
    return has;
}

/* The only contender of the report that the side names. NULL: ERROR_INPUT. */
static const struct report_contender *side_find(const struct report *report,
                                                const struct claim *claim,
                                                const struct claim_side *side, struct error *error)
{
    const struct report_contender *found = NULL;
    const struct report_scenario *place = NULL;
    size_t count = 0;
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++)
            if (is_side(report, scenario, &scenario->contenders[c], side)) {
                found = &scenario->contenders[c];
                place = scenario;
                count++;
            }
    }
    if (count == 1 && !has_application(place, claim->application)) {
        (void)error_input(error, "%s.application: %s has no application '%s'; the first is '%s'",
                          claim->file, claim->sweep, claim->application,
                          place->application_count > 0 ? place->applications[0] : "");
        return NULL;
    }
    if (count == 1)
        return found;
    (void)error_input(
        error, "%s.%s: %s has %s runs of \"%s\"%s%s%s; %s", claim->file,
        side == &claim->of ? "of" : "against", claim->sweep, count == 0 ? "no" : "several",
        side->policy, side->setting == NULL ? "" : " in setting \"",
        side->setting == NULL ? "" : side->setting, side->setting == NULL ? "" : "\"",
        count == 0 ? "name a policy with all parameters that the sweep sets for it, and a setting "
                     "of the sweep"
                   : "name the setting");
    return NULL;
}

/* Whether the metric's share is shown in per cent. */
static bool in_percent(const struct claim *claim)
{
    return claim->metric->scope != METRIC_OF_TRAININGS && claim->metric->column.scale == 100;
}

bool claim_estimate(const struct report *report, const struct claim *claim, struct estimate *ours,
                    struct error *error)
{
    struct paired_contenders pair = {.first = side_find(report, claim, &claim->of, error)};
    if (pair.first == NULL)
        return false;
    if (claim->formula != PAIRED_VALUE &&
        (pair.second = side_find(report, claim, &claim->against, error)) == NULL)
        return false;
    *ours = paired_estimate(report, &pair, 1, claim->application, claim->metric, claim->formula);
    if (claim->formula != PAIRED_RATIO && in_percent(claim))
        *ours = statistics_scaled(*ours, 100);
    return true;
}

enum claim_verdict claim_judge(const struct claim *claim, struct estimate ours)
{
    const double neutral = claim->kind == CLAIM_EXACT            ? NAN
                           : claim->formula == PAIRED_RATIO      ? 1
                           : claim->formula == PAIRED_DIFFERENCE ? 0
                                                                 : NAN;
    return verdict_of_claim(claim->low, claim->high, neutral, ours);
}

const char *claim_unit(const struct claim *claim)
{
    if (claim->formula == PAIRED_RATIO)
        return "x";
    if (in_percent(claim))
        return claim->formula == PAIRED_DIFFERENCE ? "points" : "%";
    return strcmp(claim->metric->unit, "1") == 0 ? "" : claim->metric->unit;
}

void claim_quantity(const struct claim *claim, char *text, size_t size)
{
    const char *sign = claim->formula == PAIRED_RATIO ? " / " : " - ";
    const char *settings[] = {claim->of.setting, claim->against.setting};
    const bool alone = claim->formula == PAIRED_VALUE;
    const bool apart = !alone && settings[0] != NULL && settings[1] != NULL &&
                       strcmp(settings[0], settings[1]) != 0;
    const char *last = settings[0] != NULL && !apart ? settings[0] : settings[1];
    (void)snprintf(text, size, "%s: %s%s%s%s%s%s%s%s%s", claim->metric->name, claim->of.policy,
                   apart ? " in " : "", apart ? settings[0] : "", alone ? "" : sign,
                   alone ? "" : claim->against.policy, last == NULL ? "" : " in ",
                   last == NULL ? "" : last, claim->application == NULL ? "" : ", ",
                   claim->application == NULL ? "" : claim->application);
}
