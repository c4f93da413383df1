#include "sim/cli/capacity_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

#include "results/report/statistics.h"

/* The visited points from the side on which the condition should hold, and where it ceases to. */
struct places {
    size_t order[CAPACITY_POINTS];
    size_t held;   /* the mean holds at held - 1, and not at held; 0: nowhere; count: to the end */
    size_t sure;   /* surely holds at sure - 1, and not from there to held; 0: nowhere */
    size_t failed; /* surely fails there, and not between held and there; count: nowhere */
};

static bool both_given(const struct capacity_search *search)
{
    return !isnan(search->range.low) && !isnan(search->range.high);
}

static bool mean_holds(const struct capacity_point *point)
{
    return point->margin >= 0;
}

enum capacity_certainty capacity_point_answer(const struct capacity_point *point)
{
    return point->margin - point->half >= 0  ? CAPACITY_HOLDS
           : point->margin + point->half < 0 ? CAPACITY_FAILS
                                             : CAPACITY_UNSURE;
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

size_t capacity_search_find(const struct capacity_search *search, double value)
{
    size_t i = 0;
    while (i < search->count && search->points[i].value != value)
        i++;
    return i;
}

void capacity_search_order(const struct capacity_search *search, size_t order[CAPACITY_POINTS])
{
    for (size_t i = 0; i < search->count; i++) {
        size_t place = i;
        for (; place > 0 && search->points[order[place - 1]].value > search->points[i].value;
             place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
}

/* The order from the side on which the condition should hold: downwards for the least value. */
static void order_from_good(const struct capacity_search *search, size_t order[CAPACITY_POINTS])
{
    capacity_search_order(search, order);
    for (size_t i = 0, j = search->count; search->range.direction == CAPACITY_LEAST && i + 1 < j;
         i++) {
        const size_t first = order[i];
        order[i] = order[--j];
        order[j] = first;
    }
}

static const struct capacity_point *point_at(const struct capacity_search *search,
                                             const struct places *places, size_t place)
{
    return &search->points[places->order[place]];
}

static struct places places_find(const struct capacity_search *search)
{
    struct places places = {.held = 0};
    const size_t count = search->count;
    order_from_good(search, places.order);
    while (places.held < count && !mean_holds(point_at(search, &places, places.held)))
        places.held++;
    if (places.held == count)
        places.held = 0;
    while (places.held < count && mean_holds(point_at(search, &places, places.held)))
        places.held++;
    places.sure = places.failed = places.held;
    while (places.sure > 0 &&
           capacity_point_answer(point_at(search, &places, places.sure - 1)) != CAPACITY_HOLDS)
        places.sure--;
    while (places.failed < count &&
           capacity_point_answer(point_at(search, &places, places.failed)) != CAPACITY_FAILS)
        places.failed++;
    return places;
}

/* ---- Extending the range --------------------------------------------------------------------- */

static double end_above(const struct capacity_search *search)
{
    const struct capacity_range *range = &search->range;
    if (!isnan(range->high))
        return range->high;
    return (range->whole ? fmax(range->start, 1) : range->start) * CAPACITY_SPAN;
}

static double end_below(const struct capacity_search *search)
{
    const struct capacity_range *range = &search->range;
    if (!isnan(range->low))
        return range->low;
    return range->whole ? fmin(range->start, 1) : range->start / CAPACITY_SPAN;
}

/* Returns whether there is a value above all visited ones, or below. */
static bool step_beyond(const struct capacity_search *search, bool up, double *value)
{
    const double end = up ? end_above(search) : end_below(search);
    const bool whole = search->range.whole;
    double last = search->points[0].value;
    for (size_t i = 1; i < search->count; i++)
        last = up ? fmax(last, search->points[i].value) : fmin(last, search->points[i].value);
    if (!(up ? search->high_open && last < end : search->low_open && last > end))
        return false;
    if (up)
        *value = both_given(search) ? end : fmin(whole ? fmax(2 * last, 1) : 2 * last, end);
    else
        *value = fmax(whole ? floor(last / 2) : last / 2, end);
    return true;
}

/* Towards the side on which the condition should hold, or away from it. */
static bool step_towards(const struct capacity_search *search, bool good, double *value)
{
    return step_beyond(search, good == (search->range.direction == CAPACITY_LEAST), value);
}

/* Without a direction the sides alternate. With both ends given, both are visited. */
static bool step_out(const struct capacity_search *search, double *value)
{
    size_t order[CAPACITY_POINTS];
    capacity_search_order(search, order);
    const bool up = both_given(search) || search->count == 1 || order[0] == search->count - 1;
    return step_beyond(search, up, value) || step_beyond(search, !up, value);
}

/* ---- Bisection ------------------------------------------------------------------------------- */

/* Rounds to so many digits that the result differs by less than a hundredth of the tolerance, so
 * that values can be read and typed. */
static double round_short(double value, double tolerance)
{
    char text[64];
    const int digits = 3 + (int)ceil(-log10(tolerance));
    (void)snprintf(text, sizeof text, "%.*g", digits < 17 ? digits : 17, value);
    return strtod(text, NULL);
}

/* A value between those of the places before and at `place`, if they differ by more than this share
 * of the middle. Halves the ratio, because the tolerance is relative. */
static bool step_between(const struct capacity_search *search, const struct places *places,
                         size_t place, double share, double *value)
{
    if (place == 0 || place == search->count)
        return false;
    const double one = point_at(search, places, place - 1)->value;
    const double two = point_at(search, places, place)->value;
    const double low = fmin(one, two);
    const double high = fmax(one, two);
    if (search->range.whole) {
        *value = floor((low + high) / 2);
        return high - low > 1;
    }
    *value = round_short(sqrt(low) * sqrt(high), search->range.tolerance);
    return high - low > share * (low + high) / 2 && *value > low && *value < high;
}

/* A value on which the answer rests, and which was tried with fewer seeds than others. */
static bool step_again(const struct capacity_search *search, const struct places *places,
                       double *value)
{
    const size_t ends[] = {places->held, places->sure, places->failed};
    for (size_t i = 0; i < 6; i++) {
        const size_t place = ends[i / 2] - i % 2;
        if (place >= search->count || point_at(search, places, place)->seeds >= search->seeds)
            continue;
        *value = point_at(search, places, place)->value;
        return true;
    }
    return false;
}

/* The half-width of a mean falls with the root of the seeds. At most twice as many at a time. */
static bool seeds_add(struct capacity_search *search)
{
    const struct capacity_interval interval = capacity_search_interval(search);
    const double ratio = interval.width / search->range.tolerance;
    const double wanted = (double)search->seeds * fmin(fmax(1.25, ratio * ratio), 2);
    if (search->seeds >= search->range.most_seeds)
        return false;
    search->seeds = (size_t)fmin(ceil(wanted), (double)search->range.most_seeds);
    return true;
}

/* The ends of the interval are found this much more exactly than it must be wide. */
static const double finer = 8;

bool capacity_search_next(struct capacity_search *search, double *value)
{
    const double tolerance = search->range.tolerance;
    if (search->count == 0) {
        *value = search->range.start;
        return true;
    }
    if (search->range.direction == CAPACITY_EITHER || (both_given(search) && search->count == 1))
        return step_out(search, value);
    for (;;) {
        const struct places places = places_find(search);
        if (step_again(search, &places, value))
            return true;
        if (search->count == CAPACITY_POINTS)
            return false;
        if ((places.sure == 0 && step_towards(search, true, value)) ||
            (places.failed == search->count && step_towards(search, false, value)))
            return true;
        if (step_between(search, &places, places.held, tolerance / 4, value))
            return true;
        if (capacity_search_interval(search).narrow)
            return false;
        if (step_between(search, &places, places.sure, tolerance / finer, value) ||
            step_between(search, &places, places.failed, tolerance / finer, value))
            return true;
        if (!seeds_add(search))
            return false;
    }
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* The first change between neighbours gives the direction. */
static void direction_find(struct capacity_search *search)
{
    size_t order[CAPACITY_POINTS];
    capacity_search_order(search, order);
    for (size_t i = 1; i < search->count && search->range.direction == CAPACITY_EITHER; i++) {
        const bool below = mean_holds(&search->points[order[i - 1]]);
        if (below != mean_holds(&search->points[order[i]]))
            search->range.direction = below ? CAPACITY_GREATEST : CAPACITY_LEAST;
    }
}

void capacity_search_take(struct capacity_search *search, double value, double margin, double half)
{
    const size_t place = capacity_search_find(search, value);
    search->count += place == search->count;
    search->points[place] = (struct capacity_point){
        .value = value, .margin = margin, .half = half, .seeds = search->seeds};
    direction_find(search);
}

double capacity_search_measure(struct capacity_search *search, double value, const double *seeds,
                               bool at_most, double threshold)
{
    const size_t n = search->seeds;
    const struct estimate mean = statistics_estimate(seeds, n);
    const double margin = at_most ? threshold - mean.mean : mean.mean - threshold;
    double half = 0;
    if (n > 1)
        half = gsl_cdf_tdist_Pinv((1 + CAPACITY_CONFIDENCE) / 2, (double)n - 1) * mean.sd /
               sqrt((double)n);
    if (isnan(margin))
        capacity_search_take(search, value, -INFINITY, 0);
    else
        capacity_search_take(search, value, margin, half);
    return mean.mean;
}

bool capacity_search_refuse(struct capacity_search *search, double value)
{
    if (search->count == 0 || value == search->range.low || value == search->range.high)
        return false;
    bool above = true;
    for (size_t i = 0; i < search->count; i++)
        above = above && value > search->points[i].value;
    if (search->range.direction != CAPACITY_EITHER) {
        const size_t place = capacity_search_find(search, value);
        capacity_search_take(search, value, -INFINITY, 0);
        search->points[place].refused = true;
        search->points[place].seeds = search->range.most_seeds;
    }
    *(above ? &search->high_open : &search->low_open) = false;
    return true;
}

/* ---- Results --------------------------------------------------------------------------------- */

enum capacity_verdict capacity_search_verdict(const struct capacity_search *search)
{
    const size_t held = places_find(search).held;
    return held == 0 ? CAPACITY_NONE : held == search->count ? CAPACITY_ALL : CAPACITY_FOUND;
}

/* The straight line between the two points. */
static double crossing_between(const struct capacity_search *search,
                               const struct capacity_point *holds,
                               const struct capacity_point *fails)
{
    if (search->range.whole || !isfinite(fails->margin))
        return holds->value;
    const double share = holds->margin / (holds->margin - fails->margin);
    return round_short(holds->value + share * (fails->value - holds->value),
                       search->range.tolerance / finer);
}

struct capacity_interval capacity_search_interval(const struct capacity_search *search)
{
    struct capacity_interval interval = {.holds = NAN, .fails = NAN, .crossing = NAN, .width = NAN};
    if (search->range.direction == CAPACITY_EITHER)
        return interval;
    const struct places places = places_find(search);
    const size_t last = search->count - 1;
    if (places.sure > 0)
        interval.holds = point_at(search, &places, places.sure - 1)->value;
    if (places.failed <= last)
        interval.fails = point_at(search, &places, places.failed)->value;
    if (places.held > 0 && places.held <= last)
        interval.crossing = crossing_between(search, point_at(search, &places, places.held - 1),
                                             point_at(search, &places, places.held));
    const double from =
        isnan(interval.holds) ? point_at(search, &places, 0)->value : interval.holds;
    const double to =
        isnan(interval.fails) ? point_at(search, &places, last)->value : interval.fails;
    const double middle = (from + to) / 2;
    interval.width = middle > 0 ? fabs(to - from) / middle : 0;
    interval.narrow =
        interval.width <= search->range.tolerance || (search->range.whole && fabs(to - from) <= 1);
    return interval;
}

bool capacity_search_bend(const struct capacity_search *search, size_t *from, size_t *to)
{
    size_t order[CAPACITY_POINTS];
    double worst = 0;
    if (search->range.direction == CAPACITY_EITHER)
        return false;
    order_from_good(search, order);
    for (size_t i = 1; i < search->count; i++) {
        /* The condition should hold more clearly at `near`. */
        const struct capacity_point *near = &search->points[order[i - 1]];
        const struct capacity_point *far = &search->points[order[i]];
        const double loss = far->margin - near->margin - near->half - far->half;
        if (isfinite(loss) && loss > worst) {
            worst = loss;
            *from = order[i];
            *to = order[i - 1];
        }
    }
    return worst > 0;
}
