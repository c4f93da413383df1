/* Placement: whether and where a batch or an instance fits. Candidates are an idle container, then
 * a starting one, then room for a new one. Changes nothing.
 */
#include "sim/cluster/cluster_internal.h"

/* Resources requested by a batch or an instance. */
struct demand {
    const struct configuration *configuration;
    uint32_t quota;
    uint32_t gpu; /* SIM_NONE: any GPU of the invoker */
};

/* Checks the kind, the units and the slice memory of one GPU. The callers check the GPU's memory.
 */
static inline bool use_can_hold(const struct gpu_spec *gpu, const struct gpu_use *use,
                                const struct configuration *configuration, uint32_t quota)
{
    return gpu->kind == configuration->kind &&
           gpu_sharing_of(gpu)->fits(gpu, use, configuration->vgpu, quota) &&
           gpu_holds(gpu, configuration->vgpu, configuration->gpu_memory_mb);
}

static bool gpu_can_hold(const struct gpu_state *gpu, const struct demand *demand)
{
    const struct gpu_use use = gpu_use(gpu);
    return use_can_hold(gpu->spec, &use, demand->configuration, demand->quota);
}

/* Checks whether the demand fits in a container of the pool. `idle`: the container is idle, and its
 * weights must not be evicted. */
static bool pool_fits(const struct cluster *cluster, const struct container_pool *pool, bool idle,
                      const struct demand *demand)
{
    const struct configuration *configuration = demand->configuration;
    if (configuration->vgpu == 0)
        return pool->gpu == SIM_NONE;
    if (pool->gpu == SIM_NONE || (demand->gpu != SIM_NONE && demand->gpu != pool->gpu))
        return false;
    const struct gpu_state *gpu = &cluster->gpus[pool->gpu];
    if (!gpu_can_hold(gpu, demand))
        return false;
    /* Other idle containers on the GPU can be evicted, but not this one. */
    int64_t own = idle ? weights_kb(cluster, pool->function, pool->gpu) : 0;
    return activation_kb(cluster, pool->function, configuration) <=
           gpu->free_kb + gpu->idle_kb - own;
}

/* Returns whether container `a` precedes `b` in the order of reuse. */
static bool reuse_before(const struct cluster *cluster, uint32_t a, uint32_t b)
{
    const struct container *x = &cluster->containers[a], *y = &cluster->containers[b];
    if (cluster->reuse == REUSE_NEWEST)
        return x->serial > y->serial;
    return cluster->reuse == REUSE_LRU ? x->idle_order < y->idle_order
                                       : x->idle_order > y->idle_order;
}

/* Returns the first idle container of the pool in the order of reuse. The pool must have one. */
static uint32_t pool_first_idle(const struct cluster *cluster, const struct container_pool *pool)
{
    uint32_t found = cluster->reuse == REUSE_LRU ? pool->idle_tail : pool->idle_head;
    for (uint32_t id = found; cluster->reuse == REUSE_NEWEST && id != SIM_NONE;
         id = cluster->containers[id].next)
        if (reuse_before(cluster, id, found))
            found = id;
    return found;
}

/* Sets the placement's container and GPU. Selects the GPU with the fewest free units, and on it the
 * first container in the order of reuse. */
static bool find_idle(const struct cluster *cluster, const struct invoker_state *invoker,
                      struct pool_range range, const struct demand *demand,
                      struct placement *placement)
{
    uint32_t found = SIM_NONE, least = 0;
    for (uint32_t k = range.first; k < range.end; k++) {
        const struct container_pool *pool = &cluster->pools[invoker->pools[k].pool];
        if (pool->idle_count == 0 || !pool_fits(cluster, pool, true, demand))
            continue;
        const uint32_t id = pool_first_idle(cluster, pool);
        const uint32_t headroom =
            pool->gpu == SIM_NONE ? 0 : gpu_headroom(&cluster->gpus[pool->gpu]);
        if (found == SIM_NONE || headroom < least ||
            (headroom == least && reuse_before(cluster, id, found))) {
            found = id;
            least = headroom;
            placement->gpu = pool->gpu;
        }
    }
    placement->container = found;
    return found != SIM_NONE;
}

/* Sets the placement's container and GPU. Selects the starting container that is ready first, and
 * among equal ones the one created last. */
static bool find_starting(const struct cluster *cluster, const struct invoker_state *invoker,
                          struct pool_range range, const struct demand *demand,
                          struct placement *placement)
{
    const struct container *found = NULL;
    for (uint32_t k = range.first; k < range.end; k++) {
        const struct container_pool *pool = &cluster->pools[invoker->pools[k].pool];
        if (pool->starting_head == SIM_NONE || !pool_fits(cluster, pool, false, demand))
            continue;
        for (uint32_t id = pool->starting_head; id != SIM_NONE; id = cluster->containers[id].next) {
            const struct container *c = &cluster->containers[id];
            if (found == NULL || c->ready_at < found->ready_at ||
                (c->ready_at == found->ready_at && c->serial > found->serial)) {
                found = c;
                placement->container = id;
                placement->gpu = c->gpu;
            }
        }
    }
    return found != NULL;
}

/* Returns the best-fitting GPU of the invoker for a new container and its batch, or SIM_NONE. */
static uint32_t find_gpu(const struct cluster *cluster, const struct demand *demand,
                         uint32_t invoker, bool evict)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    int64_t need = kb_from_mb(demand->configuration->gpu_memory_mb);
    uint32_t found = SIM_NONE, least = UINT32_MAX;
    for (uint32_t g = state->first_gpu; g < state->first_gpu + state->gpu_count; g++) {
        const struct gpu_state *gpu = &cluster->gpus[g];
        uint32_t headroom = gpu_headroom(gpu);
        if (demand->gpu != SIM_NONE && demand->gpu != g)
            continue;
        if (headroom < least && gpu_can_hold(gpu, demand) &&
            need <= gpu->free_kb + (evict ? gpu->idle_kb : 0)) {
            least = headroom;
            found = g;
        }
    }
    return found;
}

static bool demand_place(const struct cluster *cluster, uint32_t function,
                         const struct demand *demand, uint32_t invoker, enum reach reach,
                         struct placement *placement)
{
    const struct configuration *configuration = demand->configuration;
    const struct invoker_state *state = &cluster->invokers[invoker];
    if (configuration->vcpu > state->free_vcpus)
        return false;
    const struct pool_range range = pools_find(cluster, invoker, function);
    placement->invoker = invoker;
    placement->quota = demand->quota;
    if (find_idle(cluster, state, range, demand, placement))
        return true;
    if (reach == REACH_IDLE)
        return false;
    if (reach == REACH_ALL && find_starting(cluster, state, range, demand, placement))
        return true;
    placement->container = SIM_NONE;
    const bool evict = reach != REACH_IDLE_OR_FREE;
    if (host_kb(cluster, function) > state->free_kb + (evict ? state->idle_kb : 0))
        return false;
    placement->gpu = SIM_NONE;
    if (configuration->vgpu > 0)
        placement->gpu = find_gpu(cluster, demand, invoker, evict);
    return configuration->vgpu == 0 || placement->gpu != SIM_NONE;
}

bool cluster_place(struct cluster *cluster, uint32_t function,
                   const struct configuration *configuration, uint32_t invoker, enum reach reach,
                   struct placement *placement)
{
    const struct demand demand = {configuration, UNIT_PARTS, SIM_NONE};
    const bool again = reach != REACH_IDLE && cluster->found.changes == cluster->changes &&
                       cluster->found.configuration == configuration &&
                       cluster->found.placement.invoker == invoker;
    if (!again) {
        if (!demand_place(cluster, function, &demand, invoker, reach, placement))
            return false;
        cluster->found.changes = cluster->changes;
        cluster->found.configuration = configuration;
        cluster->found.placement = *placement;
    }
    *placement = cluster->found.placement;
    return true;
}

bool cluster_place_instance(const struct cluster *cluster, uint32_t function,
                            const struct configuration *configuration, uint32_t quota,
                            uint32_t invoker, uint32_t gpu, struct placement *placement)
{
    const struct demand demand = {configuration, quota, gpu};
    return demand_place(cluster, function, &demand, invoker, REACH_ALL, placement);
}

/* ---- As it was at another time --------------------------------------------------------------- */

struct invoker_view cluster_look(const struct cluster *cluster, uint32_t invoker,
                                 struct arena *arena)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    struct invoker_view view = {.invoker = invoker,
                                .vcpus = {state->free_vcpus, state->free_vcpus},
                                .free_kb = state->free_kb,
                                .idle_kb = state->idle_kb,
                                .gpus = arena_allocate(arena, state->gpu_count, sizeof *view.gpus),
                                .pool_count = state->pool_count,
                                .pools =
                                    arena_allocate(arena, state->pool_count, sizeof *view.pools)};
    for (uint32_t g = 0; g < state->gpu_count; g++) {
        const struct gpu_state *gpu = &cluster->gpus[state->first_gpu + g];
        const struct gpu_use use = gpu_use(gpu);
        view.gpus[g] = (struct gpu_view){{use, use}, gpu->free_kb, gpu->idle_kb};
    }
    for (uint32_t p = 0; p < state->pool_count; p++) {
        const struct container_pool *pool = &cluster->pools[state->pools[p].pool];
        view.pools[p] = (struct pool_view){pool->function, pool->gpu, pool->containers > 0,
                                           pool->idle_count > 0, pool->starting_head != SIM_NONE};
    }
    return view;
}

/* Of one GPU (SIM_NONE: none) of an invoker that is up and has enough vCPUs. */
static enum standing gpu_standing(const struct cluster *cluster, const struct invoker_view *view,
                                  bool later, uint32_t id, uint32_t function,
                                  const struct configuration *configuration)
{
    const struct gpu_spec *spec = id != SIM_NONE ? cluster->gpus[id].spec : NULL;
    int64_t weights = 0, activation = 0, free_kb = 0, idle_kb = 0;
    if (spec != NULL) {
        const struct gpu_view *gpu = &view->gpus[id - cluster->invokers[view->invoker].first_gpu];
        const struct gpu_use *use = &gpu->use[later];
        if (spec->kind != configuration->kind)
            return STANDS_NEVER;
        if (!use_can_hold(spec, use, configuration, UNIT_PARTS))
            return gpu_sharing_of(spec)->slots != NULL &&
                           use->free_parts >= (uint32_t)configuration->vgpu * UNIT_PARTS
                       ? STANDS_PLACE
                       : STANDS_UNITS;
        weights = weights_kb(cluster, function, id);
        activation = activation_kb(cluster, function, configuration);
        free_kb = gpu->free_kb;
        idle_kb = gpu->idle_kb;
    }
    for (size_t p = 0; p < view->pool_count; p++) {
        const struct pool_view *pool = &view->pools[p];
        if (pool->function != function || pool->gpu != id)
            continue;
        if (pool->idle && activation <= free_kb + idle_kb - weights)
            return STANDS_IDLE;
        if (pool->starting && activation <= free_kb + idle_kb)
            return STANDS_STARTING;
    }
    const int64_t host = host_kb(cluster, function) - view->free_kb;
    const int64_t need = weights + activation - free_kb;
    if (host <= 0 && need <= 0)
        return STANDS_NEW;
    return host <= view->idle_kb && need <= idle_kb ? STANDS_EVICT : STANDS_MEMORY;
}

enum standing cluster_standing(const struct cluster *cluster, const struct invoker_view *view,
                               bool later, uint32_t function,
                               const struct configuration *configuration)
{
    const struct invoker_state *state = &cluster->invokers[view->invoker];
    enum standing best = STANDS_NEVER;
    if (configuration->vgpu == 0)
        best = gpu_standing(cluster, view, later, SIM_NONE, function, configuration);
    for (uint32_t g = 0; configuration->vgpu > 0 && g < state->gpu_count; g++) {
        const enum standing here =
            gpu_standing(cluster, view, later, state->first_gpu + g, function, configuration);
        best = here > best ? here : best;
    }
    if (best != STANDS_NEVER && (view->down || configuration->vcpu > view->vcpus[later]))
        return view->down ? STANDS_DOWN : STANDS_VCPUS;
    return best;
}
