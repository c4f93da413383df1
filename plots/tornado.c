/* Which assumption flips which order: the first policy less each other one, in every setting. */
#include <math.h>
#include <string.h>

#include "plots/families.h"
#include "plots/names.h"
#include "results/report/paired.h"

enum { FEWEST = 3, OTHERS_MOST = 6, TIE = 0x767676 };

static const struct panel of_requests = {NULL, "points of SLO hit rate", "slo_hit_rate", 100,
                                         false};
static const struct panel of_trainings = {NULL, "hours of mean completion time", "jct_s_mean",
                                          1.0 / 3600, false};

struct tornado {
    const struct source *source;
    const struct panel *shown;
    const struct report_contender *others[OTHERS_MOST];
    size_t other_count;
    struct estimate *differences; /* of each setting, with each other policy */
    size_t *places;               /* of each setting, from 1 */
};

static const struct report_contender *contender_like(const struct report_scenario *scenario,
                                                     const struct report_contender *like)
{
    for (size_t c = 0; c < scenario->contender_count; c++)
        if (report_is_like(&scenario->contenders[c], like->policy, like->label, like->variant))
            return &scenario->contenders[c];
    return NULL;
}

static struct estimate *difference_of(const struct tornado *tornado, size_t setting, size_t other)
{
    return &tornado->differences[setting * OTHERS_MOST + other];
}

/* The differences, paired by seed. A setting that lacks one of the two has none. */
static void differences_take(struct tornado *tornado)
{
    const struct report *report = tornado->source->report;
    const struct report_contender *first = &report->scenarios[0].contenders[0];
    for (size_t s = 0; s < report->scenario_count; s++)
        for (size_t o = 0; o < tornado->other_count; o++) {
            const struct paired_contenders pair = {
                contender_like(&report->scenarios[s], first),
                contender_like(&report->scenarios[s], tornado->others[o])};
            *difference_of(tornado, s, o) =
                pair.first == NULL || pair.second == NULL
                    ? (struct estimate){.mean = NAN, .low = NAN, .high = NAN}
                    : statistics_scaled(paired_estimate(report, &pair, 1, NULL,
                                                        report_metric_find(tornado->shown->metric),
                                                        PAIRED_DIFFERENCE),
                                        tornado->shown->scale);
        }
}

/* The largest change against the first setting. */
static double change_of(const struct tornado *tornado, size_t setting)
{
    double most = 0;
    for (size_t o = 0; o < tornado->other_count; o++)
        most = fmax(most, fabs(difference_of(tornado, setting, o)->mean -
                               difference_of(tornado, 0, o)->mean));
    return most;
}

/* The first setting is the first row; below it the larger change comes first. */
static void places_take(struct tornado *tornado)
{
    const size_t count = tornado->source->report->scenario_count;
    for (size_t s = 0; s < count; s++) {
        tornado->places[s] = s == 0 ? 1 : 2;
        const double change = change_of(tornado, s);
        for (size_t other = 1; s > 0 && other < count; other++) {
            const double against = change_of(tornado, other);
            tornado->places[s] += against > change || (against == change && other < s);
        }
    }
}

/* 1: the order is another than in the first setting, and both intervals leave out 0; 2: it is
 * another by the means alone. */
static int flip_of(const struct estimate *base, const struct estimate *here)
{
    const bool sure = here->low * here->high > 0 && base->low * base->high > 0;
    return base->mean * here->mean >= 0 || isnan(here->mean * base->mean) ? 0 : sure ? 1 : 2;
}

static double clipped(double value, double most)
{
    return isnan(value) ? value : fmin(fmax(value, -most), most);
}

static void rows_write(const struct tornado *tornado, struct sheet *sheet)
{
    const struct report *report = tornado->source->report;
    const struct report_scenario *base = &report->scenarios[0];
    for (size_t o = 0; o < tornado->other_count; o++)
        for (size_t s = 0; s < report->scenario_count; s++) {
            const struct estimate *here = difference_of(tornado, s, o);
            const struct estimate *from = difference_of(tornado, 0, o);
            const bool serves = tornado->shown == &of_requests, tie = here->mean == 0;
            const bool leads = serves == (here->mean > 0);
            const size_t winner = leads ? 0 : (size_t)(tornado->others[o] - base->contenders);
            const double most = serves ? 100 : INFINITY; /* a difference of shares */
            sheet_row(sheet, "%zu %s %s %zu " LABEL " %g %g %g %g %d %x", o + 1,
                      arena_text(report->arena, "%s − %s", base->contenders[0].title,
                                 tornado->others[o]->title),
                      tornado->shown->axis, tornado->places[s],
                      names_conditions(report->arena, report->scenarios[s].title), from->mean,
                      here->mean, clipped(here->low, most), clipped(here->high, most),
                      flip_of(from, here), tie ? TIE : source_look(base, winner).colour);
        }
}

bool tornado_draw(const struct source *source, const struct figure_kind *kind,
                  struct figure_list *list, struct error *error)
{
    const struct report *report = source->report;
    const struct report_scenario *base = &report->scenarios[0];
    struct tornado tornado = {.source = source,
                              .shown = report_serves(report) ? &of_requests : &of_trainings};
    struct sheet sheet = {0};
    const bool alone = source_one_policy(base);
    for (size_t c = 1; c < base->contender_count && tornado.other_count < OTHERS_MOST; c++)
        if (alone || source_first_variant(base, c))
            tornado.others[tornado.other_count++] = &base->contenders[c];
    if (report->scenario_count < FEWEST || tornado.other_count == 0)
        return true;
    tornado.differences = arena_allocate(report->arena, report->scenario_count * OTHERS_MOST,
                                         sizeof *tornado.differences);
    tornado.places = arena_allocate(report->arena, report->scenario_count, sizeof *tornado.places);
    differences_take(&tornado);
    places_take(&tornado);
    const char *lead =
        arena_text(report->arena,
                   "%s less another policy, paired by seed; colour: which is better, grey: "
                   "neither. Bar: from \"%s\". "
                   "Diamond: the order flips; hollow: by the means alone.",
                   base->contenders[0].title, names_conditions(report->arena, base->title));
    const bool good = source_sheet(source, NULL, kind, "", lead, list, &sheet, error);
    if (good)
        rows_write(&tornado, &sheet);
    return sheet_end(&sheet, good, error);
}
