#include "sim/platform/failures.h"
#include "sim/platform/trainings.h"

#include <inttypes.h>
#include <string.h>

#include "sim/cluster/cluster_internal.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/simulation_internal.h"

/* ---- Events ---------------------------------------------------------------------------------- */

static event_queue_handle training_schedule(struct platform *platform, uint32_t id, sim_time_t time,
                                            uint64_t order)
{
    const event_queue_handle handle =
        event_queue_push_ordered(platform->event_queue, time, order, EVENT_TRAINING, id);
    if (handle == 0)
        platform_fail(platform, "the event queue: %s", event_queue_fault(platform->event_queue));
    platform->trainings->scheduled++;
    return handle;
}

static void training_due_cancel(struct platform *platform, uint32_t id)
{
    platform->trainings->scheduled -=
        event_queue_cancel(platform->event_queue, platform->trainings->items[id].event);
}

void training_due_set(struct platform *platform, uint32_t id)
{
    struct training *training = &platform->trainings->items[id];
    training_due_cancel(platform, id);
    if (training->due < SIM_FOREVER || training_ends(training_spec(platform, id)))
        training->event =
            training_schedule(platform, id, training->due, platform->trainings->first_order + id);
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* Most GPUs of a gang. A model that may be split may be so over all `gpus` of the cluster. */
static uint32_t largest_gang(const struct training_plan *plan, uint32_t gpus)
{
    uint32_t most = 1;
    for (size_t i = 0; i < plan->count; i++) {
        const struct training_spec *spec = &plan->trainings[i];
        if (plan->models->models[spec->model].type == INSTANCE_LLM)
            return gpus;
        most = spec->gpus > most ? spec->gpus : most;
    }
    return most;
}

static void items_init(struct trainings *trainings)
{
    const struct training_plan *plan = trainings->plan;
    for (uint32_t id = 0; id < trainings->count; id++) {
        const struct training_spec *spec = &plan->trainings[id];
        trainings->items[id] = (struct training){.state = TRAINING_FUTURE,
                                                 .gang = spec->gpus > 0 ? spec->gpus : 1,
                                                 .parts = 1,
                                                 .first_start = SIM_FOREVER,
                                                 .finish = SIM_FOREVER,
                                                 .last_stop = spec->arrival,
                                                 .left.work = training_work(plan, spec)};
        trainings->left += training_ends(spec);
        trainings->measured_left += training_ends(spec) && training_is_measured(plan, spec->id);
    }
}

void trainings_init(struct platform *platform)
{
    const struct training_plan *plan = platform->experiment->training;
    struct arena *arena = &platform->arena;
    if (plan == NULL)
        return;
    struct trainings *trainings = arena_allocate(arena, 1, sizeof *trainings);
    platform->trainings = trainings;
    const uint32_t gpus = platform->cluster.gpu_count, invokers = platform->cluster.invoker_count;
    const size_t gang = largest_gang(plan, gpus);
    trainings->plan = plan;
    platform->observed = true;
    trainings->count = (uint32_t)plan->count;
    trainings->window = SIM_FOREVER;
    trainings->items = arena_allocate(arena, plan->count, sizeof *trainings->items);
    trainings->gpus = arena_allocate(arena, gpus, sizeof *trainings->gpus);
    trainings->shares = arena_allocate(arena, gang, sizeof *trainings->shares);
    trainings->old_shares = arena_allocate(arena, gang, sizeof *trainings->old_shares);
    trainings->micro_vcpus = arena_allocate(arena, invokers, sizeof *trainings->micro_vcpus);
    trainings->marks = arena_allocate(arena, invokers, sizeof *trainings->marks);
    trainings->best_speeds =
        arena_allocate(arena, plan->models->count, sizeof *trainings->best_speeds);
    for (uint32_t m = 0; m < plan->models->count; m++)
        trainings->best_speeds[m] = training_best_speed(platform, m);
    items_init(trainings);
    /* Nothing is in the event queue yet: events with these orders come first at their time. */
    trainings->first_order = event_queue_draw_order(platform->event_queue);
    for (uint32_t id = 0; id < trainings->count; id++)
        trainings->arrival_order = event_queue_draw_order(platform->event_queue);
    (void)training_schedule(platform, 0, plan->trainings[0].arrival, trainings->arrival_order);
    training_fragments_init(platform);
}

/* ---- Residents ------------------------------------------------------------------------------- */

static void residents_add(struct platform *platform, uint32_t id)
{
    struct trainings *trainings = platform->trainings;
    const struct training_grant *grants = trainings->items[id].grants;
    for (uint32_t i = 0; i < training_gpu_count(platform, id); i++) {
        struct residents *gpu = &trainings->gpus[grant_gpu(platform, &grants[i])];
        arena_reserve(&platform->arena, &gpu->ids, (size_t)gpu->count + 1, sizeof *gpu->ids);
        if (gpu->count == 0)
            training_active_add(platform, 1);
        trainings->shared = trainings->shared || gpu->count > 0;
        gpu->ids[gpu->count++] = id;
    }
}

static void residents_remove(struct platform *platform, uint32_t id)
{
    struct trainings *trainings = platform->trainings;
    const struct training_grant *grants = trainings->items[id].grants;
    for (uint32_t i = 0; i < training_gpu_count(platform, id); i++) {
        struct residents *gpu = &trainings->gpus[grant_gpu(platform, &grants[i])];
        uint32_t k = 0;
        while (gpu->ids[k] != id)
            k++;
        gpu->count--;
        memmove(&gpu->ids[k], &gpu->ids[k + 1], (gpu->count - k) * sizeof *gpu->ids);
        if (gpu->count == 0)
            training_active_add(platform, -1);
    }
}

/* ---- Leases ---------------------------------------------------------------------------------- */

/* What the grants take on the ledger. Fractions are rounded down, so that grants that fit as
 * numbers fit here. */
static void shares_fill(const struct platform *platform, uint32_t id,
                        const struct training_grant *grants, struct gang_share *shares)
{
    const struct training_spec *spec = training_spec(platform, id);
    const uint32_t gang = training_gang_size(platform, id);
    const bool split = spec->gpus > 0 && gang != spec->gpus;
    const double memory_mb =
        training_split_mb(&platform->trainings->plan->models->models[spec->model],
                          platform->trainings->items[id].parts, spec->gpu_memory_mb);
    for (uint32_t i = 0; i < gang; i++)
        shares[i] =
            (struct gang_share){.gpu = grant_gpu(platform, &grants[i]),
                                .parts = grants[i].share * grants[i].quota,
                                .gpu_kb = kb_from_mb(split ? grants[i].gpu_memory_mb : memory_mb),
                                .host_kb = (int64_t)(grants[i].memory_mb * 1024.0),
                                .micro_vcpus = grant_micro_vcpus(&grants[i])};
}

/* Swaps the gang that a training holds (`held`: it holds one) for `grants`, or changes nothing. */
static bool gang_swap(struct platform *platform, uint32_t id, bool held,
                      const struct training_grant *grants)
{
    struct trainings *trainings = platform->trainings;
    struct cluster *cluster = &platform->cluster;
    const uint32_t count = training_gang_size(platform, id);
    metrics_integrate(&platform->metrics, &cluster->use, platform->now);
    if (held) {
        shares_fill(platform, id, trainings->items[id].grants, trainings->old_shares);
        cluster_free_gang(cluster, trainings->old_shares, count);
    }
    shares_fill(platform, id, grants, trainings->shares);
    const bool fits = cluster_take_gang(cluster, trainings->shares, count);
    if (fits && held)
        training_holdings_add(platform, trainings->old_shares, count, -1);
    if (fits)
        training_holdings_add(platform, trainings->shares, count, 1);
    if (!fits && held && !cluster_take_gang(cluster, trainings->old_shares, count))
        platform_fail(platform, "invariant gang: training %" PRIu32 " lost its own gang", id);
    return fits;
}

/* Frees what a training holds, which is in trainings->shares. */
static void gang_free(struct platform *platform, uint32_t id)
{
    const struct gang_share *shares = platform->trainings->shares;
    cluster_free_gang(&platform->cluster, shares, training_gang_size(platform, id));
    training_holdings_add(platform, shares, training_gang_size(platform, id), -1);
}

/* Whole iterations: ends a run in which a training's leases are too short, which would go on until
 * the clock's end. */
static void idle_lease_count(struct platform *platform, uint32_t id, bool made)
{
    enum { IDLE_LEASES_MAX = 100 };
    struct training *training = &platform->trainings->items[id];
    const struct training_spec *spec = training_spec(platform, id);
    if (made)
        training->idle_leases = 0;
    else if (platform->now == training->lease_end && platform->now > training->lease.at)
        training->idle_leases++;
    if (training->idle_leases < IDLE_LEASES_MAX || platform->failed)
        return;
    platform->failed = true;
    (void)error_input(platform->error,
                      "%s: training: training %" PRIu64
                      ": an iteration of %g s never ends in a lease of %g s",
                      platform->experiment->name, spec->id, spec->iteration_s / training->speed,
                      sim_to_s(training->lease_end - training->lease.at));
}

/* Ends the lease of a running training. Returns whether it has made its last iteration. */
static bool lease_end(struct platform *platform, uint32_t id, bool finishes)
{
    struct trainings *trainings = platform->trainings;
    struct training *training = &trainings->items[id];
    training_settle(platform, id);
    training_begun_end(platform, id, finishes);
    if (trainings->plan->whole) {
        const double made = floor(training->lease.work);
        finishes = finishes || made >= training->left.work;
        training->left.work = finishes ? 0 : training->left.work - made;
        idle_lease_count(platform, id, made >= 1);
    }
    training->resumes = false;
    training_neighbours_note(platform, id);
    residents_remove(platform, id);
    training_due_cancel(platform, id);
    training->attained += platform->now - training->lease.at;
    training->last_stop = platform->now;
    training->row.until_ns = platform->now;
    training->state = TRAINING_WAITING;
    trainings->running--;
    trainings->bare -= training_spec(platform, id)->gpus == 0;
    return finishes;
}

static void training_finish(struct platform *platform, uint32_t id)
{
    struct trainings *trainings = platform->trainings;
    struct training *training = &trainings->items[id];
    training->state = TRAINING_FINISHED;
    training->finish = platform->now;
    training_demand_add(platform, id, -1);
    training_lease_record(platform, id);
    trainings->left--;
    trainings->measured_left -=
        training_is_measured(trainings->plan, training_spec(platform, id)->id);
    while (trainings->low < trainings->count &&
           trainings->items[trainings->low].state == TRAINING_FINISHED)
        trainings->low++;
    policy_call_training_finished(platform, id);
}

/* Ends the lease, frees the gang after that time, and updates the trainings that shared its GPUs.
 */
static void training_stop(struct platform *platform, uint32_t id, bool finishes, sim_time_t save)
{
    struct training *training = &platform->trainings->items[id];
    finishes = lease_end(platform, id, finishes);
    training->saved = training->saving = save > 0 && !finishes;
    if (training->saving)
        training->event =
            platform_schedule(platform, platform->now + save, EVENT_TRAINING_SAVED, id);
    else
        trainings_saved(platform, id);
    training_rates_update(platform, training->grants, training_gang_size(platform, id));
    training_change_add(platform);
    if (finishes)
        training_finish(platform, id);
}

void trainings_saved(struct platform *platform, uint32_t id)
{
    struct training *training = &platform->trainings->items[id];
    const sim_time_t window = platform->trainings->window;
    const sim_time_t from = training->last_stop > window ? training->last_stop : window;
    if (training->saving && from < platform->now)
        platform->trainings->allocated_ns += training->gpus_held * (double)(platform->now - from);
    if (training->saving) {
        const sim_time_t save = platform->now - training->last_stop;
        training->attained += save;
        training->losses.save += save;
        training->row.save_ns = save;
        training->row.until_ns = platform->now;
    }
    platform->controller.changed = platform->controller.changed || training->saving;
    training->saving = false;
    metrics_integrate(&platform->metrics, &platform->cluster.use, platform->now);
    shares_fill(platform, id, training->grants, platform->trainings->shares);
    gang_free(platform, id);
}

/* The next placement is another lease, even at the same place. */
bool trainings_split(struct platform *platform, uint32_t id, uint32_t parts)
{
    struct training *training = &platform->trainings->items[id];
    if (training->saving)
        return false;
    if (training->parts != parts)
        training_lease_record(platform, id);
    training->parts = parts;
    return true;
}

static bool same_place(const struct training_grant *a, const struct training_grant *b,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i].invoker != b[i].invoker || a[i].gpu != b[i].gpu)
            return false;
    return true;
}

static bool same_grants(const struct training_grant *a, const struct training_grant *b,
                        uint32_t count)
{
    bool same = same_place(a, b, count);
    for (uint32_t i = 0; same && i < count; i++)
        same = a[i].share == b[i].share && a[i].quota == b[i].quota &&
               !(a[i].vcpus < b[i].vcpus || a[i].vcpus > b[i].vcpus) &&
               !(a[i].memory_mb < b[i].memory_mb || a[i].memory_mb > b[i].memory_mb);
    return same;
}

static void row_begin(struct platform *platform, uint32_t id)
{
    struct training *training = &platform->trainings->items[id];
    const struct training_spec *spec = training_spec(platform, id);
    struct lease_row row = {.training = id,
                            .id = spec->id,
                            .gpus = training_gpu_count(platform, id),
                            .first_invoker = training->grants[0].invoker,
                            .first_gpu = grant_gpu(platform, &training->grants[0]),
                            .invokers =
                                training_invokers(platform, training->grants, training->gang),
                            .from_ns = platform->now};
    double held = 0;
    for (uint32_t i = 0; i < training->gang; i++) {
        const struct training_grant *grant = &training->grants[i];
        const double units = grant_units(grant);
        row.units += units;
        held += units / platform->cluster.gpus[grant_gpu(platform, grant)].spec->units;
        row.vcpus += grant->vcpus;
        row.memory_mb += grant->memory_mb;
        if (training->neighbours != NULL)
            training->neighbours[i] = (struct neighbour){.id = SIM_NONE};
    }
    training->row = row;
    training->gpus_held = held;
    training->recording = true;
    platform->trainings->leases++;
}

void trainings_interrupt(struct platform *platform)
{
    struct trainings *trainings = platform->trainings;
    trainings->interrupts = true;
    uint32_t left = trainings->running;
    for (uint32_t id = trainings->low; left > 0; id++)
        if (trainings->items[id].state == TRAINING_RUNNING) {
            training_settle(platform, id);
            training_set_due(platform, id);
            left--;
        }
}

/* Starts a training on a gang that the ledger has given it. */
static void training_start(struct platform *platform, uint32_t id,
                           const struct training_grant *grants, sim_time_t end)
{
    struct trainings *trainings = platform->trainings;
    struct training *training = &trainings->items[id];
    const uint32_t count = training_gang_size(platform, id);
    const bool before = training->first_start != SIM_FOREVER;
    const bool goes_on = training->placed && training->last_stop == platform->now &&
                         same_place(training->grants, grants, count);
    const bool same_lease =
        goes_on && training->recording && same_grants(training->grants, grants, count);
    sim_time_t stall = 0;
    if (!before) {
        training->first_start = platform->now;
    } else if (!goes_on) {
        stall = trainings->interrupts ? 0 : trainings_restart_time(platform, id);
        if (training->saved && stall > 0)
            stall -= trainings->plan->save;
        training->restarts++;
    }
    if (!same_lease)
        training_lease_record(platform, id);
    memmove(training->grants, grants, count * sizeof *grants);
    if (!same_lease)
        row_begin(platform, id);
    if (!goes_on) {
        training->resume = platform->now + stall;
        failures_checkpoint_now(platform, id);
    }
    training->placed = true;
    training->state = TRAINING_RUNNING;
    training->lease = (struct work_at){.at = platform->now};
    training->left.at = platform->now;
    training->lease_end = end;
    trainings->running++;
    trainings->bare += training_spec(platform, id)->gpus == 0;
    residents_add(platform, id);
    if (!same_lease)
        training->alone = training_speed_alone(platform, id, grants);
    training->speed = training_speed(platform, id);
    training_set_due(platform, id);
    training_rates_update(platform, training->grants, count);
    training_change_add(platform);
}

static void grants_allocate(struct platform *platform, struct training *training)
{
    const struct recorder *recorder = platform->recorder;
    struct arena *arena = &platform->arena;
    if (training->placed)
        return; /* else a model may be split otherwise than last time */
    training->grants =
        arena_reallocate(arena, training->grants, training->gang, sizeof *training->grants);
    if (recorder != NULL && recorder->lease != NULL && recorder->lease_gpu != NULL)
        training->neighbours = arena_reallocate(arena, training->neighbours, training->gang,
                                                sizeof *training->neighbours);
}

bool trainings_place(struct platform *platform, uint32_t id, const struct training_grant *grants,
                     sim_time_t end)
{
    struct training *training = &platform->trainings->items[id];
    const bool held = training->state == TRAINING_RUNNING;
    /* Two models that cannot share a GPU slow one another without bound. */
    if (training->saving || isinf(training_slowdown(platform, id, grants)))
        return false;
    grants_allocate(platform, training);
    if (!gang_swap(platform, id, held, grants))
        return false;
    if (held && lease_end(platform, id, false)) {
        /* The lease that the move ended made the last whole iteration. */
        gang_free(platform, id);
        training_rates_update(platform, training->grants, training_gang_size(platform, id));
        training_finish(platform, id);
        return true;
    }
    if (held)
        training_rates_update(platform, training->grants, training_gang_size(platform, id));
    training_start(platform, id, grants, end);
    return true;
}

bool trainings_resize(struct platform *platform, uint32_t id, const struct training_grant *grants)
{
    struct training *training = &platform->trainings->items[id];
    const uint32_t count = training_gang_size(platform, id);
    if (!gang_swap(platform, id, true, grants))
        return false;
    training_settle(platform, id);
    training_neighbours_note(platform, id);
    training->row.until_ns = platform->now;
    if (training->row.from_ns < platform->now)
        training_lease_record(platform, id);
    else /* shares that it had for no time are no lease */
        platform->trainings->leases--;
    memmove(training->grants, grants, count * sizeof *grants);
    row_begin(platform, id);
    training->alone = training_speed_alone(platform, id, grants);
    training->speed = training_speed(platform, id);
    training_set_due(platform, id);
    training_rates_update(platform, grants, count);
    return true;
}

void trainings_preempt(struct platform *platform, uint32_t id, sim_time_t save)
{
    training_stop(platform, id, false, save);
}

double trainings_done(const struct platform *platform, uint32_t id)
{
    const struct trainings *trainings = platform->trainings;
    const struct training *training = &trainings->items[id];
    const struct training_spec *spec = &trainings->plan->trainings[id];
    if (trainings->plan->whole)
        return (double)spec->iterations - training->left.work;
    if (training->state == TRAINING_FINISHED)
        return (double)spec->iterations;
    const sim_time_t from =
        training->resume > training->left.at ? training->resume : training->left.at;
    double left = fmax(0, training->left.work);
    if (training->state == TRAINING_RUNNING && from < platform->now)
        left -= training->speed * (double)(platform->now - from);
    return fmax(0, (double)spec->iterations - left / (spec->iteration_s * 1e9));
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void training_arrive(struct platform *platform, uint32_t id)
{
    struct trainings *trainings = platform->trainings;
    trainings->items[id].state = TRAINING_WAITING;
    trainings->arrived++;
    training_demand_add(platform, id, 1);
    if (trainings->window == SIM_FOREVER &&
        training_is_measured(trainings->plan, training_spec(platform, id)->id))
        training_window_open(platform);
    if (trainings->arrived < trainings->count)
        (void)training_schedule(platform, trainings->arrived,
                                training_spec(platform, trainings->arrived)->arrival,
                                trainings->arrival_order);
    policy_call_training_arrived(platform, id);
}

/* What is due for a training: its arrival, the end of its restart, or the end of its lease. */
static void training_due(struct platform *platform, uint32_t id)
{
    const struct training *training = &platform->trainings->items[id];
    platform->trainings->scheduled--;
    if (training->state == TRAINING_FUTURE)
        training_arrive(platform, id);
    else if (training->resumes)
        training_resume(platform, id);
    else
        training_stop(platform, id, training->finishes, 0);
}

void trainings_step(struct platform *platform, uint32_t id)
{
    struct event event = {.subject = id};
    do {
        training_due(platform, event.subject);
    } while (!platform->failed &&
             event_queue_pop_if(platform->event_queue, platform->now, EVENT_TRAINING, &event));
    platform->controller.idle_timers++;
    platform->controller.changed = true;
}

bool trainings_over(const struct platform *platform)
{
    const struct trainings *trainings = platform->trainings;
    if (trainings == NULL)
        return true;
    return trainings->plan->stop_at_measured
               ? trainings->measured_left == 0
               : trainings->left == 0 && trainings->arrived == trainings->count;
}

bool trainings_pending(const struct platform *platform)
{
    return platform->trainings != NULL && platform->trainings->scheduled > 0;
}
