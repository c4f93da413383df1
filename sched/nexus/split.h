/* Nexus's split of a query's SLO over its stages by dynamic programming (SOSP'19, section 6.2).
 *
 * f(v, t), the fewest GPUs for stage v and all after it within time t, is the minimum over the
 * stage's own budget k <= t of cost(v, k) + the sum of f(w, t - k) over its successors w. Exact for
 * chains and trees, towards the leaves or towards the root, and forests of them [code: trees only].
 * Any other DAG is cut into levels (longest way from a source, in stages), all stages of a level
 * get one budget and the levels are split as a chain [derived]: exact where the parallel branches
 * are single stages, else sound but not the best.
 *
 * The least budgets are then stretched by the SLO over the longest path through each stage
 * [derived]: no path exceeds the SLO, and what the steps leave over is not lost.
 */
#ifndef ESGSIM_SCHED_NEXUS_SPLIT_H
#define ESGSIM_SCHED_NEXUS_SPLIT_H

#include "sim/error.h"
#include "workloads/workload.h"

/* cost[s × (steps + 1) + k]: GPUs of stage s with the budget of k of `steps` equal parts of the
 * SLO, INFINITY where that is too short; not rising with k. Fills share[s], each stage's part of
 * the SLO, and `total` with the least sum of costs, INFINITY where no split serves all stages (then
 * share is not written). `work` counts the sums compared. O(stages × steps²). False with ERROR_RUN
 * when out of memory. */
bool split_budgets(const struct application *application, const double *cost, size_t steps,
                   double *share, double *total, uint64_t *work, struct error *error);

#endif
