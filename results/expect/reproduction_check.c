#include "results/expect/reproduction_check.h"

#include <math.h>
#include <string.h>

#include "results/report/table.h"

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"reproduced", "partly", "not", "cannot be said", "assumed"};
    return names[verdict];
}

const char *standing_name(enum standing standing)
{
    static const char *const names[STANDING_COUNT] = {"holds",     "below",        "above",
                                                      "undecided", "one seed",     "undefined",
                                                      "no run",    "runs missing", "assumed"};
    return names[standing];
}

int verdict_decimals(const struct expectation *figure, double mean)
{
    const bool relative = figure->esg != NULL || figure->comparison == PAIRED_GAIN;
    return relative ? 1 : text_table_decimals(mean, 4);
}

const char *verdict_range(struct arena *arena, double low, double high, const char *unit)
{
    const bool plain = strcmp(unit, "1") == 0 || unit[0] == '\0';
    const char *blank = plain ? "" : " ";
    unit = plain ? "" : unit;
    return isnan(low)    ? arena_text(arena, "at most %g%s%s", high, blank, unit)
           : isnan(high) ? arena_text(arena, "at least %g%s%s", low, blank, unit)
                         : arena_text(arena, "%g to %g%s%s", low, high, blank, unit);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

struct estimate paired_expected(const struct report *report, const struct paired_contenders *pairs,
                                size_t count, const struct expectation *expectation)
{
    return statistics_scaled(paired_estimate(report, pairs, count, expectation->application,
                                             expectation->measured, expectation->comparison),
                             expectation->scale);
}

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
static const struct report_contender *counterpart(const struct report *report,
                                                  const struct report_scenario *scenario,
                                                  const struct expectation *figure,
                                                  const struct report_contender *other,
                                                  const char *other_name)
{
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        if (report_has_name(contender, figure->policy) &&
            (strcmp(contender->policy, other->policy) != 0 ||
             report_same_beyond(report, contender, figure->policy, other, other_name)))
            return contender;
    }
    return NULL;
}

/* The figure's ESG in the scenario, for a comparison with `other`: the first of all, or the one
 * with exactly the parameters that the figure names. NULL: none to compare. */
static const struct report_contender *esg_against(const struct report_scenario *scenario,
                                                  const struct expectation *figure,
                                                  const struct report_contender *other,
                                                  const char *other_name)
{
    size_t esg = scenario->reference;
    if (strcmp(figure->policy, REPORT_REFERENCE_POLICY) != 0)
        for (esg = 0; esg < scenario->contender_count; esg++)
            if (report_is_contender(&scenario->contenders[esg], figure->policy))
                break;
    const bool is_pair = esg < scenario->contender_count &&
                         strcmp(scenario->contenders[esg].policy, REPORT_REFERENCE_POLICY) == 0 &&
                         report_has_name(other, other_name);
    return is_pair ? &scenario->contenders[esg] : NULL;
}

/* The contenders of a pair, in the order of the formula. For a comparison both are NULL if there is
 * nothing to pair the policy with. */
static struct paired_contenders contenders_of(const struct report *report,
                                              const struct expectation *figure,
                                              const struct verdict_pair *pair)
{
    if (pair->scenario == NULL)
        return (struct paired_contenders){.first = NULL};
    const struct report_contender *policy = &pair->scenario->contenders[pair->contender];
    if (!expectation_is_comparison(figure))
        return (struct paired_contenders){.first = policy};
    const struct report_contender *first =
        figure->esg != NULL ? esg_against(pair->scenario, figure, policy, pair->name)
                            : counterpart(report, pair->scenario, figure, policy, pair->name);
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
    const struct paired_contenders of = contenders_of(report, figure, pair);
    return (of.first != NULL && of.first->missing > 0) ||
           (of.second != NULL && of.second->missing > 0);
}

/* Whether the pair's times of decisions are what the experiment states, not a machine's. */
static bool is_assumed(const struct report *report, const struct expectation *figure,
                       const struct verdict_pair *pair)
{
    bool any = false;
    if (strncmp(figure->measured->name, "decision_us", strlen("decision_us")) != 0 ||
        pair->contender == REPORT_NONE || report->results->notices == NULL)
        return false;
    const struct report_contender *contender = &pair->scenario->contenders[pair->contender];
    for (size_t r = 0; r < contender->run_count; r++) {
        const struct notices *notices = &report->results->notices[contender->runs[r]];
        any = any || notices_find(notices, NOTICE_DECISIONS_ASSUMED) != NULL ||
              notices_find(notices, NOTICE_DECISIONS_FREE) != NULL;
    }
    return any;
}

static void pair_add(const struct report *report, struct judgement *judgement,
                     struct verdict_pair pair)
{
    pair.standing = standing_in(judgement->figure, pair.ours);
    const bool lacks = lacks_runs(report, judgement->figure, &pair);
    if (lacks && pair.standing != STANDING_NO_RUN)
        pair.standing = STANDING_INCOMPLETE;
    else if (is_assumed(report, judgement->figure, &pair))
        pair.standing = STANDING_ASSUMED;
    judgement->incomplete = judgement->incomplete || lacks;
    *ARENA_NEXT(report->arena, judgement->pairs, judgement->pair_count) = pair;
    judgement->counts[pair.standing]++;
}

/* Our estimate of a pair whose policy ran in the scenario. A single policy without the metric has
 * not run. */
static struct estimate pair_estimate(const struct report *report, const struct expectation *figure,
                                     const struct verdict_pair *pair)
{
    const struct paired_contenders of = contenders_of(report, figure, pair);
    if (of.first == NULL)
        return statistics_none;
    return expectation_is_comparison(figure)
               ? paired_expected(report, &of, 1, figure)
               : report_estimate(report, of.first, figure->application, figure->measured);
}

/* Adds the pair of the first contender of `policy` in the scenario, for a figure with `comparison`
 * those of all, or records that there is none. */
static void scenario_pair(const struct report *report, const struct report_scenario *scenario,
                          const char *policy, struct judgement *judgement)
{
    const struct expectation *figure = judgement->figure;
    const bool all = expectation_is_free(figure);
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
        pair_add(report, judgement, pair);
    }
    if (!all || pair.contender == REPORT_NONE)
        pair_add(report, judgement, pair);
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

/* `setting` NULL: all settings. */
static void setting_pairs(const struct report *report, const char *setting, const char *policy,
                          struct judgement *judgement)
{
    const struct report_scenario *world = judgement->world;
    bool any = false;
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        if ((setting != NULL && strcmp(setting_of(scenario), setting) != 0) ||
            (world != NULL && !verdict_same_world(scenario, world)))
            continue;
        any = true;
        scenario_pair(report, scenario, policy, judgement);
    }
    const struct verdict_pair absent = {.contender = REPORT_NONE,
                                        .setting = setting == NULL ? "any setting" : setting,
                                        .policy = policy,
                                        .name = policy,
                                        .ours = statistics_none};
    if (!any)
        pair_add(report, judgement, absent);
}

static void policy_pairs(const struct report *report, const char *policy,
                         struct judgement *judgement)
{
    const struct expectation *figure = judgement->figure;
    if (figure->setting_count == 0)
        setting_pairs(report, NULL, policy, judgement);
    for (size_t s = 0; s < figure->setting_count; s++)
        setting_pairs(report, figure->settings[s], policy, judgement);
}

/* ---- Averages -------------------------------------------------------------------------------- */

/* Fills the averages of a judgement whose pairs are of one world. The pairs of one policy follow
 * each other, and those that did not run are left out. */
static void averages_fill(const struct report *report, struct judgement *judgement)
{
    const struct expectation *figure = judgement->figure;
    const size_t most = judgement->pair_count;
    struct paired_contenders *pairs = arena_allocate(report->arena, most, sizeof *pairs);
    judgement->averages = arena_allocate(report->arena, most, sizeof *judgement->averages);
    for (size_t i = 0; i < judgement->pair_count;) {
        const char *policy = judgement->pairs[i].name;
        size_t count = 0;
        bool incomplete = false;
        for (; i < judgement->pair_count && strcmp(judgement->pairs[i].name, policy) == 0; i++) {
            incomplete = incomplete || judgement->pairs[i].standing == STANDING_INCOMPLETE;
            if (judgement->pairs[i].standing != STANDING_NO_RUN)
                pairs[count++] = contenders_of(report, figure, &judgement->pairs[i]);
        }
        if (count == 0)
            continue;
        const struct estimate ours = paired_expected(report, pairs, count, figure);
        judgement->averages[judgement->average_count++] = (struct verdict_pair){
            .contender = REPORT_NONE,
            .setting = "",
            .policy = policy,
            .name = policy,
            .settings = count,
            .ours = ours,
            .standing = incomplete ? STANDING_INCOMPLETE : standing_in(figure, ours)};
    }
    arena_release(report->arena, pairs);
}

static enum verdict verdict_of(const struct judgement *judgement)
{
    const size_t *counts = judgement->counts;
    const size_t judged = judgement->pair_count - counts[STANDING_ASSUMED];
    if (judgement->incomplete)
        return VERDICT_UNKNOWN;
    if (counts[STANDING_ASSUMED] > 0 && judged == counts[STANDING_NO_RUN])
        return VERDICT_ASSUMED;
    if (counts[STANDING_HOLDS] > 0)
        return counts[STANDING_HOLDS] == judged ? VERDICT_REPRODUCED : VERDICT_PARTLY;
    return counts[STANDING_BELOW] + counts[STANDING_ABOVE] > 0 ? VERDICT_NOT : VERDICT_UNKNOWN;
}

bool verdict_policy_ran(const struct report *report, const char *policy)
{
    for (size_t i = 0; i < report->results->run_count; i++)
        if (report_is_policy(report->results->runs[i].policy, policy))
            return true;
    return false;
}

/* Judges the figure in the world of the scenario `world`; NULL: in all worlds. */
static struct judgement judge_in(const struct report *report, const struct expectation *figure,
                                 const struct report_scenario *world)
{
    struct judgement judgement = {.figure = figure, .world = world};
    if (!expectation_is_comparison(figure))
        policy_pairs(report, figure->policy, &judgement);
    else
        for (size_t p = 0; p < figure->compare_count; p++)
            policy_pairs(report, figure->against[p], &judgement);
    judgement.verdict = verdict_of(&judgement);
    judgement.range = verdict_range(report->arena, figure->low, figure->high, figure->unit);
    return judgement;
}

/* Judges each world apart, and keeps those in which a pair has run. Counts those that have a
 * setting of the figure. */
static void judge_apart(const struct report *report, struct judgement *judgement)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        if (!verdict_begins_world(report, s))
            continue;
        struct judgement one = judge_in(report, judgement->figure, &report->scenarios[s]);
        bool concerned = false;
        for (size_t p = 0; p < one.pair_count; p++)
            concerned = concerned || one.pairs[p].scenario != NULL;
        judgement->worlds += concerned;
        if (one.counts[STANDING_NO_RUN] == one.pair_count)
            continue;
        averages_fill(report, &one);
        *ARENA_NEXT(report->arena, judgement->apart, judgement->apart_count) = one;
    }
    if (judgement->worlds <= 1)
        averages_fill(report, judgement);
}

void report_judge(struct report *report, const struct expectations *expected)
{
    report->expected = expected;
    report->judgement_count = expected->count;
    report->judgements = arena_allocate(report->arena, expected->count, sizeof *report->judgements);
    for (size_t i = 0; i < expected->count; i++) {
        struct judgement *judgement = &report->judgements[i];
        *judgement = judge_in(report, &expected->list[i], NULL);
        judge_apart(report, judgement);
        judgement->sentence = verdict_sentence(report, judgement);
    }
}

struct report *judged_open(const char *path, const struct expectations *expected,
                           struct error *error)
{
    struct results *results = results_load(path, error);
    struct report *report = results == NULL ? NULL : report_build(results);
    if (report != NULL && expected != NULL)
        report_judge(report, expected);
    return report;
}

void judged_close(struct report *report)
{
    struct results *results = report == NULL ? NULL : (struct results *)(uintptr_t)report->results;
    arena_home_free(report);
    results_free(results);
}
