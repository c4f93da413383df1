#include "sched/paths/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct frontier *frontier_new(struct arena *arena, size_t capacity)
{
    struct frontier *frontier = NULL;
    frontier = arena_allocate(arena, 1, sizeof *frontier + capacity * sizeof *frontier->points);
    return frontier;
}

/* Add a point of time not below the last one's where it is not dominated; where it dominates the
 * last (same time, less cost) it takes its place. The caller has seen to the capacity. */
static void frontier_append(struct frontier *frontier, sim_time_t time, double cost_usd)
{
    struct frontier_point *points = frontier->points;
    size_t count = frontier->count;
    if (count > 0 && cost_usd >= points[count - 1].cost_usd)
        return;
    if (count > 0 && time == points[count - 1].time)
        count--;
    points[count].time = time;
    points[count].cost_usd = cost_usd;
    frontier->count = count + 1;
}

struct frontier *frontier_unit(struct arena *arena)
{
    struct frontier *unit = frontier_new(arena, 1);
    frontier_append(unit, 0, 0.0);
    return unit;
}

struct frontier *frontier_of_table(struct arena *arena, const struct search_table *table)
{
    struct frontier *frontier = frontier_new(arena, table->count);
    for (size_t i = 0; i < table->count; i++)
        frontier_append(frontier, table->time[i], table->cost[i]);
    return frontier;
}

static int point_compare(const void *left, const void *right)
{
    const struct frontier_point *a = left;
    const struct frontier_point *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->cost_usd > b->cost_usd) - (a->cost_usd < b->cost_usd);
}

struct frontier *frontier_of_points(struct arena *arena, struct frontier_point *points,
                                    size_t count)
{
    struct frontier *frontier = frontier_new(arena, count);
    qsort(points, count, sizeof *points, point_compare);
    for (size_t i = 0; i < count; i++)
        frontier_append(frontier, points[i].time, points[i].cost_usd);
    return frontier;
}

/* Either of two, to `out`, which has room for both; returns the count. O(a + b). Which point comes
 * first and whether it is dominated no processor foresees, so neither is a branch. */
static size_t frontier_either(const struct frontier_point *a, const struct frontier_point *end_a,
                              const struct frontier_point *b, const struct frontier_point *end_b,
                              struct frontier_point *out)
{
    struct frontier_point last = {INT64_MIN, (double)INFINITY};
    size_t count = 0;
    while (a < end_a && b < end_b) {
        const double costs[2] = {b->cost_usd, a->cost_usd};
        const size_t from_a = a->time <= b->time;
        const sim_time_t time = a->time < b->time ? a->time : b->time;
        const double cost_usd = costs[from_a];
        a += from_a;
        b += 1 - from_a;
        const size_t better = cost_usd < last.cost_usd;
        count -= better & (size_t)(time == last.time);
        out[count] =
            (struct frontier_point){time, cost_usd}; /* the next one's place if not better */
        count += better;
        last.time = better ? time : last.time;
        last.cost_usd = better ? cost_usd : last.cost_usd;
    }
    const struct frontier_point *rest = a < end_a ? a : b;
    const struct frontier_point *const end = a < end_a ? end_a : end_b;
    while (rest < end && rest->cost_usd >= last.cost_usd)
        rest++;
    if (rest < end && rest->time == last.time)
        count--;
    for (; rest < end; rest++)
        out[count++] = *rest;
    return count;
}

/* Merges in pairs the copies of `longer` shifted by `count` points of `shorter`, to `out`; returns
 * the count. `spare` has as much room. */
static size_t merge_shifted(const struct frontier_point *shorter, size_t count,
                            const struct frontier *longer, struct frontier_point *out,
                            struct frontier_point *spare)
{
    const size_t half = count / 2, room = half * longer->count;
    if (count == 1) {
        for (size_t i = 0; i < longer->count; i++) {
            out[i].time = longer->points[i].time + shorter->time;
            out[i].cost_usd = longer->points[i].cost_usd + shorter->cost_usd;
        }
        return longer->count;
    }
    const size_t first = merge_shifted(shorter, half, longer, spare, out);
    const size_t rest =
        merge_shifted(shorter + half, count - half, longer, spare + room, out + room);
    return frontier_either(spare, spare + first, spare + room, spare + room + rest, out);
}

struct frontier *frontier_series(struct arena *arena, const struct frontier *a,
                                 const struct frontier *b)
{
    const struct frontier *shorter = a->count <= b->count ? a : b;
    const struct frontier *longer = shorter == a ? b : a;
    const size_t room = a->count * b->count;
    struct frontier_point *out = arena_allocate(arena, 2 * room, sizeof *out);
    const size_t count = merge_shifted(shorter->points, shorter->count, longer, out, out + room);
    struct frontier *series = frontier_new(arena, count);
    memcpy(series->points, out, count * sizeof *out);
    series->count = count;
    arena_release(arena, out);
    return series;
}

struct frontier *frontier_parallel(struct arena *arena, const struct frontier *a,
                                   const struct frontier *b)
{
    struct frontier *result = frontier_new(arena, a->count + b->count);
    size_t i = 0, j = 0; /* the slowest points used so far */
    for (;;) {
        sim_time_t time_a = a->points[i].time;
        sim_time_t time_b = b->points[j].time;
        frontier_append(result, time_a > time_b ? time_a : time_b,
                        a->points[i].cost_usd + b->points[j].cost_usd);
        /* The next result is at the next later time of the two; both advance if the times are
         * equal. */
        bool more_a = i + 1 < a->count, more_b = j + 1 < b->count;
        if (!more_a && !more_b)
            break;
        if (more_a && (!more_b || a->points[i + 1].time <= b->points[j + 1].time))
            i++;
        else
            j++;
    }
    return result;
}
