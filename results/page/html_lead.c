/* The head of the HTML page: who is first, in one sentence, and the published figures as data. */
#include <math.h>
#include <string.h>

#include "results/expect/reproduction_check.h"
#include "results/page/report_columns.h"
#include "results/page/report_html.h"
#include "results/report/curve.h"
#include "results/report/html.h"
#include "results/report/paired.h"

enum { NAME_WORDS = 7, GROUPS_TOLD = 2 };

struct entrant {
    const char *name;
    double value; /* in its first place */
    /* In how many places it is first, or level with it; and costs the least of those level. */
    double first, cheapest;
};

/* Who is first in how many places: scenarios, or panels of curves. */
struct race {
    const struct report *report;
    bool least; /* the least value is first */
    struct entrant *entrants;
    size_t count, places;
    size_t shared;    /* places in which several are level */
    double low, high; /* of all values */
};

static struct entrant *race_enter(struct race *race, const char *name, double value, bool first)
{
    size_t e = 0;
    while (e < race->count && strcmp(race->entrants[e].name, name) != 0)
        e++;
    if (e == race->count) {
        arena_reserve(race->report->arena, &race->entrants, ++race->count, sizeof *race->entrants);
        race->entrants[e] = (struct entrant){name, value, 0, 0};
    }
    race->entrants[e].first += first;
    race->low = fmin(race->low, value);
    race->high = fmax(race->high, value);
    return &race->entrants[e];
}

static double value_of(const struct race *race, const struct report_contender *contender,
                       const struct metric *metric)
{
    return report_column_estimate(race->report, contender, NULL, metric).mean;
}

/* Level with the first are those that no paired interval puts behind it. */
static void scenario_race(struct race *race, const struct report_scenario *scenario)
{
    const struct metric *metric = report_metric_find(race->least ? "jct_s_mean" : "slo_hit_rate");
    const struct metric *cost = report_metric_find("cost_per_request_usd");
    double least = NAN;
    size_t level = 0;
    race->places++;
    for (size_t pass = 0; pass < 2; pass++) /* the second knows the least cost of those level */
        for (size_t c = 0; c < scenario->contender_count; c++) {
            const struct report_contender *contender = &scenario->contenders[c];
            const double own = value_of(race, contender, cost);
            const bool first =
                paired_place(race->report, scenario, c, metric, race->least, NULL) == 1;
            level += pass == 0 && first;
            least = first ? fmin(least, own) : least;
            if (pass == 1)
                race_enter(race, contender->title, value_of(race, contender, metric), first)
                    ->cheapest += first && level > 1 && own <= least;
        }
    race->shared += level > 1 && !isnan(least);
}

static void panel_race(struct race *race, const struct curve_panel *panel)
{
    double best = NAN;
    for (size_t l = 0; l < panel->line_count; l++)
        best = fmax(best, panel->lines[l].sustained);
    race->places++;
    for (size_t l = 0; l < panel->line_count; l++)
        (void)race_enter(race, panel->lines[l].title, panel->lines[l].sustained,
                         panel->lines[l].sustained == best);
}

static size_t words_count(const char *text)
{
    size_t count = 1;
    for (; *text != '\0'; text++)
        count += *text == ' ';
    return count;
}

/* Appends those whose number at `offset` is the best below `*below`, so that a tie is told as a
 * whole: " esg", " esg, fifo" or " 9 policies". Returns that number, -INFINITY if none is left,
 * and sets `*below` to it. */
static double group_write(const struct race *race, size_t offset, double *below, char **text)
{
    char *list = NULL;
    double best = -INFINITY;
    size_t count = 0;
    for (size_t pass = 0; pass < 2; pass++) /* the second knows the best */
        for (size_t e = 0; e < race->count; e++) {
            const double own =
                *(const double *)(const void *)((const char *)&race->entrants[e] + offset);
            if (pass == 0 && own < *below && (own != 0 || race->places == 1))
                best = fmax(best, own);
            if (pass == 1 && own < *below && own >= best)
                arena_append(race->report->arena, &list, count++ > 0 ? ", %s" : "%s",
                             race->entrants[e].name);
        }
    const bool cut = count > 0 && words_count(list) > NAME_WORDS;
    if (cut && count > 1)
        arena_append(race->report->arena, text, " %zu %s", count,
                     isinf(*below) ? "policies" : "others");
    else if (count > 0)
        arena_append(race->report->arena, text, " %.*s%s",
                     (int)(cut ? strcspn(list, " ") : strlen(list)), list, cut ? " …" : "");
    *below = best;
    return best;
}

/* "headway in 9 of 12 settings; esg, fifo in 2", or of one place "headway 95.2 %; esg 73.6 %"; and
 * which of those that are level costs least. */
static void firsts_write(const struct race *race, const char *unit, char **text)
{
    struct arena *arena = race->report->arena;
    const bool several = race->places > 1;
    double below = INFINITY, any = INFINITY;
    char *cheapest = NULL;
    for (size_t told = 0; told < GROUPS_TOLD; told++) {
        char *group = NULL;
        const double best = group_write(race, offsetof(struct entrant, first), &below, &group);
        if (isinf(best))
            break;
        arena_append(arena, text, "%s%s", told > 0 ? ";" : "", group);
        arena_append(arena, text, several ? " in %.4g%s" : " %.4g%s", fabs(best),
                     several ? "" : unit);
        if (several && told == 0)
            arena_append(arena, text, " of %zu settings", race->places);
    }
    if (race->shared == 0)
        return;
    const double most = group_write(race, offsetof(struct entrant, cheapest), &any, &cheapest);
    arena_append(arena, text, "; cheapest of those level:%s", cheapest);
    if (several)
        arena_append(arena, text, " in %.0f of %zu", most, race->shared);
}

const char *page_verdict(const struct report *report)
{
    const struct curves *curves = report->curves;
    const bool sustained = curves != NULL && !isnan(curves->limit), serves = report_serves(report);
    const char *unit = sustained ? "" : serves ? " %" : " h";
    struct race race = {report, !sustained && !serves, NULL, 0, 0, 0, NAN, NAN};
    for (size_t g = 0; sustained && g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            panel_race(&race, &curves->groups[g].panels[p]);
    for (size_t s = 0; !sustained && s < report->scenario_count; s++)
        scenario_race(&race, &report->scenarios[s]);
    const char *what = sustained
                           ? arena_text(report->arena, "%s sustained", names_axis(curves->key))
                       : serves ? "mean SLO hit rate"
                                : "mean completion time";
    if (isnan(race.high))
        return arena_text(report->arena, "No policy has a value of %s.", what);
    if (race.count == 1 && race.places > 1)
        return arena_text(report->arena, "The %s is %.4g to %.4g%s in %zu settings.", what,
                          race.low, race.high, unit, race.places);
    for (size_t e = 0; race.places == 1 && e < race.count;
         e++) { /* a value tells more than a rank */
        struct entrant *own = &race.entrants[e];
        const double best = race.least ? race.low : race.high;
        own->first = (own->first > 0 ? best : own->value) * (race.least ? -1 : 1);
    }
    char *text = arena_text(report->arena, "%s %s%s:",
                            race.count == 1 ? "The"
                            : race.least    ? "Shortest"
                                            : "Highest",
                            what, race.count > 1 && race.places > 1 ? ", alone or shared" : "");
    firsts_write(&race, unit, &text);
    return arena_text(report->arena, "%s.", text);
}

/* ---- Published ------------------------------------------------------------------------------ */

void page_published(const struct page *page, const struct page_figure *figure, FILE *out)
{
    const struct report *report = page->report;
    size_t counts[VERDICT_COUNT] = {0};
    for (size_t j = 0; j < report->judgement_count; j++)
        counts[report->judgements[j].verdict]++;
    html_print(out,
               "<figure class=\"bars\" data-kind=\"published\"><figcaption>Published figures and "
               "ours: of %zu, %zu reproduced, %zu partly, %zu not, %zu cannot be said, %zu "
               "assumed. Grey: the "
               "published range. Dots: our average over the settings of each set of assumptions, "
               "with its 95 %% interval. "
               "<a href=\"#published\">Each in words</a></figcaption><pre>%s</pre></figure>\n",
               report->judgement_count, counts[VERDICT_REPRODUCED], counts[VERDICT_PARTLY],
               counts[VERDICT_NOT], counts[VERDICT_UNKNOWN], counts[VERDICT_ASSUMED], figure->csv);
}
