#include "results/report/paired.h"

#include <math.h>

size_t paired_run(const struct report *report, const struct report_contender *contender,
                  uint64_t seed)
{
    for (size_t i = 0; i < contender->run_count; i++)
        if (report->results->runs[contender->runs[i]].seed == seed)
            return contender->runs[i];
    return contender->copies ? contender->runs[0] : REPORT_NONE;
}

/* The averages of both sides with one seed. False: a contender has no run with that seed. */
static bool averages(const struct report *report, const struct paired_contenders *pairs,
                     size_t count, uint64_t seed, const char *application,
                     const struct metric *metric, double average[2])
{
    average[0] = average[1] = 0;
    for (size_t i = 0; i < 2 * count; i++) {
        const struct report_contender *side = i % 2 == 0 ? pairs[i / 2].first : pairs[i / 2].second;
        if (side == NULL)
            continue;
        const size_t run = paired_run(report, side, seed);
        if (run == REPORT_NONE)
            return false;
        average[i % 2] += report_value(report, run, application, metric);
    }
    average[0] /= (double)count;
    average[1] /= (double)count;
    return true;
}

/* The independent requests that the average of the first sides is worth. */
static double worth_of(const struct report *report, const struct paired_contenders *pairs,
                       size_t count, uint64_t seed, const char *application,
                       const struct metric *metric)
{
    double variances = 0;
    for (size_t p = 0; p < count; p++)
        variances += 1 / report_observations(report, paired_run(report, pairs[p].first, seed),
                                             application, metric);
    return (double)(count * count) / variances;
}

static double formula_apply(enum paired_formula formula, const double average[2])
{
    const double first = average[0];
    const double second = average[1];
    switch (formula) {
    case PAIRED_VALUE:
        return first;
    case PAIRED_DIFFERENCE:
        return first - second;
    case PAIRED_RATIO:
        return second == 0 ? NAN : first / second;
    case PAIRED_GAIN:
        return second == 0 ? NAN : (first - second) / second;
    }
    return NAN;
}

/* A contender whose seeds are those to pair by: one whose seeds differ, if there is any. NULL:
 * there are no pairs. */
static const struct report_contender *seeds_of(const struct paired_contenders *pairs, size_t count)
{
    const struct report_contender *of = NULL;
    for (size_t i = 0; i < 2 * count; i++) {
        const struct report_contender *side = i % 2 == 0 ? pairs[i / 2].first : pairs[i / 2].second;
        of = of == NULL || (of->copies && side != NULL) ? side : of;
    }
    return of;
}

struct estimate paired_estimate(const struct report *report, const struct paired_contenders *pairs,
                                size_t count, const char *application, const struct metric *metric,
                                enum paired_formula formula)
{
    const struct report_contender *of = seeds_of(pairs, count);
    const size_t seeds = of == NULL ? 0 : of->run_count;
    double *values = arena_allocate(report->arena, seeds, sizeof *values);
    double *worth = arena_allocate(report->arena, seeds, sizeof *worth);
    struct seed_values found = {.values = values,
                                .worth = worth,
                                .exact = of != NULL && of->copies,
                                .share = formula == PAIRED_VALUE && metric->share};
    for (size_t i = 0; i < seeds; i++) {
        const uint64_t seed = report->results->runs[of->runs[i]].seed;
        double average[2];
        if (!averages(report, pairs, count, seed, application, metric, average))
            continue;
        found.seeds++;
        if (isnan(average[0]) || isnan(average[1]))
            continue;
        if (found.share)
            worth[found.valued] = worth_of(report, pairs, count, seed, application, metric);
        values[found.valued++] = formula_apply(formula, average);
    }
    const struct estimate estimate = statistics_of_seeds(&found);
    arena_release(report->arena, worth);
    arena_release(report->arena, values);
    return estimate;
}

size_t paired_place(const struct report *report, const struct report_scenario *scenario,
                    size_t contender, const struct metric *metric, bool least, const bool *out)
{
    const struct report_contender *own = &scenario->contenders[contender];
    size_t place = 1;
    if (isnan(report_estimate(report, own, NULL, metric).mean))
        return 0;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *other = &scenario->contenders[c];
        const struct paired_contenders pair = {least ? own : other, least ? other : own};
        const struct estimate lead =
            paired_estimate(report, &pair, 1, NULL, metric, PAIRED_DIFFERENCE);
        if ((out == NULL || !out[c]) && (lead.n > 1 ? lead.low : lead.mean) > 0)
            place++;
    }
    return place;
}
