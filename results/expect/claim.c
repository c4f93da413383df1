#include "results/expect/claim.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "results/report/table.h"
#include "sim/base/text.h"
#include "sim/base/json_write.h"

/* ---- Our estimate ---------------------------------------------------------------------------- */

/* `application` NULL: all together. */
static bool has_application(const struct report_scenario *scenario, const char *application)
{
    bool has = application == NULL;
    for (size_t a = 0; a < scenario->application_count; a++)
        has = has || strcmp(scenario->applications[a], application) == 0;
    return has;
}

/* The only contender of the report that the claim's side `key` names: a policy with its parameters,
 * and a setting; NULL: the only one. Returns NULL with ERROR_INPUT. */
static const struct report_contender *side_find(const struct report *report,
                                                const struct expectation *claim, const char *key,
                                                const char *policy, const char *setting,
                                                struct error *error)
{
    const struct report_contender *found = NULL;
    const struct report_scenario *place = NULL;
    size_t count = 0;
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        if (setting != NULL && !report_is_setting(report, scenario, setting))
            continue;
        for (size_t c = 0; c < scenario->contender_count; c++)
            if (report_is_contender(&scenario->contenders[c], policy)) {
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
        (void)error_input(error, "%s.%s: %s has %s runs of \"%s\"%s%s%s; %s", claim->file, key,
                          claim->sweep, count == 0 ? "no" : "several", policy,
                          setting == NULL ? "" : " in setting \"", setting == NULL ? "" : setting,
                          setting == NULL ? "" : "\"",
                          count == 0 ? "name a policy with all parameters that the sweep sets for "
                                       "it, and a setting of the sweep"
                                     : "name the setting");
    return NULL;
}

bool claim_estimate(const struct report *report, const struct expectation *claim,
                    struct estimate *ours, struct error *error)
{
    struct paired_contenders pair = {
        .first = side_find(report, claim, "of", claim->policy, claim->setting, error)};
    if (pair.first == NULL)
        return false;
    if (expectation_is_comparison(claim) &&
        (pair.second = side_find(report, claim, "against", claim->other, claim->against_setting,
                                 error)) == NULL)
        return false;
    *ours = paired_expected(report, &pair, 1, claim);
    ours->exact = ours->exact || (claim->deterministic && ours->n == 1);
    return true;
}

/* The value of no effect. NAN, with which every comparison is false, where there is none. */
static double neutral_of(const struct expectation *claim)
{
    static const double neutrals[] = {NAN, 0, 1, 0}; /* by enum paired_formula */
    return claim->group == CLAIM_SELF_CHECK ? NAN : neutrals[claim->comparison];
}

/* Where the published effect is, seen from no effect; STANDING_HOLDS: on neither side. */
static enum standing direction_of(const struct expectation *claim)
{
    return claim->low >= neutral_of(claim)    ? STANDING_ABOVE
           : claim->high <= neutral_of(claim) ? STANDING_BELOW
                                              : STANDING_HOLDS;
}

/* The standing in the range that the group wants, which ends before no effect. */
static enum standing claim_standing(const struct expectation *claim, struct estimate ours)
{
    const enum standing direction = direction_of(claim);
    double low = claim->low, high = claim->high;
    if (claim->group == CLAIM_SIGN && direction == STANDING_HOLDS)
        return STANDING_UNDECIDED;
    if (claim->group == CLAIM_SIGN) {
        low = high = NAN;
    } else if (claim->group == CLAIM_SIZE &&
               (direction != STANDING_HOLDS || claim->other == NULL)) {
        low *= low > 0 ? 1 / CLAIM_FACTOR : CLAIM_FACTOR;
        high *= high > 0 ? CLAIM_FACTOR : 1 / CLAIM_FACTOR;
    }
    /* What a definition forbids occurred in no run, though more runs could not show it: an interval
     * of a share from counts does not end at 0 or 1. */
    if (claim->group == CLAIM_SELF_CHECK && (ours.mean == low || ours.mean == high))
        return STANDING_HOLDS;
    if (direction == STANDING_ABOVE)
        low = fmax(low, nextafter(neutral_of(claim), INFINITY));
    if (direction == STANDING_BELOW)
        high = fmin(high, nextafter(neutral_of(claim), -INFINITY));
    return standing_of(low, high, ours);
}

enum claim_verdict claim_judge(const struct expectation *claim, struct estimate ours)
{
    const enum standing standing = claim_standing(claim, ours), direction = direction_of(claim);
    const enum standing side = standing_of(neutral_of(claim), neutral_of(claim), ours);
    if (standing == STANDING_HOLDS)
        return CLAIM_SHOWN;
    if (direction != STANDING_HOLDS && side == direction)
        return CLAIM_SIGN_ONLY;
    const enum standing judged = direction != STANDING_HOLDS  ? side
                                 : claim->group == CLAIM_SIZE ? STANDING_HOLDS
                                                              : standing;
    return judged == STANDING_BELOW || judged == STANDING_ABOVE ? CLAIM_CONTRADICTED
                                                                : CLAIM_NOT_SHOWN;
}

double claim_quotient(const struct expectation *claim, struct estimate ours)
{
    const bool given = claim->low != neutral_of(claim) && claim->high != neutral_of(claim) &&
                       (claim->other == NULL || direction_of(claim) != STANDING_HOLDS);
    return !given || claim->group < CLAIM_SIZE ? NAN
           : ours.mean < claim->low            ? ours.mean / claim->low
           : ours.mean > claim->high           ? ours.mean / claim->high
                                               : ours.mean - ours.mean + 1; /* NAN stays so */
}

const char *claim_verdict_name(enum claim_verdict verdict)
{
    static const char *const names[] = {"shown", "sign only", "not shown", "contradicted"};
    return names[verdict];
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* "queue_ms_mean: sjf / fifo in size-order". */
static const char *quantity_words(struct arena *arena, const struct expectation *claim)
{
    const char *setting = claim->setting, *last = claim->against_setting;
    const bool apart = setting != NULL && last != NULL && strcmp(setting, last) != 0;
    char *text = arena_text(arena, "%s: %s", claim->metric, claim->policy);
    if (apart)
        arena_append(arena, &text, " in %s", setting);
    else if (setting != NULL)
        last = setting;
    if (claim->other != NULL)
        arena_append(arena, &text, "%s%s%s", claim->comparison == PAIRED_DIFFERENCE ? " - " : " / ",
                     claim->other, claim->comparison == PAIRED_GAIN ? " - 1" : "");
    if (last != NULL)
        arena_append(arena, &text, " in %s", last);
    if (claim->group == CLAIM_REAL)
        arena_append(arena, &text, ", measured: %.4g %s", claim->real, claim->unit);
    if (claim->application != NULL)
        arena_append(arena, &text, ", %s", claim->application);
    return text;
}

static const char *verdict_words(struct arena *arena, const struct expectation *claim,
                                 struct estimate ours)
{
    const enum claim_verdict verdict = claim_judge(claim, ours);
    return verdict == CLAIM_NOT_SHOWN
               ? arena_text(arena, "not shown (%s)", standing_name(claim_standing(claim, ours)))
               : claim_verdict_name(verdict);
}

/* "-90 %"; "-" where none is published in this unit. */
static const char *range_words(struct arena *arena, const struct expectation *claim)
{
    return claim->low == neutral_of(claim) || claim->high == neutral_of(claim) ? "-"
           : claim->low == claim->high ? arena_text(arena, "%g %s", claim->low, claim->unit)
                                       : verdict_range(arena, claim->low, claim->high, claim->unit);
}

static const char *ours_words(struct arena *arena, const struct expectation *claim,
                              struct estimate ours)
{
    const int decimals = text_table_decimals(fabs(ours.mean), 4);
    char interval[INTERVAL_TEXT];
    interval_text(&ours, decimals, interval);
    return isfinite(ours.mean)
               ? arena_text(arena, "%.*f%s %s", decimals, ours.mean, interval, claim->unit)
               : "-";
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Columns of the line with the numbers. */
enum { WIDTH_VERDICT = 22, WIDTH_OURS = 24, WIDTH_PUBLISHED = 20, WIDTH_QUOTIENT = 8 };

/* Writes a text and pads it to `width` columns. */
static void print_padded(FILE *out, const char *text, int width)
{
    const int used = (int)text_width(text, strlen(text));
    (void)fprintf(out, "%s%*s", text, used < width ? width - used : 1, "");
}

static void print_claim(struct arena *arena, const struct expectation *claim, struct estimate ours,
                        FILE *out)
{
    const double quotient = claim_quotient(claim, ours);
    (void)fprintf(out, "%s: %s\n  published: %s [%s]\n", claim->system, claim->text,
                  claim->published, claim->evidence);
    if (claim->mechanism != NULL)
        (void)fprintf(out, "  differs in: %s (%s)\n", claim->mechanism, claim->differs);
    (void)fputs("  ", out);
    print_padded(out, verdict_words(arena, claim, ours), WIDTH_VERDICT);
    print_padded(out, ours_words(arena, claim, ours), WIDTH_OURS);
    print_padded(out, range_words(arena, claim), WIDTH_PUBLISHED);
    print_padded(out, isnan(quotient) ? "-" : arena_text(arena, "%.2f", quotient), WIDTH_QUOTIENT);
    (void)fprintf(out, "%s\n", quantity_words(arena, claim));
    if (claim->note != NULL && claim_judge(claim, ours) != CLAIM_SHOWN)
        (void)fprintf(out, "  why: %s\n", claim->note);
}

static void print_head(enum claim_group group, FILE *out)
{
    static const char *const titles[] = {"a closed form or a policy's definition gives the value",
                                         "runs of the real system give the value",
                                         "the published effect, within a factor of 1.5",
                                         "the direction of the published effect alone"};
    (void)fprintf(out, "\n== %s: %s\n\n  ", claim_groups[group], titles[group]);
    print_padded(out, "verdict", WIDTH_VERDICT);
    print_padded(out, "ours", WIDTH_OURS);
    print_padded(out, group < CLAIM_SIZE ? "expected" : "published", WIDTH_PUBLISHED);
    print_padded(out, "ours ÷", WIDTH_QUOTIENT);
    (void)fputs("of what\n\n", out);
}

/* Prints the claims of one group; nothing if there are none. */
static void print_group(const struct expectations *claims, const struct estimate *ours,
                        enum claim_group group, FILE *out)
{
    size_t counts[CLAIM_CONTRADICTED + 1] = {0};
    size_t count = 0;
    for (size_t c = 0; c < claims->count; c++) {
        if (claims->list[c].group != group)
            continue;
        if (count++ == 0)
            print_head(group, out);
        print_claim(claims->arena, &claims->list[c], ours[c], out);
        counts[claim_judge(&claims->list[c], ours[c])]++;
    }
    if (count == 0)
        return;
    (void)fprintf(out, "\n%s: %zu of %zu shown, ", claim_groups[group], counts[CLAIM_SHOWN], count);
    if (group == CLAIM_SIZE)
        (void)fprintf(out, "%zu in sign only, ", counts[CLAIM_SIGN_ONLY]);
    (void)fprintf(out, "%zu not shown, %zu contradicted\n", counts[CLAIM_NOT_SHOWN],
                  counts[CLAIM_CONTRADICTED]);
}

static void print_details(const struct expectations *claims, FILE *out)
{
    (void)fputs("\n== sources and notes\n", out);
    for (size_t c = 0; c < claims->count; c++) {
        const struct expectation *claim = &claims->list[c];
        (void)fprintf(out, "\n%s: %s\n", claim->system, claim->text);
        (void)fprintf(out, "  published: %s\n", claim->source);
        if (claim->expected != NULL)
            (void)fprintf(out, "  expected: %s\n", claim->expected);
        if (claim->note != NULL)
            (void)fprintf(out, "  note: %s\n", claim->note);
        (void)fprintf(out, "  sweep: %s\n", claim->sweep);
    }
}

bool claims_text(const struct expectations *claims, const struct estimate *ours, bool details,
                 FILE *out, struct error *error)
{
    (void)fprintf(out, "%s\n", claims->title);
    for (int group = 0; group < CLAIM_GROUP_COUNT; group++)
        print_group(claims, ours, (enum claim_group)group, out);
    if (details)
        print_details(claims, out);
    return !ferror(out) || error_write(error, "the claims", errno);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void claim_json(struct arena *arena, const struct expectation *claim, struct estimate ours,
                       cJSON *object)
{
    json_put(object,
             "system %s group %s claim %s published %s evidence %s source %s sweep %s quantity %s "
             "mechanism %s differs %s unit %s low %g high %g expected %s note %s seeds %zu mean %g "
             "half_width_95 %g "
             "low_95 %g high_95 %g ours_by_published %g standing %s verdict %s",
             claim->system, claim_groups[claim->group], claim->text, claim->published,
             claim->evidence, claim->source, claim->sweep, quantity_words(arena, claim),
             claim->mechanism, claim->differs, claim->unit, claim->low, claim->high,
             claim->expected, claim->note, ours.n, ours.mean, ours.half_width, ours.low, ours.high,
             claim_quotient(claim, ours), standing_name(claim_standing(claim, ours)),
             claim_verdict_name(claim_judge(claim, ours)));
}

cJSON *claims_json(const struct expectations *claims, const struct estimate *ours)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root, "title %s", claims->title);
    cJSON *list = cJSON_AddArrayToObject(root, "claims");
    for (size_t c = 0; c < claims->count; c++)
        claim_json(claims->arena, &claims->list[c], ours[c], json_append(list));
    return root;
}
