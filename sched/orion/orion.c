/* Orion (OSDI'22, "ORION and the Three Rights: Sizing, Bundling, and Prewarming for Serverless
 * DAGs"), as a planner of (batch, vCPU, vGPU).
 *
 * Evidence, as in the parameter table: [code] read in the authors' public repository
 * (icanforce/Orion-OSDI22 @ 0ecb698), [notes] third-party reading notes, [recall] from memory of
 * the paper, [derived] our porting.
 *
 * Right-sizing. A stage's latency is a distribution, known from the profile. The 95th percentile of
 * the whole DAG is computed by convolution and products of CDFs [code]. A plan is found by
 * best-first search over sizes [recall], or by the repository's steepest descent [code]. Both end
 * after a given number of percentiles, and every percentile is charged as decision time [recall: as
 * ESG's authors did]. A workflow is planned once, when its first stage is first scheduled; the plan
 * applies to its later stages [notes]. The missing replanning is the weakness that ESG is said to
 * exploit.
 *
 * Bundling. Orion puts k parallel invocations in one VM [code]; here a bundle is a batch [derived].
 * Jobs that wait behind the head when it is planned join its plan, so that they can stay together
 * through the later stages [derived]. No job waits for a batch to fill.
 *
 * It is open how large a bundle a plan may assume. `bundle` "any", the default, is how ESG's
 * authors ran Orion and what they criticise [recall]. It assumes full batches of every size. Fewer
 * jobs than planned run with the planned vCPUs and vGPUs, which is a pre-planned configuration
 * miss. "queued" plans batches of at most the waiting jobs, as Orion divides the workers of a
 * fan-out, whose number it knows [code]. Neither is better in all settings: reports that compare
 * with Orion should show both.
 *
 * Right-prewarming. A stage's container is started one mean cold start before the stage's input is
 * due by the plan's median [notes: the simple equivalent of the repository's delay search], unless
 * enough containers are idle or starting. A batch waits for a starting container ("almost warm"
 * [code]) instead of starting its own.
 *
 * Porting assumptions:
 * - Sizes are the profile's non-dominated configurations, one latency table per stage [derived;
 * Orion: memory in steps of 64 MB].
 * - Distributions are known, not sampled: nominal time and noise of the profile. Stages are
 *   independent [derived; Orion also measures the correlation between the workers of one stage,
 *   which no stage here has].
 * - No percentile is interpolated between sizes: every configuration has its own.
 * - Transfers, queueing and interference are not in the model [derived: nor in ESG's].
 * - The target of a plan is the workflow's SLO, however long it has waited already [code: sizes
 *   belong to the workflow, not to a request].
 * - Queues are served round robin. A batch that fits nowhere waits and does not block others
 *   [derived].
 * - The unit of decision time is the cost of one node of ESG_1Q. A percentile takes some
 *   convolutions of 512 bins with about 10^5 multiply-adds each. It counts as 100 nodes, or 10 us
 *   if a node is 100 ns, about the time of an evaluation on one present core. Orion therefore pays
 *   by the same clock as ESG. The default cut-off is then 10 ms, the middle of 1, 10 and 100
 *   [assumed].
 */
#include "sched/policy.h"

#include <math.h>

#include "sched/common/kinds.h"
#include "sched/common/placement.h"
#include "sched/common/planner.h"
#include "sched/memory.h"
#include "sched/orion/requests.h"

enum { HOME_PROBES = 4, LEVELS_MAX = 64, CUTOFF_MAX = 10000000 };

/* A request is assumed lost this long after its deadline. Stale requests are searched for once the
 * map has this many slots. */
#define STALE (600 * SIM_S)
enum { SWEEP_FROM = 1 << 14 };

/* A timer's id: this bit and a function whose container start should be complete, or else a bundle
 * and its stage. */
#define TIMER_STARTED UINT32_C(0x80000000)
#define BUNDLES_MAX (TIMER_STARTED / WORKLOAD_MAX_STAGES)

struct orion_parameters {
    double percentile;
    enum orion_method method;
    enum { TARGET_SLO, TARGET_LEFT } target;
    uint32_t cutoff;
    double evaluation_units;
    enum { CHARGE_EACH, CHARGE_FIRST } charge;
    enum { BUNDLE_ANY, BUNDLE_QUEUED } bundle;
    uint32_t max_batch, bins;
    enum { PREWARM_AT_MEDIAN, PREWARM_OFF } prewarm;
    double headroom;
    enum placement_rule placement;
};

static const struct key orion_parameters[] = {
    PARAMETER_NUMBER(orion, percentile, 0.5, 0.9999, 0.95,
                     "percentile of the end-to-end latency that must meet the SLO (code)"),
    PARAMETER_WORD(orion, method, WORDS("best-first", "greedy"), ORION_BEST_FIRST,
                   "best-first search (recall), or steepest descent (code)"),
    PARAMETER_WORD(orion, target, WORDS("slo", "left"), TARGET_SLO,
                   "target of a plan: the workflow's SLO (code), or the time left"),
    PARAMETER_WHOLE(orion, cutoff, 1, CUTOFF_MAX, 1000,
                    "most plans evaluated by one search (assumed)"),
    PARAMETER_NUMBER(orion, evaluation_units, 0, 1e6, 100,
                     "decision cost of one plan's percentile, in node expansions (assumed)"),
    PARAMETER_WORD(orion, charge, WORDS("each", "first"), CHARGE_EACH,
                   "charge each bundle's search (recall), or only the first per target"),
    PARAMETER_WORD(orion, bundle, WORDS("any", "queued"), BUNDLE_ANY,
                   "largest batch planned: any (recall), or the waiting jobs (code)"),
    PARAMETER_WHOLE(orion, max_batch, 1, 65535, 65535, "most jobs per batch"),
    PARAMETER_WHOLE(orion, bins, 16, 8192, 512,
                    "bins per SLO of the latency distributions (derived; code: 100 ms)"),
    PARAMETER_WORD(orion, prewarm, WORDS("median", "off"), PREWARM_AT_MEDIAN,
                   "start containers for the median arrival of the input (notes)"),
    PARAMETER_NUMBER(orion, headroom, 0, 0.9, 0,
                     "fraction of the SLO that plans reserve (assumed)"),
    PARAMETER_WORD(orion, placement, PLACEMENT_WORDS, PLACEMENT_LOCALITY,
                   "invokers tried first, warm before cold (derived)"),
    KEY_END,
};

/* The plans of one application for batches up to one size. */
struct orion_sizing {
    struct orion_model *model;
    struct orion_plan **plans; /* by target in bins, made on first use */
};

/* Jobs planned together. The record exists while a request or a timer refers to it. */
struct orion_bundle {
    const struct orion_plan *plan;
    uint32_t application;
    uint32_t references;
    uint32_t next_free;
    uint32_t due;  /* stages whose prewarming is due and that are not dispatched */
    uint32_t done; /* stages dispatched */
    bool timed;    /* prewarm_schedule was called */
};

struct orion {
    const struct workload *workload;
    const struct orion_parameters *parameters;
    size_t level_count;
    uint32_t levels[LEVELS_MAX]; /* bundle sizes that have a sizing of their own, ascending */
    struct orion_sizing *sizings;
    struct orion_requests requests;
    struct orion_bundle *bundles;
    uint32_t bundle_count, bundle_free;
    uint32_t *expected;       /* by function: number of due stages */
    struct job_view *leaving; /* scratch: the jobs of a batch */
    uint32_t *starting; /* by function: containers that this policy started and that should not
                         * be ready yet */
    uint32_t cursor;    /* next queue of the round robin */
};

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* One level for any batch size, or one per smaller batch size. */
static void find_levels(struct orion *orion)
{
    const uint32_t most = orion->parameters->max_batch;
    uint32_t last = 0;
    while (orion->parameters->bundle == BUNDLE_QUEUED && orion->level_count + 1 < LEVELS_MAX) {
        uint32_t next = most;
        for (size_t f = 0; f < orion->workload->function_count; f++) {
            const struct function *function = &orion->workload->functions[f];
            for (size_t i = 0; i < function->configuration_count; i++) {
                const uint32_t batch = function->configurations[i].batch;
                if (batch > last && batch < next)
                    next = batch;
            }
        }
        if (next == most)
            break;
        orion->levels[orion->level_count++] = next;
        last = next;
    }
    orion->levels[orion->level_count++] = most;
}

static bool sizing_init(struct orion *orion, struct platform *platform, struct orion_sizing *sizing,
                        size_t application, uint32_t max_batch, struct error *error)
{
    sizing->model =
        orion_model_create(platform_arena(platform), orion->workload, application, max_batch,
                           orion->parameters->bins, orion->parameters->percentile, error);
    if (sizing->model == NULL)
        return false;
    sizing->plans =
        platform_allocate(platform, (size_t)sizing->model->target + 1, sizeof *sizing->plans);
    return true;
}

static bool orion_init(void *state, struct platform *platform, const void *parameters,
                       struct error *error)
{
    struct orion *orion = state;
    const struct workload *workload = platform_workload(platform);
    orion->workload = workload;
    orion->parameters = parameters;
    orion->bundle_free = SIM_NONE;
    find_levels(orion);
    orion->sizings = platform_allocate(platform, workload->application_count * orion->level_count,
                                       sizeof *orion->sizings);
    orion->expected =
        platform_allocate(platform, workload->function_count, sizeof *orion->expected);
    orion->starting =
        platform_allocate(platform, workload->function_count, sizeof *orion->starting);
    bool done = true;
    for (size_t a = 0; done && a < workload->application_count; a++)
        for (size_t l = 0; done && l < orion->level_count; l++)
            done = sizing_init(orion, platform, &orion->sizings[a * orion->level_count + l], a,
                               orion->levels[l], error);
    return done;
}

/* ---- Bundles --------------------------------------------------------------------------------- */

/* Opens a bundle. SIM_NONE if there are too many for a timer's id; its jobs then run without
 * prewarming. */
static uint32_t bundle_open(struct orion *orion, struct platform *platform,
                            const struct orion_plan *plan, uint32_t application)
{
    uint32_t index = orion->bundle_free;
    if (index != SIM_NONE) {
        orion->bundle_free = orion->bundles[index].next_free;
    } else {
        if (orion->bundle_count == BUNDLES_MAX)
            return SIM_NONE;
        index = orion->bundle_count++;
        arena_reserve(platform_arena(platform), &orion->bundles, orion->bundle_count,
                      sizeof *orion->bundles);
    }
    orion->bundles[index] = (struct orion_bundle){.plan = plan, .application = application};
    return index;
}

static uint32_t bundle_function(const struct orion *orion, const struct orion_bundle *bundle,
                                size_t stage)
{
    return orion->workload->applications[bundle->application].stages[stage].function;
}

static void bundle_release(struct orion *orion, uint32_t index)
{
    struct orion_bundle *bundle = &orion->bundles[index];
    if (--bundle->references > 0)
        return;
    for (size_t s = 0; s < WORKLOAD_MAX_STAGES; s++)
        if ((bundle->due >> s & 1u) != 0)
            orion->expected[bundle_function(orion, bundle, s)]--;
    bundle->next_free = orion->bundle_free;
    orion->bundle_free = index;
}

static void bundle_dispatched(struct orion *orion, uint32_t index, uint32_t stage)
{
    struct orion_bundle *bundle = &orion->bundles[index];
    const uint32_t bit = UINT32_C(1) << stage;
    if ((bundle->due & bit) != 0)
        orion->expected[bundle_function(orion, bundle, stage)]--;
    bundle->due &= ~bit;
    bundle->done |= bit;
}

/* ---- Right-prewarming ------------------------------------------------------------------------ */

/* The stage's function on the kind of GPU for which it is planned. */
static const struct function_gpu *planned_gpu(const struct orion *orion,
                                              const struct orion_bundle *bundle, size_t stage)
{
    const struct function *function =
        &orion->workload->functions[bundle_function(orion, bundle, stage)];
    return &function->gpus[function->configurations[bundle->plan->configuration[stage]].kind];
}

/* Called once, when the first source is dispatched or starts a container: sets timers for the
 * stages with predecessors. */
static void prewarm_schedule(struct orion *orion, struct platform *platform, uint32_t index)
{
    struct orion_bundle *bundle = &orion->bundles[index];
    const struct application *application = &orion->workload->applications[bundle->application];
    const sim_time_t now = platform_now(platform);
    bundle->timed = true;
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const double start_ms = planned_gpu(orion, bundle, s)->cold_start_mean_ms;
        if (application->stages[s].after_count == 0 || !(start_ms > 0))
            continue;
        const sim_time_t lead = bundle->plan->start[s] - sim_from_ms(start_ms);
        bundle->references++;
        platform_set_timer(platform, now + (lead > 0 ? lead : 0), index * WORKLOAD_MAX_STAGES + s);
    }
}

/* Starts a container where the planned batch would fit, else near the function's home. */
static bool prewarm_start(struct platform *platform, uint32_t function, uint32_t configuration)
{
    const uint32_t invokers = platform_workload(platform)->cluster.invoker_count;
    const uint32_t fit = platform_best_fit(platform, function, configuration, false);
    if (fit != SIM_NONE && platform_prewarm(platform, function, fit))
        return true;
    for (uint32_t which = 0; which < HOME_PROBES && which < invokers; which++)
        if (platform_prewarm(platform, function, platform_home(platform, function, which)))
            return true;
    return false;
}

static void prewarm_due(struct orion *orion, struct platform *platform, uint32_t index, size_t s)
{
    struct orion_bundle *bundle = &orion->bundles[index];
    const uint32_t f = bundle_function(orion, bundle, s);
    const struct function_gpu *gpu = planned_gpu(orion, bundle, s);
    if ((bundle->done >> s & 1u) != 0)
        return;
    bundle->due |= UINT32_C(1) << s;
    orion->expected[f]++;
    if (platform_warm_total(platform, f) + orion->starting[f] >= orion->expected[f] ||
        !prewarm_start(platform, f, bundle->plan->configuration[s]))
        return;
    orion->starting[f]++;
    platform_set_timer(platform,
                       platform_now(platform) +
                           sim_from_ms(gpu->cold_start_mean_ms * (1 + 3 * gpu->cold_start_cv)),
                       TIMER_STARTED | f);
}

static void orion_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct orion *orion = state;
    if ((id & TIMER_STARTED) != 0) {
        orion->starting[id & ~TIMER_STARTED]--;
        return;
    }
    prewarm_due(orion, platform, id / WORKLOAD_MAX_STAGES, id % WORKLOAD_MAX_STAGES);
    bundle_release(orion, id / WORKLOAD_MAX_STAGES);
}

/* ---- Right-sizing ---------------------------------------------------------------------------- */

/* The sizing for a bundle of at most the waiting jobs. */
static struct orion_sizing *sizing_for(const struct orion *orion, uint32_t application,
                                       uint32_t length)
{
    size_t level = orion->level_count - 1;
    while (orion->parameters->bundle == BUNDLE_QUEUED && level > 0 && orion->levels[level] > length)
        level--;
    return &orion->sizings[application * orion->level_count + level];
}

static const struct orion_plan *orion_plan(struct orion *orion, struct platform *platform,
                                           uint32_t queue, const struct job_view *job)
{
    struct orion_sizing *sizing = sizing_for(orion, platform_queue_application(platform, queue),
                                             platform_queue_length(platform, queue));
    const sim_time_t whole =
        orion->parameters->target == TARGET_SLO ? job->slo : job->deadline - platform_now(platform);
    const double left = (double)whole - orion->parameters->headroom * (double)job->slo;
    const uint32_t target = left > 0 ? (uint32_t)fmin(floor(left / sizing->model->bin + 1e-9),
                                                      (double)sizing->model->target)
                                     : 0;
    struct orion_plan *plan = sizing->plans[target];
    const bool known = plan != NULL;
    if (!known) {
        plan = platform_allocate(platform, 1, sizeof *plan);
        sizing->plans[target] = plan;
        orion_plan_search(sizing->model, target, orion->parameters->cutoff,
                          orion->parameters->method, plan);
    }
    if (known && orion->parameters->charge == CHARGE_FIRST) {
        platform_charge(platform, 1);
        return plan;
    }
    platform_charge(platform,
                    (uint64_t)llround(plan->evaluations * orion->parameters->evaluation_units));
    return plan;
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

/* Number of jobs at the head that run together: those with the same planned configuration, and jobs
 * without a plan, which join the head's plan. */
static uint32_t bundle_jobs(const struct orion *orion, const struct platform *platform,
                            uint32_t queue, const struct orion_plan *plan)
{
    const uint32_t stage = platform_queue_stage(platform, queue);
    const struct function *function =
        &orion->workload->functions[platform_queue_function(platform, queue)];
    const uint32_t batch = function->configurations[plan->configuration[stage]].batch;
    uint32_t most = platform_queue_length(platform, queue);
    most = most < batch ? most : batch;
    uint32_t jobs = 1;
    for (; jobs < most; jobs++) {
        const struct orion_request *other =
            orion_requests_find(&orion->requests, platform_job(platform, queue, jobs).request);
        if (other != NULL && other->plan->configuration[stage] != plan->configuration[stage])
            break;
    }
    return jobs;
}

/* An invoker for the batch. SIM_NONE if none fits, or if a starting container will be ready before
 * one that is started now. */
static uint32_t orion_place(const struct orion *orion, struct platform *platform, uint32_t queue,
                            uint32_t configuration)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const enum placement_rule rule = orion->parameters->placement;
    const bool wait = orion->starting[function] > 0 && platform_warm_total(platform, function) == 0;
    return placement_choose(platform, queue, configuration, rule, wait);
}

/* The same on any kind of GPU: where the planned one has no room, on another that takes no longer.
 * `configuration` is changed to it. */
static uint32_t orion_place_any(const struct orion *orion, struct platform *platform,
                                uint32_t queue, uint32_t jobs, uint32_t *configuration)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const struct configuration *all = orion->workload->functions[function].configurations;
    const uint32_t planned = *configuration;
    uint64_t kinds = KINDS_ALL;
    uint32_t invoker = orion_place(orion, platform, queue, *configuration);
    for (uint32_t tried = 1; tried < orion->workload->kind_count && invoker == SIM_NONE; tried++) {
        kinds = kinds_without(kinds, all[*configuration].kind);
        *configuration = planner_substitute(orion->workload, kinds, function, planned, jobs);
        if (*configuration == SIM_NONE)
            break;
        invoker = orion_place(orion, platform, queue, *configuration);
    }
    return invoker;
}

/* Removes the entries of requests that were dropped: on_withdrawn names a queue, on_refused an
 * invoker, and neither a request. An entry removed too early is planned again. */
static void forget_stale(struct orion *orion, sim_time_t now)
{
    struct orion_requests *requests = &orion->requests;
    for (size_t i = 0; i < requests->room; i++) {
        while (requests->slots[i].plan != NULL && now - requests->slots[i].deadline > STALE) {
            const uint32_t bundle = requests->slots[i].bundle;
            orion_requests_remove(requests, requests->slots[i].number);
            if (bundle != SIM_NONE)
                bundle_release(orion, bundle);
        }
    }
}

/* Stores the plan of a new request. */
static void orion_remember(struct orion *orion, struct platform *platform,
                           const struct job_view *job, uint32_t bundle,
                           const struct orion_plan *plan, uint32_t application)
{
    const struct orion_request request = {
        .number = job->request,
        .plan = plan,
        .bundle = bundle,
        .stages_left = (uint32_t)orion->workload->applications[application].stage_count,
        .deadline = job->deadline};
    orion_requests_add(&orion->requests, platform_arena(platform), &request);
    if (bundle != SIM_NONE)
        orion->bundles[bundle].references++;
}

/* A job of a batch is dispatched: its request is kept until its last stage has been dispatched. */
static void job_leaves(struct orion *orion, struct platform *platform, const struct job_view *job,
                       uint32_t bundle, const struct orion_plan *plan, uint32_t application,
                       uint32_t stage)
{
    if (orion_requests_find(&orion->requests, job->request) == NULL)
        orion_remember(orion, platform, job, bundle, plan, application);
    struct orion_request *request = orion_requests_find(&orion->requests, job->request);
    const uint32_t own = request->bundle;
    if (own != SIM_NONE)
        bundle_dispatched(orion, own, stage);
    if (--request->stages_left > 0)
        return;
    orion_requests_remove(&orion->requests, job->request);
    if (own != SIM_NONE)
        bundle_release(orion, own);
}

/* The plan of the request at the head of `queue`, from the map or made now. `bundle` receives its
 * bundle. */
static const struct orion_plan *orion_admit(struct orion *orion, struct platform *platform,
                                            uint32_t queue, uint32_t *bundle)
{
    const struct job_view head = platform_job(platform, queue, 0);
    const uint32_t application = platform_queue_application(platform, queue);
    const struct orion_request *known = orion_requests_find(&orion->requests, head.request);
    if (known != NULL) {
        platform_charge(platform, 1);
        *bundle = known->bundle;
        return known->plan;
    }
    if (orion->requests.count * 2 >= orion->requests.room && orion->requests.room >= SWEEP_FROM)
        forget_stale(orion, platform_now(platform));
    const struct orion_plan *plan = orion_plan(orion, platform, queue, &head);
    *bundle = bundle_open(orion, platform, plan, application);
    /* Held until the head is in the map. */
    if (*bundle != SIM_NONE)
        orion->bundles[*bundle].references = 1;
    orion_remember(orion, platform, &head, *bundle, plan, application);
    if (*bundle != SIM_NONE) {
        const bool kept = orion->bundles[*bundle].references > 1;
        bundle_release(orion, *bundle);
        *bundle = kept ? *bundle : SIM_NONE;
    }
    return plan;
}

/* Dispatches one batch of `queue` if it fits. */
static bool orion_try(struct orion *orion, struct platform *platform, uint32_t queue)
{
    const uint32_t application = platform_queue_application(platform, queue);
    const uint32_t stage = platform_queue_stage(platform, queue);
    const struct function *function =
        &orion->workload->functions[platform_queue_function(platform, queue)];
    uint32_t bundle;
    const struct orion_plan *plan = orion_admit(orion, platform, queue, &bundle);
    const uint32_t planned = plan->configuration[stage];
    const uint32_t jobs = bundle_jobs(orion, platform, queue, plan);
    uint32_t configuration = orion_fit_jobs(function, planned, jobs);
    const uint32_t invoker = orion_place_any(orion, platform, queue, jobs, &configuration);
    if (invoker == SIM_NONE)
        return false;
    if (bundle != SIM_NONE && !orion->bundles[bundle].timed &&
        orion->parameters->prewarm == PREWARM_AT_MEDIAN)
        prewarm_schedule(orion, platform, bundle);
    arena_reserve(platform_arena(platform), &orion->leaving, jobs, sizeof *orion->leaving);
    for (uint32_t i = 0; i < jobs; i++)
        orion->leaving[i] = platform_job(platform, queue, i);
    const double bin = sizing_for(orion, application, 1)->model->bin;
    platform_explain(platform, plan->evaluations, plan->cost_usd,
                     (sim_time_t)(plan->latency * bin));
    platform_planned(platform, planned);
    if (!platform_dispatch(platform, queue, jobs, configuration, invoker))
        return false;
    /* The first job of an application of one stage would release the bundle of the others. */
    if (bundle != SIM_NONE)
        orion->bundles[bundle].references++;
    for (uint32_t i = 0; i < jobs; i++)
        job_leaves(orion, platform, &orion->leaving[i], bundle, plan, application, stage);
    if (bundle != SIM_NONE)
        bundle_release(orion, bundle);
    return true;
}

static bool orion_decide(void *state, struct platform *platform)
{
    struct orion *orion = state;
    const uint32_t count = orion->workload->queue_count;
    const uint32_t begin = platform_next_queue(platform, orion->cursor);
    uint32_t queue = begin;
    while (queue != SIM_NONE) {
        const uint32_t after = (queue + 1) % count;
        if (orion_try(orion, platform, queue)) {
            orion->cursor = after;
            return platform_next_queue(platform, after) != SIM_NONE;
        }
        queue = platform_next_queue(platform, after);
        if (queue == begin)
            return false;
    }
    return false;
}

const struct policy policy_orion = {
    .abi = POLICY_ABI,
    .name = "orion",
    .summary = "Orion (OSDI'22): one plan per workflow by latency percentile, bundles, prewarming",
    .parameters = orion_parameters,
    .parameters_bytes = sizeof(struct orion_parameters),
    .state_bytes = sizeof(struct orion),
    .init = orion_init,
    .on_timer = orion_on_timer,
    .decide = orion_decide,
};
