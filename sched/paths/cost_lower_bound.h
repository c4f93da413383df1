/* A lower bound on the cost per request of any policy that meets the SLO.
 *
 * The minimum over all configuration paths of an application and all batch sizes. A path counts if
 * its critical path at nominal times is within the SLO. This models one request alone on an idle
 * cluster with warm containers, priced per job as if every batch were full.
 */
#ifndef ESGSIM_SCHED_PATHS_COST_LOWER_BOUND_H
#define ESGSIM_SCHED_PATHS_COST_LOWER_BOUND_H

#include "sim/base/arena.h"
#include "workloads/world/workload.h"

/* Fills cost_usd[a] for every application; NAN if no path meets the SLO. The arena has the
 * scratch. */
void cost_lower_bounds(struct arena *arena, const struct workload *workload, double *cost_usd);

#endif
