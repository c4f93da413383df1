/* Speeds of trainings, and the work done at them. */
#include "sim/platform/trainings.h"

#include <math.h>

#include "sim/cluster/cluster_internal.h"
#include "sim/platform/failures.h"
#include "sim/platform/gpu_work.h"

/* ---- Speed ----------------------------------------------------------------------------------- */

static struct training_server server_of(const struct platform *platform, uint32_t invoker)
{
    const struct cluster *cluster = &platform->cluster;
    return (struct training_server){cluster->sizes[invoker].vcpus,
                                    (double)cluster->sizes[invoker].memory_kb / (1024.0 * 1024.0),
                                    cluster->invokers[invoker].gpu_count};
}

double training_alone_s(const struct platform *platform, uint32_t id)
{
    const struct training_spec *spec = training_spec(platform, id);
    const struct cluster_spec *cluster = &platform->workload->cluster;
    double best = 0;
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        const double gpus = (double)group->gpu_count;
        const struct training_server server = {group->vcpus, group->memory_mb / 1024, gpus};
        if (gpus > 0)
            best = fmax(
                best, training_fair_speed(platform->trainings->plan->models, spec->model, &server) *
                          training_gpu_speed(
                              platform->trainings->plan->models, spec->model, group->gpus[0].model,
                              platform->workload->kinds[group->gpus[0].kind].speed, spec->gpus));
    }
    if (platform->trainings->plan->models->models[spec->model].timed)
        best = 1;
    return (double)spec->iterations * spec->iteration_s / best;
}

/* Effect of vCPUs and host memory, relative to the base of the models. A gang that gets its demand
 * has the model's speed-up. Otherwise the matrix counts, up to the speed at the demand. With pooled
 * invokers, where a demand is not limited by one server, the matrix alone counts. */
static double speed_by_server(const struct platform *platform, uint32_t id, uint32_t invoker,
                              double vcpus, double memory_gb)
{
    const struct training_plan *plan = platform->trainings->plan;
    const struct training_spec *spec = &plan->trainings[id];
    const struct training_model *model = &plan->models->models[spec->model];
    const struct training_server server = server_of(platform, invoker);
    const double speed = training_throughput(plan->models, spec->model, vcpus, memory_gb);
    if (model->throughput == NULL || !(model->demand_vcpus > 0) || !(model->demand_gb > 0) ||
        platform->cluster.pooled)
        return speed;
    struct training_demand demand;
    (void)training_demand(plan->models, spec->model, spec->gpus, &server, &demand);
    if (vcpus >= demand.vcpus / spec->gpus && memory_gb >= demand.memory_gb / spec->gpus)
        return demand.speed;
    return fmin(speed, demand.speed);
}

/* The part of its share that over-subscription leaves a training on the GPU of a grant. */
static double share_part(const struct platform *platform, uint32_t id,
                         const struct training_grant *grant)
{
    return gpu_work_part(platform, grant_gpu(platform, grant), id, grant->share * grant->quota);
}

/* Speed with a share of one GPU, relative to the whole GPU of the trace. A model that knows its
 * speed by share takes a share of the time like a share of the units: both are parts of the GPU.
 * For another model over-subscription leaves a part of the time. */
static double speed_by_gpu(const struct platform *platform, uint32_t id,
                           const struct training_model *model, const struct training_grant *grant)
{
    const double part = share_part(platform, id, grant);
    const uint32_t gpu = grant_gpu(platform, grant);
    const struct training_spec *spec = training_spec(platform, id);
    const double whole = training_gpu_speed(
        platform->trainings->plan->models, spec->model, platform->cluster.gpus[gpu].spec->model,
        platform->workload->kinds[cluster_kind(&platform->cluster, gpu)].speed, spec->gpus);
    const double units = platform->cluster.gpus[gpu].spec->units;
    if (model->speed == NULL)
        return part * quota_part(whole, grant->quota);
    return whole *
           training_share_speed(model, part * quota_part(grant->share, grant->quota) / units);
}

uint32_t training_invokers(const struct platform *platform, const struct training_grant *grants,
                           uint32_t count)
{
    struct trainings *trainings = platform->trainings;
    const uint32_t mark = ++trainings->mark;
    uint32_t invokers = 0;
    for (uint32_t i = 0; i < count; i++) {
        invokers += trainings->marks[grants[i].invoker] != mark;
        trainings->marks[grants[i].invoker] = mark;
    }
    return invokers;
}

double training_speed_alone(const struct platform *platform, uint32_t id,
                            const struct training_grant *grants)
{
    const struct training_spec *spec = training_spec(platform, id);
    const struct training_model *model = &platform->trainings->plan->models->models[spec->model];
    const uint32_t count = training_gang_size(platform, id);
    double vcpus = INFINITY, memory_mb = INFINITY, gpu = INFINITY;
    if (model->timed)
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        vcpus = fmin(vcpus, grants[i].vcpus);
        memory_mb = fmin(memory_mb, grants[i].memory_mb);
        gpu = fmin(gpu, speed_by_gpu(platform, id, model, &grants[i]));
    }
    const uint32_t invokers = training_invokers(platform, grants, count);
    const double split =
        spec->iteration_s /
        training_split_s(model, platform->trainings->items[id].parts, spec->iteration_s);
    return gpu * speed_by_server(platform, id, grants[0].invoker, vcpus, memory_mb / 1024.0) *
           training_penalty(platform->trainings->plan->models, spec->model, invokers) * split;
}

double training_slowdown(const struct platform *platform, uint32_t id,
                         const struct training_grant *grants)
{
    const struct trainings *trainings = platform->trainings;
    const struct training_spec *specs = trainings->plan->trainings;
    const uint32_t count = training_gang_size(platform, id);
    double worst = 1;
    const bool timed = trainings->plan->models->models[specs[id].model].timed;
    if (timed && isnan(trainings->plan->models->default_pair))
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = grant_gpu(platform, &grants[i]);
        const struct residents *gpu = &trainings->gpus[at];
        double slowdown = 1;
        for (uint32_t k = 0; k < gpu->count; k++)
            if (gpu->ids[k] != id)
                slowdown += training_pair(trainings->plan->models, specs[id].model,
                                          specs[gpu->ids[k]].model, count, NULL) -
                            1;
        if (!timed && gpu_interferes(platform, at)) {
            const double units = platform->cluster.gpus[at].spec->units;
            const double share = quota_part(grants[i].share / units, grants[i].quota);
            slowdown +=
                gpu_work_excess(platform, at, id, share, share_part(platform, id, &grants[i]));
        }
        worst = fmax(worst, slowdown);
    }
    return worst;
}

double training_speed(const struct platform *platform, uint32_t id)
{
    const struct training *training = &platform->trainings->items[id];
    const double alone = platform->cluster.oversubscribed
                             ? training_speed_alone(platform, id, training->grants)
                             : training->alone;
    return alone / training_slowdown(platform, id, training->grants);
}

sim_time_t trainings_restart_time(const struct platform *platform, uint32_t id)
{
    const struct training_plan *plan = platform->trainings->plan;
    const struct training_spec *spec = &plan->trainings[id];
    const double *restart_s = plan->models->models[spec->model].restart_s;
    return plan->save + (!plan->instant_restart && restart_s != NULL
                             ? sim_from_s(restart_s[training_gang(plan->models, spec->gpus)])
                             : 0);
}

/* ---- Work ------------------------------------------------------------------------------------ */

static double iteration_at(const struct platform *platform, uint32_t id, double speed)
{
    return training_spec(platform, id)->iteration_s / speed;
}

/* When progress began in the present piece: at its beginning, or at the end of a restart. With
 * interruptions the restart ends each piece but the one that finishes the training. */
static sim_time_t progress_from(const struct platform *platform, uint32_t id)
{
    const struct training *training = &platform->trainings->items[id];
    if (platform->trainings->interrupts && !(training->finishes && training->due <= platform->now))
        return training->left.at + trainings_restart_time(platform, id);
    return training->resume > training->left.at ? training->resume : training->left.at;
}

void training_settle(struct platform *platform, uint32_t id)
{
    struct training *training = &platform->trainings->items[id];
    const sim_time_t from = progress_from(platform, id);
    const sim_time_t now = platform->now;
    if (from < now && platform->failures != NULL)
        failures_checkpoint(platform, id, from);
    training_account(platform, id, from);
    training->left.at = now;
    if (from >= now)
        return;
    if (!platform->trainings->plan->whole)
        training->left.work -= training->speed * (double)(now - from);
    const double iterations = sim_to_s(now - from) / iteration_at(platform, id, training->speed);
    training->lease.work += iterations;
    training->row.iterations += iterations;
}

void training_set_due(struct platform *platform, uint32_t id)
{
    struct training *training = &platform->trainings->items[id];
    const bool whole = platform->trainings->plan->whole;
    const sim_time_t from = training->resume > platform->now ? training->resume : platform->now;
    const double left_ns = whole ? (training->left.work - training->lease.work) *
                                       iteration_at(platform, id, training->speed) * 1e9
                                 : training->left.work / training->speed;
    const sim_time_t left = sim_ceil(fmax(0, left_ns));
    const sim_time_t finish = left < SIM_FOREVER - from ? from + left : SIM_FOREVER;
    training->finishes =
        finish <= training->lease_end && !(whole && training->lease_end < SIM_FOREVER);
    training->due = training->finishes ? finish : training->lease_end;
    /* The end of its restart slows what executes on its GPUs. It is not handled twice, nor passed
     * over when another training's end of restart at this instant changes the speed. */
    training->resumes = platform->cluster.oversubscribed && training->resume < training->due &&
                        (training->resume > platform->now ||
                         (training->resumes && training->resume == platform->now));
    if (training->resumes)
        training->due = training->resume;
    training_due_set(platform, id);
}

void training_resume(struct platform *platform, uint32_t id)
{
    struct training *training = &platform->trainings->items[id];
    training->resumes = false;
    training_set_due(platform, id);
    training_rates_update(platform, training->grants, training->gang);
}

/* Updates the trainings on one GPU that update number `visit` has not reached. */
static void gpu_update(struct platform *platform, uint32_t at, uint32_t visit)
{
    struct trainings *trainings = platform->trainings;
    const struct residents *gpu = &trainings->gpus[at];
    for (uint32_t k = 0; k < gpu->count; k++) {
        const uint32_t id = gpu->ids[k];
        struct training *training = &trainings->items[id];
        if (training->visit == visit)
            continue;
        training->visit = visit;
        const double speed = training_speed(platform, id);
        if (speed < training->speed || speed > training->speed) {
            training_settle(platform, id);
            training->speed = speed;
            training_set_due(platform, id);
        }
    }
}

void training_gpu_update(struct platform *platform, uint32_t gpu)
{
    gpu_update(platform, gpu, ++platform->trainings->visits);
}

void training_rates_update(struct platform *platform, const struct training_grant *grants,
                           uint32_t count)
{
    const uint32_t visit = ++platform->trainings->visits;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t gpu = grant_gpu(platform, &grants[i]);
        gpu_update(platform, gpu, visit);
        gpu_work_trainings_changed(platform, gpu);
    }
}
