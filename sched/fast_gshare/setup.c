/* FaST-GShare's parameters, and the set-up of its state. */
#include "sched/fast_gshare/fast_gshare_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void fast_gshare_finish(void *state)
{
    struct fast_gshare *self = state;
    for (size_t d = 0; self->deployments != NULL && d < self->deployment_count; d++) {
        struct deployment *deployment = &self->deployments[d];
        scaler_points_clear(&deployment->points);
        backlog_clear(&deployment->backlog);
        free(deployment->pods);
        free(deployment->looks);
        queue_order_destroy(deployment->idle);
    }
    free(self->deployments);
    free(self->slots);
    free(self->budget);
    unique_fifo_clear(&self->turns);
    pods_clear(&self->pods);
    planner_destroy(self->planner);
    *self = (struct fast_gshare){0};
}

static bool deployment_init(struct fast_gshare *self, struct deployment *deployment,
                            struct error *error)
{
    static const uint32_t quotas[] = {20, 40, 60, 80, 100};
    const size_t all = sizeof quotas / sizeof *quotas;
    const bool on = self->values[FAST_GSHARE_QUOTAS] == FAST_GSHARE_ON;
    deployment->looks = calloc(self->look_count, sizeof *deployment->looks);
    if (deployment->looks == NULL || !backlog_start(&deployment->backlog))
        return error_run(error, "policy fast-gshare: out of memory");
    return scaler_points_fill(
        &deployment->points, self->workload, self->planner, deployment->function,
        deployment->budget, self->values[FAST_GSHARE_BOUND],
        (uint32_t)self->values[FAST_GSHARE_MAX_BATCH], on ? quotas : quotas + all - 1, on ? all : 1,
        (enum scaler_ties)self->values[FAST_GSHARE_TIES], error);
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

static bool deployments_init(struct fast_gshare *self, struct error *error)
{
    const struct workload *workload = self->workload;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        const size_t first =
            self->values[FAST_GSHARE_POOL] == POOL_APPLICATION ? self->deployment_count : 0;
        for (uint32_t s = 0; s < application->stage_count; s++) {
            const uint32_t queue = application->first_queue + s;
            struct deployment *deployment =
                deployment_for(self, application->stages[s].function, first);
            const sim_time_t budget = planner_budget(self->planner, queue, application->slo);
            self->budget[queue] = budget;
            deployment->budget = budget < deployment->budget ? budget : deployment->budget;
            if (!backlog_add(&deployment->backlog, &self->slots[queue],
                             (uint32_t)(deployment - self->deployments), queue))
                return error_run(error, "policy fast-gshare: out of memory");
        }
    }
    for (size_t d = 0; d < self->deployment_count; d++)
        if (!deployment_init(self, &self->deployments[d], error))
            return false;
    return true;
}

static bool whole(const double *values, enum fast_gshare_parameter index, struct error *error)
{
    return values[index] == floor(values[index]) ||
           error_input(error, "policy.params.%s is %g; give a whole number",
                       fast_gshare_parameters[index].name, values[index]);
}

static bool tables_init(struct fast_gshare *self, struct error *error)
{
    const size_t queues = (size_t)self->workload->queue_count + 1;
    self->deployments = calloc(queues, sizeof *self->deployments);
    self->slots = calloc(queues, sizeof *self->slots);
    self->budget = calloc(queues, sizeof *self->budget);
    self->pods.deployments = self->deployments;
    return (self->deployments != NULL && self->slots != NULL && self->budget != NULL &&
            unique_fifo_init(&self->turns, queues)) ||
           error_run(error, "policy fast-gshare: out of memory");
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
    self->look_count =
        (size_t)fmax(ceil(values[FAST_GSHARE_WINDOW] / values[FAST_GSHARE_PERIOD] - 1e-9), 1);
    const bool elastic = values[FAST_GSHARE_ELASTIC] == FAST_GSHARE_ON &&
                         values[FAST_GSHARE_QUOTAS] == FAST_GSHARE_ON;
    self->planner = planner_create(workload, (uint32_t)values[FAST_GSHARE_MAX_BATCH],
                                   (enum planner_split)values[FAST_GSHARE_SPLIT], error);
    bool done = self->planner != NULL;
    done = done && pods_init(&self->pods, workload, (enum rectangle_rule)values[FAST_GSHARE_FIT],
                             elastic ? (uint32_t)values[FAST_GSHARE_LIMIT] : 0, error);
    done = done && tables_init(self, error) && deployments_init(self, error);
    if (!done)
        fast_gshare_finish(self);
    return done;
}
