#include "results/report/claim.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "results/report/paired.h"
#include "results/report/table.h"
#include "sim/base/json_write.h"

static const char *const kind_names[] = {"exact", "real", "paired", "open"};

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
        arena_append(arena, &text, "%s%s", claim->comparison == PAIRED_RATIO ? " / " : " - ",
                     claim->other);
    if (last != NULL)
        arena_append(arena, &text, " in %s", last);
    if (claim->kind == CLAIM_REAL)
        arena_append(arena, &text, ", measured: %.4g %s", claim->real, claim->unit);
    if (claim->application != NULL)
        arena_append(arena, &text, ", %s", claim->application);
    return text;
}

static const char *verdict_words(struct arena *arena, const struct expectation *claim,
                                 struct estimate ours)
{
    const enum claim_verdict verdict = claim_judge(claim, ours);
    const enum standing standing = standing_of(claim->low, claim->high, ours);
    return verdict == CLAIM_NOT_SHOWN
               ? arena_text(arena, "%s (%s)", claim_verdict_name(verdict), standing_name(standing))
               : claim_verdict_name(verdict);
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
enum { WIDTH_VERDICT = 22, WIDTH_OURS = 24, WIDTH_EXPECTED = 20 };

/* Writes a text and pads it to `width` columns; each character takes one. */
static void print_padded(FILE *out, const char *text, int width)
{
    int used = 0;
    for (const char *c = text; *c != '\0'; c++)
        used += ((unsigned char)*c & 0xC0) != 0x80;
    (void)fprintf(out, "%s%*s", text, used < width ? width - used : 1, "");
}

/* `published`: the figure is printed; not if the claim before has the same. */
static void print_claim(struct arena *arena, const struct expectation *claim, struct estimate ours,
                        bool published, FILE *out)
{
    char range[96];
    verdict_range(claim->low, claim->high, claim->unit, range, sizeof range);
    (void)fprintf(out, "%s: %s\n", claim->system, claim->text);
    if (published)
        (void)fprintf(out, "  published: %s [%s]\n", claim->published, claim->evidence);
    (void)fputs("  ", out);
    print_padded(out, verdict_words(arena, claim, ours), WIDTH_VERDICT);
    print_padded(out, ours_words(arena, claim, ours), WIDTH_OURS);
    print_padded(out, range, WIDTH_EXPECTED);
    (void)fprintf(out, "%s\n", quantity_words(arena, claim));
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
        "exact: a closed form gives the value", "real: runs of the real system give the value",
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
        print_claim(claims->arena, claim, ours[c], !same, out);
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

static void claim_json(struct arena *arena, const struct expectation *claim, struct estimate ours,
                       cJSON *object)
{
    json_put(object,
             "system %s kind %s claim %s published %s evidence %s source %s sweep %s quantity %s "
             "unit %s low %g high %g expected %s note %s seeds %zu mean %g half_width_95 %g "
             "low_95 %g high_95 %g standing %s verdict %s",
             claim->system, kind_names[claim->kind], claim->text, claim->published, claim->evidence,
             claim->source, claim->sweep, quantity_words(arena, claim), claim->unit, claim->low,
             claim->high, claim->expected, claim->note, ours.n, ours.mean, ours.half_width,
             ours.low, ours.high, standing_name(standing_of(claim->low, claim->high, ours)),
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
