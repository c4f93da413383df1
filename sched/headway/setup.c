/* Parameters of headway, and what it allocates before a run. */
#include "sched/headway/headway_internal.h"

#include "sched/memory.h"
#include "workloads/gpu_sharing.h"

const struct parameter headway_parameters[PARAMETER_COUNT] = {
    [PARAMETER_LEARNING] = {"learning", 1, 0, 1, "off|on",
                            "learn mean and spread of execution / nominal time, and of the delay"},
    [PARAMETER_RATE] = {"rate", 0.02, 0.0001, 1, NULL, "least weight of a new observation"},
    [PARAMETER_SLOWDOWN] = {"slowdown", 1.05, 1, 10, NULL,
                            "mean before anything is learned, if co-runners interfere"},
    [PARAMETER_DELAY] = {"delay_ms", 1.5, 0, 60000, NULL,
                         "dispatch to execution, before anything is learned"},
    [PARAMETER_AHEAD] = {"ahead", 1, 0, 1, "off|on",
                         "plans count the mean wait in the queues of later stages"},
    [PARAMETER_RESERVE] = {"reserve", 1.5, 0, 10, NULL, "standard deviations that plans reserve"},
    [PARAMETER_RESERVE_LAST] = {"reserve_last", 3, 0, 10, NULL, "the same for last stages"},
    [PARAMETER_MAX_BATCH] = {"max_batch", 32, 1, 65535, NULL, "most jobs per batch"},
    [PARAMETER_OBJECTIVE] = {"objective", PRESSED_AUTO, 0, 2, "auto|cost|work",
                             "what plans minimise; auto: work while much waits, else dollars"},
    [PARAMETER_REBUILD] = {"rebuild_ms", 200, 0, 3600000, NULL, "least time between new tables"},
    [PARAMETER_CHANGE] = {"change", 0.01, 0, 10, NULL, "move of a time that makes them necessary"},
    [PARAMETER_LOST] = {"lost", LOST_DROP, 0, 1, "keep|drop",
                        "requests that even the fastest way would not save"},
    [PARAMETER_LOST_MARGIN] = {"lost_margin", 1, 0, 10, NULL,
                               "standard deviations of luck that a request is granted"},
    [PARAMETER_SHEDDING] = {"shedding", SHEDDING_EFFICIENT, 0, 2, "off|efficient|proportional",
                            "in overload shed the applications with the most work, or all alike"},
    [PARAMETER_LOAD_START] = {"load_start", 0.85, 0, 100, NULL, "limit on the load, at first"},
    [PARAMETER_LOAD_LEAST] = {"load_least", 0.6, 0, 100, NULL, "its least value"},
    [PARAMETER_LOAD_MOST] = {"load_most", 2, 0, 100, NULL, "its greatest value"},
    [PARAMETER_STEP] = {"step", 0.0015, 0, 1, NULL, "what a miss takes from the limit"},
    [PARAMETER_MISSES] = {"misses", 0.05, 0.0001, 0.9, NULL,
                          "misses among admitted requests that keep the limit as it is"},
    [PARAMETER_GATE] = {"gate", 0.82, 0, 100, NULL,
                        "from this limit on, shed only while much work waits; 0: whenever"},
    [PARAMETER_GATE_WORK] = {"gate_work", 0.003, 0, 100, NULL,
                             "much: waiting work / capacity, as a fraction of the mean SLO"},
    [PARAMETER_PRESS_WORK] = {"press_work", 0.02, 0, 100, NULL,
                              "the same, from which on plans spare the cluster, not money"},
    [PARAMETER_ORDER] = {"order", ORDER_LATEST_START, 0, 1, "latest-start|arrival",
                         "which queue is served first"},
    [PARAMETER_RISKY] = {"risky", RISKY_LAST, 0, 1, "last|in-order",
                         "while much waits: requests that can keep no reserve"},
    [PARAMETER_PACE] = {"pace", 1.3, 0, 100, NULL, "latest start: deadline - this × fastest way"},
    [PARAMETER_PATIENCE] = {"patience", 1.1, 1, 1000, NULL,
                            "cost of an alternative / the best plan's, above which jobs wait"},
    [PARAMETER_PLACEMENT] = {"placement", HEADWAY_AUTO, 0, 2, "auto|spread|pack",
                             "most free GPU units, best fit, or as co-runners and load suggest"},
    [PARAMETER_DENSE] = {"dense", 0.7, 0, 1, NULL, "GPU use above which auto packs"},
    [PARAMETER_WINDOW] = {"window_ms", 200, 0, 3600000, NULL, "over which GPU use is averaged"},
    [PARAMETER_CONTAINERS] = {"containers", CONTAINERS_WARM, 0, 1, "warm|any",
                              "warm: jobs wait for an idle container if any will come"},
    [PARAMETER_POOL] = {"pool", POOL_TARGET_AUTO, POOL_TARGET_AUTO, 65535, NULL,
                        "containers kept per function and invoker; -1: what memory holds, 0: none"},
    [PARAMETER_POOL_INTERVAL] = {"pool_ms", 500, 1, 3600000, NULL, "time between looks at them"},
};

void headway_finish(void *state)
{
    suffix_clear(((struct headway *)state)->suffix);
}

static bool kind_interferes(const struct workload *workload, uint32_t kind)
{
    bool interferes = false;
    for (size_t g = 0; g < workload->cluster.group_count; g++)
        for (size_t i = 0; i < workload->cluster.groups[g].gpu_count; i++) {
            const struct gpu_spec *gpu = &workload->cluster.groups[g].gpus[i];
            interferes = interferes || (gpu->kind == kind && gpu_sharing_of(gpu)->interferes);
        }
    return interferes && workload->kinds[kind].interference != NULL;
}

static void risk_begin(struct headway *self, const struct function *function, uint32_t kind,
                       struct risk *risk)
{
    const double mean =
        kind_interferes(self->workload, kind) && self->values[PARAMETER_LEARNING] > 0
            ? self->values[PARAMETER_SLOWDOWN]
            : 1;
    double deviation = function->service == SERVICE_PROFILE ? function->gpus[kind].noise_cv : 0;
    if (function->service == SERVICE_EXPONENTIAL)
        deviation = 1;
    else if (function->service == SERVICE_LOGNORMAL)
        deviation = function->service_cv;
    risk_start(risk, mean, deviation);
}

static void risks_start(struct headway *self)
{
    const size_t kinds = self->workload->kind_count;
    for (size_t f = 0; f < self->workload->function_count; f++)
        for (uint32_t k = 0; k < kinds; k++)
            risk_begin(self, &self->workload->functions[f], k, &self->risks[f * kinds + k]);
    for (uint32_t q = 0; q < self->workload->queue_count; q++)
        self->delay[q] = (double)headway_time(self, PARAMETER_DELAY);
}

/* Each function's part of the mean work of a request at minimum configurations. */
static void parts_start(struct headway *self)
{
    double total = 0;
    for (size_t a = 0; a < self->workload->application_count; a++) {
        const struct application *application = &self->workload->applications[a];
        for (size_t s = 0; s < application->stage_count; s++) {
            const uint32_t f = application->stages[s].function;
            const struct function *function = &self->workload->functions[f];
            const double work = application->weight *
                                function->configurations[function->minimum_configuration].cost_usd;
            self->part[f] += work;
            total += work;
        }
    }
    for (size_t f = 0; total > 0 && f < self->workload->function_count; f++)
        self->part[f] /= total;
}

static void headway_allocate(struct headway *self, struct arena *arena)
{
    const struct workload *workload = self->workload;
    const size_t queues = workload->queue_count;
    const size_t functions = workload->function_count;
    self->risks = arena_allocate(arena, functions * workload->kind_count, sizeof *self->risks);
    self->delay = arena_allocate(arena, queues, sizeof *self->delay);
    self->delays = arena_allocate(arena, queues, sizeof *self->delays);
    self->wait = arena_allocate(arena, queues, sizeof *self->wait);
    self->waits = arena_allocate(arena, queues, sizeof *self->waits);
    self->part = arena_allocate(arena, functions, sizeof *self->part);
    self->container_share = arena_allocate(arena, functions, sizeof *self->container_share);
    self->works = arena_allocate(arena, workload->application_count, sizeof *self->works);
    self->queues = arena_allocate(arena, queues, sizeof *self->queues);
    self->skipped = arena_allocate(arena, queues, sizeof *self->skipped);
    self->left = arena_allocate(arena, self->max_batch, sizeof *self->left);
    self->order = queue_order_create(arena, workload->queue_count);
    self->flights = flights_create(arena, workload, self->max_batch);
}

static bool headway_create_parts(struct headway *self, struct arena *arena, struct error *error)
{
    const double *values = self->values;
    const struct admission_settings admission = {(enum shedding)values[PARAMETER_SHEDDING],
                                                 values[PARAMETER_LOAD_START],
                                                 values[PARAMETER_LOAD_LEAST],
                                                 values[PARAMETER_LOAD_MOST],
                                                 values[PARAMETER_STEP],
                                                 values[PARAMETER_MISSES]};
    const struct pool_settings pool = {
        (enum headway_placement)values[PARAMETER_PLACEMENT], values[PARAMETER_DENSE],
        headway_time(self, PARAMETER_WINDOW), (int)values[PARAMETER_POOL]};
    self->pool = pool_create(arena, self->workload, &pool, self->flights);
    self->admission = admission_create(arena, self->workload, &admission);
    const struct suffix_settings plans = {values[PARAMETER_RESERVE], values[PARAMETER_RESERVE_LAST],
                                          self->max_batch, pool_capacity_units(self->pool),
                                          pool_capacity_vcpus(self->pool)};
    const struct suffix_inputs inputs = {self->risks, self->delay, self->wait,
                                         self->container_share};
    self->suffix = suffix_create(arena, self->workload, &plans, &inputs, error);
    if (self->suffix == NULL)
        return false;
    self->options = arena_allocate(arena, suffix_room(self->suffix), sizeof *self->options);
    return true;
}

bool headway_init(void *state, struct platform *platform, const double *values, struct error *error)
{
    struct headway *self = state;
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        self->values[i] = values[i];
    self->workload = platform_workload(platform);
    self->max_batch = (uint32_t)values[PARAMETER_MAX_BATCH];
    self->timer = SIM_FOREVER;
    headway_allocate(self, platform_arena(platform));
    risks_start(self);
    parts_start(self);
    for (size_t a = 0; a < self->workload->application_count; a++)
        self->mean_slo +=
            self->workload->applications[a].weight * (double)self->workload->applications[a].slo;
    return headway_create_parts(self, platform_arena(platform), error);
}
