/* Nexus's split of a query's SLO over its stages by dynamic programming (SOSP'19, section 6.2).
 *
 * f(v, t) is the fewest GPUs for stage v and all later stages within time t. It is the minimum over
 * the stage's own budget k <= t of cost(v, k) + the sum of f(w, t - k) over its successors w. Exact
 * for chains, for trees directed towards the leaves or the root, and for forests of them [code:
 * trees only]. Any other DAG is cut into levels (longest path from a source, in stages). All stages
 * of a level get one budget, and the levels are split as a chain [derived]. This is exact if the
 * parallel branches are single stages, else sound but not optimal.
 *
 * The minimal budgets are then scaled by the SLO divided by the longest path through each stage
 * [derived]. No path exceeds the SLO, and the remainder from the steps is not lost.
 */
#ifndef ESGSIM_SCHED_NEXUS_SPLIT_H
#define ESGSIM_SCHED_NEXUS_SPLIT_H

#include "sim/base/arena.h"
#include "workloads/world/workload.h"

/* Splits the SLO. cost[s × (steps + 1) + k] is the number of GPUs of stage s with a budget of k of
 * `steps` equal parts of the SLO. It must not increase with k, and is INFINITY if the budget is too
 * short. Fills share[s], each stage's part of the SLO, and `total`, the minimal sum of costs.
 * `total` is INFINITY if no split serves all stages; share is then not written. `work` counts the
 * sums compared. O(stages × steps²). */
void split_budgets(struct arena *arena, const struct application *application, const double *cost,
                   size_t steps, double *share, double *total, uint64_t *work);

#endif
