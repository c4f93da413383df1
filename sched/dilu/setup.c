/* Dilu's parameters, and the set-up of its state. */
#include "sched/dilu/dilu_internal.h"

#include <math.h>
#include <string.h>

#include "sched/common/kinds.h"
#include "sched/memory.h"

enum { COUNTED_NOMINAL, COUNTED_GRID };

const struct parameter dilu_parameters[DILU_PARAMETER_COUNT] = {
    [DILU_BOUND] = {"bound", 0.5, 0.05, 1, NULL,
                    "fraction of a stage's budget for execution, in the profile search (derived)"},
    [DILU_DROP] = {"te_drop", 0.2, 0, 1e6, NULL,
                   "loss of jobs/s per % of GPU at which the profile search stops (code)"},
    [DILU_LIMIT] = {"limit", 1.5, 1, 100, NULL,
                    "limit of an instance as a multiple of its request (code: its simulation)"},
    [DILU_VCPUS] = {"vcpus", 0, 0, 1024, NULL,
                    "vCPUs of an instance; 0: in proportion to its request (derived; code: 4)"},
    [DILU_SPLIT] = {"split", PLANNER_PROPORTIONAL, 0, 2, "proportional|equal|dominator",
                    "a stage's share of the SLO: by mean latency (derived)"},
    [DILU_OMEGA] = {"omega", 1, 0.01, 1, NULL, "largest sum of requests on a GPU (code)"},
    [DILU_GAMMA] = {"gamma", 1.5, 0.01, 100, NULL, "largest sum of limits on a GPU (code)"},
    [DILU_ALPHA] = {"alpha", 0.6, 0, 1, NULL,
                    "weight of shares in the score; memory has 1 - alpha (code)"},
    [DILU_COUNTED] =
        {"counted", COUNTED_NOMINAL, 0, 1, "nominal|grid",
         "limit counted for gamma: factor × request, or the next share of the profile (derived)"},
    [DILU_WINDOW] = {"window", 40, 1, 3600, NULL, "samples, at most (code)"},
    [DILU_OUT] = {"out", 20, 1, 3600, NULL, "samples above capacity that add an instance (code)"},
    [DILU_IN] = {"in", 30, 1, 3600, NULL,
                 "samples below the capacity without an instance that remove it (code)"},
    [DILU_FIRST] = {"first", 1, 1, 1000, NULL,
                    "instances made at a function's first request (derived)"},
    [DILU_VERTICAL] = {"vertical", DILU_ON, 0, 1, "on|off",
                       "an instance that works alone gets its limit, or never (code: on)"},
    [DILU_ROUTING] = {"routing", DILU_ROUTING_IDLE, 0, 1, "idle|arrival",
                      "jobs wait for an idle instance (derived), or are routed on arrival (code)"},
    [DILU_BACKLOG] = {"backlog", DILU_ON, 0, 1, "on|off",
                      "waiting jobs count as rate (derived; code: off)"},
    [DILU_SAMPLE] = {"sample_s", 1, 0.001, 3600, NULL, "between samples (code)"},
    [DILU_ACTIVE] = {"active_ms", 50, 0, 60000, NULL,
                     "time after a batch for which an instance counts as active (code)"},
    [DILU_SCHEME] = {"scheme", DILU_WHOLE, 0, 3, "dilu|infless-l|infless-r|exclusive",
                     "request and limit; or the baselines: limit, request or whole GPUs only "
                     "(code)"},
    [DILU_TRAINING_VCPUS] = {"training_vcpus", 4, 0, 1024, NULL,
                             "vCPUs of a training per GPU (code: 4 cores pinned)"},
    [DILU_TRAINING_SPEED] = {"training_speed", 0.98, 0.01, 1, NULL,
                             "part of its full speed that a training has at its request, where its "
                             "model does not give one (code)"},
};

/* Multiple of the request that is the limit on GPUs of the kind. */
static double limit_factor(const struct dilu *self, uint32_t kind)
{
    const enum dilu_scheme scheme = (enum dilu_scheme)self->values[DILU_SCHEME];
    if (scheme == DILU_EXCLUSIVE)
        return dilu_parameters[DILU_LIMIT].high;
    if (scheme == DILU_INFLESS_L)
        return self->values[DILU_LIMIT];
    const bool vertical = scheme == DILU_WHOLE && self->values[DILU_VERTICAL] == DILU_ON &&
                          kinds_divisible(self->workload, kind);
    return vertical ? self->values[DILU_LIMIT] : 1;
}

/* For the baselines that give an instance its limit at all times. */
static void limit_to_request(const struct dilu *self, struct arena *arena, uint32_t function,
                             struct dilu_profile *profile)
{
    const enum dilu_scheme scheme = (enum dilu_scheme)self->values[DILU_SCHEME];
    if (scheme != DILU_INFLESS_L && scheme != DILU_EXCLUSIVE)
        return;
    const uint32_t limit = profile->levels[profile->level_count - 1].configuration;
    dilu_profile_single(profile, arena, self->workload, self->planner, function, limit, 1);
}

/* Throughput per price of the share that the request holds. */
static double worth_of(const struct workload *workload, const struct dilu_profile *profile)
{
    const uint32_t share = profile->levels[0].share;
    return share > 0 ? profile->throughput / (share * kinds_worth(workload, profile->kind)) : 0;
}

/* Feasible profiles first, by throughput per price; the others by time [derived]. */
static bool profile_better(const struct workload *workload, const struct dilu_profile *a,
                           const struct dilu_profile *b)
{
    if (a->feasible != b->feasible)
        return a->feasible;
    return a->feasible ? worth_of(workload, a) > worth_of(workload, b)
                       : a->levels[0].time < b->levels[0].time;
}

/* Adds the profiles for one kind of GPU, in order. */
static void profiles_add(struct dilu *self, struct arena *arena, struct dilu_deployment *deployment,
                         uint32_t kind, uint32_t smallest)
{
    const bool whole = (enum dilu_scheme)self->values[DILU_SCHEME] == DILU_WHOLE;
    const struct dilu_profile_rule rule = {
        .bound = (sim_time_t)(self->values[DILU_BOUND] * (double)deployment->base.budget),
        .drop = self->values[DILU_DROP],
        .factor = limit_factor(self, kind),
        .vcpus = (uint32_t)self->values[DILU_VCPUS],
        .kind = kind};
    uint32_t place = deployment->profile_count++;
    dilu_profile_fill(&deployment->profiles[place], arena, self->workload, self->planner,
                      deployment->base.function, &rule);
    limit_to_request(self, arena, deployment->base.function, &deployment->profiles[place]);
    dilu_profile_single(&deployment->smallest[place], arena, self->workload, self->planner,
                        deployment->base.function, smallest, whole ? rule.factor : 1);
    deployment->smallest[place].makeshift = true;
    const struct dilu_profile own = deployment->profiles[place];
    const struct dilu_profile least = deployment->smallest[place];
    for (; place > 0 && profile_better(self->workload, &own, &deployment->profiles[place - 1]);
         place--) {
        deployment->profiles[place] = deployment->profiles[place - 1];
        deployment->smallest[place] = deployment->smallest[place - 1];
    }
    deployment->profiles[place] = own;
    deployment->smallest[place] = least;
}

/* True if the function can run on GPUs of the kind, or of any (SIM_NONE). */
static bool uses_gpu(const struct dilu *self, uint32_t function, uint32_t kind)
{
    const struct function *spec = &self->workload->functions[function];
    bool uses = false;
    for (uint32_t i = 0; i < spec->configuration_count && !uses; i++)
        uses = spec->configurations[i].vgpu > 0 &&
               (kind == SIM_NONE || spec->configurations[i].kind == kind) &&
               planner_runs(self->planner, function, i);
    return uses;
}

static void deployment_init(struct dilu *self, struct arena *arena,
                            struct dilu_deployment *deployment)
{
    const size_t kinds = self->workload->kind_count;
    const bool gpu = uses_gpu(self, deployment->base.function, SIM_NONE);
    deployment->profiles = arena_allocate(arena, kinds, sizeof *deployment->profiles);
    deployment->smallest = arena_allocate(arena, kinds, sizeof *deployment->smallest);
    dilu_window_init(&deployment->window, arena, self->lazy.window);
    for (uint32_t k = 0; k < kinds; k++) {
        const uint32_t smallest =
            planner_smallest_among(self->planner, UINT64_C(1) << k, deployment->base.function, 1);
        /* Configurations without a GPU are excluded if there are others. */
        if (gpu && !uses_gpu(self, deployment->base.function, k))
            continue;
        if (smallest != SIM_NONE)
            profiles_add(self, arena, deployment, k, smallest);
    }
}

static bool values_check(const double *values, struct error *error)
{
    static const enum dilu_parameter whole[] = {DILU_VCPUS, DILU_WINDOW, DILU_OUT, DILU_IN,
                                                DILU_FIRST};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (values[whole[i]] != floor(values[whole[i]]))
            return error_input(error, "policy.params.%s is %g; give a whole number",
                               dilu_parameters[whole[i]].name, values[whole[i]]);
    if (values[DILU_OUT] > values[DILU_WINDOW] || values[DILU_IN] > values[DILU_WINDOW])
        return error_input(error,
                           "policy.params.window is %g; give at least as many samples as out (%g) "
                           "and in (%g) ask for",
                           values[DILU_WINDOW], values[DILU_OUT], values[DILU_IN]);
    return true;
}

/* The pool places all work if there are trainings, and that of the baselines. */
static bool trainings_init(struct dilu *self, struct platform *platform, struct error *error)
{
    const struct training_models *models = platform_training_models(platform);
    const struct dilu_trainings_rule rule = {
        .pool = {.scheme = (enum dilu_scheme)self->values[DILU_SCHEME],
                 .omega = self->values[DILU_OMEGA],
                 .gamma = self->values[DILU_GAMMA],
                 .alpha = self->values[DILU_ALPHA]},
        .serving = models != NULL,
        .vertical = self->values[DILU_VERTICAL] == DILU_ON,
        /* Instances of a trace hold only what their trace gives. */
        .vcpus = models != NULL && models->models[0].timed ? 0 : self->values[DILU_TRAINING_VCPUS],
        .limit_factor = self->values[DILU_LIMIT],
        .target = self->values[DILU_TRAINING_SPEED]};
    if (!rule.serving && rule.pool.scheme == DILU_WHOLE)
        return true;
    if (rule.serving && (self->workload->kind_count > 1 || !kinds_divisible(self->workload, 0)))
        return error_input(error, "policy.name: \"dilu\" shares GPUs of one kind with trainings, "
                                  "under MPS only; set cluster.invokers.….gpus.….sharing to "
                                  "\"mps\", and one model, speed and price for all");
    self->hosts.trainings = &self->trainings;
    return dilu_trainings_init(&self->trainings, platform, self->hosts.gpus, &rule, error);
}

bool dilu_init(void *state, struct platform *platform, const double *values, struct error *error)
{
    struct dilu *self = state;
    if (!values_check(values, error))
        return false;
    self->workload = platform_workload(platform);
    memcpy(self->values, values, sizeof self->values);
    self->lazy = (struct dilu_lazy_rule){.window = (size_t)values[DILU_WINDOW],
                                         .out = (size_t)values[DILU_OUT],
                                         .in = (size_t)values[DILU_IN]};
    const struct dilu_rule rule = {.omega = values[DILU_OMEGA],
                                   .gamma = values[DILU_GAMMA],
                                   .alpha = values[DILU_ALPHA],
                                   .beta = 1 - values[DILU_ALPHA]};
    struct arena *arena = platform_arena(platform);
    self->planner = planner_create(arena, self->workload, UINT16_MAX,
                                   (enum planner_split)values[DILU_SPLIT], error);
    if (self->planner == NULL)
        return false;
    self->deployments =
        platform_allocate(platform, self->workload->queue_count, sizeof *self->deployments);
    fleet_open(&self->fleet, platform, self->deployments, sizeof *self->deployments,
               values[DILU_SAMPLE], 0);
    dilu_hosts_init(&self->hosts, &self->fleet, &rule, values[DILU_COUNTED] == COUNTED_NOMINAL);
    if (!trainings_init(self, platform, error))
        return false;
    for (uint32_t q = 0; q < self->workload->queue_count; q++)
        fleet_add_queue(&self->fleet, self->planner, q, 0);
    fleet_start(&self->fleet);
    for (uint32_t d = 0; d < self->fleet.deployment_count; d++)
        deployment_init(self, arena, &self->deployments[d]);
    return true;
}
