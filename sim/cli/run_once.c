#include "sim/cli/run_once.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "results/store/record.h"
#include "sched/common/capacity_bound.h"
#include "sched/common/cost_lower_bound.h"
#include "sched/registry.h"
#include "sim/cli/notices.h"

const struct policy *runner_policy(const struct experiment *experiment, double **values,
                                   struct error *error)
{
    struct error fault = {0};
    const struct policy *policy = policy_find_for(experiment, &fault);
    if (policy == NULL) {
        error_input(error, "%s: policy.name: %s", experiment->path, fault.message);
        return NULL;
    }
    if (!policy_serves(policy, experiment, error))
        return NULL;
    *values = calloc(policy->parameter_count + 1, sizeof **values);
    if (*values == NULL) {
        error_run(error, "out of memory for the parameters of policy %s", policy->name);
        return NULL;
    }
    if (!policy_configure(policy, experiment->policy_settings, experiment->policy_setting_count,
                          experiment->path, *values, error)) {
        free(*values);
        *values = NULL;
        return NULL;
    }
    return policy;
}

/* Sets the overall bounds to the mean over applications, weighted by their numbers of requests. */
static bool runner_fill_bounds(const struct experiment *experiment,
                               struct simulation_result *result, struct error *error)
{
    double *cost = calloc(result->application_count, sizeof *cost);
    if (cost == NULL)
        return error_run(error, "out of memory for the bounds");
    bool ok = cost_lower_bounds(&experiment->workload, cost, error);
    double sum = 0;
    for (size_t a = 0; ok && a < result->application_count; a++) {
        result->applications[a].bound_cost_per_request_usd = cost[a];
        if (result->applications[a].requests > 0)
            sum += cost[a] * (double)result->applications[a].requests;
    }
    if (ok)
        result->overall.bound_cost_per_request_usd =
            result->overall.requests > 0 ? sum / (double)result->overall.requests : NAN;
    free(cost);
    return ok;
}

/* ---- The bound by capacity ------------------------------------------------------------------- */

static bool bound_request(void *context, const struct request_row *row, struct error *error)
{
    return capacity_bound_add(context, row->application, row->arrival_ns, row->slo_ns, row->noise,
                              row->measured, error);
}

/* Runs the simulation and collects its requests in `bound`. */
static bool runner_simulate(const struct experiment *experiment, const struct policy *policy,
                            const double *values, const struct backend *backend,
                            const struct recorder *recorder, const struct progress *progress,
                            struct capacity_bound *bound, struct simulation_result *result,
                            struct error *error)
{
    const struct recorder pair[2] = {recorder != NULL ? *recorder : (struct recorder){0},
                                     {.context = bound, .request = bound_request}};
    const struct recorder both = recorder_join(pair);
    return simulation_replay(experiment, policy, values, backend, &both, progress, result, error);
}

/* Batches of a replay take the times of its backend, of which the bound knows nothing. */
static bool runner_fill_capacity_bound(struct capacity_bound *bound, const struct backend *backend,
                                       struct simulation_result *result, struct error *error)
{
    double hits = NAN;
    if (backend == NULL && !capacity_bound_hits(bound, &hits, error))
        return false;
    result->run.bound_capacity_slo_hit_rate = hits / (double)result->overall.requests;
    return true;
}

bool runner_execute(const struct experiment *experiment, const struct policy *policy,
                    const double *values, const struct recorder *recorder,
                    const struct progress *progress, struct simulation_result *result,
                    struct error *error)
{
    return runner_replay(experiment, policy, values, NULL, recorder, progress, result, error);
}

/* A run without requests, which has no bounds and no notices. */
static bool runner_train(const struct experiment *experiment, const struct policy *policy,
                         const double *values, const struct backend *backend,
                         const struct recorder *recorder, const struct progress *progress,
                         struct simulation_result *result, struct error *error)
{
    if (!simulation_replay(experiment, policy, values, backend, recorder, progress, result, error))
        return false;
    result->run.bound_capacity_slo_hit_rate = NAN;
    if (experiment_inputs_check(experiment, error) &&
        ((result->notices = notices_text(experiment, result)) != NULL ||
         error_run(error, "out of memory for the run's notices")))
        return true;
    simulation_result_clear(result);
    return false;
}

bool runner_replay(const struct experiment *experiment, const struct policy *policy,
                   const double *values, const struct backend *backend,
                   const struct recorder *recorder, const struct progress *progress,
                   struct simulation_result *result, struct error *error)
{
    if (experiment->workload.application_count == 0)
        return runner_train(experiment, policy, values, backend, recorder, progress, result, error);
    struct capacity_bound *bound = capacity_bound_create(&experiment->workload, error);
    if (bound == NULL)
        return false;
    const bool ran = runner_simulate(experiment, policy, values, backend, recorder, progress, bound,
                                     result, error);
    const bool bounded = ran && runner_fill_capacity_bound(bound, backend, result, error);
    capacity_bound_destroy(bound);
    if (ran && !bounded)
        simulation_result_clear(result);
    if (!bounded)
        return false;
    if (result->overall.requests == 0)
        error_input(error,
                    "%s: arrivals: the trace ended within the warm-up of %" PRIu64
                    " requests; lower warmup_requests or take more of the trace",
                    experiment->path, experiment->warmup_requests);
    else if (experiment_inputs_check(experiment, error) &&
             runner_fill_bounds(experiment, result, error) &&
             ((result->notices = notices_text(experiment, result)) != NULL ||
              error_run(error, "out of memory for the run's notices")))
        return true;
    simulation_result_clear(result);
    return false;
}
