/* The cheapest way to meet an SLO: what no policy could undercut.
 *
 * The minimum, over all configuration paths of an application and all batch sizes, of the cost per
 * request among those whose critical path at nominal times is within the SLO — one request alone on
 * an idle, warm cluster, at the price per job of batches that are always full.
 */
#ifndef ESGSIM_SCHED_COMMON_BOUND_H
#define ESGSIM_SCHED_COMMON_BOUND_H

#include "sim/error.h"
#include "workloads/workload.h"

/* Fills cost_usd[a] for every application, NAN where no path meets the SLO. False with ERROR_RUN
 * when out of memory. */
bool bound_costs(const struct workload *workload, double *cost_usd, struct error *error);

#endif
