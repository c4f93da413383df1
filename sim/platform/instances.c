#include "sim/platform/failures.h"
#include "sim/platform/instances.h"
#include "sim/platform/batches.h"
#include "sim/platform/containers.h"
#include "sim/platform/keep_alive.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/replay.h"
#include "sim/platform/requests.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/state.h"
#include "sched/policy_instances.h"

static void instances_grow(struct platform *platform)
{
    const uint32_t old = (uint32_t)platform->instance_capacity;
    arena_reserve(&platform->arena, &platform->instances, (size_t)old + 1,
                  sizeof *platform->instances);
    platform->instance_capacity = arena_room(platform->instances, sizeof *platform->instances);
    for (uint32_t i = old; i < platform->instance_capacity; i++)
        platform->instances[i] =
            (struct instance){.next_free = i + 1 < platform->instance_capacity ? i + 1 : SIM_NONE};
    platform->instance_free = old;
}

static const struct configuration *instance_configuration(const struct platform *platform,
                                                          const struct instance *instance)
{
    return &platform->workload->functions[instance->function]
                .configurations[instance->configuration];
}

void instances_bill(struct platform *platform, uint32_t id)
{
    struct instance *instance = &platform->instances[id];
    struct metrics *metrics = &platform->metrics;
    sim_time_t since = instance->unused_since > metrics->window_start ? instance->unused_since
                                                                      : metrics->window_start;
    if (metrics->measuring && since < platform->now)
        metrics->instance_cost +=
            (double)(platform->now - since) *
            configuration_rate(platform, instance_configuration(platform, instance),
                               instance->quota);
    instance->unused_since = platform->now;
}

/* Returns the time at which the container of the instance will be ready. */
static sim_time_t instance_ready_at(struct platform *platform, const struct instance *instance)
{
    struct container *container = &platform->cluster.containers[instance->container];
    if (container->state != CONTAINER_STARTING)
        return platform->now;
    if (platform->backend != NULL)
        replay_refuse_cold(platform, instance->function, instance->invoker);
    if (container->ready_at == SIM_FOREVER) {
        container->ready_at =
            platform->now + controller_charged(platform) +
            containers_draw_cold(platform, container, RANDOM_PREWARM, container->serial, 0);
        platform->metrics.cold_starts++;
    }
    return container->ready_at;
}

uint32_t instances_create(struct platform *platform, uint32_t function, uint32_t configuration,
                          uint32_t quota, const struct placement *placement)
{
    const struct configuration *spec =
        &platform->workload->functions[function].configurations[configuration];
    uint8_t slots = 0;
    metrics_integrate(&platform->metrics, &platform->cluster.use, platform->now);
    if (platform->instance_free == SIM_NONE)
        instances_grow(platform);
    const uint32_t container =
        cluster_reserve(&platform->cluster, function, spec, placement, &slots);
    cluster_share(&platform->cluster, container, false);
    containers_silence(platform, container);
    keep_alive_use(platform, container);
    uint32_t id = platform->instance_free;
    struct instance *instance = &platform->instances[id];
    platform->instance_free = instance->next_free;
    struct queue buffer = instance->buffer;
    *instance = (struct instance){.alive = true,
                                  .slots = slots,
                                  .quota = (uint8_t)quota,
                                  .function = function,
                                  .configuration = configuration,
                                  .invoker = placement->invoker,
                                  .gpu = placement->gpu,
                                  .container = container,
                                  .batch = SIM_NONE,
                                  .created = platform->now,
                                  .unused_since = platform->now};
    instance->buffer =
        (struct queue){.function = function, .ring = buffer.ring, .capacity = buffer.capacity};
    instance->buffer.changed = platform->now;
    instance->ready = instance_ready_at(platform, instance);
    bool starts = platform->cluster.containers[container].state == CONTAINER_STARTING;
    instance->state = starts ? INSTANCE_STARTING : INSTANCE_IDLE;
    if (starts)
        instance->ready_event =
            platform_schedule(platform, instance->ready, EVENT_INSTANCE_READY, id);
    platform->metrics.instances++;
    return platform->failed ? SIM_NONE : id;
}

void instances_restart(struct platform *platform, uint32_t id, sim_time_t back)
{
    struct instance *instance = &platform->instances[id];
    struct container *container = &platform->cluster.containers[instance->container];
    instances_bill(platform, id);
    instance->ready =
        back + containers_draw_cold(platform, container, RANDOM_PREWARM, container->serial, 0);
    instance->unused_since = instance->ready;
    if (instance->state == INSTANCE_STARTING &&
        !event_queue_retime(platform->event_queue, instance->ready_event, instance->ready))
        platform_fail(platform, "the event queue: %s", event_queue_fault(platform->event_queue));
}

void instances_ready(struct platform *platform, uint32_t id)
{
    struct instance *instance = &platform->instances[id];
    instance->ready_event = 0;
    instance->state = INSTANCE_IDLE;
    containers_record(platform, &platform->cluster.containers[instance->container],
                      CONTAINER_PHASE_STARTING, instance->created, false);
    cluster_container_ready(&platform->cluster, instance->container, platform->now);
    platform->controller.changed = true;
    policy_call_instance_ready(platform, id);
}

void instances_kill(struct platform *platform, uint32_t id)
{
    struct instance *instance = &platform->instances[id];
    bool starting = instance->state == INSTANCE_STARTING;
    uint32_t container = instance->container;
    instances_bill(platform, id);
    jobs_check_queue(platform, &instance->buffer, "buffer of instance", id);
    if (starting && event_queue_cancel(platform->event_queue, instance->ready_event))
        platform->work_events--;
    if (starting) { /* becomes busy for a moment, because only a busy container can be released */
        containers_record(platform, &platform->cluster.containers[container],
                          CONTAINER_PHASE_STARTING, instance->created, false);
        cluster_container_ready(&platform->cluster, container, platform->now);
    }
    metrics_integrate(&platform->metrics, &platform->cluster.use, platform->now);
    cluster_share(&platform->cluster, container, true);
    cluster_release(&platform->cluster, container, instance_configuration(platform, instance),
                    instance->slots, platform->now);
    if (platform->options->instance_ended != NULL)
        platform->options->instance_ended(
            platform->options->context,
            &(struct instance_life){instance->function, instance->configuration, instance->created,
                                    platform->now});
    instance->alive = false;
    instance->next_free = platform->instance_free;
    platform->instance_free = id;
    const bool down = !platform_invoker_up(platform, instance->invoker);
    if (starting)
        keep_alive_abandon(platform, container);
    if (starting || down) {
        cluster_evict(&platform->cluster, container);
        failures_withdraw(platform, instance->invoker);
    } else {
        containers_keep(platform, container, true);
    }
}

bool instances_set_share(struct platform *platform, uint32_t id, uint32_t configuration,
                         uint32_t quota)
{
    struct instance *instance = &platform->instances[id];
    const struct configuration *from = instance_configuration(platform, instance);
    const struct configuration *to =
        &platform->workload->functions[instance->function].configurations[configuration];
    const struct cluster_use before = platform->cluster.use;
    if (!cluster_reshare(&platform->cluster, instance->container, from, to, quota))
        return false;
    metrics_integrate(&platform->metrics, &before, platform->now);
    failures_withdraw(platform, instance->invoker);
    bool executing = instance->batch != SIM_NONE && platform->batches[instance->batch].executing;
    if (!executing)
        instances_bill(platform, id);
    instance->configuration = configuration;
    instance->quota = (uint8_t)quota;
    if (instance->batch != SIM_NONE)
        batches_reshare(platform, instance->batch, configuration, quota);
    return !platform->failed;
}

sim_time_t instances_cold_wait(const struct platform *platform, uint32_t id, uint32_t job)
{
    if (id == SIM_NONE)
        return 0;
    sim_time_t entered = platform->jobs[job].entered;
    sim_time_t ready = platform->instances[id].ready;
    sim_time_t until = platform->now < ready ? platform->now : ready;
    return until > entered ? until - entered : 0;
}

void instances_close(struct platform *platform)
{
    for (uint32_t i = 0; i < platform->instance_capacity && !platform->failed; i++)
        if (platform->instances[i].alive)
            instances_kill(platform, i);
}
