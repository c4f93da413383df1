#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <gsl/gsl_randist.h>

#include "sim/base/clock.h"
#include "sim/platform/admission.h"
#include "sim/platform/batches.h"
#include "sim/platform/choices.h"
#include "sim/platform/containers.h"
#include "sim/platform/failures.h"
#include "sim/platform/instances.h"
#include "sim/platform/keep_alive.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/replay.h"
#include "sim/platform/requests.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/state.h"
#include "sim/platform/trainings.h"
#include "sim/platform/waits.h"
#include "sim/platform/warm_pool.h"
#include "workloads/arrivals/arrivals.h"

enum {
    IDLE_ROUNDS_MAX = 10000,
    IDLE_TIMERS_MAX = 1000000,
    IDLE_TIMERS_NS = 10000000,
    PROGRESS_INTERVAL = 65536
};

event_queue_handle platform_schedule(struct platform *platform, sim_time_t time,
                                     enum event_kind kind, uint32_t subject)
{
    platform->work_events += kind < EVENT_WORK_KINDS;
    event_queue_handle handle =
        event_queue_push(platform->event_queue, time, (uint16_t)kind, subject);
    if (handle == 0)
        platform_fail(platform, "the event queue: %s", event_queue_fault(platform->event_queue));
    return handle;
}

/* ---- The controller -------------------------------------------------------------------------- */

static void decision_begin(struct controller *controller, bool measured)
{
    controller->units = 0;
    controller->acts = 0;
    controller->moves = 0;
    controller->alternatives = 0;
    controller->plan_cost = 0;
    controller->plan_time = 0;
    controller->planned = SIM_NONE;
    controller->wall_start = measured ? (double)clock_ns() : 0;
    controller->deciding = true;
}

/* Counts the decision in the metrics. Returns its simulated time. */
static sim_time_t decision_end(struct platform *platform)
{
    struct controller *controller = &platform->controller;
    bool worked = controller->acts > 0 || controller->units > 0;
    sim_time_t charged = worked ? controller_charged(platform) : 0;
    controller->deciding = false;
    if (controller->moves > 0)
        controller->idle_timers = 0;
    if (worked) {
        platform->unchecked = true;
        platform->metrics.decisions++;
        platform->metrics.decision_units += controller->units;
        platform->metrics.decision_time += charged;
        if (charged > platform->metrics.longest_decision)
            platform->metrics.longest_decision = charged;
    }
    return charged;
}

/* Calls decide until the policy has nothing more to do or a decision takes simulated time. */
static inline void controller_run(struct platform *platform)
{
    struct controller *controller = &platform->controller;
    bool measured = platform->experiment->platform.decision_cost == DECISION_MEASURED;
    do {
        controller->changed = false;
        decision_begin(controller, measured);
        admission_drop_lost(platform);
        choices_begin(platform);
        controller->more = policy_call_decide(platform);
        choices_end(platform);
        sim_time_t charged = decision_end(platform);
        if (platform->failed)
            return;
        bool progress = controller->moves > 0 || !controller->more;
        controller->idle_rounds = progress ? 0 : controller->idle_rounds + 1;
        if (controller->idle_rounds > IDLE_ROUNDS_MAX) {
            platform_fail(platform,
                          "rule progress: decide asked for another step %d times in a row "
                          "without dispatching or dropping anything",
                          IDLE_ROUNDS_MAX);
            return;
        }
        if (charged > 0) {
            controller->busy = true;
            controller->free_at = platform->now + charged;
            platform_schedule(platform, controller->free_at, EVENT_CONTROLLER_FREE, 0);
            return;
        }
    } while (controller->more || controller->changed);
}

static inline void controller_wake(struct platform *platform)
{
    struct controller *controller = &platform->controller;
    if (!controller->busy && (controller->changed || controller->more))
        controller_run(platform);
}

/* ---- Arrivals -------------------------------------------------------------------------------- */

/* The arrivals from the swerve on are of another stream. */
static bool cursor_swerve(const struct platform *platform, struct cursor *cursor,
                          struct error *fault)
{
    bool there = true;
    arrival_stream_close(cursor->stream);
    cursor->stream = arrival_stream_open(&platform->experiment->arrivals, platform->workload,
                                         platform->experiment->seed, fault);
    for (cursor->next.time = 0; there && cursor->next.time < platform->options->swerve;)
        there = cursor->stream != NULL && arrival_stream_next(cursor->stream, &cursor->next, fault);
    return there;
}

static bool cursor_advance(struct platform *platform, struct cursor *cursor)
{
    cursor->there = false;
    if (cursor->left == 0 || cursor->stream == NULL)
        return true;
    struct error fault;
    fault.kind = ERROR_NONE; /* clearing the whole struct (1 kB) per arrival would be slow */
    const sim_time_t before = cursor->next.time, swerve = platform->options->swerve;
    cursor->there = arrival_stream_next(cursor->stream, &cursor->next, &fault);
    if (cursor->there && before < swerve && cursor->next.time >= swerve)
        cursor->there = cursor_swerve(platform, cursor, &fault);
    if (!cursor->there && fault.kind != ERROR_NONE) {
        platform->failed = true;
        if (platform->error != NULL)
            *platform->error = fault;
        return false;
    }
    if (cursor->there)
        cursor->left--;
    return true;
}

uint64_t requests_total(const struct experiment *experiment)
{
    return experiment->warmup_requests + experiment->requests;
}

void simulation_user_thinks(struct platform *platform, uint32_t user, uint64_t request)
{
    const struct arrival_spec *spec = &platform->experiment->arrivals;
    sim_time_t think = sim_from_ms(spec->think_mean_ms);
    if (!spec->think_constant && spec->think_mean_ms > 0) {
        RANDOM_STREAM(stream, platform->experiment->seed, RANDOM_THINK, request, 0);
        think = sim_from_ms(gsl_ran_exponential(&stream.rng, spec->think_mean_ms));
    }
    platform_schedule(platform, platform->now + think, EVENT_USER, user);
}

/* Each user begins with a think time. Its random stream uses indices above all request numbers. */
static void users_init(struct platform *platform)
{
    const struct arrival_spec *spec = &platform->experiment->arrivals;
    if (spec->process != ARRIVAL_CLOSED)
        return;
    for (uint32_t user = 0; user < spec->users; user++)
        simulation_user_thinks(platform, user, UINT64_MAX - user);
}

static void user_asks(struct platform *platform, uint32_t user)
{
    const struct experiment *experiment = platform->experiment;
    if (platform->next_request >= requests_total(experiment))
        return;
    jobs_admit(platform,
               application_draw(platform->workload, experiment->seed, platform->next_request), 0,
               user);
    if (platform->next_request == requests_total(experiment))
        metrics_close_window(&platform->metrics, &platform->cluster.use, platform->now);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void timer_fires(struct platform *platform, uint32_t id)
{
    platform->controller.changed = true;
    platform->controller.idle_timers++;
    policy_call_timer(platform, id);
}

static void event_handle(struct platform *platform, const struct event *event)
{
    const uint32_t subject = event->subject;
    platform->work_events -= event->kind < EVENT_WORK_KINDS;
    switch ((enum event_kind)event->kind) {
#define EVENT(kind, call, cause)                                                                   \
    case EVENT_##kind:                                                                             \
        call;                                                                                      \
        break;
#include "sim/platform/events.def"
    case EVENT_WORK_KINDS:
        break;
    }
}

/* Fails the run because the next event is beyond the range of the clock. The message names the keys
 * of the first event that has some. */
static void clock_end(struct platform *platform)
{
    static const char *const causes[] = {
#define EVENT(kind, call, cause) [EVENT_##kind] = (cause),
#include "sim/platform/events.def"
    };
    struct event event;
    const char *cause = NULL;
    while (cause == NULL && event_queue_pop(platform->event_queue, &event))
        cause = causes[event.kind];
    platform_fail(platform,
                  "the next event would come after the clock's end (about 18 years), as set by "
                  "%s",
                  cause != NULL ? cause : "the policy's parameters");
}

static void clock_set(struct platform *platform, sim_time_t time)
{
    if (platform->observed && time > platform->now) {
        if (platform->waits != NULL)
            waits_advance(platform);
        if (platform->trainings != NULL)
            training_fragments_advance(platform, time);
    }
    platform->now = time;
}

/* Advances the clock to the next arrival or event and handles it. Events precede an arrival of the
 * same time, so that they release their resources before it. */
static bool simulation_step(struct platform *platform, struct cursor *cursor)
{
    sim_time_t event_time = event_queue_next_time(platform->event_queue);
    sim_time_t arrival_time = cursor->there ? cursor->next.time : SIM_FOREVER;
    sim_time_t time = event_time <= arrival_time ? event_time : arrival_time;
    if (time < platform->now) {
        platform_fail(platform, "invariant time: the next event is %.6f ms in the past",
                      sim_to_ms(platform->now - time));
        return false;
    }
    const uint32_t ended = platform->backend != NULL ? replay_wait(platform, time) : SIM_NONE;
    if (platform->failed)
        return false;
    platform->events++;
    if (ended != SIM_NONE) {
        batches_finish(platform, ended);
        controller_wake(platform);
        return !platform->failed;
    }
    if (time > SIM_CLOCK_END) {
        clock_end(platform);
        return false;
    }
    clock_set(platform, time);
    if (event_time <= arrival_time) {
        struct event event;
        event_queue_pop(platform->event_queue, &event);
        event_handle(platform, &event);
    } else {
        uint32_t application = cursor->next.application;
        sim_time_t slo = cursor->next.slo;
        jobs_admit(platform, application, slo, SIM_NONE);
        if (!platform->failed && !cursor_advance(platform, cursor))
            return false;
        if (!cursor->there)
            metrics_close_window(&platform->metrics, &platform->cluster.use, platform->now);
    }
    if (!platform->failed)
        controller_wake(platform);
    return !platform->failed;
}

static bool simulation_over(const struct platform *platform, const struct cursor *cursor)
{
    const struct experiment *experiment = platform->experiment;
    if (cursor->there || platform->in_flight > 0 || platform->running_batches > 0 ||
        !trainings_over(platform))
        return false;
    return experiment->arrivals.process != ARRIVAL_CLOSED ||
           platform->next_request >= requests_total(experiment);
}

static bool progress_due(struct platform *platform, const struct progress *progress)
{
    /* A backend runs in real time, so a run on a backend must be able to stop at every step. */
    const uint64_t interval = platform->backend != NULL ? 1 : PROGRESS_INTERVAL;
    if (progress == NULL || platform->events % interval != 0)
        return true;
    uint64_t finished = platform->next_request - platform->in_flight;
    uint64_t total = requests_total(platform->experiment);
    if (platform->trainings != NULL) {
        finished += platform->trainings->count - platform->trainings->left;
        total += platform->trainings->count;
    }
    if (progress->report(progress->context, finished, total))
        return true;
    error_run(platform->error, "%s: interrupted", platform->experiment->name);
    platform->failed = true;
    return false;
}

/* Returns whether only the policy could make progress, but it does nothing or only sets timers.
 * Also where more is to come: timers and leases without effect could keep the clock from reaching
 * it. */
static bool simulation_stuck(struct platform *platform, const struct cursor *cursor)
{
    struct controller *controller = &platform->controller;
    const bool pending = cursor->there || platform->running_batches > 0 ||
                         trainings_pending(platform) ||
                         (platform->failures != NULL && platform->failures->down > 0);
    if (pending && platform->now - controller->woken >= IDLE_TIMERS_NS) {
        controller->woken = platform->now;
        controller->idle_timers = 0;
    }
    return (!pending && platform->work_events == 0) || controller->idle_timers > IDLE_TIMERS_MAX;
}

bool simulation_prepare(struct platform *platform, struct cursor *cursor)
{
    const struct experiment *experiment = platform->experiment;
    if (experiment->workload.application_count > 0 &&
        experiment->arrivals.process != ARRIVAL_CLOSED &&
        (cursor->stream = arrival_stream_open(&experiment->arrivals, platform->workload,
                                              draw_seed(platform, 0), platform->error)) == NULL)
        return false;
    containers_init(platform);
    warm_pool_init(platform);
    admission_init(platform);
    choices_init(platform);
    waits_init(platform);
    users_init(platform);
    failures_begin(platform);
    platform_schedule(platform, experiment->platform.sample_interval, EVENT_SAMPLE, 0);
    return !platform->failed && cursor_advance(platform, cursor) &&
           (platform->backend == NULL || replay_open(platform));
}

/* Says what waits, what is free, and when the policy last did something. O(queues). */
static void fail_idle(struct platform *platform)
{
    const struct cluster_use *use = &platform->cluster.use, *all = &platform->cluster.capacity;
    const struct queue *fullest = &platform->queues[0];
    for (uint32_t q = 1; q < platform->workload->queue_count; q++)
        fullest = platform->queues[q].length > fullest->length ? &platform->queues[q] : fullest;
    char oldest[128] = "", last[64] = "no batch was dispatched";
    if (fullest->length > 0) {
        const struct request *request = job_request(platform, queue_job(fullest, 0));
        const sim_time_t late = platform->now - request->arrival - request->slo;
        (void)snprintf(oldest, sizeof oldest, ", the oldest %.3f ms %s its deadline",
                       fabs(sim_to_ms(late)), late > 0 ? "after" : "before");
    }
    if (platform->next_batch > 0)
        (void)snprintf(last, sizeof last, "the last batch was dispatched at %.6f ms",
                       sim_to_ms(platform->dispatched));
    platform_fail(platform,
                  "rule progress: %" PRIu64 " jobs wait, nothing runs and the policy does nothing; "
                  "the fullest queue is %td (%s) with %" PRIu32 " jobs%s; free are %.4g %% of the "
                  "GPUs and %" PRId64 " of %" PRId64 " vCPUs; %s",
                  platform->waiting_jobs, fullest - platform->queues,
                  platform->workload->functions[fullest->function].name, fullest->length, oldest,
                  100 - 100 * (double)use->unit_parts / fmax(1, (double)all->unit_parts),
                  all->vcpus - use->vcpus, all->vcpus, last);
}

static void simulation_fail_stuck(struct platform *platform)
{
    if (platform->controller.idle_timers > IDLE_TIMERS_MAX)
        platform_fail(platform,
                      "rule progress: the policy was woken a million times by its timers or "
                      "leases, within 10 ms or with nothing else to come, and began nothing");
    else if (platform->trainings != NULL && platform->waiting_jobs == 0)
        trainings_fail_stuck(platform);
    else
        fail_idle(platform);
}

void simulation_loop(struct platform *platform, struct cursor *cursor,
                     const struct progress *progress)
{
    while (!platform->failed && !simulation_over(platform, cursor)) {
        if (simulation_stuck(platform, cursor)) {
            simulation_fail_stuck(platform);
            return;
        }
        if (!simulation_step(platform, cursor) || !progress_due(platform, progress))
            return;
    }
}
