#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/state.h"

enum { HOME_PROBES = 8 };

/* ---- Pool ------------------------------------------------------------------------------------ */

static bool batches_grow(struct platform *platform)
{
    uint32_t old = platform->batch_capacity;
    uint32_t capacity = old == 0 ? 64 : 2 * old;
    struct batch *batches = realloc(platform->batches, capacity * sizeof *batches);
    if (batches == NULL)
        return false;
    for (uint32_t i = old; i < capacity; i++)
        batches[i] = (struct batch){.first_job = i + 1 < capacity ? i + 1 : SIM_NONE};
    platform->batches = batches;
    platform->batch_capacity = capacity;
    platform->batch_free = old;
    return true;
}

bool batches_init(struct platform *platform)
{
    platform->batch_free = SIM_NONE;
    platform->instance_free = SIM_NONE;
    platform->gpu_work = calloc(platform->cluster.gpu_count + 1, sizeof *platform->gpu_work);
    return platform->gpu_work != NULL && batches_grow(platform);
}

void batches_clear(struct platform *platform)
{
    for (uint32_t g = 0; platform->gpu_work != NULL && g < platform->cluster.gpu_count; g++) {
        free(platform->gpu_work[g].executions);
        free(platform->gpu_work[g].runners);
    }
    free(platform->gpu_work);
    free(platform->batches);
}

static const struct configuration *batch_configuration(const struct platform *platform,
                                                       const struct batch *batch)
{
    return &platform->workload->functions[batch->function].configurations[batch->configuration];
}

double configuration_rate(const struct platform *platform, const struct configuration *spec,
                          uint32_t quota)
{
    const struct cluster_spec *cluster = &platform->workload->cluster;
    double vgpu = spec->vgpu * ((double)quota / UNIT_PARTS);
    return (spec->vcpu * cluster->vcpu_hour_usd + vgpu * cluster->vgpu_hour_usd) / (double)SIM_HOUR;
}

/* ---- Execution and rates --------------------------------------------------------------------- */

static double batch_speed(const struct platform *platform, const struct batch *batch)
{
    double speed = batch->gpu == SIM_NONE ? 1.0 : platform->cluster.gpus[batch->gpu].spec->speed;
    return speed * ((double)batch->quota / UNIT_PARTS);
}

static bool gpu_interferes(const struct platform *platform, uint32_t gpu)
{
    return platform->interference && gpu != SIM_NONE &&
           platform->cluster.gpus[gpu].spec->sharing == SHARING_MPS;
}

/* A batch that has its share for a part of the time weighs on the others by that part. */
static struct prepared_runner batch_runner(const struct platform *platform,
                                           const struct batch *batch)
{
    const struct function *function = &platform->workload->functions[batch->function];
    const struct gpu_spec *gpu = platform->cluster.gpus[batch->gpu].spec;
    const struct co_runner runner = {.index = function->interference_index,
                                     .demand = function->bandwidth_share,
                                     .share = (double)batch_configuration(platform, batch)->vgpu /
                                              gpu->units * ((double)batch->quota / UNIT_PARTS)};
    return interference_prepare(platform->workload->interference, &runner);
}

static bool work_grow(struct gpu_work *work)
{
    uint32_t capacity = work->capacity == 0 ? 4 : 2 * work->capacity;
    struct execution *executions = realloc(work->executions, capacity * sizeof *executions);
    if (executions != NULL)
        work->executions = executions;
    struct prepared_runner *runners = realloc(work->runners, capacity * sizeof *runners);
    if (runners != NULL)
        work->runners = runners;
    if (executions == NULL || runners == NULL)
        return false;
    work->capacity = capacity;
    return true;
}

/* Puts the batch first among those that execute on its GPU. */
static bool work_add(struct platform *platform, struct gpu_work *work, uint32_t id)
{
    const struct batch *batch = &platform->batches[id];
    if (work->count == work->capacity && !work_grow(work)) {
        platform_fail(platform, "out of memory for %" PRIu32 " batches on a GPU", work->count);
        return false;
    }
    memmove(work->executions + 1, work->executions, work->count * sizeof *work->executions);
    memmove(work->runners + 1, work->runners, work->count * sizeof *work->runners);
    work->count++;
    work->runners[0] = batch_runner(platform, batch);
    work->executions[0] = (struct execution){.batch = id,
                                             .work = batch->work,
                                             .speed = batch_speed(platform, batch),
                                             .updated = platform->now,
                                             .finish = SIM_FOREVER};
    return true;
}

static uint32_t work_find(const struct gpu_work *work, uint32_t id)
{
    uint32_t i = 0;
    while (work->executions[i].batch != id)
        i++;
    return i;
}

static void work_remove(struct gpu_work *work, uint32_t id)
{
    uint32_t i = work_find(work, id);
    uint32_t after = --work->count - i;
    memmove(work->executions + i, work->executions + i + 1, after * sizeof *work->executions);
    memmove(work->runners + i, work->runners + i + 1, after * sizeof *work->runners);
}

/* The first to finish; there is one. */
static const struct execution *work_first(const struct gpu_work *work)
{
    const struct execution *first = &work->executions[0];
    for (uint32_t i = 1; i < work->count; i++) {
        const struct execution *other = &work->executions[i];
        if (other->finish < first->finish ||
            (other->finish == first->finish && other->order < first->order))
            first = other;
    }
    return first;
}

/* The GPU's event comes when the first of its batches finishes. */
static void work_schedule(struct platform *platform, struct gpu_work *work)
{
    if (work->count == 0)
        return;
    const struct execution *first = work_first(work);
    bool done;
    if (work->event == 0) {
        platform->work_events++;
        work->event = calendar_push_ordered(platform->calendar, first->finish, first->order,
                                            EVENT_BATCH_FINISH, first->batch);
        done = work->event != 0;
    } else {
        done = calendar_retime_ordered(platform->calendar, work->event, first->finish, first->order,
                                       first->batch);
    }
    if (!done)
        platform_fail(platform, "the event calendar: %s", calendar_fault(platform->calendar));
}

/* Rates on a GPU: speed / slowdown among the batches that execute there. */
static void work_update(struct platform *platform, struct gpu_work *work)
{
    const struct interference *model = platform->workload->interference;
    for (uint32_t i = 0; i < work->count; i++) {
        struct execution *execution = &work->executions[i];
        double rate =
            execution->speed / interference_slowdown_prepared(model, work->runners, work->count, i);
        if (execution->finish != SIM_FOREVER) {
            execution->work -= execution->rate * (double)(platform->now - execution->updated);
            execution->work = execution->work > 0 ? execution->work : 0;
            execution->updated = platform->now;
            if (rate == execution->rate)
                continue;
        }
        execution->rate = rate;
        execution->finish = platform->now + (sim_time_t)ceil(execution->work / rate);
        execution->order = calendar_draw_order(platform->calendar);
    }
    work_schedule(platform, work);
}

void batches_start(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    batch->started = platform->now;
    batch->priced_since = platform->now;
    batch->executing = true;
    if (batch->instance != SIM_NONE)
        instances_bill(platform, batch->instance);
    if (platform->cluster.containers[batch->container].state == CONTAINER_STARTING)
        cluster_container_ready(&platform->cluster, batch->container, platform->now);
    if (batch->gpu != SIM_NONE)
        platform->cluster.gpus[batch->gpu].executing_count++;
    if (gpu_interferes(platform, batch->gpu)) {
        struct gpu_work *work = &platform->gpu_work[batch->gpu];
        if (work_add(platform, work, id))
            work_update(platform, work);
        return;
    }
    sim_time_t duration = (sim_time_t)ceil(batch->work / batch_speed(platform, batch));
    if (platform->backend != NULL)
        replay_start(platform, id, duration);
    else
        batch->finish_event =
            platform_schedule(platform, platform->now + duration, EVENT_BATCH_FINISH, id);
}

/* Settles work and bill up to now, so that both can go on under other terms. `execution`: of a
 * batch that others disturb; NULL: none do. */
static void batch_settle(struct platform *platform, struct batch *batch,
                         const struct execution *execution)
{
    const struct configuration *spec = batch_configuration(platform, batch);
    const double speed = batch_speed(platform, batch);
    double left =
        execution != NULL
            ? execution->work - execution->rate * (double)(platform->now - execution->updated)
            : batch->work - speed * (double)(platform->now - batch->priced_since);
    left = left > 0 ? left : 0;
    batch->billed += (double)(platform->now - batch->priced_since) *
                     configuration_rate(platform, spec, batch->quota);
    batch->priced_since = platform->now;
    batch->alone += (batch->work - left) / speed;
    batch->work = left;
}

void batches_reshare(struct platform *platform, uint32_t id, uint32_t configuration, uint32_t quota)
{
    struct batch *batch = &platform->batches[id];
    const struct function *function = &platform->workload->functions[batch->function];
    struct gpu_work *work = NULL;
    struct execution *execution = NULL;
    if (batch->executing && gpu_interferes(platform, batch->gpu)) {
        work = &platform->gpu_work[batch->gpu];
        execution = &work->executions[work_find(work, id)];
    }
    if (batch->executing)
        batch_settle(platform, batch, execution);
    if (function->service == SERVICE_PROFILE)
        batch->work *= (double)function->configurations[configuration].time /
                       (double)function->configurations[batch->configuration].time;
    batch->configuration = configuration;
    batch->quota = (uint8_t)quota;
    if (!batch->executing)
        return;
    if (platform->backend != NULL) {
        replay_refuse_reshare(platform, id);
        return;
    }
    if (execution != NULL) {
        work->runners[execution - work->executions] = batch_runner(platform, batch);
        execution->work = batch->work;
        execution->speed = batch_speed(platform, batch);
        execution->updated = platform->now;
        execution->finish = SIM_FOREVER; /* the finish moves even where rates agree */
        work_update(platform, work);
        return;
    }
    sim_time_t finish =
        platform->now + (sim_time_t)ceil(batch->work / batch_speed(platform, batch));
    if (!calendar_retime(platform->calendar, batch->finish_event, finish))
        platform_fail(platform, "the event calendar: %s", calendar_fault(platform->calendar));
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

/* The last idle container of `function` was taken: a container must start a cold start's time
 * before the next job is expected. */
static void predictor_plan(struct platform *platform, uint32_t function)
{
    struct predictor *predictor = &platform->predictors[function];
    if (predictor->pending || predictor->interval_ns == 0)
        return;
    double cold = platform->workload->functions[function].cold_start_mean_ms * 1e6;
    double start = (double)predictor->last_ready + predictor->interval_ns - cold;
    double now = (double)platform->now;
    predictor->pending = true;
    platform_schedule(platform, start > now ? (sim_time_t)start : platform->now, EVENT_PREWARM,
                      function);
}

void predictor_act(struct platform *platform, uint32_t function)
{
    struct cluster *cluster = &platform->cluster;
    platform->predictors[function].pending = false;
    if (cluster->idle_total[function] > 0 || cluster->starting_total[function] > 0)
        return;
    for (uint32_t w = 0; w < HOME_PROBES && w < cluster->invoker_count; w++)
        if (containers_prewarm(platform, function, platform_home(platform, function, w)))
            return;
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

/* Input transfer of the whole batch: the bytes that its jobs' predecessors left on other invokers,
 * over one link, behind one latency. */
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

sim_time_t containers_draw_cold(const struct platform *platform, uint32_t function,
                                enum random_purpose purpose, uint64_t a, uint32_t b)
{
    const struct function *spec = &platform->workload->functions[function];
    if (!(spec->cold_start_cv > 0))
        return sim_from_ms(spec->cold_start_mean_ms);
    struct random_stream stream;
    random_stream_open(&stream, platform->experiment->seed, purpose, a, b);
    return sim_from_ms(spec->cold_start_mean_ms * random_noise(&stream, spec->cold_start_cv));
}

/* The work of the batch: its nominal time × the noise of its oldest job. */
static void batch_set_work(struct platform *platform, struct batch *batch)
{
    const struct function *function = &platform->workload->functions[batch->function];
    double noise = platform->jobs[batch->first_job].noise;
    batch->work = function->service == SERVICE_PROFILE
                      ? (double)batch_configuration(platform, batch)->time * noise
                      : noise * 1e6;
    for (uint32_t job = batch->first_job; job != SIM_NONE; job = platform->jobs[job].next) {
        platform->jobs[job].used_noise = noise;
        platform->jobs[job].invoker = batch->invoker;
    }
}

/* How long the batch waits for its container after its input is there. */
static void batch_set_cold(struct platform *platform, struct batch *batch)
{
    struct container *container = &platform->cluster.containers[batch->container];
    if (container->state != CONTAINER_STARTING)
        return; /* as an instance's, which launches only once it has started */
    if (platform->backend != NULL)
        replay_refuse_cold(platform, batch->function, batch->invoker);
    const struct request *head = job_request(platform, batch->first_job);
    sim_time_t input_there = batch->launched + batch->transfer;
    if (container->ready_at == 0) {
        batch->cold = true;
        container->ready_at =
            input_there + containers_draw_cold(platform, batch->function, RANDOM_COLD_START,
                                               head->number, platform->queues[batch->queue].stage);
        platform->metrics.cold_starts++;
    }
    batch->cold_wait = container->ready_at > input_there ? container->ready_at - input_there : 0;
    batch->cold = batch->cold || batch->cold_wait > 0;
}

/* Jobs left where the batch was taken from. */
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

/* Was the batch planned ahead, and did the plan come about? */
static void batch_set_planned(struct platform *platform, struct batch *batch)
{
    const struct function *function = &platform->workload->functions[batch->function];
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

static void batch_launch(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    batch_set_planned(platform, batch);
    batch->launched = platform->now + controller_charged(platform);
    batch->transfer = batch_transfer(platform, batch);
    batch_set_work(platform, batch);
    batch_set_cold(platform, batch);
    decision_record(platform, batch);
    sim_time_t start = batch->launched + batch->transfer + batch->cold_wait;
    if (start == platform->now)
        batches_start(platform, id);
    else
        platform_schedule(platform, start, EVENT_BATCH_START, id);
}

/* A container stood there for nobody since `since`. */
static void container_bill(struct platform *platform, const struct container *container,
                           sim_time_t since)
{
    struct metrics *metrics = &platform->metrics;
    const struct function *function = &platform->workload->functions[container->function];
    since = since > metrics->window_start ? since : metrics->window_start;
    if (metrics->measuring)
        metrics->idle_cost +=
            (double)(platform->now - since) *
            configuration_rate(platform, &function->configurations[function->minimum_configuration],
                               UNIT_PARTS);
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

/* A starting container that a batch claims need not announce itself: the batch's start does. */
void containers_silence(struct platform *platform, uint32_t id)
{
    struct container *container = &platform->cluster.containers[id];
    if (container->state != CONTAINER_STARTING || container->expiry_event == 0)
        return;
    if (calendar_cancel(platform->calendar, container->expiry_event))
        platform->work_events--;
    container->expiry_event = 0;
    container_bill(platform, container, container->idle_since);
    containers_record(platform, container, CONTAINER_PHASE_STARTING, container->idle_since, false);
}

/* An unused batch of the pool, with a number; SIM_NONE (platform failed) when out of memory. */
static uint32_t batch_take(struct platform *platform)
{
    if (platform->batch_free == SIM_NONE && !batches_grow(platform)) {
        platform_fail(platform, "out of memory for %" PRIu32 " batches", platform->running_batches);
        return SIM_NONE;
    }
    uint32_t id = platform->batch_free;
    platform->batch_free = platform->batches[id].first_job;
    platform->batches[id] = (struct batch){.instance = SIM_NONE,
                                           .quota = UNIT_PARTS,
                                           .number = platform->next_batch++,
                                           .dispatched = platform->now};
    platform->running_batches++;
    return id;
}

/* `first`: its oldest job, linked to the others. */
static bool batch_fill(struct platform *platform, uint32_t id, uint32_t first, uint32_t jobs)
{
    if (platform->failed)
        return false;
    struct batch *batch = &platform->batches[id];
    batch->first_job = first;
    batch->jobs = (uint16_t)jobs;
    batch->queue = job_queue(platform, first);
    batch_launch(platform, id);
    return !platform->failed;
}

bool batches_launch(struct platform *platform, uint32_t id, uint32_t jobs)
{
    struct instance *instance = &platform->instances[id];
    uint32_t batch = batch_take(platform);
    if (batch == SIM_NONE)
        return false;
    struct batch *state = &platform->batches[batch];
    state->function = instance->function;
    state->configuration = instance->configuration;
    state->invoker = instance->invoker;
    state->gpu = instance->gpu;
    state->container = instance->container;
    state->instance = id;
    state->quota = instance->quota;
    instance->state = INSTANCE_BUSY;
    instance->batch = batch;
    return batch_fill(platform, batch, jobs_take_buffered(platform, id, jobs), jobs);
}

bool batches_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                      uint32_t configuration, uint32_t invoker)
{
    const struct queue *source = &platform->queues[queue];
    const struct configuration *spec =
        &platform->workload->functions[source->function].configurations[configuration];
    struct placement placement;
    if (!cluster_place(&platform->cluster, source->function, spec, invoker, false, &placement)) {
        platform_fail(platform,
                      "rule over-commit: a batch of %s with %u vCPU and %u vGPU does not "
                      "fit on invoker %" PRIu32 "; ask platform_fits first",
                      platform->workload->functions[source->function].name, spec->vcpu, spec->vgpu,
                      invoker);
        return false;
    }
    uint8_t slots;
    uint32_t container =
        cluster_reserve(&platform->cluster, source->function, spec, &placement, &slots);
    if (container == SIM_NONE) {
        platform_fail(platform, "out of memory for containers");
        return false;
    }
    containers_silence(platform, container);
    keeping_use(platform, container);
    if (platform->experiment->platform.prewarm == PREWARM_EWMA &&
        platform->cluster.idle_total[source->function] == 0 &&
        platform->cluster.starting_total[source->function] == 0)
        predictor_plan(platform, source->function);
    metrics_use(&platform->metrics, &platform->cluster.use, platform->now);
    uint32_t id = batch_take(platform);
    if (id == SIM_NONE)
        return false;
    struct batch *batch = &platform->batches[id];
    batch->function = source->function;
    batch->configuration = configuration;
    batch->invoker = invoker;
    batch->gpu = placement.gpu;
    batch->container = container;
    batch->slots = slots;
    return batch_fill(platform, id, jobs_take(platform, queue, jobs), jobs);
}

/* ---- Finish ---------------------------------------------------------------------------------- */

static void batch_record(struct platform *platform, const struct batch *batch, double slowdown,
                         double cost)
{
    const struct recorder *recorder = platform->recorder;
    if (recorder == NULL || recorder->batch == NULL)
        return;
    const struct configuration *spec = batch_configuration(platform, batch);
    const struct queue *queue = &platform->queues[batch->queue];
    struct batch_row row = {.batch = batch->number,
                            .queue = batch->queue,
                            .application = queue->application,
                            .stage = queue->stage,
                            .invoker = batch->invoker,
                            .gpu = batch->gpu,
                            .jobs = batch->jobs,
                            .configured_batch = spec->batch,
                            .vcpu = spec->vcpu,
                            .vgpu = spec->vgpu,
                            .cold = batch->cold,
                            .dispatched_ns = batch->dispatched,
                            .started_ns = batch->started,
                            .finished_ns = platform->now,
                            .slowdown = slowdown,
                            .cost_usd = cost,
                            .first_request = job_request(platform, batch->first_job)->number,
                            .container = platform->cluster.containers[batch->container].serial,
                            .instance = batch->instance,
                            .configuration = batch->configuration,
                            .quota = batch->quota,
                            .launched_ns = batch->launched,
                            .transfer_ns = batch->transfer,
                            .cold_ns = batch->cold_wait,
                            .noise = platform->jobs[batch->first_job].used_noise};
    if (!recorder->batch(recorder->context, &row, platform->error))
        platform->failed = true;
}

/* How long a job waited for its container: for the batch's, or for the instance it was given to. */
static sim_time_t job_cold_wait(const struct platform *platform, const struct batch *batch,
                                uint32_t job)
{
    return batch->instance == SIM_NONE ? batch->cold_wait
                                       : instances_cold_wait(platform, batch->instance, job);
}

static void jobs_record(struct platform *platform, const struct batch *batch, double cost)
{
    const struct recorder *recorder = platform->recorder;
    if (recorder == NULL || recorder->job == NULL)
        return;
    uint32_t place = 0;
    for (uint32_t job = batch->first_job; job != SIM_NONE && !platform->failed;
         job = platform->jobs[job].next) {
        const struct request *request = job_request(platform, job);
        sim_time_t cold = job_cold_wait(platform, batch, job);
        sim_time_t held = batch->instance == SIM_NONE ? 0 : cold;
        uint32_t here = place++;
        const struct job_row row = {.request = request->number,
                                    .batch = batch->number,
                                    .queue = job_queue(platform, job),
                                    .application = request->application,
                                    .stage = job % platform->stride,
                                    .place = here,
                                    .ready_ns = platform->jobs[job].ready,
                                    .queue_ns = batch->launched - platform->jobs[job].ready - held,
                                    .cold_ns = cold,
                                    .cost_usd = cost / batch->jobs};
        if (!recorder->job(recorder->context, &row, platform->error))
            platform->failed = true;
    }
}

/* Counts of the measured jobs of a batch, by application and overall; the batch itself counts where
 * its oldest measured job does. Returns how many are measured. */
static uint32_t batch_tally_jobs(struct platform *platform, const struct batch *batch)
{
    struct tally *tallies = platform->metrics.tallies;
    struct tally *all = &tallies[platform->metrics.application_count];
    uint32_t measured = 0;
    for (uint32_t job = batch->first_job; job != SIM_NONE; job = platform->jobs[job].next) {
        const struct request *request = job_request(platform, job);
        if (!request->measured)
            continue;
        struct tally *own = &tallies[request->application];
        bool cold =
            batch->instance == SIM_NONE ? batch->cold : job_cold_wait(platform, batch, job) > 0;
        own->jobs++;
        all->jobs++;
        own->cold_jobs += cold;
        all->cold_jobs += cold;
        if (measured++ == 0) {
            own->batches++;
            all->batches++;
            own->planned_batches += batch->planned;
            all->planned_batches += batch->planned;
            own->planned_misses += batch->planned_missed;
            all->planned_misses += batch->planned_missed;
            own->batched_jobs += batch->jobs;
            all->batched_jobs += batch->jobs;
        }
    }
    return measured;
}

/* Shares a finished batch's time and money among its jobs. */
static void batch_account(struct platform *platform, const struct batch *batch)
{
    struct metrics *metrics = &platform->metrics;
    double price = configuration_rate(platform, batch_configuration(platform, batch), batch->quota);
    sim_time_t execution = platform->now - batch->started;
    double cost = batch->billed + (double)(platform->now - batch->priced_since) * price;
    double hold = (double)(batch->started - batch->dispatched) * price;
    double alone = batch->alone + batch->work / batch_speed(platform, batch);
    double slowdown = alone > 0 ? (double)execution / alone : 1.0;
    for (uint32_t job = batch->first_job; job != SIM_NONE; job = platform->jobs[job].next) {
        struct request *request = job_request(platform, job);
        sim_time_t cold_wait = job_cold_wait(platform, batch, job);
        request->queue_time += batch->launched - platform->jobs[job].ready;
        if (batch->instance != SIM_NONE)
            request->queue_time -= cold_wait;
        request->transfer_time += batch->transfer;
        request->cold_time += cold_wait;
        request->exec_time += execution;
        request->cost += cost / batch->jobs;
    }
    metrics->total_batch_cost += cost;
    uint32_t measured = batch_tally_jobs(platform, batch);
    if (measured > 0) {
        if (batch->instance == SIM_NONE) { /* what an instance holds is billed on its own */
            uint32_t application = platform->queues[batch->queue].application;
            metrics->tallies[application].hold_cost += hold * measured / batch->jobs;
            metrics->tallies[metrics->application_count].hold_cost += hold * measured / batch->jobs;
        }
        metrics->batches++;
        metrics->slowdown_sum += slowdown;
    }
    batch_record(platform, batch, slowdown, cost);
    jobs_record(platform, batch, cost);
}

/* At most one pending event a container: it rings at the earliest expiry it was set for and is
 * moved on, so that a busy container costs the calendar nothing. */
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
    else if (!calendar_retime(platform->calendar, container->expiry_event, container->expiry))
        platform_fail(platform, "the event calendar: %s", calendar_fault(platform->calendar));
    container->rings_at = container->expiry;
}

void containers_keep(struct platform *platform, uint32_t id, bool used)
{
    sim_time_t keep = keeping_time(platform, id, used);
    /* The policy may have started containers, which moves them all, or evicted this one. */
    struct container *container = &platform->cluster.containers[id];
    if (container->state != CONTAINER_IDLE)
        return;
    if (keep <= 0) {
        cluster_evict(&platform->cluster, id);
        return;
    }
    container->expiry = keep >= SIM_FOREVER ? SIM_FOREVER : platform->now + keep;
    container_set_expiry(platform, id);
}

void batches_finish(struct platform *platform, uint32_t id)
{
    struct batch *batch = &platform->batches[id];
    const struct configuration *spec = batch_configuration(platform, batch);
    batch->finish_event = 0;
    if (batch->gpu != SIM_NONE)
        platform->cluster.gpus[batch->gpu].executing_count--;
    if (gpu_interferes(platform, batch->gpu)) {
        struct gpu_work *work = &platform->gpu_work[batch->gpu];
        work->event = 0;
        work_remove(work, id);
        work_update(platform, work);
    }
    batch_account(platform, batch);
    if (batch->instance != SIM_NONE) {
        struct instance *instance = &platform->instances[batch->instance];
        instance->state = INSTANCE_IDLE;
        instance->batch = SIM_NONE;
        instance->unused_since = platform->now;
    } else {
        uint32_t container = batch->container;
        cluster_release(&platform->cluster, container, spec, batch->slots, platform->now);
        containers_keep(platform, container, true);
        metrics_use(&platform->metrics, &platform->cluster.use, platform->now);
    }
    struct finished_batch finished = {.queue = batch->queue,
                                      .invoker = batch->invoker,
                                      .instance = batch->instance,
                                      .jobs = batch->jobs,
                                      .configuration = batch->configuration,
                                      .started = batch->started,
                                      .execution = platform->now - batch->started};
    uint32_t job = batch->first_job;
    batch->jobs = 0;
    batch->first_job = platform->batch_free;
    platform->batch_free = id;
    platform->running_batches--;
    platform->controller.changed = true;
    while (job != SIM_NONE) {
        uint32_t next = platform->jobs[job].next;
        jobs_done(platform, job);
        job = next;
    }
    if (platform->policy->on_finish != NULL)
        platform->policy->on_finish(platform->policy_state, platform, &finished);
}

void batches_check_holdings(struct platform *platform)
{
    struct error fault = {0};
    if (!cluster_check(&platform->cluster, false, &fault))
        platform_fail(platform, "%s", fault.message);
    const struct cluster_use *use = &platform->cluster.use;
    int64_t vcpus = 0, parts = 0;
    for (uint32_t i = 0; i < platform->batch_capacity; i++) {
        const struct batch *batch = &platform->batches[i];
        if (batch->jobs == 0 || batch->instance != SIM_NONE)
            continue;
        const struct configuration *spec = batch_configuration(platform, batch);
        vcpus += spec->vcpu;
        parts += spec->vgpu * UNIT_PARTS;
    }
    for (uint32_t i = 0; i < platform->instance_capacity; i++) {
        const struct instance *instance = &platform->instances[i];
        if (!instance->alive)
            continue;
        const struct configuration *spec = &platform->workload->functions[instance->function]
                                                .configurations[instance->configuration];
        vcpus += spec->vcpu;
        parts += spec->vgpu * instance->quota;
        if (instance->quota != platform->cluster.containers[instance->container].quota)
            platform_fail(platform, "invariant quota: instance %" PRIu32 " has not its container's",
                          i);
    }
    if (vcpus != use->vcpus || parts != use->unit_parts)
        platform_fail(platform,
                      "invariant holdings: %" PRId64
                      " vCPUs and %.2f units are given away, batches "
                      "and instances hold %" PRId64 " and %.2f",
                      (int64_t)use->vcpus, (double)use->unit_parts / UNIT_PARTS, vcpus,
                      (double)parts / UNIT_PARTS);
}

/* ---- Containers ------------------------------------------------------------------------------ */

/* cluster.on_leave_idle: the idle time is over; an evicted container's expiry need not ring. */
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
    keeping_evicted(platform, container);
    if (container->expiry_event != 0)
        calendar_cancel(platform->calendar, container->expiry_event);
}

void containers_expire(struct platform *platform, uint32_t id)
{
    struct container *container = &platform->cluster.containers[id];
    container->expiry_event = 0;
    if (container->state != CONTAINER_IDLE)
        return; /* the next time it idles sets a new one */
    if (container->expiry <= platform->now) {
        sim_time_t longer = keeping_extend(platform, id);
        if (longer > 0)
            container->expiry = longer >= SIM_FOREVER ? SIM_FOREVER : platform->now + longer;
    }
    if (container->expiry > platform->now) {
        container_set_expiry(platform, id);
        return;
    }
    cluster_evict(&platform->cluster, id);
    metrics_use(&platform->metrics, &platform->cluster.use, platform->now);
}

void containers_ready(struct platform *platform, uint32_t id)
{
    struct container *container = &platform->cluster.containers[id];
    container->expiry_event = 0;
    container_bill(platform, container, container->idle_since);
    containers_record(platform, container, CONTAINER_PHASE_STARTING, container->idle_since, false);
    cluster_container_ready(&platform->cluster, id, platform->now);
    containers_keep(platform, id, false);
    metrics_use(&platform->metrics, &platform->cluster.use, platform->now);
    platform->controller.changed = true;
}

bool containers_prewarm(struct platform *platform, uint32_t function, uint32_t invoker)
{
    return containers_prewarm_until(platform, function, invoker, 0);
}

bool containers_prewarm_until(struct platform *platform, uint32_t function, uint32_t invoker,
                              sim_time_t until)
{
    uint32_t id = cluster_prewarm(&platform->cluster, function, invoker);
    if (id == SIM_NONE)
        return false;
    if (platform->backend != NULL)
        replay_refuse_cold(platform, function, invoker);
    struct container *container = &platform->cluster.containers[id];
    container->idle_since = platform->now;
    container->expiry = until;
    container->ready_at = platform->now + containers_draw_cold(platform, function, RANDOM_PREWARM,
                                                               container->serial, 0);
    container->expiry_event =
        platform_schedule(platform, container->ready_at, EVENT_CONTAINER_READY, id);
    platform->metrics.prewarms++;
    metrics_use(&platform->metrics, &platform->cluster.use, platform->now);
    return true;
}

static bool container_place_warm(struct platform *platform, uint32_t function, uint32_t invoker)
{
    uint32_t id = cluster_prewarm(&platform->cluster, function, invoker);
    if (id == SIM_NONE)
        return false;
    cluster_container_ready(&platform->cluster, id, 0);
    containers_keep(platform, id, false);
    return true;
}

void containers_init(struct platform *platform)
{
    platform->cluster.on_leave_idle = container_left_idle;
    platform->cluster.context = platform;
    const struct platform_spec *spec = &platform->experiment->platform;
    uint32_t invokers = platform->cluster.invoker_count;
    for (uint32_t f = 0; f < platform->cluster.function_count; f++) {
        if (spec->initial == INITIAL_WARM) {
            for (uint32_t i = 0; i < invokers; i++)
                container_place_warm(platform, f, i);
        } else if (spec->initial == INITIAL_COUNTS) {
            /* Round the home walk until all are placed, or a full round places none. */
            uint32_t left = spec->initial_counts[f], failures = 0;
            for (uint32_t w = 0; left > 0 && failures < invokers; w = (w + 1) % invokers) {
                bool placed = container_place_warm(platform, f, platform_home(platform, f, w));
                failures = placed ? 0 : failures + 1;
                left -= placed;
            }
            if (left > 0) {
                platform->failed = true;
                error_input(platform->error,
                            "%s: platform.initial.%s: memory holds only %" PRIu32 " of %" PRIu32
                            " containers; lower it, or use a cluster with more memory",
                            platform->experiment->path, platform->workload->functions[f].name,
                            spec->initial_counts[f] - left, spec->initial_counts[f]);
                return;
            }
        }
    }
    metrics_use(&platform->metrics, &platform->cluster.use, 0);
}
