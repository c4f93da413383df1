#include "sched/headway/pool.h"

#include <math.h>

#include "sched/common/kinds.h"
#include "sched/common/placement.h"

/* Most invokers that a spreading placement looks at. */
enum { LOOKED_MOST = 64 };

struct pool {
    const struct workload *workload;
    struct pool_settings settings;
    const struct flights *flights;
    bool *interferes; /* by kind of GPU: co-runners can slow one another */
    double units, vcpus;
    double held;          /* GPU units, now; as pool_capacity_units counts them */
    double mean_use;      /* fraction of the units, exponentially weighted */
    sim_time_t used;      /* time of mean_use */
    uint32_t *targets;    /* by (invoker group, function) */
    uint32_t *known;      /* by (function, invoker): containers seen at the last fill */
    uint32_t *starting;   /* by (function, invoker): started, and not seen since */
    sim_time_t *ready_by; /* by function: when the last start should have ended */
    bool *wanted;         /* by function: some stage uses it */
    bool *serves;         /* by (invoker group, function): it can run there */
};

/* ---- Set-up ---------------------------------------------------------------------------------- */

static bool serves(const struct pool *pool, size_t group, size_t function)
{
    return pool->serves[group * pool->workload->function_count + function];
}

/* Containers of each wanted function that host memory and GPU memory hold, all alike. */
static uint32_t group_target(const struct pool *pool, size_t index)
{
    const struct invoker_group *group = &pool->workload->cluster.groups[index];
    const uint32_t kind = group->gpu_count > 0 ? group->gpus[0].kind : 0;
    double host_mb = 0, weights_mb = 0, gpu_mb = 0;
    for (size_t f = 0; f < pool->workload->function_count; f++) {
        if (!pool->wanted[f] || !serves(pool, index, f))
            continue;
        host_mb += pool->workload->functions[f].host_memory_mb;
        weights_mb += pool->workload->functions[f].gpus[kind].gpu_weights_mb;
    }
    for (size_t g = 0; g < group->gpu_count; g++)
        gpu_mb += group->gpus[g].memory_mb;
    double target = host_mb > 0 ? floor(group->memory_mb / host_mb) : group->vcpus;
    if (weights_mb > 0 && floor(gpu_mb / weights_mb) < target)
        target = floor(gpu_mb / weights_mb);
    return target < group->vcpus ? (uint32_t)target : group->vcpus;
}

static void pool_count(struct pool *pool)
{
    const struct workload *workload = pool->workload;
    for (uint32_t k = 0; k < workload->kind_count; k++)
        pool->interferes[k] = kinds_interfere(workload, k);
    for (size_t a = 0; a < workload->application_count; a++)
        for (size_t s = 0; s < workload->applications[a].stage_count; s++)
            pool->wanted[workload->applications[a].stages[s].function] = true;
    for (size_t g = 0; g < workload->cluster.group_count; g++) {
        const struct invoker_group *group = &workload->cluster.groups[g];
        for (size_t f = 0; f < workload->function_count; f++)
            pool->serves[g * workload->function_count + f] =
                kinds_serve(workload, group, &workload->functions[f]);
        pool->vcpus += (double)group->vcpus * group->count;
        for (size_t i = 0; i < group->gpu_count; i++)
            pool->units += (double)workload->kinds[0].units * group->count;
        pool->targets[g] = pool->settings.target == POOL_TARGET_AUTO
                               ? group_target(pool, g)
                               : (uint32_t)pool->settings.target;
    }
}

struct pool *pool_create(struct arena *arena, const struct workload *workload,
                         const struct pool_settings *settings, const struct flights *flights)
{
    const size_t functions = workload->function_count;
    const size_t groups = workload->cluster.group_count;
    const size_t pairs = functions * workload->cluster.invoker_count;
    struct pool *pool = arena_allocate(arena, 1, sizeof *pool);
    pool->workload = workload;
    pool->settings = *settings;
    pool->flights = flights;
    pool->targets = arena_allocate(arena, groups, sizeof *pool->targets);
    pool->known = arena_allocate(arena, pairs, sizeof *pool->known);
    pool->starting = arena_allocate(arena, pairs, sizeof *pool->starting);
    pool->ready_by = arena_allocate(arena, functions, sizeof *pool->ready_by);
    pool->wanted = arena_allocate(arena, functions, sizeof *pool->wanted);
    pool->serves = arena_allocate(arena, functions * groups, sizeof *pool->serves);
    pool->interferes = arena_allocate(arena, workload->kind_count, sizeof *pool->interferes);
    pool_count(pool);
    return pool;
}

/* ---- Placement ------------------------------------------------------------------------------- */

void pool_use(struct pool *pool, const struct configuration *configuration, bool held,
              sim_time_t now)
{
    const double units = configuration->vgpu * kinds_scale(pool->workload, configuration->kind);
    const double use = pool->units > 0 ? pool->held / pool->units : 0;
    const double passed = (double)(now - pool->used);
    const double kept =
        pool->settings.window > 0 ? exp(-passed / (double)pool->settings.window) : 0;
    pool->mean_use = kept * pool->mean_use + (1 - kept) * use;
    pool->used = now;
    pool->held += held ? units : -units;
}

static bool spreads(const struct pool *pool, uint32_t kind)
{
    if (pool->settings.placement != HEADWAY_AUTO)
        return pool->settings.placement == HEADWAY_SPREAD;
    return pool->interferes[kind] && pool->mean_use < pool->settings.dense;
}

static uint32_t place_widest(const struct pool *pool, struct platform *platform, uint32_t function,
                             uint32_t configuration, bool warm)
{
    const uint32_t count = pool->workload->cluster.invoker_count;
    const struct configuration *spec =
        &pool->workload->functions[function].configurations[configuration];
    const bool all = count <= LOOKED_MOST;
    uint32_t best = SIM_NONE;
    double best_units = 0;
    for (uint32_t i = 0; i < (all ? count : LOOKED_MOST); i++) {
        const uint32_t invoker = all ? i : platform_home(platform, function, i);
        const double units = placement_free_units(platform, invoker, spec->kind);
        if (units < spec->vgpu || (best != SIM_NONE && units <= best_units) ||
            !placement_fits(platform, function, configuration, invoker, warm))
            continue;
        best = invoker;
        best_units = units;
    }
    platform_charge(platform, all ? count : LOOKED_MOST);
    return best;
}

uint32_t pool_place(struct pool *pool, struct platform *platform, uint32_t function,
                    uint32_t configuration, bool warm)
{
    uint32_t invoker = SIM_NONE;
    if (warm && platform_warm_total(platform, function) == 0)
        return SIM_NONE;
    if (spreads(pool, pool->workload->functions[function].configurations[configuration].kind))
        invoker = place_widest(pool, platform, function, configuration, warm);
    if (invoker != SIM_NONE)
        return invoker;
    platform_charge(platform, 1);
    return platform_best_fit(platform, function, configuration, warm);
}

/* ---- Containers ------------------------------------------------------------------------------ */

/* Starts what is missing on one invoker. False if something is still missing. */
static bool fill_one(struct pool *pool, struct platform *platform, uint32_t function,
                     const struct invoker_group *group, uint32_t invoker, uint32_t target)
{
    const uint32_t kind = group->gpu_count > 0 ? group->gpus[0].kind : 0;
    const size_t pair = (size_t)function * pool->workload->cluster.invoker_count + invoker;
    const uint32_t here =
        platform_warm(platform, function, invoker) + flights_of(pool->flights, function, invoker);
    const uint32_t arrived = here > pool->known[pair] ? here - pool->known[pair] : 0;
    pool->starting[pair] -= arrived < pool->starting[pair] ? arrived : pool->starting[pair];
    if (!pool_starting(pool, platform, function))
        pool->starting[pair] = 0; /* evicted before it was seen */
    pool->known[pair] = here;
    while (here + pool->starting[pair] < target) {
        if (!platform_prewarm(platform, function, invoker))
            return true; /* no memory, now */
        const double cold_ms = pool->workload->functions[function].gpus[kind].cold_start_mean_ms;
        pool->ready_by[function] = platform_now(platform) + sim_from_ms(2 * cold_ms);
        pool->starting[pair]++;
        platform_charge(platform, 1);
    }
    return pool->starting[pair] == 0;
}

bool pool_fill(struct pool *pool, struct platform *platform)
{
    const struct workload *workload = pool->workload;
    bool full = true;
    uint32_t invoker = 0;
    for (size_t g = 0; g < workload->cluster.group_count; g++)
        for (uint32_t i = 0; i < workload->cluster.groups[g].count; i++, invoker++)
            for (uint32_t f = 0; f < workload->function_count; f++)
                if (pool->wanted[f] && serves(pool, g, f))
                    full = fill_one(pool, platform, f, &workload->cluster.groups[g], invoker,
                                    pool->targets[g]) &&
                           full;
    platform_charge(platform, workload->function_count * invoker);
    return !full;
}

bool pool_starting(const struct pool *pool, const struct platform *platform, uint32_t function)
{
    return pool->ready_by[function] > platform_now(platform);
}

double pool_capacity_units(const struct pool *pool)
{
    return pool->units;
}

double pool_capacity_vcpus(const struct pool *pool)
{
    return pool->vcpus;
}
