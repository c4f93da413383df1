/* FaST-GShare's parameters, and the set-up of its state. */
#include "sched/fast_gshare/fast_gshare_internal.h"

#include <math.h>

#include "sched/memory.h"

const struct key fast_gshare_parameters[] = {
    PARAMETER_NUMBER(fast_gshare, period_s, 0.1, 3600, 10,
                     "period of the scaler (code; an older revision: 2)"),
    PARAMETER_NUMBER(fast_gshare, window_s, 0.1, 3600, 10,
                     "window over which the rate is measured, in whole periods (code)"),
    PARAMETER_NUMBER(fast_gshare, hysteresis, 0, 1, 0.2,
                     "relative difference from the capacity without scaling (code)"),
    PARAMETER_WORD(fast_gshare, quotas, WORDS("on", "off"), FAST_GSHARE_ON,
                   "pods get 20, 40 … 100 % of the time, or only 100 (code)"),
    PARAMETER_WORD(fast_gshare, ties, WORDS("throughput", "area"), SCALER_TIES_AREA,
                   "of quotas of equal RPR: the largest, or the smallest (derived)"),
    PARAMETER_WORD(fast_gshare, elastic, WORDS("on", "off"), FAST_GSHARE_ON,
                   "lend unrequested time to working pods (code)"),
    PARAMETER_WHOLE(fast_gshare, limit, 20, 100, 100, "time is lent up to this percentage (code)"),
    PARAMETER_WORD(fast_gshare, fit, WORDS("area", "short-side"), RECTANGLE_BEST_AREA,
                   "choice of the free rectangle for a pod (recall: best by area)"),
    PARAMETER_WORD(fast_gshare, pool, WORDS("function", "application"), POOL_FUNCTION,
                   "pods are shared by all users of a function, or per application (derived)"),
    PARAMETER_WORD(fast_gshare, split, SPLIT_WORDS, PLANNER_PROPORTIONAL,
                   "a stage's share of the SLO: by mean latency (derived)"),
    PARAMETER_NUMBER(fast_gshare, bound, 0.05, 1, 1,
                     "fraction of a stage's budget for execution; half in batches (derived)"),
    PARAMETER_WHOLE(fast_gshare, max_batch, 1, 65535, 65535,
                    "most jobs per batch, chosen by RPR; 1: the paper's pods (derived)"),
    PARAMETER_WHOLE(fast_gshare, min_pods, 0, 1000, 1,
                    "pods kept after a function's first request (derived)"),
    PARAMETER_WORD(fast_gshare, backlog, WORDS("on", "off"), FAST_GSHARE_ON,
                   "waiting jobs count as rate (derived)"),
    PARAMETER_WORD(fast_gshare, fill, WORDS("launch", "wait"), FAST_GSHARE_FILL_LAUNCH,
                   "a batch that is not full: launch at once, or when it must start (derived)"),
    PARAMETER_WORD(fast_gshare, residual, WORDS("cover", "best"), FAST_GSHARE_RESIDUAL_COVER,
                   "pod for the residual rate: smallest (recall), or most efficient (code)"),
    PARAMETER_NUMBER(fast_gshare, headroom, 0, 10, 0,
                     "fraction added to the rate; the paper has none (derived)"),
    KEY_END,
};

static void deployment_init(struct fast_gshare *self, struct deployment *deployment)
{
    static const uint32_t quotas[] = {20, 40, 60, 80, 100};
    const size_t all = sizeof quotas / sizeof *quotas;
    const bool on = self->parameters->quotas == FAST_GSHARE_ON;
    deployment->claim = SIM_NONE;
    deployment->tried = UINT64_MAX;
    deployment->timer = SIM_FOREVER;
    scaler_points_fill(&deployment->points, self->fleet.arena, self->workload, self->planner,
                       deployment->base.function, deployment->base.budget, self->parameters->bound,
                       self->parameters->max_batch, on ? quotas : quotas + all - 1, on ? all : 1,
                       self->parameters->ties);
}

static void deployments_init(struct fast_gshare *self)
{
    const struct workload *workload = self->workload;
    const bool shared = self->parameters->pool == POOL_FUNCTION;
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

bool fast_gshare_init(void *state, struct platform *platform, const void *parameters,
                      struct error *error)
{
    struct fast_gshare *self = state;
    const struct fast_gshare_parameters *own = parameters;
    const struct workload *workload = platform_workload(platform);
    const bool elastic = own->elastic == FAST_GSHARE_ON && own->quotas == FAST_GSHARE_ON;
    self->workload = workload;
    self->parameters = own;
    self->planner =
        planner_create(platform_arena(platform), workload, own->max_batch, own->split, error);
    if (self->planner == NULL)
        return false;
    self->deployments = fleet_open(&self->fleet, platform, sizeof *self->deployments, own->period_s,
                                   (size_t)fmax(ceil(own->window_s / own->period_s - 1e-9), 1));
    pods_init(&self->pods, &self->fleet, self->deployments, own->fit, elastic ? own->limit : 0);
    deployments_init(self);
    return true;
}
