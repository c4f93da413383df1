#include <inttypes.h>

#include "sim/platform/batches.h"
#include "sim/platform/containers.h"
#include "sim/platform/gpu_work.h"
#include "sim/platform/instances.h"
#include "sim/platform/keep_alive.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/replay.h"
#include "sim/platform/requests.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/waits.h"

/* ---- Pool ------------------------------------------------------------------------------------ */

/* Not inlined: it is rare, and its caller is hot. */
static __attribute__((noinline)) void batches_grow(struct platform *platform)
{
    arena_reserve(&platform->arena, &platform->batches, platform->batch_room + 1,
                  sizeof *platform->batches);
    platform->batch_room = arena_room(platform->batches, sizeof *platform->batches);
}

double configuration_rate(const struct platform *platform, const struct configuration *spec,
                          uint32_t quota)
{
    const struct workload *workload = platform->workload;
    double vgpu = quota_part(spec->vgpu, quota);
    return (spec->vcpu * workload->cluster.vcpu_hour_usd +
            vgpu * workload->kinds[spec->kind].vgpu_hour_usd) /
           (double)SIM_HOUR;
}

/* ---- Execution and rates --------------------------------------------------------------------- */

/* Time at rate 1, in ns: nominal time × noise of the oldest job, or the remaining work if the share
 * was changed. */
double batch_work(const struct platform *platform, const struct batch *batch)
{
    const struct function *function =
        &platform->workload->functions[batch_function(platform, batch)];
    const struct configuration *spec = &function->configurations[batch->configuration];
    const double noise = platform->jobs[batch->first_job].used_noise;
    if (batch->reshared)
        return batch->work;
    if (function->service == SERVICE_PROFILE)
        return (double)spec->time * noise;
    return noise * 1e6 / (spec->vgpu > 0 ? platform->workload->kinds[spec->kind].speed : 1);
}

void batches_start(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    batch->executing = true;
    if (batch->instance != SIM_NONE)
        instances_bill(platform, batch->instance);
    if (platform->cluster.containers[batch->container].state == CONTAINER_STARTING)
        cluster_container_ready(&platform->cluster, batch->container, platform->now);
    if (batch->gpu != SIM_NONE)
        platform->cluster.gpus[batch->gpu].executing_count++;
    if (gpu_interferes(platform, batch->gpu)) {
        gpu_work_add(platform, id);
        return;
    }
    sim_time_t duration = sim_ceil(batch_work(platform, batch) / quota_part(1, batch->quota));
    if (platform->backend != NULL) {
        replay_start(platform, id, duration);
        return;
    }
    batch->event = platform_schedule(platform, platform->now + duration, EVENT_BATCH_FINISH, id);
}

/* Updates work and cost to the present time, before a change of share. `disturbed`: other batches
 * interfere with it. */
static void batch_settle(struct platform *platform, uint32_t id, bool disturbed)
{
    struct batch *batch = &platform->batches[id];
    const struct configuration *spec = batch_configuration(platform, batch);
    const double rate = quota_part(1, batch->quota);
    double left = disturbed ? gpu_work_left(platform, id)
                            : batch->work - rate * (double)(platform->now - batch->priced_since);
    left = left > 0 ? left : 0;
    batch->billed += (double)(platform->now - batch->priced_since) *
                     configuration_rate(platform, spec, batch->quota);
    batch->priced_since = platform->now;
    batch->alone += (batch->work - left) / rate;
    batch->work = left;
}

/* Starts the batch's own account of work and cost. */
static void batch_set_reshared(struct platform *platform, struct batch *batch)
{
    if (batch->reshared)
        return;
    batch->work = batch_work(platform, batch);
    batch->priced_since = batch->started;
    batch->alone = batch->billed = 0;
    batch->reshared = true;
}

void batches_reshare(struct platform *platform, uint32_t id, uint32_t configuration, uint32_t quota)
{
    struct batch *batch = &platform->batches[id];
    const struct function *function =
        &platform->workload->functions[batch_function(platform, batch)];
    if (batch->answered) {
        batch->configuration = configuration;
        batch->quota = (uint8_t)quota;
        return;
    }
    const bool disturbed = batch_works(batch) && gpu_interferes(platform, batch->gpu);
    batch_set_reshared(platform, batch);
    if (batch->executing)
        batch_settle(platform, id, disturbed);
    if (function->service == SERVICE_PROFILE)
        batch->work *= (double)function->configurations[configuration].time /
                       (double)function->configurations[batch->configuration].time;
    batch->configuration = configuration;
    batch->quota = (uint8_t)quota;
    if (!batch_works(batch))
        return;
    if (platform->backend != NULL) {
        replay_refuse_reshare(platform, id);
        return;
    }
    if (disturbed) {
        gpu_work_reshare(platform, id);
        return;
    }
    sim_time_t finish = platform->now + sim_ceil(batch->work / quota_part(1, batch->quota));
    if (!event_queue_retime(platform->event_queue, batch->event, finish))
        platform_fail(platform, "the event queue: %s", event_queue_fault(platform->event_queue));
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

/* Input transfer of the whole batch: the output of its jobs' predecessors on other invokers, over
 * one link and with one latency. */
static sim_time_t batch_transfer(const struct platform *platform, const struct batch *batch)
{
    const struct platform_spec *spec = &platform->experiment->platform;
    double bytes = 0;
    bool remote = false;
    for (uint32_t job = batch->first_job; job != SIM_NONE; job = platform->jobs[job].next) {
        const struct request *request = job_request(platform, job);
        const struct application *application =
            &platform->workload->applications[request->application];
        const struct stage *stage = &application->stages[job_stage(platform, job)];
        uint32_t first = job - job_stage(platform, job);
        for (size_t i = 0; i < stage->after_count; i++) {
            if (platform->jobs[first + stage->after[i]].invoker == batch->invoker)
                continue;
            remote = true;
            bytes += application->stages[stage->after[i]].output_bytes;
        }
    }
    if (!remote)
        return 0;
    return sim_from_ms(spec->transfer_latency_ms +
                       bytes * 8.0 / (spec->transfer_bandwidth_gbps * 1e9) * 1e3);
}

/* All jobs of a batch have the noise of the oldest. */
static void batch_set_noise(struct platform *platform, const struct batch *batch)
{
    const uint16_t kind = batch_configuration(platform, batch)->kind;
    /* In a run that swerves, a job's noise was another until here. */
    if (platform->options->swerve > 0)
        for (uint32_t job = batch->first_job; job != SIM_NONE; job = platform->jobs[job].next)
            platform->jobs[job].noise = job_noise_unlike(platform, job, 0);
    const double noise = job_noise(platform, batch->first_job, kind);
    for (uint32_t job = batch->first_job; job != SIM_NONE; job = platform->jobs[job].next) {
        platform->jobs[job].used_noise = noise;
        platform->jobs[job].invoker = batch->invoker;
    }
}

/* Sets the time at which both the input and the container are ready. */
static void batch_set_start(struct platform *platform, struct batch *batch)
{
    struct container *container = &platform->cluster.containers[batch->container];
    const sim_time_t input_there = batch->launched + batch->transfer;
    batch->started = input_there;
    if (batch->instance != SIM_NONE &&
        platform->instances[batch->instance].ready > input_there) { /* after an outage */
        batch->started = platform->instances[batch->instance].ready;
        batch->cold = true;
    }
    if (container->state != CONTAINER_STARTING)
        return; /* always so for an instance: it launches only after its first start */
    if (platform->backend != NULL)
        replay_refuse_cold(platform, batch_function(platform, batch), batch->invoker);
    const struct request *head = job_request(platform, batch->first_job);
    if (container->ready_at == SIM_FOREVER) {
        batch->cold = true;
        container->ready_at =
            input_there + containers_draw_cold(platform, container, RANDOM_COLD_START, head->number,
                                               platform->queues[batch->queue].stage);
        platform->metrics.cold_starts++;
    }
    if (container->ready_at > input_there) {
        batch->started = container->ready_at;
        batch->cold = true;
    }
}

/* Number of jobs left in the queue or buffer that the batch was taken from. */
static uint32_t source_length(const struct platform *platform, const struct batch *batch)
{
    return batch->instance == SIM_NONE ? platform->queues[batch->queue].length
                                       : platform->instances[batch->instance].buffer.length;
}

static void decision_record(struct platform *platform, const struct batch *batch)
{
    const struct recorder *recorder = platform->recorder;
    const struct controller *controller = &platform->controller;
    if (recorder == NULL || recorder->decision == NULL)
        return;
    if (platform->waits != NULL)
        waits_record(platform, batch);
    struct decision_row row = {.time_ns = platform->now,
                               .charged_ns = controller_charged(platform),
                               .units = controller->units,
                               .queue = batch->queue,
                               .queue_length = source_length(platform, batch) + batch->jobs,
                               .invoker = batch->invoker,
                               .configuration = batch->configuration,
                               .jobs = batch->jobs,
                               .alternatives = controller->alternatives,
                               .plan_cost_usd = controller->plan_cost,
                               .plan_time_ns = controller->plan_time,
                               .batch = batch->number};
    if (!recorder->decision(recorder->context, &row, platform->error))
        platform->failed = true;
}

/* Sets whether the batch was planned ahead, and whether it deviates from the plan. */
static void batch_set_planned(struct platform *platform, struct batch *batch)
{
    const struct function *function =
        &platform->workload->functions[batch_function(platform, batch)];
    const uint32_t planned = platform->controller.planned;
    platform->controller.planned = SIM_NONE;
    if (planned == SIM_NONE)
        return;
    if (planned >= function->configuration_count) {
        platform_fail(platform,
                      "rule range: planned configuration %" PRIu32 " of %s, which has %zu", planned,
                      function->name, function->configuration_count);
        return;
    }
    batch->planned = true;
    batch->planned_missed =
        planned != batch->configuration || batch->jobs < function->configurations[planned].batch;
}

/* Launches a batch that has its jobs and its container. */
static bool batch_launch(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    if (platform->failed)
        return false;
    batch_set_start(platform, batch);
    decision_record(platform, batch);
    if (batch->started == platform->now)
        batches_start(platform, id);
    else
        batch->event = platform_schedule(platform, batch->started, EVENT_BATCH_START, id);
    return !platform->failed;
}

/* Returns a new batch with a number. SIM_NONE: memory exhausted, platform failed. */
static inline uint32_t batch_take(struct platform *platform)
{
    uint32_t id = platform->batch_free;
    if (id != SIM_NONE) {
        platform->batch_free = platform->batches[id].first_job;
    } else {
        if (platform->batches_used == platform->batch_room)
            batches_grow(platform);
        id = platform->batches_used++;
    }
    platform->dispatched = platform->now;
    platform->batches[id] = (struct batch){.number = platform->next_batch++,
                                           .instance = SIM_NONE,
                                           .quota = UNIT_PARTS,
                                           .dispatched = platform->now};
    platform->running_batches++;
    return id;
}

/* `first`: the oldest job, linked to the others. */
static void batch_fill(struct platform *platform, uint32_t id, uint32_t first, uint32_t jobs)
{
    if (platform->failed)
        return;
    struct batch *batch = &platform->batches[id];
    batch->first_job = first;
    batch->jobs = (uint16_t)jobs;
    if (batch->instance != SIM_NONE)
        batch->queue = job_queue(platform, first);
    batch_set_planned(platform, batch);
    batch->launched = platform->now + controller_charged(platform);
    batch->transfer = batch_transfer(platform, batch);
    batch_set_noise(platform, batch);
}

bool batches_launch(struct platform *platform, uint32_t id, uint32_t jobs)
{
    struct instance *instance = &platform->instances[id];
    uint32_t batch = batch_take(platform);
    struct batch *state = &platform->batches[batch];
    state->configuration = instance->configuration;
    state->invoker = instance->invoker;
    state->gpu = instance->gpu;
    state->container = instance->container;
    state->instance = id;
    state->quota = instance->quota;
    instance->state = INSTANCE_BUSY;
    instance->batch = batch;
    batch_fill(platform, batch, jobs_take_buffered(platform, id, jobs), jobs);
    return batch_launch(platform, batch);
}

bool batches_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                      uint32_t configuration, uint32_t invoker)
{
    const struct queue *source = &platform->queues[queue];
    const struct configuration *spec =
        &platform->workload->functions[source->function].configurations[configuration];
    struct placement placement;
    if (!cluster_place(&platform->cluster, source->function, spec, invoker,
                       containers_reach(platform, source->function, spec), &placement)) {
        platform_fail(platform,
                      "rule over-commit: a batch of %s with %u vCPU and %u vGPU does not "
                      "fit on invoker %" PRIu32 "; ask platform_fits first",
                      platform->workload->functions[source->function].name, spec->vcpu, spec->vgpu,
                      invoker);
        return false;
    }
    if (placement.container == SIM_NONE && !platform->policy->places_containers &&
        platform->experiment->platform.cold_dispatch == COLD_DISPATCH_LATE) {
        containers_start(platform, source->function, &placement);
        return false;
    }
    uint32_t id = batch_take(platform);
    struct batch *batch = &platform->batches[id];
    batch->configuration = configuration;
    batch->invoker = invoker;
    batch->gpu = placement.gpu;
    batch->queue = queue;
    batch_fill(platform, id, jobs_take(platform, queue, jobs), jobs);
    metrics_integrate(&platform->metrics, &platform->cluster.use, platform->now);
    batch->container =
        cluster_reserve(&platform->cluster, source->function, spec, &placement, &batch->slots);
    containers_silence(platform, batch->container);
    keep_alive_use(platform, batch->container);
    predictor_plan(platform, source->function);
    return batch_launch(platform, id);
}

/* ---- Finish ---------------------------------------------------------------------------------- */

/* Gives back the share and the container, or makes the instance idle, and frees the slot. */
static void batch_release(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    if (batch->instance != SIM_NONE) {
        struct instance *instance = &platform->instances[batch->instance];
        instance->state = INSTANCE_IDLE;
        instance->batch = SIM_NONE;
    } else {
        metrics_integrate(&platform->metrics, &platform->cluster.use, platform->now);
        cluster_release(&platform->cluster, batch->container, batch_configuration(platform, batch),
                        batch->slots, platform->now);
        containers_keep(platform, batch->container, true);
    }
    batch->jobs = 0;
    batch->first_job = platform->batch_free;
    platform->batch_free = id;
    platform->running_batches--;
    platform->controller.changed = true;
}

static struct finished_batch batch_finished(const struct batch *batch)
{
    return (struct finished_batch){.queue = batch->queue,
                                   .invoker = batch->invoker,
                                   .instance = batch->instance,
                                   .jobs = batch->jobs,
                                   .configuration = batch->configuration,
                                   .started = batch->started,
                                   .execution = batch->finished - batch->started};
}

void batches_release(struct platform *platform, uint32_t id)
{
    const struct finished_batch finished = batch_finished(&platform->batches[id]);
    batch_release(platform, id);
    policy_call_finish(platform, &finished);
}

void batches_finish(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    batch->worked = true;
    if (batch->gpu != SIM_NONE)
        platform->cluster.gpus[batch->gpu].executing_count--;
    if (gpu_interferes(platform, batch->gpu))
        gpu_work_remove(platform, id);
    if (platform->host > 0)
        batch->event =
            platform_schedule(platform, platform->now + platform->host, EVENT_BATCH_ANSWER, id);
    else
        batches_answer(platform, id);
}

void batches_answer(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    const sim_time_t turnaround = batch_turnaround(platform, batch);
    uint32_t job = batch->first_job;
    batch->finished = platform->now;
    batch_account(platform, batch, batch_configuration(platform, batch));
    if (batch->instance != SIM_NONE)
        platform->instances[batch->instance].unused_since = platform->now;
    const struct finished_batch finished = batch_finished(batch);
    if (turnaround > 0) {
        batch->answered = true;
        batch->executing = false;
        batch->event =
            platform_schedule(platform, platform->now + turnaround, EVENT_BATCH_RELEASE, id);
    } else {
        batch_release(platform, id);
    }
    while (job != SIM_NONE) {
        uint32_t next = platform->jobs[job].next;
        jobs_done(platform, job);
        job = next;
    }
    if (turnaround == 0)
        policy_call_finish(platform, &finished);
}

/* Stops a batch whose invoker has failed: its execution, or the event that it waits for. */
static void batch_stop(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    struct container *container = &platform->cluster.containers[batch->container];
    if (batch_works(batch) && batch->gpu != SIM_NONE)
        platform->cluster.gpus[batch->gpu].executing_count--;
    const bool interferes = batch_works(batch) && gpu_interferes(platform, batch->gpu);
    /* With interference there is one event for all batches of the GPU. */
    if (event_queue_cancel(platform->event_queue,
                           interferes ? platform->gpu_work[batch->gpu].event : batch->event))
        platform->work_events--;
    if (interferes)
        gpu_work_remove(platform, id);
    if (container->state == CONTAINER_STARTING) /* only a busy one can be released */
        cluster_container_ready(&platform->cluster, batch->container, platform->now);
    if (batch->started > platform->now)
        batch->started = platform->now;
    if (!batch->answered)
        batch->finished = platform->now;
}

uint32_t batches_lose(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    uint32_t job = batch->answered ? SIM_NONE : batch->first_job;
    uint32_t dropped = 0;
    batch_stop(platform, id);
    if (!batch->answered)
        batch_record_lost(platform, batch);
    struct finished_batch finished = batch_finished(batch);
    finished.lost = true;
    batch_release(platform, id);
    while (job != SIM_NONE) {
        const uint32_t next = platform->jobs[job].next, slot = job_slot(platform, job);
        struct request *request = &platform->requests[slot];
        dropped += !request->dropped;
        platform->jobs[job].state = JOB_DONE;
        request->running--;
        request->left--;
        jobs_drop(platform, slot);
        job = next;
    }
    policy_call_finish(platform, &finished);
    return dropped;
}
