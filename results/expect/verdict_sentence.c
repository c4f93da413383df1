/* The verdict on a published figure as one sentence. */
#include <math.h>
#include <string.h>

#include "results/expect/reproduction_check.h"

enum { LISTED = 8 }; /* most pairs of a figure with `comparison` that are named */

struct sentence {
    const struct report *report;
    const struct judgement *judgement;
    const struct expectation *figure;
    char *text;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    arena_append_of(to->report->arena, &to->text, format, args);
    va_end(args);
}

/* "jct_s_mean of sjf-bsbf relative to that of the other policy is". */
static void say_subject(struct sentence *to)
{
    static const char *const words[] = {NULL, "minus", "divided by", "relative to"};
    const struct expectation *figure = to->figure;
    if (expectation_is_free(figure))
        say(to, "%s of %s %s that of the other is", figure->metric, figure->policy,
            words[figure->comparison]);
    else
        say(to, "%s", figure->esg != NULL ? figure->esg->subject : "ours is");
}

/* "12.3 % (± 0.5) lower" of ESG, else "12.3 % (± 0.48)". */
static void say_value(struct sentence *to, const struct verdict_pair *pair)
{
    const struct paired_gain *esg = to->figure->esg;
    const char *unit = to->figure->unit;
    const struct estimate *ours = &pair->ours;
    const bool bare = strcmp(unit, "1") == 0 || unit[0] == '\0';
    if (esg != NULL)
        say(to, "%.1f %s", fabs(ours->mean), esg->unit);
    else if (to->figure->comparison == PAIRED_GAIN)
        say(to, "%.1f %%", ours->mean);
    else
        say(to, "%.4g%s%s", ours->mean, bare ? "" : " ", bare ? "" : unit);
    if (!isnan(ours->half_width) && !statistics_is_symmetric(ours, 2))
        say(to, " (%.3g to %.3g)", ours->low, ours->high);
    else if (!isnan(ours->half_width))
        say(to, esg != NULL ? " (\xC2\xB1 %.1f)" : " (\xC2\xB1 %.2g)", ours->half_width);
    if (esg != NULL)
        say(to, ours->mean < 0 ? " lower" : " higher");
}

static void say_place(struct sentence *to, const struct verdict_pair *pair)
{
    say(to, "%s%s in %s", expectation_is_comparison(to->figure) ? "against " : "for ", pair->policy,
        pair->setting);
}

/* Says the lowest and the highest mean of our pairs, if there are any. */
static void say_reach(struct sentence *to)
{
    const struct judgement *judgement = to->judgement;
    const struct verdict_pair *low = NULL, *high = NULL;
    for (size_t i = 0; i < judgement->pair_count; i++) {
        const struct verdict_pair *pair = &judgement->pairs[i];
        if (pair->standing == STANDING_NO_RUN || pair->standing == STANDING_UNDEFINED)
            continue;
        low = low == NULL || pair->ours.mean < low->ours.mean ? pair : low;
        high = high == NULL || pair->ours.mean >= high->ours.mean ? pair : high;
    }
    if (low == NULL)
        return;
    say_subject(to);
    say(to, low == high ? " " : " from ");
    say_value(to, low);
    say(to, low == high ? " " : " (");
    say_place(to, low);
    if (low != high) {
        say(to, ") to ");
        say_value(to, high);
        say(to, " (");
        say_place(to, high);
        say(to, ")");
    }
    say(to, ", ");
}

/* Says the pairs with one standing: " (orion: strict-light, relaxed-heavy; aquatope:
 * strict-light)". Of several worlds there are too many. */
static void say_pairs(struct sentence *to, enum standing standing)
{
    const struct judgement *judgement = to->judgement;
    const char *policy = NULL;
    if (judgement->worlds > 1 ||
        (expectation_is_free(to->figure) && judgement->counts[standing] > LISTED))
        return;
    say(to, " (");
    for (size_t i = 0; i < judgement->pair_count; i++) {
        const struct verdict_pair *pair = &judgement->pairs[i];
        if (pair->standing != standing)
            continue;
        if (policy != NULL && strcmp(policy, pair->policy) == 0)
            say(to, ", %s", pair->setting);
        else
            say(to, "%s%s: %s", policy == NULL ? "" : "; ", pair->policy, pair->setting);
        policy = pair->policy;
    }
    say(to, ")");
}

/* Says how many averages hold, if any is of several settings. */
static void say_averages(struct sentence *to)
{
    const struct judgement *judgement = to->judgement;
    size_t several = 0, hold = 0;
    for (size_t i = 0; i < judgement->average_count; i++) {
        several += judgement->averages[i].settings > 1;
        hold += judgement->averages[i].standing == STANDING_HOLDS;
    }
    if (several > 0)
        say(to, "; on average over the settings it holds %s %zu of %zu",
            expectation_is_comparison(to->figure) ? "against" : "for", hold,
            judgement->average_count);
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

/* Says what lacks for one reason: "; no run of infless, fast-gshare in this file". */
static void say_lacking(struct sentence *to, enum lack lack, const char *text)
{
    const bool alone = lack == LACK_POLICY || lack == LACK_SETTING;
    const char **told = NULL;
    size_t count = 0;
    for (size_t i = 0; i < to->judgement->pair_count; i++) {
        const struct verdict_pair *pair = &to->judgement->pairs[i];
        if (lack_of(to->report, pair) != lack)
            continue;
        const char *name = lack == LACK_POLICY    ? pair->policy
                           : lack == LACK_SETTING ? pair->setting
                                                  : arena_text(to->report->arena, "%s in %s",
                                                               pair->policy, pair->setting);
        if (report_name_add(to->report, &told, &count, name))
            say(to, "%s%s", count > 1 ? ", " : text, name);
    }
    if (count > 0 && alone)
        say(to, " in this file");
}

static void say_missing(struct sentence *to)
{
    const bool comparison = expectation_is_comparison(to->figure);
    if (comparison && !verdict_policy_ran(to->report, to->figure->policy))
        say(to, "; no run of %s in this file", to->figure->policy);
    say_lacking(to, LACK_POLICY, "; no run of ");
    say_lacking(to, LACK_SETTING, "; no run of setting ");
    say_lacking(to, LACK_PAIR, "; no run of ");
    say_lacking(to, LACK_FIGURE, comparison ? "; nothing to pair with " : "; no such figure of ");
}

/* The most of a policy's requests that were dropped in its pairs from `first`, which has begun. */
static double most_dropped(const struct sentence *to, size_t first)
{
    const struct judgement *judgement = to->judgement;
    double most = 0;
    for (size_t i = first; i < judgement->pair_count; i++) {
        const struct verdict_pair *pair = &judgement->pairs[i];
        if (strcmp(pair->policy, judgement->pairs[first].policy) == 0 &&
            pair->contender != REPORT_NONE)
            most =
                fmax(most, report_estimate(to->report, &pair->scenario->contenders[pair->contender],
                                           NULL, metric_find("drop_rate"))
                               .mean);
    }
    return most;
}

/* Names the policies that dropped requests, where the figure depends on how many. */
static void say_drops(struct sentence *to)
{
    const struct judgement *judgement = to->judgement;
    size_t count = 0;
    if (!expectation_depends_on_drops(to->figure))
        return;
    for (size_t i = 0; i < judgement->pair_count; i++) {
        const double most = most_dropped(to, i);
        if ((i == 0 || strcmp(judgement->pairs[i].policy, judgement->pairs[i - 1].policy) != 0) &&
            most > METRIC_NOTABLE)
            say(to, "%s %s up to %.3g %%", count++ == 0 ? "; dropped requests:" : ",",
                judgement->pairs[i].policy, 100 * most);
    }
}

const char *verdict_sentence(const struct report *report, const struct judgement *judgement)
{
    static const char *const openings[] = {"Reproduced", "Partly reproduced", "Not reproduced",
                                           "Cannot be said", "Assumed"};
    const struct expectation *figure = judgement->figure;
    const struct paired_gain *esg = figure->esg;
    const struct {
        enum standing standing;
        const char *text;
    } parts[] = {{STANDING_BELOW, "is below in"},
                 {STANDING_ABOVE, "is above in"},
                 {STANDING_UNDECIDED, "is undecided in"},
                 {STANDING_ONE_SEED, "has one seed and so no interval in"},
                 {STANDING_UNDEFINED, esg != NULL ? esg->undefined : "does not exist in"},
                 {STANDING_INCOMPLETE, "lacks runs in"},
                 {STANDING_ASSUMED, "is what the experiment states in"}};
    struct sentence sentence = {.report = report, .judgement = judgement, .figure = figure};
    struct sentence *to = &sentence;
    say(to, "%s: ", openings[judgement->verdict]);
    say_reach(to);
    say(to, "the %s figure is %s%s; it holds in %zu of %zu pair%s of %s and setting",
        figure->evidence, judgement->range, esg == NULL ? "" : " higher",
        judgement->counts[STANDING_HOLDS], judgement->pair_count,
        judgement->pair_count == 1 ? "" : "s", esg == NULL ? "policy" : "baseline");
    if (judgement->counts[STANDING_HOLDS] > 0)
        say_pairs(to, STANDING_HOLDS);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (judgement->counts[parts[i].standing] == 0)
            continue;
        say(to, ", %s %zu", parts[i].text, judgement->counts[parts[i].standing]);
        say_pairs(to, parts[i].standing);
    }
    say_averages(to);
    say_drops(to);
    say_missing(to);
    say(to, ".");
    return sentence.text;
}
