/* FaST-GShare's parameters, and the set-up of its state. */
#include "sched/fast_gshare/fast_gshare_internal.h"

#include <math.h>
#include <string.h>

#include "sched/memory.h"

enum { POOL_FUNCTION, POOL_APPLICATION };

const struct parameter fast_gshare_parameters[FAST_GSHARE_PARAMETER_COUNT] = {
    [FAST_GSHARE_PERIOD] = {"period_s", 10, 0.1, 3600, NULL,
                            "period of the scaler (code; an older revision: 2)"},
    [FAST_GSHARE_WINDOW] = {"window_s", 10, 0.1, 3600, NULL,
                            "window over which the rate is measured, in whole periods (code)"},
    [FAST_GSHARE_HYSTERESIS] = {"hysteresis", 0.2, 0, 1, NULL,
                                "relative difference from the capacity without scaling (code)"},
    [FAST_GSHARE_QUOTAS] = {"quotas", FAST_GSHARE_ON, 0, 1, "on|off",
                            "pods get 20, 40 … 100 % of the time, or only 100 (code)"},
    [FAST_GSHARE_TIES] = {"ties", SCALER_TIES_AREA, 0, 1, "throughput|area",
                          "of quotas of equal RPR: the largest, or the smallest (derived)"},
    [FAST_GSHARE_ELASTIC] = {"elastic", FAST_GSHARE_ON, 0, 1, "on|off",
                             "lend unrequested time to working pods (code)"},
    [FAST_GSHARE_LIMIT] = {"limit", 100, 20, 100, NULL,
                           "time is lent up to this percentage (code)"},
    [FAST_GSHARE_FIT] = {"fit", RECTANGLE_BEST_AREA, 0, 1, "area|short-side",
                         "choice of the free rectangle for a pod (recall: best by area)"},
    [FAST_GSHARE_POOL] =
        {"pool", POOL_FUNCTION, 0, 1, "function|application",
         "pods are shared by all users of a function, or per application (derived)"},
    [FAST_GSHARE_SPLIT] = {"split", PLANNER_PROPORTIONAL, 0, 2, "proportional|equal|dominator",
                           "a stage's share of the SLO: by mean latency (derived)"},
    [FAST_GSHARE_BOUND] = {"bound", 1, 0.05, 1, NULL,
                           "fraction of a stage's budget for execution; half in batches (derived)"},
    [FAST_GSHARE_MAX_BATCH] = {"max_batch", 65535, 1, 65535, NULL,
                               "most jobs per batch, chosen by RPR; 1: the paper's pods (derived)"},
    [FAST_GSHARE_MIN_PODS] = {"min_pods", 1, 0, 1000, NULL,
                              "pods kept after a function's first request (derived)"},
    [FAST_GSHARE_BACKLOG] = {"backlog", FAST_GSHARE_ON, 0, 1, "on|off",
                             "waiting jobs count as rate (derived)"},
    [FAST_GSHARE_FILL] =
        {"fill", FAST_GSHARE_FILL_LAUNCH, 0, 1, "launch|wait",
         "a batch that is not full: launch at once, or when it must start (derived)"},
    [FAST_GSHARE_RESIDUAL] =
        {"residual", FAST_GSHARE_RESIDUAL_COVER, 0, 1, "cover|best",
         "pod for the residual rate: smallest (recall), or most efficient (code)"},
    [FAST_GSHARE_HEADROOM] = {"headroom", 0, 0, 10, NULL,
                              "fraction added to the rate; the paper has none (derived)"},
};

static void deployment_init(struct fast_gshare *self, struct deployment *deployment)
{
    static const uint32_t quotas[] = {20, 40, 60, 80, 100};
    const size_t all = sizeof quotas / sizeof *quotas;
    const bool on = self->values[FAST_GSHARE_QUOTAS] == FAST_GSHARE_ON;
    deployment->claim = SIM_NONE;
    deployment->tried = UINT64_MAX;
    deployment->timer = SIM_FOREVER;
    scaler_points_fill(
        &deployment->points, self->fleet.arena, self->workload, self->planner,
        deployment->base.function, deployment->base.budget, self->values[FAST_GSHARE_BOUND],
        (uint32_t)self->values[FAST_GSHARE_MAX_BATCH], on ? quotas : quotas + all - 1, on ? all : 1,
        (enum scaler_ties)self->values[FAST_GSHARE_TIES]);
}

static void deployments_init(struct fast_gshare *self)
{
    const struct workload *workload = self->workload;
    const bool shared = self->values[FAST_GSHARE_POOL] == POOL_FUNCTION;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        const uint32_t first = shared ? 0 : self->fleet.deployment_count;
        for (uint32_t s = 0; s < application->stage_count; s++)
            fleet_add_queue(&self->fleet, self->planner, application->first_queue + s, first);
    }
    fleet_start(&self->fleet);
    for (uint32_t d = 0; d < self->fleet.deployment_count; d++)
        deployment_init(self, &self->deployments[d]);
}

static bool whole(const double *values, enum fast_gshare_parameter index, struct error *error)
{
    return values[index] == floor(values[index]) ||
           error_input(error, "policy.params.%s is %g; give a whole number",
                       fast_gshare_parameters[index].name, values[index]);
}

bool fast_gshare_init(void *state, struct platform *platform, const double *values,
                      struct error *error)
{
    struct fast_gshare *self = state;
    const struct workload *workload = platform_workload(platform);
    if (!whole(values, FAST_GSHARE_MAX_BATCH, error) ||
        !whole(values, FAST_GSHARE_MIN_PODS, error) || !whole(values, FAST_GSHARE_LIMIT, error))
        return false;
    self->workload = workload;
    memcpy(self->values, values, sizeof self->values);
    const bool elastic = values[FAST_GSHARE_ELASTIC] == FAST_GSHARE_ON &&
                         values[FAST_GSHARE_QUOTAS] == FAST_GSHARE_ON;
    self->planner =
        planner_create(platform_arena(platform), workload, (uint32_t)values[FAST_GSHARE_MAX_BATCH],
                       (enum planner_split)values[FAST_GSHARE_SPLIT], error);
    if (self->planner == NULL)
        return false;
    self->deployments =
        platform_allocate(platform, workload->queue_count, sizeof *self->deployments);
    fleet_open(
        &self->fleet, platform, self->deployments, sizeof *self->deployments,
        values[FAST_GSHARE_PERIOD],
        (size_t)fmax(ceil(values[FAST_GSHARE_WINDOW] / values[FAST_GSHARE_PERIOD] - 1e-9), 1));
    pods_init(&self->pods, &self->fleet, self->deployments,
              (enum rectangle_rule)values[FAST_GSHARE_FIT],
              elastic ? (uint32_t)values[FAST_GSHARE_LIMIT] : 0);
    deployments_init(self);
    return true;
}
