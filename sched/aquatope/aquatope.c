/* Aquatope (Zhou, Zhang, Delimitrou, "AQUATOPE: QoS-and-Uncertainty-Aware Resource Management for
 * Multi-stage Serverless Workflows", ASPLOS'23). It chooses a configuration vector per workflow by
 * Bayesian optimisation, and sizes a container pool per function by uncertainty-aware prediction.
 *
 * Evidence: [code] read in the released code (zzhou612/aquatope, 9307867), [notes] in others'
 * reading notes, [recall] remembered and not checked, [derived] our own way of porting it.
 *
 * The paper's system:
 * - Resource manager [code]: 10 random evaluations, then 20 rounds of 3. Gaussian processes
 *   (Matérn-5/2, one length scale per dimension, learnt noise) model cost and latency. Proposals
 *   maximise batch noisy expected improvement weighted with feasibility (32 draws). Evaluations
 *   outside the 95 % interval of a leave-one-out model are discarded. The result is the feasible
 *   choice of lowest observed cost. Here: gp.h, bo.h (which lists its departures), tune.h (the
 *   evaluation).
 * - Pool scheduler [code]: an LSTM encoder-decoder (48 steps to 12) with dropout and an MLP
 *   predicts mean and variance of the containers active in the next step. The paper's pool adds a
 *   margin for uncertainty [recall]; the code uses the mean.
 *
 * Porting assumptions, all [derived]:
 * - The paper's dimensions are CPU and memory, two per stage. Ours are vCPU and vGPU and, with
 *   "batching" "planned", the batch size. The default is "alone", because the optimiser measures
 *   cost, and a job that waits for nobody mostly runs alone here. Plans that assume full batches
 *   are what ESG's authors criticise ("planned" with "underfilled" "pad" reproduces this).
 * - Tuning takes place before the run and costs no decision time. It is not repeated: the profile
 *   does not drift, and the arrival rate enters the samples only through "occupancy". A vector
 *   therefore ignores the resources that it denies to others. If vCPUs are cheap, vectors with many
 *   vCPUs are within a few per cent of the cheapest, and on a full cluster they strand GPU units.
 * - Samples include the profile's noise and interference model, with randomly drawn co-runners. The
 *   constraint is on a percentile of the sampled latencies, because a QoS target is one. An
 *   evaluation has 100 executions, so that the 95th percentile is more than the worst of a few.
 *   This favours Aquatope: tuning costs no simulated time, and 70 evaluations [code] of 100
 *   executions are a long sweep.
 * - A deployment is tuned once and then serves. So `tuning_seed` decides the tuning, not the run's
 *   seed: all seeds of a cell have the same vectors.
 * - One plan per workflow, used for every request. If fewer jobs wait than the plan's batch, they
 *   run at once: in the plan's container with their actual batch ("shrink"), or in the plan's own
 *   configuration at its full price ("pad").
 * - Dispatch is ours: arrival order, warm containers near the data first. A batch that fits nowhere
 *   does not block other functions.
 * - Pool: an exponentially weighted mean and variance of the peak number of active containers per
 *   interval replace the LSTM. The pool is mean + margin × deviation. A container of the pool is
 *   kept as long as the pool would be that large if no more work came; others for the platform's
 *   time, as OpenWhisk does beside the stem cells that the code sets [code:
 * owlib/container_pool.py, update_container_pool].
 */
#include <math.h>

#include "sched/aquatope/tune.h"
#include "sched/common/kinds.h"
#include "sched/common/static_plan.h"
#include "sched/memory.h"

/* IDLE_INTERVALS: after this many idle intervals the prediction is practically zero. */
enum { IDLE_INTERVALS = 64, POOL_TIMER = 0 };

/* A started container is assumed ready after this multiple of the mean cold start. */
#define START_ALLOWANCE 2

struct aquatope_parameters {
    struct tune_parameters tune; /* first member */
    enum { UNDERFILLED_SHRINK, UNDERFILLED_PAD } underfilled;
    bool pool;
    sim_time_t pool_interval_s;
    double pool_margin, pool_alpha;
    enum placement_rule placement;
    enum head_of_line head_of_line;
};

static const struct key aquatope_parameters[] = {
    PARAMETER_WORD(tune, batching, WORDS("alone", "planned"), TUNE_ALONE,
                   "tune the batch size as well, assuming full batches (assumed)"),
    PARAMETER_WORD(aquatope, underfilled, WORDS("shrink", "pad"), UNDERFILLED_SHRINK,
                   "fewer jobs than planned: smaller batch, or full price (assumed)"),
    PARAMETER_WHOLE(bo, initial, 1, 200, 10, "random evaluations (secondary: code)"),
    PARAMETER_WHOLE(bo, rounds, 0, 100, 20, "rounds of proposals (secondary: code)"),
    PARAMETER_WHOLE(bo, proposals, 1, 10, 3, "evaluations per round (secondary: code)"),
    PARAMETER_WHOLE(bo, candidates, 8, 8192, 512, "vectors scored per round (assumed)"),
    PARAMETER_WHOLE(bo, tuning_seed, 0, 4294967295, 1,
                    "of the evaluations, so that runs of all seeds have one tuning (assumed)"),
    PARAMETER_NUMBER(bo, confidence, 0.5, 0.9999, 0.95,
                     "confidence interval for outliers (secondary: code)"),
    PARAMETER_NUMBER(tune, percentile, 0, 100, 95,
                     "percentile of the sampled latency that must meet the SLO (assumed)"),
    PARAMETER_WHOLE(tune, executions, 1, 1000, 100, "sampled executions per evaluation (assumed)"),
    PARAMETER_NUMBER(tune, occupancy, 0, 1, 0.5,
                     "probability of co-runners in sampled executions (assumed)"),
    PARAMETER_SWITCH(aquatope, pool, true, "prewarm to the predicted demand"),
    PARAMETER_SECONDS(aquatope, pool_interval_s, 0.001, 86400, 60,
                      "interval between predictions (secondary: minutes)"),
    PARAMETER_NUMBER(aquatope, pool_margin, 0, 10, 1,
                     "deviations added to the mean (assumed; 0: the released code)"),
    PARAMETER_NUMBER(aquatope, pool_alpha, 0.001, 1, 0.3,
                     "weight of the last interval; replaces an LSTM (assumed)"),
    PARAMETER_WORD(aquatope, placement, PLACEMENT_WORDS, PLACEMENT_LOCALITY,
                   "invokers tried first, warm before cold (assumed)"),
    PARAMETER_WORD(aquatope, head_of_line, WORDS("strict", "skip"), HEAD_OF_LINE_SKIP,
                   "if the first queue's batch does not fit: wait, or try the next (assumed)"),
    KEY_END,
};

/* The plan of a queue. */
struct plan {
    uint32_t batch;
    uint32_t planned;            /* the configuration of a full batch */
    uint32_t *configuration_for; /* by number of waiting jobs, up to `batch`; [0] is unused */
};

/* Demand for containers of one function. */
struct demand {
    uint32_t peak; /* most containers active at once in this interval */
    bool seen;
    double mean, variance;
    uint32_t starting; /* prewarmed and possibly not ready yet */
    sim_time_t starting_until;
};

struct aquatope {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept a
                                   * struct aquatope */
    struct plan *plans;           /* by queue */
    struct demand *demands;       /* by function */
    const struct aquatope_parameters *parameters;
    bool armed;         /* the pool's timer is set */
    bool active;        /* an event occurred since the timer was set */
    sim_time_t last_at; /* end of the last interval observed */
};

/* ---- Plans ----------------------------------------------------------------------------------- */

/* The planned container with the smallest batch that holds `jobs`; the plan itself if there is
 * none. */
static uint32_t shrunk(const struct function *function, uint32_t planned, uint32_t jobs)
{
    const struct configuration *all = function->configurations;
    uint32_t best = planned;
    for (uint32_t i = 0; i < function->configuration_count; i++)
        if (all[i].kind == all[planned].kind && all[i].vcpu == all[planned].vcpu &&
            all[i].vgpu == all[planned].vgpu && all[i].batch >= jobs &&
            all[i].batch < all[best].batch)
            best = i;
    return best;
}

static void plan_fill(struct plan *plan, struct platform *platform, const struct function *function,
                      uint32_t planned, bool pad)
{
    plan->planned = planned;
    plan->batch = function->configurations[planned].batch;
    plan->configuration_for =
        platform_allocate(platform, (size_t)plan->batch + 1, sizeof *plan->configuration_for);
    for (uint32_t jobs = 1; jobs <= plan->batch; jobs++)
        plan->configuration_for[jobs] = pad ? planned : shrunk(function, planned, jobs);
}

/* The plan, or where its kind of GPU has no room, what takes no longer on another kind. */
static uint32_t aquatope_configure(const void *state, const struct platform *platform,
                                   uint32_t queue, uint32_t jobs)
{
    const struct aquatope *aquatope = state;
    const struct plan *plan = &aquatope->plans[queue];
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t most = jobs < plan->batch ? jobs : plan->batch;
    const uint32_t planned = plan->configuration_for[most];
    const uint32_t kind =
        platform_workload(platform)->functions[function].configurations[planned].kind;
    if (kinds_contain(aquatope->dispatcher.kinds, kind))
        return planned;
    return planner_substitute(platform_workload(platform), aquatope->dispatcher.kinds, function,
                              planned, most);
}

static uint32_t aquatope_planned(const void *state, uint32_t queue)
{
    return ((const struct aquatope *)state)->plans[queue].planned;
}

static bool aquatope_tune(struct aquatope *aquatope, struct platform *platform, struct error *error)
{
    const struct workload *workload = platform_workload(platform);
    const bool pad = aquatope->parameters->underfilled == UNDERFILLED_PAD;
    for (uint32_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        struct tuning tuning;
        if (!tune_application_once(platform_arena(platform), workload, a,
                                   &aquatope->parameters->tune, &tuning, error))
            return false;
        for (uint32_t s = 0; s < application->stage_count; s++)
            plan_fill(&aquatope->plans[application->first_queue + s], platform,
                      &workload->functions[application->stages[s].function],
                      tuning.configuration[s], pad);
    }
    return true;
}

static bool aquatope_init(void *state, struct platform *platform, const void *parameters,
                          struct error *error)
{
    struct aquatope *aquatope = state;
    const struct workload *workload = platform_workload(platform);
    aquatope->parameters = parameters;
    const struct dispatcher_parameters dispatch = {.max_batch = UINT16_MAX,
                                                   .placement = aquatope->parameters->placement,
                                                   .head_of_line =
                                                       aquatope->parameters->head_of_line};
    if (!dispatcher_init(&aquatope->dispatcher, platform,
                         (struct dispatch_rule){static_plan_rank, aquatope_configure, NULL},
                         &dispatch, error))
        return false;
    aquatope->dispatcher.planned = aquatope_planned;
    aquatope->plans = platform_allocate(platform, workload->queue_count, sizeof *aquatope->plans);
    aquatope->demands =
        platform_allocate(platform, workload->function_count, sizeof *aquatope->demands);
    return aquatope_tune(aquatope, platform, error);
}

/* ---- Pool ------------------------------------------------------------------------------------ */

static void demand_observe(struct demand *demand, double alpha, double active)
{
    const double surprise = active - demand->mean;
    if (!demand->seen) {
        demand->seen = true;
        demand->mean = active;
        return;
    }
    demand->mean += alpha * surprise;
    demand->variance = (1 - alpha) * (demand->variance + alpha * surprise * surprise);
}

static double pool_target(const struct aquatope *aquatope, const struct demand *demand)
{
    return ceil(demand->mean + aquatope->parameters->pool_margin * sqrt(demand->variance) - 1e-9);
}

/* Starts the containers that the prediction requires beyond the existing ones. */
static void pool_fill(const struct aquatope *aquatope, struct platform *platform, uint32_t function)
{
    struct demand *demand = &aquatope->demands[function];
    const struct workload *workload = platform_workload(platform);
    const sim_time_t now = platform_now(platform);
    const double target = pool_target(aquatope, demand);
    if (now >= demand->starting_until)
        demand->starting = 0;
    double there = (double)aquatope->dispatcher.running[function] +
                   (double)platform_warm_total(platform, function) + (double)demand->starting;
    for (uint32_t which = 0; there < target && which < workload->cluster.invoker_count;) {
        if (!platform_prewarm(platform, function, platform_home(platform, function, which))) {
            which++;
            continue;
        }
        there++;
        demand->starting++;
        demand->starting_until =
            now +
            sim_from_ms(START_ALLOWANCE * workload->functions[function].gpus[0].cold_start_mean_ms);
    }
}

static void aquatope_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct aquatope *aquatope = state;
    for (uint32_t f = 0; f < platform_workload(platform)->function_count; f++) {
        struct demand *demand = &aquatope->demands[f];
        const uint32_t running = aquatope->dispatcher.running[f];
        const uint32_t peak = running > demand->peak ? running : demand->peak;
        demand_observe(demand, aquatope->parameters->pool_alpha, peak);
        demand->peak = running;
        pool_fill(aquatope, platform, f);
    }
    /* After an interval without events the timer stops; on_ready sets it again. */
    aquatope->last_at = platform_now(platform);
    aquatope->armed = aquatope->active;
    aquatope->active = false;
    if (aquatope->armed)
        platform_set_timer(platform, aquatope->last_at + aquatope->parameters->pool_interval_s,
                           POOL_TIMER);
}

/* Accounts for the intervals during which the timer was stopped: their demand was the running
 * containers. */
static void pool_wake(struct aquatope *aquatope, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    const sim_time_t passed = (now - aquatope->last_at) / aquatope->parameters->pool_interval_s;
    for (uint32_t f = 0; f < platform_workload(platform)->function_count; f++)
        for (sim_time_t i = 0; aquatope->demands[f].seen && i < passed && i < IDLE_INTERVALS; i++)
            demand_observe(&aquatope->demands[f], aquatope->parameters->pool_alpha,
                           (double)aquatope->dispatcher.running[f]);
    aquatope->last_at = now;
    aquatope->armed = true;
    platform_set_timer(platform, now + aquatope->parameters->pool_interval_s, POOL_TIMER);
}

/* The container counts as the last of those that exist. It is kept for the intervals without work
 * after which the pool would still be as large. O(IDLE_INTERVALS). */
static sim_time_t aquatope_keep_alive(void *state, struct platform *platform, uint32_t function,
                                      uint32_t invoker)
{
    const struct aquatope *aquatope = state;
    const sim_time_t least = platform_keep_alive(platform);
    struct demand demand = aquatope->demands[function];
    /* A batch that ends still runs, while its container is idle already. */
    const uint32_t running = aquatope->dispatcher.running[function];
    const double there =
        (double)platform_warm_total(platform, function) + (double)running - (running > 0 ? 1 : 0);
    sim_time_t intervals = 0;
    if (!aquatope->parameters->pool || !demand.seen)
        return least;
    while (intervals < IDLE_INTERVALS && pool_target(aquatope, &demand) >= there) {
        demand_observe(&demand, aquatope->parameters->pool_alpha, 0);
        intervals++;
    }
    const sim_time_t pooled = intervals * aquatope->parameters->pool_interval_s;
    return pooled > least ? pooled : least;
}

/* ---- Policy ---------------------------------------------------------------------------------- */

static void aquatope_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct aquatope *aquatope = state;
    dispatcher_on_ready(state, platform, queue);
    aquatope->active = true;
    if (aquatope->parameters->pool && !aquatope->armed)
        pool_wake(aquatope, platform);
}

static void aquatope_on_finish(void *state, struct platform *platform,
                               const struct finished_batch *batch)
{
    struct aquatope *aquatope = state;
    const uint32_t function = platform_queue_function(platform, batch->queue);
    struct demand *demand = &aquatope->demands[function];
    /* The number of running batches decreases only here, so its peaks occur just before. */
    if (aquatope->dispatcher.running[function] > demand->peak)
        demand->peak = aquatope->dispatcher.running[function];
    dispatcher_on_finish(state, platform, batch);
    aquatope->active = true;
}

const struct policy policy_aquatope = {
    .abi = POLICY_ABI,
    .name = "aquatope",
    .summary = "Aquatope (ASPLOS'23): a vector per workflow by Bayesian optimisation, pool by "
               "uncertain demand",
    .parameters = aquatope_parameters,
    .parameters_bytes = sizeof(struct aquatope_parameters),
    .state_bytes = sizeof(struct aquatope),
    .init = aquatope_init,
    .on_ready = aquatope_on_ready,
    .on_withdrawn = dispatcher_on_withdrawn,
    .on_finish = aquatope_on_finish,
    .on_timer = aquatope_on_timer,
    .decide = dispatcher_decide,
    .keep_alive = aquatope_keep_alive,
};
