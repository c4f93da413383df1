#include "results/report/claim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/paired.h"
#include "results/report/table.h"
#include "sim/base/json_write.h"

static const char *const kind_names[] = {"exact", "paired", "open"};

/* ---- Our estimate ---------------------------------------------------------------------------- */

/* A contender of the sweep: a policy with its parameters, and a setting; NULL: the only one. */
struct side {
    const char *key, *policy, *setting;
};

static struct side side_of(const struct expectation *claim)
{
    return (struct side){"of", claim->policy, claim->setting_count > 0 ? claim->settings[0] : NULL};
}

/* The policy is NULL if the claim is of one policy. */
static struct side side_against(const struct expectation *claim)
{
    return (struct side){"against", claim->compare_count > 0 ? claim->against[0] : NULL,
                         claim->against_setting};
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
                                                const struct expectation *claim, struct side side,
                                                struct error *error)
{
    const struct report_contender *found = NULL;
    const struct report_scenario *place = NULL;
    size_t count = 0;
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        if (side.setting != NULL && !report_is_setting(report, scenario, side.setting))
            continue;
        for (size_t c = 0; c < scenario->contender_count; c++)
            if (report_is_contender(&scenario->contenders[c], side.policy)) {
                found = &scenario->contenders[c];
                place = scenario;
                count++;
            }
    }
    if (count == 1 && has_application(place, claim->application))
        return found;
    if (count == 1)
        (void)error_input(error, "%s.application: %s has no application '%s'; the first is '%s'",
                          claim->file, claim->sweep, claim->application,
                          place->application_count > 0 ? place->applications[0] : "");
    else
        (void)error_input(error, "%s.%s: %s has %s runs of \"%s\"%s%s%s; %s", claim->file, side.key,
                          claim->sweep, count == 0 ? "no" : "several", side.policy,
                          side.setting == NULL ? "" : " in setting \"",
                          side.setting == NULL ? "" : side.setting,
                          side.setting == NULL ? "" : "\"",
                          count == 0 ? "name a policy with all parameters that the sweep sets for "
                                       "it, and a setting of the sweep"
                                     : "name the setting");
    return NULL;
}

bool claim_estimate(const struct report *report, const struct expectation *claim,
                    struct estimate *ours, struct error *error)
{
    struct paired_contenders pair = {.first = side_find(report, claim, side_of(claim), error)};
    if (pair.first == NULL)
        return false;
    if (expectation_is_comparison(claim) &&
        (pair.second = side_find(report, claim, side_against(claim), error)) == NULL)
        return false;
    *ours = paired_expected(report, &pair, 1, claim);
    return true;
}

enum claim_verdict claim_judge(const struct expectation *claim, struct estimate ours)
{
    /* The value of no effect. A missing one or bound is NAN: every comparison with it is false. */
    const double neutral = claim->kind == CLAIM_EXACT               ? NAN
                           : claim->comparison == PAIRED_RATIO      ? 1
                           : claim->comparison == PAIRED_DIFFERENCE ? 0
                                                                    : NAN;
    const enum standing standing = standing_of(claim->low, claim->high, ours);
    const bool more = claim->low >= neutral;
    const bool less = !more && claim->high <= neutral;
    const bool other_sign = more   ? (ours.exact ? ours.mean : ours.high) < neutral
                            : less ? (ours.exact ? ours.mean : ours.low) > neutral
                                   : true;
    if (standing == STANDING_HOLDS)
        return CLAIM_SHOWN;
    return (standing == STANDING_BELOW || standing == STANDING_ABOVE) && other_sign
               ? CLAIM_CONTRADICTED
               : CLAIM_NOT_SHOWN;
}

const char *claim_verdict_name(enum claim_verdict verdict)
{
    static const char *const names[] = {"shown", "not shown", "contradicted"};
    return names[verdict];
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* "queue_ms_mean: sjf / fifo in size-order". */
static void quantity_words(const struct expectation *claim, char *text, size_t size)
{
    const struct side of = side_of(claim);
    const struct side against = side_against(claim);
    const bool alone = against.policy == NULL;
    const bool apart =
        of.setting != NULL && against.setting != NULL && strcmp(of.setting, against.setting) != 0;
    const char *last = of.setting != NULL && !apart ? of.setting : against.setting;
    (void)snprintf(text, size, "%s: %s%s%s%s%s%s%s%s%s", claim->metric, of.policy,
                   apart ? " in " : "", apart ? of.setting : "",
                   alone                               ? ""
                   : claim->comparison == PAIRED_RATIO ? " / "
                                                       : " - ",
                   alone ? "" : against.policy, last == NULL ? "" : " in ",
                   last == NULL ? "" : last, claim->application == NULL ? "" : ", ",
                   claim->application == NULL ? "" : claim->application);
}

static void verdict_words(const struct expectation *claim, struct estimate ours, char *text,
                          size_t size)
{
    const enum claim_verdict verdict = claim_judge(claim, ours);
    const enum standing standing = standing_of(claim->low, claim->high, ours);
    const bool why = verdict == CLAIM_NOT_SHOWN;
    (void)snprintf(text, size, "%s%s%s%s", claim_verdict_name(verdict), why ? " (" : "",
                   why ? standing_name(standing) : "", why ? ")" : "");
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Columns of the line with the numbers. */
enum { WIDTH_VERDICT = 22, WIDTH_OURS = 24, WIDTH_EXPECTED = 20 };

/* Writes a text and pads it to `width` columns; each character takes one. */
static void print_padded(FILE *out, const char *text, int width)
{
    int used = 0;
    for (const char *c = text; *c != '\0'; c++)
        used += ((unsigned char)*c & 0xC0) != 0x80;
    (void)fprintf(out, "%s%*s", text, used < width ? width - used : 1, "");
}

static void ours_words(const struct expectation *claim, struct estimate ours, char *text,
                       size_t size)
{
    const int decimals = text_table_decimals(fabs(ours.mean), 4);
    const char *unit = claim->unit;
    char interval[INTERVAL_TEXT];
    interval_text(&ours, decimals, interval);
    if (!isfinite(ours.mean))
        (void)snprintf(text, size, "-");
    else
        (void)snprintf(text, size, "%.*f%s %s", decimals, ours.mean, interval, unit);
}

/* `published`: the figure is printed; not if the claim before has the same. */
static void print_claim(const struct expectation *claim, struct estimate ours, bool published,
                        FILE *out)
{
    char text[1024];
    (void)fprintf(out, "%s: %s\n", claim->system, claim->text);
    if (published)
        (void)fprintf(out, "  published: %s [%s]\n", claim->published, claim->evidence);
    (void)fputs("  ", out);
    verdict_words(claim, ours, text, sizeof text);
    print_padded(out, text, WIDTH_VERDICT);
    ours_words(claim, ours, text, sizeof text);
    print_padded(out, text, WIDTH_OURS);
    verdict_range(claim->low, claim->high, claim->unit, text, sizeof text);
    print_padded(out, text, WIDTH_EXPECTED);
    quantity_words(claim, text, sizeof text);
    (void)fprintf(out, "%s\n", text);
}

static void print_head(const char *title, FILE *out)
{
    (void)fprintf(out, "\n== %s\n\n  ", title);
    print_padded(out, "verdict", WIDTH_VERDICT);
    print_padded(out, "ours", WIDTH_OURS);
    print_padded(out, "expected", WIDTH_EXPECTED);
    (void)fputs("of what\n\n", out);
}

/* Prints the claims of one kind; nothing if there are none. */
static void print_kind(const struct expectations *claims, const struct estimate *ours,
                       enum expectation_kind kind, FILE *out)
{
    static const char *const titles[] = {
        "exact: a closed form gives the value",
        "paired: the sign and the size of a comparison, seed by seed",
        "open: the effect depends on what is assumed"};
    size_t counts[CLAIM_VERDICT_COUNT] = {0};
    size_t count = 0;
    const struct expectation *before = NULL;
    for (size_t c = 0; c < claims->count; c++) {
        const struct expectation *claim = &claims->list[c];
        if (claim->kind != kind)
            continue;
        if (before == NULL)
            print_head(titles[kind], out);
        const bool same = before != NULL && strcmp(before->system, claim->system) == 0 &&
                          strcmp(before->published, claim->published) == 0;
        print_claim(claim, ours[c], !same, out);
        counts[claim_judge(claim, ours[c])]++;
        count++;
        before = claim;
    }
    if (count > 0)
        (void)fprintf(out, "\n%s: %zu of %zu shown, %zu not shown, %zu contradicted\n",
                      kind_names[kind], counts[CLAIM_SHOWN], count, counts[CLAIM_NOT_SHOWN],
                      counts[CLAIM_CONTRADICTED]);
}

static void print_details(const struct expectations *claims, FILE *out)
{
    (void)fputs("\n== sources and notes\n", out);
    for (size_t c = 0; c < claims->count; c++) {
        const struct expectation *claim = &claims->list[c];
        (void)fprintf(out, "\n%s: %s\n", claim->system, claim->text);
        text_print_filled(out, "  published: ", claim->source);
        if (claim->expected != NULL)
            text_print_filled(out, "  expected: ", claim->expected);
        if (claim->note != NULL)
            text_print_filled(out, "  note: ", claim->note);
        text_print_filled(out, "  sweep: ", claim->sweep);
    }
}

bool claims_text(const struct expectations *claims, const struct estimate *ours, bool details,
                 FILE *out, struct error *error)
{
    (void)fprintf(out, "%s\n", claims->title);
    for (int kind = 0; kind < CLAIM_KIND_COUNT; kind++)
        print_kind(claims, ours, (enum expectation_kind)kind, out);
    if (details)
        print_details(claims, out);
    return !ferror(out) || error_run(error, "cannot write the claims: %s", strerror(errno));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void claim_json(const struct expectation *claim, struct estimate ours, cJSON *object)
{
    char quantity[512];
    quantity_words(claim, quantity, sizeof quantity);
    json_put(object,
             "system %s kind %s claim %s published %s evidence %s source %s sweep %s quantity %s "
             "unit %s low %g high %g expected %s note %s seeds %zu mean %g half_width_95 %g "
             "low_95 %g high_95 %g standing %s verdict %s",
             claim->system, kind_names[claim->kind], claim->text, claim->published, claim->evidence,
             claim->source, claim->sweep, quantity, claim->unit, claim->low, claim->high,
             claim->expected, claim->note, ours.n, ours.mean, ours.half_width, ours.low, ours.high,
             standing_name(standing_of(claim->low, claim->high, ours)),
             claim_verdict_name(claim_judge(claim, ours)));
}

cJSON *claims_json(const struct expectations *claims, const struct estimate *ours)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root, "title %s", claims->title);
    cJSON *list = cJSON_AddArrayToObject(root, "claims");
    for (size_t c = 0; c < claims->count; c++)
        claim_json(&claims->list[c], ours[c], json_append(list));
    return root;
}
