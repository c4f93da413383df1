#include "sched/paths/pareto.h"

#include <stdlib.h>

struct frontier *frontier_new(size_t capacity)
{
    struct frontier *frontier = malloc(sizeof *frontier);
    if (frontier == NULL)
        return NULL;
    frontier->count = 0;
    frontier->points = malloc((capacity > 0 ? capacity : 1) * sizeof *frontier->points);
    if (frontier->points == NULL) {
        free(frontier);
        return NULL;
    }
    return frontier;
}

void frontier_free(struct frontier *frontier)
{
    if (frontier == NULL)
        return;
    free(frontier->points);
    free(frontier);
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

struct frontier *frontier_unit(void)
{
    struct frontier *unit = frontier_new(1);
    if (unit != NULL)
        frontier_append(unit, 0, 0.0);
    return unit;
}

struct frontier *frontier_of_table(const struct search_table *table)
{
    struct frontier *frontier = frontier_new(table->count);
    if (frontier == NULL)
        return NULL;
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

struct frontier *frontier_of_points(struct frontier_point *points, size_t count)
{
    struct frontier *frontier = frontier_new(count);
    if (frontier == NULL)
        return NULL;
    qsort(points, count, sizeof *points, point_compare);
    for (size_t i = 0; i < count; i++)
        frontier_append(frontier, points[i].time, points[i].cost_usd);
    return frontier;
}

/* Either of two. O(a + b). */
static struct frontier *frontier_either(const struct frontier *a, const struct frontier *b)
{
    if (a == NULL || b == NULL)
        return NULL;
    struct frontier *result = frontier_new(a->count + b->count);
    if (result == NULL)
        return NULL;
    size_t i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool from_a = j == b->count || (i < a->count && a->points[i].time <= b->points[j].time);
        const struct frontier_point *point = from_a ? &a->points[i++] : &b->points[j++];
        frontier_append(result, point->time, point->cost_usd);
    }
    return result;
}

/* Merges in pairs the copies of `longer` shifted by the points low..high-1 of `shorter`. */
static struct frontier *merge_shifted(const struct frontier *shorter, size_t low, size_t high,
                                      const struct frontier *longer)
{
    if (high - low == 1) {
        const struct frontier_point *shift = &shorter->points[low];
        struct frontier *copy = frontier_new(longer->count);
        if (copy == NULL)
            return NULL;
        for (size_t i = 0; i < longer->count; i++) {
            copy->points[i].time = longer->points[i].time + shift->time;
            copy->points[i].cost_usd = longer->points[i].cost_usd + shift->cost_usd;
        }
        copy->count = longer->count;
        return copy;
    }
    size_t middle = low + (high - low) / 2;
    struct frontier *left = merge_shifted(shorter, low, middle, longer);
    struct frontier *right = left != NULL ? merge_shifted(shorter, middle, high, longer) : NULL;
    struct frontier *both = frontier_either(left, right);
    frontier_free(left);
    frontier_free(right);
    return both;
}

struct frontier *frontier_series(const struct frontier *a, const struct frontier *b)
{
    if (a == NULL || b == NULL)
        return NULL;
    return a->count <= b->count ? merge_shifted(a, 0, a->count, b)
                                : merge_shifted(b, 0, b->count, a);
}

struct frontier *frontier_parallel(const struct frontier *a, const struct frontier *b)
{
    if (a == NULL || b == NULL)
        return NULL;
    struct frontier *result = frontier_new(a->count + b->count);
    if (result == NULL)
        return NULL;
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
