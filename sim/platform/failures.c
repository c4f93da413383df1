#include "sim/platform/failures.h"

#include <math.h>

#include "sim/platform/batches.h"
#include "sim/platform/containers.h"
#include "sim/platform/instances.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/policy_calls.h"
#include "sim/platform/simulation_internal.h"
#include "sim/platform/trainings.h"

/* ---- Set-up ---------------------------------------------------------------------------------- */

void failures_init(struct platform *platform)
{
    const struct platform_spec *spec = &platform->experiment->platform;
    if (!platform_fails(spec))
        return;
    const uint32_t invokers = platform->cluster.invoker_count;
    struct failures *failures = arena_allocate(&platform->arena, 1, sizeof *failures);
    platform->failures = failures;
    failures->spec = &spec->failures;
    failures->invokers = arena_allocate(&platform->arena, invokers, sizeof *failures->invokers);
    for (uint32_t i = 0; i < invokers; i++)
        random_stream_open(&failures->invokers[i].stream, draw_seed(platform, 0), RANDOM_FAILURE, i,
                           0);
}

/* A random time with this mean, at least a nanosecond; SIM_FOREVER beyond the clock. */
static sim_time_t draw(struct failing *invoker, double mean_s, sim_time_t now)
{
    const double ns = ceil(fmax(1, 1e9 * random_exponential_gsl(&invoker->stream, mean_s)));
    return ns < (double)(SIM_CLOCK_END - now) ? now + (sim_time_t)ns : SIM_FOREVER;
}

static void schedule_failure(struct platform *platform, uint32_t invoker)
{
    struct failures *failures = platform->failures;
    const sim_time_t time =
        draw(&failures->invokers[invoker], failures->spec->mtbf_s, platform->now);
    if (time < SIM_FOREVER)
        platform_schedule(platform, time, EVENT_INVOKER_FAILS, invoker);
}

void failures_begin(struct platform *platform)
{
    const struct failures *failures = platform->failures;
    if (failures == NULL)
        return;
    for (uint32_t i = 0; i < failures->spec->outage_count; i++)
        platform_schedule(platform, failures->spec->outages[i].from, EVENT_INVOKER_FAILS, i);
    for (uint32_t i = 0; failures->spec->mtbf_s > 0 && i < platform->cluster.invoker_count; i++)
        schedule_failure(platform, i);
}

/* ---- What is lost ---------------------------------------------------------------------------- */

void failures_checkpoint(struct platform *platform, uint32_t id, sim_time_t from)
{
    struct training *training = &platform->trainings->items[id];
    const sim_time_t every = platform->trainings->plan->checkpoint, base = training->resume;
    if (every == 0 || platform->now < base)
        return;
    const sim_time_t last = base + (platform->now - base) / every * every;
    if (last <= training->kept.at || last < from)
        return;
    const double iteration_s = training_spec(platform, id)->iteration_s;
    const double work = training->speed * (double)(last - from);
    struct training_work begun = training->begun;
    training->safe = training->counted;
    training_work_advance(platform, id, from, last, &training->safe, &begun);
    training->kept.at = last;
    training->kept.work =
        training->left.work - (platform->trainings->plan->whole
                                   ? floor(training->lease.work + work / 1e9 / iteration_s)
                                   : work);
}

void failures_checkpoint_now(struct platform *platform, uint32_t id)
{
    struct training *training = &platform->trainings->items[id];
    training->kept = (struct work_at){training->left.work, training->resume};
    training->safe = training->counted;
}

/* Whether a part of the training's gang is on the invoker. */
static bool training_is_on(const struct platform *platform, uint32_t id, uint32_t invoker)
{
    const struct training *training = &platform->trainings->items[id];
    bool on = false;
    if (training->state == TRAINING_RUNNING || training->saving)
        for (uint32_t i = 0; i < training->gang && !on; i++)
            on = training->grants[i].invoker == invoker;
    return on;
}

/* Ends the lease and takes the work since the last checkpoint back. */
static void training_lose(struct platform *platform, uint32_t id, struct outage_row *row)
{
    struct training *training = &platform->trainings->items[id];
    const uint32_t gpus = training_gpu_count(platform, id);
    const sim_time_t until = training->saving ? training->last_stop : platform->now;
    if (!training->saving)
        trainings_preempt(platform, id, 0);
    else if (event_queue_cancel(platform->event_queue, training->event))
        platform->work_events--;
    if (training->saving)
        trainings_saved(platform, id);
    if (platform->failed || training->state == TRAINING_FINISHED)
        return; /* whole iterations: the end of the lease made the last one */
    row->trainings++;
    if (until > training->kept.at) {
        row->lost_ns += until - training->kept.at;
        row->lost_gpu_s += sim_to_s(until - training->kept.at) * gpus;
    }
    training_lease_record(platform, id);
    training->left = training->kept;
    training->losses.lost += training->counted.time - training->safe.time;
    training->counted = training->safe;
    training->saved = true; /* nothing is saved, so its restart does not begin with that */
    training->placed = false;
    training->parts = 1;
    policy_call_training_finished(platform, id);
    policy_call_training_arrived(platform, id);
}

static void trainings_lose(struct platform *platform, uint32_t invoker, struct outage_row *row)
{
    const struct trainings *trainings = platform->trainings;
    if (trainings == NULL)
        return;
    for (uint32_t id = trainings->low; id < trainings->arrived && !platform->failed; id++)
        if (training_is_on(platform, id, invoker))
            training_lose(platform, id, row);
}

static void batches_lose_on(struct platform *platform, uint32_t invoker, struct outage_row *row)
{
    for (uint32_t id = 0; id < platform->batches_used && !platform->failed; id++) {
        const struct batch *batch = &platform->batches[id];
        if (batch->jobs == 0 || batch->invoker != invoker)
            continue;
        row->batches++;
        row->requests += batches_lose(platform, id);
    }
}

static void instances_lose(struct platform *platform, uint32_t invoker, sim_time_t back)
{
    for (uint32_t id = 0; id < platform->instance_capacity && !platform->failed; id++)
        if (platform->instances[id].alive && platform->instances[id].invoker == invoker)
            instances_restart(platform, id, back);
}

/* Those that a batch or an instance holds went, or stay, with it. */
static void containers_lose(struct platform *platform, uint32_t invoker, struct outage_row *row)
{
    struct cluster *cluster = &platform->cluster;
    const uint64_t evictions = platform->metrics.evictions;
    metrics_integrate(&platform->metrics, &cluster->use, platform->now);
    for (uint32_t id = 0; id < cluster->containers_used && !platform->failed; id++) {
        struct container *container = &cluster->containers[id];
        if (container->invoker != invoker || container->state == CONTAINER_FREE ||
            container->state == CONTAINER_BUSY || container->claimed)
            continue;
        if (container->state == CONTAINER_STARTING) {
            containers_silence(platform, id);
            cluster_container_ready(cluster, id, platform->now);
        }
        cluster_evict(cluster, id);
        row->containers++;
    }
    platform->metrics.evictions = evictions;
}

/* ---- Events ---------------------------------------------------------------------------------- */

void failures_withdraw(struct platform *platform, uint32_t invoker)
{
    if (platform->failures != NULL && platform->failures->invokers[invoker].down)
        cluster_withdraw(&platform->cluster, invoker);
}

/* Where nothing ends between two failures, a run would go on to the end of the clock. */
static void failures_judge(struct platform *platform)
{
    enum { FUTILE_MOST = 1000000 };
    struct failures *failures = platform->failures;
    const struct trainings *trainings = platform->trainings;
    const uint64_t ended = platform->next_request - platform->in_flight +
                           (trainings != NULL ? trainings->count - trainings->left : 0);
    if (ended != failures->ended)
        failures->since = failures->changes;
    failures->ended = ended;
    if (failures->changes - failures->since > FUTILE_MOST)
        platform_fail(platform,
                      "rule progress: invokers failed or came back %d times, and meanwhile no "
                      "request and no training ended; platform.failures leaves no time for a cold "
                      "start, or for the work between two checkpoints",
                      FUTILE_MOST);
}

void failures_fail(struct platform *platform, uint32_t subject)
{
    struct failures *failures = platform->failures;
    failures_judge(platform);
    const bool listed = failures->spec->outage_count > 0;
    const uint32_t id = listed ? failures->spec->outages[subject].invoker : subject;
    struct failing *invoker = &failures->invokers[id];
    const sim_time_t back = listed ? failures->spec->outages[subject].until
                                   : draw(invoker, failures->spec->mttr_s, platform->now);
    invoker->down = true;
    failures->down += back < SIM_FOREVER;
    failures->changes++;
    invoker->row = (struct outage_row){.invoker = id, .from_ns = platform->now};
    platform_schedule(platform, back, EVENT_INVOKER_BACK, id);
    trainings_lose(platform, id, &invoker->row);
    batches_lose_on(platform, id, &invoker->row);
    instances_lose(platform, id, back);
    containers_lose(platform, id, &invoker->row);
    failures_withdraw(platform, id);
    platform->controller.changed = true;
}

static void outage_end(struct platform *platform, struct failing *invoker)
{
    const struct recorder *recorder = platform->recorder;
    invoker->down = false;
    invoker->row.until_ns = platform->now;
    cluster_return(&platform->cluster, invoker->row.invoker);
    if (recorder != NULL && recorder->outage != NULL &&
        !recorder->outage(recorder->context, &invoker->row, platform->error))
        platform->failed = true;
}

void failures_repair(struct platform *platform, uint32_t invoker)
{
    outage_end(platform, &platform->failures->invokers[invoker]);
    platform->failures->down--;
    platform->failures->changes++;
    platform->controller.changed = true;
    if (platform->failures->spec->mtbf_s > 0)
        schedule_failure(platform, invoker);
}

void failures_close(struct platform *platform)
{
    for (uint32_t i = 0; platform->failures != NULL && i < platform->cluster.invoker_count; i++)
        if (platform->failures->invokers[i].down)
            outage_end(platform, &platform->failures->invokers[i]);
}
