#include "sim/platform/bounds.h"

#include <math.h>
#include <stdlib.h>

#include "sched/common/capacity_bound.h"
#include "sched/common/cost_lower_bound.h"
#include "sim/platform/state.h"

bool bounds_open(struct platform *platform)
{
    if (!platform->bounded || platform->backend != NULL ||
        platform->workload->application_count == 0)
        return true;
    platform->bound = capacity_bound_create(platform->workload, platform->error);
    return platform->bound != NULL;
}

void bounds_add(struct platform *platform, const struct request_row *row)
{
    if (!capacity_bound_add(platform->bound, row->application, row->arrival_ns, row->slo_ns,
                            row->noise, row->measured, platform->error))
        platform->failed = true;
}

/* Sets the overall bound to the mean over applications, weighted by their numbers of requests. */
static bool cost_bounds_fill(const struct workload *workload, struct simulation_result *result,
                             struct error *error)
{
    double *cost = calloc(result->application_count, sizeof *cost);
    if (cost == NULL)
        return error_run(error, "out of memory for the bounds");
    const bool ok = cost_lower_bounds(workload, cost, error);
    double sum = 0;
    for (size_t a = 0; ok && a < result->application_count; a++) {
        result->applications[a].bound_cost_per_request_usd = cost[a];
        if (result->applications[a].requests > 0)
            sum += cost[a] * (double)result->applications[a].requests;
    }
    if (ok)
        result->overall.bound_cost_per_request_usd = sum / (double)result->overall.requests;
    free(cost);
    return ok;
}

bool bounds_close(struct platform *platform, struct simulation_result *result)
{
    double hits = NAN;
    if (!platform->bounded || result->overall.requests == 0)
        return true;
    if (platform->bound != NULL && !capacity_bound_hits(platform->bound, &hits, platform->error))
        return false;
    result->run.bound_capacity_slo_hit_rate = hits / (double)result->overall.requests;
    return cost_bounds_fill(platform->workload, result, platform->error);
}
