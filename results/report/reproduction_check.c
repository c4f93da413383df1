#include "results/report/reproduction_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/array.h"
#include "results/report/paired.h"
#include "results/report/table.h"

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"reproduced", "partly", "not", "cannot be said"};
    return names[verdict];
}

const char *standing_name(enum standing standing)
{
    static const char *const names[STANDING_COUNT] = {
        "holds", "below", "above", "undecided", "one seed", "undefined", "no run", "runs missing"};
    return names[standing];
}

int verdict_decimals(const struct expectation *figure, double mean)
{
    const bool relative = figure->esg != NULL || figure->comparison == PAIRED_GAIN;
    return relative ? 1 : text_table_decimals(mean, 4);
}

void verdict_range(double low, double high, const char *unit, char *text, size_t size)
{
    const bool plain = strcmp(unit, "1") == 0 || unit[0] == '\0';
    const char *blank = plain ? "" : " ";
    unit = plain ? "" : unit;
    if (isnan(low))
        (void)snprintf(text, size, "at most %g%s%s", high, blank, unit);
    else if (isnan(high))
        (void)snprintf(text, size, "at least %g%s%s", low, blank, unit);
    else
        (void)snprintf(text, size, "%g to %g%s%s", low, high, blank, unit);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

enum standing standing_of(double low, double high, struct estimate ours)
{
    if (ours.n == 0)
        return STANDING_NO_RUN;
    if (!isfinite(ours.mean))
        return STANDING_UNDEFINED;
    if (ours.n == 1 && !ours.exact)
        return STANDING_ONE_SEED;
    if (ours.exact) /* an interval of no length */
        ours.low = ours.high = ours.mean;
    low = isnan(low) ? -INFINITY : low;
    high = isnan(high) ? INFINITY : high;
    if (ours.high < low)
        return STANDING_BELOW;
    if (ours.low > high)
        return STANDING_ABOVE;
    return ours.low >= low && ours.high <= high ? STANDING_HOLDS : STANDING_UNDECIDED;
}

/* The standing in the figure's range. Without random numbers the value of one seed is exact. */
static enum standing standing_in(const struct expectation *figure, struct estimate ours)
{
    ours.exact = ours.exact || (figure->deterministic && ours.n == 1);
    return standing_of(figure->low, figure->high, ours);
}

/* The first contender that has the name `name` and may be compared with `other`: if it is of the
 * same policy, the parameters that the figure does not name are the same. NULL: none. */
static const struct report_contender *counterpart(const struct report_scenario *scenario,
                                                  const struct expectation *figure,
                                                  const struct report_contender *other,
                                                  const char *other_name)
{
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        if (report_has_name(contender, figure->policy) &&
            (strcmp(contender->policy, other->policy) != 0 ||
             report_same_beyond(contender, figure->policy, other, other_name)))
            return contender;
    }
    return NULL;
}

static bool is_compared(const struct expectation *figure, const char *policy)
{
    for (size_t i = 0; i < figure->compare_count; i++)
        if (strcmp(figure->against[i], policy) == 0)
            return true;
    return false;
}

/* ESG in the scenario, for a comparison of ESG with `other`. NULL: none to compare. */
static const struct report_contender *esg_against(const struct report_scenario *scenario,
                                                  const struct expectation *figure,
                                                  const struct report_contender *other)
{
    const struct report_contender *esg =
        scenario->reference == REPORT_NONE ? NULL : &scenario->contenders[scenario->reference];
    const bool is_pair = esg != NULL && strcmp(esg->policy, REPORT_REFERENCE_POLICY) == 0 &&
                         is_compared(figure, other->policy);
    return is_pair ? esg : NULL;
}

/* The contenders of a pair, in the order of the formula. For a comparison both are NULL if there is
 * nothing to pair the policy with. */
static struct paired_contenders contenders_of(const struct expectation *figure,
                                              const struct verdict_pair *pair)
{
    const struct report_contender *policy = &pair->scenario->contenders[pair->contender];
    if (!expectation_is_comparison(figure))
        return (struct paired_contenders){.first = policy};
    const struct report_contender *first =
        figure->esg != NULL ? esg_against(pair->scenario, figure, policy)
                            : counterpart(pair->scenario, figure, policy, pair->name);
    if (first == NULL)
        return (struct paired_contenders){NULL, NULL};
    return figure->esg != NULL && figure->esg->turned ? (struct paired_contenders){policy, first}
                                                      : (struct paired_contenders){first, policy};
}

/* Whether runs of one of the pair's policies are missing. */
static bool lacks_runs(const struct report *report, const struct expectation *figure,
                       const struct verdict_pair *pair)
{
    if (pair->standing == STANDING_NO_RUN)
        return report_lacks(report, pair->name) || report_lacks(report, figure->policy);
    const struct paired_contenders of = contenders_of(figure, pair);
    return (of.first != NULL && of.first->missing > 0) ||
           (of.second != NULL && of.second->missing > 0);
}

static bool pair_add(const struct report *report, struct judgement *judgement,
                     struct verdict_pair pair)
{
    if (!array_extend(&judgement->pairs, judgement->pair_count, sizeof pair))
        return false;
    pair.standing = standing_in(judgement->figure, pair.ours);
    const bool lacks = lacks_runs(report, judgement->figure, &pair);
    if (lacks && pair.standing != STANDING_NO_RUN)
        pair.standing = STANDING_INCOMPLETE;
    judgement->incomplete = judgement->incomplete || lacks;
    judgement->pairs[judgement->pair_count++] = pair;
    judgement->counts[pair.standing]++;
    return true;
}

/* Our estimate of a pair whose policy ran in the scenario. A single policy without the metric has
 * not run. */
static struct estimate pair_estimate(const struct report *report, const struct expectation *figure,
                                     const struct verdict_pair *pair)
{
    const struct paired_contenders of = contenders_of(figure, pair);
    if (of.first == NULL)
        return statistics_none;
    return expectation_is_comparison(figure)
               ? paired_expected(report, &of, 1, figure)
               : report_estimate(report, of.first, figure->application, figure->measured);
}

/* Whether the file gives the comparison; else it is none, or one of ESG. */
static bool is_free(const struct expectation *figure)
{
    return figure->esg == NULL && expectation_is_comparison(figure);
}

/* Adds the pair of the first contender of `policy` in the scenario, for a figure with `comparison`
 * those of all, or records that there is none. */
static bool scenario_pair(const struct report *report, const struct report_scenario *scenario,
                          const char *policy, struct judgement *judgement)
{
    const struct expectation *figure = judgement->figure;
    const bool all = is_free(figure);
    struct verdict_pair pair = {.scenario = scenario,
                                .contender = REPORT_NONE,
                                .setting = scenario->title,
                                .policy = policy,
                                .name = policy,
                                .ours = statistics_none};
    for (size_t c = 0; c < scenario->contender_count; c++) {
        if (!report_has_name(&scenario->contenders[c], policy) ||
            (figure->esg != NULL && c == scenario->reference))
            continue;
        pair.contender = c;
        pair.policy = scenario->contenders[c].title;
        pair.ours = pair_estimate(report, figure, &pair);
        if (!all)
            break;
        if (!pair_add(report, judgement, pair))
            return false;
    }
    return (all && pair.contender != REPORT_NONE) || pair_add(report, judgement, pair);
}

static const char *setting_of(const struct report_scenario *scenario)
{
    return scenario->setting[0] != '\0' ? scenario->setting : scenario->name;
}

bool verdict_same_world(const struct report_scenario *one, const struct report_scenario *other)
{
    return strcmp(one->name, other->name) == 0 && strcmp(one->evidence, other->evidence) == 0 &&
           strcmp(one->conditions, other->conditions) == 0;
}

bool verdict_begins_world(const struct report *report, size_t scenario)
{
    for (size_t s = 0; s < scenario; s++)
        if (verdict_same_world(&report->scenarios[s], &report->scenarios[scenario]))
            return false;
    return true;
}

/* `setting` NULL: all settings. `world` NULL: all worlds. */
static bool setting_pairs(const struct report *report, const struct report_scenario *world,
                          const char *setting, const char *policy, struct judgement *judgement)
{
    bool any = false;
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        if ((setting != NULL && strcmp(setting_of(scenario), setting) != 0) ||
            (world != NULL && !verdict_same_world(scenario, world)))
            continue;
        any = true;
        if (!scenario_pair(report, scenario, policy, judgement))
            return false;
    }
    const struct verdict_pair absent = {.contender = REPORT_NONE,
                                        .setting = setting == NULL ? "any setting" : setting,
                                        .policy = policy,
                                        .name = policy,
                                        .ours = statistics_none};
    return any || pair_add(report, judgement, absent);
}

static bool policy_pairs(const struct report *report, const struct report_scenario *world,
                         const char *policy, struct judgement *judgement)
{
    const struct expectation *figure = judgement->figure;
    bool good = figure->setting_count > 0 || setting_pairs(report, world, NULL, policy, judgement);
    for (size_t s = 0; good && s < figure->setting_count; s++)
        good = setting_pairs(report, world, figure->settings[s], policy, judgement);
    return good;
}

/* ---- Averages -------------------------------------------------------------------------------- */

/* Fills the averages of a judgement whose pairs are of one world. The pairs of one policy follow
 * each other, and those that did not run are left out. */
static bool averages_fill(const struct report *report, struct judgement *judgement)
{
    const struct expectation *figure = judgement->figure;
    const size_t most = judgement->pair_count + 1;
    struct paired_contenders *pairs = calloc(most, sizeof *pairs);
    judgement->averages = calloc(most, sizeof *judgement->averages);
    const bool good = pairs != NULL && judgement->averages != NULL;
    for (size_t i = 0; good && i < judgement->pair_count;) {
        const char *policy = judgement->pairs[i].name;
        size_t count = 0;
        bool incomplete = false;
        for (; i < judgement->pair_count && strcmp(judgement->pairs[i].name, policy) == 0; i++) {
            incomplete = incomplete || judgement->pairs[i].standing == STANDING_INCOMPLETE;
            if (judgement->pairs[i].standing != STANDING_NO_RUN)
                pairs[count++] = contenders_of(figure, &judgement->pairs[i]);
        }
        if (count == 0)
            continue;
        const struct estimate ours = paired_expected(report, pairs, count, figure);
        judgement->averages[judgement->average_count++] = (struct verdict_average){
            .policy = policy,
            .settings = count,
            .ours = ours,
            .standing = incomplete ? STANDING_INCOMPLETE : standing_in(figure, ours)};
    }
    free(pairs);
    return good;
}

static enum verdict verdict_of(const struct judgement *judgement)
{
    const size_t *counts = judgement->counts;
    if (judgement->incomplete)
        return VERDICT_UNKNOWN;
    if (counts[STANDING_HOLDS] > 0)
        return counts[STANDING_HOLDS] == judgement->pair_count ? VERDICT_REPRODUCED
                                                               : VERDICT_PARTLY;
    return counts[STANDING_BELOW] + counts[STANDING_ABOVE] > 0 ? VERDICT_NOT : VERDICT_UNKNOWN;
}

/* ---- The sentence ---------------------------------------------------------------------------- */

/* "jct_s_mean of sjf-bsbf relative to that of the other policy is". */
static void say_subject(FILE *out, const struct expectation *figure)
{
    static const char *const words[] = {NULL, "minus", "divided by", "relative to"};
    if (is_free(figure))
        (void)fprintf(out, "%s of %s %s that of the other is", figure->metric, figure->policy,
                      words[figure->comparison]);
    else
        (void)fputs(figure->esg != NULL ? figure->esg->subject : "ours is", out);
}

/* "12.3 % (± 0.5) lower" of ESG, else "12.3 % (± 0.48)". */
static void say_value(FILE *out, const struct judgement *judgement, const struct verdict_pair *pair)
{
    const struct esg_comparison *esg = judgement->figure->esg;
    const char *unit = judgement->figure->unit;
    const bool bare = strcmp(unit, "1") == 0 || unit[0] == '\0';
    if (esg != NULL)
        (void)fprintf(out, "%.1f%s", fabs(pair->ours.mean), esg->unit);
    else if (judgement->figure->comparison == PAIRED_GAIN)
        (void)fprintf(out, "%.1f %%", pair->ours.mean);
    else
        (void)fprintf(out, "%.4g%s%s", pair->ours.mean, bare ? "" : " ", bare ? "" : unit);
    if (!isnan(pair->ours.half_width) && !statistics_is_symmetric(&pair->ours, 2))
        (void)fprintf(out, " (%.3g to %.3g)", pair->ours.low, pair->ours.high);
    else if (!isnan(pair->ours.half_width))
        (void)fprintf(out, esg != NULL ? " (\xC2\xB1 %.1f)" : " (\xC2\xB1 %.2g)",
                      pair->ours.half_width);
    if (esg != NULL)
        (void)fputs(pair->ours.mean < 0 ? " lower" : " higher", out);
}

static void say_place(FILE *out, const struct judgement *judgement, const struct verdict_pair *pair)
{
    (void)fprintf(out, "%s%s in %s",
                  expectation_is_comparison(judgement->figure) ? "against " : "for ", pair->policy,
                  pair->setting);
}

/* Writes the lowest and the highest mean of our pairs. False if there are none. */
static bool say_reach(FILE *out, const struct judgement *judgement)
{
    const struct verdict_pair *low = NULL;
    const struct verdict_pair *high = NULL;
    for (size_t i = 0; i < judgement->pair_count; i++) {
        const struct verdict_pair *pair = &judgement->pairs[i];
        if (pair->standing == STANDING_NO_RUN || pair->standing == STANDING_UNDEFINED)
            continue;
        low = low == NULL || pair->ours.mean < low->ours.mean ? pair : low;
        high = high == NULL || pair->ours.mean >= high->ours.mean ? pair : high;
    }
    if (low == NULL)
        return false;
    say_subject(out, judgement->figure);
    (void)fputs(low == high ? " " : " from ", out);
    say_value(out, judgement, low);
    (void)fputs(low == high ? " " : " (", out);
    say_place(out, judgement, low);
    if (low != high) {
        (void)fputs(") to ", out);
        say_value(out, judgement, high);
        (void)fputs(" (", out);
        say_place(out, judgement, high);
        (void)fputc(')', out);
    }
    return true;
}

/* Writes the pairs with one standing: " (orion: strict-light, relaxed-heavy; aquatope:
 * strict-light)". Of several worlds there are too many. */
enum { LISTED = 8 }; /* most pairs of a figure with `comparison` */

static void say_pairs(FILE *out, const struct judgement *judgement, enum standing standing)
{
    const char *policy = NULL;
    if (judgement->worlds > 1 ||
        (is_free(judgement->figure) && judgement->counts[standing] > LISTED))
        return;
    (void)fputs(" (", out);
    for (size_t i = 0; i < judgement->pair_count; i++) {
        const struct verdict_pair *pair = &judgement->pairs[i];
        if (pair->standing != standing)
            continue;
        if (policy != NULL && strcmp(policy, pair->policy) == 0)
            (void)fprintf(out, ", %s", pair->setting);
        else
            (void)fprintf(out, "%s%s: %s", policy == NULL ? "" : "; ", pair->policy, pair->setting);
        policy = pair->policy;
    }
    (void)fputc(')', out);
}

/* Writes how many averages hold, if any is of several settings. */
static void say_averages(FILE *out, const struct judgement *judgement)
{
    size_t several = 0;
    size_t hold = 0;
    for (size_t i = 0; i < judgement->average_count; i++) {
        several += judgement->averages[i].settings > 1;
        hold += judgement->averages[i].standing == STANDING_HOLDS;
    }
    if (several > 0)
        (void)fprintf(out, "; on average over the settings it holds %s %zu of %zu",
                      expectation_is_comparison(judgement->figure) ? "against" : "for", hold,
                      judgement->average_count);
}

bool verdict_policy_ran(const struct report *report, const char *policy)
{
    const size_t length = strcspn(policy, " ");
    for (size_t i = 0; i < report->results->run_count; i++)
        if (strlen(report->results->runs[i].policy) == length &&
            strncmp(report->results->runs[i].policy, policy, length) == 0)
            return true;
    return false;
}

/* Reason why a pair has no run. */
enum lack { LACK_NONE, LACK_POLICY, LACK_SETTING, LACK_PAIR, LACK_FIGURE };

static enum lack lack_of(const struct report *report, const struct verdict_pair *pair)
{
    if (pair->standing != STANDING_NO_RUN)
        return LACK_NONE;
    if (pair->contender == REPORT_NONE && !verdict_policy_ran(report, pair->policy))
        return LACK_POLICY;
    return pair->scenario == NULL           ? LACK_SETTING
           : pair->contender == REPORT_NONE ? LACK_PAIR
                                            : LACK_FIGURE;
}

static const char *lacking(const struct verdict_pair *pair, enum lack lack)
{
    return lack == LACK_POLICY ? pair->policy : pair->setting;
}

static bool told_before(const struct report *report, const struct judgement *judgement,
                        size_t index, enum lack lack)
{
    for (size_t i = 0; i < index && (lack == LACK_POLICY || lack == LACK_SETTING); i++)
        if (lack_of(report, &judgement->pairs[i]) == lack &&
            strcmp(lacking(&judgement->pairs[i], lack), lacking(&judgement->pairs[index], lack)) ==
                0)
            return true;
    return false;
}

/* Writes the distinct pairs with one reason: "; no run of infless, fast-gshare in this file". */
static void say_lacking(FILE *out, const struct report *report, const struct judgement *judgement,
                        enum lack lack, const char *text)
{
    bool any = false;
    for (size_t i = 0; i < judgement->pair_count; i++) {
        const struct verdict_pair *pair = &judgement->pairs[i];
        if (lack_of(report, pair) != lack || told_before(report, judgement, i, lack))
            continue;
        (void)fputs(any ? ", " : text, out);
        if (lack == LACK_PAIR || lack == LACK_FIGURE)
            (void)fprintf(out, "%s in ", pair->policy);
        (void)fputs(lacking(pair, lack), out);
        any = true;
    }
    if (any && (lack == LACK_POLICY || lack == LACK_SETTING))
        (void)fputs(" in this file", out);
}

static void say_missing(FILE *out, const struct report *report, const struct judgement *judgement)
{
    const bool comparison = expectation_is_comparison(judgement->figure);
    if (comparison && !verdict_policy_ran(report, judgement->figure->policy))
        (void)fprintf(out, "; no run of %s in this file", judgement->figure->policy);
    say_lacking(out, report, judgement, LACK_POLICY, "; no run of ");
    say_lacking(out, report, judgement, LACK_SETTING, "; no run of setting ");
    say_lacking(out, report, judgement, LACK_PAIR, "; no run of ");
    say_lacking(out, report, judgement, LACK_FIGURE,
                comparison ? "; nothing to pair with " : "; no such figure of ");
}

static void say(FILE *out, const struct report *report, const struct judgement *judgement)
{
    static const char *const openings[] = {"Reproduced", "Partly reproduced", "Not reproduced",
                                           "Cannot be said"};
    const struct expectation *figure = judgement->figure;
    const struct esg_comparison *esg = figure->esg;
    const struct {
        enum standing standing;
        const char *text;
    } parts[] = {{STANDING_BELOW, "is below in"},
                 {STANDING_ABOVE, "is above in"},
                 {STANDING_UNDECIDED, "is undecided in"},
                 {STANDING_ONE_SEED, "has one seed and so no interval in"},
                 {STANDING_UNDEFINED, esg != NULL ? esg->undefined : "does not exist in"},
                 {STANDING_INCOMPLETE, "lacks runs in"}};
    (void)fprintf(out, "%s: ", openings[judgement->verdict]);
    if (say_reach(out, judgement))
        (void)fprintf(out, ", ");
    (void)fprintf(out, "the %s figure is %s%s; it holds in %zu of %zu pair%s of %s and setting",
                  figure->evidence, judgement->range, esg == NULL ? "" : " higher",
                  judgement->counts[STANDING_HOLDS], judgement->pair_count,
                  judgement->pair_count == 1 ? "" : "s", esg == NULL ? "policy" : "baseline");
    if (judgement->counts[STANDING_HOLDS] > 0)
        say_pairs(out, judgement, STANDING_HOLDS);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (judgement->counts[parts[i].standing] == 0)
            continue;
        (void)fprintf(out, ", %s %zu", parts[i].text, judgement->counts[parts[i].standing]);
        say_pairs(out, judgement, parts[i].standing);
    }
    say_averages(out, judgement);
    say_missing(out, report, judgement);
    (void)fputc('.', out);
}

/* Judges the figure in the world of the scenario `world`; NULL: in all worlds. */
static bool judge_in(const struct report *report, const struct expectation *figure,
                     const struct report_scenario *world, struct judgement *judgement)
{
    *judgement = (struct judgement){.figure = figure, .world = world};
    bool good = true;
    if (!expectation_is_comparison(figure))
        good = policy_pairs(report, world, figure->policy, judgement);
    else
        for (size_t p = 0; good && p < figure->compare_count; p++)
            good = policy_pairs(report, world, figure->against[p], judgement);
    judgement->verdict = verdict_of(judgement);
    verdict_range(figure->low, figure->high, figure->unit, judgement->range,
                  sizeof judgement->range);
    return good;
}

/* Judges each world apart, and keeps those in which a pair has run. Counts those that have a
 * setting of the figure. */
static bool judge_apart(const struct report *report, struct judgement *judgement)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        if (!verdict_begins_world(report, s))
            continue;
        if (!array_extend(&judgement->apart, judgement->apart_count, sizeof *judgement))
            return false;
        struct judgement *one = &judgement->apart[judgement->apart_count++];
        if (!judge_in(report, judgement->figure, &report->scenarios[s], one) ||
            !averages_fill(report, one))
            return false;
        bool concerned = false;
        for (size_t p = 0; p < one->pair_count; p++)
            concerned = concerned || one->pairs[p].scenario != NULL;
        judgement->worlds += concerned;
        if (one->counts[STANDING_NO_RUN] == one->pair_count)
            judgement_clear(&judgement->apart[--judgement->apart_count]);
    }
    return judgement->worlds > 1 || averages_fill(report, judgement);
}

bool verdict_judge(const struct report *report, const struct expectation *figure,
                   struct judgement *judgement, struct error *error)
{
    bool good = judge_in(report, figure, NULL, judgement) && judge_apart(report, judgement);
    size_t size = 0;
    FILE *out = good ? open_memstream(&judgement->sentence, &size) : NULL;
    if (out != NULL) {
        say(out, report, judgement);
        good = !ferror(out);
        good = fclose(out) == 0 && good;
    }
    if (good && judgement->sentence != NULL)
        return true;
    judgement_clear(judgement);
    return error_run(error, "out of memory for the report");
}

void judgement_clear(struct judgement *judgement)
{
    for (size_t i = 0; i < judgement->apart_count; i++)
        judgement_clear(&judgement->apart[i]);
    free(judgement->apart);
    free(judgement->pairs);
    free(judgement->averages);
    free(judgement->sentence);
    *judgement = (struct judgement){0};
}

void judgements_free(struct report *report)
{
    for (size_t i = 0; i < report->judgement_count; i++)
        judgement_clear(&report->judgements[i]);
    free(report->judgements);
    report->judgement_count = 0;
}

bool report_judge(struct report *report, const struct expectations *expected, struct error *error)
{
    judgements_free(report);
    report->expected = expected;
    report->judgements = calloc(expected->count, sizeof *report->judgements);
    if (report->judgements == NULL)
        return error_run(error, "out of memory for the report");
    bool good = true;
    for (size_t i = 0; good && i < expected->count; i++, report->judgement_count++)
        good = verdict_judge(report, &expected->list[i], &report->judgements[i], error);
    return good;
}
