/* Containers: cold starts, idle times and their bills, and the platform's predictor, which prewarms
 * containers. */
#include <inttypes.h>

#include "sim/platform/containers.h"
#include "sim/platform/batches.h"
#include "sim/platform/keep_alive.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/replay.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/state.h"
#include "sim/platform/warm_pool.h"

enum { HOME_PROBES = 8 };

sim_time_t containers_draw_cold(const struct platform *platform, const struct container *container,
                                enum random_purpose purpose, uint64_t a, uint32_t b)
{
    const struct function_gpu *spec = &platform->workload->functions[container->function]
                                           .gpus[cluster_kind(&platform->cluster, container->gpu)];
    if (!(spec->cold_start_cv > 0))
        return sim_from_ms(spec->cold_start_mean_ms);
    RANDOM_STREAM(stream, draw_seed(platform, platform->now), purpose, a, b);
    if (spec->cold_start_sample_count > 0)
        return sim_from_ms(spec->cold_start_samples_ms[gsl_rng_uniform_int(
            &stream.rng, spec->cold_start_sample_count)]);
    return sim_from_ms(spec->cold_start_mean_ms * random_noise(&stream, spec->cold_start_cv));
}

/* Bills the time from `since` until now, in which the container served no batch or instance. */
static void container_bill(struct platform *platform, const struct container *container,
                           sim_time_t since)
{
    struct metrics *metrics = &platform->metrics;
    const struct function *function = &platform->workload->functions[container->function];
    const struct configuration *least =
        &function->configurations[function->reference_configuration];
    since = since > metrics->window_start ? since : metrics->window_start;
    if (!metrics->measuring)
        return;
    metrics->idle_cost +=
        (double)(platform->now - since) * configuration_rate(platform, least, UNIT_PARTS);
    const sim_time_t until = metrics->arriving ? platform->now : metrics->last_arrival;
    if (until > since)
        metrics->idle_unit_ns +=
            (double)(until - since) *
            (least->vgpu * cluster_unit_weight(&platform->cluster, least->kind));
}

void containers_record(struct platform *platform, const struct container *container,
                       enum container_phase phase, sim_time_t from, bool evicted)
{
    const struct recorder *recorder = platform->recorder;
    if (recorder == NULL || recorder->container == NULL || platform->failed)
        return;
    const struct container_row row = {.container = container->serial,
                                      .function = container->function,
                                      .invoker = container->invoker,
                                      .gpu = container->gpu,
                                      .phase = (uint16_t)phase,
                                      .evicted = evicted,
                                      .from_ns = from,
                                      .until_ns = platform->now};
    if (!recorder->container(recorder->context, &row, platform->error))
        platform->failed = true;
}

/* The ready event is not needed after a claim, because the claimant has an event for its start. */
void containers_silence(struct platform *platform, uint32_t id)
{
    struct container *container = &platform->cluster.containers[id];
    if (container->state != CONTAINER_STARTING || container->expiry_event == 0)
        return;
    if (event_queue_cancel(platform->event_queue, container->expiry_event))
        platform->work_events--;
    container->expiry_event = 0;
    container_bill(platform, container, container->idle_since);
    containers_record(platform, container, CONTAINER_PHASE_STARTING, container->idle_since, false);
}

/* ---- Idle ------------------------------------------------------------------------------------ */

/* Each container has at most one pending expiry event. A use of the container does not cancel it.
 * When the event fires too early, its handler schedules it again. Uses therefore cost no operation
 * of the event queue. */
static void container_set_expiry(struct platform *platform, uint32_t id)
{
    struct container *container = &platform->cluster.containers[id];
    if (container->expiry >= SIM_FOREVER)
        return;
    if (container->expiry_event == 0)
        container->expiry_event =
            platform_schedule(platform, container->expiry, EVENT_CONTAINER_EXPIRY, id);
    else if (container->expiry >= container->rings_at)
        return;
    else if (!event_queue_retime(platform->event_queue, container->expiry_event, container->expiry))
        platform_fail(platform, "the event queue: %s", event_queue_fault(platform->event_queue));
    container->rings_at = container->expiry;
}

/* Batches in the queues of the function, each as full as it can be: jobs of two queues do not share
 * one. */
static uint64_t batches_waiting(const struct platform *platform, uint32_t function, uint32_t batch)
{
    uint64_t waiting = 0;
    for (uint32_t q = 0; q < platform->workload->queue_count; q++)
        if (platform->queues[q].function == function)
            waiting += (platform->queues[q].length + batch - 1) / batch;
    return waiting;
}

enum reach containers_reach(const struct platform *platform, uint32_t function,
                            const struct configuration *configuration)
{
    const enum cold_dispatch rule = platform->experiment->platform.cold_dispatch;
    if (rule == COLD_DISPATCH_START || platform->policy->places_containers)
        return REACH_ALL;
    const struct cluster *cluster = &platform->cluster;
    const uint64_t starting = cluster->functions[function].starting_total;
    if (rule == COLD_DISPATCH_LATE &&
        starting >= batches_waiting(platform, function, configuration->batch))
        return REACH_IDLE;
    if (!cluster_comes_free(cluster, function, configuration))
        return REACH_IDLE_OR_NEW;
    return rule == COLD_DISPATCH_LATE ? REACH_IDLE_OR_FREE : REACH_IDLE;
}

void containers_keep(struct platform *platform, uint32_t id, bool used)
{
    sim_time_t keep = keep_alive_time(platform, id, used);
    if (warm_pool_needs(platform, platform->cluster.containers[id].function,
                        platform->cluster.containers[id].invoker))
        keep = SIM_FOREVER;
    /* The policy may have evicted this container, or started others, which moves the array. */
    struct container *container = &platform->cluster.containers[id];
    if (container->state != CONTAINER_IDLE)
        return;
    container->fresh = container->fresh && !used;
    if (keep <= 0 && !container->fresh) {
        cluster_evict(&platform->cluster, id);
        return;
    }
    container->expiry = keep >= SIM_FOREVER ? SIM_FOREVER : platform->now + keep;
    container_set_expiry(platform, id);
}

/* Implements cluster.on_leave_idle. Cancels the expiry event only if the container is evicted. */
static void container_left_idle(void *context, const struct container *container, bool evicted)
{
    struct platform *platform = context;
    container_bill(platform, container, container->idle_since);
    containers_record(platform, container, CONTAINER_PHASE_IDLE, container->idle_since, evicted);
    if (!evicted)
        return;
    if (platform->backend != NULL)
        replay_refuse_eviction(platform, container);
    platform->metrics.evictions++;
    keep_alive_evicted(platform, container);
    if (container->expiry_event != 0)
        event_queue_cancel(platform->event_queue, container->expiry_event);
}

void containers_expire(struct platform *platform, uint32_t id)
{
    struct container *container = &platform->cluster.containers[id];
    container->expiry_event = 0;
    if (container->state != CONTAINER_IDLE)
        return; /* its next idle time sets a new event */
    if (container->expiry <= platform->now) {
        sim_time_t longer = warm_pool_needs(platform, container->function, container->invoker)
                                ? SIM_FOREVER
                                : keep_alive_extend(platform, id);
        if (longer > 0)
            container->expiry = longer >= SIM_FOREVER ? SIM_FOREVER : platform->now + longer;
    }
    const bool wanted = container->fresh && platform->controller.busy;
    if (wanted && container->expiry <= platform->now)
        container->expiry = platform->controller.free_at;
    if (wanted || container->expiry > platform->now) {
        container_set_expiry(platform, id);
        return;
    }
    metrics_integrate(&platform->metrics, &platform->cluster.use, platform->now);
    cluster_evict(&platform->cluster, id);
}

void containers_ready(struct platform *platform, uint32_t id)
{
    struct container *container = &platform->cluster.containers[id];
    container->expiry_event = 0;
    container_bill(platform, container, container->idle_since);
    containers_record(platform, container, CONTAINER_PHASE_STARTING, container->idle_since, false);
    metrics_integrate(&platform->metrics, &platform->cluster.use, platform->now);
    cluster_container_ready(&platform->cluster, id, platform->now);
    /* It started for jobs that wait: the controller is to see it, however short the keep-alive. */
    container->fresh = platform->experiment->platform.cold_dispatch == COLD_DISPATCH_LATE;
    containers_keep(platform, id, false);
    platform->controller.changed = true;
}

/* The new container starts at `from`, without a batch. */
static void container_begin(struct platform *platform, uint32_t id, sim_time_t from,
                            sim_time_t until)
{
    struct container *container = &platform->cluster.containers[id];
    if (platform->backend != NULL)
        replay_refuse_cold(platform, container->function, container->invoker);
    container->idle_since = platform->now;
    container->expiry = until;
    container->ready_at =
        from + containers_draw_cold(platform, container, RANDOM_PREWARM, container->serial, 0);
    container->expiry_event =
        platform_schedule(platform, container->ready_at, EVENT_CONTAINER_READY, id);
}

bool containers_prewarm(struct platform *platform, uint32_t function, uint32_t invoker)
{
    return containers_prewarm_until(platform, function, invoker, 0);
}

bool containers_prewarm_until(struct platform *platform, uint32_t function, uint32_t invoker,
                              sim_time_t until)
{
    const struct cluster_use before = platform->cluster.use;
    const bool on_gpu = cluster_function_runs(&platform->cluster, function, true);
    uint32_t id = cluster_prewarm(&platform->cluster, function, invoker, on_gpu);
    if (id == SIM_NONE)
        return false;
    metrics_integrate(&platform->metrics, &before, platform->now);
    container_begin(platform, id, platform->now, until);
    platform->metrics.prewarms++;
    return true;
}

void containers_start(struct platform *platform, uint32_t function,
                      const struct placement *placement)
{
    metrics_integrate(&platform->metrics, &platform->cluster.use, platform->now);
    const uint32_t id = cluster_start(&platform->cluster, function, placement);
    container_begin(platform, id, platform->now + controller_charged(platform), 0);
    platform->metrics.cold_starts++;
}

/* A function that runs with a GPU and without gets a container of each kind. */
static bool container_place_warm(struct platform *platform, uint32_t function, uint32_t invoker)
{
    bool placed = true;
    for (int on_gpu = 1; placed && on_gpu >= 0; on_gpu--) {
        if (!cluster_function_runs(&platform->cluster, function, on_gpu != 0))
            continue;
        uint32_t id = cluster_prewarm(&platform->cluster, function, invoker, on_gpu != 0);
        placed = id != SIM_NONE;
        if (!placed)
            continue;
        cluster_container_ready(&platform->cluster, id, 0);
        containers_keep(platform, id, false);
    }
    return placed;
}

/* Places the function's initial containers: on the listed invokers, or by its home order, again
 * from the first until a whole round places none. Returns how many found no room. */
static uint32_t initial_place(struct platform *platform, uint32_t function)
{
    const struct platform_spec *spec = &platform->experiment->platform;
    const int *listed = spec->initial_invokers[function];
    const uint32_t invokers = platform->cluster.invoker_count;
    uint32_t left = spec->initial_counts[function], failures = 0;
    for (uint32_t w = 0; left > 0 && failures < (listed != NULL ? 1 : invokers); w++) {
        const uint32_t invoker =
            listed != NULL ? (uint32_t)listed[w] : platform_home(platform, function, w % invokers);
        const bool placed = container_place_warm(platform, function, invoker);
        failures = placed ? 0 : failures + 1;
        left -= placed;
    }
    return left;
}

void containers_init(struct platform *platform)
{
    platform->cluster.on_leave_idle = container_left_idle;
    platform->cluster.context = platform;
    const struct platform_spec *spec = &platform->experiment->platform;
    uint32_t left = 0;
    for (uint32_t f = 0; f < platform->cluster.function_count && !platform->failed; f++) {
        for (uint32_t i = 0; spec->initial == INITIAL_WARM && i < platform->cluster.invoker_count;
             i++)
            container_place_warm(platform, f, i);
        if (spec->initial != INITIAL_COUNTS || (left = initial_place(platform, f)) == 0)
            continue;
        platform->failed = true;
        error_input(platform->error,
                    "%s: platform.initial.%s: memory holds only %" PRIu32 " of %" PRIu32
                    " containers; lower it, or use a cluster with more memory",
                    platform->experiment->path, platform->workload->functions[f].name,
                    spec->initial_counts[f] - left, spec->initial_counts[f]);
    }
}

/* ---- The platform's predictor ---------------------------------------------------------------- */

void predictor_observe(struct platform *platform, uint32_t function)
{
    struct predictor *predictor = &platform->predictors[function];
    double alpha = platform->experiment->platform.ewma_alpha;
    double interval = (double)(platform->now - predictor->last_ready);
    bool first = predictor->last_ready == 0 && predictor->interval_ns == 0;
    predictor->last_ready = platform->now;
    if (first)
        return;
    predictor->interval_ns = predictor->interval_ns == 0
                                 ? interval
                                 : alpha * interval + (1 - alpha) * predictor->interval_ns;
}

void predictor_plan(struct platform *platform, uint32_t function)
{
    struct predictor *predictor = &platform->predictors[function];
    if (platform->experiment->platform.prewarm != PREWARM_EWMA ||
        platform->cluster.functions[function].idle_total > 0 ||
        platform->cluster.functions[function].starting_total > 0)
        return;
    if (predictor->pending || predictor->interval_ns == 0)
        return;
    double cold = platform->workload->functions[function].gpus[0].cold_start_mean_ms * 1e6;
    double start = (double)predictor->last_ready + predictor->interval_ns - cold;
    double now = (double)platform->now;
    predictor->pending = true;
    platform_schedule(platform, start > now ? sim_whole(start) : platform->now, EVENT_PREWARM,
                      function);
}

void predictor_act(struct platform *platform, uint32_t function)
{
    struct cluster *cluster = &platform->cluster;
    platform->predictors[function].pending = false;
    if (cluster->functions[function].idle_total > 0 ||
        cluster->functions[function].starting_total > 0)
        return;
    for (uint32_t w = 0; w < HOME_PROBES && w < cluster->invoker_count; w++)
        if (containers_prewarm(platform, function, platform_home(platform, function, w)))
            return;
}
