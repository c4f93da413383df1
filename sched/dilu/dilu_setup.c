/* Dilu's parameters, and the set-up of its state. */
#include "sched/dilu/dilu_internal.h"

#include "sched/common/kinds.h"
#include "sched/memory.h"

enum { LIMIT_MOST = 100 };

const struct key dilu_parameters[] = {
    PARAMETER_NUMBER(dilu, bound, 0.05, 1, 0.5,
                     "fraction of a stage's budget for execution, in the profile search (derived)"),
    PARAMETER_NUMBER(dilu, te_drop, 0, 1e6, 0.2,
                     "loss of jobs/s per % of GPU at which the profile search stops (code)"),
    PARAMETER_NUMBER(dilu, limit, 1, LIMIT_MOST, 1.5,
                     "limit of an instance as a multiple of its request (code: its simulation)"),
    PARAMETER_WHOLE(dilu, vcpus, 0, 1024, 0,
                    "vCPUs of an instance; 0: in proportion to its request (derived; code: 4)"),
    PARAMETER_WORD(dilu, split, SPLIT_WORDS, PLANNER_PROPORTIONAL,
                   "a stage's share of the SLO: by mean latency (derived)"),
    PARAMETER_NUMBER(dilu, omega, 0.01, 1, 1, "largest sum of requests on a GPU (code)"),
    PARAMETER_NUMBER(dilu, gamma, 0.01, 100, 1.5, "largest sum of limits on a GPU (code)"),
    PARAMETER_NUMBER(dilu, alpha, 0, 1, 0.6,
                     "weight of shares in the score; memory has 1 - alpha (code)"),
    PARAMETER_WORD(dilu, counted, WORDS("nominal", "grid"), COUNTED_NOMINAL,
                   "limit counted for gamma: factor × request, or the next share of the profile "
                   "(derived)"),
    PARAMETER_WHOLE(dilu, window, 1, 3600, 40, "samples, at most (code)"),
    PARAMETER_WHOLE(dilu, out, 1, 3600, 20, "samples above capacity that add an instance (code)"),
    PARAMETER_WHOLE(dilu, in, 1, 3600, 30,
                    "samples below the capacity without an instance that remove it (code)"),
    PARAMETER_WHOLE(dilu, first, 1, 1000, 1,
                    "instances made at a function's first request (derived)"),
    PARAMETER_WORD(dilu, vertical, WORDS("on", "off"), DILU_ON,
                   "an instance that works alone gets its limit, or never (code: on)"),
    PARAMETER_WORD(dilu, routing, WORDS("idle", "arrival"), DILU_ROUTING_IDLE,
                   "jobs wait for an idle instance (derived), or are routed on arrival (code)"),
    PARAMETER_WORD(dilu, backlog, WORDS("on", "off"), DILU_ON,
                   "waiting jobs count as rate (derived; code: off)"),
    PARAMETER_NUMBER(dilu, sample_s, 0.001, 3600, 1, "between samples (code)"),
    PARAMETER_MS(dilu, active_ms, 0, 60000, 50,
                 "time after a batch for which an instance counts as active (code)"),
    PARAMETER_WORD(dilu, scheme, WORDS("dilu", "infless-l", "infless-r", "exclusive"), DILU_WHOLE,
                   "request and limit; or the baselines: limit, request or whole GPUs only "
                   "(code)"),
    PARAMETER_NUMBER(dilu, training_vcpus, 0, 1024, 4,
                     "vCPUs of a training per GPU (code: 4 cores pinned)"),
    PARAMETER_NUMBER(dilu, training_speed, 0.01, 1, 0.98,
                     "part of its full speed that a training has at its request, where its "
                     "model does not give one (code)"),
    KEY_END,
};

/* Multiple of the request that is the limit on GPUs of the kind. */
static double limit_factor(const struct dilu *self, uint32_t kind)
{
    const enum dilu_scheme scheme = self->parameters->scheme;
    if (scheme == DILU_EXCLUSIVE)
        return LIMIT_MOST;
    if (scheme == DILU_INFLESS_L)
        return self->parameters->limit;
    const bool vertical = scheme == DILU_WHOLE && self->parameters->vertical == DILU_ON &&
                          kinds_divisible(self->workload, kind);
    return vertical ? self->parameters->limit : 1;
}

/* For the baselines that give an instance its limit at all times. */
static void limit_to_request(const struct dilu *self, struct arena *arena, uint32_t function,
                             struct dilu_profile *profile)
{
    const enum dilu_scheme scheme = self->parameters->scheme;
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
    const bool whole = self->parameters->scheme == DILU_WHOLE;
    const struct dilu_profile_rule rule = {
        .bound = (sim_time_t)(self->parameters->bound * (double)deployment->base.budget),
        .drop = self->parameters->te_drop,
        .factor = limit_factor(self, kind),
        .vcpus = self->parameters->vcpus,
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

static void deployment_init(struct dilu *self, struct arena *arena,
                            struct dilu_deployment *deployment)
{
    const size_t kinds = self->workload->kind_count;
    const uint32_t function = deployment->base.function;
    const bool gpu = planner_uses_gpus(self->planner, KINDS_ALL, function, UINT32_MAX);
    deployment->profiles = arena_allocate(arena, kinds, sizeof *deployment->profiles);
    deployment->smallest = arena_allocate(arena, kinds, sizeof *deployment->smallest);
    dilu_window_init(&deployment->window, arena, self->lazy.window);
    for (uint32_t k = 0; k < kinds; k++) {
        const uint64_t kind = UINT64_C(1) << k;
        const uint32_t smallest = planner_smallest_among(self->planner, kind, function, 1);
        /* Configurations without a GPU are excluded if there are others. */
        if (gpu && !planner_uses_gpus(self->planner, kind, function, UINT32_MAX))
            continue;
        if (smallest != SIM_NONE)
            profiles_add(self, arena, deployment, k, smallest);
    }
}

static bool window_check(const struct dilu_parameters *parameters, struct error *error)
{
    if (parameters->out > parameters->window || parameters->in > parameters->window)
        return error_input(error,
                           "policy.params.window is %g; give at least as many samples as out (%g) "
                           "and in (%g) ask for",
                           (double)parameters->window, (double)parameters->out,
                           (double)parameters->in);
    return true;
}

/* The pool places all work if there are trainings, and that of the baselines. */
static bool trainings_init(struct dilu *self, struct platform *platform, struct error *error)
{
    const struct training_models *models = platform_training_models(platform);
    const struct dilu_trainings_rule rule = {
        .pool = {.scheme = self->parameters->scheme,
                 .omega = self->parameters->omega,
                 .gamma = self->parameters->gamma,
                 .alpha = self->parameters->alpha},
        .serving = models != NULL,
        .vertical = self->parameters->vertical == DILU_ON,
        /* Instances of a trace hold only what their trace gives. */
        .vcpus = models != NULL && models->models[0].timed ? 0 : self->parameters->training_vcpus,
        .limit_factor = self->parameters->limit,
        .target = self->parameters->training_speed};
    if (!rule.serving && rule.pool.scheme == DILU_WHOLE)
        return true;
    if (rule.serving && (self->workload->kind_count > 1 || !kinds_divisible(self->workload, 0)))
        return error_input(error, "policy.name: \"dilu\" shares GPUs of one kind with trainings, "
                                  "under MPS only; set cluster.invokers.….gpus.….sharing to "
                                  "\"mps\", and one model, speed and price for all");
    self->hosts.trainings = &self->trainings;
    return dilu_trainings_init(&self->trainings, platform, self->hosts.gpus, &rule, error);
}

bool dilu_init(void *state, struct platform *platform, const void *parameters, struct error *error)
{
    struct dilu *self = state;
    const struct dilu_parameters *own = parameters;
    if (!window_check(own, error))
        return false;
    self->workload = platform_workload(platform);
    self->parameters = own;
    self->lazy = (struct dilu_lazy_rule){.window = own->window, .out = own->out, .in = own->in};
    const struct dilu_rule rule = {
        .omega = own->omega, .gamma = own->gamma, .alpha = own->alpha, .beta = 1 - own->alpha};
    struct arena *arena = platform_arena(platform);
    self->planner = planner_create(arena, self->workload, UINT16_MAX, own->split, error);
    if (self->planner == NULL)
        return false;
    self->deployments =
        fleet_open(&self->fleet, platform, sizeof *self->deployments, own->sample_s, 0);
    dilu_hosts_init(&self->hosts, &self->fleet, &rule, own->counted == COUNTED_NOMINAL);
    if (!trainings_init(self, platform, error))
        return false;
    for (uint32_t q = 0; q < self->workload->queue_count; q++)
        fleet_add_queue(&self->fleet, self->planner, q, 0);
    fleet_start(&self->fleet);
    for (uint32_t d = 0; d < self->fleet.deployment_count; d++)
        deployment_init(self, arena, &self->deployments[d]);
    return true;
}
