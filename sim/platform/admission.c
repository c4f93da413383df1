#include "sim/platform/admission.h"
#include "sim/platform/actions.h"

#include <math.h>

#include "sched/common/arrival_rates.h"
#include "sched/common/slo.h"
#include "sim/platform/load_limit.h"
#include "sim/platform/policy_api_internal.h"

/* What a rate needs to know. */
struct rate_admission {
    struct arrival_rates *rates;
    struct load_limit *limit;
    double *told;         /* by application: what the policy said of a request; 0: nothing */
    double *work;         /* by queue: mean ns of the whole cluster that a job takes */
    double *part;         /* by queue: mean part of the cluster that a job holds meanwhile */
    uint64_t *seen;       /* by queue: batches from which these were learned */
    double *share, *load; /* by application; scratch */
};

/* The dominant share of the cluster (Ghodsi et al., NSDI 2011): the scarcer resource limits what
 * else can run. */
static double dominant_part(const struct cluster *cluster, double unit_parts, double vcpus)
{
    const double units = unit_parts > 0 ? unit_parts / (double)cluster->capacity.unit_parts : 0;
    return fmax(units, vcpus / (double)cluster->capacity.vcpus);
}

static double part_of(const struct cluster *cluster, const struct configuration *spec,
                      unsigned quota)
{
    return dominant_part(
        cluster, (double)spec->vgpu * quota * cluster_unit_weight(cluster, spec->kind), spec->vcpu);
}

static void rate_init(struct platform *platform)
{
    const struct workload *planned = platform->planned;
    struct arena *arena = &platform->arena;
    const size_t applications = planned->application_count;
    struct rate_admission *rate = arena_allocate(arena, 1, sizeof *rate);
    rate->rates = arrival_rates_create(arena, applications);
    rate->limit = load_limit_create(arena, applications, &platform->admission);
    rate->work = arena_allocate(arena, planned->queue_count, sizeof *rate->work);
    rate->part = arena_allocate(arena, planned->queue_count, sizeof *rate->part);
    rate->seen = arena_allocate(arena, planned->queue_count, sizeof *rate->seen);
    rate->told = arena_allocate(arena, applications, sizeof *rate->told);
    rate->share = arena_allocate(arena, applications, sizeof *rate->share);
    rate->load = arena_allocate(arena, applications, sizeof *rate->load);
    for (uint32_t q = 0; q < planned->queue_count; q++) {
        const struct function *function = &planned->functions[platform->queues[q].function];
        const struct configuration *least =
            &function->configurations[function->minimum_configuration];
        rate->part[q] = part_of(&platform->cluster, least, UNIT_PARTS);
        rate->work[q] = rate->part[q] * (double)least->time;
    }
    platform->rate_admission = rate;
}

void admission_init(struct platform *platform)
{
    const struct workload *planned = platform->planned;
    if (platform->admission.rule == ADMISSION_NONE)
        return;
    platform->ways = arena_allocate(&platform->arena, planned->queue_count, sizeof *platform->ways);
    platform->earliest =
        arena_allocate(&platform->arena, planned->queue_count, sizeof *platform->earliest);
    slo_fastest_paths(planned, platform->ways);
    if (platform->admission.rule == ADMISSION_RATE)
        rate_init(platform);
}

void admission_note(struct platform *platform, uint32_t queue, uint32_t job)
{
    const sim_time_t deadline = job_look(platform, job).deadline;
    if (platform->queues[queue].length == 1 || deadline < platform->earliest[queue])
        platform->earliest[queue] = deadline;
}

/* Deadlines of a queue need not ascend: a trace may give each request its own. */
static void queue_drop_lost(struct platform *platform, uint32_t q)
{
    const struct queue *queue = &platform->queues[q];
    const sim_time_t lost = platform->now + platform->ways[q];
    sim_time_t earliest = SIM_FOREVER;
    for (uint32_t at = 0; at < queue->length && !platform->failed;) {
        const uint32_t job = queue_job(queue, at);
        const sim_time_t deadline = job_look(platform, job).deadline;
        if (deadline < lost) {
            platform->controller.units++;
            jobs_drop(platform, job_slot(platform, job));
        } else {
            earliest = deadline < earliest ? deadline : earliest;
            at++;
        }
    }
    platform->earliest[q] = earliest;
}

void admission_drop_lost(struct platform *platform)
{
    for (uint32_t q = 0; platform->ways != NULL && q < platform->planned->queue_count; q++)
        if (platform->queues[q].length > 0 &&
            platform->earliest[q] < platform->now + platform->ways[q])
            queue_drop_lost(platform, q);
}

/* ---- By rate --------------------------------------------------------------------------------- */

/* The load of each application if all of its requests were admitted. */
static void rate_load(const struct platform *platform, struct rate_admission *rate)
{
    const struct workload *planned = platform->planned;
    for (size_t a = 0; a < planned->application_count; a++) {
        const struct application *application = &planned->applications[a];
        double each = 0;
        for (size_t s = 0; s < application->stage_count; s++)
            each += rate->work[application->first_queue + s];
        if (rate->told[a] > 0)
            each = rate->told[a];
        rate->share[a] = arrival_rates_share(rate->rates, a);
        rate->load[a] = each / arrival_rates_interval(rate->rates, a);
    }
}

/* True if the jobs that wait would hold more of the cluster than is free and the gate allows. */
static bool much_waits(const struct platform *platform, const struct rate_admission *rate)
{
    const struct cluster *cluster = &platform->cluster;
    double room =
        1 + platform->admission.waiting -
        dominant_part(cluster, (double)cluster->use.unit_parts, (double)cluster->use.vcpus);
    for (uint32_t q = 0; q < platform->planned->queue_count; q++)
        room -= (double)platform->queues[q].length * rate->part[q];
    return room < 0;
}

void admission_judge(struct platform *platform, uint32_t slot)
{
    struct rate_admission *rate = platform->rate_admission;
    struct request *request = &platform->requests[slot];
    if (rate == NULL)
        return;
    arrival_rates_note(rate->rates, request->application, platform->now);
    rate_load(platform, rate);
    load_limit_balance(rate->limit, rate->share, rate->load);
    if (load_limit_admit(rate->limit, request->application, much_waits(platform, rate)) ||
        request->dropped)
        return;
    request->shed = true;
    jobs_drop(platform, slot);
}

void admission_learn(struct platform *platform, const struct batch *batch,
                     const struct configuration *spec)
{
    enum { YOUNG = 10, OLD = 50 };
    struct rate_admission *rate = platform->rate_admission;
    if (rate == NULL)
        return;
    const double part = part_of(&platform->cluster, spec, batch->quota) / batch->jobs;
    const double work = part * (double)(platform->now - batch->started);
    const uint64_t seen = rate->seen[batch->queue]++ + YOUNG;
    const double weight = 1 / (double)(seen < OLD ? seen : OLD);
    rate->part[batch->queue] += (part - rate->part[batch->queue]) * weight;
    rate->work[batch->queue] += (work - rate->work[batch->queue]) * weight;
}

void platform_tell_work(struct platform *platform, uint32_t application, sim_time_t work)
{
    ACTION_NOTE(platform, work, application, work);
    if (platform->rate_admission != NULL && application < platform->workload->application_count)
        platform->rate_admission->told[application] = (double)work;
}

void admission_outcome(struct platform *platform, const struct request *request, bool hit)
{
    if (platform->rate_admission != NULL && !request->shed)
        load_limit_outcome(platform->rate_admission->limit, hit);
}
