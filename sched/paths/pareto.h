/* Operations on Pareto frontiers, from which frontier_build composes its result.
 *
 * Every result is a new frontier that the caller frees with frontier_free. It contains only
 * non-dominated points, in ascending time and strictly descending cost. The result is NULL when out
 * of memory or if an operand is NULL, so that a chain of operations needs one check at its end.
 */
#ifndef ESGSIM_SCHED_PATHS_PARETO_H
#define ESGSIM_SCHED_PATHS_PARETO_H

#include "sched/paths/frontier.h"

struct frontier *frontier_new(size_t capacity); /* empty */
void frontier_free(struct frontier *frontier);  /* NULL is allowed */

/* The neutral element: the single point (0, 0). */
struct frontier *frontier_unit(void);
/* The non-dominated configurations of one stage. */
struct frontier *frontier_of_table(const struct search_table *table);
/* The frontier of arbitrary points, which are sorted in place. O(n log n). */
struct frontier *frontier_of_points(struct frontier_point *points, size_t count);
/* Series: the Minkowski sum (times add, costs add), by pairwise merging of shifted copies of the
 * longer operand. Dominated points are removed at each merge. At most O(a × b × log min(a, b)). */
struct frontier *frontier_series(const struct frontier *a, const struct frontier *b);
/* Parallel: the later time, the sum of costs. O(a + b). */
struct frontier *frontier_parallel(const struct frontier *a, const struct frontier *b);

#endif
