/* INFless (Yang et al., ASPLOS'22: "INFless: A Native Serverless System for Low-Latency,
 * High-Throughput Inference"), as a scaler of long-lived instances.
 *
 * The grades of evidence, the choice of configurations and places, and the division of load are in
 * estimator.h, regimes.h and lsth.h. This file is the loop around them.
 *
 * Once per second [code: gpu/aside/dispatcher.go:15] a deployment's rate R is divided among its
 * instances. What exceeds their capacity goes to a virtual instance without a server, so that it
 * fails (`excess`) [code: dispatcher.go, updateFunctionsLottery; gpu/repository/repository.go:366].
 * Every 10 s [code: handlers/deploy.go:35] an excess above 3 % of R [deploy.go:490] makes instances
 * until it is served. If there is none, an instance without a share is ended once three earlier
 * steps in a row found it so [deploy.go:34, 500-511]. Jobs are routed to the instances' buffers by
 * deficit round robin with the instances' rates, and the virtual one gets its part as evenly
 * [derived; the repository draws at random]. A batch starts when the instance is idle and either
 * its buffer is full or its oldest job has waited s - t.
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
#include "sched/memory.h"

static const double VCPU_GFLOPS = 64, GPU_GFLOPS = 14200;

enum { TIMER_TICK = 0 };

struct infless_parameters {
    enum infless_form efficiency;
    enum { POOL_FUNCTION, POOL_APPLICATION } pool;
    enum planner_split split;
    enum { BETA_PRICE, BETA_FLOPS } beta;
    double alpha, margin;
    enum { LIMITS_NONE, LIMITS_HALF_GPU, LIMITS_REPO } limits;
    enum { LOAD_BACKLOG, LOAD_ARRIVALS } load;
    enum { EXCESS_FAIL, EXCESS_QUEUE } excess;
    enum { FIRST_ONE, FIRST_LARGEST } first;
    double tick_s, window_s;
    sim_time_t scale_s;
    uint32_t inactive_ticks, max_batch;
    enum { PLACE_WARM, PLACE_FULLEST } placement;
    enum { KEEP_ALIVE_LSTH, KEEP_ALIVE_FIXED } keep_alive;
    double lsth_bin_s, lsth_window_s, lsth_gamma;
    sim_time_t keep_alive_s;
};

static const struct key infless_parameters[] = {
    PARAMETER_WORD(
        infless, efficiency, WORDS("paper", "repo", "paper-total"), INFLESS_PAPER,
        "metric: rate per resource / remaining share (notes), or the repository's (code)"),
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
    PARAMETER_WORD(infless, excess, WORDS("fail", "queue"), EXCESS_FAIL,
                   "arrivals beyond the capacity: fail (code), or wait (derived)"),
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

static void groups_fill(struct infless *self)
{
    const struct cluster_spec *cluster = &self->workload->cluster;
    uint32_t invoker = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        for (uint32_t i = 0; i < cluster->groups[g].count; i++)
            self->groups[invoker++] = &cluster->groups[g];
}

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

static void pools_allocate(struct infless *self, struct platform *platform, bool by_function)
{
    const struct workload *workload = self->workload;
    const size_t functions = workload->function_count;
    const size_t queues = workload->queue_count;
    size_t candidates = 0;
    for (size_t a = 0; a < workload->application_count; a++)
        for (size_t s = 0; s < workload->applications[a].stage_count; s++)
            candidates += workload->functions[workload->applications[a].stages[s].function]
                              .configuration_count;
    const size_t most = by_function ? functions : queues;
    /* One more than there can be: a pool without a queue is tried at the end. */
    self->pools = platform_allocate(platform, most + 1, sizeof *self->pools);
    unique_fifo_init(&self->turns, platform_arena(platform), most);
    self->slots = platform_allocate(platform, queues, sizeof *self->slots);
    self->failing = platform_allocate(platform, queues, sizeof *self->failing);
    self->looks = platform_allocate(platform, (most + 1) * self->look_count, sizeof *self->looks);
    self->candidates = platform_allocate(platform, candidates + 1, sizeof *self->candidates);
    self->lsth = platform_allocate(platform, functions, sizeof *self->lsth);
    self->function_count = platform_allocate(platform, functions, sizeof *self->function_count);
    self->groups =
        platform_allocate(platform, workload->cluster.invoker_count, sizeof *self->groups);
    self->worth = platform_allocate(platform, workload->kind_count, sizeof *self->worth);
}

/* Makes a pool of the queues of `function` in [`first`, `end`). */
static void pool_fill(struct infless *self, struct platform *platform, uint32_t function,
                      uint32_t first, uint32_t end)
{
    struct arena *arena = platform_arena(platform);
    struct infless_pool *pool = &self->pools[self->pool_count];
    *pool = (struct infless_pool){.function = function,
                                  .slo = SIM_FOREVER,
                                  .due = SIM_NONE,
                                  .looks = self->looks + self->pool_count * self->look_count};
    for (uint32_t q = first; q < end; q++) {
        if (platform_queue_function(platform, q) != function)
            continue;
        const uint32_t a = platform_queue_application(platform, q);
        const sim_time_t slo = self->workload->applications[a].slo;
        const sim_time_t budget = planner_budget(self->planner, q, slo);
        pool->slo = budget < pool->slo ? budget : pool->slo;
        backlog_add(&pool->backlog, arena, &self->slots[q], (uint32_t)self->pool_count, q);
    }
    if (pool->backlog.queue_count == 0)
        return;
    self->pool_count++;
    backlog_start(&pool->backlog, arena);
}

static void fill_pools(struct infless *self, struct platform *platform, bool by_function)
{
    const uint32_t queues = self->workload->queue_count;
    if (by_function)
        for (uint32_t f = 0; f < self->workload->function_count; f++)
            pool_fill(self, platform, f, 0, queues);
    else
        for (uint32_t q = 0; q < queues; q++)
            pool_fill(self, platform, platform_queue_function(platform, q), q, q + 1);
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

/* Writes the pool's candidates to `room`. Ignores the limits if they leave none. */
static void pool_candidates(struct infless *self, struct infless_pool *pool, uint32_t max_batch,
                            bool *allowed, struct infless_candidate *room)
{
    const struct function *function = &self->workload->functions[pool->function];
    pool->candidates = room;
    pool->best = infless_best_throughput(&self->rule, function);
    for (int limits = self->limits; limits >= 0 && pool->candidate_count == 0; limits--) {
        allow(self, pool->function, limits, allowed);
        self->rule.batch_threads = limits == LIMITS_REPO;
        pool->candidate_count =
            infless_candidates(&self->rule, function, allowed, pool->slo, max_batch, room);
    }
    if (pool->candidate_count == 0)
        pool->candidate_count = infless_best_effort(&self->rule, function, allowed, room);
}

static void fill_candidates(struct infless *self, struct arena *arena, uint32_t max_batch)
{
    struct infless_candidate *room = self->candidates;
    size_t most = 1;
    for (size_t f = 0; f < self->workload->function_count; f++) {
        const size_t here = self->workload->functions[f].configuration_count;
        most = here > most ? here : most;
    }
    bool *allowed = arena_allocate(arena, most, sizeof *allowed);
    for (size_t p = 0; p < self->pool_count; p++) {
        pool_candidates(self, &self->pools[p], max_batch, allowed, room);
        room += self->pools[p].candidate_count;
    }
    arena_release(arena, allowed);
}

static bool infless_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    struct infless *self = state;
    const struct workload *workload = platform_workload(platform);
    const struct infless_parameters *own = parameters;
    const bool by_function = own->pool == POOL_FUNCTION;
    self->workload = workload;
    self->tick = sim_from_s(own->tick_s);
    self->look_count = (size_t)fmax(1, round(own->window_s / own->tick_s));
    pools_allocate(self, platform, by_function);
    self->planner =
        planner_create(platform_arena(platform), workload, own->max_batch, own->split, error);
    if (self->planner == NULL)
        return false;
    groups_fill(self);
    set_rule(self, own);
    self->alpha = own->alpha;
    self->limits = own->limits;
    self->backlog = own->load == LOAD_BACKLOG;
    self->fail_excess = own->excess == EXCESS_FAIL;
    self->first_largest = own->first == FIRST_LARGEST;
    self->scale = own->scale_s;
    self->unknown_keep_alive = own->keep_alive_s;
    self->inactive_ticks = own->inactive_ticks;
    self->prefer_warm = own->placement == PLACE_WARM;
    self->use_lsth = own->keep_alive == KEEP_ALIVE_LSTH;
    for (size_t f = 0; f < workload->function_count; f++)
        lsth_init(&self->lsth[f], sim_from_s(own->lsth_bin_s), sim_from_s(own->lsth_window_s),
                  sim_from_s(own->lsth_window_s / 24), own->lsth_gamma);
    fill_pools(self, platform, by_function);
    fill_candidates(self, platform_arena(platform), own->max_batch);
    return true;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static void infless_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct infless *self = state;
    struct infless_pool *pool = &self->pools[self->slots[queue].owner];
    pool->arrivals++;
    infless_refresh(self, platform, queue);
    lsth_observe(&self->lsth[pool->function], platform_now(platform));
    infless_draw(self, queue);
    infless_touch(self, pool);
    if (!self->ticking) {
        platform_set_timer(platform, platform_now(platform) + self->tick, TIMER_TICK);
        self->next_scale = platform_now(platform) + self->scale;
    }
    self->ticking = true;
}

static bool ours(const struct infless *self, uint32_t id)
{
    return id < self->instance_room && self->instances[id].pool != SIM_NONE;
}

static void instance_free(struct infless *self, uint32_t id)
{
    if (!ours(self, id))
        return;
    self->pools[self->instances[id].pool].full = false;
    self->freed = true;
    infless_due(self, id);
}

static void infless_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                                 uint32_t instance)
{
    infless_refresh(state, platform, queue);
    if (instance != SIM_NONE)
        instance_free(state, instance);
}

static void infless_on_finish(void *state, struct platform *platform,
                              const struct finished_batch *batch)
{
    (void)platform;
    instance_free(state, batch->instance);
}

static void infless_on_instance_ready(void *state, struct platform *platform, uint32_t instance)
{
    (void)platform;
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

static void tick(struct infless *self, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    const bool scale = now >= self->next_scale;
    self->looked++;
    for (size_t p = 0; p < self->pool_count; p++) {
        self->pools[p].ticked = true;
        self->pools[p].scaled = self->pools[p].scaled || scale;
        infless_touch(self, &self->pools[p]);
    }
    self->next_scale = scale ? now + self->scale : self->next_scale;
    self->freed = true;
    platform_set_timer(platform, now + self->tick, TIMER_TICK);
}

static void infless_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct infless *self = state;
    if (id == TIMER_TICK) {
        tick(self, platform);
    } else if ((id & INFLESS_TIMER_PREWARM) != 0) {
        prewarm(self, platform, id & ~INFLESS_TIMER_PREWARM);
    } else if (ours(self, id - 1)) {
        self->instances[id - 1].rings = SIM_FOREVER;
        infless_due(self, id - 1);
    }
}

static sim_time_t infless_keep_alive(void *state, struct platform *platform, uint32_t function,
                                     uint32_t invoker)
{
    struct infless *self = state;
    const sim_time_t now = platform_now(platform);
    sim_time_t before = 0;
    sim_time_t keep_alive = 0;
    (void)invoker;
    if (!self->use_lsth || !lsth_windows(&self->lsth[function], now, &before, &keep_alive))
        return self->unknown_keep_alive;
    const sim_time_t last = self->lsth[function].last;
    if (now < last + before || now > last + keep_alive)
        return 0;
    return last + keep_alive - now;
}

/* ---- Decisions ------------------------------------------------------------------------------- */

static bool pool_step(struct infless *self, struct platform *platform, struct infless_pool *pool)
{
    if (infless_fail(self, platform, pool))
        return true;
    if (pool->ticked)
        infless_rates(self, platform, pool);
    if (pool->scaled && infless_scale(self, platform, pool))
        return true;
    if (infless_grow(self, platform, pool))
        return true;
    if (pool->instance_count == 0 && pool->backlog.waiting > 0)
        return infless_first(self, platform, pool);
    return infless_route(self, platform, pool);
}

/* Performs one step of one pool; skips pools with nothing to do. */
static bool infless_decide(void *state, struct platform *platform)
{
    struct infless *self = state;
    if (self->starving > 0 && self->freed && infless_relieve(self, platform))
        return true;
    for (uint32_t next; (next = unique_fifo_next(&self->turns)) != SIM_NONE;) {
        struct infless_pool *pool = &self->pools[next];
        if (pool_step(self, platform, pool)) {
            infless_touch(self, pool);
            return true;
        }
    }
    return false;
}

extern const struct policy policy_infless;
const struct policy policy_infless = {
    .abi = POLICY_ABI,
    .name = "infless",
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
