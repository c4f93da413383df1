/* The head of the HTML page: who is first, in one sentence, and the published figures as data. */
#include <math.h>
#include <string.h>

#include "results/report/curve.h"
#include "results/report/html.h"
#include "results/report/report_columns.h"
#include "results/report/report_html.h"
#include "results/report/reproduction_check.h"

enum { WORDS_MOST = 20, NAME_WORDS = 7 };

/* What counts as level: as printed, in points of the hit rate; as a share of a completion time. */
static const double level_points = 0.05, level_share = 5e-4;

struct entrant {
    const char *name;
    double value;
    size_t first; /* places in which it is first, or level with it */
};

/* Who is first in how many places: scenarios, or panels of curves. */
struct race {
    const struct report *report;
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

static double value_of(const struct report *report, const struct report_contender *contender)
{
    const char *name = report_serves(report) ? "slo_hit_rate" : "jct_s_mean";
    return report_column_estimate(report, contender, NULL, report_metric_find(name)).mean;
}

static void scenario_race(struct race *race, const struct report_scenario *scenario)
{
    const bool serves = report_serves(race->report);
    double best = NAN;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const double value = value_of(race->report, &scenario->contenders[c]);
        best = serves ? fmax(best, value) : fmin(best, value);
    }
    race->places++;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const double value = value_of(race->report, &scenario->contenders[c]);
        race_enter(race, scenario->contenders[c].title, value,
                   fabs(value - best) <= (serves ? level_points : level_share * best));
    }
}

static void panel_race(struct race *race, const struct curve_panel *panel)
{
    double best = NAN;
    for (size_t l = 0; l < panel->line_count; l++)
        best = fmax(best, panel->lines[l].sustained);
    race->places++;
    for (size_t l = 0; l < panel->line_count; l++)
        race_enter(race, panel->lines[l].title, panel->lines[l].sustained,
                   panel->lines[l].sustained == best);
}

static size_t words_count(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text += strcspn(text, " ")) {
        text += strspn(text, " ");
        count += *text != '\0';
    }
    return count;
}

/* The name without its parameters if those are many. */
static const char *short_name(const struct report *report, const char *name)
{
    return words_count(name) <= NAME_WORDS
               ? name
               : arena_text(report->arena, "%.*s", (int)strcspn(name, " "), name);
}

/* "headway in 9 of 12 settings, esg in 2": as many as have room. */
static void firsts_write(struct race *race, char **text)
{
    const char *place = "in";
    for (size_t told = 0; told < race->count; told++) {
        struct entrant *next = &race->entrants[0];
        for (size_t e = 1; e < race->count; e++)
            next = race->entrants[e].first > next->first ? &race->entrants[e] : next;
        const char *name = short_name(race->report, next->name);
        if (next->first == 0 ||
            (told > 0 && words_count(*text) + words_count(name) + 2 > WORDS_MOST))
            return;
        arena_append(race->report->arena, text, "%s %s %s %zu", told > 0 ? "," : "", name, place,
                     next->first);
        if (told == 0)
            arena_append(race->report->arena, text, " of %zu settings", race->places);
        next->first = 0;
    }
}

/* "headway, 95.2 %; then esg, 73.6 %": of one place. */
static void values_write(const struct race *race, char **text)
{
    const bool serves = report_serves(race->report);
    const struct entrant *best = NULL, *second = NULL;
    for (size_t e = 0; e < race->count; e++) {
        const struct entrant *entrant = &race->entrants[e];
        const double value = serves ? entrant->value : -entrant->value;
        if (isnan(value))
            continue;
        if (best == NULL || value > (serves ? best->value : -best->value)) {
            second = best;
            best = entrant;
        } else if (second == NULL || value > (serves ? second->value : -second->value)) {
            second = entrant;
        }
    }
    const char *unit = serves ? "%" : "h";
    if (best != NULL)
        arena_append(race->report->arena, text, " %s%s %.*f %s",
                     short_name(race->report, best->name), race->count > 1 ? "," : ":",
                     serves ? 1 : 2, best->value, unit);
    if (second != NULL && words_count(second->name) < NAME_WORDS)
        arena_append(race->report->arena, text, "; then %s, %.*f %s", second->name, serves ? 1 : 2,
                     second->value, unit);
}

const char *page_verdict(const struct report *report)
{
    const struct curves *curves = report->curves;
    const bool sustained = curves != NULL && !isnan(curves->limit);
    const bool serves = report_serves(report);
    struct race race = {.report = report, .low = NAN, .high = NAN};
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
    char *text = arena_text(report->arena, "%s %s%s",
                            race.count == 1         ? "The"
                            : !sustained && !serves ? "Shortest"
                                                    : "Highest",
                            what,
                            race.count == 1   ? " of"
                            : race.places > 1 ? ", alone or shared:"
                                              : ":");
    if (race.places > 1 && race.count > 1) {
        firsts_write(&race, &text);
    } else if (race.places > 1 || sustained) {
        text = arena_text(report->arena, "%s: %s %.4g to %.4g%s in %zu setting%s",
                          short_name(report, race.entrants[0].name), what, race.low, race.high,
                          sustained ? ""
                          : serves  ? " %"
                                    : " h",
                          race.places, race.places == 1 ? "" : "s");
    } else {
        values_write(&race, &text);
    }
    return arena_text(report->arena, "%s.", text);
}

/* ---- Published ------------------------------------------------------------------------------ */

static void number_write(double value, FILE *out)
{
    (void)fputc('\t', out);
    if (!isnan(value))
        (void)fprintf(out, "%.6g", value);
}

void page_published(const struct report *report, FILE *out)
{
    size_t counts[VERDICT_UNKNOWN + 1] = {0};
    for (size_t j = 0; j < report->judgement_count; j++)
        counts[report->judgements[j].verdict]++;
    html_print(out,
               "<figure class=\"bars\" data-kind=\"published\"><figcaption>Published figures and "
               "ours: of %zu, %zu reproduced, %zu partly, %zu not, %zu cannot be said. Grey: the "
               "published range. Dots: our average over the settings of each set of assumptions, "
               "with its 95 %% interval. <a href=\"#published\">Each in words</a></figcaption>"
               "<pre>panel\tpanel_title\taxis\trow\tsetting\tcontender\tvalue\tlow\thigh\t"
               "range_low\trange_high\n",
               report->judgement_count, counts[VERDICT_REPRODUCED], counts[VERDICT_PARTLY],
               counts[VERDICT_NOT], counts[VERDICT_UNKNOWN]);
    for (size_t j = 0; j < report->judgement_count; j++) {
        const struct judgement *all = &report->judgements[j];
        for (size_t w = 0; w < all->apart_count; w++)
            for (size_t a = 0; a < all->apart[w].average_count; a++) {
                const struct verdict_average *average = &all->apart[w].averages[a];
                html_print(out, "%zu\t%s\t%s, %s\t%zu\t%s\t%s", j + 1, all->figure->title,
                           all->range, all->figure->evidence, w + 1,
                           all->apart[w].world->assumptions, average->policy);
                const double numbers[] = {average->ours.mean, average->ours.low, average->ours.high,
                                          all->figure->low, all->figure->high};
                for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
                    number_write(numbers[n], out);
                (void)fputc('\n', out);
            }
    }
    html_print(out, "</pre></figure>\n");
}
