#include "sim/cli/capacity_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool both_given(const struct capacity_search *search)
{
    return !isnan(search->range.low) && !isnan(search->range.high);
}

static bool is_bracketed(const struct capacity_search *search)
{
    return !isnan(search->holds) && !isnan(search->fails);
}

void capacity_search_start(struct capacity_search *search, const struct capacity_range *range)
{
    *search = (struct capacity_search){
        .range = *range, .low_open = true, .high_open = true, .holds = NAN, .fails = NAN};
    double *start = &search->range.start;
    if (*start < range->low || both_given(search))
        *start = range->low;
    if (*start > range->high)
        *start = range->high;
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

/* Returns whether there is a value above. */
static bool step_up(const struct capacity_search *search, double *value)
{
    const double end = end_above(search);
    if (!search->high_open || search->most >= end)
        return false;
    const double twice = search->range.whole ? fmax(2 * search->most, 1) : 2 * search->most;
    *value = both_given(search) ? end : fmin(twice, end);
    return true;
}

static bool step_down(const struct capacity_search *search, double *value)
{
    const double end = end_below(search);
    if (!search->low_open || search->least <= end)
        return false;
    const double half = search->least / 2;
    *value = fmax(search->range.whole ? floor(half) : half, end);
    return true;
}

/* The direction in which a change is expected, by what holds so far. With both ends given, both are
 * visited. */
static bool step_out(const struct capacity_search *search, double *value)
{
    const enum capacity_direction direction = search->range.direction;
    if (both_given(search))
        return step_up(search, value);
    if (direction == CAPACITY_EITHER)
        return search->upward ? step_up(search, value) || step_down(search, value)
                              : step_down(search, value) || step_up(search, value);
    return search->first == (direction == CAPACITY_GREATEST) ? step_up(search, value)
                                                             : step_down(search, value);
}

/* ---- Bisection ------------------------------------------------------------------------------- */

/* Rounds to so many digits that the result differs by less than a tenth of the tolerance, so that
 * values can be read and typed. */
static double round_short(double value, double tolerance)
{
    char text[64];
    const int digits = 2 + (int)ceil(-log10(tolerance));
    (void)snprintf(text, sizeof text, "%.*g", digits < 17 ? digits : 17, value);
    return strtod(text, NULL);
}

/* Halves the ratio of the two values, because the tolerance is relative. */
static bool step_between(const struct capacity_search *search, double *value)
{
    const double low = fmin(search->holds, search->fails);
    const double high = fmax(search->holds, search->fails);
    if (search->range.whole) {
        *value = floor((low + high) / 2);
        return high - low > 1;
    }
    *value = round_short(sqrt(low) * sqrt(high), search->range.tolerance);
    return high - low > search->range.tolerance * search->holds && *value > low && *value < high;
}

bool capacity_search_next(struct capacity_search *search, double *value)
{
    if (search->count == CAPACITY_POINTS)
        return false;
    if (is_bracketed(search))
        return step_between(search, value);
    if (search->count > 0)
        return step_out(search, value);
    *value = search->range.start;
    return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Returns whether the condition fails on the side on which it should hold. */
static bool is_against(const struct capacity_search *search, double holds, double fails)
{
    return (search->range.direction == CAPACITY_GREATEST && fails < holds) ||
           (search->range.direction == CAPACITY_LEAST && fails > holds);
}

/* The neighbour is the end of the range visited so far that is nearer to the new value. */
static void extend(struct capacity_search *search, double value, bool holds)
{
    const double neighbour = value > search->most ? search->most : search->least;
    const double held = holds ? value : neighbour;
    const double failed = holds ? neighbour : value;
    if (holds != search->first && !is_against(search, held, failed)) {
        search->holds = held;
        search->fails = failed;
    }
    search->upward = value < search->least;
    search->least = fmin(search->least, value);
    search->most = fmax(search->most, value);
}

void capacity_search_take(struct capacity_search *search, double value, bool holds)
{
    if (is_bracketed(search)) {
        *(holds ? &search->holds : &search->fails) = value;
    } else if (search->count > 0) {
        extend(search, value, holds);
    } else {
        search->first = holds;
        search->least = search->most = value;
        search->upward = true;
    }
    search->points[search->count++] = (struct capacity_point){.value = value, .holds = holds};
}

bool capacity_search_refuse(struct capacity_search *search, double value)
{
    if (search->count == 0 || value == search->range.low || value == search->range.high)
        return false;
    bool *open = value > search->most ? &search->high_open : &search->low_open;
    if (is_bracketed(search) || search->range.direction != CAPACITY_EITHER) {
        capacity_search_take(search, value, false);
        search->points[search->count - 1].refused = true;
    }
    *open = false;
    return true;
}

/* ---- Results --------------------------------------------------------------------------------- */

enum capacity_direction capacity_search_direction(const struct capacity_search *search)
{
    if (search->range.direction != CAPACITY_EITHER || !is_bracketed(search))
        return search->range.direction;
    return search->holds < search->fails ? CAPACITY_GREATEST : CAPACITY_LEAST;
}

/* Whether the condition holds at the end of the range in the search's direction. */
static bool holds_at_end(const struct capacity_search *search)
{
    const double end = search->range.direction == CAPACITY_LEAST ? search->least : search->most;
    for (size_t i = 0; i < search->count; i++)
        if (search->points[i].value == end)
            return search->points[i].holds;
    return false;
}

enum capacity_verdict capacity_search_verdict(const struct capacity_search *search)
{
    if (is_bracketed(search))
        return CAPACITY_FOUND;
    return holds_at_end(search) ? CAPACITY_ALL : CAPACITY_NONE;
}

double capacity_search_value(const struct capacity_search *search)
{
    const enum capacity_verdict verdict = capacity_search_verdict(search);
    if (verdict == CAPACITY_FOUND)
        return search->holds;
    if (verdict == CAPACITY_NONE || search->range.direction == CAPACITY_EITHER)
        return NAN;
    return search->range.direction == CAPACITY_LEAST ? search->least : search->most;
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

bool capacity_search_turn(const struct capacity_search *search, double *fails, double *holds)
{
    size_t order[CAPACITY_POINTS];
    const enum capacity_direction direction = capacity_search_direction(search);
    if (direction == CAPACITY_EITHER)
        return false;
    capacity_search_order(search, order);
    for (size_t i = 1; i < search->count; i++) {
        /* `near` is on the side on which the condition should hold. */
        const bool upward = direction == CAPACITY_LEAST;
        const struct capacity_point *near = &search->points[order[upward ? i : i - 1]];
        const struct capacity_point *far = &search->points[order[upward ? i - 1 : i]];
        if (near->holds || !far->holds)
            continue;
        *fails = near->value;
        *holds = far->value;
        return true;
    }
    return false;
}
