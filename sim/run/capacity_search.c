#include "sim/run/capacity_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the condition ceases to hold, as places from the side on which it should. */
struct places {
    size_t held;   /* the mean holds before it, and not at it; 0: nowhere; count: to the end */
    size_t sure;   /* it surely holds before it, and not from it to `held`; 0: nowhere */
    size_t failed; /* it surely fails at it, and not from `held` to it; count: nowhere */
};

static bool both_given(const struct capacity_search *search)
{
    return !isnan(search->range.low) && !isnan(search->range.high);
}

enum capacity_certainty capacity_point_answer(const struct capacity_point *point)
{
    return point->worst >= 0 ? CAPACITY_HOLDS : point->best < 0 ? CAPACITY_FAILS : CAPACITY_UNSURE;
}

void capacity_search_start(struct capacity_search *search, const struct capacity_range *range)
{
    *search = (struct capacity_search){
        .range = *range, .seeds = range->seeds, .low_open = true, .high_open = true};
    double *start = &search->range.start;
    if (*start < range->low || both_given(search))
        *start = range->low;
    if (*start > range->high)
        *start = range->high;
}

/* From the side on which the condition should hold: downwards for the least value. */
static const struct capacity_point *at(const struct capacity_search *search, size_t place)
{
    const bool down = search->range.direction == CAPACITY_LEAST;
    return &search->points[down ? search->count - 1 - place : place];
}

static struct places places_find(const struct capacity_search *search)
{
    struct places places = {0};
    const size_t count = search->count;
    while (places.held < count && at(search, places.held)->margin < 0)
        places.held++;
    if (places.held == count)
        places.held = 0;
    while (places.held < count && at(search, places.held)->margin >= 0)
        places.held++;
    places.sure = places.failed = places.held;
    while (places.sure > 0 && capacity_point_answer(at(search, places.sure - 1)) != CAPACITY_HOLDS)
        places.sure--;
    while (places.failed < count &&
           capacity_point_answer(at(search, places.failed)) != CAPACITY_FAILS)
        places.failed++;
    return places;
}

/* ---- The next value -------------------------------------------------------------------------- */

/* Returns whether there is a value above all visited ones, or below. */
static bool step_beyond(const struct capacity_search *search, bool up, double *value)
{
    const struct capacity_range *range = &search->range;
    const double given = up ? range->high : range->low;
    const double from = range->whole ? (up ? fmax : fmin)(range->start, 1) : range->start;
    const double end = !isnan(given)  ? given
                       : up           ? from * CAPACITY_SPAN
                       : range->whole ? from
                                      : from / CAPACITY_SPAN;
    const double last = search->points[up ? search->count - 1 : 0].value;
    if (!(up ? search->high_open && last < end : search->low_open && last > end))
        return false;
    if (up)
        *value = both_given(search) ? end : fmin(range->whole ? fmax(2 * last, 1) : 2 * last, end);
    else
        *value = fmax(range->whole ? floor(last / 2) : last / 2, end);
    return true;
}

/* Rounds to so many digits that the result differs by less than a hundredth of the tolerance, so
 * that values can be read and typed. */
static double round_short(double value, double tolerance)
{
    char text[64];
    const int digits = 3 + (int)ceil(-log10(tolerance));
    (void)snprintf(text, sizeof text, "%.*g", digits < 17 ? digits : 17, value);
    return strtod(text, NULL);
}

/* Relative to the middle, as the tolerance is. Neighbouring whole numbers have no width. */
static double width_of(const struct capacity_search *search, double one, double two)
{
    const double width = fabs(one - two);
    return width == 0 || (search->range.whole && width <= 1) ? 0 : 2 * width / (one + two);
}

/* A value between those of the places before and at `place`, if they are further apart. Halves the
 * ratio. */
static bool step_between(const struct capacity_search *search, size_t place, double width,
                         double *value)
{
    if (place == 0 || place == search->count)
        return false;
    const double one = at(search, place - 1)->value;
    const double two = at(search, place)->value;
    *value = search->range.whole ? floor((one + two) / 2)
                                 : round_short(sqrt(one) * sqrt(two), search->range.tolerance);
    return width_of(search, one, two) > (search->range.whole ? 0 : width) &&
           *value > fmin(one, two) && *value < fmax(one, two);
}

/* A value on which the answer rests, and which was tried with fewer seeds than others. */
static bool step_again(const struct capacity_search *search, const struct places *places,
                       double *value)
{
    const size_t ends[] = {places->held, places->sure, places->failed};
    for (size_t i = 0; i < 6; i++) {
        const size_t place = ends[i / 2] - i % 2;
        if (place >= search->count || at(search, place)->seeds >= search->seeds)
            continue;
        *value = at(search, place)->value;
        return true;
    }
    return false;
}

/* The half-width of a mean falls with the root of the seeds. At most twice as many at a time. */
static bool seeds_add(struct capacity_search *search, double width)
{
    const double ratio = width / search->range.tolerance;
    const double wanted = (double)search->seeds * fmin(fmax(1.25, ratio * ratio), 2);
    if (search->seeds >= search->range.most_seeds)
        return false;
    search->seeds = (size_t)fmin(ceil(wanted), (double)search->range.most_seeds);
    return true;
}

bool capacity_search_next(struct capacity_search *search, double *value)
{
    const double tolerance = search->range.tolerance;
    const bool least = search->range.direction == CAPACITY_LEAST;
    const bool up = both_given(search) || search->upward;
    if (search->count == 0) {
        *value = search->range.start;
        return true;
    }
    if (search->range.direction == CAPACITY_EITHER || (both_given(search) && search->count == 1))
        return step_beyond(search, up, value) || step_beyond(search, !up, value);
    do {
        const struct places places = places_find(search);
        if (step_again(search, &places, value))
            return true;
        if (search->count == CAPACITY_POINTS)
            return false;
        if ((places.sure == 0 && step_beyond(search, least, value)) ||
            (places.failed == search->count && step_beyond(search, !least, value)) ||
            step_between(search, places.held, tolerance / 4, value))
            return true;
        const struct capacity_interval interval = capacity_search_interval(search);
        if (interval.narrow)
            return false;
        /* No interval is narrower than the values known to be not sure. */
        const double unsure = places.sure < places.failed
                                  ? width_of(search, at(search, places.sure)->value,
                                             at(search, places.failed - 1)->value)
                                  : 0;
        if (unsure > tolerance && seeds_add(search, unsure))
            continue;
        if (step_between(search, places.sure, tolerance / 8, value) ||
            step_between(search, places.failed, tolerance / 8, value))
            return true;
        if (!seeds_add(search, interval.width))
            return false;
    } while (true);
}

/* ---- Answers --------------------------------------------------------------------------------- */

struct capacity_point *capacity_search_find(struct capacity_search *search, double value)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->points[i].value == value)
            return &search->points[i];
    return NULL;
}

struct capacity_point *capacity_search_take(struct capacity_search *search, double value,
                                            double margin, double worst, double best)
{
    struct capacity_point *point = capacity_search_find(search, value);
    if (point == NULL) {
        size_t i = search->count++;
        for (; i > 0 && search->points[i - 1].value > value; i--)
            search->points[i] = search->points[i - 1];
        point = &search->points[i];
        *point = (struct capacity_point){.value = value, .mean = NAN, .low = NAN, .high = NAN};
        search->upward = i == 0;
    }
    point->margin = margin;
    point->worst = worst;
    point->best = best;
    point->seeds = search->seeds;
    /* The first change between neighbours gives the direction. */
    for (size_t i = 1; search->range.direction == CAPACITY_EITHER && i < search->count; i++) {
        const bool below = search->points[i - 1].margin >= 0;
        if (below != (search->points[i].margin >= 0))
            search->range.direction = below ? CAPACITY_GREATEST : CAPACITY_LEAST;
    }
    return point;
}

struct capacity_point *capacity_search_measure(struct capacity_search *search, double value,
                                               const struct seed_values *seeds, bool at_most,
                                               double threshold)
{
    struct seed_values sure = *seeds;
    sure.confidence = CAPACITY_CONFIDENCE;
    const struct estimate mean = statistics_of_seeds(&sure);
    const double sign = at_most ? -1 : 1;
    double margins[] = {mean.mean, at_most ? mean.high : mean.low, at_most ? mean.low : mean.high};
    for (size_t i = 0; i < 3; i++)
        margins[i] = isnan(mean.mean)    ? -INFINITY
                     : isnan(margins[i]) ? margins[0]
                                         : sign * (margins[i] - threshold);
    struct capacity_point *point =
        capacity_search_take(search, value, margins[0], margins[1], margins[2]);
    point->mean = mean.mean;
    point->low = mean.low;
    point->high = mean.high;
    return point;
}

bool capacity_search_refuse(struct capacity_search *search, double value)
{
    if (search->count == 0 || value == search->range.low || value == search->range.high)
        return false;
    *(value >= search->points[search->count - 1].value ? &search->high_open : &search->low_open) =
        false;
    if (search->range.direction != CAPACITY_EITHER) {
        struct capacity_point *point =
            capacity_search_take(search, value, -INFINITY, -INFINITY, -INFINITY);
        point->refused = true;
        point->mean = NAN;
        point->seeds = search->range.most_seeds;
    }
    return true;
}

struct capacity_interval capacity_search_interval(const struct capacity_search *search)
{
    const struct places places = places_find(search);
    const size_t last = search->count - 1;
    struct capacity_interval interval = {.holds = NAN, .fails = NAN, .crossing = NAN};
    interval.verdict = places.held == 0      ? CAPACITY_NONE
                       : places.held <= last ? CAPACITY_FOUND
                                             : CAPACITY_ALL;
    if (search->range.direction == CAPACITY_EITHER)
        return interval;
    if (places.sure > 0)
        interval.holds = at(search, places.sure - 1)->value;
    if (places.failed <= last)
        interval.fails = at(search, places.failed)->value;
    interval.width = width_of(search, places.sure > 0 ? interval.holds : at(search, 0)->value,
                              places.failed <= last ? interval.fails : at(search, last)->value);
    interval.narrow = interval.width <= search->range.tolerance;
    if (interval.verdict != CAPACITY_FOUND)
        return interval;
    const struct capacity_point *held = at(search, places.held - 1);
    const struct capacity_point *next = at(search, places.held);
    interval.crossing = held->value;
    if (!search->range.whole && isfinite(next->margin)) /* the straight line between the two */
        interval.crossing = round_short(held->value + (next->value - held->value) * held->margin /
                                                          (held->margin - next->margin),
                                        search->range.tolerance / 8);
    return interval;
}

bool capacity_search_bend(const struct capacity_search *search, const struct capacity_point **from,
                          const struct capacity_point **to)
{
    double worst = 0;
    for (size_t i = 1; search->range.direction != CAPACITY_EITHER && i < search->count; i++) {
        /* The condition should hold more clearly at `near`. */
        const struct capacity_point *near = at(search, i - 1);
        const struct capacity_point *far = at(search, i);
        const double loss = far->worst - near->best;
        if (isfinite(loss) && loss > worst) {
            worst = loss;
            *from = far;
            *to = near;
        }
    }
    return worst > 0;
}
