#include "sched/fast_gshare/pods.h"
#include "sched/policy_instances.h"

#include "sched/common/kinds.h"
#include "sched/fast_gshare/tokens.h"

/* Number of GPUs without pods that are searched for an idle container. */
enum { WARM_PROBES = 16 };

static void planes_init(struct pods *pods, const struct workload *workload)
{
    const struct cluster_spec *cluster = &workload->cluster;
    uint32_t invoker = 0;
    uint32_t gpu = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        for (uint32_t i = 0; i < cluster->groups[g].count; i++, invoker++) {
            pods->first_gpu[invoker] = gpu;
            pods->claims[invoker] = SIM_NONE;
            for (uint32_t which = 0; which < cluster->groups[g].gpu_count; which++, gpu++) {
                struct plane *plane = &pods->planes[gpu];
                const uint32_t kind = cluster->groups[g].gpus[which].kind;
                *plane = (struct plane){.invoker = invoker,
                                        .which = which,
                                        .kind = kind,
                                        .lends = kinds_divisible(workload, kind),
                                        .position = gpu};
                pods->gpu_order[gpu] = gpu;
                rectangles_init(&plane->rectangles, pods->arena, 100,
                                cluster->groups[g].gpus[which].units);
            }
        }
    pods->first_gpu[invoker] = gpu;
}

void pods_init(struct pods *pods, struct arena *arena, const struct workload *workload,
               enum rectangle_rule rule, uint32_t limit)
{
    const struct cluster_spec *cluster = &workload->cluster;
    *pods = (struct pods){.arena = arena, .workload = workload, .rule = rule, .limit = limit};
    for (size_t g = 0; g < cluster->group_count; g++)
        pods->gpu_count += cluster->groups[g].count * (uint32_t)cluster->groups[g].gpu_count;
    pods->planes = arena_allocate(arena, pods->gpu_count, sizeof *pods->planes);
    pods->gpu_order = arena_allocate(arena, pods->gpu_count, sizeof *pods->gpu_order);
    pods->lend_list = arena_allocate(arena, pods->gpu_count, sizeof *pods->lend_list);
    pods->first_gpu =
        arena_allocate(arena, (size_t)cluster->invoker_count + 1, sizeof *pods->first_gpu);
    pods->claims = arena_allocate(arena, cluster->invoker_count, sizeof *pods->claims);
    planes_init(pods, workload);
}

static const struct scaler_point *point_of(const struct pods *pods, const struct pod *pod)
{
    return &pods->deployments[pod->deployment].points.points[pod->point];
}

/* ---- Lending --------------------------------------------------------------------------------- */

void pods_touch(struct pods *pods, uint32_t gpu)
{
    if (gpu == SIM_NONE || pods->limit == 0 || pods->planes[gpu].lend_again ||
        !pods->planes[gpu].lends)
        return;
    pods->planes[gpu].lend_again = true;
    pods->lend_list[pods->lend_count++] = gpu;
}

static void set_quota(struct pods *pods, struct platform *platform, uint32_t id, uint32_t quota)
{
    struct pod *pod = &pods->pods[id];
    if (pod->quota != quota &&
        platform_set_share(platform, id, point_of(pods, pod)->configuration, quota))
        pod->quota = quota;
}

static void take_back(struct pods *pods, struct platform *platform, uint32_t gpu)
{
    const struct rectangles *plane = &pods->planes[gpu].rectangles;
    bool lent = false;
    for (size_t i = 0; i < plane->used_count; i++) {
        const uint32_t id = plane->used[i].owner;
        const uint32_t request = point_of(pods, &pods->pods[id])->quota;
        lent = lent || pods->pods[id].quota != request;
        set_quota(pods, platform, id, request);
    }
    if (lent)
        pods_touch(pods, gpu);
}

/* Computes the quota of each pod of the plane: tokens_fluid for working pods, the request for
 * others. */
static void shares_of(const struct pods *pods, const struct rectangles *plane, uint32_t *quotas)
{
    struct token_pod *working = arena_allocate(pods->arena, plane->used_count, sizeof *working);
    double *rates = arena_allocate(pods->arena, plane->used_count, sizeof *rates);
    size_t count = 0;
    for (size_t i = 0; i < plane->used_count; i++) {
        const struct pod *pod = &pods->pods[plane->used[i].owner];
        const struct scaler_point *point = point_of(pods, pod);
        const double request = point->quota / 100.0;
        const double limit = pods->limit / 100.0;
        if (pod->busy)
            working[count++] =
                (struct token_pod){point->share, request, limit > request ? limit : request};
    }
    /* The requests of the other pods remain reserved. */
    for (size_t i = 0; i < plane->used_count; i++) {
        const struct pod *pod = &pods->pods[plane->used[i].owner];
        const struct scaler_point *point = point_of(pods, pod);
        if (!pod->busy)
            working[count++] =
                (struct token_pod){point->share, point->quota / 100.0, point->quota / 100.0};
    }
    (void)tokens_fluid(plane->height, working, count, rates);
    size_t next = 0;
    for (size_t i = 0; i < plane->used_count; i++) {
        const struct pod *pod = &pods->pods[plane->used[i].owner];
        const uint32_t request = point_of(pods, pod)->quota;
        quotas[i] = pod->busy ? (uint32_t)(rates[next++] * 100 + 1e-6) : request;
        quotas[i] = quotas[i] > request ? quotas[i] : request;
    }
    arena_release(pods->arena, working);
    arena_release(pods->arena, rates);
}

static void lend(struct pods *pods, struct platform *platform, uint32_t gpu)
{
    const struct rectangles *plane = &pods->planes[gpu].rectangles;
    bool any = false;
    for (size_t i = 0; i < plane->used_count; i++)
        any = any || point_of(pods, &pods->pods[plane->used[i].owner])->quota < 100;
    if (!any)
        return;
    uint32_t *quotas = arena_allocate(pods->arena, plane->used_count, sizeof *quotas);
    platform_charge(platform, plane->used_count);
    shares_of(pods, plane, quotas);
    /* Reductions first, so that there is room for the increases. */
    for (size_t i = 0; i < plane->used_count; i++)
        if (quotas[i] < pods->pods[plane->used[i].owner].quota)
            set_quota(pods, platform, plane->used[i].owner, quotas[i]);
    for (size_t i = 0; i < plane->used_count; i++)
        set_quota(pods, platform, plane->used[i].owner, quotas[i]);
    arena_release(pods->arena, quotas);
}

void pods_lend(struct pods *pods, struct platform *platform)
{
    for (uint32_t i = 0; i < pods->lend_count; i++) {
        pods->planes[pods->lend_list[i]].lend_again = false;
        lend(pods, platform, pods->lend_list[i]);
    }
    pods->lend_count = 0;
}

/* ---- Placement ------------------------------------------------------------------------------- */

/* Moves the GPU to index `to`, at the boundary between used and unused GPUs. */
static void gpu_swap(struct pods *pods, uint32_t gpu, uint32_t to)
{
    const uint32_t from = pods->planes[gpu].position;
    const uint32_t other = pods->gpu_order[to];
    pods->gpu_order[from] = other;
    pods->gpu_order[to] = gpu;
    pods->planes[other].position = from;
    pods->planes[gpu].position = to;
}

struct choice {
    uint32_t gpu;
    struct rectangle_fit fit;
    bool warm;
    bool room; /* some plane had room */
};

static bool choice_better(const struct choice *best, const struct rectangle_fit *fit, bool warm,
                          uint32_t gpu)
{
    if (best->gpu == SIM_NONE || fit->leftover != best->fit.leftover)
        return best->gpu == SIM_NONE || fit->leftover < best->fit.leftover;
    if (fit->second != best->fit.second)
        return fit->second < best->fit.second;
    return warm != best->warm ? warm : gpu < best->gpu;
}

/* Makes the GPU the choice if it is better than the best so far. */
static void choice_consider(struct pods *pods, struct platform *platform, uint32_t deployment,
                            const struct scaler_point *point, uint32_t gpu, struct choice *best)
{
    struct plane *plane = &pods->planes[gpu];
    const uint32_t function = pods->deployments[deployment].function;
    const uint32_t claim = pods->claims[plane->invoker];
    struct rectangle_fit fit = {0};
    if (plane->kind != point->kind)
        return;
    platform_charge(platform, plane->rectangles.free_count + 1);
    if ((claim != SIM_NONE && claim != deployment) ||
        !rectangles_find(&plane->rectangles, point->quota, point->share, pods->rule, &fit))
        return;
    const bool warm = platform_warm(platform, function, plane->invoker) > 0;
    best->room = true;
    if (!choice_better(best, &fit, warm, gpu))
        return;
    take_back(pods, platform, gpu);
    if (platform_instance_fits(platform,
                               &(struct instance_request){.function = function,
                                                          .configuration = point->configuration,
                                                          .quota = point->quota,
                                                          .invoker = plane->invoker,
                                                          .gpu = plane->which})) {
        best->gpu = gpu;
        best->fit = fit;
        best->warm = warm;
    }
}

static struct choice choose(struct pods *pods, struct platform *platform, uint32_t deployment,
                            const struct scaler_point *point)
{
    struct choice best = {.gpu = SIM_NONE};
    const uint32_t claim = pods->deployments[deployment].claim;
    if (claim != SIM_NONE) {
        for (uint32_t g = pods->first_gpu[claim]; g < pods->first_gpu[claim + 1]; g++)
            choice_consider(pods, platform, deployment, point, g, &best);
        return best;
    }
    for (uint32_t i = 0; i < pods->used_count; i++)
        choice_consider(pods, platform, deployment, point, pods->gpu_order[i], &best);
    for (uint32_t i = pods->used_count, probes = 0; i < pods->gpu_count; i++) {
        if (pods->planes[pods->gpu_order[i]].kind != point->kind)
            continue;
        if (best.gpu != SIM_NONE &&
            (best.fit.leftover == 0 || probes++ >= WARM_PROBES || best.warm ||
             pods->planes[best.gpu].position < pods->used_count))
            break;
        choice_consider(pods, platform, deployment, point, pods->gpu_order[i], &best);
    }
    return best;
}

/* The room is part of the results: looking through it is charged. */
static void pods_grow(struct pods *pods, uint32_t id)
{
    uint32_t room = pods->pod_room > 0 ? pods->pod_room : 64;
    while (room <= id)
        room *= 2;
    if (room != pods->pod_room)
        pods->pods = arena_reallocate(pods->arena, pods->pods, room, sizeof *pods->pods);
    pods->pod_room = room;
}

/* Makes room for one more pod in the list and in the order, which is rebuilt. */
static void deployment_grow(struct pods *pods, struct deployment *deployment)
{
    size_t room = arena_room(deployment->pods, sizeof *deployment->pods);
    if (deployment->pod_count < room)
        return;
    arena_reserve(pods->arena, &deployment->pods, room + 1, sizeof *deployment->pods);
    room = arena_room(deployment->pods, sizeof *deployment->pods);
    arena_release(pods->arena, deployment->idle);
    deployment->idle = queue_order_create(pods->arena, (uint32_t)room);
    for (uint32_t i = 0; i < deployment->pod_count; i++)
        pods_rank(pods, deployment->pods[i]);
}

void pods_rank(struct pods *pods, uint32_t id)
{
    const struct pod *pod = &pods->pods[id];
    struct deployment *deployment = &pods->deployments[pod->deployment];
    if (pod->ready && !pod->busy && !pod->draining)
        queue_order_set(deployment->idle, pod->slot,
                        (struct queue_rank){pod->point, (int64_t)pod->serial});
    else
        queue_order_remove(deployment->idle, pod->slot);
}

/* Records a new instance in all structures. */
static void adopt(struct pods *pods, const struct platform *platform, uint32_t id,
                  uint32_t deployment, uint32_t point, const struct choice *choice)
{
    struct deployment *owner = &pods->deployments[deployment];
    const struct instance_view view = platform_instance(platform, id);
    pods->pods[id] = (struct pod){.alive = true,
                                  .ready = view.state != INSTANCE_STARTING,
                                  .deployment = deployment,
                                  .slot = owner->pod_count,
                                  .point = point,
                                  .invoker = view.invoker,
                                  .gpu = choice->gpu,
                                  .quota = owner->points.points[point].quota,
                                  .serial = pods->serial++};
    owner->pods[owner->pod_count++] = id;
    pods_rank(pods, id);
    if (choice->gpu != SIM_NONE && pods->planes[choice->gpu].position >= pods->used_count)
        gpu_swap(pods, choice->gpu, pods->used_count++);
    pods_touch(pods, choice->gpu);
}

static uint32_t create_without_gpu(struct pods *pods, struct platform *platform,
                                   uint32_t deployment, uint32_t configuration)
{
    const struct deployment *owner = &pods->deployments[deployment];
    uint32_t invoker = owner->claim;
    if (invoker == SIM_NONE)
        invoker = platform_best_fit(platform, owner->function, configuration, false);
    platform_charge(platform, 1);
    if (invoker == SIM_NONE ||
        (pods->claims[invoker] != SIM_NONE && pods->claims[invoker] != deployment))
        return SIM_NONE;
    return platform_create(platform, &(struct instance_request){.function = owner->function,
                                                                .configuration = configuration,
                                                                .quota = 100,
                                                                .invoker = invoker,
                                                                .gpu = SIM_NONE});
}

uint32_t pods_create(struct pods *pods, struct platform *platform, uint32_t deployment,
                     uint32_t point, bool *room)
{
    struct deployment *owner = &pods->deployments[deployment];
    const struct scaler_point *shape = &owner->points.points[point];
    struct choice choice = {.gpu = SIM_NONE, .room = true};
    uint32_t id;
    deployment_grow(pods, owner);
    if (shape->share == 0) {
        id = create_without_gpu(pods, platform, deployment, shape->configuration);
    } else {
        choice = choose(pods, platform, deployment, shape);
        *room = choice.room;
        if (choice.gpu == SIM_NONE)
            return SIM_NONE;
        const struct plane *plane = &pods->planes[choice.gpu];
        id = platform_create(platform,
                             &(struct instance_request){.function = owner->function,
                                                        .configuration = shape->configuration,
                                                        .quota = shape->quota,
                                                        .invoker = plane->invoker,
                                                        .gpu = plane->which});
    }
    if (id == SIM_NONE)
        return SIM_NONE;
    pods_grow(pods, id);
    if (choice.gpu != SIM_NONE)
        (void)rectangles_place(&pods->planes[choice.gpu].rectangles, choice.fit.place, id);
    adopt(pods, platform, id, deployment, point, &choice);
    return id;
}

void pods_kill(struct pods *pods, struct platform *platform, uint32_t id)
{
    struct pod *pod = &pods->pods[id];
    struct deployment *owner = &pods->deployments[pod->deployment];
    if (pod->gpu != SIM_NONE)
        (void)rectangles_remove(&pods->planes[pod->gpu].rectangles, id);
    if (!platform_kill(platform, id))
        return;
    queue_order_remove(owner->idle, pod->slot);
    const uint32_t last = owner->pods[--owner->pod_count];
    if (last != id) {
        queue_order_remove(owner->idle, pods->pods[last].slot);
        owner->pods[pod->slot] = last;
        pods->pods[last].slot = pod->slot;
        pods_rank(pods, last);
    }
    if (pod->gpu != SIM_NONE) {
        if (pods->planes[pod->gpu].rectangles.used_count == 0)
            gpu_swap(pods, pod->gpu, --pods->used_count);
        pods_touch(pods, pod->gpu);
    }
    pod->alive = false;
    pods->releases++;
}

void pods_drain(struct pods *pods, struct platform *platform, uint32_t id)
{
    struct pod *pod = &pods->pods[id];
    pod->draining = true;
    pods_rank(pods, id);
    if (!pod->busy)
        pods_kill(pods, platform, id);
}
