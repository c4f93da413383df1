#include <inttypes.h>

#include "sim/platform/admission.h"
#include "sim/platform/batches.h"
#include "sim/platform/gpu_work.h"
#include "sim/platform/instances.h"
#include "sim/platform/policy_api.h"
#include "sim/platform/requests.h"
#include "sim/platform/trainings.h"
#include "sim/platform/waits.h"

static void batch_record(struct platform *platform, const struct batch *batch, double slowdown,
                         double cost)
{
    const struct recorder *recorder = platform->recorder;
    if (recorder == NULL || recorder->batch == NULL)
        return;
    const struct configuration *spec = batch_configuration(platform, batch);
    const struct queue *queue = &platform->queues[batch->queue];
    const sim_time_t planned =
        platform->planned->functions[queue->function].configurations[batch->configuration].time;
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
                            .cold_ns = batch_cold_wait(batch),
                            .noise = platform->jobs[batch->first_job].used_noise,
                            .planned_ms = sim_to_ms(planned) / quota_part(1, batch->quota)};
    if (!recorder->batch(recorder->context, &row, platform->error))
        platform->failed = true;
    const sim_time_t work = platform->now - batch->started - platform->host;
    if (platform->waits != NULL)
        waits_record_end(platform, batch, work,
                         slowdown > 1 ? (sim_time_t)((double)work / slowdown + 0.5) : work);
}

/* How long a job waited for its container: its batch's, or that of the instance it was routed to.
 */
static sim_time_t job_cold_wait(const struct platform *platform, const struct batch *batch,
                                uint32_t job)
{
    return batch_waits(batch) ? batch_cold_wait(batch)
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
        sim_time_t held = batch_waits(batch) ? 0 : cold;
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

void batch_record_lost(struct platform *platform, const struct batch *batch)
{
    const struct recorder *recorder = platform->recorder;
    uint32_t place = 0;
    if (platform->waits != NULL)
        waits_record_lost(platform, batch);
    if (recorder == NULL || recorder->lost == NULL)
        return;
    for (uint32_t job = batch->first_job; job != SIM_NONE && !platform->failed;
         job = platform->jobs[job].next, place++) {
        const struct lost_row row = {.request = job_request(platform, job)->number,
                                     .batch = batch->number,
                                     .queue = job_queue(platform, job),
                                     .stage = job_stage(platform, job),
                                     .place = place,
                                     .invoker = batch->invoker,
                                     .gpu = batch->gpu,
                                     .container =
                                         platform->cluster.containers[batch->container].serial,
                                     .ready_ns = platform->jobs[job].ready,
                                     .dispatched_ns = batch->dispatched,
                                     .lost_ns = platform->now};
        if (!recorder->lost(recorder->context, &row, platform->error))
            platform->failed = true;
    }
}

/* Counts the measured jobs of a batch, by application and overall. The batch is counted for the
 * application of its oldest measured job. Returns the number of measured jobs. */
static uint32_t batch_count_jobs(struct platform *platform, const struct batch *batch)
{
    struct metric_sums *sums = platform->metrics.sums;
    struct metric_sums *all = &sums[platform->metrics.application_count];
    uint32_t measured = 0;
    for (uint32_t job = batch->first_job; job != SIM_NONE; job = platform->jobs[job].next) {
        const struct request *request = job_request(platform, job);
        if (!request->measured)
            continue;
        struct metric_sums *own = &sums[request->application];
        bool cold = batch_waits(batch) ? batch->cold : job_cold_wait(platform, batch, job) > 0;
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

void batch_account(struct platform *platform, const struct batch *batch,
                   const struct configuration *spec)
{
    struct metrics *metrics = &platform->metrics;
    double price = configuration_rate(platform, spec, batch->quota);
    sim_time_t execution = platform->now - batch->started;
    sim_time_t priced_since = batch->reshared ? batch->priced_since : batch->started;
    double cost =
        (batch->reshared ? batch->billed : 0) + (double)(platform->now - priced_since) * price;
    double hold =
        (double)(batch->started - batch->dispatched + batch_turnaround(platform, batch)) * price;
    double alone = (batch->reshared ? batch->alone : 0) +
                   batch_work(platform, batch) / quota_part(1, batch->quota);
    double slowdown = alone > 0 ? (double)(execution - platform->host) / alone : 1.0;
    for (uint32_t job = batch->first_job; job != SIM_NONE; job = platform->jobs[job].next) {
        struct request *request = job_request(platform, job);
        sim_time_t cold_wait = job_cold_wait(platform, batch, job);
        request->queue_time += batch->launched - platform->jobs[job].ready;
        if (!batch_waits(batch))
            request->queue_time -= cold_wait;
        request->transfer_time += batch->transfer;
        request->cold_time += cold_wait;
        request->exec_time += execution;
        request->cost += cost / batch->jobs;
    }
    metrics->total_batch_cost += cost;
    admission_learn(platform, batch, spec);
    uint32_t measured = batch_count_jobs(platform, batch);
    if (measured > 0) {
        /* resources held by instances are billed separately */
        if (batch->instance == SIM_NONE) {
            const double share = hold * measured / batch->jobs;
            metrics->sums[platform->queues[batch->queue].application].hold_cost += share;
            metrics->sums[metrics->application_count].hold_cost += share;
        }
        metrics->batches++;
        metrics->slowdown_sum += slowdown;
        metrics->executed_ns[spec->grade] += (double)execution;
    }
    batch_record(platform, batch, slowdown, cost);
    jobs_record(platform, batch, cost);
}

void batches_check_holdings(struct platform *platform)
{
    struct error fault = {0};
    if (!cluster_check(&platform->cluster, false, &fault))
        platform_fail(platform, "%s", fault.message);
    const struct cluster_use *use = &platform->cluster.use;
    int64_t vcpus = 0, parts = 0;
    for (uint32_t i = 0; i < platform->batches_used; i++) {
        const struct batch *batch = &platform->batches[i];
        if (batch->jobs == 0 || batch->instance != SIM_NONE)
            continue;
        const struct configuration *spec = batch_configuration(platform, batch);
        vcpus += spec->vcpu;
        parts +=
            (int64_t)spec->vgpu * UNIT_PARTS * cluster_unit_weight(&platform->cluster, spec->kind);
    }
    for (uint32_t i = 0; i < platform->instance_capacity; i++) {
        const struct instance *instance = &platform->instances[i];
        if (!instance->alive)
            continue;
        const struct configuration *spec = &platform->workload->functions[instance->function]
                                                .configurations[instance->configuration];
        vcpus += spec->vcpu;
        parts += (int64_t)spec->vgpu * instance->quota *
                 cluster_unit_weight(&platform->cluster, spec->kind);
        if (instance->quota != platform->cluster.containers[instance->container].quota)
            platform_fail(platform, "invariant quota: instance %" PRIu32 " has not its container's",
                          i);
    }
    trainings_add_holdings(platform, &vcpus, &parts);
    if (vcpus != use->vcpus || parts != use->unit_parts)
        platform_fail(platform,
                      "invariant holdings: %" PRId64
                      " vCPUs and %.2f units are given away, batches, trainings "
                      "and instances hold %" PRId64 " and %.2f",
                      (int64_t)use->vcpus, (double)use->unit_parts / UNIT_PARTS, vcpus,
                      (double)parts / UNIT_PARTS);
}
