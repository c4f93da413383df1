/* INFless (Yang et al., ASPLOS'22: "INFless: A Native Serverless System for Low-Latency,
 * High-Throughput Inference"), as a scaler of long-lived instances.
 *
 * The grades of evidence, the choice of configurations and places, and the division of load are in
 * estimator.h, regimes.h and lsth.h. This file is the loop around them.
 *
 * Once per second [code: gpu/aside/dispatcher.go:15] a deployment's rate R is divided among its
 * instances. What exceeds their capacity goes to a virtual instance without a server, so that it
 * fails (`own_admission`) [code: dispatcher.go, updateFunctionsLottery;
 * gpu/repository/repository.go:366]. Every 10 s [code: handlers/deploy.go:35] an excess above 3 %
 * of R [deploy.go:490] makes instances until it is served. If there is none, an instance without a
 * share is ended once three earlier steps in a row found it so [deploy.go:34, 500-511]. Jobs are
 * routed to the instances' buffers by deficit round robin with the instances' rates, and the
 * virtual one gets its part as evenly [derived; the repository draws at random]. A batch starts
 * when the instance is idle and either its buffer is full or its oldest job has waited s - t.
 *
 * Porting assumptions [derived unless marked otherwise]:
 * - A deployment is a function, shared by all applications that use it (`pool`: or one per stage of
 *   each application). INFless has no workflows: every stage has a share of the SLO (`split`), and
 *   a deployment's s is the smallest of its stages' shares.
 * - Predictions are the profile's nominal times, inflated by 10 % [notes]. They exclude noise,
 *   interference, transfers and decision time.
 * - beta, the ratio of vCPUs to vGPUs, uses their prices, or 64 GFLOPS per vCPU and 14200 per GPU
 *   [code].
 * - Instances always hold a share of one GPU (quota 100), and may have any of the profile's
 *   configurations, also without a GPU. The repository's candidates have at most half a GPU, and at
 *   most max(2, batch) vCPUs [code: controller/estimator.go]: parameter `limits`. Half a GPU is the
 *   profile's share nearest to it, the smaller of two: 4 of 1, 2, 4 and 7 sevenths, 40 of 20, 40,
 *   60 … per cent. The limits do not apply to a function if no configuration within them meets the
 *   SLO or runs on the cluster. Without limits the metric prefers instances that fill a GPU,
 * because they leave no fragment.
 * - R is the mean over `window_s`. The repository's R has no sampling noise: it is the rate to
 * which the authors' load generator was set [code: LoadGenController.java:53, 217; metrics/
 *   loadGen_query.go]. With counts of single seconds, chance decides how many instances a function
 *   gets, and which requests fail. A window without arrivals is ignored once [code, for the 3 %].
 * - Nothing fails before a deployment has a started instance: the gateway holds requests until
 * there is a replica [code: faas/gateway/scaling/function_scaler.go:62-102].
 * - A buffer takes one batch. Jobs that find no open buffer wait in their queue. A starting
 * instance reduces the excess that makes instances, but takes no jobs, so that its part of the load
 * fails [code: a pod counts when it has an address, controller/scaler.go:147-162]. While jobs wait
 * in a queue they count as load to be divided, so that no instance retires (`load`): the
 * repository's instances hold any number of requests and serve them before they end. They do not
 * count as excess.
 * - An excess below 1/s, which the bound r_low = 1 of batch 1 would leave unserved, gets an
 *   instance of batch 1. An SLO that no configuration meets gets the fastest configuration of batch
 *   1.
 * - If a deployment has no instance, its first job requests one at once. The repository makes one
 *   of batch 1 and role "prewarm" when the function is deployed, keeps it, and converts it [code:
 *   deploy.go:162]. Further batches are the largest whose r_low the excess reaches. So a deployment
 *   forms batches only when its load exceeds what the first instance serves alone. `first` starts
 *   with the largest batch that meets the SLO instead.
 * - With efficiency `logged`, the instance made at deployment is as in the logs: of batch 1, with
 *   the fewest vCPUs and no GPU [logs]. It is kept, does not count as capacity, and serves if it is
 *   alone [derived]. A function that cannot run without a GPU has none. The ticks are at whole
 *   multiples of `tick_s` [derived], so that counts of whole seconds are seen as they are.
 * - Slots with an idle container of the function are preferred (`placement`), because a cold start
 *   takes seconds here.
 * - On a full cluster, a deployment without an instance may take an idle instance of another whose
 *   oldest work is younger; retired ones first. In the room so gained it makes the useful instance
 *   that needs least. The metric would choose the whole GPU, and the next such deployment would
 *   take it away again. If that fails, it uses its smallest configuration, which does not reduce
 *   the excess, so that every tick requests a useful instance. Otherwise a shortage is counted, and
 *   the next tick tries again.
 * - LSTH controls the containers of ended instances. They are kept until the last invocation plus
 *   the keep-alive window. If there is a prewarm window they are evicted at once, and a container
 *   is started when it ends. Before ten gaps are known they are kept for `keep_alive_s`.
 * - One unit of decision time is one candidate for which a slot was searched, one set of instances
 *   examined, or one job routed.
 */
#include "sched/policy.h"

#include <math.h>

#include "sched/common/kinds.h"
#include "sched/infless/pool.h"

static const double VCPU_GFLOPS = 64, GPU_GFLOPS = 14200;

static const struct key infless_parameters[] = {
    PARAMETER_WORD(
        infless, efficiency, WORDS("paper", "repo", "paper-total", "logged"), INFLESS_LOGGED,
        "rule of placement: of the authors' logs, of their later code (repo), or of the text"),
    PARAMETER_WORD(infless, pool, WORDS("function", "application"), POOL_FUNCTION,
                   "one deployment per function, or per stage of each application"),
    PARAMETER_WORD(infless, split, SPLIT_WORDS, PLANNER_PROPORTIONAL,
                   "a stage's share of the SLO: by mean latency (derived)"),
    PARAMETER_WORD(infless, beta, WORDS("price", "flops"), BETA_PRICE,
                   "weight of vCPUs to vGPUs: prices (derived), or 64 to 14200 per GPU (code)"),
    PARAMETER_NUMBER(infless, alpha, 0, 1, 0.8,
                     "instances retire below this fraction of their interval of rates (code)"),
    PARAMETER_NUMBER(infless, margin, 0, 10, 0.1, "inflation of predicted times (notes)"),
    PARAMETER_WORD(infless, limits, WORDS("none", "half-gpu", "repo"), LIMITS_NONE,
                   "limits of instances: half a GPU; repo: and max(2, batch) vCPUs (code)"),
    PARAMETER_WORD(infless, load, WORDS("backlog", "arrivals"), LOAD_BACKLOG,
                   "load divided: arrivals and jobs without a buffer (derived), or arrivals"),
    PARAMETER_SWITCH(infless, own_admission, true,
                     "arrivals beyond the capacity fail (on: code), or wait (off: derived)"),
    PARAMETER_WORD(
        infless, first, WORDS("one", "largest"), FIRST_ONE,
        "batch of a deployment's first instance: one (code), or the largest that meets the SLO "
        "(derived)"),
    PARAMETER_NUMBER(infless, tick_s, 0.001, 3600, 1, "between updates of the rates (code)"),
    PARAMETER_NUMBER(infless, window_s, 0.001, 3600, 10,
                     "seconds over which the rate is averaged (derived)"),
    PARAMETER_SECONDS(infless, scale_s, 0.001, 3600, 10,
                      "between scaling steps, in whole ticks (code)"),
    PARAMETER_WHOLE(infless, inactive_ticks, 1, 1e6, 3,
                    "scaling steps that a retired instance is kept (code)"),
    PARAMETER_WHOLE(infless, max_batch, 1, 65535, 65535, "most jobs per batch"),
    PARAMETER_WORD(infless, placement, WORDS("warm", "fullest"), PLACE_WARM,
                   "slots with an idle container first (derived), or the fullest (code)"),
    PARAMETER_WORD(infless, keep_alive, WORDS("lsth", "fixed"), KEEP_ALIVE_LSTH,
                   "keep-alive of containers without an instance: LSTH (notes), or keep_alive_s"),
    PARAMETER_NUMBER(infless, lsth_bin_s, 0.001, 86400, 60,
                     "bin width of LSTH's histograms (recall)"),
    PARAMETER_NUMBER(infless, lsth_window_s, 1, 1e8, 86400,
                     "LSTH's long window; the short one is 1/24 of it (assumed)"),
    PARAMETER_NUMBER(infless, lsth_gamma, 0, 1, 0.5, "weight of LSTH's long window (notes)"),
    PARAMETER_SECONDS(infless, keep_alive_s, 0, 1e9, 600,
                      "keep-alive if LSTH has fewer than ten gaps, or is off (assumed)"),
    KEY_END,
};

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* True if vCPUs and the units of every kind of GPU have a price. */
static bool all_priced(const struct workload *workload)
{
    bool priced = workload->cluster.vcpu_hour_usd > 0;
    for (size_t k = 0; k < workload->kind_count; k++)
        priced = priced && workload->kinds[k].vgpu_hour_usd > 0;
    return priced;
}

static void set_rule(struct infless *self, const struct infless_parameters *parameters)
{
    const struct workload *workload = self->workload;
    const double units = workload->kinds[0].units;
    self->rule = (struct infless_rule){.form = parameters->efficiency,
                                       .margin = parameters->margin,
                                       .vcpu_weight = workload->cluster.vcpu_hour_usd,
                                       .unit_weight = workload->kinds[0].vgpu_hour_usd,
                                       .worth = self->worth};
    for (uint32_t k = 0; k < workload->kind_count; k++)
        self->worth[k] = kinds_worth(workload, k);
    /* Without prices the weights would be 0. */
    if (parameters->beta == BETA_PRICE && all_priced(workload))
        return;
    self->rule.vcpu_weight = VCPU_GFLOPS;
    self->rule.unit_weight = units > 0 ? GPU_GFLOPS / units : GPU_GFLOPS;
    for (uint32_t k = 1; k < workload->kind_count; k++)
        self->worth[k] = kinds_scale(workload, k);
}

static void pools_fill(struct infless *self, bool by_function)
{
    const struct platform *platform = self->fleet.platform;
    const uint32_t queues = self->workload->queue_count;
    for (uint32_t f = 0; by_function && f < self->workload->function_count; f++)
        for (uint32_t q = 0; q < queues; q++)
            if (platform_queue_function(platform, q) == f)
                fleet_add_queue(&self->fleet, self->planner, q, 0);
    for (uint32_t q = 0; !by_function && q < queues; q++)
        fleet_add_queue(&self->fleet, self->planner, q, q);
    fleet_start(&self->fleet);
}

/* The share of the profile that is nearest to half a GPU of the kind; of two the smaller. */
static double half_gpu(const struct infless *self, uint32_t function, uint32_t kind)
{
    const struct function *spec = &self->workload->functions[function];
    double nearest = 0;
    double off = INFINITY;
    for (size_t i = 0; i < spec->configuration_count; i++) {
        const double share = spec->configurations[i].vgpu;
        const double here = fabs(share - self->workload->kinds[kind].units / 2.0);
        if (spec->configurations[i].kind != kind || share <= 0 || here > off ||
            (here >= off && share > nearest))
            continue;
        nearest = share;
        off = here;
    }
    return nearest;
}

/* Marks the configurations that the cluster can run; with limits, only those with at most half a
 * GPU. */
static void allow(const struct infless *self, uint32_t function, int limits, bool *allowed)
{
    const struct function *spec = &self->workload->functions[function];
    for (uint32_t k = 0; k < self->workload->kind_count; k++) {
        const double most = limits == LIMITS_NONE ? INFINITY : half_gpu(self, function, k);
        for (size_t i = 0; i < spec->configuration_count; i++)
            if (spec->configurations[i].kind == k)
                allowed[i] = planner_runs(self->planner, function, (uint32_t)i) &&
                             spec->configurations[i].vgpu <= most;
    }
}

/* Ignores the limits if they leave no candidate. */
static void pool_start(struct infless *self, struct infless_pool *pool, uint32_t max_batch)
{
    struct arena *arena = self->fleet.arena;
    const uint32_t index = pool->base.function;
    const struct function *function = &self->workload->functions[index];
    const size_t most = function->configuration_count;
    bool *allowed = arena_allocate(arena, most, sizeof *allowed);
    pool->due = SIM_NONE;
    pool->candidates = arena_allocate(arena, most + 1, sizeof *pool->candidates);
    pool->best = infless_best_throughput(&self->rule, function);
    for (int limits = (int)self->parameters->limits; limits >= 0 && pool->candidate_count == 0;
         limits--) {
        allow(self, index, limits, allowed);
        self->rule.batch_threads = limits == LIMITS_REPO;
        pool->candidate_count = infless_candidates(&self->rule, function, allowed,
                                                   pool->base.budget, max_batch, pool->candidates);
    }
    if (pool->candidate_count == 0)
        pool->candidate_count =
            infless_best_effort(&self->rule, function, allowed, pool->candidates);
    arena_release(arena, allowed);
}

static bool infless_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    struct infless *self = state;
    const struct infless_parameters *own = parameters;
    const struct workload *workload = platform_workload(platform);
    const size_t functions = workload->function_count;
    self->workload = workload;
    self->parameters = own;
    self->failing = platform_allocate(platform, workload->queue_count, sizeof *self->failing);
    self->lsth = platform_allocate(platform, functions, sizeof *self->lsth);
    self->function_count = platform_allocate(platform, functions, sizeof *self->function_count);
    self->worth = platform_allocate(platform, workload->kind_count, sizeof *self->worth);
    self->pools =
        fleet_open(&self->fleet, platform, sizeof *self->pools, sim_to_s(sim_from_s(own->tick_s)),
                   (size_t)fmax(1, round(own->window_s / own->tick_s)));
    self->fleet.on_the_clock = own->efficiency == INFLESS_LOGGED;
    self->planner = planner_create(self->fleet.arena, workload, own->max_batch, own->split, error);
    if (self->planner == NULL)
        return false;
    set_rule(self, own);
    for (size_t f = 0; f < functions; f++)
        lsth_init(&self->lsth[f], sim_from_s(own->lsth_bin_s), sim_from_s(own->lsth_window_s),
                  sim_from_s(own->lsth_window_s / 24), own->lsth_gamma);
    pools_fill(self, own->pool == POOL_FUNCTION);
    for (uint32_t d = 0; d < self->fleet.deployment_count; d++)
        pool_start(self, &self->pools[d], own->max_batch);
    return true;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static void infless_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct infless *self = state;
    const sim_time_t now = platform_now(platform);
    if (!self->fleet.ticking)
        self->next_scale = fleet_tick_begin(&self->fleet) + self->parameters->scale_s;
    const struct infless_pool *pool = &self->pools[fleet_arrived(&self->fleet, queue)];
    lsth_observe(&self->lsth[pool->base.function], now);
    infless_draw(self, queue);
}

static bool ours(const struct infless *self, uint32_t id)
{
    return id < self->fleet.instance_room && self->fleet.instances[id].deployment != SIM_NONE;
}

static void instance_free(struct infless *self, uint32_t id)
{
    if (!ours(self, id))
        return;
    infless_pool_of(self, id)->full = false;
    self->fleet.freed = true;
    infless_due(self, id);
}

static void infless_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                                 uint32_t instance)
{
    struct infless *self = state;
    fleet_refresh(&self->fleet, queue);
    if (instance != SIM_NONE)
        instance_free(self, instance);
}

static void infless_on_finish(void *state, struct platform *platform,
                              const struct finished_batch *batch)
{
    instance_free(state, batch->instance);
}

static void infless_on_instance_ready(void *state, struct platform *platform, uint32_t instance)
{
    instance_free(state, instance);
}

/* Starts a container before the next expected invocation, where the smallest candidate would fit.
 */
static void prewarm(struct infless *self, struct platform *platform, uint32_t function)
{
    if (self->function_count[function] > 0 || platform_warm_total(platform, function) > 0)
        return;
    uint32_t invoker = SIM_NONE;
    for (uint32_t k = 0; k < self->workload->kind_count && invoker == SIM_NONE; k++) {
        const uint32_t smallest =
            planner_smallest_among(self->planner, UINT64_C(1) << k, function, 1);
        if (smallest != SIM_NONE)
            invoker = platform_best_fit(platform, function, smallest, false);
    }
    if (invoker != SIM_NONE)
        (void)platform_prewarm(platform, function, invoker);
}

static void tick(struct infless *self)
{
    const sim_time_t now = platform_now(self->fleet.platform);
    const bool scale = now >= self->next_scale;
    for (uint32_t d = 0; d < self->fleet.deployment_count; d++) {
        self->pools[d].ticked = true;
        self->pools[d].scaled = self->pools[d].scaled || scale;
        infless_touch(self, &self->pools[d]);
    }
    self->next_scale = scale ? now + self->parameters->scale_s : self->next_scale;
    self->fleet.freed = true;
}

static void infless_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct infless *self = state;
    if (fleet_ticks(&self->fleet, id)) {
        tick(self);
    } else if ((id & INFLESS_TIMER_PREWARM) != 0) {
        prewarm(self, platform, id & ~INFLESS_TIMER_PREWARM);
    } else if (ours(self, id)) {
        self->instances[id].rings = SIM_FOREVER;
        infless_due(self, id);
    }
}

static sim_time_t infless_keep_alive(void *state, struct platform *platform, uint32_t function,
                                     uint32_t invoker)
{
    struct infless *self = state;
    const sim_time_t now = platform_now(platform);
    sim_time_t before = 0;
    sim_time_t keep_alive = 0;
    if (self->parameters->keep_alive == KEEP_ALIVE_FIXED ||
        !lsth_windows(&self->lsth[function], now, &before, &keep_alive))
        return self->parameters->keep_alive_s;
    const sim_time_t last = self->lsth[function].last;
    if (now < last + before || now > last + keep_alive)
        return 0;
    return last + keep_alive - now;
}

/* ---- Decisions ------------------------------------------------------------------------------- */

static bool pool_step(struct infless *self, struct infless_pool *pool)
{
    if (infless_fail(self, pool))
        return true;
    if (pool->ticked)
        infless_rates(self, pool);
    if (pool->scaled && infless_scale(self, pool))
        return true;
    if (infless_grow(self, pool))
        return true;
    if (pool->base.instance_count == 0 && pool->base.backlog.waiting > 0)
        return infless_first(self, pool);
    return infless_route(self, pool);
}

/* Performs one step of one pool; skips pools with nothing to do. */
static bool infless_decide(void *state, struct platform *platform)
{
    struct infless *self = state;
    if (self->fleet.starving > 0 && self->fleet.freed && infless_relieve(self))
        return true;
    for (uint32_t next; (next = unique_fifo_next(&self->fleet.turns)) != SIM_NONE;) {
        struct infless_pool *pool = &self->pools[next];
        if (pool_step(self, pool)) {
            infless_touch(self, pool);
            return true;
        }
    }
    return false;
}

const struct policy policy_infless = {
    .abi = POLICY_ABI,
    .places_containers = true,
    .name = "infless",
    .refuses = "what exceeds the capacity of its instances",
    .summary = "INFless: instances of many batch sizes that follow the load, greedily packed",
    .parameters = infless_parameters,
    .parameters_bytes = sizeof(struct infless_parameters),
    .state_bytes = sizeof(struct infless),
    .init = infless_init,
    .on_ready = infless_on_ready,
    .on_withdrawn = infless_on_withdrawn,
    .on_finish = infless_on_finish,
    .on_instance_ready = infless_on_instance_ready,
    .on_timer = infless_on_timer,
    .decide = infless_decide,
    .keep_alive = infless_keep_alive,
};
