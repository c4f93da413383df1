#include "sched/dilu/trainings.h"

#include <math.h>
#include <stdio.h>

#include "sched/memory.h"

enum { PARTS = 100 }; /* of a unit */

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* The size of every invoker and GPU, which must be the same. */
static bool shape_of(const struct cluster_spec *cluster, uint32_t *nodes, struct error *error)
{
    const struct invoker_group *first = &cluster->groups[0];
    *nodes = 0;
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        *nodes += group->count;
        bool same = group->gpu_count == first->gpu_count && group->gpu_count > 0;
        for (size_t i = 0; same && i < group->gpu_count; i++)
            same = group->gpus[i].units == first->gpus[0].units &&
                   fabs(group->gpus[i].memory_mb - first->gpus[0].memory_mb) < 1;
        if (!same)
            return error_input(error,
                               "policy.name: \"dilu\" places trainings, and serves its baselines, "
                               "on invokers with equal GPUs; cluster.invokers.%zu differs",
                               g);
    }
    return true;
}

bool dilu_trainings_init(struct dilu_trainings *trainings, struct platform *platform,
                         const struct dilu_gpu *gpus, const struct dilu_trainings_rule *rule,
                         struct error *error)
{
    const struct workload *workload = platform_workload(platform);
    const struct invoker_group *first = &workload->cluster.groups[0];
    uint32_t nodes = 0;
    *trainings = (struct dilu_trainings){.platform = platform,
                                         .gpus = gpus,
                                         .rule = *rule,
                                         .invoker_vcpus = first->vcpus,
                                         .functions = (uint32_t)workload->function_count};
    if (!shape_of(&workload->cluster, &nodes, error))
        return false;
    dilu_pool_init(&trainings->pool, platform_arena(platform), &rule->pool, nodes,
                   (uint32_t)first->gpu_count, first->gpus[0].memory_mb);
    trainings->grants =
        platform_allocate(platform, trainings->pool.gpu_count, sizeof *trainings->grants);
    return true;
}

/* ---- Trainings ------------------------------------------------------------------------------- */

void dilu_training_shares(const struct training_model *model, double target, double factor,
                          double *request, double *limit)
{
    enum { STEPS = 20 };
    int step = 1;
    while (model->speed != NULL && step < STEPS &&
           training_share_speed(model, (double)step / STEPS) <
               target * model->speed[model->speed_count - 1])
        step++;
    *request = model->request > 0     ? model->request
               : model->speed == NULL ? 1
                                      : (double)step / STEPS;
    *limit = model->limit > 0 ? model->limit : fmin(1, factor * *request);
}

const char *dilu_trainings_refuse(struct dilu_trainings *trainings, uint32_t gpus)
{
    const struct dilu_pool *pool = &trainings->pool;
    const double vcpus = trainings->rule.vcpus * gpus;
    if (gpus == 0)
        return "it places no training without a GPU";
    if (pool->rule.scheme == DILU_EXCLUSIVE)
        return NULL;
    if (gpus > pool->gpu_count / pool->node_count)
        return "its gangs are on one invoker each, and an invoker has fewer GPUs";
    if (vcpus <= trainings->invoker_vcpus)
        return NULL;
    (void)snprintf(trainings->reason, sizeof trainings->reason,
                   "it needs %g vCPUs of one invoker, which has %g (\"training_vcpus\" per GPU)",
                   vcpus, trainings->invoker_vcpus);
    return trainings->reason;
}

void dilu_trainings_arrived(struct dilu_trainings *trainings, uint32_t id)
{
    struct arena *arena = platform_arena(trainings->platform);
    arena_reserve(arena, &trainings->items, (size_t)id + 1, sizeof *trainings->items);
    arena_reserve(arena, &trainings->waiting, (size_t)id + 1, sizeof id);
    const struct training_view view = platform_training(trainings->platform, id);
    struct dilu_training *training = &trainings->items[id];
    trainings->waiting[trainings->waiting_count++] = id;
    *training = (struct dilu_training){
        .request = view.request, .limit = view.limit, .placed = DILU_NOT_PLACED};
    if (!(view.request > 0))
        dilu_training_shares(&platform_training_models(trainings->platform)->models[view.model],
                             trainings->rule.target, trainings->rule.limit_factor,
                             &training->request, &training->limit);
    if (!trainings->rule.vertical)
        training->limit = training->request;
    if (trainings->rule.pool.scheme == DILU_INFLESS_L && trainings->rule.vertical)
        training->request = training->limit;
    else if (trainings->rule.pool.scheme == DILU_INFLESS_R)
        training->limit = training->request;
    else if (trainings->rule.pool.scheme == DILU_EXCLUSIVE && !(view.request > 0))
        training->request = training->limit = 1;
    trainings->retry = true;
}

void dilu_trainings_finished(struct dilu_trainings *trainings, uint32_t id)
{
    dilu_pool_end(&trainings->pool, trainings->items[id].placed);
    trainings->items[id].placed = DILU_NOT_PLACED;
    trainings->retry = true;
}

uint32_t dilu_trainings_choose(struct dilu_trainings *trainings, uint32_t id)
{
    static const enum dilu_kind kinds[] = {[INSTANCE_TRAINING] = DILU_TRAINING,
                                           [INSTANCE_INFERENCE] = DILU_INFERENCE,
                                           [INSTANCE_LLM] = DILU_LLM};
    const struct training_view view = platform_training(trainings->platform, id);
    const struct training_model *model =
        &platform_training_models(trainings->platform)->models[view.model];
    struct dilu_training *training = &trainings->items[id];
    const struct dilu_job job = {.kind = kinds[model->type],
                                 .function = trainings->functions + view.service,
                                 .gpus = view.gpus,
                                 .request = training->request,
                                 .limit = training->limit,
                                 .memory = view.gpu_memory_mb};
    platform_charge(trainings->platform, trainings->pool.gpu_count);
    training->placed = dilu_pool_start(&trainings->pool, &job);
    if (training->placed == DILU_NOT_PLACED)
        return SIM_NONE;
    return trainings->pool.placed[training->placed].count;
}

/* ---- Shares ---------------------------------------------------------------------------------- */

static uint32_t parts_of(double share, uint32_t units)
{
    const double parts = floor(share * units * PARTS + 1e-6);
    return parts < 1 ? 1 : (uint32_t)parts;
}

/* The smallest share in units that covers the parts, for a part of the time. */
static void set_parts(struct training_grant *grant, uint32_t parts)
{
    grant->share = (parts + PARTS - 1) / PARTS;
    grant->quota = parts / grant->share;
}

/* Σ request and Σ limit of the trainings on a GPU; returns their number. */
static uint32_t sum_up(const struct dilu_trainings *trainings, uint32_t gpu, double *requests,
                       double *limits)
{
    const struct dilu_gpu *here = &trainings->gpus[gpu];
    uint32_t count = 0;
    *requests = *limits = 0;
    for (uint32_t id; (id = platform_resident(trainings->platform, here->invoker, here->which,
                                              count)) != SIM_NONE;
         count++) {
        *requests += trainings->items[id].request;
        *limits += trainings->items[id].limit;
    }
    return count;
}

uint32_t dilu_trainings_on(const struct dilu_trainings *trainings, uint32_t gpu)
{
    double requests = 0, limits = 0;
    return trainings->rule.serving ? sum_up(trainings, gpu, &requests, &limits) : 0;
}

double dilu_trainings_requests(const struct dilu_trainings *trainings, uint32_t gpu)
{
    double requests = 0, limits = 0;
    (void)sum_up(trainings, gpu, &requests, &limits);
    return requests;
}

bool dilu_trainings_place(struct dilu_trainings *trainings, uint32_t id)
{
    struct dilu_training *training = &trainings->items[id];
    const struct dilu_placed *placed = &trainings->pool.placed[training->placed];
    for (uint32_t i = 0; i < placed->count; i++) {
        const struct dilu_gpu *here = &trainings->gpus[placed->gpus[i]];
        trainings->grants[i] = (struct training_grant){.invoker = here->invoker,
                                                       .gpu = here->which,
                                                       .vcpus = trainings->rule.vcpus,
                                                       .gpu_memory_mb = placed->memories[i]};
        set_parts(&trainings->grants[i], parts_of(training->request, here->units));
    }
    if (platform_place(trainings->platform, id, trainings->grants, placed->count, SIM_FOREVER))
        return true;
    const uint32_t count = placed->count;
    const uint32_t per_node = trainings->pool.gpu_count / trainings->pool.node_count;
    dilu_pool_end(&trainings->pool, training->placed);
    for (uint32_t i = 0; i < count; i++)
        dilu_pool_bar(&trainings->pool,
                      trainings->grants[i].invoker * per_node + trainings->grants[i].gpu);
    training->placed = DILU_NOT_PLACED;
    return false;
}

uint32_t dilu_trainings_plan(struct dilu_trainings *trainings, uint32_t gpu, uint32_t available)
{
    const struct dilu_gpu *here = &trainings->gpus[gpu];
    const bool vertical = trainings->rule.vertical && trainings->rule.pool.scheme == DILU_WHOLE;
    const struct training_models *models = platform_training_models(trainings->platform);
    double requests = 0, limits = 0, sum = 0;
    const uint32_t count = sum_up(trainings, gpu, &requests, &limits);
    uint32_t total = 0;
    platform_charge(trainings->platform, count);
    arena_reserve(platform_arena(trainings->platform), &trainings->wanted, count,
                  sizeof *trainings->wanted);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = platform_resident(trainings->platform, here->invoker, here->which, i);
        const struct dilu_training *training = &trainings->items[id];
        const bool changes =
            vertical && !models->models[platform_training(trainings->platform, id).model].timed;
        trainings->wanted[i] = parts_of(
            changes ? rckm_share(&here->rckm, training->request, training->limit, requests, limits)
                    : training->request,
            here->units);
        sum += trainings->wanted[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sum > available)
            trainings->wanted[i] =
                (uint32_t)fmax(1, floor(trainings->wanted[i] * (available / sum)));
        total += trainings->wanted[i];
    }
    return total;
}

void dilu_trainings_apply(struct dilu_trainings *trainings, uint32_t gpu, bool less)
{
    const struct dilu_gpu *here = &trainings->gpus[gpu];
    uint32_t id;
    for (uint32_t i = 0;
         (id = platform_resident(trainings->platform, here->invoker, here->which, i)) != SIM_NONE;
         i++) {
        const uint32_t count =
            platform_gang(trainings->platform, id, trainings->grants, trainings->pool.gpu_count);
        uint32_t at = 0;
        while (trainings->grants[at].invoker != here->invoker ||
               trainings->grants[at].gpu != here->which)
            at++;
        struct training_grant *grant = &trainings->grants[at];
        const uint32_t held = grant->share * grant->quota;
        set_parts(grant, trainings->wanted[i]);
        const uint32_t parts = grant->share * grant->quota;
        if (parts == held || (parts < held) != less)
            continue;
        (void)platform_resize(trainings->platform, id, trainings->grants, count);
    }
}
