/* The head of the HTML page: who is first, in one sentence, and the published figures as data. */
#include <math.h>
#include <string.h>

#include "results/expect/reproduction_check.h"
#include "results/page/report_columns.h"
#include "results/page/report_html.h"
#include "results/report/curve.h"
#include "results/report/html.h"
#include "results/report/paired.h"

enum { WORDS_MOST = 20, NAME_WORDS = 7 };

struct entrant {
    const char *name;
    double value; /* in its first place */
    size_t first; /* places in which it is first, or level with it */
};

/* Who is first in how many places: scenarios, or panels of curves. */
struct race {
    const struct report *report;
    bool least; /* the least value is first */
    const char *unit;
    struct entrant *entrants;
    size_t count, places;
    double low, high; /* of all values */
};

static void race_enter(struct race *race, const char *name, double value, bool first)
{
    size_t e = 0;
    while (e < race->count && strcmp(race->entrants[e].name, name) != 0)
        e++;
    if (e == race->count) {
        arena_reserve(race->report->arena, &race->entrants, ++race->count, sizeof *race->entrants);
        race->entrants[e] = (struct entrant){name, value, 0};
    }
    race->entrants[e].first += first;
    race->low = fmin(race->low, value);
    race->high = fmax(race->high, value);
}

static void scenario_race(struct race *race, const struct report_scenario *scenario)
{
    const struct metric *metric = report_metric_find(race->least ? "jct_s_mean" : "slo_hit_rate");
    race->places++;
    for (size_t c = 0; c < scenario->contender_count; c++)
        race_enter(
            race, scenario->contenders[c].title,
            report_column_estimate(race->report, &scenario->contenders[c], NULL, metric).mean,
            paired_place(race->report, scenario, c, metric, race->least, NULL) == 1);
}

static void panel_race(struct race *race, const struct curve_panel *panel)
{
    double best = NAN;
    for (size_t l = 0; l < panel->line_count; l++)
        best = fmax(best, panel->lines[l].sustained);
    race->places++;
    for (size_t l = 0; l < panel->line_count; l++)
        race_enter(race, panel->lines[l].title, panel->lines[l].sustained,
                   panel->lines[l].sustained >= best);
}

static size_t words_count(const char *text)
{
    size_t count = 1;
    for (; *text != '\0'; text++)
        count += *text == ' ';
    return count;
}

/* The next to be told: first in more places, or of one place with the better value; NULL: none. */
static struct entrant *entrant_next(const struct race *race)
{
    struct entrant *next = NULL;
    double best = race->places > 1 ? 0 : -INFINITY;
    for (size_t e = 0; e < race->count; e++) {
        const struct entrant *entrant = &race->entrants[e];
        const double score = race->places > 1 ? (double)entrant->first
                             : race->least    ? -entrant->value
                                              : entrant->value;
        if (score > best) {
            next = &race->entrants[e];
            best = score;
        }
    }
    return next;
}

/* "headway in 9 of 12 settings, esg in 2", or of one place "headway 95.2 %, esg 73.6 %": as many as
 * have room, of the first without its parameters if those are many. */
static void firsts_write(const struct race *race, char **text)
{
    struct arena *arena = race->report->arena;
    const char *between = "";
    for (struct entrant *next; (next = entrant_next(race)) != NULL;
         next->first = 0, next->value = NAN) {
        const bool cut = words_count(next->name) > NAME_WORDS;
        if (*between != '\0' && words_count(*text) + words_count(next->name) + 2 > WORDS_MOST)
            return;
        arena_append(arena, text, "%s %.*s", between,
                     (int)(cut ? strcspn(next->name, " ") : strlen(next->name)), next->name);
        if (race->places == 1)
            arena_append(arena, text, " %.4g%s", next->value, race->unit);
        else
            arena_append(arena, text, " in %zu", next->first);
        if (*between == '\0' && race->places > 1)
            arena_append(arena, text, " of %zu settings", race->places);
        between = ",";
    }
}

const char *page_verdict(const struct report *report)
{
    const struct curves *curves = report->curves;
    const bool sustained = curves != NULL && !isnan(curves->limit), serves = report_serves(report);
    const char *unit = sustained ? "" : serves ? " %" : " h";
    struct race race = {report, !sustained && !serves, unit, NULL, 0, 0, NAN, NAN};
    for (size_t g = 0; sustained && g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            panel_race(&race, &curves->groups[g].panels[p]);
    for (size_t s = 0; !sustained && s < report->scenario_count; s++)
        scenario_race(&race, &report->scenarios[s]);
    const char *what = sustained ? arena_text(report->arena, "%s sustained", curves->key)
                       : serves  ? "mean SLO hit rate"
                                 : "mean completion time";
    if (isnan(race.high))
        return arena_text(report->arena, "No policy has a value of %s.", what);
    if (race.count == 1 && race.places > 1)
        return arena_text(report->arena, "The %s is %.4g to %.4g%s in %zu settings.", what,
                          race.low, race.high, race.unit, race.places);
    char *text = arena_text(report->arena, "%s %s%s:",
                            race.count == 1 ? "The"
                            : race.least    ? "Shortest"
                                            : "Highest",
                            what, race.count > 1 && race.places > 1 ? ", alone or shared" : "");
    firsts_write(&race, &text);
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
