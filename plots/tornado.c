/* Which assumption flips which order: the first policy less each other one, in every setting. */
#include <math.h>
#include <string.h>

#include "plots/families.h"
#include "results/report/paired.h"

enum { FEWEST = 3, OTHERS_MOST = 6 };

struct tornado {
    const struct report *report;
    const struct metric *metric; /* hit rate, or mean completion time of trainings */
    bool serves;
    const struct report_contender *first, *others[OTHERS_MOST];
    size_t other_count;
};

/* The difference in a setting, paired by seed: points of hit rate, or hours. No value where one of
 * the two has not run. */
static struct estimate difference_of(const struct tornado *tornado, size_t setting, size_t other)
{
    const struct report_scenario *scenario = &tornado->report->scenarios[setting];
    const struct paired_contenders pair = {report_contender_like(scenario, tornado->first),
                                           report_contender_like(scenario, tornado->others[other])};
    if (pair.first == NULL || pair.second == NULL)
        return (struct estimate){.mean = NAN, .low = NAN, .high = NAN};
    struct estimate of = statistics_scaled(
        paired_estimate(tornado->report, &pair, 1, NULL, tornado->metric, PAIRED_DIFFERENCE),
        tornado->metric->face.scale);
    of.low = tornado->serves && of.low < -100 ? -100 : of.low; /* of shares */
    of.high = tornado->serves && of.high > 100 ? 100 : of.high;
    return of;
}

static void setting_rows(const struct tornado *tornado, size_t s, struct sheet *sheet)
{
    const struct report *report = tornado->report;
    for (size_t o = 0; o < tornado->other_count; o++) {
        const struct estimate here = difference_of(tornado, s, o);
        const struct estimate from = difference_of(tornado, 0, o);
        const bool sure = here.low * here.high > 0 && from.low * from.high > 0;
        sheet_row(
            sheet, "%zu %s %s %zu " LABEL " %g %g %g %g %d", o + 1,
            arena_text(report->arena, "%s − %s", tornado->first->title, tornado->others[o]->title),
            arena_text(report->arena, "%s of %s", tornado->serves ? "points" : "hours",
                       tornado->metric->face.words),
            s + 1, names_conditions(report->arena, report->scenarios[s].title), from.mean,
            here.mean, here.low, here.high, from.mean * here.mean < 0 ? 2 - sure : 0);
    }
}

bool tornado_draw(const struct source *source, const struct figure_kind *kind,
                  struct figure_list *list, struct error *error)
{
    const struct report *report = source->report;
    const struct report_scenario *base = report->scenarios;
    const bool serves = report_serves(report);
    struct tornado tornado = {.report = report,
                              .metric = report_metric_find(serves ? "slo_hit_rate" : "jct_s_mean"),
                              .serves = serves,
                              .first = base->contenders};
    struct sheet sheet = {0};
    const bool alone = source_one_policy(base);
    for (size_t c = 1; c < base->contender_count && tornado.other_count < OTHERS_MOST; c++) {
        bool variant = false;
        for (size_t p = 0; p < c; p++)
            variant =
                variant || strcmp(base->contenders[p].policy, base->contenders[c].policy) == 0;
        if (alone || !variant)
            tornado.others[tornado.other_count++] = &base->contenders[c];
    }
    if (report->scenario_count < FEWEST || tornado.other_count == 0)
        return true;
    const char *lead =
        arena_text(report->arena,
                   "%s minus each other policy (six at most), paired by seed: right of 0 it has "
                   "more. Red diamond: the order is "
                   "another than in \"%s\"; hollow: by the means alone.",
                   base->contenders[0].title, names_conditions(report->arena, base->title));
    const bool good = source_sheet(source, NULL, kind, "", lead, list, &sheet, error);
    for (size_t s = 0; good && sheet.out != NULL && s < report->scenario_count; s++)
        setting_rows(&tornado, s, &sheet);
    return sheet_end(&sheet, good, error);
}
