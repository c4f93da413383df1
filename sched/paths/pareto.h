/* Operations on Pareto frontiers, from which frontier_build composes its result.
 *
 * Every result is a new frontier, one block of the arena. It contains only non-dominated points, in
 * ascending time and strictly descending cost.
 */
#ifndef ESGSIM_SCHED_PATHS_PARETO_H
#define ESGSIM_SCHED_PATHS_PARETO_H

#include "sched/paths/frontier.h"

/* The neutral element: the single point (0, 0). */
struct frontier *frontier_unit(struct arena *arena);
/* The non-dominated configurations of one stage. */
struct frontier *frontier_of_table(struct arena *arena, const struct search_table *table);
/* The frontier of arbitrary points, which are sorted in place. O(n log n). */
struct frontier *frontier_of_points(struct arena *arena, struct frontier_point *points,
                                    size_t count);
/* Series: the Minkowski sum (times add, costs add), by pairwise merging of shifted copies of the
 * longer operand. Dominated points are removed at each merge. At most O(a × b × log min(a, b)). */
struct frontier *frontier_series(struct arena *arena, const struct frontier *a,
                                 const struct frontier *b);
/* Parallel: the later time, the sum of costs. O(a + b). */
struct frontier *frontier_parallel(struct arena *arena, const struct frontier *a,
                                   const struct frontier *b);

#endif
