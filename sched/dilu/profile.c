#include "sched/dilu/profile.h"

#include <math.h>

#include "sched/common/kinds.h"

/* ---- The search ------------------------------------------------------------------------------ */

static const struct dilu_point *point_at(const struct dilu_grid *grid, size_t batch, size_t size)
{
    return &grid->points[batch * grid->size_count + size];
}

static double efficiency_at(const struct dilu_grid *grid, size_t batch, size_t size)
{
    return point_at(grid, batch, size)->throughput / grid->sizes[size];
}

/* The first batch of at least twice the size; batch_count if there is none. */
static size_t batch_doubled(const struct dilu_grid *grid, size_t batch)
{
    size_t next = batch + 1;
    while (next < grid->batch_count && grid->batches[next] / 2 < grid->batches[batch])
        next++;
    return next;
}

static bool trial(const struct dilu_grid *grid, size_t batch, size_t size, double bound,
                  struct dilu_pick *pick)
{
    pick->trials++;
    return point_at(grid, batch, size)->latency <= bound;
}

static void accept(const struct dilu_grid *grid, size_t batch, size_t size, struct dilu_pick *pick)
{
    pick->batch = batch;
    pick->size = size;
    pick->efficiency = efficiency_at(grid, batch, size);
}

bool dilu_search(const struct dilu_grid *grid, double bound, double drop, struct dilu_pick *pick)
{
    size_t size = 0;
    *pick = (struct dilu_pick){0};
    while (size < grid->size_count && !trial(grid, 0, size, bound, pick))
        size++;
    if (size == grid->size_count || grid->batch_count == 0)
        return false;
    accept(grid, 0, size, pick);
    for (size_t batch = batch_doubled(grid, 0); batch < grid->batch_count;
         batch = batch_doubled(grid, batch)) {
        if (!trial(grid, batch, size, bound, pick)) {
            size++;
            if (size == grid->size_count || !trial(grid, batch, size, bound, pick) ||
                efficiency_at(grid, batch, size) < pick->efficiency - drop)
                break;
        }
        accept(grid, batch, size, pick);
    }
    return true;
}

/* ---- A function's profile -------------------------------------------------------------------- */

/* A function's surface as input of the search, with the configuration of each point. */
struct surface {
    struct dilu_grid grid;
    uint32_t *batches, *sizes; /* sizes are units, or vCPUs */
    double *per_cent;
    struct dilu_point *points;
    uint32_t *configurations; /* SIM_NONE if there is none */
    const struct function *functions;
    uint32_t kind; /* of the GPU */
    bool gpu;
};

/* True if configuration k of the function is one of the surface's. */
static bool surface_uses(const struct surface *surface, const struct planner *planner,
                         uint32_t function, uint32_t k)
{
    const struct configuration *one = &surface->functions[function].configurations[k];
    return one->kind == surface->kind && (one->vgpu > 0) == surface->gpu &&
           planner_runs(planner, function, k);
}

/* The first group of invokers with a GPU of the kind; the first group if none has one. */
static const struct invoker_group *group_of(const struct workload *workload, uint32_t kind)
{
    const struct cluster_spec *cluster = &workload->cluster;
    for (size_t g = 0; g < cluster->group_count; g++)
        if (cluster->groups[g].count > 0 && kinds_units_on(workload, &cluster->groups[g], kind) > 0)
            return &cluster->groups[g];
    return &cluster->groups[0];
}

static uint32_t size_of(const struct configuration *spec, bool gpu)
{
    return gpu ? spec->vgpu : spec->vcpu;
}

/* Inserts the value into the ascending list unless it is present. */
static size_t insert(uint32_t *list, size_t count, uint32_t value)
{
    size_t at = count;
    while (at > 0 && list[at - 1] > value)
        at--;
    if (at > 0 && list[at - 1] == value)
        return count;
    for (size_t i = count; i > at; i--)
        list[i] = list[i - 1];
    list[at] = value;
    return count + 1;
}

/* True if configuration `index` is nearer than `other` to the number of vCPUs for its share. */
static bool nearer(const struct configuration *all, uint32_t index, uint32_t other, double wanted)
{
    return other == SIM_NONE || fabs(all[index].vcpu - wanted) < fabs(all[other].vcpu - wanted);
}

/* Jobs per second of an instance that is never idle. At least 1 ns, so that none is infinite. */
static double throughput_of(const struct function *function, const struct configuration *one)
{
    const sim_time_t held = configuration_held(function, one);
    return one->batch / sim_to_s(held > 0 ? held : 1);
}

static void surface_fill(struct surface *surface, const struct workload *workload,
                         const struct planner *planner, uint32_t function,
                         const struct dilu_profile_rule *rule)
{
    const struct function *spec = &workload->functions[function];
    const struct configuration *all = spec->configurations;
    const struct invoker_group *group = group_of(workload, rule->kind);
    const double units = kinds_units_on(workload, group, rule->kind);
    struct dilu_grid *grid = &surface->grid;
    for (size_t i = 0; i < grid->batch_count * grid->size_count; i++) {
        surface->points[i].latency = INFINITY;
        surface->configurations[i] = SIM_NONE;
    }
    for (size_t s = 0; s < grid->size_count; s++)
        surface->per_cent[s] = 100.0 * surface->sizes[s] /
                               (surface->gpu ? workload->kinds[rule->kind].units : group->vcpus);
    for (uint32_t k = 0; k < spec->configuration_count; k++) {
        if (!surface_uses(surface, planner, function, k))
            continue;
        size_t batch = 0;
        size_t size = 0;
        while (surface->batches[batch] != all[k].batch)
            batch++;
        while (surface->sizes[size] != size_of(&all[k], surface->gpu))
            size++;
        const size_t at = batch * grid->size_count + size;
        const double wanted = rule->vcpus > 0 ? rule->vcpus
                              : surface->gpu  ? all[k].vgpu * group->vcpus / units
                                              : all[k].vcpu;
        if (!nearer(all, k, surface->configurations[at], wanted))
            continue;
        surface->configurations[at] = k;
        surface->points[at].latency = (double)all[k].time;
        surface->points[at].throughput = throughput_of(&workload->functions[function], &all[k]);
    }
}

static void surface_init(struct surface *surface, struct arena *arena,
                         const struct workload *workload, const struct planner *planner,
                         uint32_t function, const struct dilu_profile_rule *rule)
{
    const struct function *spec = &workload->functions[function];
    const size_t count = spec->configuration_count;
    struct dilu_grid *grid = &surface->grid;
    const uint64_t kind = UINT64_C(1) << rule->kind;
    *surface = (struct surface){.kind = rule->kind,
                                .functions = workload->functions,
                                .gpu = planner_uses_gpus(planner, kind, function, UINT32_MAX)};
    surface->batches = arena_allocate(arena, count, sizeof *surface->batches);
    surface->sizes = arena_allocate(arena, count, sizeof *surface->sizes);
    for (uint32_t k = 0; k < count; k++) {
        const struct configuration *one = &spec->configurations[k];
        if (!surface_uses(surface, planner, function, k))
            continue;
        grid->batch_count = insert(surface->batches, grid->batch_count, one->batch);
        grid->size_count = insert(surface->sizes, grid->size_count, size_of(one, surface->gpu));
    }
    const size_t points = grid->batch_count * grid->size_count;
    surface->per_cent = arena_allocate(arena, grid->size_count, sizeof *surface->per_cent);
    surface->points = arena_allocate(arena, points, sizeof *surface->points);
    surface->configurations = arena_allocate(arena, points, sizeof *surface->configurations);
    surface_fill(surface, workload, planner, function, rule);
    grid->batches = surface->batches;
    grid->sizes = surface->per_cent;
    grid->points = surface->points;
}

/* The size of the least time for the smallest batch; the planner ensured that there is one. */
static size_t fastest_size(const struct dilu_grid *grid)
{
    size_t best = 0;
    for (size_t s = 1; s < grid->size_count; s++)
        if (grid->points[s].latency < grid->points[best].latency)
            best = s;
    return best;
}

/* Fills the levels above the request, with its batch and vCPUs, up to the share that covers the
 * limit. */
static void profile_levels(struct dilu_profile *profile, const struct function *spec,
                           const struct planner *planner, uint32_t function, double factor)
{
    const struct configuration *all = spec->configurations;
    const struct configuration *request = &all[profile->levels[0].configuration];
    const double limit = request->vgpu * factor;
    /* Configurations are sorted by (kind, batch, vCPU, vGPU). */
    for (uint32_t k = profile->levels[0].configuration + 1;
         k < spec->configuration_count && all[k].kind == request->kind &&
         all[k].batch == request->batch && all[k].vcpu == request->vcpu &&
         profile->levels[profile->level_count - 1].share < limit - 1e-9;
         k++)
        if (planner_runs(planner, function, k))
            profile->levels[profile->level_count++] =
                (struct dilu_level){k, all[k].vgpu, all[k].time > 0 ? all[k].time : 1};
    profile->limit = fmin(limit, profile->levels[profile->level_count - 1].share);
}

void dilu_profile_fill(struct dilu_profile *profile, struct arena *arena,
                       const struct workload *workload, const struct planner *planner,
                       uint32_t function, const struct dilu_profile_rule *rule)
{
    struct surface surface;
    struct dilu_pick pick;
    surface_init(&surface, arena, workload, planner, function, rule);
    const bool feasible = dilu_search(&surface.grid, (double)rule->bound, rule->drop, &pick);
    if (!feasible)
        pick.size = fastest_size(&surface.grid);
    const size_t at = pick.batch * surface.grid.size_count + pick.size;
    dilu_profile_single(profile, arena, workload, planner, function, surface.configurations[at],
                        rule->factor);
    profile->feasible = feasible;
}

void dilu_profile_single(struct dilu_profile *profile, struct arena *arena,
                         const struct workload *workload, const struct planner *planner,
                         uint32_t function, uint32_t configuration, double factor)
{
    const struct function *spec = &workload->functions[function];
    const struct configuration *one = &spec->configurations[configuration];
    const sim_time_t time = one->time > 0 ? one->time : 1;
    *profile = (struct dilu_profile){
        .levels = arena_allocate(arena, spec->configuration_count, sizeof *profile->levels),
        .level_count = 1,
        .batch = one->batch,
        .kind = one->kind,
        .limit = one->vgpu,
        .memory_mb = one->gpu_memory_mb,
        .throughput = throughput_of(spec, one)};
    profile->levels[0] = (struct dilu_level){configuration, one->vgpu, time};
    if (one->vgpu > 0)
        profile_levels(profile, spec, planner, function, factor);
}
