#include "sched/paths/pareto.h"

#include <stdlib.h>

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

/* Either of two. O(a + b). */
static struct frontier *frontier_either(struct arena *arena, const struct frontier *a,
                                        const struct frontier *b)
{
    struct frontier *result = frontier_new(arena, a->count + b->count);
    size_t i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool from_a = j == b->count || (i < a->count && a->points[i].time <= b->points[j].time);
        const struct frontier_point *point = from_a ? &a->points[i++] : &b->points[j++];
        frontier_append(result, point->time, point->cost_usd);
    }
    return result;
}

/* Merges in pairs the copies of `longer` shifted by the points low..high-1 of `shorter`. */
static struct frontier *merge_shifted(struct arena *arena, const struct frontier *shorter,
                                      size_t low, size_t high, const struct frontier *longer)
{
    if (high - low == 1) {
        const struct frontier_point *shift = &shorter->points[low];
        struct frontier *copy = frontier_new(arena, longer->count);
        for (size_t i = 0; i < longer->count; i++) {
            copy->points[i].time = longer->points[i].time + shift->time;
            copy->points[i].cost_usd = longer->points[i].cost_usd + shift->cost_usd;
        }
        copy->count = longer->count;
        return copy;
    }
    size_t middle = low + (high - low) / 2;
    struct frontier *left = merge_shifted(arena, shorter, low, middle, longer);
    struct frontier *right = merge_shifted(arena, shorter, middle, high, longer);
    struct frontier *both = frontier_either(arena, left, right);
    arena_release(arena, left);
    arena_release(arena, right);
    return both;
}

struct frontier *frontier_series(struct arena *arena, const struct frontier *a,
                                 const struct frontier *b)
{
    return a->count <= b->count ? merge_shifted(arena, a, 0, a->count, b)
                                : merge_shifted(arena, b, 0, b->count, a);
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
