#include "sched/fast_gshare/pods.h"

#include "sched/common/kinds.h"
#include "sched/fast_gshare/tokens.h"

/* Number of GPUs without pods that are searched for an idle container. */
enum { WARM_PROBES = 16 };

void pods_init(struct pods *pods, struct fleet *fleet, struct deployment *deployments,
               enum rectangle_rule rule, uint32_t limit)
{
    const struct workload *workload = fleet->workload;
    struct arena *arena = fleet->arena;
    const struct gpu_site *sites = kinds_gpus(arena, workload, &pods->gpu_count);
    fleet->unordered = true;
    pods->fleet = fleet;
    pods->deployments = deployments;
    pods->rule = rule;
    pods->limit = limit;
    pods->planes = arena_allocate(arena, pods->gpu_count, sizeof *pods->planes);
    pods->gpu_order = arena_allocate(arena, pods->gpu_count, sizeof *pods->gpu_order);
    pods->claims = arena_allocate(arena, workload->cluster.invoker_count, sizeof *pods->claims);
    unique_fifo_init(&pods->lends, arena, pods->gpu_count);
    for (uint32_t gpu = 0; gpu < pods->gpu_count; gpu++) {
        const struct gpu_site *site = &sites[gpu];
        pods->planes[gpu] = (struct plane){.invoker = site->invoker,
                                           .which = site->which,
                                           .kind = site->spec->kind,
                                           .lends = kinds_divisible(workload, site->spec->kind),
                                           .position = gpu};
        pods->gpu_order[gpu] = gpu;
        rectangles_init(&pods->planes[gpu].rectangles, arena, 100, site->spec->units);
    }
    for (uint32_t i = 0; i < workload->cluster.invoker_count; i++)
        pods->claims[i] = SIM_NONE;
}

static const struct scaler_point *point_of(const struct pods *pods, uint32_t id)
{
    const uint32_t deployment = pods->fleet->instances[id].deployment;
    return &pods->deployments[deployment].points.points[pods->pods[id].point];
}

/* ---- Lending --------------------------------------------------------------------------------- */

void pods_touch(struct pods *pods, uint32_t gpu)
{
    if (gpu != SIM_NONE && pods->limit > 0 && pods->planes[gpu].lends)
        unique_fifo_add(&pods->lends, gpu);
}

static uint32_t quota_of(const struct pods *pods, uint32_t id)
{
    return platform_instance(pods->fleet->platform, id).quota;
}

static void set_quota(const struct pods *pods, uint32_t id, uint32_t quota)
{
    if (quota_of(pods, id) != quota)
        (void)platform_set_share(pods->fleet->platform, id, point_of(pods, id)->configuration,
                                 quota);
}

static void take_back(struct pods *pods, uint32_t gpu)
{
    const struct rectangles *plane = &pods->planes[gpu].rectangles;
    for (size_t i = 0; i < plane->used_count; i++) {
        const uint32_t id = plane->used[i].owner;
        const uint32_t request = point_of(pods, id)->quota;
        if (quota_of(pods, id) != request)
            pods_touch(pods, gpu);
        set_quota(pods, id, request);
    }
}

/* Computes the quota of each pod of the plane: tokens_fluid for working pods, the request for
 * others, for which it remains reserved. */
static void shares_of(const struct pods *pods, const struct rectangles *plane, uint32_t *quotas)
{
    struct arena *arena = pods->fleet->arena;
    struct token_pod *tokens = arena_allocate(arena, plane->used_count, sizeof *tokens);
    double *rates = arena_allocate(arena, plane->used_count, sizeof *rates);
    const double limit = pods->limit / 100.0;
    for (size_t pass = 0, count = 0; pass < 2; pass++)
        for (size_t i = 0; i < plane->used_count; i++) {
            const uint32_t id = plane->used[i].owner;
            const struct scaler_point *point = point_of(pods, id);
            const double request = point->quota / 100.0;
            const bool working = fleet_state(pods->fleet, id) == INSTANCE_BUSY;
            if (working == (pass == 0))
                tokens[count++] = (struct token_pod){point->share, request,
                                                     working && limit > request ? limit : request};
        }
    (void)tokens_fluid(plane->height, tokens, plane->used_count, rates);
    size_t next = 0;
    for (size_t i = 0; i < plane->used_count; i++) {
        const uint32_t id = plane->used[i].owner;
        const uint32_t request = point_of(pods, id)->quota;
        quotas[i] = request;
        if (fleet_state(pods->fleet, id) == INSTANCE_BUSY)
            quotas[i] = (uint32_t)(rates[next++] * 100 + 1e-6);
        quotas[i] = quotas[i] > request ? quotas[i] : request;
    }
    arena_release(arena, tokens);
    arena_release(arena, rates);
}

static void lend(const struct pods *pods, uint32_t gpu)
{
    const struct rectangles *plane = &pods->planes[gpu].rectangles;
    bool any = false;
    for (size_t i = 0; i < plane->used_count; i++)
        any = any || point_of(pods, plane->used[i].owner)->quota < 100;
    if (!any)
        return;
    uint32_t *quotas = arena_allocate(pods->fleet->arena, plane->used_count, sizeof *quotas);
    platform_charge(pods->fleet->platform, plane->used_count);
    shares_of(pods, plane, quotas);
    /* Reductions first, so that there is room for the increases. */
    for (size_t i = 0; i < plane->used_count; i++)
        if (quotas[i] < quota_of(pods, plane->used[i].owner))
            set_quota(pods, plane->used[i].owner, quotas[i]);
    for (size_t i = 0; i < plane->used_count; i++)
        set_quota(pods, plane->used[i].owner, quotas[i]);
    arena_release(pods->fleet->arena, quotas);
}

void pods_lend(struct pods *pods)
{
    for (uint32_t gpu; (gpu = unique_fifo_next(&pods->lends)) != SIM_NONE;)
        lend(pods, gpu);
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
    struct instance_request request;
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
static void choice_consider(struct pods *pods, uint32_t deployment,
                            const struct scaler_point *point, uint32_t gpu, struct choice *best)
{
    struct platform *platform = pods->fleet->platform;
    const struct plane *plane = &pods->planes[gpu];
    const uint32_t claim = pods->claims[plane->invoker];
    const struct instance_request request = {.function =
                                                 pods->deployments[deployment].base.function,
                                             .configuration = point->configuration,
                                             .quota = point->quota,
                                             .invoker = plane->invoker,
                                             .gpu = plane->which};
    struct rectangle_fit fit = {0};
    if (plane->kind != point->kind)
        return;
    platform_charge(platform, plane->rectangles.free_count + 1);
    if ((claim != SIM_NONE && claim != deployment) ||
        !rectangles_find(&plane->rectangles, point->quota, point->share, pods->rule, &fit))
        return;
    const bool warm = platform_warm(platform, request.function, plane->invoker) > 0;
    best->room = true;
    if (!choice_better(best, &fit, warm, gpu))
        return;
    take_back(pods, gpu);
    if (platform_instance_fits(platform, &request))
        *best = (struct choice){gpu, request, fit, warm, true};
}

static struct choice choose(struct pods *pods, uint32_t deployment,
                            const struct scaler_point *point)
{
    struct choice best = {.gpu = SIM_NONE};
    const uint32_t claim = pods->deployments[deployment].claim;
    for (uint32_t g = 0; claim != SIM_NONE && g < pods->gpu_count; g++)
        if (pods->planes[g].invoker == claim)
            choice_consider(pods, deployment, point, g, &best);
    if (claim != SIM_NONE)
        return best;
    for (uint32_t i = 0; i < pods->used_count; i++)
        choice_consider(pods, deployment, point, pods->gpu_order[i], &best);
    for (uint32_t i = pods->used_count, probes = 0; i < pods->gpu_count; i++) {
        if (pods->planes[pods->gpu_order[i]].kind != point->kind)
            continue;
        if (best.gpu != SIM_NONE &&
            (best.fit.leftover == 0 || probes++ >= WARM_PROBES || best.warm ||
             pods->planes[best.gpu].position < pods->used_count))
            break;
        choice_consider(pods, deployment, point, pods->gpu_order[i], &best);
    }
    return best;
}

void pods_rank(struct pods *pods, uint32_t id)
{
    const struct pod *pod = &pods->pods[id];
    const struct fleet_instance *instance = &pods->fleet->instances[id];
    struct queue_order *idle = pods->deployments[instance->deployment].idle;
    if (fleet_state(pods->fleet, id) == INSTANCE_IDLE && !instance->draining)
        queue_order_set(idle, pod->slot, (struct queue_rank){pod->point, (int64_t)pod->serial});
    else
        queue_order_remove(idle, pod->slot);
}

/* Ranks the newest pod of the deployment, in an order of more slots if need be. */
static void rank_newest(struct pods *pods, struct deployment *deployment)
{
    const struct fleet_deployment *base = &deployment->base;
    const size_t room = arena_room(base->instances, sizeof *base->instances);
    uint32_t first = base->instance_count - 1;
    if (room > deployment->idle_room) {
        arena_release(pods->fleet->arena, deployment->idle);
        deployment->idle = queue_order_create(pods->fleet->arena, (uint32_t)room);
        deployment->idle_room = room;
        first = 0;
    }
    for (uint32_t i = first; i < base->instance_count; i++)
        pods_rank(pods, base->instances[i]);
}

/* The platform's best fit, or the claimed invoker; none that is claimed for another deployment. */
static uint32_t create_without_gpu(struct pods *pods, uint32_t deployment, uint32_t configuration)
{
    const struct deployment *owner = &pods->deployments[deployment];
    struct instance_request request = {.function = owner->base.function,
                                       .configuration = configuration,
                                       .quota = 100,
                                       .invoker = owner->claim,
                                       .gpu = SIM_NONE};
    if (request.invoker == SIM_NONE)
        request.invoker =
            platform_best_fit(pods->fleet->platform, request.function, configuration, false);
    platform_charge(pods->fleet->platform, 1);
    if (request.invoker == SIM_NONE ||
        (pods->claims[request.invoker] != SIM_NONE && pods->claims[request.invoker] != deployment))
        return SIM_NONE;
    return fleet_create(pods->fleet, deployment, &request);
}

uint32_t pods_create(struct pods *pods, uint32_t deployment, uint32_t point, bool *room)
{
    struct deployment *owner = &pods->deployments[deployment];
    const struct scaler_point *shape = &owner->points.points[point];
    struct choice choice = {.gpu = SIM_NONE, .room = true};
    uint32_t id;
    if (shape->share == 0) {
        id = create_without_gpu(pods, deployment, shape->configuration);
    } else {
        choice = choose(pods, deployment, shape);
        *room = choice.room;
        if (choice.gpu == SIM_NONE)
            return SIM_NONE;
        id = fleet_create(pods->fleet, deployment, &choice.request);
    }
    if (id == SIM_NONE)
        return SIM_NONE;
    arena_reserve(pods->fleet->arena, &pods->pods, id + (size_t)1, sizeof *pods->pods);
    pods->pods[id] = (struct pod){.slot = owner->base.instance_count - 1,
                                  .point = point,
                                  .gpu = choice.gpu,
                                  .serial = pods->serial++};
    rank_newest(pods, owner);
    if (choice.gpu == SIM_NONE)
        return id;
    (void)rectangles_place(&pods->planes[choice.gpu].rectangles, choice.fit.place, id);
    if (pods->planes[choice.gpu].position >= pods->used_count)
        gpu_swap(pods, choice.gpu, pods->used_count++);
    pods_touch(pods, choice.gpu);
    return id;
}

void pods_kill(struct pods *pods, uint32_t id)
{
    const struct pod *pod = &pods->pods[id];
    struct deployment *owner = &pods->deployments[pods->fleet->instances[id].deployment];
    const uint32_t at = fleet_end(pods->fleet, id);
    if (at == SIM_NONE)
        return;
    queue_order_remove(owner->idle, at);
    if (at < owner->base.instance_count) { /* where the last one now is */
        const uint32_t moved = owner->base.instances[at];
        queue_order_remove(owner->idle, pods->pods[moved].slot);
        pods->pods[moved].slot = at;
        pods_rank(pods, moved);
    }
    pods->releases++;
    if (pod->gpu == SIM_NONE)
        return;
    struct rectangles *plane = &pods->planes[pod->gpu].rectangles;
    (void)rectangles_remove(plane, id);
    if (plane->used_count == 0)
        gpu_swap(pods, pod->gpu, --pods->used_count);
    pods_touch(pods, pod->gpu);
}

void pods_drain(struct pods *pods, uint32_t id)
{
    pods->fleet->instances[id].draining = true;
    pods_rank(pods, id);
    if (fleet_state(pods->fleet, id) != INSTANCE_BUSY)
        pods_kill(pods, id);
}
