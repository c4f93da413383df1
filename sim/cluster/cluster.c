#include "sim/cluster/cluster_internal.h"

#include "sim/base/arena.h"

bool cluster_function_runs(const struct cluster *cluster, uint32_t function, bool gpu)
{
    const struct function *f = &cluster->workload->functions[function];
    for (size_t i = 0; i < f->configuration_count; i++)
        if ((f->configurations[i].vgpu > 0) == gpu)
            return true;
    return false;
}

/* ---- Start and end -------------------------------------------------------------------------- */

static void cluster_init_invoker(struct cluster *cluster, uint32_t id, uint32_t first_site,
                                 const struct invoker_group *group)
{
    struct invoker_state *invoker = &cluster->invokers[id];
    const struct invoker_size size = {kb_from_mb(group->memory_mb), group->vcpus};
    *invoker = (struct invoker_state){.free_vcpus = size.vcpus,
                                      .free_kb = size.memory_kb,
                                      .first_gpu = cluster->gpu_count,
                                      .first_site = first_site,
                                      .gpu_count = (uint16_t)group->gpu_count};
    cluster->sizes[id] = size;
    cluster->capacity.vcpus += size.vcpus;
    cluster->capacity.memory_kb += size.memory_kb;
    for (size_t g = 0; g < group->gpu_count; g++) {
        struct gpu_state *gpu = &cluster->gpus[cluster->gpu_count++];
        *gpu = (struct gpu_state){.spec = &group->gpus[g],
                                  .invoker = id,
                                  .weight = cluster_unit_weight(cluster, group->gpus[g].kind),
                                  .memory_kb = kb_from_mb(group->gpus[g].memory_mb)};
        gpu->free_kb = gpu->memory_kb;
        gpu->parts = gpu->free_parts =
            (uint32_t)(gpu_unit_parts(gpu) * fmax(1, group->gpus[g].oversubscription) + 1e-6);
        cluster->oversubscribed = cluster->oversubscribed || gpu->parts > gpu_unit_parts(gpu);
        cluster->capacity.unit_parts += (int64_t)cluster->common_units * UNIT_PARTS;
        cluster->capacity.gpu_memory_kb += gpu->memory_kb;
    }
}

static uint32_t greatest_common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* As in OpenWhisk, the home invoker is given by the hash of the name. The step is co-prime to the
 * number of invokers. The hash determines it too, so that overflow of different functions spreads.
 */
static void cluster_init_homes(struct cluster *cluster)
{
    uint32_t n = cluster->invoker_count;
    for (uint32_t f = 0; f < cluster->function_count; f++) {
        uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
        for (const char *c = cluster->workload->functions[f].name; *c != '\0'; c++)
            hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
        uint32_t step = 1 + (uint32_t)((hash >> 32) % (n > 1 ? n - 1 : 1));
        while (greatest_common_divisor(step, n) != 1)
            step = step % n + 1;
        cluster->functions[f].home_first = (uint32_t)(hash % n);
        cluster->functions[f].home_step = step;
    }
}

static void cluster_init_functions(struct cluster *cluster)
{
    for (uint32_t f = 0; f < cluster->function_count; f++) {
        const struct function *function = &cluster->workload->functions[f];
        cluster->functions[f] =
            (struct function_state){.host_kb = kb_from_mb(function->host_memory_mb)};
        for (uint32_t k = 0; k < cluster->kind_count; k++)
            cluster->weights_kb[f * cluster->kind_count + k] =
                kb_from_mb(function->gpus[k].gpu_weights_mb);
    }
}

static void cluster_allocate(struct cluster *cluster, size_t gpus, size_t sites)
{
    struct arena *arena = cluster->arena;
    const size_t n = cluster->invoker_count, functions = cluster->function_count;
    cluster->sizes = arena_allocate(arena, n, sizeof *cluster->sizes);
    cluster->invokers = arena_allocate(arena, n, sizeof *cluster->invokers);
    cluster->gpus = arena_allocate(arena, gpus, sizeof *cluster->gpus);
    cluster->functions = arena_allocate(arena, functions, sizeof *cluster->functions);
    cluster->weights_kb =
        arena_allocate(arena, functions * cluster->kind_count, sizeof *cluster->weights_kb);
    cluster->sites = arena_allocate(arena, sites, sizeof *cluster->sites);
    cluster->shared = arena_allocate(arena, sites * functions, sizeof *cluster->shared);
}

void cluster_watch(struct cluster *cluster)
{
    if (cluster->touched != NULL)
        return;
    cluster->touched =
        arena_allocate(cluster->arena, cluster->invoker_count, sizeof *cluster->touched);
    for (uint32_t i = 0; i < cluster->invoker_count; i++)
        cluster_touch(cluster, i);
}

void cluster_move_dirty(struct cluster *cluster, uint32_t id)
{
    struct invoker_state *invoker = &cluster->invokers[id];
    if (invoker->dirty) {
        *(invoker->dirty_before == SIM_NONE
              ? &cluster->dirty_first
              : &cluster->invokers[invoker->dirty_before].dirty_after) = invoker->dirty_after;
        cluster->invokers[invoker->dirty_after].dirty_before = invoker->dirty_before;
    }
    invoker->dirty = true;
    invoker->dirty_before = cluster->dirty_last;
    invoker->dirty_after = SIM_NONE;
    *(cluster->dirty_last == SIM_NONE ? &cluster->dirty_first
                                      : &cluster->invokers[cluster->dirty_last].dirty_after) = id;
    cluster->dirty_last = id;
}

void cluster_init(struct cluster *cluster, const struct workload *workload, enum reuse_order reuse,
                  struct arena *arena)
{
    const struct cluster_spec *spec = &workload->cluster;
    size_t gpus = 0, sites = 0;
    *cluster = (struct cluster){.arena = arena,
                                .workload = workload,
                                .reuse = reuse,
                                .invoker_count = spec->invoker_count,
                                .function_count = (uint32_t)workload->function_count,
                                .kind_count = (uint32_t)workload->kind_count,
                                .common_units = workload_common_units(workload),
                                .dirty_first = SIM_NONE,
                                .dirty_last = SIM_NONE,
                                .container_free = SIM_NONE,
                                .pool_free = SIM_NONE};
    for (size_t i = 0; i < spec->group_count; i++) {
        gpus += spec->groups[i].count * spec->groups[i].gpu_count;
        sites += spec->groups[i].gpu_count + 1;
    }
    cluster_allocate(cluster, gpus, sites);
    cluster_init_functions(cluster);
    uint32_t id = 0;
    for (size_t i = 0; i < spec->group_count; i++) {
        const struct invoker_group *group = &spec->groups[i];
        const uint32_t first_site = cluster->site_count;
        for (size_t g = 0; g <= group->gpu_count; g++)
            cluster->sites[cluster->site_count++] =
                (struct site){g < group->gpu_count ? &group->gpus[g] : NULL, group->vcpus};
        for (uint32_t k = 0; k < group->count; k++, id++)
            cluster_init_invoker(cluster, id, first_site, group);
    }
    best_fit_init(cluster);
    /* Marked from last to first, so that the first invoker is the most recent in its bucket. */
    for (uint32_t i = spec->invoker_count; i-- > 0;)
        cluster_mark_dirty(cluster, i);
    cluster_init_homes(cluster);
}

uint32_t gpu_headroom(const struct gpu_state *gpu)
{
    const struct gpu_use use = gpu_use(gpu);
    return gpu_sharing_of(gpu->spec)->headroom(gpu->spec, &use);
}

/* ---- Index updates --------------------------------------------------------------------------- */

static void cluster_file_dirty(struct cluster *cluster)
{
    for (uint32_t id = cluster->dirty_first; id != SIM_NONE;
         id = cluster->invokers[id].dirty_after) {
        best_fit_file(cluster, id);
        cluster->invokers[id].dirty = false;
    }
    cluster->dirty_first = cluster->dirty_last = SIM_NONE;
}

uint32_t cluster_best_fit(struct cluster *cluster, uint32_t function,
                          const struct configuration *configuration, enum reach reach)
{
    struct fit_cursor cursor = {.function = reach == REACH_IDLE ? function : SIM_NONE,
                                .need_units = configuration->vgpu,
                                .need_vcpus = configuration->vcpu,
                                .at = SIM_NONE,
                                .kind = configuration->kind};
    cluster_file_dirty(cluster);
    while (best_fit_next(cluster, &cursor)) {
        struct placement placement;
        if (!cluster_place(cluster, function, configuration, cursor.invoker, reach, &placement))
            continue;
        /* The index ranks an invoker by the GPU on which the batch would run. Entries of its other
         * GPUs are skipped. */
        if (placement.gpu == SIM_NONE || placement.gpu == cursor.gpu)
            return cursor.invoker;
    }
    return SIM_NONE;
}

/* ---- Containers ------------------------------------------------------------------------------ */

/* Returns the container freed last, otherwise one never used. */
static uint32_t container_take(struct cluster *cluster)
{
    const uint32_t id = cluster->container_free;
    if (id != SIM_NONE) {
        cluster->container_free = cluster->containers[id].next;
        return id;
    }
    arena_reserve(cluster->arena, &cluster->containers, (size_t)cluster->containers_used + 1,
                  sizeof *cluster->containers);
    return cluster->containers_used++;
}

static void container_enter_idle(struct cluster *cluster, uint32_t id, sim_time_t now)
{
    struct container *c = &cluster->containers[id];
    c->state = CONTAINER_IDLE;
    c->claimed = false;
    c->idle_since = now;
    c->idle_order = cluster->idles++;
    pool_push_idle(cluster, id);
    cluster->functions[c->function].idle_total++;
    cluster->idle_containers++;
    cluster->invokers[c->invoker].idle_kb += host_kb(cluster, c->function);
    if (c->gpu != SIM_NONE)
        cluster->gpus[c->gpu].idle_kb += weights_kb(cluster, c->function, c->gpu);
    cluster_mark_dirty(cluster, c->invoker);
}

static void container_leave_idle(struct cluster *cluster, uint32_t id, bool evicted)
{
    struct container *c = &cluster->containers[id];
    pool_remove_idle(cluster, id);
    cluster->functions[c->function].idle_total--;
    cluster->idle_containers--;
    cluster->invokers[c->invoker].idle_kb -= host_kb(cluster, c->function);
    if (c->gpu != SIM_NONE)
        cluster->gpus[c->gpu].idle_kb -= weights_kb(cluster, c->function, c->gpu);
    cluster_mark_dirty(cluster, c->invoker);
    if (cluster->on_leave_idle != NULL)
        cluster->on_leave_idle(cluster->context, c, evicted);
}

static uint32_t *container_shared(const struct cluster *cluster, const struct container *c)
{
    const struct invoker_state *invoker = &cluster->invokers[c->invoker];
    const uint32_t gpu = c->gpu == SIM_NONE ? invoker->gpu_count : c->gpu - invoker->first_gpu;
    return &cluster->shared[c->function * cluster->site_count + invoker->first_site + gpu];
}

void cluster_share(struct cluster *cluster, uint32_t container, bool shared)
{
    *container_shared(cluster, &cluster->containers[container]) += shared ? 1 : UINT32_MAX;
}

bool cluster_comes_free(const struct cluster *cluster, uint32_t function,
                        const struct configuration *configuration)
{
    for (uint32_t s = 0; s < cluster->site_count; s++) {
        const struct site *site = &cluster->sites[s];
        if (cluster->shared[function * cluster->site_count + s] > 0 &&
            configuration->vcpu <= site->vcpus &&
            (configuration->vgpu == 0 ? site->gpu == NULL
                                      : site->gpu != NULL && gpu_runs(site->gpu, configuration)))
            return true;
    }
    return false;
}

/* Creates an unclaimed starting container. The memory that it takes must be free. */
static uint32_t container_create(struct cluster *cluster, uint32_t function, uint32_t invoker,
                                 uint32_t gpu)
{
    const uint32_t pool = pool_take(cluster, function, invoker, gpu);
    const uint32_t id = container_take(cluster);
    struct container *c = &cluster->containers[id];
    *c = (struct container){.function = function,
                            .pool = pool,
                            .invoker = invoker,
                            .gpu = gpu,
                            .state = CONTAINER_STARTING,
                            .ready_at = SIM_FOREVER,
                            .serial = cluster->next_serial++};
    int64_t host = host_kb(cluster, function);
    cluster_touch(cluster, invoker);
    cluster->invokers[invoker].free_kb -= host;
    cluster->use.memory_kb += host;
    if (gpu != SIM_NONE) {
        int64_t weights = weights_kb(cluster, function, gpu);
        cluster->gpus[gpu].free_kb -= weights;
        cluster->use.gpu_memory_kb += weights;
    }
    pool_push_starting(cluster, id);
    cluster->pools[pool].containers++;
    cluster->functions[function].starting_total++;
    cluster_share(cluster, id, true);
    cluster->starting_containers++;
    return id;
}

static void container_leave_starting(struct cluster *cluster, uint32_t id)
{
    struct container *c = &cluster->containers[id];
    pool_remove_starting(cluster, id);
    cluster->functions[c->function].starting_total--;
    cluster->starting_containers--;
}

void cluster_evict(struct cluster *cluster, uint32_t id)
{
    struct container *c = &cluster->containers[id];
    int64_t host = host_kb(cluster, c->function);
    cluster->pools[c->pool].containers--;
    cluster_share(cluster, id, false);
    container_leave_idle(cluster, id, true);
    cluster->invokers[c->invoker].free_kb += host;
    cluster->use.memory_kb -= host;
    if (c->gpu != SIM_NONE) {
        int64_t weights = weights_kb(cluster, c->function, c->gpu);
        cluster->gpus[c->gpu].free_kb += weights;
        cluster->use.gpu_memory_kb -= weights;
    }
    cluster_touch(cluster, c->invoker);
    c->state = CONTAINER_FREE;
    c->next = cluster->container_free;
    cluster->container_free = id;
    (void)pool_tidy(cluster, c->pool);
}

/* Candidate for eviction. */
struct victim {
    uint32_t id; /* SIM_NONE: none yet */
    double rank;
};

/* Selects the lowest rank, and among equal ranks the container that has been idle longest. */
static void victim_consider(const struct cluster *cluster, struct victim *victim, uint32_t id,
                            bool ranked)
{
    const struct container *c = &cluster->containers[id];
    const double rank = ranked ? cluster->rank(cluster->context, c) : 0;
    const bool first =
        victim->id == SIM_NONE || rank < victim->rank ||
        (rank <= victim->rank && c->idle_order < cluster->containers[victim->id].idle_order);
    if (first)
        *victim = (struct victim){id, rank};
}

/* Returns the idle container of the invoker (on `gpu`, unless SIM_NONE) to evict first, never
 * `keep`. SIM_NONE: there is none. Lists are in order of last use, so without ranks only one
 * container per pool is examined. O(pools of the invoker), with ranks O(idle containers). */
static uint32_t cluster_victim(const struct cluster *cluster, uint32_t invoker, uint32_t gpu,
                               uint32_t keep, bool ranked)
{
    struct victim victim = {.id = SIM_NONE};
    const struct invoker_state *state = &cluster->invokers[invoker];
    for (uint32_t k = 0; k < state->pool_count; k++) {
        const struct container_pool *pool = &cluster->pools[state->pools[k].pool];
        if (gpu != SIM_NONE && pool->gpu != gpu)
            continue;
        for (uint32_t id = pool->idle_tail; id != SIM_NONE; id = cluster->containers[id].previous) {
            if (id == keep)
                continue;
            victim_consider(cluster, &victim, id, ranked);
            if (!ranked)
                break;
        }
    }
    return victim.id;
}

uint32_t cluster_longest_idle(const struct cluster *cluster, uint32_t invoker)
{
    return cluster_victim(cluster, invoker, SIM_NONE, SIM_NONE, false);
}

void cluster_make_room(struct cluster *cluster, uint32_t invoker, uint32_t gpu, int64_t kb,
                       uint32_t keep)
{
    const int64_t *free =
        gpu == SIM_NONE ? &cluster->invokers[invoker].free_kb : &cluster->gpus[gpu].free_kb;
    cluster->pressing = true;
    while (*free < kb) {
        uint32_t id = cluster_victim(cluster, invoker, gpu, keep, cluster->rank != NULL);
        if (id == SIM_NONE)
            break;
        cluster_evict(cluster, id);
    }
    cluster->pressing = false;
}

/* ---- Reservation ----------------------------------------------------------------------------- */

uint32_t cluster_start(struct cluster *cluster, uint32_t function,
                       const struct placement *placement)
{
    const uint32_t invoker = placement->invoker, gpu = placement->gpu;
    if (gpu != SIM_NONE)
        cluster_make_room(cluster, invoker, gpu, weights_kb(cluster, function, gpu), SIM_NONE);
    cluster_make_room(cluster, invoker, SIM_NONE, host_kb(cluster, function), SIM_NONE);
    return container_create(cluster, function, invoker, gpu);
}

/* Removes the placement's container from the idle or starting list, or creates it. */
static uint32_t claim_container(struct cluster *cluster, uint32_t function,
                                const struct placement *placement)
{
    uint32_t id = placement->container;
    if (id == SIM_NONE)
        id = cluster_start(cluster, function, placement);
    struct container *c = &cluster->containers[id];
    if (c->state == CONTAINER_IDLE) {
        container_leave_idle(cluster, id, false);
        c->state = CONTAINER_BUSY;
    } else {
        container_leave_starting(cluster, id);
        c->claimed = true;
    }
    return id;
}

uint32_t cluster_reserve(struct cluster *cluster, uint32_t function,
                         const struct configuration *configuration,
                         const struct placement *placement, uint8_t *slots)
{
    struct invoker_state *invoker = &cluster->invokers[placement->invoker];
    *slots = 0;
    if (placement->gpu != SIM_NONE) {
        int64_t need = activation_kb(cluster, function, configuration);
        if (placement->container == SIM_NONE)
            need += weights_kb(cluster, function, placement->gpu);
        cluster_make_room(cluster, placement->invoker, placement->gpu, need, placement->container);
    }
    const uint32_t id = claim_container(cluster, function, placement);
    cluster->containers[id].quota = (uint8_t)placement->quota;
    invoker->free_vcpus -= configuration->vcpu;
    invoker->batches++;
    cluster->use.vcpus += configuration->vcpu;
    if (placement->gpu != SIM_NONE) {
        struct gpu_state *gpu = &cluster->gpus[placement->gpu];
        int64_t activations = activation_kb(cluster, function, configuration);
        const struct gpu_sharing *sharing = gpu_sharing_of(gpu->spec);
        if (sharing->slots != NULL) {
            *slots = sharing->slots(gpu->spec, gpu->slots, configuration->vgpu);
            gpu->slots |= *slots;
        }
        if (gpu->holding++ == 0)
            cluster->use.active_unit_parts += (int64_t)cluster->common_units * UNIT_PARTS;
        gpu_take_parts(cluster, gpu, (int64_t)configuration->vgpu * placement->quota);
        gpu->free_kb -= activations;
        cluster->use.gpu_memory_kb += activations;
    }
    cluster_mark_dirty(cluster, placement->invoker);
    return id;
}

void cluster_release(struct cluster *cluster, uint32_t id,
                     const struct configuration *configuration, uint8_t slots, sim_time_t now)
{
    struct container *c = &cluster->containers[id];
    struct invoker_state *invoker = &cluster->invokers[c->invoker];
    invoker->free_vcpus += configuration->vcpu;
    invoker->batches--;
    cluster->use.vcpus -= configuration->vcpu;
    if (c->gpu != SIM_NONE) {
        struct gpu_state *gpu = &cluster->gpus[c->gpu];
        int64_t activations = activation_kb(cluster, c->function, configuration);
        gpu->slots = (uint8_t)(gpu->slots & ~slots);
        if (--gpu->holding == 0)
            cluster->use.active_unit_parts -= (int64_t)cluster->common_units * UNIT_PARTS;
        gpu_take_parts(cluster, gpu, -(int64_t)configuration->vgpu * c->quota);
        gpu->free_kb += activations;
        cluster->use.gpu_memory_kb -= activations;
    }
    container_enter_idle(cluster, id, now);
}

bool cluster_reshare(struct cluster *cluster, uint32_t id, const struct configuration *from,
                     const struct configuration *to, uint32_t quota)
{
    struct container *c = &cluster->containers[id];
    struct invoker_state *invoker = &cluster->invokers[c->invoker];
    if (to->vcpu > invoker->free_vcpus + from->vcpu || (to->vgpu > 0) != (c->gpu != SIM_NONE))
        return false;
    if (c->gpu != SIM_NONE) {
        struct gpu_state *gpu = &cluster->gpus[c->gpu];
        uint32_t held = (uint32_t)from->vgpu * c->quota, wanted = (uint32_t)to->vgpu * quota;
        int64_t more =
            activation_kb(cluster, c->function, to) - activation_kb(cluster, c->function, from);
        if (to->kind != gpu->spec->kind || wanted > gpu->free_parts + held ||
            to->vgpu > gpu->spec->units || more > gpu->free_kb + gpu->idle_kb)
            return false;
        if (more > 0)
            cluster_make_room(cluster, c->invoker, c->gpu, more, SIM_NONE);
        gpu_take_parts(cluster, gpu, (int64_t)wanted - held);
        gpu->free_kb -= more;
        cluster->use.gpu_memory_kb += more;
    }
    invoker->free_vcpus = invoker->free_vcpus + from->vcpu - to->vcpu;
    cluster->use.vcpus += (int64_t)to->vcpu - from->vcpu;
    c->quota = (uint8_t)quota;
    cluster_mark_dirty(cluster, c->invoker);
    return true;
}

/* Returns the GPU with the most free memory that can hold the weights without eviction and on which
 * the function runs, or SIM_NONE. */
static uint32_t prewarm_gpu(const struct cluster *cluster, uint32_t function, uint32_t invoker)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    const struct function_gpu *kinds = cluster->workload->functions[function].gpus;
    int64_t most = -1;
    uint32_t found = SIM_NONE;
    for (uint32_t g = state->first_gpu; g < state->first_gpu + state->gpu_count; g++) {
        const struct gpu_state *gpu = &cluster->gpus[g];
        if (gpu->free_kb > most && gpu->free_kb >= weights_kb(cluster, function, g) &&
            kinds[gpu->spec->kind].runs) {
            most = gpu->free_kb;
            found = g;
        }
    }
    return found;
}

uint32_t cluster_prewarm(struct cluster *cluster, uint32_t function, uint32_t invoker, bool on_gpu)
{
    if (host_kb(cluster, function) > cluster->invokers[invoker].free_kb)
        return SIM_NONE;
    uint32_t gpu = SIM_NONE;
    if (on_gpu) {
        gpu = prewarm_gpu(cluster, function, invoker);
        if (gpu == SIM_NONE)
            return SIM_NONE;
    }
    return container_create(cluster, function, invoker, gpu);
}

void cluster_container_ready(struct cluster *cluster, uint32_t id, sim_time_t now)
{
    struct container *c = &cluster->containers[id];
    if (c->claimed) {
        c->claimed = false;
        c->state = CONTAINER_BUSY;
        return;
    }
    container_leave_starting(cluster, id);
    container_enter_idle(cluster, id, now);
}
