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

static void deployment_init(struct fast_gshare *self, struct arena *arena,
                            struct deployment *deployment)
{
    static const uint32_t quotas[] = {20, 40, 60, 80, 100};
    const size_t all = sizeof quotas / sizeof *quotas;
    const bool on = self->parameters->quotas == FAST_GSHARE_ON;
    deployment->looks = arena_allocate(arena, self->look_count, sizeof *deployment->looks);
    backlog_start(&deployment->backlog, arena);
    scaler_points_fill(&deployment->points, arena, self->workload, self->planner,
                       deployment->function, deployment->budget, self->parameters->bound,
                       self->parameters->max_batch, on ? quotas : quotas + all - 1, on ? all : 1,
                       self->parameters->ties);
}

/* The deployment for a function of one application, created if missing. */
static struct deployment *deployment_for(struct fast_gshare *self, uint32_t function, size_t first)
{
    for (size_t d = first; d < self->deployment_count; d++)
        if (self->deployments[d].function == function)
            return &self->deployments[d];
    struct deployment *deployment = &self->deployments[self->deployment_count++];
    *deployment = (struct deployment){.function = function,
                                      .budget = SIM_FOREVER,
                                      .claim = SIM_NONE,
                                      .tried = UINT64_MAX,
                                      .timer = SIM_FOREVER};
    return deployment;
}

static void deployments_init(struct fast_gshare *self, struct arena *arena)
{
    const struct workload *workload = self->workload;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        const size_t first =
            self->parameters->pool == POOL_APPLICATION ? self->deployment_count : 0;
        for (uint32_t s = 0; s < application->stage_count; s++) {
            const uint32_t queue = application->first_queue + s;
            struct deployment *deployment =
                deployment_for(self, application->stages[s].function, first);
            const sim_time_t budget = planner_budget(self->planner, queue, application->slo);
            self->budget[queue] = budget;
            deployment->budget = budget < deployment->budget ? budget : deployment->budget;
            backlog_add(&deployment->backlog, arena, &self->slots[queue],
                        (uint32_t)(deployment - self->deployments), queue);
        }
    }
    for (size_t d = 0; d < self->deployment_count; d++)
        deployment_init(self, arena, &self->deployments[d]);
}

static void tables_init(struct fast_gshare *self, struct arena *arena)
{
    const size_t queues = (size_t)self->workload->queue_count;
    self->deployments = arena_allocate(arena, queues, sizeof *self->deployments);
    self->slots = arena_allocate(arena, queues, sizeof *self->slots);
    self->budget = arena_allocate(arena, queues, sizeof *self->budget);
    self->pods.deployments = self->deployments;
    unique_fifo_init(&self->turns, arena, queues);
}

bool fast_gshare_init(void *state, struct platform *platform, const void *parameters,
                      struct error *error)
{
    struct fast_gshare *self = state;
    const struct fast_gshare_parameters *own = parameters;
    const struct workload *workload = platform_workload(platform);
    struct arena *arena = platform_arena(platform);
    self->workload = workload;
    self->parameters = own;
    self->look_count = (size_t)fmax(ceil(own->window_s / own->period_s - 1e-9), 1);
    const bool elastic = own->elastic == FAST_GSHARE_ON && own->quotas == FAST_GSHARE_ON;
    self->planner = planner_create(arena, workload, own->max_batch, own->split, error);
    if (self->planner == NULL)
        return false;
    pods_init(&self->pods, arena, workload, own->fit, elastic ? own->limit : 0);
    tables_init(self, arena);
    deployments_init(self, arena);
    return true;
}
