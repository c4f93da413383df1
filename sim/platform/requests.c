#include <inttypes.h>

#include "sim/base/arena.h"
#include "sched/common/capacity_bound.h"
#include "sim/platform/requests.h"
#include "sim/platform/frames.h"
#include "sim/platform/admission.h"
#include "sim/platform/containers.h"
#include "sim/platform/instances.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/state.h"

/* ---- Queues ---------------------------------------------------------------------------------- */

static void queue_advance(struct platform *platform, struct queue *queue)
{
    queue->area += (wide_t)queue->length * (platform->now - queue->changed);
    queue->changed = platform->now;
}

static inline void queue_mark(struct platform *platform, uint32_t id)
{
    uint64_t bit = UINT64_C(1) << (id % 64);
    if (platform->queues[id].length != 0)
        platform->queue_mask[id / 64] |= bit;
    else
        platform->queue_mask[id / 64] &= ~bit;
}

static void queue_grow(struct arena *arena, struct queue *queue)
{
    uint32_t capacity = queue->capacity == 0 ? 16 : 2 * queue->capacity;
    uint32_t *ring = arena_allocate(arena, capacity, sizeof *ring);
    for (uint32_t i = 0; i < queue->length; i++)
        ring[i] = queue->ring[(queue->head + i) & (queue->capacity - 1)];
    arena_release(arena, queue->ring);
    queue->ring = ring;
    queue->capacity = capacity;
    queue->head = 0;
}

static inline void queue_push(struct platform *platform, struct queue *queue, uint32_t job)
{
    if (queue->length == queue->capacity)
        queue_grow(&platform->arena, queue);
    queue_advance(platform, queue);
    queue->ring[(queue->head + queue->length) & (queue->capacity - 1)] = job;
    queue->length++;
    platform->waiting_jobs++;
    /* One more container may start. */
    platform->cluster.changes += platform->experiment->platform.cold_dispatch == COLD_DISPATCH_LATE;
}

/* Updates length and waiting time for one job that leaves the queue now. */
static void queue_leave(struct platform *platform, struct queue *queue, uint32_t job)
{
    queue->waited += platform->now - platform->jobs[job].entered;
    queue->length--;
    platform->waiting_jobs--;
}

static uint32_t queue_pop(struct platform *platform, struct queue *queue)
{
    uint32_t job = queue->ring[queue->head];
    queue->head = (queue->head + 1) & (queue->capacity - 1);
    queue_leave(platform, queue, job);
    return job;
}

static inline uint32_t queue_take(struct platform *platform, struct queue *queue, uint32_t count)
{
    uint32_t first = SIM_NONE, last = SIM_NONE;
    queue_advance(platform, queue);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t job = queue_pop(platform, queue);
        struct job *state = &platform->jobs[job];
        if (state->state != JOB_READY) {
            platform_fail(platform,
                          "invariant once: job %" PRIu32 " of queue %" PRIu32
                          " is launched in state %d",
                          job, job_queue(platform, job), state->state);
            return SIM_NONE;
        }
        state->state = JOB_RUNNING;
        state->next = SIM_NONE;
        job_request(platform, job)->running++;
        if (last == SIM_NONE)
            first = job;
        else
            platform->jobs[last].next = job;
        last = job;
    }
    return first;
}

uint32_t jobs_take(struct platform *platform, uint32_t id, uint32_t count)
{
    uint32_t first = queue_take(platform, &platform->queues[id], count);
    queue_mark(platform, id);
    return first;
}

uint32_t jobs_take_buffered(struct platform *platform, uint32_t instance, uint32_t count)
{
    return queue_take(platform, &platform->instances[instance].buffer, count);
}

uint32_t job_queue(const struct platform *platform, uint32_t job)
{
    const struct request *request = job_request(platform, job);
    return platform->workload->applications[request->application].first_queue +
           job_stage(platform, job);
}

/* Records that the job now waits in the buffer of `instance`, or (SIM_NONE) in its queue. */
static void job_move(struct platform *platform, uint32_t job, uint32_t instance)
{
    platform->jobs[job].next = instance;
    platform->jobs[job].entered = platform->now;
}

void jobs_route(struct platform *platform, uint32_t id, uint32_t instance)
{
    queue_advance(platform, &platform->queues[id]);
    uint32_t job = queue_pop(platform, &platform->queues[id]);
    queue_mark(platform, id);
    queue_push(platform, &platform->instances[instance].buffer, job);
    job_move(platform, job, instance);
}

/* Inserts the job in order of ready times. O(length). */
static void queue_insert(struct platform *platform, uint32_t id, uint32_t job)
{
    struct queue *queue = &platform->queues[id];
    queue_push(platform, queue, job);
    uint32_t mask = queue->capacity - 1;
    for (uint32_t at = queue->length - 1; at > 0; at--) {
        uint32_t *before = &queue->ring[(queue->head + at - 1) & mask];
        if (platform->jobs[*before].ready <= platform->jobs[job].ready)
            break;
        queue->ring[(queue->head + at) & mask] = *before;
        *before = job;
    }
    queue_mark(platform, id);
}

void jobs_return(struct platform *platform, uint32_t instance)
{
    struct queue *buffer = &platform->instances[instance].buffer;
    queue_advance(platform, buffer);
    while (buffer->length > 0 && !platform->failed) {
        uint32_t job = queue_pop(platform, buffer);
        job_move(platform, job, SIM_NONE);
        queue_insert(platform, job_queue(platform, job), job);
    }
}

/* Removes one job from the middle of its queue. O(length). */
static void queue_withdraw(struct platform *platform, struct queue *queue, uint32_t job)
{
    uint32_t mask = queue->capacity - 1;
    uint32_t at = 0;
    while (at < queue->length && queue->ring[(queue->head + at) & mask] != job)
        at++;
    if (at == queue->length)
        return;
    queue_advance(platform, queue);
    for (; at > 0; at--)
        queue->ring[(queue->head + at) & mask] = queue->ring[(queue->head + at - 1) & mask];
    queue->head = (queue->head + 1) & mask;
    queue_leave(platform, queue, job);
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Not inlined: it is rare, and its caller is hot. */
static __attribute__((noinline)) void requests_grow(struct platform *platform)
{
    struct arena *arena = &platform->arena;
    arena_reserve(arena, &platform->requests, platform->request_room + 1,
                  sizeof *platform->requests);
    const size_t room = arena_room(platform->requests, sizeof *platform->requests);
    if (room * platform->stride >= SIM_NONE)
        arena_exhaust(arena, room, sizeof *platform->jobs);
    arena_reserve(arena, &platform->jobs, room * platform->stride, sizeof *platform->jobs);
    platform->request_room = room;
}

/* Returns the slot freed last, otherwise one never used. */
static uint32_t request_take(struct platform *platform)
{
    const uint32_t slot = platform->request_free;
    if (slot != SIM_NONE) {
        platform->request_free = platform->requests[slot].user;
        return slot;
    }
    if (platform->requests_used == platform->request_room)
        requests_grow(platform);
    return platform->requests_used++;
}

static void fastest_init(struct platform *platform)
{
    const struct workload *workload = platform->workload;
    const size_t kinds = workload->kind_count;
    platform->fastest = arena_allocate(&platform->arena, workload->function_count * kinds,
                                       sizeof *platform->fastest);
    for (size_t f = 0; f < workload->function_count; f++) {
        const struct function *function = &workload->functions[f];
        for (size_t k = 0; k < kinds; k++) {
            platform->fastest[f * kinds + k].time = SIM_FOREVER;
            if (function->gpus[k].noise_cv != function->gpus[0].noise_cv)
                platform->unlike_noise = true;
        }
        for (size_t c = 0; c < function->configuration_count; c++) {
            const struct configuration *spec = &function->configurations[c];
            struct fastest *best = &platform->fastest[f * kinds + spec->kind];
            if (spec->time < best->time)
                *best = (struct fastest){spec->time,
                                         spec->vgpu > 0 ? workload->kinds[spec->kind].speed : 1,
                                         function->service == SERVICE_PROFILE};
        }
    }
}

void jobs_init(struct platform *platform)
{
    const struct workload *workload = platform->workload;
    struct arena *arena = &platform->arena;
    /* Rounded up to a power of two: a job's slot and stage are then found without division. */
    while (UINT32_C(1) << platform->slot_shift < workload->max_stages)
        platform->slot_shift++;
    platform->stride = UINT32_C(1) << platform->slot_shift;
    platform->ingress = sim_from_ms(platform->experiment->platform.ingress_ms);
    platform->queues = arena_allocate(arena, workload->queue_count, sizeof *platform->queues);
    platform->queue_mask =
        arena_allocate(arena, workload->queue_count / 64 + 1, sizeof *platform->queue_mask);
    for (uint32_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (uint32_t s = 0; s < application->stage_count; s++)
            platform->queues[application->first_queue + s] = (struct queue){
                .application = a, .stage = s, .function = application->stages[s].function};
    }
    frames_init(platform);
    fastest_init(platform);
}

/* Draws the noise of (request, stage), which is the same under every policy and on every processor.
 * Profiled functions: a factor with mean 1 and this cv. Others: the whole service time in ms, in
 * whole nanoseconds. */
static inline double draw_noise(uint64_t seed, uint64_t request, uint32_t stage,
                                const struct function *function, double cv)
{
    if (function->service == SERVICE_PROFILE && !(cv > 0))
        return 1.0;
    if (function->service == SERVICE_CONSTANT)
        return sim_to_ms(function->service_mean);
    const double mean_ms = sim_to_ms(function->service_mean);
    RANDOM_STREAM(stream, seed, RANDOM_NOISE, request, stage);
    switch (function->service) {
    case SERVICE_EXPONENTIAL:
        return sim_to_ms(sim_from_ms(random_exponential_gsl(&stream, mean_ms)));
    case SERVICE_LOGNORMAL:
        return sim_to_ms(sim_from_ms(mean_ms * random_noise(&stream, function->service_cv)));
    case SERVICE_EMPIRICAL:
        return function
            ->service_samples_ms[gsl_rng_uniform_int(&stream.rng, function->service_sample_count)];
    default:
        return random_noise(&stream, cv);
    }
}

double job_noise_unlike(const struct platform *platform, uint32_t job, size_t kind)
{
    const struct request *request = job_request(platform, job);
    const uint32_t stage = job_stage(platform, job);
    const struct application *application = &platform->workload->applications[request->application];
    const struct function *function =
        &platform->workload->functions[application->stages[stage].function];
    const double cv = function->gpus[kind].noise_cv;
    if (cv == function->gpus[0].noise_cv && platform->options->swerve == 0)
        return platform->jobs[job].noise;
    return draw_noise(draw_seed(platform, request->arrival), request->number, stage, function, cv);
}

static void job_ready(struct platform *platform, uint32_t job, uint32_t queue)
{
    struct queue *state = &platform->queues[queue];
    size_t capacity = platform->experiment->platform.queue_capacity;
    if (capacity != 0 && state->length >= capacity) {
        const struct stage *stage =
            &platform->workload->applications[state->application].stages[state->stage];
        if (stage->after_count > 0)
            policy_call_refused(platform,
                                platform->jobs[job - state->stage + stage->after[0]].invoker);
        jobs_drop(platform, job_slot(platform, job));
        return;
    }
    platform->jobs[job].state = JOB_READY;
    platform->jobs[job].ready = platform->now;
    platform->jobs[job].entered = platform->now;
    platform->jobs[job].next = SIM_NONE;
    queue_push(platform, state, job);
    queue_mark(platform, queue);
    if (platform->ways != NULL)
        admission_note(platform, queue, job);
    platform->controller.changed = true;
    if (platform->experiment->platform.prewarm == PREWARM_EWMA)
        predictor_observe(platform, state->function);
    policy_call_ready(platform, queue);
}

static void request_fill(struct platform *platform, uint32_t slot, uint32_t application)
{
    const struct application *spec = &platform->workload->applications[application];
    struct request *request = &platform->requests[slot];
    for (uint32_t s = 0; s < spec->stage_count; s++) {
        const struct stage *stage = &spec->stages[s];
        const struct function *function = &platform->workload->functions[stage->function];
        platform->jobs[slot * platform->stride + s] =
            (struct job){.noise = draw_noise(platform->experiment->seed, request->number, s,
                                             function, function->gpus[0].noise_cv),
                         .next = SIM_NONE,
                         .blocked_by = (uint8_t)stage->after_count,
                         .state = JOB_BLOCKED};
    }
}

void jobs_begin(struct platform *platform, uint32_t slot)
{
    if (platform->ingress > 0)
        platform_schedule(platform, platform->now + platform->ingress, EVENT_REQUEST_READY, slot);
    else
        jobs_enter(platform, slot);
}

void jobs_admit(struct platform *platform, uint32_t application, sim_time_t slo, uint32_t user)
{
    const uint32_t slot = request_take(platform);
    const struct application *spec = &platform->workload->applications[application];
    struct request *request = &platform->requests[slot];
    platform->in_flight++;
    *request = (struct request){.number = platform->next_request++,
                                .arrival = platform->now,
                                .application = application,
                                .user = user,
                                .slo = slo != 0 ? slo : spec->slo,
                                .left = (uint8_t)spec->stage_count};
    request->measured = request->number >= platform->experiment->warmup_requests;
    if (request->measured && !platform->metrics.measuring)
        metrics_open_window(&platform->metrics, platform->now);
    if (request->measured)
        batch_means_add(&platform->metrics.waiting, (double)platform->waiting_jobs);
    request_fill(platform, slot, application);
    if (platform->tasks != NULL)
        frames_admit(platform, slot, &platform->tasks[application]);
    else
        jobs_begin(platform, slot);
}

void jobs_enter(struct platform *platform, uint32_t slot)
{
    struct request *request = &platform->requests[slot];
    const struct application *spec = &platform->workload->applications[request->application];
    request->transfer_time += platform->ingress;
    for (uint32_t s = 0; s < spec->stage_count && !platform->requests[slot].dropped; s++)
        if (spec->stages[s].after_count == 0)
            job_ready(platform, slot * platform->stride + s, spec->first_queue + s);
    admission_judge(platform, slot);
}

/* ---- The end of a request -------------------------------------------------------------------- */

/* Shortest execution time of a job on any kind of GPU, in ns. `used`: with the noise of the batch
 * that it ran in, otherwise with its own draw. */
static inline double fastest_execution(const struct platform *platform, uint32_t job,
                                       uint32_t function, bool used)
{
    const size_t kinds = platform->workload->kind_count;
    double least = INFINITY;
    for (size_t k = 0; k < kinds; k++) {
        const struct fastest *fastest = &platform->fastest[function * kinds + k];
        const double noise = used ? platform->jobs[job].used_noise : job_noise(platform, job, k);
        const double alone =
            fastest->profile ? (double)fastest->time * noise : noise * 1e6 / fastest->speed;
        if (fastest->time < SIM_FOREVER && alone < least)
            least = alone;
    }
    return least;
}

/* Returns a lower bound of the request's latency under any policy: its critical path, rounded down.
 * Every stage has its function's fastest configuration, no interference and no transfer. `used`:
 * with the noise of the batches that it ran in, otherwise with its own draws. */
static inline sim_time_t critical_path(const struct platform *platform, uint32_t slot, bool used)
{
    const struct application *application =
        &platform->workload->applications[platform->requests[slot].application];
    sim_time_t finish[RECORD_MAX_STAGES];
    sim_time_t longest = 0;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        const double alone = fastest_execution(platform, slot * platform->stride + (uint32_t)s,
                                               stage->function, used);
        sim_time_t start = 0;
        for (size_t i = 0; i < stage->after_count; i++)
            start = finish[stage->after[i]] > start ? finish[stage->after[i]] : start;
        finish[s] = start + sim_whole(alone);
        if (finish[s] > SIM_FOREVER)
            finish[s] = SIM_FOREVER;
        longest = finish[s] > longest ? finish[s] : longest;
    }
    return longest + platform->ingress;
}

/* The job's least noise on any kind of GPU. */
static double least_noise(const struct platform *platform, uint32_t job)
{
    double least = platform->jobs[job].noise;
    for (size_t k = 1; platform->unlike_noise && k < platform->workload->kind_count; k++)
        least = fmin(least, job_noise(platform, job, k));
    return least;
}

/* Returns whether every job ran with its own draw, as the oldest job of a batch does. */
static bool request_ran_alone(const struct platform *platform, uint32_t slot)
{
    const uint32_t application = platform->requests[slot].application;
    const size_t stages = platform->workload->applications[application].stage_count;
    const struct job *jobs = &platform->jobs[slot * platform->stride];
    for (size_t s = 0; s < stages; s++)
        if (jobs[s].used_noise != jobs[s].noise)
            return false;
    return !platform->unlike_noise;
}

/* The critical path with the request's own draws. `path`: with those of its batches; 0: none. */
static sim_time_t fastest_path(const struct platform *platform, uint32_t slot, sim_time_t path)
{
    return path > 0 && request_ran_alone(platform, slot) ? path
                                                         : critical_path(platform, slot, false);
}

static bool requests_recorded(const struct platform *platform)
{
    return platform->recorder != NULL && platform->recorder->request != NULL;
}

static void request_record(struct platform *platform, const struct request *request, uint32_t slot,
                           bool hit)
{
    const struct recorder *recorder = platform->recorder;
    const bool recorded = requests_recorded(platform);
    struct request_row row = {.request = request->number,
                              .application = request->application,
                              .measured = request->measured,
                              .hit = hit,
                              .dropped = request->dropped,
                              .arrival_ns = request->arrival,
                              .finish_ns = platform->now,
                              .slo_ns = request->slo,
                              .queue_ns = request->queue_time,
                              .transfer_ns = request->transfer_time,
                              .cold_ns = request->cold_time,
                              .exec_ns = request->exec_time,
                              .cost_usd = request->cost};
    size_t stages = platform->workload->applications[request->application].stage_count;
    for (size_t s = 0; s < stages && s < RECORD_MAX_STAGES; s++)
        row.noise[s] = least_noise(platform, slot * platform->stride + (uint32_t)s);
    if (platform->bound != NULL)
        capacity_bound_add(platform->bound, row.application, row.arrival_ns, row.slo_ns, row.noise,
                           row.measured);
    if (recorded && !recorder->request(recorder->context, &row, platform->error))
        platform->failed = true;
}

/* Adds what is not counted in whole numbers, of which metrics_report makes the sums over all
 * applications. */
static inline void sums_add_request(struct metric_sums *sums, const struct request *request,
                                    sim_time_t now)
{
    sums->cost += request->cost;
    if (request->dropped)
        return;
    sums->queue_ns += (double)request->queue_time;
    sums->transfer_ns += (double)request->transfer_time;
    sums->cold_ns += (double)request->cold_time;
    sums->exec_ns += (double)request->exec_time;
    quantile_add(sums->latency, now - request->arrival);
}

static void request_finish(struct platform *platform, uint32_t slot)
{
    struct request *request = &platform->requests[slot];
    struct metrics *metrics = &platform->metrics;
    sim_time_t latency = platform->now - request->arrival;
    const sim_time_t slo = request->slo;
    bool hit = !request->dropped && latency <= slo;
    sim_time_t path = 0;
    if (!request->dropped && platform->backend == NULL)
        path = critical_path(platform, slot, true);
    if (latency < path)
        platform_fail(platform,
                      "invariant critical path: request %" PRIu64
                      " finished after %.6f ms, its fastest path takes %.6f ms",
                      request->number, sim_to_ms(latency), sim_to_ms(path));
    admission_outcome(platform, request, hit);
    metrics->total_request_cost += request->cost;
    metrics->last_finish = platform->now;
    struct metric_sums *sums = &metrics->sums[request->application];
    if (!request->dropped) {
        batch_means_add(&metrics->warmup, sim_to_ms(latency));
        sums->served_within += metrics->arriving;
        sums->hits_within += metrics->arriving && hit;
    }
    if (request->measured) {
        if (!request->dropped)
            batch_means_add(&metrics->latency, sim_to_ms(latency));
        batch_means_add(&metrics->hits, hit);
        const bool bound_hit =
            platform->options->bounds && fastest_path(platform, slot, path) <= slo;
        sums->requests++;
        sums->dropped += request->dropped;
        sums->hits += hit;
        sums->bound_hits += bound_hit;
        sums_add_request(sums, request, platform->now);
        sums_add_request(&metrics->sums[metrics->application_count], request, platform->now);
    }
    if (requests_recorded(platform) || platform->bound != NULL)
        request_record(platform, request, slot, hit);
    if (request->user != SIM_NONE)
        simulation_user_thinks(platform, request->user, request->number);
    request->user = platform->request_free;
    platform->request_free = slot;
    platform->in_flight--;
    if (platform->tasks != NULL)
        frames_end(platform, slot, &platform->tasks[platform->requests[slot].application]);
}

void jobs_done(struct platform *platform, uint32_t job)
{
    uint32_t slot = job_slot(platform, job), stage = job_stage(platform, job);
    struct request *request = &platform->requests[slot];
    const struct application *application = &platform->workload->applications[request->application];
    platform->jobs[job].state = JOB_DONE;
    request->running--;
    request->left--;
    if (request->dropped) {
        if (request->running == 0)
            request_finish(platform, slot);
        return;
    }
    if (request->left == 0) {
        request_finish(platform, slot);
        return;
    }
    const struct stage *spec = &application->stages[stage];
    for (size_t i = 0; i < spec->next_count && !platform->requests[slot].dropped; i++) {
        uint32_t successor = slot * platform->stride + spec->next[i];
        if (--platform->jobs[successor].blocked_by > 0)
            continue;
        job_ready(platform, successor, application->first_queue + spec->next[i]);
    }
}

void jobs_drop(struct platform *platform, uint32_t slot)
{
    struct request *request = &platform->requests[slot];
    const struct application *application = &platform->workload->applications[request->application];
    request->dropped = true;
    for (uint32_t s = 0; s < application->stage_count; s++) {
        uint32_t job = slot * platform->stride + s;
        if (platform->jobs[job].state == JOB_READY) {
            uint32_t id = application->first_queue + s;
            uint32_t instance = platform->jobs[job].next;
            queue_withdraw(platform,
                           instance == SIM_NONE ? &platform->queues[id]
                                                : &platform->instances[instance].buffer,
                           job);
            queue_mark(platform, id);
            sim_time_t cold = instances_cold_wait(platform, instance, job);
            request->queue_time += platform->now - platform->jobs[job].ready - cold;
            request->cold_time += cold;
            platform->jobs[job].state = JOB_DONE;
            policy_call_withdrawn(platform, id, instance);
        }
    }
    if (request->running == 0)
        request_finish(platform, slot);
}

void jobs_check_queue(struct platform *platform, struct queue *queue, const char *what, uint32_t id)
{
    queue_advance(platform, queue);
    if (queue->length != 0)
        platform_fail(platform, "invariant once: %s %" PRIu32 " holds %" PRIu32 " jobs at the end",
                      what, id, queue->length);
    else if (queue->area != queue->waited)
        platform_fail(platform,
                      "invariant Little: %s %" PRIu32
                      " integrates to %.0f job ns, its jobs waited %.0f ns",
                      what, id, (double)queue->area, (double)queue->waited);
}

bool jobs_check(struct platform *platform)
{
    for (uint32_t q = 0; q < platform->workload->queue_count; q++)
        jobs_check_queue(platform, &platform->queues[q], "queue", q);
    if (platform->in_flight != 0)
        platform_fail(platform, "invariant once: %" PRIu32 " requests in flight at the end",
                      platform->in_flight);
    return !platform->failed;
}
